//! Erasing and shifting at the cursor: ED, EL, DECSED, DECSEL, ECH, ICH, DCH, IL, DL, DECALN.
//!
//! Side margins limit shifts, not erases. Erased cells get the pen's background (as in xterm), and pending
//! wrap is cancelled.

use std::ops::Range;

use crate::screen::cursor::Margins;
use crate::screen::display::DisplayState;
use crate::screen::grid::{GridRow, PackedStyle};

/// The part that ED and EL erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraseExtent {
    /// 0: from the cursor to the end, including the cursor's cell.
    ToEnd,
    /// 1: from the start to the cursor, including the cursor's cell.
    ToStart,
    /// 2: all of it.
    All,
}

impl EraseExtent {
    /// The extent of a parameter; `None` for others, such as ED 3, which clears the scrollback.
    pub fn from_number(number: u16) -> Option<Self> {
        match number {
            0 => Some(Self::ToEnd),
            1 => Some(Self::ToStart),
            2 => Some(Self::All),
            _ => None,
        }
    }
}

impl DisplayState {
    /// DECSCA: whether later text is protected from selective erasing.
    pub fn protect(&mut self, protected: bool) {
        self.position.cursor.pen.protect(protected);
        self.iso_protection = false;
    }

    /// SPA: protects later text from all erasing. As in xterm, the last of DECSCA and SPA decides which of
    /// the two applies, for all cells.
    pub fn protect_always(&mut self) {
        self.position.cursor.pen.protect(true);
        self.iso_protection = true;
    }

    /// ED.
    pub fn erase_screen(&mut self, extent: EraseExtent) {
        if self.iso_protection {
            return self.erase_screen_selectively(extent);
        }
        let (row, blank) = (self.position.cursor.row, self.blank());
        match extent {
            EraseExtent::ToEnd => self.buffers.active.grid.erase_rows(row + 1, self.position.rows, blank),
            EraseExtent::ToStart => self.buffers.active.grid.erase_rows(0, row, blank),
            EraseExtent::All => self.buffers.active.grid.erase_rows(0, self.position.rows, blank),
        }
        self.erase_line(extent);
    }

    /// EL.
    pub fn erase_line(&mut self, extent: EraseExtent) {
        self.erase_columns(self.columns(extent));
    }

    fn columns(&self, extent: EraseExtent) -> Range<usize> {
        match extent {
            EraseExtent::ToEnd => self.position.cursor.col..self.position.cols,
            EraseExtent::ToStart => 0..self.position.cursor.col + 1,
            EraseExtent::All => 0..self.position.cols,
        }
    }

    /// DECSED: protected cells stay.
    pub fn erase_screen_selectively(&mut self, extent: EraseExtent) {
        let (cursor, blank) = (self.position.cursor.row, self.blank());
        let rows = match extent {
            EraseExtent::ToEnd => cursor + 1..self.position.rows,
            EraseExtent::ToStart => 0..cursor,
            EraseExtent::All => 0..self.position.rows,
        };
        for at in rows {
            let cols = self.position.cols;
            self.buffers
                .active
                .grid
                .row_mut(at)
                .into_iter()
                .for_each(|row| row.erase_unprotected(0, cols, blank));
        }
        self.erase_line_selectively(extent);
    }

    /// DECSEL.
    pub fn erase_line_selectively(&mut self, extent: EraseExtent) {
        self.erase_columns_selectively(self.columns(extent));
    }

    fn erase_columns_selectively(&mut self, cols: Range<usize>) {
        self.change_row(|row, blank| row.erase_unprotected(cols.start, cols.end, blank));
    }

    /// Changes the row of the cursor.
    fn change_row(&mut self, change: impl FnOnce(&mut GridRow, PackedStyle)) {
        let blank = self.blank();
        self.position.cursor.wrap_pending = false;
        if let Some(row) = self.buffers.active.grid.row_mut(self.position.cursor.row) {
            change(row, blank);
        }
        self.changed = true;
    }

    /// ECH.
    pub fn erase_chars(&mut self, count: usize) {
        self.erase_columns(self.position.cursor.col..self.position.cursor.col + count);
    }

    fn erase_columns(&mut self, cols: Range<usize>) {
        if self.iso_protection {
            return self.erase_columns_selectively(cols);
        }
        self.change_row(|row, blank| row.erase(cols.start, cols.end, blank));
    }

    /// ICH.
    pub fn insert_chars(&mut self, count: usize) {
        let (col, margins) = (self.position.cursor.col, self.position.margins);
        self.change_row(|row, blank| {
            if margins.has_col(col) {
                row.insert_within(col..margins.right + 1, count, blank);
            }
        });
    }

    /// DCH.
    pub fn delete_chars(&mut self, count: usize) {
        let (col, margins) = (self.position.cursor.col, self.position.margins);
        self.change_row(|row, blank| {
            if margins.has_col(col) {
                row.delete_within(col..margins.right + 1, count, blank);
            }
        });
    }

    /// IL. No effect outside of the margins.
    pub fn insert_lines(&mut self, count: usize) {
        if let Some(margins) = self.margins_from_cursor() {
            self.scroll_down(margins, count);
            self.position.move_to(self.position.margins.left, self.position.cursor.row);
        }
    }

