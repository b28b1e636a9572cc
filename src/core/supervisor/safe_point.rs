//! The safe point of a hand-over: the moment at which nothing is lost, and what is worth waiting for until
//! then.
//!
//! Claude's own words for the handoff are requested once, if there is room and time, and never waited for
//! long. In a tool loop hopty asks as soon as a level is reached, and the loop goes on: the answer is the text
//! of a later message. Otherwise the request is part of the answer to the hook at which Claude could have been
//! stopped. Claude's reply ends its next turn, so the end of that turn is the safe point; if Claude uses
//! tools instead, the first tool boundary after the time limit is.

use super::action::{HookAnswer, HookInstruction, RestartBy};
use super::hooks::HeldHook;
use super::phase::{Phase, RestartRequest, SafePoint};
use super::policy::Agent;
use super::step::EventStep;
use super::{Supervisor, Turn};
use crate::core::config::SummaryMode;
use crate::core::context::Level;
use crate::core::time::Stamp;

/// How long before Claude would give up on a held hook hopty answers it, in ms.
pub(super) const HOLD_MARGIN_MS: u64 = 2000;
/// How long to wait for Claude's own words, in ms. Its turn goes on meanwhile.
const NOTE_MS: u64 = 90_000;

impl Supervisor {
    /// Takes the current safe point, if there is one.
    pub(super) fn try_safe_point(&mut self, step: &mut EventStep<'_>) {
        let Phase::Waiting { request } = self.phase.clone() else { return };
        if self.run.pid.is_none() || self.sends_half_typed(step.now) {
            return;
        }
        if self.stands_still() && !request.forced {
            if self.run.hooks.held.as_ref().is_some_and(|held| held.ready) {
                self.let_go(step);
            }
            return;
        }
        // It would begin another round of a loop that is over. In the middle of a turn it still happens, because
        // Claude has more to do then.
        if self.session.completed && request.by == RestartBy::Level && self.run.turn_is_over() {
            self.cancel_request(step, "the task is completed");
            return;
        }
        if let Some(held) = self.run.hooks.held.clone() {
            if !held.ready {
                return;
            }
            let hold_over = step.now.since(held.since) + HOLD_MARGIN_MS >= self.policy.config.hooks.hold.ms();
            let work_waits = self.run.work_waits(step.now, &request);
            if held.stop {
                // Running background work and a person's draft are worth waiting for, but not while a hook is
                // held.
                if work_waits || (!request.forced && self.run.person_writes(step.now)) {
                    self.let_go(step);
                } else if self.waits_for_prompt(step.now, &request) && !self.run.next_is_queued() {
                    self.wait_for_prompt(step);
                    self.let_go(step);
                } else if self.may_ask_for_note(&request) {
                    self.ask_for_note(step, &held, false);
                } else {
                    self.begin_saving(step, request, SafePoint::Stop { hook: held.id });
                }
            } else if request.now || step.now >= request.turn_until {
                if work_waits && !hold_over {
                    return;
                }
                if held.completes_first(step.now, &request, self.policy.config.restart.work_wait.ms()) {
                    self.let_go(step);
                } else if self.may_ask_for_note(&request) {
                    self.ask_for_note(step, &held, false);
                } else if !request.now && request.note_until.is_some_and(|until| step.now < until) {
                    self.let_go(step);
                } else {
                    self.begin_saving(step, request, SafePoint::Batch { hook: held.id });
                }
            } else if self.policy.rules > 1
                && request.by == RestartBy::Level
                && self.may_ask_for_note(&request)
            {
                self.ask_for_note(step, &held, true);
            } else {
                self.let_go(step);
            }
            return;
        }
        if request.forced {
            self.begin_saving(step, request, SafePoint::Now);
        } else if self.policy.agent == Agent::Plain || self.run.is_idle(step.now, &request) {
            if self.waits_for_prompt(step.now, &request) {
                // A queued prompt begins a turn by itself.
                if !self.run.next_is_queued() {
                    self.wait_for_prompt(step);
                }
            } else if !self.draft_waits(step.now) {
                self.begin_saving(step, request, SafePoint::Idle);
            }
        }
    }

    /// The box holds a draft, and there is time to wait; the time starts with the first draft.
    fn draft_waits(&mut self, now: Stamp) -> bool {
        let writes = self.run.person_writes(now);
        let until = now.after(self.policy.config.restart.draft_wait.ms());
        match &mut self.phase {
            Phase::Waiting { request } if writes => now < *request.draft_until.get_or_insert(until),
            _ => false,
        }
    }

    /// Whether to ask Claude for its own words before it is stopped: not twice, not if the person does not
    /// want to wait, and not above the hard level, where the answer might no longer fit.
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

    /// Lets Claude continue with the request for its own words. In a tool loop hopty does not wait for the
    /// answer.
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
        step.answer(held.id, HookAnswer::Tell { what });
    }
}
