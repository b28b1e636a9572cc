//! A pattern of a tape: a text, or a regular expression.

use std::fmt;

use super::regex::TapeRegex;
use super::tape_text::TapeText;

#[derive(Clone, Debug, PartialEq)]
pub enum TapePattern {
    /// This text, anywhere.
    Text(TapeText),
    /// What this regular expression matches.
    Regex(TapeRegex),
}

impl fmt::Display for TapePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TapePattern::Text(text) => text.fmt(f),
            TapePattern::Regex(regex) => regex.fmt(f),
        }
    }
}
