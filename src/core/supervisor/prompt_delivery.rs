//! The delivery of the continuation prompt into a fresh run: when it begins, what obstructs it and what
//! proves it.

use serde::{Deserialize, Serialize};

use super::action::{Action, DecisionKind, HookAnswer, Typing};
use super::conversation_chain::naming_left;
use super::event::PromptOf;
use super::key_hold_decision::KeyHold;
use super::paste_and_enter::{
    DuringTurn, Submission, SubmissionFacts, SubmissionKey, SubmissionRules, SubmissionStep,
};
use super::phase::{Phase, RunPlan, StartKind};
use super::run_state::{DeliveryState, RunState};
use super::screen_facts::PromptBox;
use super::step::EventStep;
use super::{Policy, Supervisor, Turn};
use crate::core::claude::carry_over::CarryMethod;
use crate::core::config::Delivery;
use crate::core::ids::HandoffId;
use crate::core::time::Stamp;

/// The most Enters for one delivery: a box that ignores this many would ignore any number.
pub(super) const ENTERS: u32 = 20;
/// How long after the paste a delivery waits for the proof of its submission, in ms: as long as for `hopty
/// send`.
const PROOF_MS: u64 = 30_000;
/// How long after its start Claude may take to begin the prompt that it was started with, in ms.
const OWN_PROMPT_MS: u64 = 20_000;
/// How long a dialog may obstruct a delivery before hopty gives it up, in ms: as long as a claim lasts.
const DIALOG_MS: u64 = 600_000;

/// The delivery of the continuation prompt into a fresh run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptDelivery {
    /// The run that it is for.
    pub plan: RunPlan,
    pub handoff: HandoffId,
    /// The submission of the prompt.
    #[serde(rename = "step")]
    pub submission: Submission,
    /// How many Enters were sent.
    pub enters: u32,
    /// The dialog that obstructs the delivery.
    pub obstacle: Option<String>,
    /// The dialogs that were answered or reported, once each.
    pub met: Vec<String>,
}

impl PromptDelivery {
    fn new(now: Stamp, plan: RunPlan, handoff: HandoffId, config: &Delivery) -> Self {
        let submission = Submission::new(Some(now.after(config.ready_timeout.ms().max(1))));
        PromptDelivery { plan, handoff, submission, enters: 0, obstacle: None, met: Vec::new() }
    }

    /// It types only while Claude is idle; each step has a time limit, and the number of Enters is limited.
    fn rules(&self) -> SubmissionRules {
        SubmissionRules {
            confirm_ms: Some(PROOF_MS),
            enter_is_left: self.enters < ENTERS,
            during_turn: DuringTurn::Wait,
            awaits_hook: true,
            shares_box: false,
        }
    }

    /// Answers a dialog once, if the configuration allows it, or reports it. Returns whether it has just
    /// appeared: in either case a person can answer it. `last`: when dialogs have obstructed the delivery for
    /// too long.
    fn meet_dialog(
        &mut self,
        step: &mut EventStep<'_>,
        name: &str,
        on_screen: bool,
        last: Stamp,
        config: &Delivery,
    ) -> bool {
        // The sessions file lags behind the screen: it adds nothing about a dialog that was already seen.
        if self.obstacle.as_deref() == Some(name) || (self.obstacle.is_some() && !on_screen) {
            return false;
        }
        let name = name.to_owned();
        self.obstacle = Some(name.clone());
        if self.submission.is_ready() {
            self.submission.until = self.submission.until.max(Some(last));
        }
        if !self.met.contains(&name) {
            self.met.push(name.clone());
            if on_screen && config.answer_dialogs.contains(&name) && name != "permission" {
                step.type_in(Typing::DialogKey { dialog: name });
            } else {
                let handoff = &self.handoff;
                let text = format!(
                    "Claude shows a dialog ({name}); hopty types the prompt for {handoff} once you answer it."
                );
                step.notice(DecisionKind::DeliveryStarted, text);
            }
        }
        true
    }

    /// No dialog is shown. Returns whether one has just gone: the delivery waits for the box again, but
    /// dialogs that come and go do not extend the wait forever.
    fn end_obstacle(&mut self, now: Stamp, last: Stamp, config: &Delivery) -> bool {
        if self.obstacle.take().is_none() {
            return false;
        }
        if self.submission.is_ready() {
            let wait = now.after(config.ready_timeout.ms().max(1));
            self.submission.until = self.submission.until.max(Some(last)).min(Some(wait));
        }
        true
    }

