//! The delivery of the continuation prompt into a fresh run: when it begins, what obstructs it and what
//! proves it.

use super::action::{Action, DecisionKind, HookAnswer, Typing};
use super::event::PromptOf;
use super::key_hold::KeyHold;
use super::phase::{Phase, RunPlan};
use super::screen_facts::PromptBox;
use super::step::EventStep;
use super::submission::{DuringTurn, Submission, SubmissionKey, SubmissionRules, SubmissionStep};
use super::{Supervisor, Turn};
use crate::core::claude::carry_over::CarryMethod;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::Stamp;

/// The most Enters for one delivery. A prompt box that ignores this many ignores them all.
pub(super) const ENTERS: u32 = 20;
/// How long after the paste a delivery waits for the proof of its submission, in ms: as long as `hopty send`
/// tries.
const PROOF_MS: u64 = 30_000;
/// After the box is drawn, how long a SessionStart hook may still take before the prompt is typed as for a
/// Claude without hooks, in ms.
const HOOK_WAIT_MS: u64 = 3000;
/// How long a dialog may obstruct a delivery before it is given up, in ms: as long as a claim lasts.
const DIALOG_MS: u64 = 600_000;

impl Supervisor {
    pub(super) fn begin_delivery(&mut self, step: &mut EventStep<'_>, plan: RunPlan, handoff: HandoffId) {
        let wait = self.policy.config.delivery.ready_timeout.ms();
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
        self.hold_keys(step);
        let submission = Submission::new(Some(step.now.after(wait.max(1))));
        self.enter(
            step,
            Phase::Delivering { plan, handoff, submission, enters: 0, obstacle: None, met: Vec::new() },
        );
    }

    /// A delivery types only while Claude is idle; each step has a time limit, and Enters are limited, too.
    fn delivery_rules(enters: u32) -> SubmissionRules {
        SubmissionRules {
            confirm_ms: Some(PROOF_MS),
            enter_is_left: enters < ENTERS,
            during_turn: DuringTurn::Wait,
            awaits_hook: true,
            shares_box: false,
        }
    }

    /// The screen, the sessions file or the time changed: takes the next step, if it can be justified.
    pub(super) fn deliver(&mut self, step: &mut EventStep<'_>) {
        let Phase::Delivering { submission, enters, .. } = &self.phase else { return };
        if self.run.stopped {
            return;
        }
        let (submission, rules) = (submission.clone(), Self::delivery_rules(*enters));
        if let Some(name) = self.obstacle().map(str::to_owned) {
            self.dialog_in_the_way(step, name);
            return;
        }
        self.way_is_free(step);
        match self.next_key(step.now, &submission, &rules) {
            // Claude was started with it.
            Some(SubmissionKey::Paste) if self.carries() == Some(CarryMethod::Argument) => {}
            Some(SubmissionKey::Paste) => {
                let Some(typing) = self.text_to_deliver(step) else { return };
                self.paste(step, typing, &rules);
            }
            Some(SubmissionKey::Enter) => {
                self.press_enter(step, &rules);
                if let Phase::Delivering { enters, .. } = &mut self.phase {
                    *enters += 1;
                }
            }
            None => {}
        }
    }

    /// Until when a delivery waits for the SessionStart hook after the box is drawn.
    pub(super) fn hook_wait_deadline(&self) -> Option<Stamp> {
        let may_come = self.policy.hooks && !self.run.hooks.seen;
        self.run.screen.box_since.filter(|_| may_come).map(|at| at.after(HOOK_WAIT_MS))
    }

    /// The prompt that is pasted: the person's own, or one that names the handoff.
    fn text_to_deliver(&mut self, step: &mut EventStep<'_>) -> Option<Typing> {
        let hooks_seen = self.run.hooks.seen;
        let Phase::Delivering { plan, handoff, .. } = &mut self.phase else { return None };
        let handoff = handoff.clone();
        if plan.carries.is_some() && !hooks_seen {
            // Only a prompt that names the handoff brings it into the context; the person's prompt comes
            // after it.
            plan.carries = None;
            self.return_prompt(step, false);
        }
        self.run.delivery.offered = Some(handoff.clone());
        Some(match self.carries() {
            Some(_) => Typing::Carried { handoff },
            None => Typing::Prompt { handoff, frame: self.run.delivery.brief_answered },
        })
    }

