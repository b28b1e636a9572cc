//! A person is present: what they read is not wiped, and their next prompt begins the fresh conversation.
//!
//! A hand-over by a context level that comes due at the end of a turn waits while a terminal is attached in
//! which a key was pressed within `restart.wait_for_person`. hopty then stops the person's next prompt before
//! Claude sends it (UserPromptSubmit, `continue: false`: no request, the prompt is in the transcript;
//! measured on 2.1.331), saves the handoff, and makes the prompt the first one of the fresh conversation. A
//! prompt that cannot be repeated exactly runs where it was typed. When nobody is present any more, the
//! hand-over happens as it does without anybody.

use serde::{Deserialize, Serialize};

use super::action::{Action, DecisionKind, HookAnswer, RestartBy, SignalTarget, Want};
use super::event::{AgentStatus, AttachKind, HookFacts, PromptOf};
use super::hooks::{HeldHook, LINES_MS};
use super::phase::{Phase, RestartRequest, SafePoint, SaveStep};
use super::question::HandoverQuestion;
use super::step::EventStep;
use super::stopping::CONT;
use super::{Supervisor, Turn};
use crate::core::claude::carry_over::CarryMethod;
use crate::core::config::RestartMode;
use crate::core::handoff::operation::Cut;
use crate::core::time::Stamp;

/// The first version of the rules that waits for a person.
const RULES: u32 = 2;

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
    pub(super) fn comes(&mut self, client: u32, how: AttachKind) {
        self.leaves(client);
        if how != AttachKind::Watches {
            self.terminals.push((client, None));
        }
    }

    pub(super) fn leaves(&mut self, client: u32) {
        self.terminals.retain(|(number, _)| *number != client);
    }

    pub(super) fn presses(&mut self, client: u32, now: Stamp) {
        if let Some((_, key)) = self.terminals.iter_mut().find(|(number, _)| *number == client) {
            *key = Some(now);
        }
    }
}

impl Supervisor {
    pub(super) fn chosen(&mut self, step: &mut EventStep<'_>, dialog: &str, option: u8) {
        let dialog = dialog.replace('_', " ");
        let sentence = format!("You chose option {option} of the dialog ({dialog}) on the dashboard.");
        step.decide(DecisionKind::DialogAnswered, sentence);
    }

    pub(super) fn attached(&mut self, step: &mut EventStep<'_>, client: u32, how: AttachKind) {
        self.person.comes(client, how);
        step.decide(DecisionKind::ClientAttached, format!("Client {client} attached.")).because(&[]);
        if self.run.stopped && how == AttachKind::Joins {
            step.act(Action::Signal { signal: CONT, to: SignalTarget::Group });
        }
    }

    pub(super) fn detached(&mut self, step: &mut EventStep<'_>, client: u32, why: &str) {
        self.person.leaves(client);
        step.decide(DecisionKind::ClientDetached, format!("Client {client} detached ({why}).")).because(&[]);
    }

    /// When a person no longer counts as present, if they press no key.
    pub(super) fn person_leaves_at(&self) -> Option<Stamp> {
        let last = self.person.terminals.iter().filter_map(|(_, key)| *key).max()?;
        Some(last.after(self.policy.config.restart.wait_for_person.ms()))
    }

    /// Whether the hand-over at the end of a turn waits for the next prompt. Only hooks can stop a prompt.
    pub(super) fn waits_for_prompt(&self, now: Stamp, request: &RestartRequest) -> bool {
        let by_level =
            request.by == RestartBy::Level && !request.explicit && !request.person && !request.forced;
        let can = self.policy.rules >= RULES && self.policy.notes && self.run.hooks.seen && request.handoff;
        by_level && can && self.person_leaves_at().is_some_and(|at| now < at)
    }

