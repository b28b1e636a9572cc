//! Bytes outside of sequences: text, line ends and tabs, which need no parser.
//!
//! Text comes in runs, and a run is written as one. The result is the same as when `vte` passes the
//! characters one by one (`parser/parser_callbacks.rs`): the laws compare both.

use crate::screen::display::DisplayState;
use crate::screen::modes::TerminalMode;
use crate::screen::parser::{Decoded, decode};

impl DisplayState {
    /// Writes `bytes` up to the first escape, or to a character that is cut at their end, and returns the
    /// length.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        // Looks ahead at the first line feed in the last row, and then once per screenful; if little was
        // skipped, only after half of the inspected bytes: in total such looks inspect at most twice the
        // input.
        let (mut at, mut lines, mut next_look, mut look_from) = (0, 0, 0, 0);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            at += match rest[0] {
                b' '..=b'~' => {
                    let len = printable(rest);
                    self.put_ascii(&rest[..len]);
                    len
                }
                0x1b => break,
                b'\n' => {
                    self.control(b'\n');
                    lines += 1;
                    if self.position.cursor.row + 1 == self.position.rows
                        && lines >= next_look
                        && at >= look_from
                    {
                        next_look = lines + self.position.rows;
                        let skipped = self.look_ahead(&rest[1..]);
                        let left = rest.len() - skipped;
                        look_from = if skipped < left { at + skipped + left / 2 } else { 0 };
                        1 + skipped
                    } else {
                        1
                    }
                }
                byte @ ..0x80 => {
                    self.control_outside(byte);
                    1
                }
                _ => match self.put_text(rest) {
                    0 => match decode(rest) {
                        Decoded::Char(ch, len) => {
                            self.put(ch);
                            len
                        }
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
    fn control_outside(&mut self, byte: u8) {
        if byte != 0x7f {
            self.control(byte);
        }
    }

    /// Handles a control character.
    #[inline]
    pub fn control(&mut self, byte: u8) {
        // The parser's others are bytes from 0x80 to 0x9f, which have no meaning here.
        if byte < b' ' {
            self.last_printed = None;
        }
        match byte {
            0x07 => self.bells.0 += 1,
            0x08 => self.go_back(1),
            b'\t' => self.position.tab_forward(1),
            b'\n' | 0x0b | 0x0c => {
                self.index();
                if self.is_on(TerminalMode::Newline) {
                    self.position.carriage_return();
                }
            }
            b'\r' => self.position.carriage_return(),
            0x0e => self.position.cursor.charsets.shift(1),
            0x0f => self.position.cursor.charsets.shift(0),
            _ => {}
        }
    }
}

/// How many bytes from the first on are printable ASCII. Eight at a time: borrows and carries only move
/// upwards, so the lowest marked byte is correct.
#[inline]
pub fn printable(bytes: &[u8]) -> usize {
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
    use crate::screen::Screen;

    #[test]
    fn what_is_no_character_is_shown_once_for_each_part_that_could_begin_one() {
        let shown = |bytes: &[u8]| {
            let mut screen = Screen::new(10, 1);
            screen.feed(bytes);
            screen.lines().concat().replace('\u{fffd}', "?")
        };
        let table: [(&[u8], &str); 10] = [
            (b"a\x80\x9fb", "a??b"),
            (b"a\x9b2Jb", "a?2Jb"),
            (b"\xc0\x80z", "??z"),
            (b"\xf5\x80\x80\x80z", "????z"),
            (b"\xed\xa0\x80z", "???z"),
            (b"\xe2\x82z", "?z"),
            (b"\xf0\x9f\x98\xe2\x82\xacz", "?€z"),
            (b"\xe2\x82\x1b[Cz", "? z"),
            (b"\xc2\x85\xc2\x9bz", "z"),
            (b"\xff\xfe\xbfz", "???z"),
        ];
        for (bytes, expected) in table {
            assert_eq!(shown(bytes), expected, "{bytes:x?}");
            let lossy = String::from_utf8_lossy(bytes).replace('\u{fffd}', "?");
            assert!(
                bytes.contains(&0x1b) || lossy.chars().filter(|ch| !ch.is_control()).eq(expected.chars()),
                "{lossy}"
            );
        }
    }

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
