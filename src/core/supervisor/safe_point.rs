//! The safe point of a hand-over: the moment at which Claude can be stopped without loss, and what to wait
//! for until then.
//!
//! Claude's hand-over note is requested once, if there is room and time, and hopty does not wait long for it.
//! In a tool loop hopty asks as soon as a level is reached, and the loop continues: the answer is the text of
//! a later message. Otherwise the request is part of the answer to the hook at which Claude could have been
//! stopped. Claude's reply ends its next turn, so the end of that turn is the safe point; if Claude uses
//! tools instead, it is the first tool boundary after the time limit.
//!
//! A person who is present may be reading Claude's answer, so it stays: their next prompt begins the fresh
//! conversation. A hand-over by a context level that comes due at the end of a turn waits while a terminal
//! with a key press within `restart.wait_for_person` is attached. hopty then stops the person's next prompt
//! before Claude sends it (UserPromptSubmit, `continue: false`: no request, the prompt is in the transcript;
//! measured on 2.1.331), saves the handoff, and makes the prompt the first one of the fresh conversation. A
//! prompt that cannot be repeated exactly runs where it was typed. When no person is present any more, hopty
//! hands over as usual.
//!
//! A conversation that a person resumed waits for their next prompt however long that takes, because
//! they want to see it, and at a restart of the machine nobody is there to want it.

use super::action::{Action, DecisionKind, HookAnswer, HookInstruction, RestartBy, Want};
use super::event::{HookFacts, PromptOf, SessionsFileStatus};
use super::hook_decision::{HeldHook, LINES_MS, UnreadAnswer};
use super::phase::{Phase, RestartRequest, SafePoint, SaveStep};
use super::policy::ProgramKind;
use super::step::EventStep;
use super::{Supervisor, Turn};
use crate::core::claude::carry_over::CarryMethod;
use crate::core::config::SummaryMode;
use crate::core::context_level::Level;
use crate::core::handoff::operation::Cut;
use crate::core::time::Stamp;

/// Since this version of the rules a hand-over waits for a person.
pub(super) const WAITS_SINCE: u32 = 2;
/// How long the sessions file may report busy before the hook of the turn's prompt runs, in ms.
const WORKS_MS: u64 = 500;
/// How long before Claude would give up on a held hook hopty answers it, in ms.
pub(super) const HOLD_MARGIN_MS: u64 = 2000;
/// How long to wait for Claude's note, in ms. Its turn continues meanwhile.
const NOTE_MS: u64 = 90_000;

impl Supervisor {
    pub(super) fn try_safe_point(&mut self, step: &mut EventStep<'_>) {
        let Phase::Waiting { request } = self.phase.clone() else { return };
        if self.run.pid.is_none() || self.sends_half_typed(step.now) {
            return;
        }
        if self.in_limit_wait() && !request.forced {
            if self.run.hooks.held.as_ref().is_some_and(|held| held.ready) {
                self.let_go(step);
            }
            return;
        }
        // It would start another round of a loop that is over. In the middle of a turn it still happens,
        // because Claude has more to do.
        if self.session.completed && request.by == RestartBy::Level && self.run.turn_is_over() {
            self.cancel_request(step, "the task is completed");
            return;
        }
        if let Some(held) = self.run.hooks.held.clone() {
            if held.ready && held.stop {
                self.try_turn_end(step, request, &held);
            } else if held.ready {
                self.try_tool_boundary(step, request, &held);
            }
            return;
        }
        if request.forced {
            self.begin_saving(step, request, SafePoint::Now);
        } else if self.policy.agent == ProgramKind::Plain
            || self.run.is_idle(step.now, &request, self.phase_began.at, &self.policy)
        {
            if self.waits_for_prompt(step.now, &request) {
                // A queued prompt begins a turn by itself.
                if !self.run.next_is_queued() {
                    self.wait_for_prompt(step);
                }
            } else if request.is_by_level() && self.is_only_resumed() {
                // No hook can take their next prompt: it waits for the end of that turn.
            } else if !self.draft_waits(step.now) && !self.run.command_waits(step.now) {
                self.begin_saving(step, request, SafePoint::Idle);
            }
        }
    }

