//! The program's descendants: collected before a run ends, and ended after it if any remain.

use crate::core::process_change::Signal;
use crate::core::time::Stamp;
use crate::sys::process::Process;

/// How long remaining descendants get between SIGTERM and SIGKILL, in ms.
const GRACE_MS: u64 = 2000;
/// How long to keep a descendant that was killed, in ms. One that hangs in the kernel never goes.
const KILLED_MS: u64 = 1000;

/// The descendants of a run and of the one before.
#[derive(Debug, Default)]
pub(super) struct Descendants {
    /// The program's descendants at the last check.
    tree: Vec<Process>,
    leftovers: Vec<Leftover>,
}

/// A descendant that outlived its run.
#[derive(Debug)]
struct Leftover {
    process: Process,
    killed: bool,
    /// When to kill it, and once it is killed, when to forget it.
    until: Stamp,
}

impl Descendants {
    /// For the next run: keeps only those that have not ended.
    pub fn handed_on(self) -> Self {
        Descendants { tree: Vec::new(), leftovers: self.leftovers }
    }

    pub fn deadline(&self) -> Option<Stamp> {
        self.leftovers.iter().map(|leftover| leftover.until).min()
    }

    /// Whether all remaining descendants have ended.
    pub fn are_gone(&self) -> bool {
        self.leftovers.iter().all(|leftover| leftover.process.is_gone())
    }

    /// Whether remaining descendants still have time to end.
    pub fn have_time(&self) -> bool {
        !self.leftovers.is_empty()
    }

    /// Adds the program's current descendants. Keeps those of an earlier check that the host has adopted
    /// since.
    pub fn collect(&mut self, found: Vec<Process>) {
        self.tree.retain(|known| !known.is_gone());
        let new: Vec<Process> =
            found.into_iter().filter(|p| self.tree.iter().all(|known| known.pid != p.pid)).collect();
        self.tree.extend(new);
    }

    /// The run is over: sends SIGTERM to the remaining descendants, and returns how many they are.
    pub fn end(&mut self, now: Stamp) -> u32 {
        let before = self.leftovers.len();
        for process in self.tree.drain(..).filter(|process| !process.is_gone()) {
            let _ = process.signal(Signal::TERM);
            self.leftovers.push(Leftover { process, killed: false, until: now.after(GRACE_MS) });
        }
        u32::try_from(self.leftovers.len() - before).unwrap_or(u32::MAX)
    }

    /// Kills those that have not ended in time, and forgets those that have.
    pub fn kill_late(&mut self, now: Stamp) {
        self.leftovers.retain_mut(|leftover| {
            if leftover.process.is_gone() {
                return false;
            }
            if now >= leftover.until && !leftover.killed {
                let _ = leftover.process.signal(Signal::KILL);
                (leftover.killed, leftover.until) = (true, now.after(KILLED_MS));
            }
            now < leftover.until
        });
    }

    /// The host ends: no descendant gets more time.
    pub fn kill(&self) {
        for leftover in &self.leftovers {
            let _ = leftover.process.signal(Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child as Program, Command};

    fn sleeper() -> Program {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn process(program: &Program) -> Process {
        Process::open(i32::try_from(program.id()).unwrap()).unwrap()
    }

    #[test]
    fn what_is_left_is_told_to_end_and_forgotten_when_it_has() {
        let mut program = sleeper();
        let mut left = Descendants::default();
        left.collect(vec![process(&program)]);
        left.collect(vec![process(&program)]);
        assert_eq!((left.deadline(), left.have_time()), (None, false));
        assert_eq!(left.end(Stamp(10)), 1);
        assert_eq!((left.deadline(), left.have_time()), (Some(Stamp(10 + GRACE_MS)), true));
        program.wait().unwrap();
        assert!(left.are_gone());
        left.kill_late(Stamp(20));
        assert!(!left.have_time());
    }

    #[test]
    fn it_goes_along_to_the_next_run_and_is_killed_when_it_takes_too_long() {
        let mut program = sleeper();
        process(&program).signal(Signal(nix::libc::SIGSTOP)).unwrap();
        let mut left = Descendants::default();
        left.collect(vec![process(&program)]);
        left.end(Stamp(0));
        let mut left = left.handed_on();
        left.kill_late(Stamp(GRACE_MS - 1));
        assert!(left.have_time());
        left.kill_late(Stamp(GRACE_MS));
        assert!(left.have_time(), "killed is not yet gone");
        program.wait().unwrap();
        assert!(left.are_gone());
        left.kill_late(Stamp(GRACE_MS));
        assert!(!left.have_time());
    }

    #[test]
    fn one_that_not_even_sigkill_ends_is_forgotten() {
        // A zombie counts as gone, and nothing in a test hangs in the kernel, so act as if the signal had
        // been lost.
        let mut program = sleeper();
        let mut left = Descendants::default();
        left.leftovers.push(Leftover { process: process(&program), killed: true, until: Stamp(5) });
        left.kill_late(Stamp(4));
        assert!(left.have_time());
        left.kill_late(Stamp(5));
        assert!(!left.have_time());
        program.kill().unwrap();
        program.wait().unwrap();
    }
}
