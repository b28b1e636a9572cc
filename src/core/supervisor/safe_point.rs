//! The safe point of a hand-over: the moment at which nothing is lost, and what is worth waiting for until
//! then.

use super::event::AgentStatus;
use super::hooks::HeldHook;
use super::phase::{Phase, RestartRequest, SafePoint};
use super::screen_facts::PromptBox;
use super::step::EventStep;
use super::{Agent, Supervisor, Turn};
use crate::core::handoff::operation::Cut;
use crate::core::time::Stamp;

/// How long the sessions file must report idle before it outweighs hooks that report busy (an interrupt calls
/// no Stop), in ms.
const IDLE_STABLE_MS: u64 = 1000;
/// The same if the file has not changed since the turn began, in ms: it lags behind hooks, but never that
/// long.
const IDLE_STALE_MS: u64 = 5000;
/// How long after a key a person counts as writing, in ms: the screen may not show it yet, or the key was
/// Enter.
const TYPING_MS: u64 = 1000;
/// How long before Claude would give up on a held hook hopty answers it, in ms.
const HOLD_MARGIN_MS: u64 = 2000;

impl Supervisor {
    /// Takes the current safe point, if there is one.
    pub(super) fn try_safe_point(&mut self, step: &mut EventStep<'_>) {
        let Phase::Waiting { request } = self.phase.clone() else { return };
        if self.run.pid.is_none() || self.submit_is_typed(step.now) {
            return;
        }
        if self.stands_still() && !request.forced {
            if self.run.hooks.held.as_ref().is_some_and(|held| held.ready) {
                self.let_go(step);
            }
            return;
        }
        if self.is_completed(&request) {
            self.cancel_request(step, "the task is completed");
            return;
        }
        if let Some(held) = self.run.hooks.held.clone() {
            if !held.ready {
                return;
            }
            let hold_over = step.now.since(held.since) + HOLD_MARGIN_MS >= self.policy.config.hooks.hold.ms();
            let work_waits = self.work_waits(step.now, &request);
            if held.stop {
                // Running background work and a person's draft are worth waiting for, but not while a hook is
                // held.
                if work_waits || (!request.forced && self.person_writes(step.now)) {
                    self.let_go(step);
                } else if self.waits_for_prompt(step.now, &request) && !self.next_is_queued() {
                    self.wait_for_prompt(step);
                    self.let_go(step);
                } else if self.may_ask_for_note(&request) {
                    self.ask_for_note(step, &held);
                } else {
                    self.begin_saving(step, request, SafePoint::Stop { hook: held.id });
                }
            } else if request.now || step.now >= request.turn_until {
                if work_waits && !hold_over {
                    return;
                }
                if self.completes_first(step.now, &request, &held) {
                    self.let_go(step);
                } else if self.may_ask_for_note(&request) {
                    self.ask_for_note(step, &held);
                } else if !request.now && request.note_until.is_some_and(|until| step.now < until) {
                    self.let_go(step);
                } else {
                    self.begin_saving(step, request, SafePoint::Batch { hook: held.id });
                }
            } else if self.asks_in_loop(&request) {
                self.ask_in_loop(step, &held);
            } else {
                self.let_go(step);
            }
            return;
        }
        if request.forced {
            self.begin_saving(step, request, SafePoint::Now);
        } else if self.is_idle(step.now, &request) {
            if self.waits_for_prompt(step.now, &request) {
                // A queued prompt begins a turn by itself.
                if !self.next_is_queued() {
                    self.wait_for_prompt(step);
                }
            } else if !self.draft_waits(step.now) {
                self.begin_saving(step, request, SafePoint::Idle);
            }
        }
    }

    /// Sub-agents or background shells run, and there is time to wait for them.
    pub(super) fn work_waits(&self, now: Stamp, request: &RestartRequest) -> bool {
        let works = self.run.turn.background > 0 || self.run.file.status == Some(AgentStatus::Shell);
        works && !request.forced && now < request.work_until
    }

