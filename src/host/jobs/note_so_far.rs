//! Claude's own words for the next handoff, as far as it has written them.

use crate::core::handoff::note::Note;

/// Claude's own words for the next handoff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::host) enum NoteState {
    /// Claude was not asked.
    #[default]
    None,
    /// Claude was asked, and its turn is not over yet.
    Asked,
    /// Claude answered in the requested form.
    Said(Note),
}

impl NoteState {
    /// The end of a turn: takes the answer, if Claude was asked. One in another form is ignored.
    pub fn answer(&mut self, last_message: Option<&str>) {
        if *self == NoteState::Asked {
            *self = last_message.and_then(Note::read).map_or(NoteState::None, NoteState::Said);
        }
    }

    /// A message in the middle of a turn: it may be the answer, and so may a later one.
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
