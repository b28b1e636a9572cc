//! The cursor's position on a screen of this size, and its movements, which stop at margins and tab stops.
//!
//! A cursor outside of the margins moves as if there were none, as in xterm. What scrolls or wraps on the way
//! is in `display/lines.rs`.

use crate::screen::cursor::{CursorState, Margins, TabStops};
use crate::screen::grid::Area;

/// The active position (ECMA-48): size of the screen, cursor, margins and tab stops.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivePosition {
    /// Columns, at least 1.
    pub cols: usize,
    /// Rows, at least 1.
    pub rows: usize,
    /// The cursor with its pen and character sets.
    pub cursor: CursorState,
    /// The margins. One pair for both screens, as in xterm.
    pub margins: Margins,
    pub tab_stops: TabStops,
}

impl ActivePosition {
    /// Home, on a screen with the margins and tab stops of a fresh terminal.
    pub fn new(cols: usize, rows: usize) -> Self {
        let cursor = CursorState::default();
        Self { cols, rows, cursor, margins: Margins::whole(cols, rows), tab_stops: TabStops::new(cols) }
    }

    /// Changes the size and resets the margins, as terminals do. The caller moves the cursor.
    pub fn resize(&mut self, cols: usize, rows: usize) {
        (self.cols, self.rows) = (cols, rows);
        self.margins = self.whole();
        self.tab_stops.resize(cols);
    }

    /// The margins of a fresh terminal.
    pub fn whole(&self) -> Margins {
        Margins::whole(self.cols, self.rows)
    }

    /// Whether columns have margins.
    #[inline]
    pub fn has_side_margins(&self) -> bool {
        self.margins.are_narrow(self.cols)
    }

    /// The column after the last one that text can reach from the cursor.
    #[inline]
    pub fn right_edge(&self) -> usize {
        if self.cursor.col > self.margins.right { self.cols } else { self.margins.right + 1 }
    }

    /// Moves to a place on the screen, clamped to it.
    pub fn move_to(&mut self, col: usize, row: usize) {
        self.cursor.col = col.min(self.cols - 1);
        self.cursor.row = row.min(self.rows - 1);
        self.cursor.wrap_pending = false;
    }

    /// CUP: in origin mode relative to the margins, and clamped to them.
    pub fn move_to_addressed(&mut self, col: usize, row: usize) {
        let [col, row] = [self.addressed_col(col), self.addressed_row(row)];
        self.move_to(col, row);
    }

    /// A column as CUP counts.
    pub fn addressed_col(&self, col: usize) -> usize {
        if self.cursor.origin { (self.margins.left + col).min(self.margins.right) } else { col }
    }

    /// A row as CUP counts.
    pub fn addressed_row(&self, row: usize) -> usize {
        if self.cursor.origin { (self.margins.top + row).min(self.margins.bottom) } else { row }
    }

    /// Column and row from which places are counted.
    pub fn origin(&self) -> (usize, usize) {
        if self.cursor.origin { (self.margins.left, self.margins.top) } else { (0, 0) }
    }

    /// Column and row in a report: 1-based, in origin mode relative to the margins.
    pub fn reported(&self) -> (u16, u16) {
        let (left, top) = self.origin();
        let (col, row) = (self.cursor.col.saturating_sub(left) + 1, self.cursor.row.saturating_sub(top) + 1);
        (col as u16, row as u16)
    }

    /// DECOM: moves home when switched on or off.
    pub fn set_origin_mode(&mut self, on: bool) {
        self.cursor.origin = on;
        self.move_to_addressed(0, 0);
    }

    /// CUU: stops at the top margin if it starts below it.
    pub fn up(&mut self, count: usize) {
        let limit = if self.cursor.row >= self.margins.top { self.margins.top } else { 0 };
        self.move_to(self.cursor.col, self.cursor.row.saturating_sub(count).max(limit));
    }

    /// CUD: stops at the bottom margin if it starts above it.
    pub fn down(&mut self, count: usize) {
        let inside = self.cursor.row <= self.margins.bottom;
        let limit = if inside { self.margins.bottom } else { self.rows - 1 };
        self.move_to(self.cursor.col, (self.cursor.row + count).min(limit));
    }

    /// To the left: stops at the left margin if it starts to the right of it.
    pub fn left(&mut self, count: usize) {
        self.move_to(self.cursor.col.saturating_sub(count).max(self.left_limit()), self.cursor.row);
    }

    /// CUF: stops at the right margin if it starts to the left of it.
    pub fn right(&mut self, count: usize) {
        self.move_to((self.cursor.col + count).min(self.right_edge() - 1), self.cursor.row);
    }

    /// The column at which movements to the left end.
    pub fn left_limit(&self) -> usize {
        if self.cursor.col >= self.margins.left { self.margins.left } else { 0 }
    }

    /// CR: to the left margin, from the left of it to the first column.
    #[inline]
    pub fn carriage_return(&mut self) {
        let col = if self.cursor.origin { self.margins.left } else { self.left_limit() };
        self.move_to(col, self.cursor.row);
    }

    /// HT and CHT. Pending wrap stays pending.
    pub fn tab_forward(&mut self, count: usize) {
        if self.cursor.wrap_pending {
            return;
        }
        for _ in 0..count.min(self.cols) {
            self.move_to(self.tab_stops.next(self.cursor.col).min(self.right_edge() - 1), self.cursor.row);
        }
    }

