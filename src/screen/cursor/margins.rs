//! The margins: always for rows (DECSTBM), for columns while mode 69 is on (DECSLRM).

use crate::screen::grid::Area;

/// The scrolling area: rows and columns, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Margins {
    /// First row, from 0.
    pub top: usize,
    pub bottom: usize,
    /// First column, from 0.
    pub left: usize,
    pub right: usize,
}

impl Margins {
    pub fn whole(cols: usize, rows: usize) -> Self {
        Self { top: 0, bottom: rows - 1, left: 0, right: cols - 1 }
    }

    /// Whether a column lies between them.
    #[inline]
    pub fn has_col(self, col: usize) -> bool {
        self.left <= col && col <= self.right
    }

    /// Whether a row lies between them.
    pub fn has_row(self, row: usize) -> bool {
        self.top <= row && row <= self.bottom
    }

    /// Whether some columns of a screen lie outside of them.
    #[inline]
    pub fn are_narrow(self, cols: usize) -> bool {
        self.right + 1 != cols || self.left != 0
    }

    /// These margins with all columns of a screen.
    pub fn without_sides(self, cols: usize) -> Self {
        Self { left: 0, right: cols - 1, ..self }
    }

    /// DECSTBM: other rows, as the sequence counts them. `None` for less than two rows, which are refused.
    pub fn with_rows(self, first: u16, last: u16, rows: usize) -> Option<Self> {
        let (top, bottom) = ends(first, last, rows)?;
        Some(Self { top, bottom, ..self })
    }

    /// DECSLRM: the same for columns.
    pub fn with_columns(self, first: u16, last: u16, cols: usize) -> Option<Self> {
        let (left, right) = ends(first, last, cols)?;
        Some(Self { left, right, ..self })
    }

    /// The cells between them.
    pub fn area(self) -> Area {
        Area { rows: self.top..self.bottom + 1, cols: self.left..self.right + 1 }
    }
}

/// The two ends that a sequence names, as 0-based positions; 0 means the first and the last. `None` if fewer
/// than two lines are between them, unless the screen has no more.
fn ends(first: u16, last: u16, length: usize) -> Option<(usize, usize)> {
    let last = match last {
        0 => length,
        last => usize::from(last).min(length),
    } - 1;
    let first = usize::from(first).max(1) - 1;
    (first < last || (first == 0 && last == length - 1)).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_of_one_row_are_refused_unless_there_is_only_one() {
        let whole = Margins::whole(10, 6);
        assert_eq!(whole.with_rows(2, 4, 6), Some(Margins { top: 1, bottom: 3, ..whole }));
        assert_eq!(whole.with_rows(0, 99, 6), Some(whole));
        assert_eq!((whole.with_rows(3, 3, 6), whole.with_rows(4, 2, 6)), (None, None));
        assert_eq!(Margins::whole(10, 1).with_rows(1, 1, 1), Some(Margins::whole(10, 1)));
    }

    #[test]
    fn columns_go_back_to_the_edges_without_their_mode() {
        let narrow = Margins::whole(10, 6).with_columns(3, 6, 10).unwrap();
        assert!(narrow.are_narrow(10) && narrow.has_col(5) && !narrow.has_col(6));
        assert_eq!(narrow.without_sides(10), Margins::whole(10, 6));
    }
}
