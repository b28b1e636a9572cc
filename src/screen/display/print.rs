//! Writing text: wrapping, insert mode, combining marks, REP.

use crate::screen::display::DisplayState;
use crate::screen::grid::{LineEnd, width};
use crate::screen::modes::TerminalMode;

impl DisplayState {
    /// Writes a run of printable ASCII at the cursor.
    #[inline]
    pub fn put_ascii(&mut self, mut run: &[u8]) {
        if !self.position.cursor.charsets.is_ascii() {
            return run.iter().for_each(|byte| self.put(char::from(*byte)));
        }
        let style = self.position.cursor.pen;
        let Some(last) = run.last() else { return };
        self.last_printed = Some(char::from(*last));
        self.changed = true;
        loop {
            if self.position.cursor.wrap_pending {
                self.wrap(LineEnd::Wrap);
            }
            let (col, edge) = (self.position.cursor.col, self.position.right_edge());
            let fit = run.len().min(edge - col);
            self.make_room(fit);
            let Some(row) = self.buffers.active.grid.row_mut(self.position.cursor.row) else { return };
            row.put_ascii(col, &run[..fit], style);
            self.advance(fit, edge);
            run = &run[fit..];
            if run.is_empty() {
                return;
            }
            if !self.is_on(TerminalMode::AutoWrap) {
                // The rest goes into the last column.
                run = &run[run.len() - 1..];
            }
        }
    }

    /// Writes the non-ASCII characters at the start of `bytes`, and returns how many bytes they have; 0 if
    /// the first one needs [`Self::put`]. Character sets do not affect them.
    #[inline]
    pub fn put_text(&mut self, bytes: &[u8]) -> usize {
        if self.position.cursor.wrap_pending
            || self.modes.is_on(TerminalMode::Insert)
            || self.position.has_side_margins()
        {
            return 0;
        }
        let (col, style) = (self.position.cursor.col, self.position.cursor.pen);
        let Some(row) = self.buffers.active.grid.row_mut(self.position.cursor.row) else { return 0 };
        let written = row.put_text(col, bytes, style);
        if written.last.is_some() {
            self.last_printed = written.last;
            self.changed = true;
            self.advance(written.col - col, self.position.cols);
        }
        written.len
    }

    /// Writes one character at the cursor.
    #[inline]
    pub fn put(&mut self, ch: char) {
        let ch = self.position.cursor.charsets.read(ch);
        match width(ch) {
            None => {}
            Some(0) => self.combine(ch),
            Some(1) => self.put_narrow(ch, true),
            Some(_) => self.put_wide(ch, true),
        }
    }

    /// REP: writes the last character again. A few bytes must not cost more than a full screen: whole rows
    /// beyond that are skipped, with the same result.
    pub fn repeat(&mut self, count: usize) {
        let Some(ch) = self.last_printed else { return };
        let wide = width(ch) == Some(2);
        let in_row = (self.position.cols / if wide { 2 } else { 1 }).max(1);
        let whole = in_row * self.position.rows;
        let mut count = if count < whole { count } else { whole + (count - whole) % in_row };
        if matches!(ch, ' '..='~') && self.position.cursor.charsets.is_ascii() {
            let run = [ch as u8; 64];
            while count > 0 {
                let part = count.min(run.len());
                self.put_ascii(&run[..part]);
                count -= part;
            }
            return;
        }
        while count > 0 {
            if self.position.cursor.wrap_pending {
                self.wrap(LineEnd::Wrap);
            }
            // Make room once for all that go into the row: each insertion would move the rest of it.
            let width = if wide { 2 } else { 1 };
            let fit = count.min((self.position.right_edge() - self.position.cursor.col) / width).max(1);
            if fit > 1 {
                self.make_room(fit * width);
            }
            let makes_room = fit == 1;
            for _ in 0..fit {
                if wide {
                    self.put_wide(ch, makes_room);
                } else {
                    self.put_narrow(ch, makes_room);
                }
            }
            count -= fit;
        }
    }

    /// In insert mode, moves the text from the cursor on by `cells` columns.
    #[inline]
    fn make_room(&mut self, cells: usize) {
        let (col, style) = (self.position.cursor.col, self.position.cursor.pen);
        if self.inserts(col) {
            let edge = self.position.right_edge();
            if let Some(row) = self.buffers.active.grid.row_mut(self.position.cursor.row) {
                row.insert_within(col..edge, cells, style.erased());
            }
        }
    }

