//! Claude's hand-over note, as far as Claude has written it.

use crate::core::handoff::note::Note;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::host) enum NoteState {
    /// Claude was not asked.
    #[default]
    None,
    /// Claude was asked, and its turn is not over.
    Asked,
    /// Claude answered in the requested form.
    Said(Note),
}

impl NoteState {
    /// The turn is over: takes the answer if Claude was asked, and ignores one in another form.
    pub fn answer(&mut self, last_message: Option<&str>) {
        if *self == NoteState::Asked {
            *self = last_message.and_then(Note::read).map_or(NoteState::None, NoteState::Said);
        }
    }

    /// Takes a message in the middle of a turn: it may be the answer, and so may a later one.
    pub fn hear(&mut self, message: &str) {
        if *self == NoteState::Asked
            && let Some(note) = Note::read(message)
        {
            *self = NoteState::Said(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_loop_a_message_of_another_form_is_not_the_last_word() {
        let mut words = NoteState::Asked;
        words.hear("I go on with the tests.");
        assert_eq!(words, NoteState::Asked);
        words.hear("{\"next\": [\"count Lyra\"]}");
        words.hear("{\"next\": [\"another\"]}");
        let NoteState::Said(note) = words else { panic!("no note") };
        assert_eq!(note.next, ["count Lyra"]);
    }
}
