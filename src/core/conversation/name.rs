//! A person's name for a conversation: its id, the beginning of its id, or its title.

use crate::core::ids::ConversationId;

/// The fewest characters of an id that name a conversation.
pub const PREFIX_MIN: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationName {
    Id(ConversationId),
    /// The beginning of an id, in lower case; it may also be a title.
    IdPrefix(String),
    /// A title or a part of one.
    Title(String),
}

impl ConversationName {
    #[must_use]
    pub fn read(word: &str) -> Self {
        let word = word.trim();
        if let Ok(id) = word.parse() {
            return ConversationName::Id(id);
        }
        let is_prefix = (PREFIX_MIN..36).contains(&word.len())
            && word.bytes().enumerate().all(|(at, b)| match at {
                8 | 13 | 18 | 23 => b == b'-',
                _ => b.is_ascii_hexdigit(),
            });
        if is_prefix {
            ConversationName::IdPrefix(word.to_ascii_lowercase())
        } else {
            ConversationName::Title(word.to_lowercase())
        }
    }
}

/// The `titles` that a word names: those equal to it, or if there are none those that contain it, ignoring
/// case.
pub fn titled<'a, T>(word: &str, titles: impl Iterator<Item = (&'a str, T)> + Clone) -> Vec<T> {
    let word = word.to_lowercase();
    let which = |is: fn(&str, &str) -> bool| {
        titles
            .clone()
            .filter(|(title, _)| is(&title.to_lowercase(), &word))
            .map(|(_, found)| found)
            .collect::<Vec<T>>()
    };
    let whole = which(|title, word| title == word);
    if whole.is_empty() && !word.is_empty() { which(|title, word| title.contains(word)) } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_an_id_its_begin_or_a_title() {
        let id = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
        assert_eq!(ConversationName::read(&id.to_uppercase()), ConversationName::Id(id.parse().unwrap()));
        for word in ["c74c", "C74CC080", "c74cc080-", "c74cc080-94b9-4841-b82f-a62cfb8efdc"] {
            assert_eq!(
                ConversationName::read(word),
                ConversationName::IdPrefix(word.to_lowercase()),
                "{word}"
            );
        }
        for word in ["c74", "c74cc080_", "c74cc08094b9", "Fix the parser", "", "../../etc/passwd"] {
            assert_eq!(ConversationName::read(word), ConversationName::Title(word.to_lowercase()), "{word}");
        }
    }

    #[test]
    fn a_whole_title_goes_before_a_part_of_one() {
        let titles = [("Fix it", 1), ("fix it again", 2), ("Other", 3)];
        let found = |word: &str| titled(word, titles.iter().copied());
        assert_eq!(
            (found("FIX IT"), found("again"), found("fix"), found("none")),
            (vec![1], vec![2], vec![1, 2], vec![])
        );
        assert_eq!(found(""), Vec::<i32>::new());
    }
}
