//! One row of cells, and the edits inside it, without cursor, margins and modes.
//!
//! The law of a row: every wide cell is followed by its spacer and every spacer follows a wide cell. Each
//! edit first blanks the wide characters that its ends would split.
//!
//! Cells after the last written one are blank and not stored: clearing a row drops its cells, an empty row
//! has no allocation, and text is mostly appended.

use super::cell::GridCell;
use super::combining::{CellMarks, CombiningMarks};
use super::packed_style::PackedStyle;
use super::width::width;
use crate::screen::parser::{Decoded, decode};

/// The result of [`GridRow::put_text`].
pub struct TextWritten {
    /// In bytes.
    pub len: usize,
    /// The column after the last character.
    pub col: usize,
    /// The last character, if any was written.
    pub last: Option<char>,
}

#[derive(Clone, Debug)]
pub struct GridRow {
    /// At most `cols`; the rest of the row is blank.
    pub cells: Vec<GridCell>,
    pub marks: CombiningMarks,
    cols: u16,
    /// Whether the text wraps into the next row (autowrap), as opposed to a line feed.
    pub wrapped: bool,
    /// It wraps because a wide character did not fit, so the last column is empty.
    pub gap: bool,
}

/// Stored blanks at the end, and marks without a cell, are not compared.
impl PartialEq for GridRow {
    fn eq(&self, other: &Self) -> bool {
        let marks = |row: &Self, at: usize| row.marks.get(at).to_owned();
        self.cols == other.cols
            && self.end() == other.end()
            && self.written() == other.written()
            && (0..)
                .zip(self.written())
                .all(|(at, cell)| !cell.is_marked() || marks(self, at) == marks(other, at))
    }
}

impl GridRow {
    /// An empty row of `cols` cells.
    pub fn new(cols: usize) -> Self {
        let cols = u16::try_from(cols).unwrap_or(u16::MAX);
        Self { cells: Vec::new(), marks: CombiningMarks::default(), cols, wrapped: false, gap: false }
    }

    /// The stored cells; all after them are blank.
    #[inline]
    pub fn stored(&self) -> &[GridCell] {
        &self.cells
    }

    pub fn cols(&self) -> usize {
        usize::from(self.cols)
    }

    /// The cell at `col`; a blank beyond the row.
    pub fn cell(&self, col: usize) -> GridCell {
        self.cells.get(col).copied().unwrap_or(GridCell::BLANK)
    }

    /// The cells up to the last one with text or a style.
    pub fn written(&self) -> &[GridCell] {
        let end = self.cells.iter().rposition(|cell| *cell != GridCell::BLANK).map_or(0, |last| last + 1);
        &self.cells[..end]
    }

    /// Appends the text of the cell at `col`; a spacer has none.
    pub fn push_text(&self, col: usize, text: &mut String) {
        match self.cells.get(col) {
            None => text.push(' '),
            Some(cell) if cell.is_spacer() => {}
            Some(cell) => {
                text.push(cell.ch());
                if cell.is_marked() {
                    text.push_str(self.marks.get(col));
                }
            }
        }
    }

    /// Sets the length of the row to `cols` cells.
    pub fn resize(&mut self, cols: usize) {
        if cols == self.cols() {
            return;
        }
        self.part(cols);
        self.cells.truncate(cols);
        self.cells.shrink_to(cols);
        self.cols = u16::try_from(cols).unwrap_or(u16::MAX);
        self.wrapped = false;
    }

    /// Writes a one-column character. `col` beyond the row is ignored.
    #[inline]
    pub fn put_narrow(&mut self, col: usize, ch: char, style: PackedStyle) {
        let cell = GridCell::narrow(ch, style);
        if col == self.cells.len() && col < self.cols() {
            self.cells.push(cell);
        } else {
            self.overwrite(col, &[cell]);
        }
    }

