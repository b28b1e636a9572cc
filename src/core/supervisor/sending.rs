//! A prompt that a person sends with `hopty send --submit`: typed like the continuation prompt, and proven.
//!
//! No Enter is blind here either. hopty refuses to type into a dialog or behind somebody's draft. Unlike a
//! delivery, a prompt may be sent while Claude works, which then queues it; nothing is lost if it fails, so
//! hopty tries for half a minute and no longer. The text itself never comes here, only the fact that there is
//! one.
//!
//! A dialog takes keys some 10 ms before it is drawn, and no hook reports it in time. Claude does not wait
//! for PermissionRequest; the hook came up to 190 ms before the dialog was seen, and up to 80 ms after it.
//! Enters every 10 ms into a busy Claude approved a dialog that was not drawn in 8 of 8 cases on 2.1.197 and
//! on 2.1.240, in 4 of 8 on 2.1.300, in none of 19 on 2.1.329, which ignores Enter for a second after a
//! dialog is first drawn (measured). So older versions get an Enter only while they are idle. A prompt is
//! sent with one Enter, and with another one only while it is still in the box.

use serde::{Deserialize, Serialize};

use super::action::{Reply, SendResult, Typing};
use super::key_hold::KeyHold;
use super::limits::ResumeAfter;
use super::phase::Phase;
use super::screen_facts::PromptBox;
use super::state::SessionState;
use super::step::EventStep;
use super::submission::{DuringTurn, Submission, SubmissionKey, SubmissionRules, SubmissionStep};
use super::{Supervisor, Turn};
use crate::core::time::Stamp;

/// The refusal to type behind what a person has written.
pub const DRAFT: &str = "there is a draft in the prompt box";

/// How long a submission may take, in ms.
const LIMIT_MS: u64 = 30_000;
/// How long a draft or a dialog must be on the screen before it counts, in ms: a screen that is being drawn,
/// or that still shows the prompt before, does not.
pub(super) const STANDS_MS: u64 = 300;
/// How long after a key a person counts as writing, in ms. Keys are reported up to 250 ms late.
pub(super) const TYPING_MS: u64 = 600;
/// How long a hand-over waits for a prompt that is being typed, in ms.
const HAND_OVER_MS: u64 = 5000;
/// The version of the rules since which the transcript reports a turn that a hook missed.
const MISSED_SINCE: u32 = 4;
/// The request number of hopty's own prompt; no request uses it.
const OWN: u64 = 0;

/// A prompt that is being sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Sending {
    /// The request.
    id: u64,
    /// A slash command, whose submission cannot be proven.
    command: bool,
    /// hopty's own prompt to continue, which nobody waits for.
    #[serde(default)]
    own: Option<ResumeAfter>,
    #[serde(rename = "step")]
    pub(super) submission: Submission,
    until: Stamp,
}

impl Sending {
    fn is_typed(&self) -> bool {
        !self.submission.is_ready()
    }

    fn was_entered(&self) -> bool {
        matches!(self.submission.step, SubmissionStep::Enter { .. })
    }
}

impl Supervisor {
    /// A prompt that is sent has one deadline; it may be typed while Claude works, and Enter may be repeated
    /// until then.
    fn sending_rules(&self) -> SubmissionRules {
        SubmissionRules {
            confirm_ms: None,
            enter_is_left: true,
            during_turn: if self.policy.submit_when_idle {
                DuringTurn::WaitForIdle
            } else {
                DuringTurn::Queue
            },
            awaits_hook: false,
            shares_box: true,
        }
    }

    pub(super) fn submit(&mut self, step: &mut EventStep<'_>, id: u64, command: bool) {
        if self.sending.is_some() {
            let reason = "another prompt is being submitted".to_owned();
            step.refuse(id, reason);
        } else {
            self.send(step.now, id, command, None);
        }
    }

    /// The same for a prompt of hopty's own.
    pub(super) fn submit_own(&mut self, now: Stamp, after: ResumeAfter) {
        self.send(now, OWN, false, Some(after));
    }

    fn send(&mut self, now: Stamp, id: u64, command: bool, own: Option<ResumeAfter>) {
        self.sending =
            Some(Sending { id, command, own, submission: Submission::new(None), until: now.after(LIMIT_MS) });
    }

    /// Whether hopty's own prompt is on its way.
    pub(super) fn submits_own(&self) -> bool {
        self.sending.as_ref().is_some_and(|sending| sending.own.is_some())
    }

