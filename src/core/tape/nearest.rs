//! The word that was probably meant.

use crate::core::nearest_word::nearest_word;

/// Characters beyond which a longer word may have no more edits.
const LONG: usize = 40;

/// The word of `known` that is spelled most like `word`, when it is near enough to be what was meant.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_word(word, known, word.chars().take(LONG).count().div_ceil(3).max(1))
}