    /// Writes a two-column character. Ignored unless both cells fit.
    #[inline]
    pub fn put_wide(&mut self, col: usize, ch: char, style: PackedStyle) {
        let cells = GridCell::wide(ch, style);
        if col == self.cells.len() && col + 2 <= self.cols() {
            self.cells.extend_from_slice(&cells);
        } else if col + 2 <= self.cols() {
            self.overwrite(col, &cells);
        }
    }

    /// Writes printable ASCII; what does not fit is dropped.
    #[inline]
    pub fn put_ascii(&mut self, col: usize, bytes: &[u8], style: PackedStyle) {
        if col < self.cells.len() {
            return self.overwrite_ascii(col, bytes, style);
        }
        self.reach(col);
        let bytes = &bytes[..bytes.len().min(self.cols() - self.cells.len())];
        self.cells.extend(bytes.iter().map(|byte| GridCell::ascii(*byte, style)));
    }

    fn overwrite_ascii(&mut self, col: usize, bytes: &[u8], style: PackedStyle) {
        let (over, behind) = bytes.split_at(bytes.len().min(self.cells.len() - col));
        self.part(col);
        self.part(col + over.len());
        for (cell, byte) in self.cells[col..].iter_mut().zip(over) {
            *cell = GridCell::ascii(*byte, style);
        }
        if !behind.is_empty() {
            self.put_ascii(self.cells.len(), behind, style);
        }
    }

    /// Writes the non-ASCII characters at the start of `bytes`, as many as fit and need nothing but their
    /// width.
    #[inline]
    pub fn put_text(&mut self, mut col: usize, bytes: &[u8], style: PackedStyle) -> TextWritten {
        let (mut len, mut last) = (0, None);
        self.reach(col);
        while let Some(rest) = bytes.get(len..).filter(|rest| rest.first().is_some_and(|byte| *byte >= 0x80))
        {
            let Decoded::Char(ch, read) = decode(rest) else { break };
            match width(ch) {
                Some(1) if col < self.cols() => {
                    match self.cells.get_mut(col) {
                        None => self.cells.push(GridCell::narrow(ch, style)),
                        Some(cell) if !cell.is_half() => *cell = GridCell::narrow(ch, style),
                        Some(_) => break,
                    }
                    col += 1;
                }
                Some(2) if col + 2 <= self.cols() => {
                    match self.cells.get_mut(col..) {
                        Some([]) => self.cells.extend_from_slice(&GridCell::wide(ch, style)),
                        Some([left, right, ..]) if !left.is_half() && !right.is_half() => {
                            [*left, *right] = GridCell::wide(ch, style)
                        }
                        _ => break,
                    }
                    col += 2;
                }
                _ => break,
            }
            len += read;
            last = Some(ch);
        }
        TextWritten { len, col, last }
    }

    /// Replaces cells, up to the end of the row.
    fn overwrite(&mut self, col: usize, cells: &[GridCell]) {
        if col >= self.cols() {
            return;
        }
        self.reach(col);
        self.part(col);
        self.part(col + cells.len());
        for (at, cell) in (col..self.cols()).zip(cells) {
            match self.cells.get_mut(at) {
                Some(place) => *place = *cell,
                None => self.cells.push(*cell),
            }
        }
    }

    /// Stores blanks up to `col`, clamped to the row.
    #[inline]
    pub fn reach(&mut self, col: usize) {
        let col = col.min(self.cols());
        if self.cells.len() < col {
            self.cells.resize(col, GridCell::BLANK);
        }
    }

    /// Adds a combining mark to the character at `col`, even if that is the right half of a wide one.
    pub fn combine(&mut self, col: usize, mark: char) {
        if col >= self.cols() {
            return;
        }
        self.reach(col + 1);
        let spacer = self.cells.get(col).is_some_and(|cell| cell.is_spacer());
        let col = if spacer { col.saturating_sub(1) } else { col };
        if let Some(cell) = self.cells.get_mut(col) {
            let had = if cell.is_marked() { CellMarks::Some } else { CellMarks::None };
            cell.mark();
            self.marks.add(col, mark, had);
        }
    }

