//! One text on its way into Claude's prompt box: paste, echo, Enter, proof. No Enter is blind.
//!
//! It has two users: the delivery of a continuation prompt (`delivery`), and the sending of a prompt for a
//! person or for hopty itself (`sending`). `SubmissionRules` holds their differences.

use serde::{Deserialize, Serialize};

use super::action::Typing;
use super::phase::Phase;
use super::screen_facts::PromptBox;
use super::state::SessionState;
use super::step::EventStep;
use super::{Supervisor, Turn};
use crate::core::time::Stamp;

/// The steps of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum SubmissionStep {
    /// Waiting for an empty prompt box.
    Ready {
        /// Since when something obstructs it; the submission ends if it stays.
        #[serde(default)]
        hindered: Option<Stamp>,
    },
    /// The text was pasted; waiting for it to appear in the box.
    Echo,
    /// Enter was sent.
    Enter {
        /// When another Enter may be sent, if it can be justified.
        again: Stamp,
        /// Claude was busy: it queues the prompt.
        #[serde(default)]
        works: bool,
    },
}

/// A text on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The step.
    #[serde(flatten)]
    pub step: SubmissionStep,
    /// When to give up this step; `None` if the whole submission has one deadline.
    #[serde(default)]
    pub(super) until: Option<Stamp>,
    /// When it was pasted, if the whole submission has one deadline.
    #[serde(default)]
    pub(super) pasted: Option<Stamp>,
}

/// The effect of a running turn on a submission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum DuringTurn {
    /// Claude works on something else.
    Wait,
    /// Claude queues it.
    Queue,
    /// An Enter might answer a dialog that is not drawn yet.
    WaitForIdle,
}

/// The time between two Enters, in ms: the effect of the first is on the screen before the next, which the
/// screen has to justify.
const ENTER_EVERY_MS: u64 = 200;

/// The differences between the users of a submission.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubmissionRules {
    /// The time for echo and proof, from the paste on, in ms; `None` if the whole has one deadline.
    pub confirm_ms: Option<u64>,
    /// Whether Enter may be repeated.
    pub enter_is_left: bool,
    /// The effect of a running turn.
    pub during_turn: DuringTurn,
    /// Wait for a SessionStart hook before the paste.
    pub awaits_hook: bool,
    /// Nobody may be writing, and the box must have been on the screen for a moment before the paste.
    pub shares_box: bool,
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SubmissionKey {
    Paste,
    Enter,
}

impl Submission {
    pub(super) fn new(until: Option<Stamp>) -> Self {
        Submission { step: SubmissionStep::Ready { hindered: None }, until, pasted: None }
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(self.step, SubmissionStep::Ready { .. })
    }

    fn pasted(&mut self, now: Stamp, rules: &SubmissionRules) {
        self.step = SubmissionStep::Echo;
        match rules.confirm_ms {
            Some(ms) => self.until = Some(now.after(ms)),
            None => self.pasted = Some(now),
        }
    }

    /// When its step times out, or another Enter may be due.
    pub(super) fn deadlines(&self, due: &mut Vec<Stamp>) {
        due.extend(self.until);
        if let SubmissionStep::Enter { again, .. } = self.step {
            due.push(again);
        }
    }
}

impl Supervisor {
    /// The key that is due, if all its conditions are met.
    pub(super) fn next_key(
        &self,
        now: Stamp,
        submission: &Submission,
        rules: &SubmissionRules,
    ) -> Option<SubmissionKey> {
        match submission.step {
            SubmissionStep::Ready { .. } => {
                self.paste_is_justified(now, rules).then_some(SubmissionKey::Paste)
            }
            SubmissionStep::Enter { again, .. } if now < again || !rules.enter_is_left => None,
            SubmissionStep::Echo | SubmissionStep::Enter { .. } => {
                self.enter_is_justified(rules).then_some(SubmissionKey::Enter)
            }
        }
    }

    fn paste_is_justified(&self, now: Stamp, rules: &SubmissionRules) -> bool {
        self.box_is_empty()
            && !self.turn_forbids(rules.during_turn)
            && (!rules.awaits_hook || self.hook_wait_deadline().is_none_or(|at| now >= at))
            && (!rules.shares_box || self.box_has_settled(now))
    }

    pub(super) fn box_is_empty(&self) -> bool {
        !self.run.stopped
            && self.obstacle().is_none()
            && self.run.screen.facts.prompt == PromptBox::Empty
            && self.run.screen.facts.paste
    }

    /// All conditions of an Enter: our text is in the live box, no dialog is shown, Claude waits for no
    /// answer, all bytes have been read, and no running turn could be disturbed.
    fn enter_is_justified(&self, rules: &SubmissionRules) -> bool {
        !self.run.stopped
            && self.run.screen.facts.prompt == PromptBox::Ours
            && self.obstacle().is_none()
            && !self.run.screen.facts.unread
            && !self.turn_forbids(rules.during_turn)
    }

    pub(super) fn turn_forbids(&self, during_turn: DuringTurn) -> bool {
        match during_turn {
            DuringTurn::Wait => self.run.turn.state == Turn::Busy,
            DuringTurn::Queue => false,
            DuringTurn::WaitForIdle => self.state().state == SessionState::Busy,
        }
    }

    pub(super) fn paste(&mut self, step: &mut EventStep<'_>, typing: Typing, rules: &SubmissionRules) {
        step.type_in(typing);
        if let Some(submission) = self.submission() {
            submission.pasted(step.now, rules);
        }
    }

    pub(super) fn press_enter(&mut self, step: &mut EventStep<'_>, rules: &SubmissionRules) {
        step.type_in(Typing::Enter);
        let works = rules.during_turn != DuringTurn::Wait && self.state().state == SessionState::Busy;
        if let Some(submission) = self.submission() {
            submission.step = SubmissionStep::Enter { again: step.now.after(ENTER_EVERY_MS), works };
        }
    }

    /// The submission that may type now.
    fn submission(&mut self) -> Option<&mut Submission> {
        match &mut self.phase {
            Phase::Delivering { submission, .. } => Some(submission),
            _ => self.sending.as_mut().map(|sending| &mut sending.submission),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of the first release, for a delivery and a sent prompt.
    #[test]
    fn steps_of_earlier_journals_are_read() {
        let read = |text: &str| serde_json::from_str::<Submission>(text).unwrap();
        assert_eq!(read(r#"{"step":"ready","until":5}"#), Submission::new(Some(Stamp(5))));
        let entered = SubmissionStep::Enter { again: Stamp(7), works: false };
        let delivered = Submission { step: entered, until: Some(Stamp(9)), pasted: None };
        assert_eq!(read(r#"{"step":"enter","again":7,"until":9}"#), delivered);
        let sent = Submission { step: SubmissionStep::Echo, until: None, pasted: Some(Stamp(3)) };
        assert_eq!(read(r#"{"step":"echo","pasted":3}"#), sent);
        assert_eq!(read(&serde_json::to_string(&sent).unwrap()), sent);
        let hindered = read(r#"{"step":"ready","hindered":4}"#);
        assert_eq!(hindered.step, SubmissionStep::Ready { hindered: Some(Stamp(4)) });
    }
}
