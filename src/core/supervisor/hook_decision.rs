//! How hook calls are handled. Calls of sub-agents are counted and answered at once, never lead to a
//! decision.

use serde::{Deserialize, Serialize};

use super::action::{Action, HookAnswer, Want};
use super::event::{HookEvent, HookFacts, PromptOf};
use super::phase::{Phase, RestartRequest, SafePoint, SaveStep, StopStep};
use super::safe_point::WAITS_SINCE;
use super::step::EventStep;
use super::{Supervisor, Turn};
use crate::core::handoff::operation::Cut;
use crate::core::time::Stamp;

/// How long a hook call waits for its lines in the transcript, in ms (Claude's file lags by up to 0.26 s).
pub(super) const LINES_MS: u64 = 300;
/// How much longer to wait for the report of the lines, in ms.
pub(super) const LINES_MARGIN_MS: u64 = 500;

/// A hook call of the main conversation that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeldHook {
    pub(super) id: u64,
    pub(super) stop: bool,
    pub(super) since: Stamp,
    /// Its lines are in the transcript, or their time is up.
    pub(super) ready: bool,
    /// Whether Claude's work, according to these lines, can be interrupted here.
    #[serde(default)]
    pub(super) cut: Cut,
}

/// When a hook call is held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HookMoment {
    ToolBoundary,
    TurnEnd,
}

/// An answer that Claude has to act on, kept until it is clear whether Claude read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "unread", rename_all = "snake_case")]
pub(super) enum UnreadAnswer {
    /// Ask the question of mode `ask`.
    Question,
    /// Write the note for the handoff.
    Note {
        /// The turn continues only for the note.
        alone: bool,
    },
}

impl HeldHook {
    /// Whether to let Claude finish before the hand-over: its work should not be interrupted here, and there
    /// is time until the next boundary or the end of the turn, at most `wait_ms`. Never above the hard level,
    /// or if the hand-over is requested for now.
    pub(super) fn completes_first(&self, now: Stamp, request: &RestartRequest, wait_ms: u64) -> bool {
        let last = request.turn_until.after(wait_ms);
        self.cut != Cut::Free && !request.now && !request.forced && now < last
    }
}

impl Supervisor {
    pub(super) fn hook(&mut self, step: &mut EventStep<'_>, id: u64, hook: &HookFacts) {
        if self.run.pid.is_none() {
            step.answer(id, HookAnswer::Nothing);
            return;
        }
        if !self.policy.is_previous_release() && hook.conversation == self.conversation.id {
            self.run.hooks.note_question(hook);
        }
        if hook.agent || hook.event == HookEvent::SubagentStop {
            // While the main loop is idle, the end of a sub-agent begins a turn by itself (measured: 0.2 s
            // later), and that turn's prompt decrements the count; otherwise only this call reports the end.
            if hook.event == HookEvent::SubagentStop && self.run.turn.state == Turn::Busy {
                self.run.turn.background = self.run.turn.background.saturating_sub(1);
            }
            step.answer(id, HookAnswer::Nothing);
            return;
        }
        self.run.hooks.any_call = true;
        if let Some((_, UnreadAnswer::Note { alone })) = &mut self.run.hooks.unread {
            *alone = false;
        }
        match hook.event {
            HookEvent::SessionStart => self.session_start(step, id, hook),
            _ if hook.conversation != self.conversation.id && !self.follows_elsewhere(step, hook) => {
                step.answer(id, HookAnswer::Nothing);
            }
            HookEvent::UserPromptSubmit => self.prompt_submitted(step, id, hook),
            HookEvent::PostToolBatch => self.tool_batch(step, id, hook),
            HookEvent::Stop => self.turn_over(step, id, hook),
            HookEvent::StopFailure => {
                self.run.set_turn(step.now, Turn::Idle);
                if !self.policy.is_previous_release() {
                    self.run.turn.error = Some(hook.error.clone().unwrap_or_else(|| "unknown".to_owned()));
                }
                step.answer(id, HookAnswer::Nothing);
                let wait = &mut self.conversation.limit_wait;
                self.limits.turn_failed(step, wait, &self.policy, hook.error.as_deref());
                self.rearm(step);
            }
            HookEvent::PostToolUse => self.tool_used(step, id),
            HookEvent::PermissionRequest | HookEvent::PreToolUse => {
                self.run.set_turn(step.now, Turn::Busy);
                self.run.hooks.asking.clone_from(&hook.asks);
                step.answer(id, HookAnswer::Nothing);
            }
            HookEvent::PreCompact => self.compacts(step, id, hook),
            HookEvent::PostCompact => {
                self.compacted(step);
                step.answer(id, HookAnswer::Nothing);
            }
            HookEvent::SubagentStop | HookEvent::SessionEnd | HookEvent::Notification | HookEvent::Other => {
                step.answer(id, HookAnswer::Nothing)
            }
        }
    }

