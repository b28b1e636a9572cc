//! Lines that will not be visible are not laid out.
//!
//! When a program writes many lines at once, all but the last ones have left the screen by the end. If they
//! can only write and scroll, the model continues at the first line that stays. A law, with a test, checks
//! that the state is the same as if each line had been written.

use super::unparsed_bytes::printable;
use crate::screen::display::DisplayState;
use crate::screen::grid::{HistoryLine, PackedStyle, width};
use crate::screen::modes::TerminalMode;
use crate::screen::parser::{Decoded, decode};

/// Shorter input is written directly.
pub const WORTH: usize = 2048;

impl DisplayState {
    /// How many of `bytes`, which follow a line feed, need no layout, because their text leaves the screen
    /// before the bytes end. The scrollback gets its part of them. The state is then as if they had been
    /// written.
    pub fn look_ahead(&mut self, bytes: &[u8]) -> usize {
        #[cfg(test)]
        SEEN.set(SEEN.get() + bytes.len());
        if bytes.len() < WORTH || !self.is_sure_to_scroll() {
            return 0;
        }
        let text = &bytes[..only_scrolling(bytes)];
        let skipped = self.run_ahead(text);
        skipped + self.write_history(&text[skipped..])
    }

    /// Whether each line feed scrolls: the cursor is in the last row, and there are no margins.
    fn is_sure_to_scroll(&self) -> bool {
        self.position.cursor.row + 1 == self.position.rows && self.position.margins == self.position.whole()
    }

    /// How many of `bytes` write text that leaves the screen and the history before they end. The state is
    /// then as if they had been written, except for rows that are gone after the rest.
    pub fn skip(&mut self, bytes: &[u8]) -> usize {
        if bytes.len() < WORTH || !self.is_sure_to_scroll() {
            return 0;
        }
        let skipped = self.run_ahead(&bytes[..only_scrolling(bytes)]);
        if skipped > 0 {
            self.last_printed = None;
        }
        skipped
    }

    /// The start of the part of `text` that will be on the screen or in the scrollback.
    ///
    /// It is after `\r\n`, because the column would otherwise depend on the text before; and it scrolls all
    /// rows out, so that their content does not matter.
    fn leaves(&self, text: &[u8]) -> Option<usize> {
        let kept = if self.buffers.alternate.is_none() { self.buffers.history.limit() } else { 0 };
        last_lines(text, self.position.rows + kept)
    }

    /// Also skips lines that leave the history.
    fn run_ahead(&mut self, text: &[u8]) -> usize {
        let Some(start) = self.leaves(text) else { return 0 };
        if self.buffers.alternate.is_none() {
            self.buffers.history.skip(memchr::memchr_iter(b'\n', &text[..start]).count());
        }
        if text[..start].iter().any(|byte| matches!(byte, b' '..=b'~')) {
            self.position.cursor.charsets = self.position.cursor.charsets.unshifted();
        }
        self.position.move_to(0, self.position.rows - 1);
        self.changed = true;
        start
    }

    /// Passes lines that fit into a row to the history without layout, all but the last ones. Those would
    /// scroll out everything on the screen, so the screen is moved to the history first and they are written
    /// from the top of an empty one.
    fn write_history(&mut self, text: &[u8]) -> usize {
        let usual = self.position.cursor.charsets.is_ascii()
            && !self.modes.is_on(TerminalMode::Insert)
            && self.blank() == PackedStyle::default();
        if self.buffers.alternate.is_some()
            || self.buffers.history.limit() == 0
            || self.position.cursor.col != 0
            || !usual
        {
            return 0;
        }
        // Text overwrites existing content, and only a row that has scrolled in is certain to be empty.
        if self.buffers.active.grid.rows().back().is_none_or(|row| row.wrapped || !row.written().is_empty()) {
            return 0;
        }
        let Some(end) = before_last(text, self.position.rows - 1) else { return 0 };
        let mut at = 0;
        while let Some(line) = PlainLine::read(&text[at..end], self.position.cols) {
            if at == 0 {
                self.buffers
                    .active
                    .grid
                    .rows()
                    .range(..self.position.rows - 1)
                    .for_each(|row| self.buffers.history.push(row));
                self.buffers.active.grid.erase_rows(0, self.position.rows, PackedStyle::default());
                self.buffers.active.grid.forget_origins();
                self.position.move_to(0, 0);
                self.changed = true;
            }
            at += line.len;
            self.last_printed = None;
            self.buffers.history.push_line(HistoryLine::new(line.text, self.position.cursor.pen, line.cells));
        }
        at
    }
}

