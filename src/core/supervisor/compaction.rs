//! Claude's own compaction, which must not happen before a hand-over.
//!
//! Before Claude compacts by itself it runs the PreCompact hook; a block lets the turn continue unchanged,
//! and Claude asks again before each later request (measured on 2.1.329). So hopty blocks compaction while a
//! hand-over is under way or due, but never for long: a full conversation that may not compact can only fail.
//! Each call comes with a record that was just saved and with any obstacle to a hand-over; if there is one,
//! compaction goes ahead. A person's `/compact` always goes ahead, and saves no record where the conversation
//! has no prompt.

use serde::{Deserialize, Serialize};

use super::action::{DecisionKind, HookAnswer, RestartBy};
use super::event::HookFacts;
use super::phase::{Phase, RestartRequest};
use super::step::EventStep;
use super::{ProgramKind, Supervisor};
use crate::core::config::RestartMode;
use crate::core::context_level::Level;
use crate::core::ids::HandoffId;
use crate::core::time::Stamp;

/// How often compaction is blocked in one conversation.
const TIMES: u32 = 5;

/// What the host finds out before it handles a PreCompact call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// The record that was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<HandoffId>,
    /// Why no hand-over is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unable: Option<String>,
}

impl Supervisor {
    /// Claude is about to compact.
    pub(super) fn compacts(&mut self, step: &mut EventStep<'_>, id: u64, hook: &HookFacts) {
        let Compaction { record, unable } = hook.compaction.clone().unwrap_or_default();
        if let Some(record) = record {
            let text = format!("Saved handoff {record} before Claude compacts its context.");
            step.decide(DecisionKind::HandoffSaved, text).handoff(record);
            self.handoffs.end_pause();
        }
        let wanted = hook.auto && self.conversation.held_off < TIMES;
        if let Some(why) = unable.filter(|_| wanted && self.would_hand_over(step.now)) {
            let text =
                format!("hopty lets Claude compact its context, because a hand-over would fail: {why}.");
            step.decide(DecisionKind::RestartIgnored, text).by(RestartBy::Level);
            step.answer(id, HookAnswer::Nothing);
            return;
        }
        if !wanted || !self.hands_over_instead(step) {
            step.answer(id, HookAnswer::Nothing);
            return;
        }
        self.conversation.held_off += 1;
        step.answer(
            id,
            HookAnswer::Block { reason: "hopty will hand over to a fresh conversation instead".to_owned() },
        );
    }

    /// Whether a hand-over is under way or due.
    fn would_hand_over(&self, now: Stamp) -> bool {
        let auto =
            self.policy.agent == ProgramKind::Claude && self.policy.config.restart.mode == RestartMode::Auto;
        match &self.phase {
            Phase::Running => {
                auto && !self.restart_limit.is_used_up(now, &self.policy.config.restart)
                    && self.handoffs.pause(now, self.level()).is_none()
                    && !self.conversation.progress.is_missing()
                    && !self.conversation.usage.began_at(Level::Handoff, &self.policy)
            }
            phase => phase.request().is_some_and(|request| request.handoff),
        }
    }

    /// Hurries the hand-over to the next safe point of any kind; `false` if there will be none.
    fn hands_over_instead(&mut self, step: &mut EventStep<'_>) -> bool {
        if !self.would_hand_over(step.now) {
            return false;
        }
        match &mut self.phase {
            Phase::Waiting { request } => request.now = true,
            Phase::Running => {
                let sentence =
                    "Claude was about to compact its context, so hopty requested a hand-over instead.";
                let level = self.level().max(Level::Handoff);
                self.conversation.usage.fired = self.conversation.usage.fired.max(level);
                let request = RestartRequest::new(step, &self.policy, RestartBy::Level);
                self.wait(step, RestartRequest { level: Some(level), now: true, ..request }, sentence);
            }
            _ => {}
        }
        true
    }

    /// Claude has compacted: the window has room again, so a hand-over that was requested for lack of room is
    /// cancelled.
    pub(super) fn compacted(&mut self, step: &mut EventStep<'_>) {
        self.conversation.usage.rearm_at_stop = false;
        if matches!(&self.phase, Phase::Waiting { request } if request.by == RestartBy::Level) {
            self.cancel_request(step, "Claude has compacted its context");
        }
    }
}
