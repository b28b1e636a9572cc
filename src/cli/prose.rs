//! Sentences for people: in a terminal, lines are broken between words. What is read by something else stays
//! as it is.

use std::io;

use crate::core::text::word_wrap::{wrap_message, wrap_words};
use crate::tty::raw::columns;

/// A line for standard output. The rest of a long line continues below, `indent` columns from the left.
pub(super) fn fit(line: &str, indent: usize) -> String {
    columns(io::stdout()).map_or_else(|| line.to_owned(), |cols| wrap_words(line, indent, cols))
}

/// A message for standard error.
pub(super) fn fit_message(text: &str) -> String {
    columns(io::stderr()).map_or_else(|| text.to_owned(), |cols| wrap_message(text, cols))
}
