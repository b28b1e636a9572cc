//! Splits raw bytes: text and the usual sequences take the fast path, the rest goes
//! to `vte`.
//!
//! `vte` 0.15 gets a sequence from its escape on, until it ends; then text is read here
//! again. Three things it leaves to its caller:
//!
//! * It keeps a whole OSC string in memory, however long: after 64 KiB of one the rest is skipped here.
//!   Of everything else it keeps a bounded part or nothing, and finds the end itself.
//! * It ends a device control string at a byte 0x9c, which many characters have in them (✓, ✳): it gets only
//!   the ASCII of one.
//! * It loses characters when a UTF-8 character is split over two reads and others follow closely (its
//!   `advance_partial_utf8` takes up to four bytes, and prints one character). So it gets only complete
//!   ones: the first bytes wait here for the rest, and invalid bytes become U+FFFD.

use vte::Parser;

use super::control_sequence::ControlSequence;
use super::params::Params;
use super::unfinished::Unfinished;
use super::utf8::{Decoded, decode};
use crate::screen::terminal_state::TerminalState;

/// The longest string sequence that is read, in bytes.
pub const STRING_MAX: usize = 64 * 1024;

/// How many bytes the parser gets at a time, which limits how far a string can exceed its maximum.
const CHUNK: usize = 4096;

/// The parser, and the bytes before it.
#[derive(Default)]
pub struct StreamParser {
    parser: Parser,
    /// A buffer for the numbers of the current sequence.
    params: Params,
    /// The first bytes of a character, `len` of them.
    partial: [u8; 4],
    len: usize,
    /// The parser is, or may be, inside a sequence: it gets the next bytes.
    inside: bool,
    /// Bytes since the parser last reported anything.
    silent: usize,
    /// The unfinished sequence of the output.
    unfinished: Unfinished,
    /// The string was too long, or is an unused name; its end is awaited.
    skipping: bool,
}

impl PartialEq for StreamParser {
    /// The parser cannot be compared, and `silent` depends on how the input was split.
    fn eq(&self, other: &Self) -> bool {
        self.waiting() == other.waiting() && self.skipping == other.skipping
    }
}

impl StreamParser {
    /// Reads `bytes` and has the terminal carry them out.
    pub fn feed(&mut self, terminal: &mut TerminalState, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = if self.skipping {
                self.skip(bytes)
            } else if self.len > 0 {
                self.join(terminal, bytes)
            } else if self.inside {
                self.parse(terminal, bytes)
            } else {
                self.read(terminal, bytes)
            };
        }
        terminal.parser.clear_calls();
    }

    /// Whether the last byte left a sequence or a string open; it may have ended already.
    pub fn is_inside(&self) -> bool {
        self.inside || self.skipping
    }

    /// The start of an incomplete character.
    pub fn waiting(&self) -> &[u8] {
        self.partial.get(..self.len).unwrap_or_default()
    }

    /// Reads text and usual sequences. Returns the rest: nothing, or the start of a sequence for the parser.
    fn read<'a>(&mut self, terminal: &mut TerminalState, mut bytes: &'a [u8]) -> &'a [u8] {
        loop {
            let done = terminal.display.write(bytes);
            bytes = &bytes[done..];
            match bytes.first() {
                None => return bytes,
                Some(0x1b) => {}
                Some(_) => {
                    self.keep(bytes);
                    return &[];
                }
            }
            let Some(sequence) = ControlSequence::read(bytes, &mut self.params) else {
                self.inside = true;
                self.unfinished = Unfinished::default();
                return bytes;
            };
            terminal.carry_out(sequence, &self.params);
            bytes = &bytes[sequence.len..];
        }
    }

    /// Passes a part of `bytes` to the parser, and returns the rest.
    fn parse<'a>(&mut self, terminal: &mut TerminalState, bytes: &'a [u8]) -> &'a [u8] {
        let part = match decode(bytes) {
            Decoded::Char(_, len) | Decoded::Broken(len)
                if terminal.parser.in_device_control && bytes[0] >= 0x80 =>
            {
                return &bytes[len..];
            }
            Decoded::Char(_, len) => part_length(bytes, len),
            // A byte of the C1 range can end a string.
            Decoded::Broken(1) if bytes[0] <= 0x9f => 1,
            Decoded::Broken(len) => {
                self.give(terminal, char::REPLACEMENT_CHARACTER.encode_utf8(&mut [0; 4]).as_bytes());
                return &bytes[len..];
            }
            Decoded::Cut => {
                self.keep(bytes);
                return &[];
            }
        };
        let done = self.give(terminal, &bytes[..part]);
        &bytes[done..]
    }

    /// Lets the parser read to the end of its sequence, returns how far that was, and handles what it
    /// reported.
    fn give(&mut self, terminal: &mut TerminalState, bytes: &[u8]) -> usize {
        terminal.parser.clear_calls();
        let done = self.parser.advance_until_terminated(terminal, bytes);
        let long = self.silent > CHUNK;
        self.silent = if terminal.parser.called { 0 } else { self.silent + done };
        self.unfinished.feed(&bytes[..done]);
        if terminal.parser.in_ground {
            self.inside = false;
            if std::mem::take(&mut terminal.parser.in_window_name) {
                // For the parser it is text.
                self.skipping = true;
            }
            if long {
                // Frees the memory of a long string.
                self.parser = Parser::default();
            }
        } else if self.silent > STRING_MAX && self.unfinished == Unfinished::Command {
            *self = Self { skipping: true, ..Self::default() };
        }
        done
    }

    /// Drops bytes up to the end of the string, and returns the rest.
    fn skip<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(end) = bytes.iter().position(|byte| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b)) else {
            return &[];
        };
        self.skipping = false;
        // The escape may start the next sequence: it is for the parser.
        let next = if bytes[end] == 0x1b { end } else { end + 1 };
        &bytes[next..]
    }

    /// Keeps the start of a character until the rest arrives.
    fn keep(&mut self, cut: &[u8]) {
        for (place, byte) in self.partial.iter_mut().zip(cut) {
            *place = *byte;
        }
        self.len = cut.len().min(self.partial.len() - 1);
    }

    /// Adds a byte to an incomplete character, and returns the rest.
    fn join<'a>(&mut self, terminal: &mut TerminalState, bytes: &'a [u8]) -> &'a [u8] {
        let Some((byte, rest)) = bytes.split_first() else { return bytes };
        let mut joined = self.partial;
        joined[self.len] = *byte;
        let joined = &joined[..=self.len];
        let (ch, rest) = match decode(joined) {
            Decoded::Cut => {
                self.keep(joined);
                return rest;
            }
            Decoded::Char(ch, _) => (ch, rest),
            // It can no longer become a character: it is shown as U+FFFD, and `byte` is read again.
            Decoded::Broken(_) => (char::REPLACEMENT_CHARACTER, bytes),
        };
        self.len = 0;
        if self.inside && terminal.parser.in_device_control {
            // Not for the parser.
        } else if self.inside {
            self.give(terminal, ch.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            terminal.display.put(ch);
        }
        rest
    }
}

