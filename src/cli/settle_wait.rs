//! Whether a session has settled: its screen is quiet, and none of its processes works.
//!
//! A program that computes between two lines is quiet, too. So is one that waits for a CPU on a busy machine.

use std::time::{Duration, Instant};

use crate::testing::processes::TestProcesses;

/// How long there is between the two looks that tell whether a process ran.
const LOOK_TWICE: Duration = Duration::from_millis(2);

/// The processes of a session, and since when its screen is quiet.
#[derive(Debug)]
pub(super) struct SettleWatch {
    /// How long the screen must be quiet.
    quiet: Duration,
    processes: Option<TestProcesses>,
}

impl SettleWatch {
    /// For a session whose program has this pid.
    pub fn new(quiet: Duration, pid: Option<i32>) -> Self {
        SettleWatch { quiet, processes: pid.map(|pid| TestProcesses::new(pid, None)) }
    }

    /// How long nothing can have settled while the screen stays as it is: until it was quiet for long enough,
    /// then, as processes still work, until they are looked at again.
    pub fn pause(&self, changed: Instant) -> Duration {
        match self.quiet.saturating_sub(changed.elapsed()) {
            Duration::ZERO => self.slice(),
            left => left,
        }
    }

    /// How long to wait for the next look at the screen, at most.
    pub fn slice(&self) -> Duration {
        self.quiet.clamp(Duration::from_millis(25), Duration::from_millis(100))
    }

    /// Whether the screen, which last changed then, is quiet and no process runs or could run. The caller has
    /// to look at the screen once more.
    pub fn is_settled(&mut self, changed: Instant) -> bool {
        if changed.elapsed() < self.quiet {
            return false;
        }
        let Some(processes) = &mut self.processes else { return true };
        let first = processes.look();
        if first.is_working() {
            return false;
        }
        std::thread::sleep(LOOK_TWICE);
        processes.look().is_same_as(&first)
    }
}
