//! A prompt that a person sends with `hopty send --submit`: typed like the continuation prompt, and proven.
//!
//! Every Enter is justified by the screen. hopty refuses to type into a dialog or after a person's draft.
//! Unlike a delivery, a prompt may be sent while Claude works, which then queues it; nothing is lost if it
//! fails, so hopty tries for half a minute and no longer. The text itself is not passed to the supervisor.
//!
//! A dialog takes keys some 10 ms before it is drawn, and no hook reports it in time. Claude does not wait
//! for PermissionRequest; the hook came up to 190 ms before the dialog was seen, and up to 80 ms after it.
//! Enters every 10 ms into a busy Claude approved a dialog that was not drawn in 8 of 8 cases on 2.1.197 and
//! on 2.1.240, in 4 of 8 on 2.1.300, in none of 19 on 2.1.329, which ignores Enter for a second after a
//! dialog is first drawn (measured). So older versions get an Enter only while they are idle. A prompt is
//! sent with one Enter, and with another one only while it is still in the box.

use serde::{Deserialize, Serialize};

use super::action::{Refusal, Reply, SendResult, Typing};
use super::key_hold_decision::KeyHold;
use super::limit_and_error_wait::{ResumeAfter, resume_failed};
use super::paste_and_enter::{
    DuringTurn, Submission, SubmissionFacts, SubmissionKey, SubmissionRules, SubmissionStep,
};
use super::phase::Phase;
use super::policy::Policy;
use super::reported_state::SessionState;
use super::screen_facts::{PromptBox, ScreenFacts};
use super::step::EventStep;
use super::{Supervisor, Turn};
use crate::core::time::Stamp;

/// How long a submission may take, in ms.
const LIMIT_MS: u64 = 30_000;
/// How long a draft or a dialog must be on the screen before it counts, in ms: a screen that is being drawn,
/// or that still shows the prompt before, shows neither.
pub(super) const OBSTACLE_SETTLE_MS: u64 = 300;
/// How long after a key a person counts as writing, in ms. Keys are reported up to 250 ms late.
pub(super) const TYPING_MS: u64 = 600;
/// How long a hand-over waits for a prompt being typed, in ms.
const HAND_OVER_MS: u64 = 5000;
/// The request number of hopty's own prompt; no request uses it.
const OWN: u64 = 0;

/// A prompt that is being sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Sending {
    id: u64,
    /// A slash command, whose submission cannot be proven.
    command: bool,
    /// hopty's own prompt to continue; no request waits for it.
    #[serde(default)]
    own: Option<ResumeAfter>,
    #[serde(rename = "step")]
    pub(super) submission: Submission,
    until: Stamp,
}

impl Sending {
    pub(super) fn new(now: Stamp, id: u64, command: bool) -> Self {
        Sending { id, command, own: None, submission: Submission::new(None), until: now.after(LIMIT_MS) }
    }

    /// hopty's own prompt to continue.
    fn own(now: Stamp, after: ResumeAfter) -> Self {
        Sending { own: Some(after), ..Sending::new(now, OWN, false) }
    }

    /// One deadline covers everything; it may be typed while Claude works, and Enter may be repeated until
    /// then.
    fn rules(policy: &Policy) -> SubmissionRules {
        SubmissionRules {
            confirm_ms: None,
            enter_is_left: true,
            during_turn: if policy.submit_when_idle { DuringTurn::WaitForIdle } else { DuringTurn::Queue },
            awaits_hook: false,
            shares_box: true,
        }
    }

    fn typing(&self) -> Typing {
        self.own.map_or(Typing::Text { id: self.id }, |after| Typing::GoOn { after })
    }

    fn is_typed(&self) -> bool {
        !self.submission.is_ready()
    }

    fn was_entered(&self) -> bool {
        matches!(self.submission.step, SubmissionStep::Enter { .. })
    }

    /// Whether the box contains a half-typed prompt, so that a hand-over waits a moment.
    fn is_half_typed(&self, now: Stamp) -> bool {
        self.submission.pasted.is_some_and(|at| now < at.after(HAND_OVER_MS))
    }