    /// Types the next key, if one is due.
    fn type_key(&mut self, step: &mut EventStep<'_>, facts: &SubmissionFacts, run: &mut RunState) {
        let rules = self.rules();
        match self.submission.key_due(step.now, &rules, facts) {
            // Claude was started with it.
            Some(SubmissionKey::Paste) if self.plan.carries == Some(CarryMethod::Argument) => {}
            Some(SubmissionKey::Paste) => {
                let typing = self.text(step, run);
                step.type_in(typing);
                self.submission.paste(step.now, &rules);
            }
            Some(SubmissionKey::Enter) => {
                step.type_in(Typing::Enter);
                self.submission.enter(step.now, &rules, facts);
                self.enters += 1;
            }
            None => {}
        }
    }

    /// The prompt to paste: the person's own, or one that names the handoff.
    fn text(&mut self, step: &mut EventStep<'_>, run: &mut RunState) -> Typing {
        let handoff = self.handoff.clone();
        if self.plan.carries.is_some() && !run.hooks.any_call {
            // Only a prompt that names the handoff brings it into the context; the person's prompt follows.
            self.plan.carries = None;
            step.act(Action::ReturnPrompt { submit: true });
        }
        run.delivery.offered = Some(handoff.clone());
        match self.plan.carries {
            Some(_) => Typing::Carried { handoff },
            None => Typing::Prompt { handoff, has_brief: run.delivery.brief_answered },
        }
    }

    /// Gives the brief with the prompt of hook call `id` if no SessionStart hook has delivered it.
    pub(super) fn brief(
        &self,
        id: u64,
        prompt: Option<PromptOf>,
        run: &mut DeliveryState,
        policy: &Policy,
    ) -> Option<HookAnswer> {
        let is_due = (self.plan.carries.is_some() || !policy.is_previous_release())
            && prompt == Some(PromptOf::Ours)
            && !run.brief_answered
            && !run.brief_sent;
        is_due.then(|| {
            run.give_brief(id, policy);
            HookAnswer::Brief { handoff: self.handoff.clone() }
        })
    }

    /// Why it failed, when a step has timed out.
    fn failure(&self, run: &RunState) -> String {
        match self.submission.step {
            SubmissionStep::Ready { .. } => match run.obstacle() {
                Some(dialog) => format!("a dialog ({dialog}) stayed open"),
                None if run.delivery.offered.is_some() => {
                    "nothing proves that the prompt was submitted".to_owned()
                }
                None if run.turn.state == Turn::Busy => "Claude was busy with something else".to_owned(),
                None if run.screen.facts.prompt == PromptBox::Draft => {
                    "the prompt box already held text".to_owned()
                }
                None => "Claude drew no prompt box in time".to_owned(),
            },
            SubmissionStep::Echo => "the pasted prompt did not appear in the prompt box".to_owned(),
            SubmissionStep::Enter { .. } => "nothing proves that the prompt was submitted".to_owned(),
        }
    }
}

impl Supervisor {
    pub(super) fn begin_delivery(&mut self, step: &mut EventStep<'_>, plan: RunPlan, handoff: HandoffId) {
        let text = match plan.carries {
            None => format!("hopty will type the prompt for {handoff} when Claude is ready."),
            Some(CarryMethod::Typed) => {
                format!("hopty will type your prompt, with handoff {handoff}, when Claude is ready.")
            }
            Some(CarryMethod::Argument) => {
                format!("Claude was started with your prompt and handoff {handoff}.")
            }
        };
        if plan.carries == Some(CarryMethod::Argument) {
            self.run.delivery.offered = Some(handoff.clone());
        }
        step.decide(DecisionKind::DeliveryStarted, text).handoff(handoff.clone());
        self.keys.hold(step);
        let delivery = PromptDelivery::new(step.now, plan, handoff, &self.policy.config.delivery);
        self.enter(step, Phase::Delivering(delivery));
    }

    /// The screen, the sessions file or the time changed: takes the next step, if it can be justified.
    pub(super) fn deliver(&mut self, step: &mut EventStep<'_>) {
        if self.run.stopped || !matches!(self.phase, Phase::Delivering { .. }) {
            return;
        }
        let facts = self.submission_facts(step.now);
        let config = match self.asks_against_own() {
            true => &Delivery { answer_dialogs: Vec::new(), ..self.policy.config.delivery.clone() },
            false => &self.policy.config.delivery,
        };
        let Phase::Delivering(delivery) = &mut self.phase else { return };
        let last = self.phase_began.at.after(DIALOG_MS);
        if let Some(name) = self.run.obstacle() {
            let on_screen = self.run.screen.facts.dialog.is_some();
            if delivery.meet_dialog(step, name, on_screen, last, config) {
                self.keys.pass(step);
            }
            return;
        }
        if delivery.end_obstacle(step.now, last, config) {
            self.keys.hold(step);
        }
        let waits = own_prompt_until(delivery, &self.run, &self.policy);
        if waits.is_none_or(|until| step.now >= until) {
            delivery.type_key(step, &facts, &mut self.run);
        }
    }

