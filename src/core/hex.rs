//! Bytes in hexadecimal.

/// Two lower-case digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_byte_is_two_digits() {
        assert_eq!(super::hex(&[0, 10, 255]), "000aff");
    }
}
