//! A person is present: what they read is not wiped, and their next prompt begins the fresh conversation.
//!
//! A hand-over by a context level that comes due at the end of a turn waits while a terminal is attached in
//! which a key was pressed within `restart.wait_for_person`. hopty then stops the person's next prompt before
//! Claude sends it (UserPromptSubmit, `continue: false`: no request, the prompt is in the transcript;
//! measured on 2.1.331), saves the handoff, and makes the prompt the first one of the fresh conversation. A
//! prompt that cannot be repeated exactly runs where it was typed. When nobody is present any more, the
//! hand-over happens as it does without anybody.

use serde::{Deserialize, Serialize};

use super::action::{Action, DecisionKind, RestartBy, Want};
use super::event::{AgentStatus, AttachKind, HookFacts, PromptOf};
use super::hooks::{HeldHook, LINES_MS};
use super::phase::{Phase, RestartRequest, SafePoint, SaveStep};
use super::step::EventStep;
use super::{Supervisor, Turn};
use crate::core::claude::carry_over::CarryMethod;
use crate::core::config::Restart;
use crate::core::handoff::operation::Cut;
use crate::core::time::Stamp;

/// The first version of the rules that waits for a person.
pub(super) const WAITS_SINCE: u32 = 2;

/// How long the sessions file may report busy before the hook of the prompt that began the turn comes, in ms.
const WORKS_MS: u64 = 500;

/// What is known of the people at the terminals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct People {
    /// The attached terminals that may type, and when a key was last pressed in each.
    terminals: Vec<(u32, Option<Stamp>)>,
}

impl People {
    pub(super) fn comes(&mut self, step: &mut EventStep<'_>, client: u32, how: AttachKind) {
        self.terminals.retain(|(number, _)| *number != client);
        if how != AttachKind::Watches {
            self.terminals.push((client, None));
        }
        step.decide(DecisionKind::ClientAttached, format!("Client {client} attached.")).because(&[]);
    }

    pub(super) fn leaves(&mut self, step: &mut EventStep<'_>, client: u32, why: &str) {
        self.terminals.retain(|(number, _)| *number != client);
        step.decide(DecisionKind::ClientDetached, format!("Client {client} detached ({why}).")).because(&[]);
    }

    pub(super) fn presses(&mut self, client: u32, now: Stamp) {
        if let Some((_, key)) = self.terminals.iter_mut().find(|(number, _)| *number == client) {
            *key = Some(now);
        }
    }

    /// When a person no longer counts as present, if they press no key.
    pub(super) fn present_until(&self, restart: &Restart) -> Option<Stamp> {
        let last = self.terminals.iter().filter_map(|(_, key)| *key).max()?;
        Some(last.after(restart.wait_for_person.ms()))
    }
}

/// A person chose an option of Claude's dialog without being attached.
pub(super) fn dialog_answered(step: &mut EventStep<'_>, dialog: &str, option: u8) {
    let dialog = dialog.replace('_', " ");
    let sentence = format!("You chose option {option} of the dialog ({dialog}) on the dashboard.");
    step.decide(DecisionKind::DialogAnswered, sentence);
}

impl Supervisor {
    /// Whether the hand-over at the end of a turn waits for the next prompt. Only hooks can stop a prompt.
    pub(super) fn waits_for_prompt(&self, now: Stamp, request: &RestartRequest) -> bool {
        let by_level = request.is_by_level() && !request.person && !request.forced;
        let can =
            self.policy.rules >= WAITS_SINCE && self.policy.notes && self.run.hooks.seen && request.handoff;
        by_level && can && self.person.present_until(&self.policy.config.restart).is_some_and(|at| now < at)
    }

    /// A turn is over and a person is present.
    pub(super) fn wait_for_prompt(&mut self, step: &mut EventStep<'_>) {
        let Phase::Waiting { request } = &mut self.phase else { return };
        if request.for_prompt.is_some() {
            return;
        }
        request.for_prompt = Some(step.now);
        let text = format!(
            "{}: hopty hands over with your next prompt, or after {} without a key press.",
            self.conversation.usage.sentence(&self.policy),
            self.policy.config.restart.wait_for_person.words()
        );
        let waits = if std::mem::replace(&mut self.conversation.told_of_prompt, true) {
            step.decide(DecisionKind::RestartWaits, text)
        } else {
            if self.run.hooks.held.is_some() {
                self.conversation.word = Some(text.clone());
            }
            step.tell(DecisionKind::RestartWaits, text)
        };
        waits.by(RestartBy::Level).level(request.level).also(request.seq);
    }

