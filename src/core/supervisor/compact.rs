//! Claude's own compaction, which must not get there before a hand-over does (DESIGN 6.2).
//!
//! Before it compacts by itself Claude calls PreCompact; a block lets the turn go on as it is, and Claude asks again before
//! each later request (measured on 2.1.329). So compaction is held off while a hand-over is on its way, or is what should
//! happen instead, and never for long: a conversation that is full and may not compact can only fail. A person's `/compact`
//! is a person's.

use super::action::{Action, HookAnswer, RestartBy};
use super::phase::{Phase, Request};
use super::{Agent, Supervisor};
use crate::core::config::RestartMode;
use crate::core::context::Level;
use crate::core::time::Stamp;

/// How often in one conversation Claude is kept from compacting before it is let.
const TIMES: u32 = 5;

impl Supervisor {
    /// Claude is about to compact.
    pub(super) fn compacts(&mut self, now: Stamp, id: u64, auto: bool, out: &mut Vec<Action>) {
        if !auto || self.held_off >= TIMES || !self.hands_over_instead(now, out) {
            self.answer(id, HookAnswer::Nothing, out);
            return;
        }
        self.held_off += 1;
        self.answer(id, HookAnswer::Block { reason: "hopty hands over to a fresh conversation instead".to_owned() }, out);
    }

    /// Sees to it that a hand-over comes at the next safe point of any kind; `false` when there is to be none.
    fn hands_over_instead(&mut self, now: Stamp, out: &mut Vec<Action>) -> bool {
        let may = self.policy.agent == Agent::Claude && self.policy.config.restart.mode == RestartMode::Auto && !self.over_limit(now);
        let may = may && !self.progress.is_missing();
        match &mut self.phase {
            Phase::Waiting { request } if request.handoff => request.now = true,
            Phase::Saving { request, .. } if request.handoff => {}
            Phase::Running if may => {
                let sentence = "Claude was about to compact its context; a hand-over was requested instead.".to_owned();
                let level = self.level().max(Level::Handoff);
                self.fired = self.fired.max(level);
                let request = self.new_request(now, RestartBy::Level);
                self.wait(now, Request { level: Some(level), now: true, ..request }, sentence, self.event_seq, out);
            }
            _ => return false,
        }
        true
    }

    /// Claude has compacted: there is room again, and what was asked for because there was none falls away.
    pub(super) fn compacted(&mut self, now: Stamp, out: &mut Vec<Action>) {
        self.rearm_at_stop = false;
        if matches!(&self.phase, Phase::Waiting { request } if request.by == RestartBy::Level) {
            self.cancel_request(now, "Claude has compacted its context", out);
        }
    }
}