    /// DL. No effect outside of the margins.
    pub fn delete_lines(&mut self, count: usize) {
        if let Some(margins) = self.margins_from_cursor() {
            self.scroll_up(margins, count);
            self.position.move_to(self.position.margins.left, self.position.cursor.row);
        }
    }

    fn margins_from_cursor(&self) -> Option<Margins> {
        let (col, row) = (self.position.cursor.col, self.position.cursor.row);
        (self.position.margins.has_col(col) && self.position.margins.has_row(row))
            .then_some(Margins { top: row, ..self.position.margins })
    }

    /// DECALN: fills the screen with `E`, resets the margins, and moves the cursor home.
    pub fn align(&mut self) {
        self.position.margins = self.position.whole();
        self.position.cursor.origin = false;
        let line = vec![b'E'; self.position.cols];
        for at in 0..self.position.rows {
            if let Some(row) = self.buffers.active.grid.row_mut(at) {
                row.clear(PackedStyle::default());
                row.put_ascii(0, &line, PackedStyle::default());
            }
        }
        self.position.move_to(0, 0);
        self.changed = true;
    }
}

#[cfg(test)]
mod tests {
    use crate::screen::{Color, Screen};

    fn lines(bytes: &str) -> Vec<String> {
        let mut screen = Screen::new(5, 3);
        screen.feed(b"abcde\r\nfghij\r\nklmno\x1b[2;3H");
        screen.feed(bytes.as_bytes());
        screen.lines()
    }

    #[test]
    fn erasing_the_screen() {
        assert_eq!(lines("\x1b[J"), ["abcde", "fg", ""]);
        assert_eq!(lines("\x1b[1J"), ["", "   ij", "klmno"]);
        assert_eq!(lines("\x1b[2J"), ["", "", ""]);
        assert_eq!(lines("\x1b[3J"), ["abcde", "fghij", "klmno"]);
    }

    #[test]
    fn erasing_in_the_line() {
        assert_eq!(lines("\x1b[K")[1], "fg");
        assert_eq!(lines("\x1b[1K")[1], "   ij");
        assert_eq!(lines("\x1b[2K")[1], "");
        assert_eq!(lines("\x1b[2X")[1], "fg  j");
        assert_eq!(lines("\x1b[999X")[1], "fg");
    }

    #[test]
    fn shifting_in_the_line() {
        assert_eq!(lines("\x1b[2@")[1], "fg  h");
        assert_eq!(lines("\x1b[2P")[1], "fgj");
    }

    #[test]
    fn lines_are_inserted_and_deleted_inside_the_margins_only() {
        assert_eq!(lines("\x1b[L"), ["abcde", "", "fghij"]);
        assert_eq!(lines("\x1b[Mx"), ["abcde", "xlmno", ""]);
        assert_eq!(lines("\x1b[1;2r\x1b[1;1H\x1b[9M"), ["", "", "klmno"]);
        assert_eq!(lines("\x1b[1;2r\x1b[3;1H\x1b[9L"), ["abcde", "fghij", "klmno"]);
    }

    #[test]
    fn erasing_ends_the_wait_to_wrap() {
        assert_eq!(lines("\x1b[1;5Hx\x1b[Ky")[0], "abcdy");
    }

    #[test]
    fn erased_cells_take_the_background_of_the_pen() {
        let mut screen = Screen::new(4, 1);
        screen.feed(b"ab\x1b[1;41m\x1b[K");
        let runs = screen.row_runs(0);
        assert_eq!((runs[1].text.as_str(), runs[1].style.bg), ("  ", Color::Indexed(1)));
        assert!(runs[1].style.attr_names().is_empty());
    }

    #[test]
    fn what_spa_protects_is_left_by_whatever_erases() {
        let after = |bytes: &str| {
            let mut screen = Screen::new(5, 2);
            screen.feed(format!("a\x1bVb漢\x1bWe\r\nf\x1bVg\x1bWh\x1b[1;1H{bytes}").as_bytes());
            screen.lines()
        };
        assert_eq!(after("\x1b[J"), [" b漢", " g"]);
        assert_eq!(after("\x1b[2J"), [" b漢", " g"]);
        assert_eq!(after("\x1b[5G\x1b[1K"), [" b漢", "fgh"]);
        assert_eq!(after("\x1b[4X"), [" b漢e", "fgh"]);
        assert_eq!(after("\x1b[?2J"), [" b漢", " g"]);
        assert_eq!(after("\x1b[2;2;2;2$z\x1b[P"), ["b漢e", "f h"]);
        // The last protection decides, even for cells that the other has protected.
        assert_eq!(after("\x1b[\"q\x1b[2J"), ["", ""]);
        assert_eq!(after("\x1b[\"q\x1b[?2J"), [" b漢", " g"]);
        assert_eq!(after("\x1b[!p\x1b[2J"), ["", ""]);
    }

    #[test]
    fn alignment_fills_the_screen() {
        assert_eq!(lines("\x1b[2;3r\x1b#8x"), ["xEEEE", "EEEEE", "EEEEE"]);
    }
}
