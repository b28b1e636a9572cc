//! Reads UTF-8 one character at a time, and distinguishes invalid bytes from incomplete ones.
//!
//! It agrees with `std::str::from_utf8` on invalid parts, as `vte` does, and is only faster for valid text.

/// The start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A character, and its length in bytes.
    Char(char, usize),
    /// This many invalid bytes.
    Broken(usize),
    /// The start of a character, which the end of the bytes cuts.
    Cut,
}

/// The length of a character by the upper five bits of its first byte; 0 if they are invalid.
const LEN: [u8; 32] =
    [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 3, 3, 4, 0];

/// By that length: the bits of the first byte that count, the shift that drops surplus bytes, the lowest code
/// without a shorter form, and a mask of the continuation bytes' upper bits, which must be `10`.
const FORMS: [(u8, u32, u32, u32); 5] = [
    (0, 0, u32::MAX, 0),
    (0x7f, 18, 0, 0),
    (0x1f, 12, 0x80, 0x00c0_0000),
    (0x0f, 6, 0x800, 0x00c0_c000),
    (0x07, 0, 0x1_0000, 0x00c0_c0c0),
];

/// Reads the first character of `bytes`.
///
/// Most non-ASCII text has three-byte characters, which branch prediction learns. Other text mixes lengths,
/// and each guess would be wrong: it is read as if it had four bytes, and only the result is checked.
#[inline(always)]
pub fn decode(bytes: &[u8]) -> Decoded {
    let Some(four) = bytes.first_chunk::<4>() else { return checked(bytes) };
    if let [a @ (0xe1..=0xec), b @ 0x80..=0xbf, c @ 0x80..=0xbf, _] = *four {
        let code = u32::from(a & 0xf) << 12 | u32::from(b & 0x3f) << 6 | u32::from(c & 0x3f);
        return char::from_u32(code).map_or_else(|| checked(bytes), |ch| Decoded::Char(ch, 3));
    }
    let len = LEN[usize::from(four[0] >> 3)];
    let (first, surplus, least, tails) = FORMS[usize::from(len)];
    let bits = |at: usize, shift: u32| u32::from(four[at] & 0x3f) << shift;
    let code = (u32::from(four[0] & first) << 18 | bits(1, 12) | bits(2, 6) | bits(3, 0)) >> surplus;
    let whole = (u32::from_be_bytes(*four) & tails == tails & 0x0080_8080) & (code >= least);
    match char::from_u32(code) {
        Some(ch) if whole => Decoded::Char(ch, usize::from(len)),
        _ => checked(bytes),
    }
}

/// The rest: rare and invalid ones.
#[cold]
fn checked(bytes: &[u8]) -> Decoded {
    let first = bytes.get(..bytes.len().min(4)).unwrap_or_default();
    let valid = match std::str::from_utf8(first) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() == 0 => {
            return error.error_len().map_or(Decoded::Cut, Decoded::Broken);
        }
        Err(error) => first
            .get(..error.valid_up_to())
            .and_then(|valid| std::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    };
    valid.chars().next().map_or(Decoded::Cut, |ch| Decoded::Char(ch, ch.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes at which the table of well-formed sequences changes.
    const EDGES: [u8; 24] = [
        0x00, 0x1b, 0x41, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
        0xec, 0xed, 0xee, 0xef, 0xf0, 0xf4, 0xff,
    ];

    #[test]
    fn every_character_is_read() {
        for ch in
            ('\0'..=char::MAX).step_by(7).chain(['\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}', char::MAX])
        {
            let text = format!("{ch}x");
            assert_eq!(decode(text.as_bytes()), Decoded::Char(ch, ch.len_utf8()));
        }
    }

    #[test]
    fn it_agrees_with_the_library_on_what_is_broken() {
        for a in EDGES {
            for b in EDGES {
                for c in EDGES {
                    for d in [0x41, 0x80, 0xbf, 0xf1] {
                        let bytes = [a, b, c, d];
                        for end in 1..=4 {
                            assert_eq!(decode(&bytes[..end]), checked(&bytes[..end]), "{:x?}", &bytes[..end]);
                        }
                    }
                }
            }
        }
        assert_eq!(decode(b"\xe2\x82"), Decoded::Cut);
        assert_eq!(decode(b"\xe2\x82x"), Decoded::Broken(2));
        assert_eq!(decode(b"\xe0\x80"), Decoded::Broken(1));
    }
}
