//! Bytes outside of sequences: text, line ends, tabs, all that needs no parser.
//!
//! Text comes in runs, and a run is written as one. What happens to each character is the same as when `vte` hands them
//! over one by one (`perform.rs`): the laws compare both.

use vte::Perform;

use super::terminal::Terminal;
use super::utf8::{Decoded, decode};

impl Terminal {
    /// Carries out `bytes` up to the first escape, or to a character that is cut at their end, and says how many that were.
    pub(super) fn plain(&mut self, bytes: &[u8]) -> usize {
        // It is looked ahead at the first line feed in the last row, and then once for each screenful.
        let (mut at, mut lines, mut next_look) = (0, 0, 0);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            at += match rest[0] {
                b' '..=b'~' => {
                    let len = printable(rest);
                    self.put_ascii(&rest[..len]);
                    len
                }
                0x1b => break,
                b'\n' => {
                    self.execute(b'\n');
                    lines += 1;
                    if self.caret.row + 1 == self.rows && lines >= next_look {
                        next_look = lines + self.rows;
                        1 + self.look_ahead(&rest[1..])
                    } else {
                        1
                    }
                }
                byte @ ..0x80 => {
                    self.control(byte);
                    1
                }
                byte => match self.put_text(rest) {
                    0 => match decode(rest) {
                        Decoded::Char(ch, len) => {
                            self.put(ch);
                            len
                        }
                        // As `vte` has it: a lone byte of the old C1 range is one of those controls, which do nothing here.
                        Decoded::Broken(1) if byte <= 0x9f => 1,
                        Decoded::Broken(len) => {
                            self.put(char::REPLACEMENT_CHARACTER);
                            len
                        }
                        Decoded::Cut => break,
                    },
                    run => run,
                },
            };
        }
        at
    }

    #[inline]
    fn control(&mut self, byte: u8) {
        if byte != 0x7f {
            self.execute(byte);
        }
    }
}

/// How many bytes from the first on are printable ASCII. Eight at a time: the borrows and carries of the sums go only
/// upwards, so the lowest byte that is marked is rightly marked.
#[inline]
pub(super) fn printable(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = 0x80 * ONES;
    let (words, _) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let above = word.wrapping_add(ONES);
        let below = !((word | HIGH) - 0x20 * ONES);
        let other = (word | above | below) & HIGH;
        if other != 0 {
            return at * 8 + (other.trailing_zeros() / 8) as usize;
        }
    }
    let behind = words.len() * 8;
    behind + bytes[behind..].iter().take_while(|byte| matches!(byte, b' '..=b'~')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_before_the_first_byte_that_is_not_printable() {
        for len in 0..40 {
            for byte in 0..=u8::MAX {
                let mut bytes = vec![b'~'; len];
                bytes.push(byte);
                bytes.extend_from_slice(b" \xff\x00 plain");
                let expected = if matches!(byte, b' '..=b'~') { len + 2 } else { len };
                assert_eq!(printable(&bytes), expected, "{len} {byte:x}");
            }
        }
        assert_eq!(printable(b""), 0);
    }
}
