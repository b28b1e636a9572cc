//! The visible rows of one screen: scrolling inside margins, erasing, resizing.
//!
//! Rows are moved, never copied: a scroll of the whole screen turns a ring, one inside margins rotates the
//! row headers. Cursor, margins and modes are outside. Lines that leave at the top are lost here; the
//! scrollback received them before.

use std::collections::VecDeque;

use super::packed_style::PackedStyle;
use super::row::GridRow;

/// Rows of cells, all of the same length.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    rows: VecDeque<GridRow>,
    origins: Option<Box<RowOrigins>>,
}

/// The tracking of rows is not compared.
impl PartialEq for Grid {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows
    }
}

/// For each row from the top: its position at the last call of [`Grid::take_origins`]; `None` for a row that
/// came in blank since then.
pub type RowOrigins = Vec<Option<u16>>;

impl Grid {
    pub fn new(cols: usize, rows: usize) -> Self {
        Self { rows: (0..rows).map(|_| GridRow::new(cols)).collect(), origins: None }
    }

    /// Starts to track the rows as they scroll, or starts again, and returns the result so far; `None` if
    /// they were not tracked or the grid was resized.
    pub fn take_origins(&mut self) -> Option<RowOrigins> {
        let rows = u16::try_from(self.rows.len()).unwrap_or(u16::MAX);
        let found = self.origins.replace(Box::new((0..rows).map(Some).collect()));
        found.map(|origins| *origins).filter(|origins| origins.len() == self.rows.len())
    }

    /// Stops tracking rows.
    pub fn drop_origins(&mut self) {
        self.origins = None;
    }

    /// Makes all rows count as new: they were replaced without scrolling.
    pub fn forget_origins(&mut self) {
        self.origins.iter_mut().for_each(|origins| origins.fill(None));
    }

    /// Whether it has no rows yet: the alternate screen costs nothing until it is shown.
    pub fn is_unused(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn is_blank(&self) -> bool {
        self.rows.iter().all(|row| row.written().is_empty() && !row.wrapped)
    }

    /// The rows from the top.
    pub fn rows(&self) -> &VecDeque<GridRow> {
        &self.rows
    }

    /// One row to edit.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> Option<&mut GridRow> {
        self.rows.get_mut(row)
    }

    /// One row to edit, and another one to read.
    pub fn two(&mut self, row: usize, other: usize) -> Option<(&mut GridRow, &GridRow)> {
        let [row, other] = self.rows.make_contiguous().get_disjoint_mut([row, other]).ok()?;
        Some((row, other))
    }

    /// Crops or extends at the right and at the bottom; the content stays where it is.
    pub fn resize(&mut self, cols: usize, rows: usize) {
        self.rows.truncate(rows);
        for row in &mut self.rows {
            row.resize(cols);
        }
        self.rows.resize_with(rows, || GridRow::new(cols));
    }

    /// Replaces all rows; if there are fewer than `rows`, empty ones follow.
    pub fn replace(&mut self, cols: usize, rows: usize, with: impl Iterator<Item = GridRow>) {
        self.rows = with.collect();
        self.rows.resize_with(rows, || GridRow::new(cols));
    }

    /// Blanks whole rows `from..to`, clamped to the grid.
    pub fn erase_rows(&mut self, from: usize, to: usize, style: PackedStyle) {
        let to = to.min(self.rows.len());
        if from < to {
            self.rows.range_mut(from..to).for_each(|row| row.clear(style));
        }
    }

    /// Moves the rows `top..=bottom` up by `count`; blank rows come in at the bottom.
    #[inline]
    pub fn scroll_up(&mut self, top: usize, bottom: usize, count: usize, style: PackedStyle) {
        if top > bottom || bottom >= self.rows.len() {
            return;
        }
        let count = count.min(bottom + 1 - top);
        if let Some(origins) = self.origins.as_deref_mut().and_then(|all| all.get_mut(top..=bottom)) {
            origins.rotate_left(count);
            origins.iter_mut().rev().take(count).for_each(|origin| *origin = None);
        }
        if top == 0 && bottom + 1 == self.rows.len() {
            // The usual case: the ring rotates, and nothing is moved.
            self.rows.rotate_left(count);
        } else if let Some(rows) = self.rows.make_contiguous().get_mut(top..=bottom) {
            rows.rotate_left(count);
        }
        self.erase_rows(bottom + 1 - count, bottom + 1, style);
    }

    /// Moves the rows `top..=bottom` down by `count`; blank rows come in at the top.
    pub fn scroll_down(&mut self, top: usize, bottom: usize, count: usize, style: PackedStyle) {
        if top > bottom || bottom >= self.rows.len() {
            return;
        }
        let count = count.min(bottom + 1 - top);
        if let Some(origins) = self.origins.as_deref_mut().and_then(|all| all.get_mut(top..=bottom)) {
            origins.rotate_right(count);
            origins.iter_mut().take(count).for_each(|origin| *origin = None);
        }
        if top == 0 && bottom + 1 == self.rows.len() {
            self.rows.rotate_right(count);
        } else if let Some(rows) = self.rows.make_contiguous().get_mut(top..=bottom) {
            rows.rotate_right(count);
        }
        self.erase_rows(top, top + count, style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(text: &str) -> Grid {
        let mut grid = Grid::new(2, text.len());
        for (at, ch) in text.chars().enumerate() {
            grid.rows[at].put_narrow(0, ch, PackedStyle::default());
        }
        grid
    }

    fn text(grid: &Grid) -> String {
        let mut text = String::new();
        for row in grid.rows() {
            match row.written().first() {
                Some(cell) => text.push(cell.ch()),
                None => text.push('.'),
            }
        }
        text
    }

    #[test]
    fn scrolling_stays_inside_the_margins() {
        let mut up = grid("abcde");
        up.scroll_up(1, 3, 1, PackedStyle::default());
        assert_eq!(text(&up), "acd.e");
        let mut down = grid("abcde");
        down.scroll_down(1, 3, 2, PackedStyle::default());
        assert_eq!(text(&down), "a..be");
    }

    #[test]
    fn a_scroll_larger_than_the_region_empties_it() {
        let mut grid = grid("abcde");
        grid.scroll_up(0, 2, 9999, PackedStyle::default());
        assert_eq!(text(&grid), "...de");
        grid.scroll_down(4, 2, 1, PackedStyle::default());
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
