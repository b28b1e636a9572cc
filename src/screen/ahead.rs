//! Lines that nobody will see are not laid out.
//!
//! When a program writes many lines at once, all but the last ones have left the screen by the end. Where nothing in them can
//! do more than write and scroll, the model goes on at the first line that stays. The state is the same as when each had been
//! written: that is a law, with a test.

use super::terminal::Terminal;

/// Fewer bytes than these are written as they come.
pub(super) const WORTH: usize = 2048;

impl Terminal {
    /// How many of `bytes`, which follow a line feed, need not be looked at, because what they write leaves the screen, and
    /// the history, before the bytes end. The caret is then where they would have left it.
    ///
    /// The bytes are sure to scroll when the caret is in the last row and there are no margins. What is left over must begin
    /// after `\r\n`, or the column would depend on what is skipped; must scroll all rows out, so that they matter to nobody;
    /// and must have a character for REP.
    pub(super) fn run_ahead(&mut self, bytes: &[u8]) -> usize {
        let bottom = self.rows - 1;
        if bytes.len() < WORTH || self.caret.row != bottom || self.region != self.whole() {
            return 0;
        }
        let kept = if self.alternate.is_none() { self.history.limit() } else { 0 };
        let text = &bytes[..only_scrolling(bytes)];
        let Some(start) = last_lines(text, self.rows + kept) else { return 0 };
        if start == 0 || !text[start..].iter().any(|byte| matches!(byte, b' '..=b'~')) {
            return 0;
        }
        if self.alternate.is_none() {
            self.history.skip(memchr::memchr_iter(b'\n', &text[..start]).count());
        }
        self.go(0, bottom);
        self.changed = true;
        start
    }
}

/// How many bytes from the first on, roughly, have nothing in them but text, tabs and line ends.
fn only_scrolling(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<64>();
    let other = |byte: &u8| u8::from((*byte < b' ') & (*byte != b'\n') & (*byte != b'\r') & (*byte != b'\t'));
    let good = blocks.iter().take_while(|block| block.iter().fold(0, |sum, byte| sum | other(byte)) == 0).count();
    good * 64
}

/// Where the last lines begin: after a `\r\n`, with at least `count` line feeds behind it.
fn last_lines(text: &[u8], count: usize) -> Option<usize> {
    let mut end = text.len();
    for _ in 0..count {
        end = text[..end].iter().rposition(|byte| *byte == b'\n')?;
    }
    text[..end].windows(2).rposition(|pair| pair == b"\r\n").map(|at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::super::Screen;
    use super::*;

    #[test]
    fn the_last_lines_begin_after_a_return() {
        assert_eq!(last_lines(b"a\r\nb\r\nc\r\nd", 1), Some(6));
        assert_eq!(last_lines(b"a\r\nb\nc\r\nd", 1), Some(3));
        assert_eq!(last_lines(b"a\r\nb\r\nc\r\nd", 3), None);
        assert_eq!(last_lines(b"a\nb\nc\nd", 1), None);
    }

    #[test]
    fn a_flood_of_lines_is_skipped_but_for_the_last() {
        let mut screen = Screen::new(20, 4);
        screen.feed(b"\n\n\n\n");
        let flood = "a line of text\r\n".repeat(1000);
        let ahead = screen.terminal.run_ahead(flood.as_bytes());
        assert!(ahead > flood.len() - 16 * 12, "{ahead}");
        screen.set_history_limit(500);
        let with_history = screen.terminal.run_ahead(flood.as_bytes());
        assert!((16 * 480..16 * 500).contains(&with_history), "{with_history}");
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
            assert_eq!(screen.terminal.run_ahead(flood.as_bytes()), 0, "{before:?}");
        }
        let mut screen = Screen::new(20, 4);
        screen.feed(b"\x1b[4H");
        for text in ["x\n".repeat(4000), "\x08\r\n".repeat(4000), "\x0e\r\n".repeat(4000), "\r\n".repeat(4000), "x".repeat(9000)] {
            assert_eq!(screen.terminal.run_ahead(text.as_bytes()), 0, "{:?}", &text[..4]);
        }
    }
}
