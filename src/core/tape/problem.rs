//! What is wrong with a tape, and how people are told.

use std::fmt::{self, Write as _};

/// A place in a tape. Lines and columns are 1-based; columns count characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeSpan {
    /// The file, as it was named.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
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
    /// Where it is.
    pub span: TapeSpan,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The line of the tape from its beginning, without control characters, cut where it is too long.
    pub excerpt: String,
    /// How many columns the caret stands from the beginning of the excerpt.
    pub(super) caret: usize,
    /// How many characters are underlined.
    pub(super) length: usize,
}

impl TapeProblem {
    /// A problem of a whole file.
    pub(super) fn new(span: TapeSpan, message: impl Into<String>) -> TapeProblem {
        TapeProblem { span, message: message.into(), hint: None, excerpt: String::new(), caret: 0, length: 0 }
    }

    fn write(&self, kind: &str, out: &mut String) {
        let number = self.span.line.to_string();
        let margin = " ".repeat(number.len());
        let _ = writeln!(out, "{}: {kind}: {}", self.span, self.message);
        if !self.excerpt.is_empty() {
            let _ = writeln!(out, " {number} | {}", self.excerpt);
            let _ = writeln!(out, " {margin} | {}{}", " ".repeat(self.caret), "^".repeat(self.length.max(1)));
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(out, " {margin} = hint: {hint}");
        }
    }
}

/// Errors and warnings for people.
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
