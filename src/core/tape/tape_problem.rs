//! Errors and warnings about a tape, and their text.

use std::cell::Cell;
use std::fmt::{self, Write as _};

use unicode_width::UnicodeWidthStr;

use crate::core::text::visible::visible;

/// A place in a tape. Lines and columns are 1-based; columns count characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeSpan {
    /// The file, as it was given, without control characters.
    pub file: String,
    pub line: u32,
    pub column: u32,
}

impl fmt::Display for TapeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// An error or a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeProblem {
    pub span: TapeSpan,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The line of the tape, without control characters, cut if it is long; empty for a whole file.
    pub excerpt: String,
    /// The caret's distance from the start of the excerpt, in columns.
    caret: usize,
    /// How many columns are underlined.
    underline: usize,
}

/// How many bytes of a line are shown before and after the error.
const BEFORE: usize = 80;
const BEHIND: usize = 60;
/// How many characters of a word are shown.
const WORD: usize = 40;

/// The start of each line of a file.
pub(super) struct LineTable<'a> {
    file: String,
    source: &'a str,
    starts: Vec<usize>,
    /// A byte and its column, from which the next column on the line is counted.
    counted: Cell<(usize, usize)>,
}

impl<'a> LineTable<'a> {
    pub(super) fn new(file: &str, source: &'a str) -> LineTable<'a> {
        let starts = source.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        LineTable {
            file: visible(file),
            source,
            starts: std::iter::once(0).chain(starts).collect(),
            counted: Cell::new((0, 1)),
        }
    }

    /// The number of the line, from 0.
    pub(super) fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at) - 1
    }

    pub(super) fn span(&self, at: usize) -> TapeSpan {
        let line = self.line(at);
        let (from, before) = match self.counted.get() {
            (from, before) if from <= at && from >= self.starts[line] => (from, before),
            _ => (self.starts[line], 1),
        };
        let column = before + self.source[from..at].chars().count();
        self.counted.set((at, column));
        TapeSpan { file: self.file.clone(), line: number(line + 1), column: number(column) }
    }

    /// The byte after the text of the line of `at`.
    pub(super) fn end_of_line(&self, at: usize) -> usize {
        let line = self.line(at);
        let end = self.starts.get(line + 1).map_or(self.source.len(), |next| next - 1);
        let text = &self.source[at.min(end)..end];
        end - (text.len() - text.trim_end_matches('\r').len())
    }

    /// A problem with the bytes from `start` to `end`.
    pub(super) fn problem(&self, start: usize, end: usize, message: String) -> TapeProblem {
        let span = self.span(self.boundary(start.min(self.source.len())));
        let line_start = self.starts[self.line(start)];
        let line_end = self.end_of_line(line_start);
        // The error may be the line end itself; the caret then follows the text.
        let start = self.boundary(start.min(line_end));
        let end = self.boundary(end.clamp(start, line_end));
        let from = self.boundary(start.saturating_sub(BEFORE).max(line_start));
        let to = self.boundary((start + BEHIND).min(line_end));
        let shown = |from: usize, to: usize| visible(&self.source[from..to].replace('\t', " "));
        let before = shown(from, start);
        let cut = if from > line_start { "…" } else { "" };
        let more = if to < line_end { "…" } else { "" };
        TapeProblem {
            span,
            message: visible(&message),
            hint: None,
            excerpt: format!("{cut}{before}{}{more}", shown(start, to)),
            caret: before.width() + cut.width(),
            underline: shown(start, end.min(to)).width().max(1),
        }
    }

    /// The nearest character boundary at or before a byte.
    fn boundary(&self, mut at: usize) -> usize {
        while !self.source.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A word of a tape for a message: without control characters, and cut.
pub(super) fn printable(word: &str) -> String {
    match word.char_indices().nth(WORD) {
        Some((at, _)) => format!("{}…", visible(&word[..at])),
        None => visible(word),
    }
}

impl TapeProblem {
    pub(super) fn of_file(file: &str, message: impl Into<String>) -> TapeProblem {
        TapeProblem {
            span: TapeSpan { file: visible(file), line: 1, column: 1 },
            message: visible(&message.into()),
            hint: None,
            excerpt: String::new(),
            caret: 0,
            underline: 0,
        }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> TapeProblem {
        self.hint = Some(visible(&hint.into()));
        self
    }

    fn write(&self, kind: &str, out: &mut String) {
        let number = self.span.line.to_string();
        let margin = " ".repeat(number.len());
        let _ = writeln!(out, "{}: {kind}: {}", self.span, self.message);
        if !self.excerpt.is_empty() {
            let _ = writeln!(out, " {number} | {}", self.excerpt);
            let _ = writeln!(out, " {margin} | {}{}", " ".repeat(self.caret), "^".repeat(self.underline));
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(out, " {margin} = hint: {hint}");
        }
    }
}

/// Errors and warnings as text for people.
pub(super) fn report(errors: &[TapeProblem], warnings: &[TapeProblem]) -> String {
    let mut out = String::new();
    for error in errors {
        error.write("error", &mut out);
    }
    for warning in warnings {
        warning.write("warning", &mut out);
    }
    out
}
