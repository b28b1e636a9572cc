//! An orchestrator's task is completed: its loop ends, so no context level starts another round. What a
//! person or a signal requests still happens.

use super::Supervisor;
use super::action::{DecisionKind, RestartBy};
use super::phase::RestartRequest;
use super::step::EventStep;
use crate::core::context::Level;

impl Supervisor {
    pub(super) fn task(&mut self, step: &mut EventStep<'_>, completed: bool) {
        if self.session.completed == completed {
            return;
        }
        self.session.completed = completed;
        if completed {
            step.tell(DecisionKind::TaskCompleted, "Task completed!");
        } else {
            // A hand-over that was cancelled meanwhile is due at the end of the next turn.
            self.conversation.rearm_at_stop |= self.level() >= Level::Handoff;
        }
    }

    /// Whether a pending hand-over would begin another round of a loop that is over. In the middle of a turn
    /// it still happens, because Claude has more to do then.
    pub(super) fn is_completed(&self, request: &RestartRequest) -> bool {
        let turn_is_over = self
            .run
            .hooks
            .held
            .as_ref()
            .map_or(self.run.turn.state == super::Turn::Idle, |held| held.stop && held.ready);
        self.session.completed && request.by == RestartBy::Level && turn_is_over
    }

    /// Whether the task is completed, for the session's last message.
    #[must_use]
    pub fn task_completed(&self) -> bool {
        self.session.completed
    }
}