    /// Claude's work should not be interrupted here, and there is time to let it finish: it is done by the
    /// next boundary, or by the end of the turn. Above the hard level, or if somebody wants the hand-over
    /// now, hopty does not wait.
    fn completes_first(&self, now: Stamp, request: &RestartRequest, held: &HeldHook) -> bool {
        let last = request.turn_until.after(self.policy.config.restart.work_wait.ms());
        held.cut != Cut::Free && !request.now && !request.forced && now < last
    }

    fn person_writes(&self, now: Stamp) -> bool {
        self.run.screen.facts.prompt == PromptBox::Draft
            || self.run.typed.is_some_and(|at| now < at.after(TYPING_MS))
    }

    /// The box holds a draft, and there is time to wait; the time starts with the first draft.
    fn draft_waits(&mut self, now: Stamp) -> bool {
        let writes = self.person_writes(now);
        let until = now.after(self.policy.config.restart.draft_wait.ms());
        match &mut self.phase {
            Phase::Waiting { request } if writes => now < *request.draft_until.get_or_insert(until),
            _ => false,
        }
    }

    /// Whether Claude waits for a prompt, according to all sources.
    fn is_idle(&self, now: Stamp, request: &RestartRequest) -> bool {
        if self.policy.agent == Agent::Plain {
            return true;
        }
        if self.run.stopped || self.obstacle().is_some() || self.work_waits(now, request) {
            return false;
        }
        match (self.run.file.status, self.run.turn.state) {
            (Some(AgentStatus::Idle), Turn::Idle | Turn::Unknown) => true,
            (Some(AgentStatus::Idle), Turn::Busy) => now >= self.idle_outweighs_hooks(),
            // Its turn is over and background work keeps it busy, but the time to wait for that is over, too.
            (Some(AgentStatus::Busy | AgentStatus::Shell), Turn::Idle) => {
                now >= request.work_until && now >= self.busy_is_stale()
            }
            (Some(AgentStatus::Other) | None, Turn::Idle) => true,
            _ => false,
        }
    }

    fn idle_outweighs_hooks(&self) -> Stamp {
        if self.run.file.since >= self.run.turn.since {
            self.run.file.since.after(IDLE_STABLE_MS)
        } else {
            self.run.turn.since.after(IDLE_STALE_MS)
        }
    }

    /// When to believe a file that keeps reporting idle against hooks that report busy.
    pub(super) fn idle_settles(&self) -> Option<Stamp> {
        let differ = self.run.turn.state == Turn::Busy
            && matches!(self.run.file.status, Some(AgentStatus::Idle | AgentStatus::Shell));
        (differ && self.run.pid.is_some()).then(|| self.idle_outweighs_hooks())
    }

    pub(super) fn idle_has_settled(&self) -> bool {
        self.ticked >= self.idle_outweighs_hooks()
    }

    fn busy_is_stale(&self) -> Stamp {
        self.run.file.since.max(self.run.turn.since).after(IDLE_STABLE_MS)
    }

    pub(super) fn waiting_deadlines(&self, request: &RestartRequest, due: &mut Vec<Stamp>) {
        due.push(request.work_until);
        due.extend(request.draft_until);
        due.extend(self.person_leaves_at());
        due.extend(self.run.typed.map(|at| at.after(TYPING_MS)));
        if let Some(held) = &self.run.hooks.held {
            due.push(request.turn_until);
            due.push(held.since.after(self.policy.config.hooks.hold.ms().saturating_sub(HOLD_MARGIN_MS)));
        }
        match (self.run.file.status, self.run.turn.state) {
            (Some(AgentStatus::Idle), Turn::Busy) => due.push(self.idle_outweighs_hooks()),
            (Some(AgentStatus::Busy | AgentStatus::Shell), Turn::Idle) => due.push(self.busy_is_stale()),
            _ => {}
        }
    }
}