    fn prompt_submitted(&mut self, step: &mut EventStep<'_>, id: u64, hook: &HookFacts) {
        self.run.hooks.turn_cut = false;
        if let Some(way) = self.takes_prompt(step.now, hook) {
            return self.take_prompt(step, id, hook, way);
        }
        let before = self.run.turn.state;
        self.run.set_turn(step.now, Turn::Busy);
        self.session.prompted |= !self.policy.is_previous_release();
        self.conversation.spoken = true;
        // This prompt contains what was typed before.
        self.run.typed = None;
        let own = self.sends_own();
        if self.policy.rules >= WAITS_SINCE {
            self.phase.prompt_runs_here(hook.prompt);
        }
        let brief = match &self.phase {
            Phase::Delivering(delivery) => {
                delivery.brief(id, hook.prompt, &mut self.run.delivery, &self.policy)
            }
            _ => None,
        };
        match hook.prompt {
            Some(PromptOf::Claude) => self.run.turn.background = self.run.turn.background.saturating_sub(1),
            Some(PromptOf::Ours) => self.proven(step, false),
            Some(PromptOf::Person) if self.begins_with_own_prompt() => self.proven(step, true),
            Some(PromptOf::Sent) => self.submit_hooked(step, before),
            _ => {}
        }
        if let Some(wait) = self.conversation.limit_wait.take() {
            wait.end_by_prompt(step, hook.prompt);
        }
        if !own {
            self.conversation.progress.prompted(hook.prompt);
        }
        if self.phase.has_taken_prompt() {
            // It was queued after a prompt that hopty took: treat it the same way.
            self.run.set_turn(step.now, Turn::Idle);
            return step.answer(id, self.conversation.refuse_prompt(&self.policy));
        }
        if self.keeps_prompt(step, id) {
            return;
        }
        let asks = hook.prompt == Some(PromptOf::Person) && self.phase == Phase::Running;
        let question = if asks { self.conversation.put_question(step.now, &self.policy) } else { None };
        if question.is_some() {
            self.awaits_reading(id, UnreadAnswer::Question);
        }
        let with = brief.or(question).unwrap_or_else(|| self.conversation.take_message());
        step.answer(id, with);
    }

    /// A prompt during a hand-over: holds its call until the run is gone or the hand-over is cancelled.
    /// `false` if Claude may take the prompt.
    fn keeps_prompt(&mut self, step: &mut EventStep<'_>, id: u64) -> bool {
        match &self.phase {
            // It was submitted before hopty began to hold keys: it comes first.
            Phase::Saving { point, .. } if *point != SafePoint::Now => {
                self.back_to_waiting(step);
                false
            }
            Phase::Saving { .. } if !self.policy.is_previous_release() && self.run.hooks.held.is_none() => {
                step.act(Action::HoldHook { id });
                self.run.hooks.held =
                    Some(HeldHook { id, stop: false, since: step.now, ready: true, cut: Cut::Free });
                true
            }
            // It must not become a request of a run that is ending.
            Phase::Stopping { why, step: stop } => {
                step.act(Action::HoldHook { id });
                if let StopStep::Settle { .. } = stop {
                    let why = why.clone();
                    self.terminate(step, why);
                }
                true
            }
            _ => false,
        }
    }

    /// The tools of a response have run: the best moment to stop a loop, once their lines are in the
    /// transcript.
    fn tool_batch(&mut self, step: &mut EventStep<'_>, id: u64, hook: &HookFacts) {
        self.run.set_turn(step.now, Turn::Busy);
        if let Some(wait) = self.conversation.limit_wait.take() {
            wait.end_by_prompt(step, None);
        }
        self.run.turn.background = self.run.turn.background.saturating_add(hook.started);
        if let Some(answer) = hook.answered {
            self.ask_answered(step, answer);
        }
        if matches!(&self.phase, Phase::Saving { point, .. } if *point != SafePoint::Now) {
            // Claude was believed to be idle.
            self.back_to_waiting(step);
        }
        match &self.phase {
            Phase::Running | Phase::Waiting { .. } => {
                self.hold(step, id, HookMoment::ToolBoundary, hook.lines)
            }
            Phase::Saving { .. } | Phase::Stopping { .. } => {
                let reason = "hopty is stopping this run".to_owned();
                step.answer(id, HookAnswer::StopTurn { reason });
            }
            _ => step.answer(id, HookAnswer::Nothing),
        }
    }

    /// A tool has run, in a Claude without PostToolBatch. Its result reaches the disk only after this call,
    /// and other tools may still run. So the call asks Claude to end the turn once all of them are done, and
    /// the transcript shows when that is (measured on 2.0.76: every result is written, no request follows, no
    /// Stop hook runs).
    fn tool_used(&mut self, step: &mut EventStep<'_>, id: u64) {
        self.run.set_turn(step.now, Turn::Busy);
        let due = match &self.phase {
            Phase::Waiting { request } => {
                (request.now || step.now >= request.turn_until) && !self.run.work_waits(step.now, request)
            }
            _ => false,
        };
        let with = match due && !self.run.hooks.turn_cut {
            true => HookAnswer::StopTurn { reason: "hopty hands over after this step".to_owned() },
            false => HookAnswer::Nothing,
        };
        self.run.hooks.turn_cut |= due;
        step.answer(id, with);
    }

