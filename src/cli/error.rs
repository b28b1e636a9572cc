//! What a person is told when something did not work: what failed, with what name, and a hint.

use std::fmt::Write as _;

use serde_json::json;

use crate::ipc::message::{Code, Failure};

/// A failure on its way to standard error.
#[derive(Debug)]
pub(super) struct Failed {
    code: u8,
    message: String,
    hint: String,
}

impl Failed {
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Failed { code, message: message.into(), hint: String::new() }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The word of CONTRACT C12 for scripts.
    fn word(&self) -> &'static str {
        match self.code {
            2 => "bad_request",
            3 => "not_found",
            4 => "refused",
            1 => "ended",
            _ => "internal",
        }
    }

    /// Prints it and gives the exit code.
    pub fn print(&self, json: bool) -> u8 {
        eprintln!("hopty: {}", visible(&self.message));
        if !self.hint.is_empty() {
            eprintln!("hint: {}", visible(&self.hint));
        }
        if json {
            println!("{}", json!({"error": {"code": self.word(), "message": self.message, "hint": self.hint}}));
        }
        self.code
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        let code = if failure.code == Code::Internal { 125 } else { failure.code.exit() };
        Failed { code, message: failure.message, hint: failure.hint }
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Failed::new(125, error.to_string())
    }
}

/// Text from files and peers, with everything that a terminal would act on made visible.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let bidi = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || bidi {
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_printed_moves_a_cursor() {
        assert_eq!(visible("a\u{1b}[2Jb\u{202e}c\u{9b}d"), "a\\u{1b}[2Jb\\u{202e}c\\u{9b}d");
    }
}