    /// The turn is over, and its hook is held.
    fn try_turn_end(&mut self, step: &mut EventStep<'_>, request: RestartRequest, held: &HeldHook) {
        // Running background work and a person's draft are worth waiting for, but not while a hook is held.
        if self.run.work_waits(step.now, &request)
            || self.run.writing_postpones(step.now, &request, &self.policy)
        {
            self.let_go(step);
        } else if self.waits_for_prompt(step.now, &request) && !self.run.next_is_queued() {
            self.wait_for_prompt(step);
            self.let_go(step);
        } else if self.may_ask_for_note(&request) {
            self.ask_for_note(step, held, false);
        } else {
            self.begin_saving(step, request, SafePoint::Stop { hook: held.id });
        }
    }

    /// The tools of a response have run, and their hook is held.
    fn try_tool_boundary(&mut self, step: &mut EventStep<'_>, request: RestartRequest, held: &HeldHook) {
        if request.now || step.now >= request.turn_until {
            let hold_over = step.now.since(held.since) + HOLD_MARGIN_MS >= self.policy.config.hooks.hold.ms();
            if self.run.work_waits(step.now, &request) && !hold_over {
                return;
            }
            if held.completes_first(step.now, &request, self.policy.config.restart.work_wait.ms()) {
                self.let_go(step);
            } else if self.may_ask_for_note(&request) {
                self.ask_for_note(step, held, false);
            } else if !request.now && request.note_until.is_some_and(|until| step.now < until) {
                self.let_go(step);
            } else {
                self.begin_saving(step, request, SafePoint::Batch { hook: held.id });
            }
        } else if self.policy.rules > 1 && request.by == RestartBy::Level && self.may_ask_for_note(&request) {
            self.ask_for_note(step, held, true);
        } else {
            self.let_go(step);
        }
    }

    /// The box holds a draft, and there is time to wait; the time starts with the first draft.
    fn draft_waits(&mut self, now: Stamp) -> bool {
        let until = now.after(self.policy.config.restart.draft_wait.ms());
        match &mut self.phase {
            Phase::Waiting { request } if self.run.writing_postpones(now, request, &self.policy) => {
                now < *request.draft_until.get_or_insert(until)
            }
            _ => false,
        }
    }

    /// Whether to ask Claude for its note before it is stopped: not twice, not if the person does not want to
    /// wait, and not above the hard level, where the answer might no longer fit.
    fn may_ask_for_note(&self, request: &RestartRequest) -> bool {
        self.policy.config.handoff.summary == SummaryMode::Auto
            && self.policy.notes
            && request.handoff
            && request.note_until.is_none()
            && !request.now
            && !request.forced
            && self.run.queue.prompts == 0
            && self.level() < Level::Hard
    }

    /// Lets Claude continue with the request for its note. In a tool loop hopty does not wait for the answer.
    fn ask_for_note(&mut self, step: &mut EventStep<'_>, held: &HeldHook, in_loop: bool) {
        let (until, what) = match in_loop {
            true => (step.now, HookInstruction::NoteInLoop),
            false => (step.now.after(NOTE_MS), HookInstruction::Note),
        };
        if let Phase::Waiting { request } = &mut self.phase {
            request.note_until = Some(until);
        }
        self.run.hooks.held = None;
        if !in_loop {
            self.run.set_turn(step.now, Turn::Busy);
        }
        self.awaits_reading(held.id, UnreadAnswer::Note { alone: !in_loop });
        step.answer(held.id, HookAnswer::Tell { what });
    }

    /// Whether the hand-over at the end of a turn waits for the next prompt. Only hooks can stop a prompt.
    pub(super) fn waits_for_prompt(&self, now: Stamp, request: &RestartRequest) -> bool {
        let by_level = request.is_by_level() && !request.person && !request.forced;
        let can = self.policy.rules >= WAITS_SINCE
            && self.policy.notes
            && self.run.hooks.any_call
            && request.handoff;
        by_level
            && can
            && (self.is_only_resumed()
                || self.person.present_until(&self.policy.config.restart).is_some_and(|at| now < at))
    }

