//! Claude's own words for the next handoff, as far as they are there.

use super::Host;
use crate::core::handoff::note::Note;

/// Claude's own words for the handoff that is about to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Words {
    /// It was not asked.
    #[default]
    None,
    /// It was asked, and its turn is not over yet.
    Asked,
    /// It answered in the form that it was asked for.
    Said(Note),
}

impl Words {
    /// The end of a turn: the answer, when there was a question. One that is not of the form leaves the facts alone.
    pub fn answer(&mut self, last_message: Option<&str>) {
        if *self == Words::Asked {
            *self = last_message.and_then(Note::read).map_or(Words::None, Words::Said);
        }
    }

    /// A message in the middle of a turn: it may be the answer, and a later one may be.
    fn hear(&mut self, message: &str) {
        if *self == Words::Asked
            && let Some(note) = Note::read(message)
        {
            *self = Words::Said(note);
        }
    }
}

impl Host {
    /// Claude's last message may be its answer in a tool loop.
    pub(super) fn hear_words(&mut self) {
        if let Some(transcript) = self.observer.transcript() {
            self.words.hear(transcript.facts.last_text());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_loop_a_message_of_another_form_is_not_the_last_word() {
        let mut words = Words::Asked;
        words.hear("I go on with the tests.");
        assert_eq!(words, Words::Asked);
        words.hear("{\"next\": [\"count Lyra\"]}");
        words.hear("{\"next\": [\"another\"]}");
        let Words::Said(note) = words else { panic!("no note") };
        assert_eq!(note.next, ["count Lyra"]);
    }
}