    /// Something changed: takes the next step, if it can be justified.
    pub(super) fn submit_goes_on(&mut self, step: &mut EventStep<'_>) {
        let Some(sending) = self.sending.clone() else { return };
        let runs = match &self.phase {
            Phase::Running => true,
            // A hand-over has waited long enough: a prompt submitted now would be cut short.
            Phase::Waiting { .. } => !sending.is_typed() || self.submit_is_typed(step.now),
            _ => false,
        };
        if !runs {
            return;
        }
        match sending.submission.step {
            SubmissionStep::Ready { hindered } => {
                let hindrance = self.hindrance();
                let since = hindrance.as_ref().map(|_| hindered.unwrap_or(step.now));
                if let Some(sending) = &mut self.sending {
                    sending.submission.step = SubmissionStep::Ready { hindered: since };
                }
                if let (Some(reason), Some(since)) = (hindrance, since) {
                    if step.now >= since.after(STANDS_MS) {
                        self.refuse_submit(step, reason);
                    }
                    return;
                }
            }
            SubmissionStep::Enter { again, .. }
                if sending.command && self.command_is_gone(step.now, again) =>
            {
                return self.settle_submit(step, SendResult::Unknown);
            }
            // A dialog appeared: a person must be able to answer it.
            _ if self.obstacle().is_some() => return self.pass_keys(step),
            _ => {}
        }
        let rules = self.sending_rules();
        match self.next_key(step.now, &sending.submission, &rules) {
            Some(SubmissionKey::Paste) => {
                self.hold_keys(step);
                let typing =
                    sending.own.map_or(Typing::Text { id: sending.id }, |after| Typing::GoOn { after });
                self.paste(step, typing, &rules);
            }
            Some(SubmissionKey::Enter) => self.press_enter(step, &rules),
            None => {}
        }
    }

    /// What must not be typed into.
    fn hindrance(&self) -> Option<String> {
        if let Some(reason) = self.limit_hinders(self.sending.as_ref().is_some_and(|sending| sending.command))
        {
            return Some(reason);
        }
        if self.run.stopped {
            return Some("the program is suspended".to_owned());
        }
        match (self.obstacle(), self.run.screen.facts.prompt) {
            (Some(name), _) => Some(format!("Claude shows a dialog ({name})")),
            (None, PromptBox::Draft) => Some(DRAFT.to_owned()),
            _ => None,
        }
    }

    pub(super) fn box_is_free(&self, now: Stamp) -> bool {
        self.box_has_settled(now) && self.box_is_empty()
    }

    /// Whether nobody is writing and all typed bytes have been read. Input held during a hand-over comes
    /// first.
    pub(super) fn box_has_settled(&self, now: Stamp) -> bool {
        let writes = self.run.typed.is_some_and(|at| now < at.after(TYPING_MS));
        now >= self.phase_began.at.after(STANDS_MS)
            && self.keys == KeyHold::Free
            && !self.run.screen.facts.unread
            && !writes
    }

    /// Whether a slash command has left the box: the box is empty, or a panel has replaced it for a while.
    fn command_is_gone(&self, now: Stamp, again: Stamp) -> bool {
        let panel = now >= again && self.run.screen.facts.prompt != PromptBox::Ours;
        !self.run.screen.facts.unread && (panel || self.run.screen.facts.prompt == PromptBox::Empty)
    }

    /// A hook has reported the prompt. If a turn ran when Enter was pressed, and still runs, the prompt waits
    /// for that turn's end.
    pub(super) fn submit_hooked(&mut self, step: &mut EventStep<'_>, turn: Turn) {
        let stands = self.sending.as_ref().map(|sending| sending.submission.step);
        if let Some(SubmissionStep::Enter { works, .. }) = stands {
            let queued = works && turn == Turn::Busy;
            self.settle_submit(step, if queued { SendResult::Queued } else { SendResult::Submitted });
        }
    }

    /// The same according to the transcript: no hook has reported the prompt.
    pub(super) fn submit_read(&mut self, step: &mut EventStep<'_>, queued: bool) {
        if !queued && self.sending.is_some() && self.misses_turn() {
            if !self.run.hooks.seen {
                self.miss_hooks(step);
            }
            self.set_turn(step.now, Turn::Busy);
            self.conversation.spoken = true;
        }
        if self.sending.as_ref().is_some_and(Sending::was_entered) {
            self.settle_submit(step, if queued { SendResult::Queued } else { SendResult::Submitted });
        }
    }

