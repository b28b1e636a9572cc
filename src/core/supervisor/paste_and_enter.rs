//! Submits a text to Claude's prompt box: paste, echo, Enter, proof. Every Enter is justified by what the
//! screen shows.
//!
//! It has two users: the delivery of a continuation prompt (`prompt_delivery`), and prompts that are sent for
//! a person or by hopty itself (`send_submit`). `SubmissionRules` holds their differences.

use serde::{Deserialize, Serialize};

use crate::core::time::Stamp;

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

/// A text being submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    #[serde(flatten)]
    pub step: SubmissionStep,
    /// When to give up this step; `None` if one deadline covers the whole submission.
    #[serde(default)]
    pub(super) until: Option<Stamp>,
    /// When it was pasted, if one deadline covers the whole submission.
    #[serde(default)]
    pub(super) pasted: Option<Stamp>,
}

/// The effect of a running turn on a submission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum DuringTurn {
    /// Claude works on something else: wait.
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
    /// The time for echo and proof, from the paste on, in ms; `None` if one deadline covers the whole
    /// submission.
    pub confirm_ms: Option<u64>,
    /// Whether Enter may be repeated.
    pub enter_is_left: bool,
    /// The effect of a running turn.
    pub during_turn: DuringTurn,
    /// Wait for a SessionStart hook before the paste.
    pub awaits_hook: bool,
    /// Wait until no person is writing and the box has been on the screen for a moment before the paste.
    pub shares_box: bool,
}

/// What a submission needs to know about the session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SubmissionFacts {
    /// The box is empty and takes a paste.
    pub box_is_empty: bool,
    /// No person is writing, and the box has been on the screen for a moment.
    pub box_has_settled: bool,
    /// hopty's text is in the box, no dialog is shown, Claude asks nothing, and all bytes have been read.
    pub box_is_ours: bool,
    /// A SessionStart hook may still come.
    pub hook_may_come: bool,
    /// A turn runs, according to the hooks.
    pub turn_runs: bool,
    /// Claude is busy, according to all sources.
    pub is_busy: bool,
}

impl SubmissionFacts {
    /// Whether a running turn forbids typing.
    pub(super) fn turn_forbids(&self, during_turn: DuringTurn) -> bool {
        match during_turn {
            DuringTurn::Wait => self.turn_runs,
            DuringTurn::Queue => false,
            DuringTurn::WaitForIdle => self.is_busy,
        }
    }
}

/// What is typed next.
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

    /// The key to type now, if all its conditions are met.
    pub(super) fn key_due(
        &self,
        now: Stamp,
        rules: &SubmissionRules,
        facts: &SubmissionFacts,
    ) -> Option<SubmissionKey> {
        if facts.turn_forbids(rules.during_turn) {
            return None;
        }
        match self.step {
            SubmissionStep::Ready { .. } => {
                let may = facts.box_is_empty
                    && !(rules.awaits_hook && facts.hook_may_come)
                    && (!rules.shares_box || facts.box_has_settled);
                may.then_some(SubmissionKey::Paste)
            }
            SubmissionStep::Enter { again, .. } if now < again || !rules.enter_is_left => None,
            SubmissionStep::Echo | SubmissionStep::Enter { .. } => {
                facts.box_is_ours.then_some(SubmissionKey::Enter)
            }
        }
    }

    /// The text was pasted.
    pub(super) fn paste(&mut self, now: Stamp, rules: &SubmissionRules) {
        self.step = SubmissionStep::Echo;
        match rules.confirm_ms {
            Some(ms) => self.until = Some(now.after(ms)),
            None => self.pasted = Some(now),
        }
    }

    /// Enter was typed.
    pub(super) fn enter(&mut self, now: Stamp, rules: &SubmissionRules, facts: &SubmissionFacts) {
        let works = rules.during_turn != DuringTurn::Wait && facts.is_busy;
        self.step = SubmissionStep::Enter { again: now.after(ENTER_EVERY_MS), works };
    }

    /// Adds the deadlines: the step's timeout, and the next possible Enter.
    pub(super) fn deadlines(&self, due: &mut Vec<Stamp>) {
        due.extend(self.until);
        if let SubmissionStep::Enter { again, .. } = self.step {
            due.push(again);
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

    const RULES: SubmissionRules = SubmissionRules {
        confirm_ms: None,
        enter_is_left: true,
        during_turn: DuringTurn::Queue,
        awaits_hook: false,
        shares_box: true,
    };

    #[test]
    fn each_key_waits_for_what_justifies_it() {
        let key = |submission: &Submission, now, facts| submission.key_due(Stamp(now), &RULES, &facts);
        let mut submission = Submission::new(None);
        let empty = SubmissionFacts { box_is_empty: true, ..SubmissionFacts::default() };
        assert_eq!(key(&submission, 0, empty), None, "somebody may be writing");
        let settled = SubmissionFacts { box_has_settled: true, ..empty };
        assert_eq!(key(&submission, 0, settled), Some(SubmissionKey::Paste));
        submission.paste(Stamp(0), &RULES);
        assert_eq!(key(&submission, 1, settled), None, "no Enter before the text is in the box");
        let ours = SubmissionFacts { box_is_ours: true, is_busy: true, ..SubmissionFacts::default() };
        assert_eq!(key(&submission, 1, ours), Some(SubmissionKey::Enter));
        submission.enter(Stamp(1), &RULES, &ours);
        let again = Stamp(1).after(ENTER_EVERY_MS);
        assert_eq!(submission.step, SubmissionStep::Enter { again, works: true });
        assert_eq!(key(&submission, again.0 - 1, ours), None);
        assert_eq!(key(&submission, again.0, ours), Some(SubmissionKey::Enter));
    }

    #[test]
    fn a_running_turn_and_a_hook_that_may_come_are_waited_for() {
        let submission = Submission::new(Some(Stamp(9)));
        let rules = SubmissionRules { awaits_hook: true, shares_box: false, ..RULES };
        let free = SubmissionFacts { box_is_empty: true, ..SubmissionFacts::default() };
        let due = |during_turn, facts: SubmissionFacts| {
            submission.key_due(Stamp(0), &SubmissionRules { during_turn, ..rules }, &facts).is_some()
        };
        assert!(!due(DuringTurn::Wait, SubmissionFacts { hook_may_come: true, ..free }));
        let (turn, busy) =
            (SubmissionFacts { turn_runs: true, ..free }, SubmissionFacts { is_busy: true, ..free });
        for (during_turn, in_turn, while_busy) in [
            (DuringTurn::Wait, false, true),
            (DuringTurn::Queue, true, true),
            (DuringTurn::WaitForIdle, true, false),
        ] {
            assert_eq!(
                (due(during_turn, turn), due(during_turn, busy)),
                (in_turn, while_busy),
                "{during_turn:?}"
            );
        }
    }
}
