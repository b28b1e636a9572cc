//! Reading UTF-8 one character at a time, and telling what is broken from what is cut.
//!
//! It agrees with `std::str::from_utf8` on where the broken parts are, as `vte` does, and is only faster for what is whole.

/// What bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    /// A character, and how many bytes it takes.
    Char(char, usize),
    /// That many bytes that are no character, and never will be.
    Broken(usize),
    /// The beginning of a character, up to the end of the bytes.
    Cut,
}

/// Reads the first character of `bytes`.
#[inline(always)]
pub(super) fn decode(bytes: &[u8]) -> Decoded {
    let tail = |byte: u8| byte & 0xc0 == 0x80;
    let bits = |byte: u8, shift: u32| u32::from(byte & 0x3f) << shift;
    let (code, len) = match *bytes {
        [a @ ..0x80, ..] => (u32::from(a), 1),
        [a @ 0xc2..=0xdf, b, ..] if tail(b) => (u32::from(a & 0x1f) << 6 | bits(b, 0), 2),
        [a @ (0xe1..=0xec | 0xee..=0xef), b, c, ..] if tail(b) && tail(c) => (u32::from(a & 0xf) << 12 | bits(b, 6) | bits(c, 0), 3),
        [a @ 0xf1..=0xf3, b, c, d, ..] if tail(b) && tail(c) && tail(d) => {
            (u32::from(a & 7) << 18 | bits(b, 12) | bits(c, 6) | bits(d, 0), 4)
        }
        _ => return checked(bytes),
    };
    char::from_u32(code).map_or_else(|| checked(bytes), |ch| Decoded::Char(ch, len))
}

/// The rest: what is rare, and what is wrong.
#[cold]
fn checked(bytes: &[u8]) -> Decoded {
    let first = bytes.get(..bytes.len().min(4)).unwrap_or_default();
    let valid = match std::str::from_utf8(first) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() == 0 => return error.error_len().map_or(Decoded::Cut, Decoded::Broken),
        Err(error) => first.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok()).unwrap_or_default(),
    };
    valid.chars().next().map_or(Decoded::Cut, |ch| Decoded::Char(ch, ch.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes at which anything changes in the table of well-formed sequences.
    const EDGES: [u8; 24] = [
        0x00, 0x1b, 0x41, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef,
        0xf0, 0xf4, 0xff,
    ];

    #[test]
    fn every_character_is_read() {
        for ch in ('\0'..=char::MAX).step_by(7).chain(['\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}', char::MAX]) {
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