    /// Whether a turn that has begun is not known yet. A hook gives up on a host that is slow to answer, and
    /// the whole turn may lie between two looks at the sessions file. Who waits for the end of the turn waits
    /// for a change, so the turn must be seen to run, even if it is over by now.
    fn misses_turn(&self) -> bool {
        !self.run.hooks.seen || self.policy.rules >= MISSED_SINCE && self.state().state == SessionState::Idle
    }

    fn settle_submit(&mut self, step: &mut EventStep<'_>, result: SendResult) {
        let Some(sending) = self.sending.take() else { return };
        self.give_keys_back(step, &sending);
        step.reply(sending.id, Reply::Sent { result });
        if sending.own.is_some() {
            match result {
                SendResult::Unknown => self.own_prompt_failed(step, "nothing proves that it was submitted"),
                SendResult::Submitted | SendResult::Queued => self.own_prompt_submitted(step),
            }
        }
    }

    fn refuse_submit(&mut self, step: &mut EventStep<'_>, reason: String) {
        let Some(sending) = self.sending.take() else { return };
        self.give_keys_back(step, &sending);
        if sending.own.is_some() {
            self.own_prompt_failed(step, &reason);
        }
        step.refuse(sending.id, reason);
    }

    /// Keys are held from the paste on, so that they do not mix with it; a hand-over that has begun holds
    /// them for itself.
    fn give_keys_back(&mut self, step: &mut EventStep<'_>, sending: &Sending) {
        if sending.is_typed()
            && self.keys != KeyHold::Free
            && matches!(self.phase, Phase::Running | Phase::Waiting { .. })
        {
            self.release_keys(step, false);
        }
    }

    /// Ctrl+C while keys are held for a submission: the person wins, and gets the box back without our text.
    pub(super) fn submit_interrupted(&mut self, step: &mut EventStep<'_>) {
        let Some(sending) = &self.sending else { return };
        if !matches!(self.phase, Phase::Running | Phase::Waiting { .. }) {
            return;
        }
        if !sending.is_typed() {
            return;
        }
        let entered = sending.was_entered();
        if self.keys == KeyHold::Held {
            step.type_in(Typing::Interrupt);
        }
        if entered {
            self.settle_submit(step, SendResult::Unknown);
        } else {
            self.refuse_submit(step, "Ctrl+C was pressed in the session".to_owned());
        }
    }

    /// The session is over.
    pub(super) fn submit_closes(&mut self, step: &mut EventStep<'_>) {
        if let Some(sending) = self.sending.take() {
            let with =
                if sending.is_typed() { Reply::Sent { result: SendResult::Unknown } } else { Reply::Ended };
            step.reply(sending.id, with);
        }
    }

    /// After every event: a submission does not outlive its run or its deadline.
    pub(super) fn submit_ends(&mut self, step: &mut EventStep<'_>) {
        let Some(sending) = &self.sending else { return };
        if sending.is_typed() && (self.run.pid.is_none() || step.now >= sending.until) {
            self.settle_submit(step, SendResult::Unknown);
        } else if step.now >= sending.until {
            let reason = match &self.phase {
                Phase::Running | Phase::Waiting { .. }
                    if self.turn_forbids(self.sending_rules().during_turn) =>
                {
                    "Claude is busy, and this version might take the Enter for an answer to its next \
                     question; try again when it is idle"
                }
                Phase::Running | Phase::Waiting { .. } => "Claude drew no empty prompt box in time",
                _ => "a hand-over took too long",
            };
            self.refuse_submit(step, reason.to_owned());
        }
    }

    /// Whether the box holds a half typed prompt, so that a hand-over waits a moment.
    pub(super) fn submit_is_typed(&self, now: Stamp) -> bool {
        let pasted = self.sending.as_ref().and_then(|sending| sending.submission.pasted);
        pasted.is_some_and(|at| now < at.after(HAND_OVER_MS))
    }

    pub(super) fn submit_deadlines(&self, due: &mut Vec<Stamp>) {
        let Some(sending) = &self.sending else { return };
        due.push(sending.until);
        sending.submission.deadlines(due);
        due.extend(sending.submission.pasted.map(|at| at.after(HAND_OVER_MS)));
        if let SubmissionStep::Ready { hindered } = sending.submission.step {
            due.extend(hindered.map(|since| since.after(STANDS_MS)));
            due.push(self.phase_began.at.after(STANDS_MS));
            due.extend(self.run.typed.map(|at| at.after(TYPING_MS)));
        }
    }
}
