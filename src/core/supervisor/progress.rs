//! Hand-overs without progress: two handoffs in a row have the same next step, and between them no file was
//! written and git shows no change. Then no context level requests another one until a person prompts; what a
//! person or a signal requests still happens.

use serde::{Deserialize, Serialize};

use super::Supervisor;
use super::action::DecisionKind;
use super::event::PromptOf;
use super::phase::Phase;
use super::step::EventStep;
use crate::core::handoff::progress::Mark;

/// What is known of the work's progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkProgress {
    last: Option<Mark>,
    missing: bool,
}

impl WorkProgress {
    /// Whether hand-overs were found to make no progress.
    pub fn is_missing(self) -> bool {
        self.missing
    }
}

impl Supervisor {
    /// Whether the handoff that was just saved equals the one before.
    pub(super) fn brings_nothing(&mut self, mark: Option<Mark>) -> bool {
        let before = std::mem::replace(&mut self.conversation.progress.last, mark);
        let asked =
            matches!(&self.phase, Phase::Saving { request, .. } if request.explicit || request.person);
        let same = matches!((before, mark), (Some(before), Some(mark)) if mark.is_no_further_than(before));
        same && !asked
    }

    pub(super) fn stop_handing_over(&mut self, step: &mut EventStep<'_>) {
        self.conversation.progress.missing = true;
        let text = "Automatic hand-over is off until your next prompt: two handoffs in a row have the same \
                    next step, \
                    and nothing changed in files or in git between them. `hopty restart` hands over anyway.";
        step.tell(DecisionKind::ProgressMissing, text);
        self.cancel_request(step, "the work made no progress");
    }

    /// A prompt was submitted; a person's may start progress again.
    pub(super) fn somebody_prompts(&mut self, prompt: Option<PromptOf>) {
        if matches!(prompt, Some(PromptOf::Person | PromptOf::Sent)) {
            self.conversation.progress = WorkProgress::default();
        }
    }
}
