//! Suggests the word that was probably meant.

/// How many characters of a word are compared.
const COMPARED: usize = 40;

/// The first of the words with the most similar spelling, if a typo explains the difference. An edit inserts,
/// removes or replaces a letter, or swaps two neighbours; case is ignored.
pub fn nearest_word<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: String = word.chars().take(COMPARED).flat_map(char::to_lowercase).collect();
    known
        .into_iter()
        .map(|name| (strsim::osa_distance(&wanted, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= slips(word))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many edits count as a typo. Two edits make any word of three letters, and half of one of four.
pub fn slips(word: &str) -> usize {
    if word.chars().count() < 5 { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::nearest_word;

    #[test]
    fn letters_that_changed_places_are_one_edit() {
        let near = |word| nearest_word(word, ["status", "stop", "ls"]);
        assert_eq!([near("edit"), near("stip"), near("a1")], [None, Some("stop"), None]);
        assert_eq!(
            [near("statsu"), near("STOPP"), near("sl"), near("stxxus"), near("lx"), near("x"), near("")],
            [Some("status"), Some("stop"), Some("ls"), Some("status"), Some("ls"), None, None]
        );
    }
}