    /// Writes a character of one column. `room`: insert mode must make room for it, or has done so.
    #[inline]
    fn put_narrow(&mut self, ch: char, room: bool) {
        if self.position.cursor.wrap_pending {
            self.wrap(LineEnd::Wrap);
        }
        if room {
            self.make_room(1);
        }
        let (col, edge, style) =
            (self.position.cursor.col, self.position.right_edge(), self.position.cursor.pen);
        if let Some(row) = self.buffers.active.grid.row_mut(self.position.cursor.row) {
            row.put_narrow(col, ch, style);
        }
        self.advance(1, edge);
        self.last_printed = Some(ch);
        self.changed = true;
    }

    /// Writes a character of two columns, with `room` as in [`Self::put_narrow`].
    #[inline]
    fn put_wide(&mut self, ch: char, room: bool) {
        // If it does not fit and must not wrap, it is not written.
        if self.position.cols < 2
            || (self.position.cursor.col + 2 > self.position.right_edge()
                && !self.is_on(TerminalMode::AutoWrap))
        {
            return;
        }
        if self.position.cursor.wrap_pending {
            self.wrap(LineEnd::Wrap);
        }
        let style = self.position.cursor.pen;
        if self.position.cursor.col + 2 > self.position.right_edge() {
            let (col, blank) = (self.position.cursor.col, self.blank());
            if let Some(row) = self.buffers.active.grid.row_mut(self.position.cursor.row) {
                row.erase(col, col + 1, blank);
            }
            self.wrap(LineEnd::Gap);
        }
        if room {
            self.make_room(2);
        }
        let (col, edge) = (self.position.cursor.col, self.position.right_edge());
        if let Some(row) = self.buffers.active.grid.row_mut(self.position.cursor.row) {
            row.put_wide(col, ch, style);
        }
        self.advance(2, edge);
        self.last_printed = Some(ch);
        self.changed = true;
    }

    /// Whether writing at a column moves the rest to the right: in insert mode between the margins.
    #[inline]
    pub fn inserts(&self, col: usize) -> bool {
        self.modes.is_on(TerminalMode::Insert) && self.position.margins.has_col(col)
    }

    /// Moves the cursor after the written text; at the edge it stays with pending wrap, even without
    /// autowrap, which may be switched on before the next character.
    #[inline]
    fn advance(&mut self, width: usize, edge: usize) {
        self.position.cursor.col += width;
        if self.position.cursor.col >= edge {
            self.position.cursor.col = edge - 1;
            self.position.cursor.wrap_pending = true;
            // The old text wrapped into the next row; the new text does not yet.
            if let Some(row) = self
                .buffers
                .active
                .grid
                .row_mut(self.position.cursor.row)
                .filter(|_| edge == self.position.cols)
            {
                row.wrapped = false;
            }
        }
    }

    /// Continues in the next row; without autowrap the last column is written again.
    fn wrap(&mut self, end: LineEnd) {
        self.position.cursor.wrap_pending = false;
        if !self.is_on(TerminalMode::AutoWrap) {
            return;
        }
        // Below the margins nothing scrolls, and the last row is overwritten. Between side margins only a
        // part of the row continues.
        let wraps = (self.position.cursor.row + 1 < self.position.rows
            || self.position.cursor.row == self.position.margins.bottom)
            && !self.position.has_side_margins();
        if let Some(row) = self.buffers.active.grid.row_mut(self.position.cursor.row).filter(|_| wraps) {
            row.wrapped = true;
            row.gap = end == LineEnd::Gap;
        }
        self.index();
        self.position.cursor.col = self.position.margins.left;
    }

