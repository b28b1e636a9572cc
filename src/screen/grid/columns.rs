//! Moving parts of rows between columns, for side margins and rectangles.

use std::ops::Range;

use super::area::Area;
use super::cell_grid::Grid;
use super::combining::CellMarks;
use super::packed_style::PackedStyle;
use super::row::GridRow;

impl GridRow {
    /// Replaces the cells from `at` on by the cells `part` of another row, with their marks. A wide character
    /// of which only one half is in the part becomes a blank.
    pub fn paste(&mut self, other: &GridRow, part: Range<usize>, at: usize) {
        let len = part.len().min(self.cols().saturating_sub(at));
        if len == 0 {
            return;
        }
        self.part(at);
        self.part(at + len);
        self.reach(at + len);
        if at + len == self.cols() {
            self.wrapped = false;
        }
        for n in 0..len {
            let from = part.start + n;
            let mut cell = other.cell(from);
            if (cell.is_spacer() && n == 0) || (cell.is_wide() && n + 1 == len) {
                cell.hollow();
            }
            if cell.is_marked() {
                let had = std::iter::once(CellMarks::None).chain(std::iter::repeat(CellMarks::Some));
                other
                    .marks
                    .get(from)
                    .chars()
                    .zip(had)
                    .for_each(|(mark, had)| self.marks.add(at + n, mark, had));
            }
            if let Some(place) = self.cells.get_mut(at + n) {
                *place = cell;
            }
        }
    }

    /// Blanks the columns `from..to`, except protected cells.
    pub fn erase_unprotected(&mut self, from: usize, to: usize, style: PackedStyle) {
        let mut from = from;
        while let Some(guarded) = self
            .cells
            .get(from..to.min(self.cells.len()))
            .and_then(|cells| cells.iter().position(|cell| cell.is_protected()))
        {
            self.erase(from, from + guarded, style);
            from += guarded + 1;
        }
        self.erase(from, to, style);
    }

    /// Gives the cells of `cols` other styles; both halves of a wide character are changed.
    pub fn restyle(&mut self, cols: Range<usize>, change: impl Fn(&mut PackedStyle)) {
        let to = cols.end.min(self.cols());
        self.reach(to);
        let first = self.cell(cols.start).is_spacer();
        let last = self.cell(to).is_spacer();
        let (from, to) = (cols.start - usize::from(first), to + usize::from(last));
        // Usually all have the same style, and changing it may take long.
        let mut made: Option<(PackedStyle, PackedStyle)> = None;
        for cell in self.cells.get_mut(from..to).unwrap_or_default() {
            cell.restyle(|style| {
                let (_, new) = made.filter(|(old, _)| old == style).unwrap_or_else(|| {
                    let mut new = *style;
                    change(&mut new);
                    (*style, new)
                });
                made = Some((*style, new));
                *style = new;
            });
        }
    }

    /// Inserts blanks at the first of `cols`; what leaves them at the right is lost.
    pub fn insert_within(&mut self, cols: Range<usize>, count: usize, style: PackedStyle) {
        if cols.end >= self.cols() {
            return self.insert(cols.start, count, style);
        }
        let (from, count) = (self.clone(), count.min(cols.len()));
        self.paste(&from, cols.start..cols.end - count, cols.start + count);
        self.erase(cols.start, cols.start + count, style);
    }

    /// Deletes at the first of `cols`; blanks come in at the right of them.
    pub fn delete_within(&mut self, cols: Range<usize>, count: usize, style: PackedStyle) {
        if cols.end >= self.cols() {
            return self.delete(cols.start, count, style);
        }
        let (from, count) = (self.clone(), count.min(cols.len()));
        self.paste(&from, cols.start + count..cols.end, cols.start);
        self.erase(cols.end - count, cols.end, style);
    }
}

impl Grid {
    /// Moves the cells of an area up by `count`; blanks come in at the bottom.
    pub fn scroll_part_up(&mut self, area: &Area, count: usize, style: PackedStyle) {
        for to in area.rows.clone() {
            self.fill_part(to, Some(to + count).filter(|from| *from < area.rows.end), area, style);
        }
    }

    /// Moves the cells of an area down by `count`; blanks come in at the top.
    pub fn scroll_part_down(&mut self, area: &Area, count: usize, style: PackedStyle) {
        for to in area.rows.clone().rev() {
            self.fill_part(to, to.checked_sub(count).filter(|from| *from >= area.rows.start), area, style);
        }
    }

    /// Gives a row the part of another one, or blanks.
    fn fill_part(&mut self, to: usize, from: Option<usize>, area: &Area, style: PackedStyle) {
        let cols = &area.cols;
        match from.filter(|from| *from != to) {
            Some(from) => {
                if let Some((row, other)) = self.two(to, from) {
                    row.paste(other, cols.clone(), cols.start);
                }
            }
            None => self.row_mut(to).into_iter().for_each(|row| row.erase(cols.start, cols.end, style)),
        }
    }
}
