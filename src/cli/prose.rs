//! Lines for people, wrapped between words in a terminal; other output is unchanged.

use std::io;

use crate::core::text::word_wrap::{wrap_message, wrap_words};
use crate::tty::raw::columns;

/// A line for standard output; in a terminal its continuation is indented by `indent` columns.
pub(super) fn fit(line: &str, indent: usize) -> String {
    columns(io::stdout()).map_or_else(|| line.to_owned(), |cols| wrap_words(line, indent, cols))
}

pub(super) fn fit_message(text: &str) -> String {
    columns(io::stderr()).map_or_else(|| text.to_owned(), |cols| wrap_message(text, cols))
}