    /// Blanks the columns `from..to`, clamped to the row.
    pub fn erase(&mut self, from: usize, to: usize, style: PackedStyle) {
        let to = to.min(self.cols());
        if from >= to {
            return;
        }
        self.part(from);
        self.part(to);
        if to == self.cols() {
            self.wrapped = false;
        }
        self.fill(from, to, style);
    }

    /// Blanks the whole row.
    #[inline]
    pub fn clear(&mut self, style: PackedStyle) {
        self.wrapped = false;
        self.cells.clear();
        self.marks.clear();
        if style != PackedStyle::default() {
            self.cells.resize(self.cols(), GridCell::blank(style));
        }
    }

    /// Moves the cells from `col` on to the right by `count`; what leaves the row is lost.
    pub fn insert(&mut self, col: usize, count: usize, style: PackedStyle) {
        let cols = self.cols();
        if col >= cols || count == 0 {
            return;
        }
        let count = count.min(cols - col);
        self.part(col);
        self.part(cols - count);
        self.wrapped = false;
        if col < self.cells.len() {
            self.forget_unmarked();
            self.cells.truncate(cols - count);
            let len = self.cells.len();
            self.cells.resize(len + count, GridCell::BLANK);
            self.cells[col..].rotate_right(count);
            self.marks.shift(|at| if at < col { Some(at) } else { Some(at + count).filter(|to| *to < cols) });
        }
        self.fill(col, col + count, style);
    }

    /// Removes `count` cells at `col`; blanks come in at the right.
    pub fn delete(&mut self, col: usize, count: usize, style: PackedStyle) {
        let cols = self.cols();
        if col >= cols || count == 0 {
            return;
        }
        let count = count.min(cols - col);
        self.part(col);
        self.part(col + count);
        self.wrapped = false;
        if col < self.cells.len() {
            self.forget_unmarked();
            self.cells.drain(col..(col + count).min(self.cells.len()));
            self.marks
                .shift(|at| if at < col { Some(at) } else { at.checked_sub(count).filter(|to| *to >= col) });
        }
        self.fill(cols - count, cols, style);
    }

    /// Blanks `from..to`, which must be in the row.
    fn fill(&mut self, from: usize, to: usize, style: PackedStyle) {
        if style != PackedStyle::default() {
            self.reach(to);
            self.cells[from..to].fill(GridCell::blank(style));
        } else if to >= self.cells.len() {
            self.cells.truncate(from);
        } else {
            self.cells[from..to].fill(GridCell::BLANK);
        }
    }

    /// Drops leftover marks before cells move onto them.
    fn forget_unmarked(&mut self) {
        let cells = &self.cells;
        self.marks.shift(|at| cells.get(at).is_some_and(|cell| cell.is_marked()).then_some(at));
    }

    /// Checks the laws of a row, for tests.
    #[cfg(test)]
    pub fn check(&self, cols: usize) {
        assert_eq!(self.cols(), cols);
        assert!(self.cells.len() <= cols);
        for (at, cell) in self.cells.iter().enumerate() {
            let next = self.cells.get(at + 1).is_some_and(|next| next.is_spacer());
            assert_eq!(cell.is_wide(), next, "{:?}", self.cells);
            assert!(!cell.is_marked() || !self.marks.get(at).is_empty());
        }
        assert!(self.cells.first().is_none_or(|cell| !cell.is_spacer()));
    }

