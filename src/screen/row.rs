//! One row of cells, and the edits inside it. It knows nothing of cursors, margins or modes.
//!
//! The law of a row: every wide cell is followed by its spacer and every spacer follows a wide cell. Each edit first
//! hollows out the wide characters that its ends would cut in two.

use super::cell::{Cell, Width};
use super::style::Style;

/// A row of the grid.
#[derive(Clone, Debug)]
pub(super) struct Row {
    cells: Vec<Cell>,
    /// Cells from here on are blank and unstyled, so that clearing a short row is cheap. An upper bound, not exact.
    used: usize,
    /// Whether the text goes on in the next row because it did not fit (autowrap), not because of a line feed.
    pub(super) wrapped: bool,
}

/// `used` is a hint and takes no part.
impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.cells == other.cells && self.wrapped == other.wrapped
    }
}

impl Row {
    /// An empty row of `cols` cells.
    pub(super) fn new(cols: usize) -> Self {
        Self { cells: vec![Cell::blank(Style::default()); cols], used: 0, wrapped: false }
    }

    /// The cells that may hold something; the rest of the row is blank.
    pub(super) fn written(&self) -> &[Cell] {
        let cells = self.cells.get(..self.used).unwrap_or(&self.cells);
        let end = cells.iter().rposition(|cell| !cell.is_blank()).map_or(0, |last| last + 1);
        &cells[..end]
    }

    /// Makes the row `cols` cells long, from the left.
    pub(super) fn resize(&mut self, cols: usize) {
        if cols == self.cells.len() {
            return;
        }
        self.part(cols);
        self.cells.resize(cols, Cell::blank(Style::default()));
        self.used = self.used.min(cols);
        self.wrapped = false;
    }

    /// Writes a character of one column. `col` beyond the row is ignored.
    #[inline]
    pub(super) fn put_narrow(&mut self, col: usize, ch: char, style: Style) {
        if self.cells.get(col).is_some_and(|cell| cell.width != Width::Narrow) {
            self.part(col);
            self.part(col + 1);
        }
        if let Some(cell) = self.cells.get_mut(col) {
            cell.set(ch, style, Width::Narrow);
            self.used = self.used.max(col + 1);
        }
    }

    /// Writes a character of two columns. Ignored unless both fit.
    pub(super) fn put_wide(&mut self, col: usize, ch: char, style: Style) {
        if col + 2 > self.cells.len() {
            return;
        }
        self.part(col);
        self.part(col + 2);
        self.cells[col].set(ch, style, Width::Wide);
        self.cells[col + 1].set(' ', style, Width::Spacer);
        self.used = self.used.max(col + 2);
    }

    /// Adds a combining mark to the character at `col`, or to the wide one whose right half that is.
    pub(super) fn combine(&mut self, col: usize, mark: char) {
        let spacer = self.cells.get(col).is_some_and(|cell| cell.width == Width::Spacer);
        let col = if spacer { col.saturating_sub(1) } else { col };
        if let Some(cell) = self.cells.get_mut(col) {
            cell.combine(mark);
            self.used = self.used.max(col + 1);
        }
    }

    /// Blanks the columns `from..to`, cut to the row.
    pub(super) fn erase(&mut self, from: usize, to: usize, style: Style) {
        let to = to.min(self.cells.len());
        if from >= to {
            return;
        }
        self.part(from);
        self.part(to);
        if to == self.cells.len() {
            self.wrapped = false;
        }
        self.fill(from, to, style);
    }

    /// Blanks the whole row.
    pub(super) fn clear(&mut self, style: Style) {
        self.wrapped = false;
        self.fill(0, self.cells.len(), style);
    }

    /// Moves the cells from `col` on to the right by `count`; what leaves the row is lost.
    pub(super) fn insert(&mut self, col: usize, count: usize, style: Style) {
        let len = self.cells.len();
        if col >= len || count == 0 {
            return;
        }
        let count = count.min(len - col);
        self.part(col);
        self.part(len - count);
        self.cells[col..].rotate_right(count);
        if self.used > col {
            self.used = (self.used + count).min(len);
        }
        self.wrapped = false;
        self.fill(col, col + count, style);
    }