    /// The queue changed. When it drains, a turn begins with its first prompt and no hook reports that
    /// (measured on 2.1.331: the hook was called when the prompt was queued).
    pub(super) fn prompts_queued(&mut self, now: Stamp, prompts: u32, first: Option<CarryMethod>) {
        if !self.phase.has_run() {
            return;
        }
        let fewer = prompts < self.run.queue.prompts;
        (self.run.queue.prompts, self.run.queue.first) = (prompts, first);
        if self.policy.rules >= WAITS_SINCE
            && fewer
            && self.run.turn.state == Turn::Idle
            && matches!(self.phase, Phase::Waiting { .. })
        {
            self.run.set_turn(now, Turn::Busy);
            self.phase.prompt_runs_here(Some(PromptOf::Person));
        }
    }

    /// How to pass this prompt to a fresh conversation, if it goes to one.
    pub(super) fn takes_prompt(&self, now: Stamp, hook: &HookFacts) -> Option<CarryMethod> {
        let Phase::Waiting { request } = &self.phase else { return None };
        let waits =
            request.for_prompt.is_some() && hook.prompt == Some(PromptOf::Person) && self.sending.is_none();
        // The hook is also called for a prompt that is queued.
        let works = self.run.turn.state == Turn::Busy
            || self.run.file.status == Some(AgentStatus::Busy) && now >= self.run.file.since.after(WORKS_MS);
        let refused = self.budget.is_used_up(now, &self.policy.config.restart);
        hook.carries.filter(|_| waits && !works && !self.stands_still() && !refused)
    }

    /// The prompt is held; it is stopped once nothing prevents the hand-over.
    pub(super) fn take_prompt(
        &mut self,
        step: &mut EventStep<'_>,
        id: u64,
        hook: &HookFacts,
        way: CarryMethod,
    ) {
        let Phase::Waiting { request } = self.phase.clone() else { return };
        self.let_go(step);
        self.run.set_turn(step.now, Turn::Busy);
        self.conversation.spoken = true;
        self.run.typed = None;
        self.conversation.progress.prompted(hook.prompt);
        step.act(Action::HoldHook { id });
        self.run.hooks.held =
            Some(HeldHook { id, stop: false, since: step.now, ready: true, cut: Cut::Free });
        self.begin_saving(step, request, SafePoint::Prompt { hook: id, way });
    }

    /// Nothing prevents the hand-over: hopty tells Claude to drop the prompt, and waits for its line.
    pub(super) fn stop_prompt(&mut self, step: &mut EventStep<'_>, hook: u64) {
        self.run.hooks.held = None;
        step.answer(hook, self.conversation.refuse_prompt(&self.policy));
        self.run.set_turn(step.now, Turn::Idle);
        self.enter_step(step.now, SaveStep::Prompt);
        step.act(Action::AwaitLines { id: hook, want: Want::Prompt, until: step.now.after(LINES_MS) });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::span;
    use super::*;

    #[test]
    fn who_has_pressed_a_key_in_a_terminal_that_may_type_is_present() {
        let restart = Restart { wait_for_person: span(100), ..Restart::default() };
        let (mut people, mut out) = (People::default(), Vec::new());
        let mut step = EventStep::new(Stamp(0), 1, 1, &mut out);
        people.comes(&mut step, 1, AttachKind::Joins);
        people.comes(&mut step, 2, AttachKind::Watches);
        assert_eq!(people.present_until(&restart), None, "nobody has pressed a key");
        people.presses(2, Stamp(5));
        assert_eq!(people.present_until(&restart), None, "who watches does not type");
        people.presses(1, Stamp(7));
        assert_eq!(people.present_until(&restart), Some(Stamp(107)));
        people.leaves(&mut step, 1, "asked");
        assert_eq!(people.present_until(&restart), None);
        assert_eq!(out.len(), 3, "{out:?}");
    }
}
