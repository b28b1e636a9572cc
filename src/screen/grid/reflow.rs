//! Rewraps lines for another width, and tracks positions in them.

use std::collections::VecDeque;

use super::history_line::{HistoryLine, LineBuilder, LineEnd};
use super::packed_style::PackedStyle;
use super::width::width;

/// A place in a list of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinePosition {
    /// Index in the list.
    pub line: usize,
    /// Column from the left; a position after the last character is allowed.
    pub cell: usize,
}

/// A position in the old lines whose new position is not yet known.
#[derive(Clone, Copy, Debug)]
struct TrackedPosition {
    old: LinePosition,
    new: Option<LinePosition>,
}

/// Rewraps lines for a width.
pub struct LineCutter {
    cols: usize,
    draft: LineBuilder,
    /// The previous line ended with a gap, which becomes a blank unless a wide character follows.
    gap: bool,
    /// How many lines it has received.
    taken: usize,
    lines: VecDeque<HistoryLine>,
    marks: Vec<TrackedPosition>,
}

impl LineCutter {
    /// For a width, with positions to track.
    pub fn new(cols: usize, marks: &[LinePosition]) -> Self {
        let marks = marks.iter().map(|old| TrackedPosition { old: *old, new: None }).collect();
        Self { cols, draft: LineBuilder::default(), gap: false, taken: 0, lines: VecDeque::new(), marks }
    }

    /// Takes the next line.
    pub fn take(&mut self, line: HistoryLine) {
        if line.cells() == 0 && !self.draft.is_empty() {
            // The line that wrapped here has been erased.
            self.flush(LineEnd::Break);
            self.gap = false;
        }
        if self.draft.is_empty() && !self.gap && line.end == LineEnd::Break && line.cells() <= self.cols {
            self.settle(0, usize::MAX);
            self.lines.push_back(line);
        } else {
            self.cut(&line);
        }
        self.taken += 1;
    }

    fn cut(&mut self, line: &HistoryLine) {
        let first = line.parts().next().and_then(|(text, _)| text.chars().next());
        if std::mem::take(&mut self.gap) && first.and_then(width) != Some(2) {
            self.make_room(1);
            self.draft.push(' ', 1, PackedStyle::default());
        }
        let mut at = 0;
        for (text, style) in line.parts() {
            for ch in text.chars() {
                let cells = width(ch).unwrap_or(0);
                self.make_room(cells);
                self.settle(at, cells);
                self.draft.push(ch, cells, style);
                at += cells;
            }
        }
        match line.end {
            LineEnd::Break => {
                self.settle(at, usize::MAX);
                self.flush(LineEnd::Break);
            }
            end => {
                self.gap = end == LineEnd::Gap;
                let here = self.taken;
                for mark in self.marks.iter_mut().filter(|mark| mark.old.line == here && mark.new.is_none()) {
                    mark.old = LinePosition { line: here + 1, cell: 0 };
                }
            }
        }
    }

    /// Starts a new line if `cells` more do not fit. With one column a wide character gets a line of its own,
    /// although it is too wide.
    fn make_room(&mut self, cells: usize) {
        if self.draft.cells > 0 && self.draft.cells + cells > self.cols {
            self.flush(if self.draft.cells < self.cols { LineEnd::Gap } else { LineEnd::Wrap });
        }
    }

    /// The `cells` cells of the old line from `at` on come next: resolves tracked positions in them.
    fn settle(&mut self, at: usize, cells: usize) {
        let (line, start, old) = (self.lines.len(), self.draft.cells, self.taken);
        for mark in self.marks.iter_mut().filter(|mark| mark.old.line == old && mark.new.is_none()) {
            if let Some(behind) = mark.old.cell.checked_sub(at).filter(|behind| *behind < cells) {
                mark.new = Some(LinePosition { line, cell: start + behind });
            }
        }
    }

    fn flush(&mut self, end: LineEnd) {
        self.lines.push_back(self.draft.finish(end));
    }

    /// The new lines, and the tracked positions in them. Positions below the last line keep their distance.
    pub fn finish(mut self) -> (VecDeque<HistoryLine>, Vec<LinePosition>) {
        if !self.draft.is_empty() {
            self.flush(LineEnd::Break);
        }
        let (lines, taken) = (self.lines.len(), self.taken);
        let below = |old: LinePosition| LinePosition { line: lines + old.line.saturating_sub(taken), ..old };
        let marks = self.marks.iter().map(|mark| mark.new.unwrap_or(below(mark.old))).collect();
        (self.lines, marks)
    }
}