    /// CBT. The left margin is its end only in origin mode.
    pub fn tab_back(&mut self, count: usize) {
        for _ in 0..count.min(self.cols) {
            self.move_to(self.tab_stops.previous(self.cursor.col).max(self.origin().0), self.cursor.row);
        }
    }

    /// DECSTBM, as the sequence counts rows: margins of less than two rows are refused, and the cursor goes
    /// home.
    pub fn set_row_margins(&mut self, first: u16, last: u16) {
        if let Some(margins) = self.margins.with_rows(first, last, self.rows) {
            self.margins = margins;
            self.move_to_addressed(0, 0);
        }
    }

    /// DECSLRM: the same for columns.
    pub fn set_column_margins(&mut self, first: u16, last: u16) {
        if let Some(margins) = self.margins.with_columns(first, last, self.cols) {
            self.margins = margins;
            self.move_to_addressed(0, 0);
        }
    }

    /// Removes the side margins.
    pub fn drop_side_margins(&mut self) {
        if self.has_side_margins() {
            self.margins = self.margins.without_sides(self.cols);
            self.cursor.wrap_pending &= self.cursor.col + 1 == self.cols;
        }
    }

    /// DECSC. Pending wrap at a margin is not saved, because the margin may be gone; nor is a single shift.
    pub fn saved(&self) -> CursorState {
        let wrap_pending = self.cursor.wrap_pending && self.cursor.col + 1 == self.cols;
        CursorState { wrap_pending, charsets: self.cursor.charsets.unshifted(), ..self.cursor }
    }

    /// DECRC. In origin mode the result is inside the margins.
    pub fn restore(&mut self, saved: CursorState) {
        self.cursor = saved;
        if self.cursor.origin {
            self.cursor.row = self.cursor.row.clamp(self.margins.top, self.margins.bottom);
            self.cursor.col = self.cursor.col.clamp(self.margins.left, self.margins.right);
            self.cursor.wrap_pending &= self.cursor.col + 1 == self.cols;
        }
    }

    /// The addressable area: the whole screen, in origin mode the area between the margins.
    pub fn addressable(&self) -> Margins {
        if self.cursor.origin { self.margins } else { self.whole() }
    }

    /// The rectangle that four parameters name: top, left, bottom, right. `None` if the rectangle is empty.
    pub fn area(&self, [top, left, bottom, right]: [u16; 4]) -> Option<Area> {
        let last = self.addressable();
        let place = |number: u16| usize::from(number).max(1) - 1;
        let (top, left) = (self.addressed_row(place(top)), self.addressed_col(place(left)));
        let bottom = if bottom == 0 { last.bottom } else { self.addressed_row(place(bottom)) };
        let right = if right == 0 { last.right } else { self.addressed_col(place(right)) };
        let area = Area { rows: top..bottom.min(last.bottom) + 1, cols: left..right.min(last.right) + 1 };
        (!area.rows.is_empty() && !area.cols.is_empty()).then_some(area)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(col: usize, row: usize) -> ActivePosition {
        let mut position = ActivePosition::new(10, 6);
        position.set_row_margins(2, 4);
        position.set_column_margins(3, 6);
        position.move_to(col, row);
        position
    }

    fn after(mut position: ActivePosition, movement: impl FnOnce(&mut ActivePosition)) -> (usize, usize) {
        movement(&mut position);
        (position.cursor.col, position.cursor.row)
    }

    #[test]
    fn movements_stop_at_the_margins_they_started_inside() {
        assert_eq!(after(at(4, 2), |at| at.up(9)), (4, 1));
        assert_eq!(after(at(4, 2), |at| at.down(9)), (4, 3));
        assert_eq!(after(at(4, 0), |at| at.up(9)), (4, 0));
        assert_eq!(after(at(4, 4), |at| at.down(9)), (4, 5));
        assert_eq!(after(at(4, 2), |at| at.left(9)), (2, 2));
        assert_eq!(after(at(4, 2), |at| at.right(9)), (5, 2));
        assert_eq!(after(at(8, 2), |at| at.right(9)), (9, 2));
        assert_eq!(after(at(1, 2), |at| at.left(9)), (0, 2));
    }

    #[test]
    fn tabs_stop_at_the_right_edge_and_a_waiting_cursor_waits_on() {
        assert_eq!(after(at(4, 2), |at| at.tab_forward(1)), (5, 2));
        assert_eq!(after(at(4, 2), |at| at.tab_back(1)), (0, 2));
        let waiting = |at: &mut ActivePosition| {
            at.cursor.wrap_pending = true;
            at.tab_forward(1);
        };
        assert_eq!(after(at(4, 2), waiting), (4, 2));
    }

    #[test]
    fn in_origin_mode_places_are_counted_from_the_margins() {
        let mut position = at(0, 0);
        position.set_origin_mode(true);
        assert_eq!((position.cursor.col, position.cursor.row, position.reported()), (2, 1, (1, 1)));
        position.move_to_addressed(99, 99);
        assert_eq!((position.cursor.col, position.cursor.row, position.reported()), (5, 3, (4, 3)));
        let area = position.area([0; 4]).unwrap();
        assert_eq!((area.rows, area.cols), (1..4, 2..6));
    }

    #[test]
    fn a_wait_to_wrap_is_saved_only_at_the_edge_of_the_screen() {
        for (col, saved) in [(9, true), (5, false)] {
            let mut position = at(col, 0);
            position.cursor.wrap_pending = true;
            assert_eq!(position.saved().wrap_pending, saved);
        }
    }
}
