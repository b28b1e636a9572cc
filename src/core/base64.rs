//! Base64 (RFC 4648, the ordinary alphabet, padded): how bytes that are no text stand in a line of JSON.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `bytes` as text.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let group = three.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for n in 0..4 {
            let six = (group >> (18 - 6 * n) & 0x3f) as usize;
            out.push(if n <= three.len() { char::from(ALPHABET[six]) } else { '=' });
        }
    }
    out
}

/// The bytes of a text; `None` when it is not what [`encode`] makes.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    if !text.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let digits = &text[..text.len() - padding];
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for four in digits.chunks(4) {
        let mut group = 0;
        for byte in four {
            group = group << 6 | ALPHABET.iter().position(|known| known == byte)?;
        }
        group <<= 6 * (4 - four.len());
        let bytes = [group >> 16, group >> 8, group].map(|byte| (byte & 0xff) as u8);
        out.extend_from_slice(&bytes[..four.len() - 1]);
    }
    // The bits behind the last byte are nothing, and so the text is the only one for these bytes.
    (encode(&out).as_bytes() == text).then_some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn samples_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!((encode(bytes.as_bytes()).as_str(), decode(text).as_deref()), (text, Some(bytes.as_bytes())));
        }
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for text in ["Z", "Zg", "Zg=", "Zh==", "====", "Z===", "Zm9v\n", "Zm 9", "=Zm9", "Zm9vZg==Zg=="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..99)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            let _ = decode(&text);
        }
    }
}
