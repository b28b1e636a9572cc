//! A failure in full, as lines: what a person needs to see why, without opening a file.

use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::ink::{Ink, InkLine};
use super::seconds;
use crate::core::ellipsis::begin_of;
use crate::testing::outcome::{RowComparison, ScreenComparison, ScreenCopy, TapeFailure};

/// How far everything behind the first line is indented.
pub const INDENT: &str = "     ";
/// The columns of a label and the blanks behind it.
const LABEL: usize = 9;
/// Rows of a screen, and rows that differ, that are shown at most.
const ROWS_MAX: usize = 60;
/// Keys that are shown at most: the last ones.
const KEYS_MAX: usize = 60;
/// Columns of a command or of a line of a message that are shown at most: both come from tapes and programs.
const LINE_MAX: usize = 2000;
/// The columns that a rule is long where the terminal's are not known.
const RULE: usize = 78;

/// The first line: `tests/vim.tape:9  Expect+Row 4 "^fuor$"  5.0 s (program ran 0.1 s, …)`.
pub fn headline(failure: &TapeFailure) -> String {
    let times = failure.times;
    let mut line = format!("{}  {}", failure.place, begin_of(&one_line(&failure.command), LINE_MAX));
    if !times.took.is_zero() {
        line.push_str(&format!(
            "  {} (program ran {}, waited for a CPU {})",
            seconds(times.took),
            seconds(times.program_ran),
            seconds(times.waited_for_cpu)
        ));
    }
    line
}

/// Everything behind the first line. Rows are cut to fit into `cols`.
pub fn details(failure: &TapeFailure, cols: Option<usize>) -> Vec<InkLine> {
    let mut lines = Vec::new();
    let mut words = |ink, text: &str| {
        lines.extend(
            text.lines()
                .map(|line| InkLine::new(Ink::Plain, INDENT).with(ink, &begin_of(line, LINE_MAX)))
                .map(|line| line.hanging(INDENT.len())),
        );
    };
    words(Ink::Bold, &failure.message);
    if let Some(nearest) = &failure.nearest {
        words(Ink::Plain, &format!("nearest: {nearest}"));
    }
    if let Some(hint) = &failure.hint {
        words(Ink::Plain, &format!("hint: {hint}"));
    }
    if let Some(comparison) = failure.comparison.as_ref().filter(|comparison| !comparison.is_same()) {
        lines.extend(comparison_lines(comparison, cols));
    }
    if let Some(screen) = &failure.screen {
        lines.extend(screen_lines(screen, &failure.row_notes, cols));
    }
    if !failure.keys.is_empty() {
        let from = failure.keys.len().saturating_sub(KEYS_MAX);
        let more = if from > 0 { "… " } else { "" };
        let keys = failure.keys[from..].join(" ");
        let keys = InkLine::new(Ink::Plain, &format!("{INDENT}keys since the start: {more}{keys}"));
        lines.push(keys.hanging(INDENT.len()));
    }
    let labelled = |label: &str, text: &str| {
        InkLine::new(Ink::Dim, &format!("{INDENT}{label:<LABEL$}")).with(Ink::Plain, text)
    };
    let program = failure.program.iter().map(|line| labelled("program", line));
    lines.extend(program.map(|line| line.hanging(INDENT.len() + LABEL)));
    for file in &failure.evidence {
        lines.push(labelled(&file.kind, &file.path.display().to_string()));
    }
    lines.extend(failure.again.iter().map(|again| labelled("again", again)));
    lines
}

/// The rows of a screen that are not blank, each with its number; those that changed are marked.
pub fn screen_lines(screen: &ScreenCopy, notes: &[(u16, String)], cols: Option<usize>) -> Vec<InkLine> {
    let mut head = format!("── screen now {}x{}", screen.cols, screen.rows);
    match screen.cursor {
        Some((row, col)) => head.push_str(&format!(", cursor {row},{col}")),
        None => head.push_str(", no cursor"),
    }
    if !screen.title.is_empty() {
        head.push_str(&format!(", title {:?}", screen.title));
    }
    head.push_str(if screen.changed.is_empty() { " " } else { ", changed rows marked " });
    let length = cols.unwrap_or(RULE).clamp(20, RULE) - INDENT.len();
    head = begin_of(&head, length);
    head.push_str(&"─".repeat(length.saturating_sub(head.width())));
    let mut lines = vec![InkLine::new(Ink::Dim, INDENT).with(Ink::Dim, &head)];
    let rows = screen.text_rows();
    let mut left = ROWS_MAX;
    for (number, text) in (1u16..).zip(&rows) {
        let note = notes.iter().find(|(row, _)| *row == number).map(|(_, note)| note.as_str());
        let is_changed = screen.changed.contains(&number);
        if text.is_empty() && note.is_none() {
            continue;
        }
        if left == 0 {
            lines.push(InkLine::new(Ink::Dim, &format!("{INDENT}      … more rows in the screen's file")));
            break;
        }
        left -= 1;
        let mark = if is_changed { ">" } else { " " };
        let room = cols.map(|cols| cols.saturating_sub(INDENT.len() + 7).max(20));
        let text = begin_of(text, room.unwrap_or(LINE_MAX));
        let ink = if is_changed { Ink::Bold } else { Ink::Plain };
        let mut line = InkLine::new(Ink::Dim, &format!("{INDENT}{mark}{number:>4} │")).with(ink, &text);
        if let Some(note) = note {
            line = line.with(Ink::Yellow, &format!("    <- {note}"));
        }
        lines.push(line);
    }
    lines
}

