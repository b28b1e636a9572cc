//! The time of a test: its deadline, and how long a wait may last.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::step_failure::{StepFailure, StepResult};
use crate::core::tape::TapeTime;
use crate::sys::poll::{Interest, PollSet, is_readable};
use crate::testing::outcome::FailureKind;

/// What to do about a tape that takes too long.
const DEADLINE_HINT: &str = "`Set Deadline 5m` at the top of the tape gives it more time";

pub(super) struct TestClock {
    began: Instant,
    /// How long the tape may take.
    deadline: TapeTime,
    /// The default limit of a check.
    check_limit: TapeTime,
    is_fast: bool,
    /// Becomes readable to stop all tests.
    stop: Option<Arc<OwnedFd>>,
    /// The current command's wait is limited by the deadline.
    is_cut: bool,
}

impl TestClock {
    /// A clock that starts now. `is_fast`: keys and pauses take no time.
    pub fn new(deadline: TapeTime, check_limit: TapeTime, is_fast: bool, stop: Option<Arc<OwnedFd>>) -> Self {
        TestClock { began: Instant::now(), deadline, check_limit, is_fast, stop, is_cut: false }
    }

    pub fn began(&self) -> Instant {
        self.began
    }

    pub fn is_fast(&self) -> bool {
        self.is_fast
    }

    /// Starts a command, if there is time.
    pub fn begin_command(&mut self) -> StepResult {
        self.is_cut = false;
        self.in_time()
    }

    pub fn time_left(&self) -> Duration {
        duration(self.deadline).saturating_sub(self.began.elapsed())
    }

    /// Fails if the time is over, or if all tests are to stop.
    pub fn in_time(&self) -> StepResult {
        if self.stop.as_ref().is_some_and(|stop| is_readable(stop.as_fd())) {
            return Err(StepFailure::stopped());
        }
        if !self.time_left().is_zero() {
            return Ok(());
        }
        let message = format!("the tape has taken longer than its deadline of {}", self.deadline);
        Err(StepFailure::new(FailureKind::Timeout, message).hint(DEADLINE_HINT))
    }

    /// How long a wait may last: its own limit or the default, but not beyond the deadline.
    pub fn limit(&mut self, given: Option<TapeTime>, usual: TapeTime) -> Duration {
        let (wanted, left) = (duration(given.unwrap_or(usual)), self.time_left());
        self.is_cut |= left < wanted;
        wanted.min(left)
    }

    /// [`TestClock::limit`] with the default of checks.
    pub fn check_limit(&mut self, given: Option<TapeTime>) -> Duration {
        self.limit(given, self.check_limit)
    }

    /// Adds to a failure that the deadline ended the wait, if it did.
    pub fn cut_by_deadline(&self, mut failure: Box<StepFailure>) -> Box<StepFailure> {
        if self.is_cut && self.time_left().is_zero() && !failure.is_stop {
            failure.message =
                format!("{}; the tape's deadline of {} ended the wait", failure.message, self.deadline);
            failure.hint.get_or_insert_with(|| DEADLINE_HINT.to_owned());
        }
        failure
    }

    /// Subtracts the time that a person used.
    pub fn leave_out(&mut self, time: Duration) {
        self.began += time;
    }

    /// Waits for a time without a terminal to serve.
    pub fn pass(&self, time: Duration) -> StepResult {
        let mut set = PollSet::default();
        if let Some(stop) = &self.stop {
            set.add((), stop.as_fd(), Interest::Read);
        }
        let _ = set.wait_within(Some(time));
        self.in_time()
    }
}

/// The time of a tape as a duration of the clock.
pub(super) fn duration(time: TapeTime) -> Duration {
    Duration::from_nanos(time.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: TapeTime = TapeTime::from_millis(1000);

    /// A clock with a deadline of 10 s, after `seconds`.
    fn clock(seconds: u64) -> TestClock {
        let mut clock = TestClock::new(TapeTime::from_millis(10_000), SECOND, true, None);
        clock.began = clock.began.checked_sub(Duration::from_secs(seconds)).unwrap();
        clock
    }

    #[test]
    fn a_wait_lasts_as_long_as_it_says_and_not_beyond_the_deadline() {
        let mut clock = clock(7);
        assert_eq!(clock.check_limit(None), Duration::from_secs(1));
        assert_eq!(clock.check_limit(Some(TapeTime::from_millis(2000))), Duration::from_secs(2));
        let left = clock.limit(None, TapeTime::from_millis(5000));
        assert!(left <= Duration::from_secs(3) && left > Duration::from_secs(1), "{left:?}");
    }

    #[test]
    fn only_a_wait_that_the_deadline_cut_short_tells_of_the_deadline() {
        let told = |clock: &TestClock| clock.cut_by_deadline(StepFailure::check("no")).message.clone();
        let mut clock = clock(7);
        clock.check_limit(Some(TapeTime::from_millis(5000)));
        assert_eq!(told(&clock), "no", "there was time left when it failed");
        clock.began -= Duration::from_secs(9);
        assert_eq!(told(&clock), "no; the tape's deadline of 10s ended the wait");
        clock.leave_out(Duration::from_secs(9));
        clock.begin_command().unwrap();
        clock.began -= Duration::from_secs(9);
        assert_eq!(told(&clock), "no", "the command before it was cut short");
    }

    #[test]
    fn the_time_of_a_person_is_not_the_tests() {
        let mut clock = clock(11);
        assert!(clock.in_time().unwrap_err().message.ends_with("longer than its deadline of 10s"));
        clock.leave_out(Duration::from_secs(5));
        clock.in_time().unwrap();
        assert!(clock.time_left() > Duration::from_secs(3));
    }
}
