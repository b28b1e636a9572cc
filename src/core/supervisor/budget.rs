//! The restart limit: how many restarts are allowed within a time (`restart.max_restarts`, `restart.window`).

use serde::{Deserialize, Serialize};

use super::Supervisor;
use super::action::{DecisionKind, RestartBy};
use super::step::EventStep;
use crate::core::config::Restart;
use crate::core::time::Stamp;

/// The restarts and resumes of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RestartBudget {
    /// When the restarts within the window happened.
    times: Vec<Stamp>,
    /// The total.
    total: u32,
    /// People were told that the limit is reached.
    told: bool,
}

impl RestartBudget {
    pub(super) fn total(&self) -> u32 {
        self.total
    }

    fn count(&mut self, now: Stamp, restart: &Restart) {
        self.times.retain(|at| now.since(*at) < restart.window.ms());
        self.times.push(now);
        self.total += 1;
    }

    /// Takes the last restart back: it did not happen.
    pub(super) fn take_back(&mut self) {
        self.times.pop();
        self.total = self.total.saturating_sub(1);
    }

    fn is_used_up(&self, now: Stamp, restart: &Restart) -> bool {
        let within = self.times.iter().filter(|at| now.since(**at) < restart.window.ms()).count();
        within >= usize::try_from(restart.max_restarts).unwrap_or(usize::MAX)
    }
}

impl Supervisor {
    /// How often the child was replaced.
    #[must_use]
    pub fn restarts(&self) -> u32 {
        self.budget.total()
    }

    pub(super) fn count_restart(&mut self, now: Stamp) {
        self.budget.count(now, &self.policy.config.restart);
    }

    pub(super) fn over_limit(&self, now: Stamp) -> bool {
        self.budget.is_used_up(now, &self.policy.config.restart)
    }

    pub(super) fn limit_reason(&self) -> String {
        format!(
            "the limit of {} restarts within the window is reached (restart.max_restarts)",
            self.policy.config.restart.max_restarts
        )
    }

    pub(super) fn limit_words(&self) -> String {
        let max = self.policy.config.restart.max_restarts;
        format!("Max restarts reached: {max} within the window; hopty stopped instead of restarting again.")
    }

    /// Whether the limit is reached; tells people once.
    pub(super) fn limit_stands(&mut self, step: &mut EventStep<'_>, by: RestartBy) -> bool {
        let reached = self.over_limit(step.now);
        if reached && !self.budget.told {
            let text = format!("No restart: {}. Claude keeps running.", self.limit_reason());
            step.tell(DecisionKind::RestartIgnored, text).by(by);
        }
        self.budget.told = reached;
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::span;
    use super::*;

    #[test]
    fn restarts_count_for_the_window_and_no_longer() {
        let restart = Restart { max_restarts: 2, window: span(1000), ..Restart::default() };
        let mut budget = RestartBudget::default();
        budget.count(Stamp(0), &restart);
        assert!(!budget.is_used_up(Stamp(0), &restart));
        budget.count(Stamp(500), &restart);
        assert!(budget.is_used_up(Stamp(999), &restart) && !budget.is_used_up(Stamp(1000), &restart));
        budget.take_back();
        assert!(!budget.is_used_up(Stamp(500), &restart) && budget.total() == 1);
    }
}