fn comparison_lines(comparison: &ScreenComparison, cols: Option<usize>) -> Vec<InkLine> {
    let mut lines = vec![
        InkLine::new(Ink::Plain, INDENT)
            .with(Ink::Red, "- expected")
            .with(Ink::Plain, "  ")
            .with(Ink::Green, "+ on the screen"),
    ];
    for row in comparison.rows.iter().take(ROWS_MAX) {
        lines.extend(row_lines(row, cols));
    }
    if comparison.rows.len() > ROWS_MAX {
        lines.push(InkLine::new(
            Ink::Dim,
            &format!("{INDENT}… {} more rows", comparison.rows.len() - ROWS_MAX),
        ));
    }
    for other in &comparison.others {
        lines.push(InkLine::new(Ink::Plain, INDENT).with(Ink::Yellow, other).hanging(INDENT.len()));
    }
    lines
}

/// A row in two lines, and below each the cells that differ, for who sees no colours.
fn row_lines(row: &RowComparison, cols: Option<usize>) -> Vec<InkLine> {
    let room = cols.map_or(usize::MAX, |cols| cols.saturating_sub(INDENT.len() + 9).max(20));
    let mut lines = Vec::new();
    let number = format!("row {:>3}", row.row);
    let sides = [
        (&row.expected, &row.expected_cells, "-", Ink::Red, Ink::RedCells),
        (&row.actual, &row.actual_cells, "+", Ink::Green, Ink::GreenCells),
    ];
    for (at, (text, cells, sign, ink, cell_ink)) in sides.into_iter().enumerate() {
        let Some(text) = text else { continue };
        let label = if at == 0 || row.expected.is_none() { number.as_str() } else { "       " };
        let mut line = InkLine::new(Ink::Dim, &format!("{INDENT}{label} ")).with(ink, sign);
        for (piece, differs) in pieces(&begin_of(text, room), cells) {
            line = line.with(if differs { cell_ink } else { ink }, &piece);
        }
        lines.push(line);
        let end = cells.iter().map(|cells| usize::from(cells.end)).max().unwrap_or(0).min(room);
        let is_below = |col: usize| cells.iter().any(|cells| cells.contains(&(col as u16)));
        let carets: String = (0..end).map(|col| if is_below(col) { '^' } else { ' ' }).collect();
        if !carets.trim().is_empty() {
            lines.push(InkLine::new(Ink::Dim, &format!("{INDENT}         ")).with(Ink::Dim, &carets));
        }
    }
    lines
}

/// A row cut where its cells begin and cease to differ.
fn pieces(text: &str, cells: &[Range<u16>]) -> Vec<(String, bool)> {
    let mut pieces: Vec<(String, bool)> = Vec::new();
    let mut col = 0;
    for ch in text.chars() {
        let width = ch.width().unwrap_or(0);
        let differs = match (width, pieces.last()) {
            (0, Some((_, differs))) => *differs,
            _ => cells
                .iter()
                .any(|cells| usize::from(cells.start) < col + width && col < usize::from(cells.end)),
        };
        match pieces.last_mut() {
            Some((piece, same)) if *same == differs => piece.push(ch),
            _ => pieces.push((ch.to_string(), differs)),
        }
        col += width;
    }
    pieces
}

/// The first line of a command, and whether there is more of it.
pub fn one_line(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_by_columns() {
        assert_eq!(begin_of("abcd", 4), "abcd");
        assert_eq!(begin_of("abcde", 4), "abc…");
        assert_eq!(begin_of("漢字漢", 4), "漢…");
    }

    #[test]
    fn the_cells_that_differ_are_a_piece_of_their_own() {
        let of = |text: &str, cells: &[Range<u16>]| {
            pieces(text, cells).into_iter().filter(|(_, differs)| *differs).map(|(piece, _)| piece).collect()
        };
        let found: Vec<String> = of("a漢be\u{301}c", &[1..3, 4..5]);
        assert_eq!(found, ["漢", "e\u{301}"]);
    }
}
