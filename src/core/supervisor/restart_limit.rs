//! The restart limit: how many restarts are allowed within a time (`restart.max_restarts`, `restart.window`).

use serde::{Deserialize, Serialize};

use super::action::{DecisionKind, RestartBy};
use super::step::EventStep;
use crate::core::config::Restart;
use crate::core::time::Stamp;

/// The restarts and resumes of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RestartLimit {
    /// When the restarts within the window happened.
    times: Vec<Stamp>,
    total: u32,
    /// People were told about the limit.
    #[serde(rename = "told")]
    limit_was_reported: bool,
}

impl RestartLimit {
    pub(super) fn total(&self) -> u32 {
        self.total
    }

    pub(super) fn count(&mut self, now: Stamp, restart: &Restart) {
        self.times.retain(|at| now.since(*at) < restart.window.ms());
        self.times.push(now);
        self.total += 1;
    }

    /// Takes the last restart back because it did not happen.
    pub(super) fn take_back(&mut self) {
        self.times.pop();
        self.total = self.total.saturating_sub(1);
    }

    pub(super) fn is_used_up(&self, now: Stamp, restart: &Restart) -> bool {
        let within = self.times.iter().filter(|at| now.since(**at) < restart.window.ms()).count();
        within >= usize::try_from(restart.max_restarts).unwrap_or(usize::MAX)
    }

    /// Why no restart is allowed now, if that is so.
    pub(super) fn refusal(&self, now: Stamp, restart: &Restart) -> Option<String> {
        self.is_used_up(now, restart).then(|| {
            format!(
                "the limit of {} restarts within the window is reached (restart.max_restarts)",
                restart.max_restarts
            )
        })
    }

    /// Whether a hand-over by a level is refused; reports it once.
    pub(super) fn refuses_level(&mut self, step: &mut EventStep<'_>, restart: &Restart) -> bool {
        let refusal = self.refusal(step.now, restart);
        if let Some(reason) = refusal.as_ref().filter(|_| !self.limit_was_reported) {
            let text = format!("No restart: {reason}. Claude keeps running.");
            step.tell(DecisionKind::RestartIgnored, text).by(RestartBy::Level);
        }
        self.limit_was_reported = refusal.is_some();
        self.limit_was_reported
    }

    /// The session's last sentence when the limit ends it.
    pub(super) fn last_sentence(restart: &Restart) -> String {
        let max = restart.max_restarts;
        format!("Max restarts reached: {max} within the window; hopty stopped instead of restarting again.")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::span;
    use super::*;

    #[test]
    fn restarts_count_for_the_window_and_no_longer() {
        let restart = Restart { max_restarts: 2, window: span(1000), ..Restart::default() };
        let mut budget = RestartLimit::default();
        budget.count(Stamp(0), &restart);
        assert!(!budget.is_used_up(Stamp(0), &restart));
        budget.count(Stamp(500), &restart);
        assert!(budget.is_used_up(Stamp(999), &restart) && !budget.is_used_up(Stamp(1000), &restart));
        budget.take_back();
        assert!(!budget.is_used_up(Stamp(500), &restart) && budget.total() == 1);
    }

    #[test]
    fn people_are_told_once_each_time_that_the_limit_is_reached() {
        let restart = Restart { max_restarts: 1, window: span(1000), ..Restart::default() };
        let mut budget = RestartLimit::default();
        budget.count(Stamp(0), &restart);
        let told = [(1, 2), (2, 0), (1000, 0), (1001, 0)].map(|(now, actions)| {
            let mut out = Vec::new();
            let refused = budget.refuses_level(&mut EventStep::new(Stamp(now), 1, 1, &mut out), &restart);
            assert_eq!(out.len(), actions, "at {now}: {out:?}");
            refused
        });
        assert_eq!(told, [true, true, false, false]);
        budget.count(Stamp(2000), &restart);
        let mut out = Vec::new();
        assert!(budget.refuses_level(&mut EventStep::new(Stamp(2001), 1, 1, &mut out), &restart));
        assert_eq!(out.len(), 2, "{out:?}");
    }
}
