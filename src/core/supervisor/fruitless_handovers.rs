//! Hand-overs without progress: two handoffs in a row have the same next step, and between them no file was
//! written and git shows no change. Then no context level requests another one until a person submits a
//! prompt; requests by a person or a signal still count.

use serde::{Deserialize, Serialize};

use super::action::DecisionKind;
use super::event::PromptOf;
use super::step::EventStep;
use crate::core::handoff::work_progress::Mark;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkProgress {
    last: Option<Mark>,
    missing: bool,
}

impl WorkProgress {
    /// Whether hand-overs were found to make no progress.
    pub(super) fn is_missing(self) -> bool {
        self.missing
    }

    /// Notes the handoff that was just saved. Returns whether it is no further than the one before.
    pub(super) fn note(&mut self, mark: Option<Mark>) -> bool {
        let before = std::mem::replace(&mut self.last, mark);
        matches!((before, mark), (Some(before), Some(mark)) if mark.is_no_further_than(before))
    }

    /// Ends hand-overs by context level, and tells people.
    pub(super) fn stop(&mut self, step: &mut EventStep<'_>) {
        self.missing = true;
        let text = "Automatic hand-over is off until your next prompt: two handoffs in a row have the same \
                    next step, \
                    and nothing changed in files or in git between them. `hopty restart` hands over anyway.";
        step.tell(DecisionKind::ProgressMissing, text);
    }

    /// A prompt was submitted; one by a person resets the check.
    pub(super) fn prompted(&mut self, by: Option<PromptOf>) {
        if matches!(by, Some(PromptOf::Person | PromptOf::Sent)) {
            *self = WorkProgress::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_mark_twice_is_no_progress_until_a_person_prompts() {
        let mark = Some(Mark { next: 7, tree: 1, files: 0 });
        let mut progress = WorkProgress::default();
        assert!(!progress.note(mark) && progress.note(mark), "the second equals the first");
        assert!(!progress.note(None) && !progress.note(mark), "nothing is known of the one between");
        progress.stop(&mut EventStep::new(crate::core::time::Stamp(0), 1, 1, &mut Vec::new()));
        progress.prompted(Some(PromptOf::Claude));
        assert!(progress.is_missing());
        progress.prompted(Some(PromptOf::Person));
        assert!(!progress.is_missing() && !progress.note(mark));
    }
}