    /// Adds a combining mark to the character before the cursor, or under it with pending wrap; at the left
    /// edge it is dropped.
    fn combine(&mut self, mark: char) {
        let col = match (self.position.cursor.wrap_pending, self.position.cursor.col) {
            (true, col) => col,
            (false, 0) => return,
            (false, col) => col - 1,
        };
        if let Some(row) = self.buffers.active.grid.row_mut(self.position.cursor.row) {
            row.combine(col, mark);
            self.changed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::screen::Screen;

    fn lines(cols: u16, rows: u16, bytes: &str) -> Vec<String> {
        let mut screen = Screen::new(cols, rows);
        screen.feed(bytes.as_bytes());
        screen.lines()
    }

    #[test]
    fn the_last_column_waits_before_it_wraps() {
        assert_eq!(lines(3, 2, "abc"), ["abc", ""]);
        assert_eq!(lines(3, 2, "abcd"), ["abc", "d"]);
        assert_eq!(lines(3, 2, "abc\rx"), ["xbc", ""]);
        assert_eq!(lines(3, 2, "abc\x08x"), ["axc", ""]);
        assert_eq!(lines(3, 2, "abc\x1b[mx"), ["abc", "x"]);
        assert_eq!(lines(3, 2, "abcdefg"), ["def", "g"]);
    }

    #[test]
    fn without_autowrap_the_last_column_is_overwritten() {
        assert_eq!(lines(3, 2, "\x1b[?7labcde"), ["abe", ""]);
        assert_eq!(lines(3, 2, "abc\x1b[?7ld"), ["abd", ""]);
        assert_eq!(lines(3, 2, "\x1b[?7labcde漢\u{301}"), ["abe\u{301}", ""]);
    }

    #[test]
    fn without_autowrap_a_wide_character_that_does_not_fit_is_not_written() {
        assert_eq!(lines(3, 2, "\x1b[?7lab漢"), ["ab", ""]);
        assert_eq!(lines(4, 2, "\x1b[?7lab漢字"), ["ab漢", ""]);
        assert_eq!(lines(3, 2, "\x1b[?7labc漢\x1b[?7hd"), ["abc", "d"]);
    }

    #[test]
    fn the_last_column_waits_for_autowrap_to_come() {
        assert_eq!(lines(3, 2, "\x1b[?7labcd\x1b[?7he"), ["abd", "e"]);
        assert_eq!(lines(3, 2, "\x1b[?7labc\x08\x1b[?7he"), ["aec", ""]);
        assert_eq!(lines(3, 2, "\x1b[?7lé漢\x1b[?7he"), ["é漢", "e"]);
    }

    #[test]
    fn wide_characters_take_two_columns_and_wrap_whole() {
        assert_eq!(lines(4, 2, "漢字x"), ["漢字", "x"]);
        assert_eq!(lines(3, 2, "ab漢"), ["ab", "漢"]);
        assert_eq!(lines(3, 2, "漢\x1b[1;2Hx"), [" x", ""]);
        assert_eq!(lines(1, 2, "漢a"), ["a", ""]);
    }

    #[test]
    fn a_wide_character_that_wraps_leaves_no_old_text_before_it() {
        assert_eq!(lines(3, 2, "abc\x1b[1;3H漢"), ["ab", "漢"]);
    }

    #[test]
    fn only_a_row_that_ran_over_counts_as_wrapped() {
        let wrapped = |bytes: &str| {
            let mut screen = Screen::new(3, 2);
            screen.feed(bytes.as_bytes());
            screen.terminal.display.buffers.active.grid.rows()[0].wrapped
        };
        assert!(wrapped("abcd") && wrapped("ab漢"));
        assert!(!wrapped("abc\r\nd") && !wrapped("abcd\x1b[1;3H\x1b[K"));
    }

    #[test]
    fn marks_join_the_character_before_them() {
        assert_eq!(lines(4, 1, "e\u{301}x"), ["e\u{301}x"]);
        assert_eq!(lines(2, 1, "ae\u{301}"), ["ae\u{301}"]);
        assert_eq!(lines(4, 1, "漢\u{302}x"), ["漢\u{302}x"]);
        assert_eq!(lines(4, 1, "\u{301}x"), ["x"]);
        assert_eq!(lines(3, 1, "\x1b[?7labcde\u{301}"), ["abe\u{301}"]);
        assert_eq!(lines(3, 1, "\x1b[?7lab\u{301}"), ["ab\u{301}"]);
        assert_eq!(lines(3, 1, "abc\x1b[?7l\x1b[1;3H\u{301}"), ["ab\u{301}c"]);
    }

    #[test]
    fn insert_mode_moves_the_rest() {
        assert_eq!(lines(5, 1, "abc\r\x1b[4hx漢\x1b[4ly"), ["x漢yb"]);
    }

    #[test]
    fn the_last_character_is_repeated_within_bounds() {
        assert_eq!(lines(6, 2, "a\x1b[3b"), ["aaaa", ""]);
        assert_eq!(lines(6, 2, "漢\x1b[b"), ["漢漢", ""]);
        assert_eq!(lines(4, 2, "a\x1b[6b"), ["aaaa", "aaa"]);
        assert_eq!(lines(4, 2, "a\x1b[65535b"), ["aaaa", "aaaa"]);
        assert_eq!(lines(90, 2, "a\x1b[100b"), ["a".repeat(90), "a".repeat(11)]);
        assert_eq!(lines(4, 2, "a\x1b[65533b"), ["aaaa", "aa"]);
        assert_eq!(lines(5, 2, "漢\x1b[65532b"), ["漢漢", "漢"]);
        assert_eq!(lines(1, 2, "漢a\x1b[65532b"), ["a", "a"]);
        assert_eq!(lines(4, 2, "\x1b[5b"), ["", ""]);
        assert_eq!(lines(4, 1, "\x1b(0q\x1b[2b"), ["───"]);
        assert_eq!(lines(4, 1, "a\x1b[m\x1b[2b"), ["a"]);
    }

    #[test]
    fn delete_and_control_characters_are_not_text() {
        assert_eq!(lines(6, 1, "a\x7fb\u{85}c\0d"), ["abcd"]);
    }
}