    /// Blanks the wide character that a cut to the left of `col` would split.
    #[inline]
    pub fn part(&mut self, col: usize) {
        if col == 0 || self.cells.get(col).is_none_or(|cell| !cell.is_spacer()) {
            return;
        }
        self.cells[col - 1].hollow();
        self.cells[col].hollow();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> GridRow {
        let mut row = GridRow::new(8);
        let mut col = 0;
        for ch in text.chars() {
            if ch.is_ascii() {
                row.put_narrow(col, ch, PackedStyle::default());
                col += 1;
            } else {
                row.put_wide(col, ch, PackedStyle::default());
                col += 2;
            }
        }
        row
    }

    fn text(row: &GridRow) -> String {
        let mut text = String::new();
        (0..row.written().len()).for_each(|at| row.push_text(at, &mut text));
        text
    }

    #[test]
    fn overwriting_half_of_a_wide_character_blanks_the_other_half() {
        let mut left = row("a漢b");
        left.put_narrow(1, 'x', PackedStyle::default());
        assert_eq!(text(&left), "ax b");
        let mut right = row("a漢b");
        right.put_narrow(2, 'x', PackedStyle::default());
        assert_eq!(text(&right), "a xb");
        let mut both = row("漢字");
        both.put_wide(1, '本', PackedStyle::default());
        assert_eq!(text(&both), " 本");
    }

    #[test]
    fn erasing_half_of_a_wide_character_blanks_it_whole() {
        let mut row = row("a漢b");
        row.erase(2, 3, PackedStyle::default());
        assert_eq!(text(&row), "a  b");
        row.put_wide(1, '字', PackedStyle::default());
        row.erase(1, 2, PackedStyle::default());
        assert_eq!(text(&row), "a  b");
        row.check(8);
    }

    #[test]
    fn insert_and_delete_shift_the_rest() {
        let mut row = row("abcdefgh");
        row.insert(2, 3, PackedStyle::default());
        assert_eq!(text(&row), "ab   cde");
        row.delete(0, 5, PackedStyle::default());
        assert_eq!(text(&row), "cde");
        row.delete(1, 1000, PackedStyle::default());
        assert_eq!(text(&row), "c");
    }

    #[test]
    fn insert_pushes_no_half_character_over_the_edge() {
        let mut row = row("abcdef漢");
        row.insert(0, 1, PackedStyle::default());
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
        row.clear(PackedStyle::default());
        assert_eq!(row, GridRow::new(8));
    }

    #[test]
    fn a_run_overwrites_and_goes_on_behind_what_there_was() {
        let mut row = row("ab漢");
        row.put_ascii(3, b"xyz", PackedStyle::default());
        assert_eq!(text(&row), "ab xyz");
        row.put_ascii(0, b"123456789", PackedStyle::default());
        assert_eq!(text(&row), "12345678");
        let mut row = GridRow::new(8);
        row.put_ascii(3, b"x", PackedStyle::default());
        row.put_ascii(7, b"yz", PackedStyle::default());
        assert_eq!(text(&row), "   x   y");
        row.check(8);
    }

    #[test]
    fn marks_move_with_their_character_and_go_with_it() {
        let mut row = row("abc");
        row.combine(1, '\u{301}');
        row.insert(0, 2, PackedStyle::default());
        assert_eq!(text(&row), "  ab\u{301}c");
        row.delete(1, 1, PackedStyle::default());
        assert_eq!(text(&row), " ab\u{301}c");
        row.put_ascii(2, b"x", PackedStyle::default());
        assert_eq!(text(&row), " axc");
        row.insert(0, 1, PackedStyle::default());
        row.combine(2, '\u{302}');
        assert_eq!(text(&row), "  a\u{302}xc");
        row.check(8);
    }

    #[test]
    fn rows_are_equal_by_what_they_show() {
        let mut marked = row("abc");
        marked.combine(1, '\u{301}');
        assert_ne!(marked, row("abc"));
        marked.put_ascii(1, b"b", PackedStyle::default());
        assert_eq!(marked, row("abc"));
        let mut blanks = row("abc");
        blanks.put_ascii(3, b"  ", PackedStyle::default());
        assert_eq!(blanks, row("abc"));
    }
}