/// How far the parser may read at a time: complete characters, either ASCII or not, and no escape except as
/// the first byte. Only an escape ends text, so if it reports text, everything to the end of the part was
/// text.
fn part_length(bytes: &[u8], first: usize) -> usize {
    let mut len = first;
    while len < CHUNK
        && bytes.get(len).is_some_and(|byte| *byte != 0x1b && byte.is_ascii() == bytes[0].is_ascii())
    {
        match decode(&bytes[len..]) {
            Decoded::Char(_, more) => len += more,
            Decoded::Broken(_) | Decoded::Cut => break,
        }
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Screen;

    #[test]
    fn a_name_for_the_window_is_no_text_where_terminals_take_names() {
        let bytes = b"\x1bk~/proj\x1b\\$ \x1bk\xe2\x9c\x93";
        for cut in 0..=bytes.len() {
            for (names, shown) in [(true, "$"), (false, "~/proj$ \u{2713}")] {
                let mut screen = Screen::new(20, 1);
                screen.set_takes_names(names);
                let (one, other) = bytes.split_at(cut);
                screen.feed(b"\x1bc");
                screen.feed(one);
                screen.feed(other);
                assert_eq!(screen.lines(), [shown], "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_control_string_ends_where_terminals_end_it() {
        for string in ["\u{2713} x", "\u{d55c}\u{d71c}"] {
            let bytes = format!("\x1bPtmux;{string}\x1b\\after");
            for cut in 0..bytes.len() {
                let mut screen = Screen::new(20, 1);
                let (one, other) = bytes.as_bytes().split_at(cut);
                screen.feed(one);
                screen.feed(other);
                assert_eq!(screen.lines(), ["after"], "{string} cut at {cut}");
            }
        }
        let mut screen = Screen::new(20, 1);
        screen.feed(b"\x1bP$q\xed\x95\x9c");
        assert!(screen.take_queries().is_empty(), "it is not over");
        screen.feed(b"m\x1b\\");
        assert_eq!(screen.take_queries().len(), 1);
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

    /// A sequence that is too long for any terminal ends where terminals end it, and text follows.
    #[test]
    fn what_follows_a_long_sequence_is_shown() {
        let long = |text: &str| text.repeat((STRING_MAX + 6000) / text.len());
        for (begin, middle, end) in [
            ("\x1b[", long("1;"), "m"),
            ("\x1b[", long(":"), "h"),
            ("\x1b[?", long("9"), "l"),
            ("\x1b[", long(" "), "q"),
            ("\x1b(", long("("), "B"),
            ("\x1bP", long("1;"), "q\x1b\\"),
            ("\x1bP$q", long("m"), "\x1b\\"),
            ("\x1b_G", long("A\x07"), "\x1b\\"),
            ("\x1b^", long("\x07"), "\x1b\\"),
            ("\x1bX", long("\u{2713}"), "\x1b\\"),
            ("\x1b]52;c;", long("A"), "\x07"),
            ("\x1b]0;", long("\u{2713}"), "\x1b\\"),
            ("\x1b]0;", long("x"), "\x18"),
        ] {
            let bytes = [begin, &middle, end, "after"].concat().into_bytes();
            for size in [bytes.len(), 1, 4095] {
                let mut screen = Screen::new(20, 1);
                bytes.chunks(size).for_each(|piece| screen.feed(piece));
                assert_eq!(screen.lines()[0], "after", "{begin:?} {end:?} {size}");
            }
            // Split anywhere near its end.
            for cut in bytes.len() - 8..bytes.len() {
                let mut screen = Screen::new(20, 1);
                screen.feed(&bytes[..cut]);
                screen.feed(&bytes[cut..]);
                assert_eq!(screen.lines()[0], "after", "{begin:?} {end:?} cut at {cut}");
            }
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