/// A line of text that only fills a part of a row.
struct PlainLine<'a> {
    /// In UTF-8, complete characters.
    text: &'a [u8],
    cells: usize,
    /// In bytes, including the final `\r\n`.
    len: usize,
}

impl<'a> PlainLine<'a> {
    fn read(bytes: &'a [u8], cols: usize) -> Option<Self> {
        let (mut at, mut cells) = (0, 0);
        while cells <= cols {
            match bytes.get(at..)? {
                [b'\r', b'\n', ..] => return Some(Self { text: &bytes[..at], cells, len: at + 2 }),
                rest @ [b' '..=b'~', ..] => {
                    let run = printable(rest);
                    at += run;
                    cells += run;
                }
                mut rest @ [0x80..=0xff, ..] => {
                    // ASCII here is no reason to start another run.
                    while cells <= cols
                        && let [b' '..=b'~' | 0x80..=0xff, ..] = rest
                        && !all_ascii(rest)
                    {
                        let Decoded::Char(ch, len) = decode(rest) else { return None };
                        rest = &rest[len..];
                        cells += width(ch).filter(|cells| *cells > 0)?;
                    }
                    at = bytes.len() - rest.len();
                }
                _ => return None,
            }
        }
        None
    }
}

/// Whether the next bytes are ASCII.
#[inline]
fn all_ascii(bytes: &[u8]) -> bool {
    bytes.first_chunk::<8>().is_some_and(|eight| eight.is_ascii())
}

/// Approximately how many bytes from the start contain only text, tabs and line ends.
fn only_scrolling(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<64>();
    let other = |byte: &u8| u8::from((*byte < b' ') & (*byte != b'\n') & (*byte != b'\r') & (*byte != b'\t'));
    let good =
        blocks.iter().take_while(|block| block.iter().fold(0, |sum, byte| sum | other(byte)) == 0).count();
    good * 64
}

/// The start of the last lines: after a `\r\n` that is followed by at least `count` line feeds.
fn last_lines(text: &[u8], count: usize) -> Option<usize> {
    let end = before_last(text, count)?;
    text[..end].windows(2).rposition(|pair| pair == b"\r\n").map(|at| at + 2)
}

/// The position after which `count` line feeds are left.
fn before_last(text: &[u8], count: usize) -> Option<usize> {
    (0..count).try_fold(text.len(), |end, _| memchr::memrchr(b'\n', &text[..end]))
}

