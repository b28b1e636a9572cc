//! Whether a session has settled: its screen is quiet and none of its processes is working.
//!
//! A program that computes between two lines is quiet, too, and so is one that waits for a CPU on a busy
//! machine.

use std::time::{Duration, Instant};

use crate::testing::processes::TestProcesses;

/// The time between the two samples that show whether a process ran.
const LOOK_TWICE: Duration = Duration::from_millis(2);

/// The processes of a session, and the quiet time that it needs.
#[derive(Debug)]
pub(super) struct SettleWatch {
    quiet: Duration,
    processes: Option<TestProcesses>,
}

impl SettleWatch {
    /// `pid`: the session's program.
    pub fn new(quiet: Duration, pid: Option<i32>) -> Self {
        SettleWatch { quiet, processes: pid.map(|pid| TestProcesses::new(pid, None)) }
    }

    /// How long an unchanged screen cannot have settled: until it has been quiet for long enough, then until
    /// the next look at the processes.
    pub fn pause(&self, changed: Instant) -> Duration {
        match self.quiet.saturating_sub(changed.elapsed()) {
            Duration::ZERO => self.slice(),
            left => left,
        }
    }

    /// The longest pause before the next look at the screen.
    pub fn slice(&self) -> Duration {
        self.quiet.clamp(Duration::from_millis(25), Duration::from_millis(100))
    }

    /// Whether the screen, which last changed at `changed`, is quiet and no process runs or could run. The
    /// caller must look at the screen once more.
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
