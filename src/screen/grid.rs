//! The visible rows of one screen: scrolling inside margins, erasing, resizing.
//!
//! Rows are moved, never copied: a scroll rotates the row headers and clears those that come in. Cursor, margins and modes
//! are the terminal's. Lines that leave at the top are lost here; keeping them is the scrollback's business.

use super::row::Row;
use super::style::Style;

/// Rows of cells, all of the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Grid {
    rows: Vec<Row>,
}

impl Grid {
    /// An empty grid.
    pub(super) fn new(cols: usize, rows: usize) -> Self {
        Self { rows: vec![Row::new(cols); rows] }
    }

    /// Whether it has no rows yet: the alternate screen costs nothing until it is shown.
    pub(super) fn is_unused(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows from the top.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// One row to edit.
    #[inline]
    pub(super) fn row_mut(&mut self, row: usize) -> Option<&mut Row> {
        self.rows.get_mut(row)
    }

    /// Cuts or extends at the right and at the bottom; the content stays where it is.
    pub(super) fn resize(&mut self, cols: usize, rows: usize) {
        self.rows.truncate(rows);
        for row in &mut self.rows {
            row.resize(cols);
        }
        self.rows.resize_with(rows, || Row::new(cols));
    }

    /// Blanks whole rows `from..to`, cut to the grid.
    pub(super) fn erase_rows(&mut self, from: usize, to: usize, style: Style) {
        let to = to.min(self.rows.len());
        for row in self.rows.get_mut(from..to).unwrap_or_default() {
            row.clear(style);
        }
    }

    /// Moves the rows `top..=bottom` up by `count`; blank rows come in at the bottom.
    pub(super) fn scroll_up(&mut self, top: usize, bottom: usize, count: usize, style: Style) {
        let Some(rows) = self.rows.get_mut(top..=bottom) else {
            return;
        };
        let count = count.min(rows.len());
        rows.rotate_left(count);
        let kept = rows.len() - count;
        rows[kept..].iter_mut().for_each(|row| row.clear(style));
    }

    /// Moves the rows `top..=bottom` down by `count`; blank rows come in at the top.
    pub(super) fn scroll_down(&mut self, top: usize, bottom: usize, count: usize, style: Style) {
        let Some(rows) = self.rows.get_mut(top..=bottom) else {
            return;
        };
        let count = count.min(rows.len());
        rows.rotate_right(count);
        rows[..count].iter_mut().for_each(|row| row.clear(style));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(text: &str) -> Grid {
        let mut grid = Grid::new(2, text.len());
        for (at, ch) in text.chars().enumerate() {
            grid.rows[at].put_narrow(0, ch, Style::default());
        }
        grid
    }

    fn text(grid: &Grid) -> String {
        let mut text = String::new();
        for row in grid.rows() {
            match row.written().first() {
                Some(cell) => cell.push_text(&mut text),
                None => text.push('.'),
            }
        }
        text
    }

    #[test]
    fn scrolling_stays_inside_the_margins() {
        let mut up = grid("abcde");
        up.scroll_up(1, 3, 1, Style::default());
        assert_eq!(text(&up), "acd.e");
        let mut down = grid("abcde");
        down.scroll_down(1, 3, 2, Style::default());
        assert_eq!(text(&down), "a..be");
    }

    #[test]
    fn a_scroll_larger_than_the_region_empties_it() {
        let mut grid = grid("abcde");
        grid.scroll_up(0, 2, 9999, Style::default());
        assert_eq!(text(&grid), "...de");
        grid.scroll_down(4, 2, 1, Style::default());
        assert_eq!(text(&grid), "...de");
    }

    #[test]
    fn resizing_keeps_the_top_left() {
        let mut grid = grid("abc");
        grid.resize(1, 2);
        assert_eq!(text(&grid), "ab");
        grid.resize(5, 4);
        assert_eq!(text(&grid), "ab..");
    }
}
