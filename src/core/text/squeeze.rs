//! Text without blanks, for comparing what a program wraps and indents.

/// The text without its white space.
pub fn squeeze(text: &str) -> String {
    text.split_whitespace().collect()
}
