//! The text of a row with its columns, for searching.

use std::ops::Range;

use super::row::GridRow;
use crate::screen::Screen;

/// The text of a row, without blanks at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowText {
    text: String,
    /// For each character that starts a cell: its byte, and the column of the cell.
    cells: Vec<(u32, u16)>,
    /// The column after the last cell.
    end: u16,
    /// The blanks after it that are text, because the row wraps.
    blanks: u16,
}

impl RowText {
    fn of(row: &GridRow) -> Self {
        let mut text = Self::default();
        for (col, cell) in row.written().iter().enumerate() {
            if !cell.is_spacer() {
                text.cells.push((text.text.len() as u32, col as u16));
                row.push_text(col, &mut text.text);
            }
        }
        text.end = row.written().len() as u16;
        text.trim();
        if row.wrapped {
            text.blanks = (row.cols() as u16).saturating_sub(text.end + u16::from(row.gap));
        }
        text
    }

    fn trim(&mut self) {
        let len = self.text.trim_end_matches(' ').len();
        while self.cells.last().is_some_and(|(at, _)| *at as usize >= len) {
            self.end = self.cells.pop().map_or(0, |(_, col)| col);
        }
        self.text.truncate(len);
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many blanks are between the text and that of the next row, into which it wraps.
    pub fn blanks(&self) -> usize {
        usize::from(self.blanks)
    }

    /// The columns of a range of bytes, 0-based: of all cells that it touches. Empty for an empty range.
    pub fn cols(&self, bytes: Range<usize>) -> Range<u16> {
        if bytes.is_empty() {
            let at = self.cells.partition_point(|(at, _)| (*at as usize) < bytes.start);
            let col = self.cells.get(at).map_or(self.end, |(_, col)| *col);
            return col..col;
        }
        // The cell of a combining mark is that of the character before it.
        let first = self.cells.partition_point(|(at, _)| *at as usize <= bytes.start).saturating_sub(1);
        let behind = self.cells.partition_point(|(at, _)| (*at as usize) < bytes.end);
        let col = |at: usize| self.cells.get(at).map_or(self.end, |(_, col)| *col);
        col(first)..col(behind)
    }

    /// The bytes of a range of columns: of all cells that start in it.
    pub fn bytes(&self, cols: Range<u16>) -> Range<usize> {
        let byte = |col: u16| {
            let at = self.cells.partition_point(|(_, begins)| *begins < col);
            self.cells.get(at).map_or(self.text.len(), |(at, _)| *at as usize)
        };
        byte(cols.start)..byte(cols.end).max(byte(cols.start))
    }

    /// Cuts the text to the cells that lie in these columns with their whole width.
    #[must_use]
    pub fn part(&self, cols: Range<u16>) -> Self {
        let from = self.cells.partition_point(|(_, col)| *col < cols.start);
        let end_of = |to: usize| self.cells.get(to).map_or(self.end, |(_, col)| *col);
        let mut to = self.cells.partition_point(|(_, col)| *col < cols.end).max(from);
        to -= usize::from(to > from && end_of(to) > cols.end);
        let byte = |at: usize| self.cells.get(at).map_or(self.text.len(), |(at, _)| *at as usize);
        let start = byte(from);
        let cells = self.cells[from..to].iter().map(|(at, col)| (at - start as u32, *col)).collect();
        let text = self.text[start..byte(to)].to_owned();
        let mut part = Self { text, cells, end: end_of(to), blanks: 0 };
        part.trim();
        part
    }
}

impl Screen {
    /// The text of a visible row, 0-based, with its columns; empty for a row that does not exist.
    pub fn row_text(&self, row: u16) -> RowText {
        let rows = self.terminal.display.buffers.active.grid.rows();
        rows.get(usize::from(row)).map(RowText::of).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bytes: &str) -> RowText {
        let mut screen = Screen::new(12, 1);
        screen.feed(bytes.as_bytes());
        screen.row_text(0)
    }

    #[test]
    fn text_knows_its_columns() {
        let text = row("a漢e\u{301}b  ");
        assert_eq!(text.text(), "a漢e\u{301}b");
        let cols = |part: &str| {
            let at = text.text().find(part).unwrap();
            text.cols(at..at + part.len())
        };
        assert_eq!(
            (cols("a"), cols("漢"), cols("漢e\u{301}"), cols("\u{301}"), cols("b")),
            (0..1, 1..3, 1..4, 3..4, 4..5)
        );
        assert_eq!((text.bytes(0..1), text.bytes(1..4), text.bytes(4..9)), (0..1, 1..7, 7..8));
        assert_eq!((text.bytes(5..12), text.bytes(3..3)), (8..8, 4..4));
        assert_eq!((text.cols(0..0), text.cols(8..8), row("").cols(0..0)), (0..0, 5..5, 0..0));
    }

    #[test]
    fn blanks_before_the_edge_are_told_where_the_row_goes_on() {
        let mut screen = Screen::new(6, 4);
        screen.feed("abcd  ef\r\nghijk漢".as_bytes());
        let row = |row: u16| (screen.row_text(row).text().to_owned(), screen.row_text(row).blanks());
        assert_eq!((row(0), row(1)), (("abcd".to_owned(), 2), ("ef".to_owned(), 0)));
        assert_eq!(row(2), ("ghijk".to_owned(), 0), "there was no room for the wide one");
    }

    #[test]
    fn a_part_keeps_the_columns_of_the_row() {
        let text = row("  ab 漢c").part(2..7);
        assert_eq!((text.text(), text.cols(0..2), text.cols(3..6)), ("ab 漢", 2..4, 5..7));
        assert_eq!((text.part(0..5).text(), text.part(9..9).text()), ("ab", ""));
        let wide = row("日本語");
        assert_eq!((wide.part(0..5).text(), wide.part(0..6).text()), ("日本", "日本語"));
        assert_eq!((wide.part(1..5).text(), wide.part(2..3).text()), ("本", ""));
        assert_eq!(Screen::new(3, 1).row_text(7), RowText::default());
    }
}
