//! Continuing after a usage limit or an API error: one prompt, typed and proven like any submission, once it
//! is due.
//!
//! Current versions of Claude continue by themselves after a limit; hopty gives them time for that
//! (`recovery.limit_wait`), and any prompt of Claude's own ends the wait. hopty types only into an empty box
//! with no dialog. The limit's own dialog is closed by its line "Stop and wait for limit to reset", which
//! costs nothing, unless a person is present or `delivery.answer_dialogs` does not name it.

use super::super::action::{DecisionKind, Typing};
use super::super::phase::Phase;
use super::super::sending::{STANDS_MS, TYPING_MS};
use super::super::step::EventStep;
use super::super::{Supervisor, Turn};
use super::{LimitWait, ResumeAfter};
use crate::core::time::Stamp;

/// The name of the dialog in which Claude asks what to do about a limit.
const DIALOG: &str = "limit";
/// How long it must be on the screen before hopty presses its key, in ms: Claude ignores keys in its first
/// second (measured on 2.1.329).
const DIALOG_STANDS_MS: u64 = 1500;
/// The first version of the rules that leaves the dialog to a person who is present.
const PRESENT_SINCE: u32 = 3;

impl Supervisor {
    /// Something changed: tells people, answers the dialog if allowed, and continues when that is due.
    pub(in crate::core::supervisor) fn look_at_limit_wait(&mut self, step: &mut EventStep<'_>) {
        self.tick_limit_wait(step);
        self.answer_limit_dialog(step);
        let Some(halt) = &self.conversation.limit_wait else { return };
        if halt.due().is_none_or(|due| step.now < due) || self.sending.is_some() {
            return;
        }
        let after = halt.after();
        match &self.phase {
            Phase::Waiting { .. } => {
                // The hand-over that was held back continues in a fresh conversation with its own prompt.
                if let Some(halt) = self.conversation.limit_wait.take() {
                    self.limit_over(step, &halt, "it has reset, and the pending hand-over continues");
                }
            }
            Phase::Running
                if self.run.turn.state != Turn::Busy
                    && !self.run.stopped
                    && self.obstacle().is_none()
                    && self.box_is_free(step.now) =>
            {
                self.submit_own(step.now, after);
            }
            _ => {}
        }
    }

    fn answer_limit_dialog(&mut self, step: &mut EventStep<'_>) {
        let may = self.policy.config.delivery.answer_dialogs.iter().any(|name| name == DIALOG)
            && self.dialog_is_left_until().is_none_or(|until| until.is_some_and(|until| step.now >= until));
        let stands = self.run.screen.facts.dialog.as_deref() == Some(DIALOG)
            && self.run.screen.dialog_since.is_some_and(|since| step.now >= since.after(DIALOG_STANDS_MS));
        if let Some(halt) = self
            .conversation
            .limit_wait
            .as_mut()
            .filter(|halt| may && stands && halt.limit().is_some() && !halt.answered)
        {
            halt.answered = true;
            step.type_in(Typing::DialogKey { dialog: DIALOG.to_owned() });
        }
    }

    /// While a person may want to answer the limit's dialog: until when, `Some(None)` for ever, because they
    /// have typed since the limit was reached.
    fn dialog_is_left_until(&self) -> Option<Option<Stamp>> {
        let halt = self.conversation.limit_wait.as_ref()?;
        let keyed = self.limits.keyed.filter(|_| self.policy.rules >= PRESENT_SINCE)?;
        let until = keyed.after(self.policy.config.restart.wait_for_person.ms());
        Some(Some(until).filter(|_| keyed <= halt.since))
    }

    pub(in crate::core::supervisor) fn own_prompt_submitted(&mut self, step: &mut EventStep<'_>) {
        let Some(halt) = self.conversation.limit_wait.take() else { return };
        let text = match halt.after() {
            ResumeAfter::Limit => {
                "The usage limit has reset and Claude did not continue by itself, so hopty submitted a \
                 prompt to continue."
            }
            ResumeAfter::Error => "hopty submitted a prompt to continue after the API error.",
        };
        step.decide(DecisionKind::ContinueSubmitted, text);
    }

    /// Never twice: the prompt may have been submitted.
    pub(in crate::core::supervisor) fn own_prompt_failed(&mut self, step: &mut EventStep<'_>, why: &str) {
        self.conversation.limit_wait = None;
        let text = format!("hopty could not submit its prompt to continue: {why}.");
        step.tell(DecisionKind::ContinueCancelled, text);
    }

    pub(in crate::core::supervisor) fn resume_deadlines(&self, halt: &LimitWait, due: &mut Vec<Stamp>) {
        if halt.limit().is_some() && self.run.screen.facts.dialog.as_deref() == Some(DIALOG) {
            due.extend(self.run.screen.dialog_since.map(|since| since.after(DIALOG_STANDS_MS)));
            due.extend(self.dialog_is_left_until().flatten());
        }
        if let Some(at) = halt.due() {
            due.extend([at, self.phase_began.at.after(STANDS_MS)]);
            due.extend(self.run.typed.map(|typed| typed.after(TYPING_MS)));
        }
    }
}
