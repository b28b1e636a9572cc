//! Between the raw bytes and the parser: two things that `vte` 0.15 leaves to its caller.
//!
//! * It keeps a whole OSC string in memory, however long: after 64 KiB of one the rest is skipped here.
//! * It loses characters when a UTF-8 character is cut over two reads and others follow close behind (its
//!   `advance_partial_utf8` takes all of up to four bytes, and prints one character). So it is never given a cut one:
//!   the first bytes wait here for the rest.

use vte::Parser;

use super::terminal::Terminal;

/// Longest string sequence in bytes that is looked at.
pub(super) const STRING_MAX: usize = 64 * 1024;

/// Bytes given to the parser at a time. Bounds how far a string can run over, and what invalid UTF-8 costs: the parser
/// looks for the next escape again after each bad byte.
const CHUNK: usize = 4096;

/// The parser and what waits before it.
#[derive(Default)]
pub(super) struct Input {
    parser: Parser,
    /// The first bytes of a character, `len` of them.
    partial: [u8; 4],
    len: usize,
    /// Bytes since the parser last reported anything, roughly: it is inside a string.
    silent: usize,
    /// The string was too long; its end is awaited.
    skipping: bool,
}

impl PartialEq for Input {
    /// The parser cannot be compared, and `silent` depends on how the input was cut.
    fn eq(&self, other: &Self) -> bool {
        self.waiting() == other.waiting() && self.skipping == other.skipping
    }
}

impl Input {
    /// Parses `bytes` and has the terminal carry them out.
    pub(super) fn feed(&mut self, terminal: &mut Terminal, bytes: &[u8]) {
        for chunk in bytes.chunks(CHUNK) {
            let rest = if self.skipping { self.skip(chunk) } else { chunk };
            terminal.heard = false;
            self.advance(terminal, rest);
            if terminal.heard || rest.is_empty() {
                self.silent = 0;
            } else {
                self.silent += rest.len();
            }
            if self.silent > STRING_MAX {
                *self = Self { skipping: true, ..Self::default() };
            }
        }
        terminal.heard = false;
    }

    fn waiting(&self) -> &[u8] {
        self.partial.get(..self.len).unwrap_or_default()
    }

    /// Drops bytes up to the end of the string, and returns what follows.
    fn skip<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(end) = bytes.iter().position(|byte| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b)) else {
            return &[];
        };
        self.skipping = false;
        // The escape may begin the next sequence: it is for the parser.
        let next = if bytes[end] == 0x1b { end } else { end + 1 };
        &bytes[next..]
    }

    /// Gives the parser whole characters only.
    fn advance(&mut self, terminal: &mut Terminal, mut bytes: &[u8]) {
        while self.len > 0 {
            let Some((byte, rest)) = bytes.split_first() else {
                return;
            };
            let mut joined = self.partial;
            joined[self.len] = *byte;
            let joined = &joined[..=self.len];
            match std::str::from_utf8(joined) {
                Ok(_) => {
                    self.len = 0;
                    self.parser.advance(terminal, joined);
                    bytes = rest;
                }
                Err(error) if error.error_len().is_none() => {
                    self.partial[self.len] = *byte;
                    self.len += 1;
                    bytes = rest;
                }
                // It will never be a character: the parser shows it as one that is not, and looks at `byte` anew.
                Err(_) => {
                    self.parser.advance(terminal, &joined[..self.len]);
                    self.len = 0;
                }
            }
        }
        let (whole, cut) = bytes.split_at(bytes.len() - cut_length(bytes));
        self.parser.advance(terminal, whole);
        self.partial[..cut.len()].copy_from_slice(cut);
        self.len = cut.len();
    }
}

/// How many bytes at the end are the beginning of a character: 0 to 3.
fn cut_length(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let Some(lead) = tail.iter().rposition(|byte| *byte >= 0xc0) else {
        return 0;
    };
    match std::str::from_utf8(&tail[lead..]) {
        Err(error) if error.valid_up_to() == 0 && error.error_len().is_none() => tail.len() - lead,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Screen;
    use super::*;

    #[test]
    fn cut_characters_are_found() {
        for (bytes, length) in [
            (&b"abc"[..], 0),
            (b"", 0),
            (b"ab\xe2", 1),
            (b"ab\xe2\x82", 2),
            (b"ab\xe2\x82\xac", 0),
            (b"\xf0\x9f\x92", 3),
            (b"ab\x82\x82", 0),
            (b"ab\xff", 0),
            (b"\xe0\x80", 0),
        ] {
            assert_eq!(cut_length(bytes), length, "{bytes:?}");
        }
    }

    #[test]
    fn nothing_is_lost_behind_a_cut_character() {
        let mut screen = Screen::new(20, 1);
        screen.feed(b"\xc3");
        screen.feed(b"\xa9A\xe2\x82\xacB");
        assert_eq!(screen.lines()[0], "éA€B");
        screen.feed(b"\r\xe2\x82");
        screen.feed(b"x\xe2");
        screen.feed(b"\xe2\x82\xac");
        assert_eq!(screen.lines()[0], "\u{fffd}x\u{fffd}€");
    }

    #[test]
    fn a_string_without_end_is_not_kept() {
        let mut screen = Screen::new(20, 1);
        screen.feed(b"\x1b]0;old\x07\x1b]0;");
        for _ in 0..64 {
            screen.feed(&[b'x'; 64 * 1024]);
        }
        assert!(screen.input.skipping);
        screen.feed(b"\x07after");
        assert_eq!((screen.title(), screen.lines()[0].as_str()), ("old", "after"));
    }

    #[test]
    fn a_long_string_ends_in_every_way() {
        for end in ["\x07", "\x1b\\", "\x18", "\x1a", "\x1b[m"] {
            let mut screen = Screen::new(20, 1);
            screen.feed(format!("\x1b]52;c;{}{end}after", "A".repeat(3 * STRING_MAX)).as_bytes());
            assert_eq!(screen.lines()[0], "after", "{end:?}");
        }
    }

    #[test]
    fn the_limit_of_a_string_does_not_depend_on_how_it_is_cut() {
        for length in [STRING_MAX - 100, STRING_MAX - 3, STRING_MAX, STRING_MAX + 1, STRING_MAX + 9000] {
            let bytes = format!("\x1b]0;{}\x07ok", "t".repeat(length));
            let mut whole = Screen::new(20, 1);
            whole.feed(bytes.as_bytes());
            let mut cut = Screen::new(20, 1);
            bytes.as_bytes().chunks(7).for_each(|piece| cut.feed(piece));
            assert!(whole == cut, "{length}");
            assert_eq!(whole.title().is_empty(), length > STRING_MAX - 3, "{length}");
        }
    }
}
