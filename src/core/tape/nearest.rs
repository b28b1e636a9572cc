//! The word that was probably meant.

use crate::core::text::nearest_word::{nearest_word, slips};

/// The word of `known` that is spelled most like `word`, when it is near enough to be what was meant.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_word(word, known, slips(word))
}
