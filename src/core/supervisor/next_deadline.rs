//! The earliest of all deadlines.

use super::Supervisor;
use super::phase::{Phase, StopStep};
use crate::core::time::Stamp;

impl Supervisor {
    /// When `Tick` is due at the latest. After a `Tick` it is later than that tick, so the loop cannot spin.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Stamp> {
        let mut due = Vec::new();
        match &self.phase {
            Phase::Running => due.extend(self.ask_deadline()),
            Phase::Waiting { request } => self.waiting_deadlines(request, &mut due),
            Phase::Saving { step, .. } => due.push(self.saving_deadline(*step)),
            Phase::Stopping { step: StopStep::Settle { until }, .. } => due.push(*until),
            Phase::Stopping { step: StopStep::Term { kill_at }, .. } => due.push(*kill_at),
            Phase::Cooling { until, held, .. } => due.extend(held.is_empty().then_some(*until)),
            Phase::Delivering { submission, .. } => {
                submission.deadlines(&mut due);
                due.extend(self.hook_wait_deadline().filter(|_| submission.is_ready()));
            }
            Phase::Stopping { step: StopStep::Kill, .. }
            | Phase::Cold
            | Phase::Spawning { .. }
            | Phase::Closed { .. } => {}
        }
        due.extend(self.held_deadline());
        due.extend(self.idle_settles());
        due.extend(self.mute_deadline());
        self.submit_deadlines(&mut due);
        self.limit_deadlines(&mut due);
        due.into_iter().filter(|at| *at > self.ticked).min()
    }
}
