//! A failure in full, as lines: everything that a person needs without opening a file.

use std::ops::Range;
use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::ink::{Ink, InkLine};
use crate::core::text::ellipsis::begin_of;
use crate::testing::outcome::{EvidenceFile, RowComparison, ScreenComparison, ScreenCopy, TapeFailure};

/// The indentation of everything after the first line.
pub const INDENT: &str = "     ";
/// The width of a label and the blanks after it.
const LABEL: usize = 9;
/// The most rows of a screen, and differing rows, that are shown.
const ROWS_MAX: usize = 60;
/// The most keys that are shown: the last ones.
const KEYS_MAX: usize = 60;
/// The most columns of a command or of a line of a message: both come from tapes and programs.
const LINE_MAX: usize = 2000;
/// The length of a horizontal rule if the terminal's width is unknown.
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

/// Everything after the first line. Rows are cut to fit into `cols`.
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
    lines.extend(evidence_lines(&failure.evidence));
    lines.extend(failure.again.iter().map(|again| labelled("again", again)));
    lines
}

/// The evidence files: the first with its path, those next to it by their names.
fn evidence_lines(evidence: &[EvidenceFile]) -> Vec<InkLine> {
    let Some((first, others)) = evidence.split_first() else { return Vec::new() };
    let labelled = |label: &str, text: &str| {
        InkLine::new(Ink::Dim, &format!("{INDENT}{label:<LABEL$}")).with(Ink::Plain, text)
    };
    let mut lines = vec![labelled(&first.kind, &first.path.display().to_string())];
    let (beside, elsewhere): (Vec<_>, Vec<_>) =
        others.iter().partition(|file| file.path.parent() == first.path.parent());
    let names: Vec<_> = beside.iter().filter_map(|file| file.path.file_name()?.to_str()).collect();
    if !names.is_empty() {
        let line = labelled("beside", &names.join(" "));
        lines.push(line.hanging(INDENT.len() + LABEL));
    }
    lines.extend(elsewhere.iter().map(|file| labelled(&file.kind, &file.path.display().to_string())));
    lines
}

/// The non-blank rows of a screen, numbered; changed rows are marked.
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
        let room = cols.map_or(LINE_MAX, |cols| cols.saturating_sub(INDENT.len() + 7).max(20));
        let ink = if is_changed { Ink::Bold } else { Ink::Plain };
        for (at, (_, part)) in row_parts(text, room).into_iter().enumerate() {
            let label = if at == 0 { format!("{mark}{number:>4} │") } else { "      │".to_owned() };
            lines.push(InkLine::new(Ink::Dim, &format!("{INDENT}{label}")).with(ink, part));
        }
        if let Some(note) = note
            && let Some(line) = lines.pop()
        {
            lines.push(line.with(Ink::Yellow, &format!("    <- {note}")));
        }
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

/// A row in two lines, with the differing cells marked below each for readers without colours.
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
        let end = cells.iter().map(|cells| usize::from(cells.end)).max().unwrap_or(0);
        let is_below = |col: usize| cells.iter().any(|cells| cells.contains(&(col as u16)));
        let parts = row_parts(text, room);
        let last = parts.len() - 1;
        for (part_at, (begin, part)) in parts.into_iter().enumerate() {
            let is_first = part_at == 0;
            let label =
                if is_first && (at == 0 || row.expected.is_none()) { number.as_str() } else { "       " };
            let sign = if is_first { sign } else { " " };
            let mut line = InkLine::new(Ink::Dim, &format!("{INDENT}{label} ")).with(ink, sign);
            let shifted: Vec<Range<u16>> = cells
                .iter()
                .map(|cells| cells.start.saturating_sub(begin)..cells.end.saturating_sub(begin))
                .collect();
            for (piece, differs) in pieces(part, &shifted) {
                line = line.with(if differs { cell_ink } else { ink }, &piece);
            }
            lines.push(line);
            // Cells after the end of the row differ, too.
            let to = if part_at == last {
                end.min(usize::from(begin) + room)
            } else {
                usize::from(begin) + part.width()
            };
            let carets: String =
                (usize::from(begin)..to).map(|col| if is_below(col) { '^' } else { ' ' }).collect();
            if !carets.trim().is_empty() {
                let carets = carets.trim_end();
                lines.push(InkLine::new(Ink::Dim, &format!("{INDENT}         ")).with(Ink::Dim, carets));
            }
        }
    }
    lines
}

/// A row in parts of at most `room` columns, each with its first column. Only a single character may be
/// wider.
fn row_parts(text: &str, room: usize) -> Vec<(u16, &str)> {
    let mut parts = Vec::new();
    let (mut begin, mut begin_col, mut col) = (0, 0, 0);
    for (at, ch) in text.char_indices() {
        let width = ch.width().unwrap_or(0);
        if col + width - begin_col > room && at > begin {
            parts.push((u16::try_from(begin_col).unwrap_or(u16::MAX), &text[begin..at]));
            (begin, begin_col) = (at, col);
        }
        col += width;
    }
    parts.push((u16::try_from(begin_col).unwrap_or(u16::MAX), &text[begin..]));
    parts
}

/// A row split where differing cells start and end.
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

/// The first line of a command, with a sign that there is more.
pub fn one_line(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

/// A duration for people: `0.12 s`, `5.0 s`.
pub(super) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{seconds:.2} s") } else { format!("{seconds:.1} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_broken_by_columns_and_nothing_of_it_is_lost() {
        assert_eq!(row_parts("abcd", 4), [(0, "abcd")]);
        assert_eq!(row_parts("abcde", 4), [(0, "abcd"), (4, "e")]);
        assert_eq!(row_parts("漢字漢", 4), [(0, "漢字"), (4, "漢")]);
        assert_eq!(row_parts("a漢字", 4), [(0, "a漢"), (3, "字")]);
        assert_eq!(row_parts("", 4), [(0, "")]);
    }

    #[test]
    fn the_end_of_a_long_row_is_compared_too() {
        let row = RowComparison {
            row: 1,
            expected: Some("0123456789012345678901234x".to_owned()),
            actual: Some("0123456789012345678901234y".to_owned()),
            expected_cells: std::iter::once(25..26).collect(),
            actual_cells: std::iter::once(25..26).collect(),
        };
        let lines: Vec<String> =
            row_lines(&row, Some(34)).iter().map(|line| line.written(false, Some(34))).collect();
        let ends: Vec<&str> = lines.iter().map(|line| line.trim_start()).collect();
        assert_eq!(
            ends,
            ["row   1 -01234567890123456789", "01234x", "^", "+01234567890123456789", "01234y", "^"],
            "{lines:#?}"
        );
    }

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
