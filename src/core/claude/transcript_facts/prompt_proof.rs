//! The proof in the transcript that Claude received hopty's prompts.

use crate::core::claude::pasted_prompt::{PromptPlace, SentPrompt};
use crate::core::ids::HandoffId;

#[derive(Clone, Debug, Default)]
pub struct PromptProof {
    /// The prompt whose line is awaited, and its place once it is found.
    sought: Option<SentPrompt>,
    found: Option<PromptPlace>,
    /// The handoff of the newest continuation prompt, and whether Claude has answered that prompt.
    continued: Option<(HandoffId, bool)>,
}

impl PromptProof {
    /// Looks for a prompt in the lines to come.
    pub fn seek(&mut self, sent: SentPrompt) {
        (self.sought, self.found) = (Some(sent), None);
    }

    pub fn stop_seeking(&mut self) {
        (self.sought, self.found) = (None, None);
    }

    /// Where it was found; returned once.
    pub fn take_found(&mut self) -> Option<PromptPlace> {
        self.found.take()
    }

    /// Whether the transcript has hopty's continuation prompt for `id`.
    pub fn continued(&self, id: &HandoffId) -> bool {
        self.continued.as_ref().is_some_and(|(seen, _)| seen == id)
    }

    /// Whether the model answered that prompt: the handoff is consumed.
    pub fn answered(&self, id: &HandoffId) -> bool {
        self.continued.as_ref().is_some_and(|(seen, answered)| seen == id && *answered)
    }

    /// Takes a prompt that was written here at this time (RFC 3339).
    pub(super) fn take_prompt(&mut self, prompt: &str, at: Option<&str>, place: PromptPlace) {
        if self.sought.as_ref().is_some_and(|sent| sent.is_line(prompt, at)) {
            self.found.get_or_insert(place);
        }
    }

    /// Takes the continuation prompt of a handoff. Claude's answer may come before it.
    pub(super) fn take_continuation(&mut self, id: HandoffId, is_answered: bool) {
        self.continued = Some((id, is_answered));
    }

    pub(super) fn take_answer(&mut self) {
        if let Some((_, answered)) = self.continued.as_mut() {
            *answered = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_is_sought_is_found_once_and_where_it_stood_first() {
        let mut sent = SentPrompt::new("go on").unwrap();
        sent.entered("2026-11-20T14:00:00.000Z".to_owned());
        let at = Some("2026-11-20T14:00:01.000Z");
        let mut proof = PromptProof::default();
        proof.take_prompt("go on", at, PromptPlace::Prompt);
        proof.seek(sent);
        assert_eq!(proof.take_found(), None, "it stood there before");
        proof.take_prompt("go on", at, PromptPlace::Queued);
        proof.take_prompt("go on", at, PromptPlace::Prompt);
        assert_eq!((proof.take_found(), proof.take_found()), (Some(PromptPlace::Queued), None));
        proof.take_prompt("go on", at, PromptPlace::Prompt);
        proof.stop_seeking();
        proof.take_prompt("go on", at, PromptPlace::Prompt);
        assert_eq!(proof.take_found(), None);
    }

    #[test]
    fn a_handoff_is_answered_by_the_first_answer_after_its_prompt() {
        let [id, other] = ["HO-20261120-142950-c74cc080", "HO-20261120-142951-c74cc080"];
        let (id, other): (HandoffId, HandoffId) = (id.parse().unwrap(), other.parse().unwrap());
        let mut proof = PromptProof::default();
        proof.take_answer();
        assert!(!proof.continued(&id));
        proof.take_continuation(id.clone(), false);
        assert!(proof.continued(&id) && !proof.answered(&id));
        proof.take_answer();
        assert!(proof.answered(&id) && !proof.answered(&other) && !proof.continued(&other));
        proof.take_continuation(other.clone(), true);
        assert!(proof.answered(&other) && !proof.continued(&id));
    }
}