#[cfg(test)]
thread_local! {
    /// How many bytes all look-aheads have examined.
    static SEEN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Screen;

    #[test]
    fn the_last_lines_begin_after_a_return() {
        assert_eq!(last_lines(b"a\r\nb\r\nc\r\nd", 1), Some(6));
        assert_eq!(last_lines(b"a\r\nb\nc\r\nd", 1), Some(3));
        assert_eq!(last_lines(b"a\r\nb\r\nc\r\nd", 3), None);
        assert_eq!(last_lines(b"a\nb\nc\nd", 1), None);
    }

    /// The same bytes at once, and in pieces too short to look ahead in.
    fn both(cols: u16, rows: u16, before: &str, bytes: &str) -> [Screen; 2] {
        [usize::MAX, 64].map(|piece| {
            let mut screen = Screen::with_history(cols, rows, 5000);
            screen.feed(before.as_bytes());
            bytes.as_bytes().chunks(piece).for_each(|piece| screen.feed(piece));
            screen
        })
    }

    #[test]
    fn a_flood_of_lines_is_skipped_but_for_the_last() {
        let mut screen = Screen::new(20, 4);
        screen.feed(b"\n\n\n\n");
        let flood = "a line of text\r\n".repeat(1000);
        let ahead = screen.terminal.display.look_ahead(flood.as_bytes());
        assert!(ahead > flood.len() - 16 * 12, "{ahead}");
        screen.set_history_limit(500);
        let with_history = screen.terminal.display.run_ahead(flood.as_bytes());
        assert!((16 * 480..16 * 500).contains(&with_history), "{with_history}");
        assert_eq!(screen.terminal.display.look_ahead(flood.as_bytes()), 16 * 997);
        assert_eq!((screen.history_len(), screen.cursor().row), (500, 0));
    }

    #[test]
    fn only_what_scrolls_by_is_skipped() {
        let flood = "a line of text\r\n".repeat(1000);
        let skip = |before: &str, bytes: &str| {
            let mut screen = Screen::with_history(20, 4, 300);
            screen.feed(before.as_bytes());
            let skipped = screen.skip(bytes.as_bytes());
            assert_eq!(screen.history_total() > 1, skipped > 0, "{before:?}");
            skipped
        };
        assert_eq!(skip("", &flood), 0, "the screen is not full");
        assert_eq!(skip("\n\n\n\n", &flood), 16 * 696);
        assert_eq!(skip("\n\n\n\nabc\u{6f22}", &flood), 16 * 696, "in the middle of a line");
        assert_eq!(skip("\n\n\n\n", &(flood.clone() + "\x1b[2J")), 16 * 696);
        assert_eq!(skip("\n\n\n\n", &flood[..16 * 304]), 0, "all of it is kept");
        assert_eq!(skip("\n\n\n\n", &"x".repeat(16000)), 0, "no lines");
        assert_eq!(skip("\n\n\n\n\x1b[1;3r\x1b[4H", &flood), 0, "margins");
        assert_eq!(skip("\n\n\n\n\x1bPq", &flood), 0, "a string");
    }

    #[test]
    fn what_is_skipped_may_begin_anywhere() {
        let flood = "a line of t\u{e9}xt\r\n".repeat(1000);
        let lines = ["a line of text\r\n", "\r\n", "\u{6f22}\r\n"].map(|line| line.repeat(400));
        for rest in [&flood].into_iter().chain(&lines) {
            for before in [
                "", "\x1b*0\x1bN", "\x1b+A\x1bO\r\n", "abc", "twenty columns, no m", "\x1b[7m\x1b[?7l",
                "x\x1b[?1049h",
            ] {
                let bytes = [flood.as_bytes(), rest.as_bytes(), b"\x1b[2b~"].concat();
                for cut in [0, 1, 12, 13, 14, 15, 16] {
                    let [mut skipped, mut written] = [0; 2].map(|_| {
                        let mut screen = Screen::with_history(20, 4, 300);
                        screen.feed(&[b"\n\n\n\n", before.as_bytes(), &bytes[..cut]].concat());
                        screen
                    });
                    let from = cut + skipped.skip(&bytes[cut..]);
                    assert!(from > flood.len() / 2);
                    bytes[from..].chunks(4096).for_each(|piece| skipped.feed(piece));
                    bytes[cut..].chunks(100).for_each(|piece| written.feed(piece));
                    assert!(skipped == written, "{before:?} {cut} {skipped:?} {written:?}");
                    assert_eq!(skipped.undo(), written.undo(), "{before:?} {cut}");
                    assert_eq!(skipped.history_len(), written.history_len(), "{before:?} {cut}");
                }
            }
        }
    }

    /// A program's output must not cost more at once than in pieces: few look-aheads examine the whole rest.
    #[test]
    fn looks_ahead_are_few() {
        let one_of_many = ["a\r\n".to_owned(), "\t\r\n".repeat(4)].concat();
        let one_of_few = ["a\r\n".to_owned(), "\t\r\n".repeat(2)].concat();
        for line in [
            "\r\n", "\t\r\n", "漢字\r\n", "x\n", "more than twenty columns\r\n", "e\u{301}\r\n",
            &one_of_many, &one_of_few,
        ] {
            let before = ["\x1b[4H", "\x1b[?1049h\x1b[4H", "\x1b[41m\x1b[4H", "\x1b[4h\x1b[4H"];
            for (before, limit) in before.into_iter().flat_map(|before| [(before, 300), (before, 100_000)]) {
                let mut screen = Screen::with_history(20, 4, limit);
                screen.feed(before.as_bytes());
                let bytes = line.repeat((1 << 18) / line.len());
                let before = SEEN.get();
                screen.feed(bytes.as_bytes());
                assert!(
                    SEEN.get() - before < 4 * bytes.len(),
                    "{line:?} {before:?}: {}",
                    SEEN.get() - before
                );
            }
        }
    }

    #[test]
    fn what_was_skipped_is_not_repeated() {
        for rows in [1, 4] {
            let bytes = "\n".to_owned() + &"a line of text\r\n".repeat(256) + "\x1b[3b";
            let [once, pieces] = both(20, rows, "\n\n\n\n", &bytes);
            assert_eq!(once, pieces);
            assert_eq!(once.lines()[usize::from(rows) - 1], "");
        }
    }

    #[test]
    fn the_history_is_the_same_without_layout() {
        let lines = |line: &str| line.repeat(1200);
        for before in [
            "",
            "\x1b[7m",
            "\x1b[41m",
            "\x1b[4h",
            "\x1b(0",
            "old\x1b[4;13Hold\x1b[3;1H",
            "\x1b[3H                    x\x1b[T\x1b[3H",
        ] {
            for line in [
                "text  \r\n", "\r\n", "漢字é\r\n", "漢e\u{301}\r\n", "twenty columns, no m\r\n",
                "more than twenty columns\r\n", "tab\t\r\n",
            ] {
                let [once, pieces] = both(20, 4, before, &("\n".to_owned() + &lines(line) + "end"));
                assert!(once == pieces, "{before:?} {line:?} {once:?} {pieces:?}");
                assert_eq!(once.history_total(), pieces.history_total());
            }
        }
    }

    #[test]
    fn lines_after_others_are_given_to_the_history_too() {
        let bytes = "\n".to_owned()
            + &"a line of text\r\n".repeat(200)
            + "a\tb\r\n\x1b[1mbold\x1b[m\r\n"
            + &"wide 漢\r\n".repeat(200);
        let [once, pieces] = both(20, 4, "", &bytes);
        assert_eq!(once, pieces);
        assert_eq!(once.history_len(), 400);
    }

    #[test]
    fn the_column_does_not_come_from_what_is_skipped() {
        let bytes = "abc\n".repeat(4) + &"a line of text\r\n".repeat(1000) + &"x\n".repeat(100);
        let mut skipped = Screen::new(200, 4);
        skipped.feed(bytes.as_bytes());
        let mut written = Screen::new(200, 4);
        bytes.as_bytes().chunks(100).for_each(|piece| written.feed(piece));
        assert_eq!(skipped, written);
        assert!(skipped.lines()[0].ends_with(" x"));
    }

    #[test]
    fn what_may_do_more_than_scroll_is_not_skipped() {
        let flood = "a line of text\r\n".repeat(1000);
        for before in ["\x1b[H", "\x1b[2;3r\x1b[4H", "\x1b[1;3r\x1b[4H"] {
            let mut screen = Screen::new(20, 4);
            screen.feed(before.as_bytes());
            assert_eq!(screen.terminal.display.look_ahead(flood.as_bytes()), 0, "{before:?}");
        }
        let mut screen = Screen::new(20, 4);
        screen.feed(b"\x1b[4H");
        for text in ["x\n".repeat(4000), "\x08\r\n".repeat(4000), "\x0e\r\n".repeat(4000), "x".repeat(9000)] {
            assert_eq!(screen.terminal.display.look_ahead(text.as_bytes()), 0, "{:?}", &text[..4]);
        }
    }
}