    /// Removes `count` cells at `col`; blanks come in at the right.
    pub(super) fn delete(&mut self, col: usize, count: usize, style: Style) {
        let len = self.cells.len();
        if col >= len || count == 0 {
            return;
        }
        let count = count.min(len - col);
        self.part(col);
        self.part(col + count);
        self.cells[col..].rotate_left(count);
        // The removed cells stand at the end now, and may hold text until they are filled.
        self.used = len;
        self.wrapped = false;
        self.fill(len - count, len, style);
    }

    /// Blanks `from..to`, which lies in the row, and keeps `used` right.
    fn fill(&mut self, from: usize, to: usize, style: Style) {
        if style == Style::default() {
            let end = to.min(self.used);
            if from < end {
                self.cells[from..end].fill(Cell::blank(style));
            }
            if to >= self.used {
                self.used = self.used.min(from);
            }
        } else {
            self.cells[from..to].fill(Cell::blank(style));
            self.used = self.used.max(to);
        }
    }

    /// The laws of a row, for tests.
    #[cfg(test)]
    pub(super) fn check(&self, cols: usize) {
        assert_eq!(self.cells.len(), cols);
        assert!(self.used <= cols && self.cells[self.used..].iter().all(Cell::is_blank));
        for (at, cell) in self.cells.iter().enumerate() {
            let next = self.cells.get(at + 1).is_some_and(|next| next.width == Width::Spacer);
            assert_eq!(cell.width == Width::Wide, next, "{:?}", self.cells);
        }
        assert!(self.cells.first().is_none_or(|cell| cell.width != Width::Spacer));
    }

    /// Hollows out the wide character that a cut to the left of `col` would split.
    fn part(&mut self, col: usize) {
        if col == 0 || self.cells.get(col).is_none_or(|cell| cell.width != Width::Spacer) {
            return;
        }
        self.cells[col - 1].hollow();
        self.cells[col].hollow();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        let mut row = Row::new(8);
        let mut col = 0;
        for ch in text.chars() {
            if ch.is_ascii() {
                row.put_narrow(col, ch, Style::default());
                col += 1;
            } else {
                row.put_wide(col, ch, Style::default());
                col += 2;
            }
        }
        row
    }

    fn text(row: &Row) -> String {
        let mut text = String::new();
        row.written().iter().for_each(|cell| cell.push_text(&mut text));
        text
    }

    #[test]
    fn overwriting_half_of_a_wide_character_blanks_the_other_half() {
        let mut left = row("a漢b");
        left.put_narrow(1, 'x', Style::default());
        assert_eq!(text(&left), "ax b");
        let mut right = row("a漢b");
        right.put_narrow(2, 'x', Style::default());
        assert_eq!(text(&right), "a xb");
        let mut both = row("漢字");
        both.put_wide(1, '本', Style::default());
        assert_eq!(text(&both), " 本");
    }

    #[test]
    fn erasing_half_of_a_wide_character_blanks_it_whole() {
        let mut row = row("a漢b");
        row.erase(2, 3, Style::default());
        assert_eq!(text(&row), "a  b");
        row.put_wide(1, '字', Style::default());
        row.erase(1, 2, Style::default());
        assert_eq!(text(&row), "a  b");
        row.check(8);
    }

    #[test]
    fn insert_and_delete_shift_the_rest() {
        let mut row = row("abcdefgh");
        row.insert(2, 3, Style::default());
        assert_eq!(text(&row), "ab   cde");
        row.delete(0, 5, Style::default());
        assert_eq!(text(&row), "cde");
        row.delete(1, 1000, Style::default());
        assert_eq!(text(&row), "c");
    }

    #[test]
    fn insert_pushes_no_half_character_over_the_edge() {
        let mut row = row("abcdef漢");
        row.insert(0, 1, Style::default());
        assert_eq!(text(&row), " abcdef");
    }

    #[test]
    fn resizing_cuts_no_wide_character_in_two() {
        let mut row = row("a漢b");
        row.resize(2);
        assert_eq!(text(&row), "a");
        row.resize(4);
        assert_eq!(text(&row), "a");
    }

    #[test]
    fn a_cleared_row_equals_a_new_one() {
        let mut row = row("ab漢");
        row.clear(Style::default());
        assert_eq!(row, Row::new(8));
    }
}