    /// Whether a person resumed this conversation and nobody has submitted a prompt since: they want to see
    /// it.
    pub(super) fn is_only_resumed(&self) -> bool {
        !self.policy.is_previous_release()
            && self.session.runs == 1
            && !self.session.prompted
            && !self.conversation.began_empty
            && !self.run.queue.argument
            && (self.run.hooks.any_call || self.run.turn.state != Turn::Idle)
    }

    /// Handles the end of a turn with a person present.
    fn wait_for_prompt(&mut self, step: &mut EventStep<'_>) {
        let or_later = match self.is_only_resumed() {
            true => String::new(),
            false => {
                let wait = self.policy.config.restart.wait_for_person.words();
                format!(", or after {wait} without a key press")
            }
        };
        let Phase::Waiting { request } = &mut self.phase else { return };
        if request.for_prompt.is_some() {
            return;
        }
        request.for_prompt = Some(step.now);
        let text = format!(
            "{}: hopty hands over with your next prompt{or_later}.",
            self.conversation.usage.sentence(&self.policy)
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

    /// The queue changed. When it drains, a turn begins with its first prompt, and perhaps no hook reports
    /// that (2.1.331 was measured to call it when the prompt is queued, 2.1.329 when it is delivered).
    pub(super) fn prompts_queued(&mut self, now: Stamp, prompts: u32, first: Option<CarryMethod>) {
        if !self.phase.has_run() {
            return;
        }
        let fewer = prompts < self.run.queue.prompts;
        (self.run.queue.prompts, self.run.queue.first) = (prompts, first);
        if self.policy.rules >= WAITS_SINCE
            && fewer
            && self.run.turn.state == Turn::Idle
            && (matches!(self.phase, Phase::Waiting { .. }) || !self.policy.is_previous_release())
        {
            self.run.set_turn(now, Turn::Busy);
            self.phase.prompt_runs_here(Some(PromptOf::Person));
        }
    }

    /// How to carry this prompt to a fresh conversation, if it goes to one.
    pub(super) fn takes_prompt(&self, now: Stamp, hook: &HookFacts) -> Option<CarryMethod> {
        let Phase::Waiting { request } = &self.phase else { return None };
        let waits =
            request.for_prompt.is_some() && hook.prompt == Some(PromptOf::Person) && self.sending.is_none();
        // The hook also runs for a prompt that is queued.
        let works = self.run.turn.state == Turn::Busy
            || self.run.file.status == Some(SessionsFileStatus::Busy)
                && now >= self.run.file.since.after(WORKS_MS);
        let refused = self.restart_limit.is_used_up(now, &self.policy.config.restart);
        hook.carries.filter(|_| waits && !works && !self.in_limit_wait() && !refused)
    }

    /// Holds the prompt; it is stopped once nothing prevents the hand-over.
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
        self.session.prompted |= !self.policy.is_previous_release();
        self.conversation.spoken = true;
        self.run.typed = None;
        self.conversation.progress.prompted(hook.prompt);
        step.act(Action::HoldHook { id });
        self.run.hooks.held =
            Some(HeldHook { id, stop: false, since: step.now, ready: true, cut: Cut::Free });
        self.begin_saving(step, request, SafePoint::Prompt { hook: id, way });
    }

    /// Nothing prevents the hand-over: tells Claude to drop the prompt, and waits for its line.
    pub(super) fn stop_prompt(&mut self, step: &mut EventStep<'_>, hook: u64) {
        self.run.hooks.held = None;
        step.answer(hook, self.conversation.refuse_prompt(&self.policy));
        self.run.set_turn(step.now, Turn::Idle);
        self.enter_step(step.now, SaveStep::Prompt);
        step.act(Action::AwaitLines { id: hook, want: Want::Prompt, until: step.now.after(LINES_MS) });
    }
}