    /// Whether a slash command has left the box: it is empty, or a panel has replaced it for a while.
    fn command_has_left_box(&self, now: Stamp, screen: &ScreenFacts) -> bool {
        let SubmissionStep::Enter { again, .. } = self.submission.step else { return false };
        let panel = now >= again && screen.prompt != PromptBox::Ours;
        self.command && !screen.unread && (panel || screen.prompt == PromptBox::Empty)
    }

    pub(super) fn close(self, step: &mut EventStep<'_>) {
        let unknown = Reply::Sent { result: SendResult::Unknown };
        step.reply(self.id, if self.is_typed() { unknown } else { Reply::Ended });
    }

    /// Adds its deadlines. `began`: when the phase began; `typed`: when a person last typed.
    pub(super) fn deadlines(&self, began: Stamp, typed: Option<Stamp>, due: &mut Vec<Stamp>) {
        due.push(self.until);
        self.submission.deadlines(due);
        due.extend(self.submission.pasted.map(|at| at.after(HAND_OVER_MS)));
        if let SubmissionStep::Ready { hindered } = self.submission.step {
            due.extend(hindered.map(|since| since.after(OBSTACLE_SETTLE_MS)));
            due.push(began.after(OBSTACLE_SETTLE_MS));
            due.extend(typed.map(|at| at.after(TYPING_MS)));
        }
    }
}

impl Supervisor {
    pub(super) fn submit(&mut self, step: &mut EventStep<'_>, id: u64, command: bool) {
        if self.sending.is_some() {
            step.refuse(id, "another prompt is being submitted");
        } else {
            self.sending = Some(Sending::new(step.now, id, command));
        }
    }

    /// Whether hopty's own prompt is being submitted.
    pub(super) fn sends_own(&self) -> bool {
        self.sending.as_ref().is_some_and(|sending| sending.own.is_some())
    }

    /// Whether a prompt is half typed.
    pub(super) fn sends_half_typed(&self, now: Stamp) -> bool {
        self.sending.as_ref().is_some_and(|sending| sending.is_half_typed(now))
    }

    /// Whether Claude may be asking for a permission or an answer while hopty types by itself: the box on the
    /// screen may hide the question.
    pub(super) fn asks_against_own(&self) -> bool {
        !self.policy.is_previous_release()
            && (self.sends_own() || matches!(self.phase, Phase::Delivering { .. }))
            && self.run.may_be_asking()
    }

    pub(super) fn submission_facts(&self, now: Stamp) -> SubmissionFacts {
        let (run, screen) = (&self.run, &self.run.screen.facts);
        let may_type = !self.asks_against_own();
        SubmissionFacts {
            box_is_empty: may_type && run.box_is_empty(),
            box_has_settled: self.box_has_settled(now),
            box_is_ours: may_type
                && !run.stopped
                && screen.prompt == PromptBox::Ours
                && run.obstacle().is_none()
                && !screen.unread,
            hook_may_come: run.hook_wait_deadline(&self.policy).is_some_and(|at| now < at),
            turn_runs: run.turn.state == Turn::Busy,
            is_busy: self.state_by_sources().state == SessionState::Busy,
        }
    }

    /// After every event in a limit wait: reports, answers the limit's dialog if allowed, and sends hopty's
    /// own prompt to continue when due.
    pub(super) fn resume_when_due(&mut self, step: &mut EventStep<'_>) {
        self.limits.tick(step, &mut self.conversation.limit_wait, &self.policy);
        let Some(wait) = &mut self.conversation.limit_wait else { return };
        self.limits.answer_dialog(step, wait, &self.run, &self.policy);
        let Some((_, after)) = wait.resumes().filter(|(due, _)| step.now >= *due) else { return };
        if self.sending.is_some() {
            return;
        }
        match &self.phase {
            Phase::Waiting { .. } => {
                // The hand-over that was held back continues the work in a fresh conversation with its own
                // prompt.
                if let Some(wait) = self.conversation.limit_wait.take() {
                    wait.end(step, "it has reset, and the pending hand-over continues");
                }
            }
            Phase::Running
                if self.run.turn.state != Turn::Busy
                    && self.run.box_is_empty()
                    && self.box_has_settled(step.now) =>
            {
                if !self.policy.is_previous_release() && self.run.may_be_asking() {
                    self.conversation.limit_wait = None;
                    return resume_failed(step, "Claude may still be asking you for a permission");
                }
                self.sending = Some(Sending::own(step.now, after));
            }
            _ => {}
        }
    }