    /// A turn is over and a person is present.
    pub(super) fn wait_for_prompt(&mut self, step: &mut EventStep<'_>) {
        let Phase::Waiting { request } = &mut self.phase else { return };
        if request.for_prompt.is_some() {
            return;
        }
        request.for_prompt = Some(step.now);
        let (seq, level) = (request.seq, request.level);
        let text = format!(
            "{}: hopty hands over with your next prompt, or after {} without a key press.",
            self.fill_words(),
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
        waits.by(RestartBy::Level).level(level).also(seq);
    }

    /// Whether the person's next prompt is known: it is in Claude's queue.
    pub(super) fn next_is_queued(&self) -> bool {
        self.run.queue.prompts > 0 && self.run.queue.first.is_some()
    }

    /// The queue changed. When it drains, a turn begins with its first prompt and no hook reports that
    /// (measured on 2.1.331: the hook was called when the prompt was queued).
    pub(super) fn prompts_queued(&mut self, now: Stamp, prompts: u32, first: Option<CarryMethod>) {
        if !self.has_run() {
            return;
        }
        let fewer = prompts < self.run.queue.prompts;
        (self.run.queue.prompts, self.run.queue.first) = (prompts, first);
        if self.policy.rules >= RULES
            && fewer
            && self.run.turn.state == Turn::Idle
            && matches!(self.phase, Phase::Waiting { .. })
        {
            self.set_turn(now, Turn::Busy);
            self.prompt_runs_here(Some(PromptOf::Person));
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
        hook.carries.filter(|_| waits && !works && !self.stands_still() && !self.over_limit(now))
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
        self.set_turn(step.now, Turn::Busy);
        self.conversation.spoken = true;
        self.run.typed = None;
        self.somebody_prompts(hook.prompt);
        step.act(Action::HoldHook { id });
        self.run.hooks.held =
            Some(HeldHook { id, stop: false, since: step.now, ready: true, cut: Cut::Free });
        self.begin_saving(step, request, SafePoint::Prompt { hook: id, way });
    }

    /// Nothing prevents the hand-over: hopty tells Claude to drop the prompt, and waits for its line.
    pub(super) fn stop_prompt(&mut self, step: &mut EventStep<'_>, hook: u64) {
        self.run.hooks.held = None;
        step.answer(hook, self.leave_the_prompt());
        self.set_turn(step.now, Turn::Idle);
        self.enter_step(step.now, SaveStep::Prompt);
        step.act(Action::AwaitLines { id: hook, want: Want::Prompt, until: step.now.after(LINES_MS) });
    }

    /// The answer to the hook of a prompt that no longer belongs to this conversation.
    pub(super) fn leave_the_prompt(&self) -> HookAnswer {
        let fill = match self.conversation.fill {
            fill if fill.window == 0 || fill.is_by_size(&self.levels()) => {
                format!("transcript of {} KiB", fill.bytes / 1024)
            }
            fill => format!("context {} % full", fill.percent()),
        };
        HookAnswer::StopTurn { reason: format!("hopty: {fill}; your prompt goes to a fresh conversation.") }
    }

    /// Whether Claude was told to drop a prompt that is not in a fresh conversation yet.
    pub(super) fn has_taken_prompt(&self) -> bool {
        matches!(&self.phase, Phase::Saving { point: SafePoint::Prompt { .. }, step,
            .. } if *step != SaveStep::Settings)
    }

    /// A prompt that hopty took and does not bring to a fresh conversation returns to the person: as a draft
    /// if they pressed Ctrl+C.
    pub(super) fn return_prompt(&self, step: &mut EventStep<'_>, interrupted: bool) {
        step.act(Action::ReturnPrompt { submit: !interrupted });
    }

    /// Whether the current event is a Ctrl+C.
    pub(super) fn is_interrupt(&self) -> bool {
        self.session.interrupt.is_some_and(|(_, seq)| seq == self.lines.event)
    }

    /// A prompt runs in the conversation that is to be handed over: hopty waits for its end and may ask
    /// Claude again.
    pub(super) fn prompt_runs_here(&mut self, of: Option<PromptOf>) {
        if let Phase::Waiting { request } = &mut self.phase
            && self.policy.rules >= RULES
        {
            request.for_prompt = None;
            if matches!(of, Some(PromptOf::Person | PromptOf::Sent)) {
                request.note_until = None;
            }
        }
    }

    /// `hopty handoff snooze` without a pending question: no context level hands over for a while. Only if
    /// Claude is about to compact in a tool loop, a hand-over still comes first.
    pub(super) fn snooze(&mut self, step: &mut EventStep<'_>) {
        if self.policy.rules < RULES {
            return;
        }
        let snooze = self.policy.config.restart.snooze;
        self.conversation.question = HandoverQuestion::Snoozed { until: step.now.after(snooze.ms()) };
        let text = format!("No automatic hand-over for {}: you snoozed it.", snooze.words());
        if matches!(&self.phase,
            Phase::Waiting { request } if request.by == RestartBy::Level && !request.explicit)
        {
            self.rearm_later();
            self.cancel_request(step, &format!("you snoozed it for {}", snooze.words()));
        } else {
            step.tell(DecisionKind::RestartIgnored, text).by(RestartBy::Level);
        }
        self.keep_ask(step);
    }

    /// Whether a person has snoozed hand-overs by level.
    pub(super) fn is_snoozed(&self) -> bool {
        self.policy.config.restart.mode != RestartMode::Ask
            && matches!(self.conversation.question, HandoverQuestion::Snoozed { .. })
    }
}