    /// When a delivery stops waiting for the person's own prompt to begin the work.
    pub(super) fn own_prompt_deadline(&self) -> Option<Stamp> {
        let Phase::Delivering(delivery) = &self.phase else { return None };
        own_prompt_until(delivery, &self.run, &self.policy)
    }

    pub(super) fn tick_deliver(&mut self, step: &mut EventStep<'_>) {
        let Phase::Delivering(delivery) = &self.phase else { return };
        if delivery.submission.until.is_none_or(|until| step.now < until) {
            return;
        }
        let what = delivery.failure(&self.run);
        if let Some(draft) = self.break_off(step, &what, false) {
            self.release_keys(step, draft);
        }
    }

    /// While job control has stopped the program, the delivery waits for as long as a dialog may stay, and
    /// afterwards gets its full time again.
    pub(super) fn delivery_pauses(&mut self, now: Stamp, is_stopped: bool) {
        let last = self.phase_began.at.after(DIALOG_MS);
        let ready = self.policy.config.delivery.ready_timeout.ms().max(1);
        let Phase::Delivering(delivery) = &mut self.phase else { return };
        if self.policy.is_previous_release() || delivery.obstacle.is_some() {
            return;
        }
        let submission = &mut delivery.submission;
        let wait = if submission.is_ready() { ready } else { PROOF_MS };
        submission.until = Some(if is_stopped { last } else { last.min(now.after(wait)) });
    }

    /// Ends a delivery without proof; returns whether to type a draft.
    fn break_off(&mut self, step: &mut EventStep<'_>, what: &str, interrupted: bool) -> Option<bool> {
        let Phase::Delivering(PromptDelivery { plan, handoff, .. }) = self.phase.clone() else { return None };
        // Text in the box or being submitted is not typed twice; Ctrl+C clears it from the box.
        if plan.carries == Some(CarryMethod::Typed) && (self.run.delivery.offered.is_none() || interrupted) {
            step.act(Action::ReturnPrompt { submit: !interrupted });
        }
        let text = format!("The delivery of handoff {handoff} failed: {what}. The handoff stays active.");
        let text = naming_left(text, self.chain.before_handover(), self.policy.rules);
        step.tell(DecisionKind::DeliveryFailed, text).handoff(handoff);
        self.enter(step, Phase::Running);
        Some(plan.draft)
    }

    pub(super) fn deliver_interrupted(&mut self, step: &mut EventStep<'_>) {
        let kept = self.keys == KeyHold::Held;
        let Some(draft) = self.break_off(step, "you pressed Ctrl+C", true) else { return };
        self.run.delivery.broken_off = Some(step.now);
        // First Ctrl+C, which clears hopty's text from the box, then the draft and the held input.
        if kept {
            step.type_in(Typing::Interrupt);
        }
        self.release_keys(step, draft);
    }

    /// Claude did not read the answer to a hook call. If that was the brief and the prompt has been
    /// submitted, it is too late to give it again.
    pub(super) fn brief_may_be_lost(&mut self, step: &mut EventStep<'_>, id: u64) {
        if self.run.delivery.lose_brief(id)
            && !matches!(self.phase, Phase::Delivering(_))
            && let Some((handoff, _)) = self.handoffs.consuming.take()
        {
            self.report_lost_brief(step, handoff);
        }
    }

    fn report_lost_brief(&self, step: &mut EventStep<'_>, handoff: HandoffId) {
        let text = format!(
            "The prompt for {handoff} was submitted, but Claude never received the handoff, which stays active."
        );
        let text = naming_left(text, self.chain.before_handover(), self.policy.rules);
        step.tell(DecisionKind::DeliveryFailed, text).handoff(handoff);
    }

    /// Whether the prompt given to `hopty --handoff` begins the work on the handoff.
    pub(super) fn begins_with_own_prompt(&self) -> bool {
        let first =
            matches!(&self.phase, Phase::Delivering(delivery) if delivery.plan.start == StartKind::First);
        let state = &self.run.delivery;
        first && !self.policy.is_previous_release() && state.brief_answered && state.offered.is_none()
    }

