//! Another size for the primary screen: lines that ran over are joined and cut anew, and none is lost while there is room.
//!
//! The history and the rows of the screen are taken as one list of lines. It is cut for the new width, and then split again:
//! a screen that was filled to its last row keeps its end at the bottom, another keeps its first row at the top, and the
//! cursor stays on the screen and on its character. The alternate screen is only cropped: who draws there draws again.

use std::collections::VecDeque;

use super::history_line::{Draft, End, Line};
use super::packed_style::Look;
use super::width::width;
use crate::screen::cursor::Caret;
use crate::screen::terminal::Terminal;

/// A place in a list of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    line: usize,
    /// Columns from the left; behind the last character the line has no cell, but a place.
    cell: usize,
}

impl Place {
    fn of(caret: Caret, above: usize) -> Self {
        Self { line: above + caret.row, cell: caret.col + usize::from(caret.pending) }
    }
}

/// A place in the old lines, until it is known where it is in the new ones.
#[derive(Clone, Copy, Debug)]
struct Mark {
    old: Place,
    new: Option<Place>,
}

/// Lines cut for a width, from lines cut for another.
struct Cutter {
    cols: usize,
    draft: Draft,
    /// The line before ended with a gap: a blank, unless a wide character follows.
    gap: bool,
    /// How many lines it was given.
    taken: usize,
    lines: VecDeque<Line>,
    marks: Vec<Mark>,
}

impl Cutter {
    fn new(cols: usize, marks: &[Place]) -> Self {
        let marks = marks.iter().map(|old| Mark { old: *old, new: None }).collect();
        Self { cols, draft: Draft::default(), gap: false, taken: 0, lines: VecDeque::new(), marks }
    }

    fn take(&mut self, line: Line) {
        if line.cells() == 0 && !self.draft.is_empty() {
            // What went on here has been erased.
            self.flush(End::Break);
            self.gap = false;
        }
        if self.draft.is_empty() && !self.gap && line.end == End::Break && line.cells() <= self.cols {
            self.settle(0, usize::MAX);
            self.lines.push_back(line);
        } else {
            self.cut(&line);
        }
        self.taken += 1;
    }

    fn cut(&mut self, line: &Line) {
        let first = line.parts().next().and_then(|(text, _)| text.chars().next());
        if std::mem::take(&mut self.gap) && first.and_then(width) != Some(2) {
            self.make_room(1);
            self.draft.push(' ', 1, Look::default());
        }
        let mut at = 0;
        for (text, look) in line.parts() {
            for ch in text.chars() {
                let cells = width(ch).unwrap_or(0);
                self.make_room(cells);
                self.settle(at, cells);
                self.draft.push(ch, cells, look);
                at += cells;
            }
        }
        match line.end {
            End::Break => {
                self.settle(at, usize::MAX);
                self.flush(End::Break);
            }
            end => {
                self.gap = end == End::Gap;
                let here = self.taken;
                for mark in self.marks.iter_mut().filter(|mark| mark.old.line == here && mark.new.is_none()) {
                    mark.old = Place { line: here + 1, cell: 0 };
                }
            }
        }
    }

    /// Begins a new line if `cells` more do not fit. In one column a wide character has a line of its own, though it is too long.
    fn make_room(&mut self, cells: usize) {
        if self.draft.cells > 0 && self.draft.cells + cells > self.cols {
            self.flush(if self.draft.cells < self.cols { End::Gap } else { End::Wrap });
        }
    }

    /// The `cells` cells of the old line from `at` on come next: says so to whoever waits for one of them.
    fn settle(&mut self, at: usize, cells: usize) {
        let (line, start, old) = (self.lines.len(), self.draft.cells, self.taken);
        for mark in self.marks.iter_mut().filter(|mark| mark.old.line == old && mark.new.is_none()) {
            if let Some(behind) = mark.old.cell.checked_sub(at).filter(|behind| *behind < cells) {
                mark.new = Some(Place { line, cell: start + behind });
            }
        }
    }

    fn flush(&mut self, end: End) {
        self.lines.push_back(self.draft.finish(end));
    }

    /// The new lines, and where the marks are in them. Those below the last line stay as far below.
    fn finish(mut self) -> (VecDeque<Line>, Vec<Place>) {
        if !self.draft.is_empty() {
            self.flush(End::Break);
        }
        let (lines, taken) = (self.lines.len(), self.taken);
        let below = |old: Place| Place { line: lines + old.line.saturating_sub(taken), ..old };
        let marks = self.marks.iter().map(|mark| mark.new.unwrap_or(below(mark.old))).collect();
        (self.lines, marks)
    }
}

impl Terminal {
    /// Changes the size of the primary screen, which is shown or not. The old size is still known.
    pub fn resize_primary(&mut self, cols: usize, rows: usize) {
        let shown = self.alternate.is_none();
        let page = if shown { &mut self.page } else { &mut self.hidden };
        let cursor = match self.alternate {
            None => Some(self.caret),
            Some(how) => Some(page.saved).filter(|_| how.restores()),
        };
        let old = page.grid.rows();
        let written = old.iter().rposition(|row| !row.written().is_empty()).map_or(0, |last| last + 1);
        let used = written.max(cursor.map_or(0, |caret| caret.row + 1));
        let full = used == old.len();

        // One list of all lines, and in it the cursor, the saved cursor and the top of the screen.
        let mut lines = self.history.take_lines();
        let above = lines.len();
        let mut marks = vec![Place { line: above, cell: 0 }, Place::of(page.saved, above)];
        marks.extend(cursor.map(|caret| Place::of(caret, above)));
        let mut draft = Draft::default();
        for (at, row) in old.range(..used).enumerate() {
            // What lies before the cursor is text to whoever moved it there.
            let cells = cursor.filter(|caret| caret.row == at).map_or(0, |caret| caret.col + usize::from(caret.pending));
            let end = draft.push_row(row, cells);
            lines.push_back(draft.finish(end));
        }
        if cols != self.cols {
            let mut cutter = Cutter::new(cols, &marks);
            lines.into_iter().for_each(|line| cutter.take(line));
            (lines, marks) = cutter.finish();
        }

        let mut top = marks[0].line;
        if full || lines.len().saturating_sub(top) > rows {
            top = lines.len().saturating_sub(rows);
        }
        top = top.min(marks.get(2).map_or(top, |cursor| cursor.line));
        let row = |place: Place| place.line.saturating_sub(top).min(rows - 1);
        let shown_lines = lines.split_off(top.min(lines.len()));
        page.grid.replace(cols, rows, shown_lines.iter().take(rows).map(|line| line.row(cols)));
        let place = |caret: &mut Caret, place: Place| {
            caret.row = row(place);
            caret.pending = place.cell == cols;
            caret.col = place.cell.min(cols - 1);
        };
        place(&mut page.saved, marks[1]);
        if let Some(cursor) = marks.get(2).filter(|_| shown) {
            place(&mut self.caret, *cursor);
        }
        self.history.put_lines(lines, marks[0].line, top);
    }
}
