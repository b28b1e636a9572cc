//! Reads the usual control sequences in one go if they are complete.
//!
//! `vte` reads a sequence byte by byte; this reads it from the slice. Sequences that are split, or contain
//! anything but numbers and one leading `<`, `=`, `>` or `?`, are left to `vte`, so both must agree: the laws
//! feed every input whole, and byte by byte, which never gets here.

use super::params::{NUMBERS_MAX, Params};

/// A control sequence without its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlSequence {
    /// The leading `<`, `=`, `>` or `?`, 0 if there is none.
    pub marker: u8,
    /// The last byte, which selects the function.
    pub action: u8,
    /// Its length in bytes, including the escape.
    pub len: usize,
}

impl ControlSequence {
    /// Reads the sequence at the start of `bytes`, and its numbers into `params`; `None` if it is unusual or
    /// incomplete.
    #[inline]
    pub fn read(bytes: &[u8], params: &mut Params) -> Option<Self> {
        let (mut at, marker) = match bytes {
            [0x1b, b'[', marker @ b'<'..=b'?', ..] => (3, *marker),
            [0x1b, b'[', ..] => (2, 0),
            _ => return None,
        };
        params.clear();
        let mut number = 0u32;
        let mut joined = 0;
        loop {
            let byte = *bytes.get(at)?;
            at += 1;
            match byte {
                b'0'..=b'9' => number = (number * 10 + u32::from(byte - b'0')).min(u32::from(u16::MAX)),
                b';' | b':' if params.numbers() + 2 < NUMBERS_MAX => {
                    params.push(number as u16, joined);
                    number = 0;
                    joined = u32::from(byte == b':');
                }
                b'@'..=b'~' => {
                    params.push(number as u16, joined);
                    return Some(Self { marker, action: byte, len: at });
                }
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bytes: &str) -> Option<(u8, Vec<Vec<u16>>, char, usize)> {
        let mut params = Params::default();
        let read = ControlSequence::read(bytes.as_bytes(), &mut params)?;
        Some((read.marker, params.iter().map(<[u16]>::to_vec).collect(), read.action as char, read.len))
    }

    #[test]
    fn usual_sequences_are_read_whole() {
        assert_eq!(numbers("\x1b[m"), Some((0, vec![vec![0]], 'm', 3)));
        assert_eq!(numbers("\x1b[;5Hx"), Some((0, vec![vec![0], vec![5]], 'H', 5)));
        assert_eq!(numbers("\x1b[?2026h"), Some((b'?', vec![vec![2026]], 'h', 8)));
        assert_eq!(numbers("\x1b[38:2::1;4:3m"), Some((0, vec![vec![38, 2, 0, 1], vec![4, 3]], 'm', 14)));
        assert_eq!(numbers("\x1b[99999999A"), Some((0, vec![vec![u16::MAX]], 'A', 11)));
    }

    #[test]
    fn the_rest_is_left_to_the_parser() {
        let many = format!("\x1b[{}m", "1;".repeat(NUMBERS_MAX));
        for bytes in [
            "", "\x1b", "\x1b[", "\x1b[1", "\x1b[1;", "\x1b[?", "\x1b[1?h", "\x1b[0 q", "\x1b[!p",
            "\x1b[1\nm", "\x1b]0;", "\x1bM", &many,
        ] {
            assert_eq!(numbers(bytes), None, "{bytes:?}");
        }
    }
}