    /// The prompt was submitted: by hopty, or later by the person. A hook reports it, or the transcript has
    /// it as a user line. `own`: it is the person's, not hopty's.
    pub(super) fn proven(&mut self, step: &mut EventStep<'_>, own: bool) {
        let delivery =
            if let Phase::Delivering(delivery) = &self.phase { Some(delivery.clone()) } else { None };
        let offered = self.run.delivery.offered.take();
        let Some(handoff) = delivery.as_ref().map(|delivery| delivery.handoff.clone()).or(offered) else {
            return;
        };
        let Some(conversation) = self.conversation.id.clone() else { return };
        self.run.set_turn(step.now, Turn::Busy);
        self.conversation.spoken = true;
        let carries = delivery.as_ref().and_then(|delivery| delivery.plan.carries);
        // Without hooks, a prompt that hopty types names the handoff.
        let names_none = !self.policy.is_previous_release() && carries == Some(CarryMethod::Argument);
        if (self.run.hooks.any_call || names_none) && !self.run.delivery.brief_answered {
            if carries.is_some() && !self.policy.is_previous_release() {
                // Claude works on it: the next hand-over must not pass it on again.
                step.act(Action::DropPrompt);
            }
            self.report_lost_brief(step, handoff);
        } else {
            let how = match delivery.as_ref().map(|delivery| delivery.enters) {
                Some(0) => "was submitted".to_owned(),
                Some(1) => "was submitted after 1 Enter".to_owned(),
                Some(enters) => format!("was submitted after {enters} Enters"),
                None => "was submitted after all".to_owned(),
            };
            let text = match own || carries.is_some() {
                true => format!("Your prompt {how} in the fresh conversation, with handoff {handoff}."),
                false => format!("The continuation prompt for {handoff} {how}."),
            };
            step.decide(DecisionKind::DeliverySubmitted, text)
                .handoff(handoff.clone())
                .conversation(conversation.clone());
            self.handoffs.consuming = Some((handoff, conversation));
            self.crash_count.delivery_deaths = 0;
        }
        if let Some(delivery) = delivery {
            self.enter(step, Phase::Running);
            self.release_keys(step, delivery.plan.draft);
        }
    }
}

/// `hopty --handoff "PROMPT"`: Claude was started with a prompt, and an empty box only shows that it has not
/// begun it. Returns until when to type nothing.
fn own_prompt_until(delivery: &PromptDelivery, run: &RunState, policy: &Policy) -> Option<Stamp> {
    let begins = delivery.plan.start == StartKind::First && delivery.submission.is_ready();
    let until = || run.prompt_due().unwrap_or_default().min(run.started.after(OWN_PROMPT_MS));
    (begins && run.queue.argument && !policy.is_previous_release()).then(until)
}

#[cfg(test)]
mod tests {
    use super::super::phase::StartKind;
    use super::super::tests::{handoff, word};
    use super::*;

    fn delivery() -> PromptDelivery {
        let plan = RunPlan {
            start: StartKind::Fresh,
            conversation: None,
            handoff: Some(handoff(1)),
            dir: None,
            draft: false,
            carries: None,
            first_prompt: false,
        };
        PromptDelivery::new(Stamp(0), plan, handoff(1), &Delivery::default())
    }

    fn words(does: impl FnOnce(&mut EventStep<'_>)) -> String {
        let mut out = Vec::new();
        does(&mut EventStep::new(Stamp(5), 1, 1, &mut out));
        out.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_dialog_is_answered_or_reported_once() {
        let config = Delivery { answer_dialogs: vec!["trust".to_owned()], ..Delivery::default() };
        let (mut delivery, last) = (delivery(), Stamp(DIALOG_MS));
        let mut meet = |name: &str, on_screen| {
            words(|step| {
                delivery.meet_dialog(step, name, on_screen, last, &config);
            })
        };
        assert_eq!(meet("trust", true), "key for trust");
        assert_eq!(meet("trust", true), "", "it is still there");
        assert_eq!(meet("theme", true), "notice");
        assert_eq!(meet("trust", true), "", "once");
        assert_eq!(delivery.submission.until, Some(last), "dialogs have their own time");
        assert!(delivery.end_obstacle(Stamp(9), last, &config));
        let wait = Stamp(9).after(config.ready_timeout.ms());
        assert_eq!(delivery.submission.until, Some(wait.min(last)));
        assert!(!delivery.end_obstacle(Stamp(10), last, &config), "it was gone already");
    }

    #[test]
    fn it_is_typed_as_its_run_has_got_the_brief_and_enters_are_limited() {
        let (mut delivery, mut run) = (delivery(), RunState::default());
        let empty = SubmissionFacts { box_is_empty: true, ..SubmissionFacts::default() };
        let ours = SubmissionFacts { box_is_ours: true, ..SubmissionFacts::default() };
        run.delivery.brief_answered = true;
        assert_eq!(words(|step| delivery.type_key(step, &empty, &mut run)), "paste brief=true");
        assert_eq!(run.delivery.offered, Some(handoff(1)));
        for now in 0..=u64::from(ENTERS) {
            let mut out = Vec::new();
            delivery.type_key(&mut EventStep::new(Stamp(1000 * now), 1, 1, &mut out), &ours, &mut run);
        }
        assert_eq!(delivery.enters, ENTERS);
        assert_eq!(delivery.failure(&run), "nothing proves that the prompt was submitted");
    }
}
