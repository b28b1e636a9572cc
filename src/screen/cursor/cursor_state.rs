//! The cursor with everything that DECSC saves: position, pen, character sets.

use super::charset::Charsets;
use crate::screen::grid::PackedStyle;

/// The cursor with everything that DECSC saves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CursorState {
    /// Column, below the width.
    pub col: usize,
    /// Row, below the height.
    pub row: usize,
    /// Pending wrap: a character was written in the last column; the next one first moves to the next row.
    pub wrap_pending: bool,
    /// Rows are relative to the top margin, and the cursor stays inside the margins (DECOM, mode 6).
    pub origin: bool,
    pub pen: PackedStyle,
    pub charsets: Charsets,
}

impl CursorState {
    /// The same position with a plain pen, without origin mode (DECSTR).
    pub fn reset(self) -> Self {
        Self { col: self.col, row: self.row, ..Self::default() }
    }

    /// The cursor on a screen of another size, without pending wrap, because the edge may have moved.
    pub fn cropped(mut self, cols: usize, rows: usize) -> Self {
        self.wrap_pending = false;
        self.col = self.col.min(cols.saturating_sub(1));
        self.row = self.row.min(rows.saturating_sub(1));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_outside_is_moved_in_and_waits_no_more() {
        let cursor = CursorState { col: 9, row: 9, wrap_pending: true, ..CursorState::default() };
        let moved = cursor.cropped(5, 3);
        assert_eq!((moved.col, moved.row, moved.wrap_pending), (4, 2, false));
    }
}
