//! The last prompts and answers, in their order.

use super::bounded_memory::LastItems;
use super::last_message::TextBlock;
use crate::core::text::safe_text::cut_words;

/// How many prompts and answers are kept.
pub const RECENT_CAP: usize = 12;
/// The most that is kept of one of them, in bytes.
pub const EXCHANGE_CAP: usize = 2000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptSpeaker {
    Person,
    Claude,
}

/// A prompt or an answer, cut to 2,000 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub speaker: TranscriptSpeaker,
    pub text: String,
}

#[derive(Clone, Debug, Default)]
pub struct RecentExchanges(LastItems<Exchange, RECENT_CAP>);

impl RecentExchanges {
    /// Oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Exchange> {
        self.0.iter()
    }

    /// How many came before those that are kept.
    pub fn dropped(&self) -> u64 {
        self.0.dropped()
    }

    /// How many there were in all.
    pub fn total(&self) -> u64 {
        self.0.total()
    }

    pub(super) fn take_prompt(&mut self, text: &str) {
        self.put(TranscriptSpeaker::Person, text);
    }

    pub(super) fn take_text(&mut self, block: &TextBlock<'_>) {
        match self.0.newest() {
            Some(newest) if block.continues && newest.speaker == TranscriptSpeaker::Claude => {
                newest.text = cut_words(block.whole, EXCHANGE_CAP).to_owned();
            }
            _ => self.put(TranscriptSpeaker::Claude, block.text),
        }
    }

    fn put(&mut self, speaker: TranscriptSpeaker, text: &str) {
        self.0.put(Exchange { speaker, text: cut_words(text, EXCHANGE_CAP).to_owned() });
    }

    /// Forgets what came after the first `total`.
    pub(super) fn go_back_to(&mut self, total: u64) {
        self.0.truncate_to(total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_are_bounded_and_a_message_is_one_answer() {
        let mut said = RecentExchanges::default();
        let long = "x".repeat(3 * EXCHANGE_CAP);
        (0..50).for_each(|n| said.take_prompt(&format!("{n} {long}")));
        assert_eq!((said.iter().count(), said.dropped(), said.total()), (RECENT_CAP, 38, 50));
        assert!(said.iter().all(|exchange| exchange.text.len() <= EXCHANGE_CAP));
        assert!(said.iter().next_back().unwrap().text.starts_with("49 "));
        said.take_text(&TextBlock { text: "a", whole: "a", continues: false });
        said.take_text(&TextBlock { text: "b", whole: "a\nb", continues: true });
        assert_eq!((said.iter().next_back().unwrap().text.as_str(), said.total()), ("a\nb", 51));
        said.take_prompt("c");
        said.take_text(&TextBlock { text: "d", whole: "a\nb\nd", continues: true });
        assert_eq!(said.iter().next_back().unwrap().text, "d", "the person cut in");
        said.go_back_to(51);
        assert_eq!((said.iter().next_back().unwrap().text.as_str(), said.total()), ("a\nb", 51));
    }
}
