//! Rectangles of cells.

use std::ops::Range;

use super::cell_grid::Grid;
use super::packed_style::PackedStyle;
use super::row::GridRow;

/// The cells of some columns in some rows.
#[derive(Clone, Debug)]
pub struct Area {
    pub rows: Range<usize>,
    pub cols: Range<usize>,
}

impl Grid {
    fn edit_area(&mut self, area: &Area, edit: impl Fn(&mut GridRow, Range<usize>)) {
        for at in area.rows.clone() {
            self.row_mut(at).into_iter().for_each(|row| edit(row, area.cols.clone()));
        }
    }

    /// Writes a one-column character into every cell.
    pub fn fill_area(&mut self, area: &Area, ch: char, style: PackedStyle) {
        if ch.is_ascii() {
            let line = vec![ch as u8; area.cols.len()];
            self.edit_area(area, |row, cols| row.put_ascii(cols.start, &line, style));
        } else {
            self.edit_area(area, |row, cols| cols.for_each(|col| row.put_narrow(col, ch, style)));
        }
    }

    pub fn erase_area(&mut self, area: &Area, style: PackedStyle) {
        self.edit_area(area, |row, cols| row.erase(cols.start, cols.end, style));
    }

    /// Blanks every cell that is not protected.
    pub fn erase_area_unprotected(&mut self, area: &Area, style: PackedStyle) {
        self.edit_area(area, |row, cols| row.erase_unprotected(cols.start, cols.end, style));
    }

    /// Changes the styles in the rectangle, or in lines from its first cell to its last one.
    pub fn restyle_area(&mut self, area: &Area, rectangle: bool, change: impl Fn(&mut PackedStyle)) {
        let Area { rows, cols } = area;
        let (left, right) = if rectangle { (cols.start, cols.end) } else { (0, usize::MAX) };
        for at in rows.clone() {
            let from = if at == rows.start { cols.start } else { left };
            let to = if at + 1 == rows.end { cols.end } else { right };
            self.row_mut(at).into_iter().for_each(|row| row.restyle(from..to, &change));
        }
    }

    /// Copies the cells to another place, which may overlap and must have room for all of them.
    pub fn copy_area(&mut self, area: &Area, row: usize, col: usize) {
        let Area { rows, cols } = area;
        let copy = |n: usize| self.copy_part(rows.start + n, cols.clone(), row + n, col);
        if row > rows.start {
            (0..rows.len()).rev().for_each(copy);
        } else {
            (0..rows.len()).for_each(copy);
        }
    }

    fn copy_part(&mut self, from: usize, cols: Range<usize>, to: usize, at: usize) {
        if from != to {
            if let Some((row, other)) = self.two(to, from) {
                row.paste(other, cols, at);
            }
        } else if let Some(row) = self.row_mut(to) {
            let same = row.clone();
            row.paste(&same, cols, at);
        }
    }
}
