//! The word that was probably meant.

/// How many characters of a word are compared.
const COMPARED: usize = 40;

/// The word of `known` that is spelled most like `word`, when it is near enough to be what was meant.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: String = word.chars().take(COMPARED).flat_map(char::to_lowercase).collect();
    let limit = wanted.chars().count().div_ceil(3).max(1);
    known
        .into_iter()
        .map(|name| (strsim::osa_distance(&wanted, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