    /// After every event: takes the next step, if it can be justified.
    pub(super) fn continue_submit(&mut self, step: &mut EventStep<'_>) {
        let Some(sending) = self.sending.clone() else { return };
        let runs = match &self.phase {
            Phase::Running => true,
            // A hand-over has waited long enough; it would cut off a prompt submitted now.
            Phase::Waiting { .. } => !sending.is_typed() || sending.is_half_typed(step.now),
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
                if let (Some(refusal), Some(since)) = (hindrance, since) {
                    if step.now >= since.after(OBSTACLE_SETTLE_MS) {
                        self.refuse_submit(step, refusal);
                    }
                    return;
                }
            }
            _ if sending.command_has_left_box(step.now, &self.run.screen.facts) => {
                return self.settle_submit(step, SendResult::Unknown);
            }
            // A dialog appeared: a person must be able to answer it.
            _ if self.run.obstacle().is_some() => return self.keys.pass(step),
            _ => {}
        }
        let (rules, facts) = (Sending::rules(&self.policy), self.submission_facts(step.now));
        let Some(sending) = &mut self.sending else { return };
        match sending.submission.key_due(step.now, &rules, &facts) {
            Some(SubmissionKey::Paste) => {
                self.keys.hold(step);
                step.type_in(sending.typing());
                sending.submission.paste(step.now, &rules);
            }
            Some(SubmissionKey::Enter) => {
                step.type_in(Typing::Enter);
                sending.submission.enter(step.now, &rules, &facts);
            }
            None => {}
        }
    }

    /// What prevents typing now.
    fn hindrance(&self) -> Option<Refusal> {
        let for_itself = |sending: &Sending| sending.command || sending.own.is_some();
        let wait = self.conversation.limit_wait.as_ref();
        let wait = wait.filter(|_| !self.sending.as_ref().is_some_and(for_itself));
        if let Some(reason) = wait.and_then(|wait| wait.hinders(self.ticked)) {
            return Some(reason.into());
        }
        if self.run.stopped {
            return Some("the program is suspended".into());
        }
        match (self.run.obstacle(), self.run.screen.facts.prompt) {
            (Some(name), _) => Some(format!("Claude shows a dialog ({name})").into()),
            (None, PromptBox::Draft) => Some(Refusal {
                for_draft: !self.policy.is_previous_release(),
                ..Refusal::from("there is a draft in the prompt box")
            }),
            _ => None,
        }
    }

    /// Whether no person is writing and all typed bytes have been read. Input held during a hand-over comes
    /// first.
    pub(super) fn box_has_settled(&self, now: Stamp) -> bool {
        let writes = self.run.typed.is_some_and(|at| now < at.after(TYPING_MS));
        now >= self.phase_began.at.after(OBSTACLE_SETTLE_MS)
            && self.keys == KeyHold::Free
            && !self.run.screen.facts.unread
            && !writes
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

    /// The transcript has the prompt, and no hook has reported it.
    pub(super) fn submit_read(&mut self, step: &mut EventStep<'_>, queued: bool) {
        if !queued && self.sending.is_some() && self.misses_turn() {
            if !self.run.hooks.any_call && self.policy.hooks {
                self.session.miss_hooks(step);
            }
            if self.phase.has_run() {
                self.run.set_turn(step.now, Turn::Busy);
            }
            self.conversation.spoken = true;
        }
        if self.sending.as_ref().is_some_and(Sending::was_entered) {
            self.settle_submit(step, if queued { SendResult::Queued } else { SendResult::Submitted });
        }
    }

    /// Whether a turn has begun that is not known yet. A hook gives up on a host that is slow to answer, and
    /// the whole turn may fit between two reads of the sessions file. Requests that wait for the end of a
    /// turn wait for a change, so the turn must be reported even if it is over by now.
    fn misses_turn(&self) -> bool {
        !self.run.hooks.any_call
            || !self.policy.is_previous_release() && self.state_by_sources().state == SessionState::Idle
    }

    fn settle_submit(&mut self, step: &mut EventStep<'_>, result: SendResult) {
        let Some(sending) = self.sending.take() else { return };
        self.give_keys_back(step, &sending);
        step.reply(sending.id, Reply::Sent { result });
        if sending.own.is_some() {
            let wait = self.conversation.limit_wait.take();
            match (result, wait) {
                (SendResult::Unknown, _) => resume_failed(step, "nothing proves that it was submitted"),
                (SendResult::Submitted | SendResult::Queued, Some(wait)) => wait.was_resumed(step),
                (SendResult::Submitted | SendResult::Queued, None) => {}
            }
        }
    }

    fn refuse_submit(&mut self, step: &mut EventStep<'_>, refusal: impl Into<Refusal>) {
        let refusal = refusal.into();
        let Some(sending) = self.sending.take() else { return };
        self.give_keys_back(step, &sending);
        if sending.own.is_some() {
            self.conversation.limit_wait = None;
            resume_failed(step, &refusal.reason);
        }
        step.refuse(sending.id, refusal);
    }

    /// Keys are held from the paste on, so that they do not mix with it; a hand-over that has begun keeps
    /// holding them.
    fn give_keys_back(&mut self, step: &mut EventStep<'_>, sending: &Sending) {
        if sending.is_typed()
            && self.keys != KeyHold::Free
            && matches!(self.phase, Phase::Running | Phase::Waiting { .. })
        {
            self.release_keys(step, false);
        }
    }

    /// Ctrl+C while keys are held for a submission: the person has priority, and gets the box back without
    /// hopty's text.
    pub(super) fn submit_interrupted(&mut self, step: &mut EventStep<'_>) {
        let Some(sending) = &self.sending else { return };
        if !sending.is_typed() || !matches!(self.phase, Phase::Running | Phase::Waiting { .. }) {
            return;
        }
        let entered = sending.was_entered();
        if self.keys == KeyHold::Held {
            step.type_in(Typing::Interrupt);
        }
        if entered {
            self.settle_submit(step, SendResult::Unknown);
        } else {
            self.refuse_submit(step, "Ctrl+C was pressed in the session");
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
                    if self
                        .submission_facts(step.now)
                        .turn_forbids(Sending::rules(&self.policy).during_turn) =>
                {
                    "Claude is busy, and this version might take the Enter for an answer to its next \
                     question; try again when it is idle"
                }
                Phase::Running | Phase::Waiting { .. } => "Claude drew no empty prompt box in time",
                _ => "a hand-over took too long",
            };
            self.refuse_submit(step, reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::action::Action;
    use super::*;

    #[test]
    fn a_slash_command_is_gone_when_its_box_is_empty_or_replaced() {
        let mut sending = Sending::new(Stamp(0), 7, true);
        let shows = |prompt| ScreenFacts { prompt, ..ScreenFacts::default() };
        assert!(!sending.command_has_left_box(Stamp(0), &shows(PromptBox::Empty)), "it was not entered");
        sending.submission.step = SubmissionStep::Enter { again: Stamp(9), works: false };
        for (now, prompt, gone) in [
            (1, PromptBox::Empty, true),
            (1, PromptBox::None, false),
            (9, PromptBox::None, true),
            (9, PromptBox::Ours, false),
        ] {
            assert_eq!(sending.command_has_left_box(Stamp(now), &shows(prompt)), gone, "{now} {prompt:?}");
        }
        let unread = ScreenFacts { unread: true, ..shows(PromptBox::Empty) };
        assert!(!sending.command_has_left_box(Stamp(9), &unread));
        assert!(
            !Sending { command: false, ..sending }.command_has_left_box(Stamp(9), &shows(PromptBox::Empty))
        );
    }

    #[test]
    fn a_session_that_ends_says_whether_the_prompt_may_have_been_read() {
        let mut out = Vec::new();
        let mut step = EventStep::new(Stamp(0), 1, 1, &mut out);
        Sending::new(Stamp(0), 7, false).close(&mut step);
        let mut typed = Sending::own(Stamp(0), ResumeAfter::Error);
        typed.submission.paste(Stamp(0), &Sending::rules(&super::super::tests::claude()));
        assert!(typed.is_half_typed(Stamp(HAND_OVER_MS - 1)) && !typed.is_half_typed(Stamp(HAND_OVER_MS)));
        typed.close(&mut step);
        let unknown = Reply::Sent { result: SendResult::Unknown };
        let replies = [Action::Reply { id: 7, with: Reply::Ended }, Action::Reply { id: OWN, with: unknown }];
        assert_eq!(out, replies);
    }
}