    fn turn_over(&mut self, step: &mut EventStep<'_>, id: u64, hook: &HookFacts) {
        self.run.hooks.turn_cut = false;
        self.run.set_turn(step.now, Turn::Idle);
        self.limits.turn_ended_well(step, &mut self.conversation.limit_wait, &self.policy);
        self.run.turn.background = hook.background;
        match &self.phase {
            Phase::Running | Phase::Waiting { .. } => self.hold(step, id, HookMoment::TurnEnd, hook.lines),
            _ => step.answer(id, HookAnswer::Nothing),
        }
    }

    /// Holds a call. With `lines`, hopty also waits for the call's lines in the transcript if a level may be
    /// near.
    fn hold(&mut self, step: &mut EventStep<'_>, id: u64, moment: HookMoment, lines: bool) {
        self.let_go(step);
        // The context usage of an earlier step says nothing about this one: steps can be faster than the
        // transcript is written.
        let known = std::mem::take(&mut self.conversation.usage.measured);
        let far = self.phase == Phase::Running && self.conversation.usage.is_far(&self.policy);
        let lines = lines && !(known && far);
        step.act(Action::HoldHook { id });
        self.run.hooks.held = Some(HeldHook {
            id,
            stop: moment == HookMoment::TurnEnd,
            since: step.now,
            ready: !lines,
            cut: Cut::Free,
        });
        if lines {
            step.act(Action::AwaitLines { id, want: Want::Assistant, until: step.now.after(LINES_MS) });
        } else {
            self.held_is_ready(step);
        }
    }

    /// The lines that a call waited for have arrived, or its time is up.
    pub(super) fn lines(&mut self, step: &mut EventStep<'_>, id: u64, cut: Cut) {
        let awaited = match &self.phase {
            Phase::Saving { point: SafePoint::Batch { hook }, step: SaveStep::Results, .. } => Some(*hook),
            Phase::Saving { point: SafePoint::Prompt { hook, .. }, step: SaveStep::Prompt, .. } => {
                Some(*hook)
            }
            _ => None,
        };
        if awaited == Some(id) {
            self.write_handoff(step);
        } else if let Some(held) = &mut self.run.hooks.held
            && held.id == id
            && !held.ready
        {
            (held.ready, held.cut) = (true, cut);
            self.held_is_ready(step);
        }
    }

    fn held_is_ready(&mut self, step: &mut EventStep<'_>) {
        if self.run.hooks.held.as_ref().is_some_and(|held| held.stop) {
            self.rearm(step);
        }
        self.try_safe_point(step);
        if self.phase == Phase::Running {
            self.let_go(step);
        }
    }

    /// Answers the held hook call with no output: Claude continues.
    pub(super) fn let_go(&mut self, step: &mut EventStep<'_>) {
        if let Some(held) = self.run.hooks.held.take() {
            let with = self.conversation.take_message();
            step.answer(held.id, with);
        }
    }

    pub(super) fn hook_closed(&mut self, step: &mut EventStep<'_>, id: u64) {
        if self.run.hooks.held.as_ref().is_some_and(|held| held.id == id) {
            self.run.hooks.held = None;
        }
        let keeps_answers = !self.policy.is_previous_release();
        let held = |point: &SafePoint, save: &SaveStep| match point {
            SafePoint::Prompt { hook, .. } => *hook == id && (*save == SaveStep::Settings || keeps_answers),
            point => point.hook() == Some(id),
        };
        if matches!(&self.phase, Phase::Saving { point, step: save, .. } if held(point, save)) {
            if self.phase.has_taken_prompt() {
                // Claude was not told to drop it.
                self.run.set_turn(step.now, Turn::Busy);
            }
            // Claude gave up on the hook, so its next request may already be sent: the safe point is gone.
            self.back_to_waiting(step);
        }
        self.brief_may_be_lost(step, id);
        self.answer_is_lost(step, id);
    }

    /// Call `id` gets an answer that must be given again if Claude does not read it.
    pub(super) fn awaits_reading(&mut self, id: u64, what: UnreadAnswer) {
        if !self.policy.is_previous_release() {
            self.run.hooks.unread = Some((id, what));
        }
    }

    /// Claude did not read the answer to call `id`.
    fn answer_is_lost(&mut self, step: &mut EventStep<'_>, id: u64) {
        let Some((_, what)) = self.run.hooks.unread.take_if(|(call, _)| *call == id) else { return };
        match what {
            UnreadAnswer::Question => self.conversation.question.put_again(),
            UnreadAnswer::Note { alone } => {
                if let Phase::Waiting { request } = &mut self.phase {
                    request.note_until = None;
                }
                if alone {
                    self.run.set_turn(step.now, Turn::Idle);
                }
            }
        }
    }

    pub(super) fn tick_hook(&mut self, step: &mut EventStep<'_>) {
        if self.run.hooks.deadline(&self.phase).is_some_and(|at| step.now >= at)
            && let Some(id) = self.run.hooks.held.as_ref().map(|held| held.id)
        {
            self.lines(step, id, Cut::Free);
        }
    }
}