    /// How the person's own prompt gets into the new conversation.
    fn carries(&self) -> Option<CarryMethod> {
        if let Phase::Delivering { plan, .. } = &self.phase { plan.carries } else { None }
    }

    /// The handoff accompanies the person's prompt if no SessionStart hook has delivered it.
    pub(super) fn frame_with_prompt(&mut self, prompt: Option<PromptOf>) -> Option<HookAnswer> {
        let Phase::Delivering { plan, handoff, .. } = &self.phase else { return None };
        if plan.carries.is_none()
            || prompt != Some(PromptOf::Ours)
            || self.run.delivery.brief_answered
            || self.run.delivery.brief_sent
        {
            return None;
        }
        (self.run.delivery.brief_answered, self.run.delivery.brief_sent) = (true, true);
        Some(HookAnswer::Frame { handoff: handoff.clone() })
    }

    /// Answers a dialog once, if the configuration allows it, or else tells people; either way a person can
    /// answer it.
    fn dialog_in_the_way(&mut self, step: &mut EventStep<'_>, name: String) {
        let on_screen = self.run.screen.facts.dialog.is_some();
        let Phase::Delivering { handoff, submission, obstacle, met, .. } = &mut self.phase else { return };
        // The sessions file lags behind the screen: it adds nothing about a dialog that was already seen.
        if obstacle.as_ref() == Some(&name) || (obstacle.is_some() && !on_screen) {
            return;
        }
        *obstacle = Some(name.clone());
        if submission.is_ready() {
            submission.until = submission.until.max(Some(self.phase_began.at.after(DIALOG_MS)));
        }
        if !met.contains(&name) {
            met.push(name.clone());
            let may_answer = self.policy.config.delivery.answer_dialogs.contains(&name);
            if on_screen && may_answer && name != "permission" {
                step.type_in(Typing::DialogKey { dialog: name });
            } else {
                let text = format!(
                    "Claude shows a dialog ({name}); hopty types the prompt for {handoff} once you answer it."
                );
                step.notice(DecisionKind::DeliveryStarted, text);
            }
        }
        self.pass_keys(step);
    }

    /// Waits for the box again, but dialogs that come and go do not extend the wait forever.
    fn way_is_free(&mut self, step: &mut EventStep<'_>) {
        let wait = self.policy.config.delivery.ready_timeout.ms().max(1);
        let last = self.phase_began.at.after(DIALOG_MS);
        let Phase::Delivering { submission, obstacle, .. } = &mut self.phase else { return };
        if obstacle.take().is_some() {
            if submission.is_ready() {
                submission.until = submission.until.max(Some(last)).min(Some(step.now.after(wait)));
            }
            self.hold_keys(step);
        }
    }

    pub(super) fn tick_deliver(&mut self, step: &mut EventStep<'_>) {
        let Phase::Delivering { submission, .. } = &self.phase else { return };
        if submission.until.is_none_or(|until| step.now < until) {
            return;
        }
        let what = match submission.step {
            SubmissionStep::Ready { .. } => match self.obstacle() {
                Some(dialog) => format!("a dialog ({dialog}) stayed open"),
                None if self.run.delivery.offered.is_some() => {
                    "nothing proves that the prompt was submitted".to_owned()
                }
                None if self.run.turn.state == Turn::Busy => "Claude was busy with something else".to_owned(),
                None if self.run.screen.facts.prompt == PromptBox::Draft => {
                    "the prompt box already held text".to_owned()
                }
                None => "Claude drew no prompt box in time".to_owned(),
            },
            SubmissionStep::Echo => "the pasted prompt did not appear in the prompt box".to_owned(),
            SubmissionStep::Enter { .. } => "nothing proves that the prompt was submitted".to_owned(),
        };
        if let Some(draft) = self.break_off(step, &what, false) {
            self.release_keys(step, draft);
        }
    }

