//! A copy of a screen as cells, in which parts of rows can be replaced while the rest stays in its columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::tape_redactions::Replacement;
use crate::screen::{Hyperlink, Style, StyledRun};
use crate::testing::outcome::ScreenCopy;

#[derive(Clone, Debug)]
struct ScreenCell {
    /// A character with its combining marks.
    text: String,
    style: Style,
    link: Option<Hyperlink>,
    /// Whether the cursor is here.
    cursor: bool,
}

impl ScreenCell {
    fn blank() -> ScreenCell {
        ScreenCell { text: " ".to_owned(), style: Style::default(), link: None, cursor: false }
    }

    fn is_blank(&self) -> bool {
        self.text == " " && !self.cursor
    }

    fn width(&self) -> usize {
        self.text.chars().next().and_then(UnicodeWidthChar::width).unwrap_or(1).max(1)
    }
}

/// The rows of a screen as cells.
#[derive(Debug)]
pub struct ScreenCells {
    rows: Vec<Vec<ScreenCell>>,
}

impl ScreenCells {
    /// The cells of a copy.
    pub fn of(copy: &ScreenCopy) -> ScreenCells {
        let mut rows: Vec<Vec<ScreenCell>> = copy.lines.iter().map(|runs| cells(runs)).collect();
        if let Some((row, col)) = copy.cursor {
            let (row, col) = (usize::from(row).saturating_sub(1), usize::from(col).saturating_sub(1));
            if rows.len() <= row {
                rows.resize_with(row + 1, Vec::new);
            }
            let (cells, mut at, mut left) = (&mut rows[row], 0, col);
            while left > 0 || at == cells.len() {
                if at == cells.len() {
                    cells.push(ScreenCell::blank());
                }
                if left < cells[at].width() {
                    break;
                }
                left -= cells[at].width();
                at += 1;
            }
            cells[at].cursor = true;
        }
        ScreenCells { rows }
    }

    /// The text of each row.
    pub fn texts(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect()
    }

    /// Replaces parts of a row, which must be in order and not overlap.
    pub fn replace(&mut self, row: usize, parts: &[Replacement]) {
        let Some(cells) = self.rows.get_mut(row) else { return };
        for part in parts.iter().rev() {
            replace_part(cells, part);
        }
    }

    /// The copy that these cells show; size and changed rows are those of `before`.
    pub fn into_copy(self, title: String, before: &ScreenCopy) -> ScreenCopy {
        let mut cursor = None;
        let mut lines = Vec::with_capacity(self.rows.len());
        for (number, row) in (1..).zip(self.rows) {
            if let Some(at) = row.iter().position(|cell| cell.cursor) {
                let col: usize = row[..at].iter().map(ScreenCell::width).sum();
                cursor = Some((number, u16::try_from(col + 1).unwrap_or(u16::MAX)));
            }
            lines.push(runs(row));
        }
        lines.truncate(usize::from(before.rows));
        ScreenCopy { lines, cursor, title, ..before.clone() }
    }
}

fn cells(runs: &[StyledRun]) -> Vec<ScreenCell> {
    let mut cells: Vec<ScreenCell> = Vec::new();
    for run in runs {
        for ch in run.text.chars() {
            match cells.last_mut() {
                Some(last) if ch.width() == Some(0) => last.text.push(ch),
                _ => cells.push(ScreenCell {
                    text: ch.to_string(),
                    style: run.style,
                    link: run.link.clone(),
                    cursor: false,
                }),
            }
        }
    }
    cells
}

fn runs(mut cells: Vec<ScreenCell>) -> Vec<StyledRun> {
    let is_nothing =
        |cell: &ScreenCell| cell.text == " " && cell.style == Style::default() && cell.link.is_none();
    cells.truncate(cells.iter().rposition(|cell| !is_nothing(cell)).map_or(0, |last| last + 1));
    let mut runs: Vec<StyledRun> = Vec::new();
    for cell in cells {
        match runs.last_mut() {
            Some(run) if run.style == cell.style && run.link == cell.link => run.text.push_str(&cell.text),
            _ => runs.push(StyledRun { text: cell.text, style: cell.style, link: cell.link }),
        }
    }
    runs
}

fn replace_part(cells: &mut Vec<ScreenCell>, part: &Replacement) {
    // The cells that contain a byte of it.
    let (mut from, mut to, mut byte) = (cells.len(), 0, 0);
    for (at, cell) in cells.iter().enumerate() {
        let end = byte + cell.text.len();
        if end > part.range.start && byte < part.range.end {
            from = from.min(at);
            to = at + 1;
        }
        byte = end;
    }
    if from >= to {
        return;
    }
    let before: usize = cells[from..to].iter().map(ScreenCell::width).sum();
    let held_cursor = cells[from..to].iter().any(|cell| cell.cursor);
    let style = cells[from].style;
    let with: Vec<ScreenCell> = self::cells(&[StyledRun { text: part.with.clone(), style, link: None }]);
    let width = part.with.width();
    let end = from + with.len();
    cells.splice(from..to, with);
    if held_cursor && from < cells.len() {
        cells[from].cursor = true;
    }
    even_out(cells, from, end, width as isize - before as isize);
}

/// Takes the additional columns of a placeholder (or fewer, if negative) from blanks near it, so that text
/// beyond them keeps its columns. A single blank between two words is kept.
fn even_out(cells: &mut Vec<ScreenCell>, from: usize, end: usize, mut excess: isize) {
    let gap_behind =
        |cells: &[ScreenCell], at: usize| cells[at..].iter().take_while(|cell| cell.is_blank()).count();
    let gap_before = cells[..from].iter().rev().take_while(|cell| cell.is_blank()).count();
    let close_gap = gap_behind(cells, end);
    let begins_row = gap_before == from;
    if close_gap < 2 && (gap_before >= 2 || (begins_row && gap_before == 1)) {
        // Right-aligned: the blanks are before it.
        let spare = if begins_row { gap_before } else { gap_before - 1 };
        if excess > 0 {
            let taken = spare.min(excess.unsigned_abs());
            cells.drain(from - taken..from);
            excess -= taken as isize;
        } else {
            let blank = cells[from - 1].clone();
            cells.splice(from..from, std::iter::repeat_n(blank, excess.unsigned_abs()));
            excess = 0;
        }
        if excess == 0 {
            return;
        }
    }
    let mut at = end.min(cells.len());
    while excess != 0 && at < cells.len() {
        let gap = gap_behind(cells, at);
        // Blanks at the end are removed anyway.
        if gap >= 2 && at + gap < cells.len() {
            if excess > 0 {
                let taken = (gap - 1).min(excess.unsigned_abs());
                cells.drain(at..at + taken);
                excess -= taken as isize;
            } else {
                let blank = cells[at].clone();
                cells.splice(at..at, std::iter::repeat_n(blank, excess.unsigned_abs()));
                return;
            }
        }
        at += gap.max(1);
    }
}