    /// Ends a delivery without proof; returns whether to type a draft.
    fn break_off(&mut self, step: &mut EventStep<'_>, what: &str, interrupted: bool) -> Option<bool> {
        let Phase::Delivering { plan, handoff, .. } = self.phase.clone() else { return None };
        // Text in the box or on its way is not typed twice; Ctrl+C clears it from the box.
        if plan.carries == Some(CarryMethod::Typed) && (self.run.delivery.offered.is_none() || interrupted) {
            self.return_prompt(step, interrupted);
        }
        let text = self.naming_left(format!(
            "The delivery of handoff {handoff} failed: {what}. The handoff stays active."
        ));
        step.tell(DecisionKind::DeliveryFailed, text).handoff(handoff);
        self.enter(step, Phase::Running);
        Some(plan.draft)
    }

    pub(super) fn deliver_interrupted(&mut self, step: &mut EventStep<'_>) {
        let kept = self.keys == KeyHold::Held;
        let Some(draft) = self.break_off(step, "you pressed Ctrl+C", true) else { return };
        self.run.delivery.broken_off = Some(step.now);
        // First Ctrl+C, which clears our text from the box, then the draft and the held input.
        if kept {
            step.type_in(Typing::Interrupt);
        }
        self.release_keys(step, draft);
    }

    /// The transcript has our prompt as a user line: the proof where there are no hooks.
    pub(super) fn prompted(&mut self, step: &mut EventStep<'_>, conversation: &ConversationId) {
        if self.is_current(conversation) && self.run.pid.is_some() {
            self.proven(step);
        }
    }

    /// The prompt was submitted: by hopty, or later by the person whose box it was in.
    pub(super) fn proven(&mut self, step: &mut EventStep<'_>) {
        let delivering = match &self.phase {
            Phase::Delivering { plan, handoff, enters, .. } => {
                Some((plan.draft, handoff.clone(), *enters, plan.carries.is_some()))
            }
            _ => None,
        };
        let offered = self.run.delivery.offered.take();
        let Some(handoff) = delivering.as_ref().map(|(_, handoff, ..)| handoff.clone()).or(offered) else {
            return;
        };
        let Some(conversation) = self.conversation.id.clone() else { return };
        self.set_turn(step.now, Turn::Busy);
        self.conversation.spoken = true;
        if self.run.hooks.seen && !self.run.delivery.brief_answered {
            let text = format!(
                "The prompt for {handoff} was submitted, but Claude never received the handoff, which stays \
                 active."
            );
            let text = self.naming_left(text);
            step.tell(DecisionKind::DeliveryFailed, text).handoff(handoff);
        } else {
            let how = match &delivering {
                Some((_, _, 0, _)) => "was submitted".to_owned(),
                Some((_, _, 1, _)) => "was submitted after 1 Enter".to_owned(),
                Some((_, _, enters, _)) => format!("was submitted after {enters} Enters"),
                None => "was submitted after all".to_owned(),
            };
            let text = match delivering.as_ref().is_some_and(|(.., carried)| *carried) {
                true => format!("Your prompt {how} in the fresh conversation, with handoff {handoff}."),
                false => format!("The continuation prompt for {handoff} {how}."),
            };
            step.decide(DecisionKind::DeliverySubmitted, text)
                .handoff(handoff.clone())
                .conversation(conversation.clone());
            self.handoffs.consuming = Some((handoff, conversation));
            self.crash_guard.delivery_deaths = 0;
        }
        if let Some((draft, ..)) = delivering {
            self.enter(step, Phase::Running);
            self.release_keys(step, draft);
        }
    }

    pub(super) fn answered(&mut self, step: &mut EventStep<'_>, conversation: &ConversationId) {
        let Some((handoff, of)) = self.handoffs.consuming.take_if(|(_, of)| of == conversation) else {
            return;
        };
        if self.handoffs.active.as_ref() == Some(&handoff) {
            self.handoffs.active = None;
        }
        step.act(Action::Consume { handoff: handoff.clone(), conversation: of.clone() });
        let text = format!("Conversation {of} answered; handoff {handoff} is consumed.");
        step.decide(DecisionKind::HandoffConsumed, text).handoff(handoff).conversation(of);
    }
}
