//! The processes of a program under test: itself, its descendants, and their orphans. What they do, how long
//! they waited for a CPU, and ending all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::program_wait::WaitClock;
use crate::core::process_change::{ProcessEnd, Signal};
use crate::pty::child;
use crate::sys::process::{self, Process};
use crate::sys::process_activity::{self, ProcessActivity, adopted_children, children};

/// How often to check whether the processes have ended.
const PROCESS_END_POLL: Duration = Duration::from_millis(2);
/// How often to check orphans that may be about to end.
const ENDING_LOOKS: usize = 50;
/// How often to kill processes that keep starting others.
const KILLS_MAX: usize = 500;

/// All processes of one program under test.
#[derive(Debug)]
pub struct TestProcesses {
    root: i32,
    root_start: u64,
    /// A directory that no other test has. It identifies the program's orphans: their environment contains
    /// it, or they run in it.
    own_dir: Option<PathBuf>,
    /// All processes that were seen and may be alive, with their last activity.
    known: BTreeMap<i32, ProcessActivity>,
    /// Orphans of other tests, by pid and start time.
    foreign: BTreeSet<(i32, u64)>,
    ran: Duration,
    waited: Duration,
}

/// A snapshot of what the processes do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessLook {
    /// All that are alive.
    pub all: Vec<ProcessActivity>,
    /// How long they had run in total, including processes that have ended, as far as they were seen.
    pub ran: Duration,
    /// How long they had waited for a CPU in total.
    pub waited: Duration,
}

impl ProcessLook {
    /// Whether one of them runs, could run, or waits for a disk.
    pub fn is_working(&self) -> bool {
        self.all.iter().any(|process| process.is_working)
    }

    /// Whether nothing has happened since `before`: no process started, ended or ran.
    pub fn is_same_as(&self, before: &ProcessLook) -> bool {
        let what = |look: &ProcessLook| -> Vec<(i32, u64, u64, Duration)> {
            let each = look.all.iter();
            each.map(|now| (now.stat.pid, now.stat.start, now.turns, now.ran)).collect()
        };
        what(self) == what(before)
    }
}

/// A process that outlives its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftProcess {
    pub pid: i32,
    /// Its session: the id of the process that leads it.
    pub session: i32,
    /// Its command line, separated by blanks.
    pub command: String,
}

impl TestProcesses {
    /// The processes of the program `root`, which leads a session. `own_dir` is a directory that only this
    /// test has, in its environment or as its working directory: it identifies orphans of the program that
    /// have started a session of their own.
    #[must_use]
    pub fn new(root: i32, own_dir: Option<PathBuf>) -> Self {
        TestProcesses {
            root,
            root_start: process::Stat::of(root).map_or(0, |stat| stat.start),
            own_dir,
            known: BTreeMap::new(),
            foreign: BTreeSet::new(),
            ran: Duration::ZERO,
            waited: Duration::ZERO,
        }
    }

    /// Examines all of them. Costs some 20 µs per process.
    pub fn look(&mut self) -> ProcessLook {
        let mut seen = BTreeMap::new();
        let mut next = vec![self.root];
        next.extend(self.known.keys());
        next.extend(self.orphans());
        while let Some(pid) = next.pop() {
            if seen.contains_key(&pid) {
                continue;
            }
            let Some(activity) = ProcessActivity::of(pid) else {
                // Its children may not have been adopted yet.
                let ended = process::Stat::of(pid).filter(|_| pid == self.root);
                next.extend(ended.iter().flat_map(children));
                continue;
            };
            let is_another = |start: u64| start != activity.stat.start;
            if pid == self.root && is_another(self.root_start)
                || self.known.get(&pid).is_some_and(|known| is_another(known.stat.start))
            {
                continue;
            }
            next.extend(children(&activity.stat));
            seen.insert(pid, activity);
        }
        for (pid, activity) in &seen {
            let before = self.known.get(pid);
            let (ran, waited) = before.map_or_else(Default::default, |before| (before.ran, before.waited));
            self.ran += activity.ran.saturating_sub(ran);
            self.waited += activity.waited.saturating_sub(waited);
        }
        self.known = seen;
        ProcessLook { all: self.known.values().copied().collect(), ran: self.ran, waited: self.waited }
    }

    /// The orphans that this process has adopted ([`process::become_subreaper`]).
    fn orphans(&mut self) -> Vec<i32> {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let mut found = Vec::new();
        for pid in adopted_children() {
            if pid == self.root || self.known.contains_key(&pid) {
                continue;
            }
            let Some(stat) = process::Stat::of(pid) else { continue };
            if self.foreign.contains(&(pid, stat.start)) {
                continue;
            }
            if stat.session == self.root || self.is_of_own_dir(pid) {
                found.push(pid);
            } else if stat.session != own && stat.session == pid {
                // The program of another test, which will not become one of this test's.
                self.foreign.insert((pid, stat.start));
            }
        }
        found
    }

    fn is_of_own_dir(&self, pid: i32) -> bool {
        let Some(own) = &self.own_dir else { return false };
        let names_it = memchr::memmem::find(&process::environment(pid), own.as_os_str().as_bytes()).is_some();
        names_it || std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|dir| dir.starts_with(own))
    }

    /// Sends a signal to each process of the last look that is still alive, including the program itself.
    pub fn signal(&self, signal: Signal) {
        for (pid, activity) in &self.known {
            // Opened before the comparison: the signal reaches this process or none.
            let Ok(process) = Process::open(*pid) else { continue };
            if process::Stat::of(*pid).is_some_and(|stat| stat.start == activity.stat.start) {
                let _ = process.signal(signal);
            }
        }
    }

    /// Waits until none is alive, at most for `limit` of time with a CPU, and reaps those that this process
    /// adopted.
    pub fn wait_for_none(&mut self, limit: Duration) -> bool {
        let mut clock = WaitClock::start(limit, &self.look());
        loop {
            let pids: Vec<i32> = self.known.keys().copied().collect();
            let look = self.look();
            clock.take(&look);
            let none = look.all.is_empty();
            for pid in pids.into_iter().filter(|pid| *pid != self.root) {
                // Not a child of this process, unless it was adopted.
                let _ = child::collect(pid);
            }
            if none || Instant::now() >= clock.deadline() {
                return none;
            }
            std::thread::sleep(PROCESS_END_POLL);
        }
    }

    /// Those that are alive, with their command lines.
    pub fn left(&mut self) -> Vec<LeftProcess> {
        let look = self.look();
        let named = look.all.iter().filter_map(|process| {
            let pid = process.stat.pid;
            let command = process_activity::command_line(pid)?;
            Some(LeftProcess { pid, session: process.stat.session, command })
        });
        named.collect()
    }
}

/// Ends what is left of a test besides its programs: processes in its directory `own_dir`, or started for it.
/// Returns them.
pub fn end_all_of(own_dir: &Path) -> Vec<LeftProcess> {
    // No process has the id 0.
    let mut processes = TestProcesses::new(0, Some(own_dir.to_owned()));
    if processes.look().all.is_empty() {
        return Vec::new();
    }
    let left = processes.left();
    for _ in 0..KILLS_MAX {
        processes.signal(Signal::KILL);
        if processes.wait_for_none(PROCESS_END_POLL) {
            break;
        }
    }
    left
}

/// Kills every process of this user that was started with this variable (`NAME=value`), whatever its parent.
/// Returns them. For the remains of a killed process, which this one did not adopt.
pub fn end_started_with(variable: &[u8]) -> Vec<LeftProcess> {
    let mut left: Vec<LeftProcess> = Vec::new();
    for _ in 0..KILLS_MAX {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut has_any = false;
        for pid in pids {
            // Opened before the check: the signal reaches this process or none.
            let Ok(process) = Process::open(pid) else { continue };
            if !process::environment(pid).split(|byte| *byte == 0).any(|entry| entry == variable) {
                continue;
            }
            has_any = true;
            if !left.iter().any(|known| known.pid == pid) {
                let session = process::Stat::of(pid).map_or(0, |stat| stat.session);
                let command = process_activity::command_line(pid).unwrap_or_default();
                left.push(LeftProcess { pid, session, command });
            }
            let _ = process.signal(Signal::KILL);
        }
        if !has_any {
            break;
        }
        std::thread::sleep(PROCESS_END_POLL);
    }
    left
}

/// Ends every process that this one has adopted, and returns them. For a process whose only children belong
/// to finished tests.
pub fn end_adopted() -> Vec<LeftProcess> {
    let mut left: Vec<LeftProcess> = Vec::new();
    // The host of a finished pause is about to end and does not count.
    for _ in 0..ENDING_LOOKS {
        let is_over = |pid: &i32| matches!(child::change(*pid), Ok(Some(change)) if change.is_final());
        if adopted_children().iter().all(is_over) {
            break;
        }
        std::thread::sleep(PROCESS_END_POLL);
    }
    for _ in 0..KILLS_MAX {
        let pids = adopted_children();
        if pids.is_empty() {
            break;
        }
        for pid in pids {
            if matches!(child::change(pid), Ok(Some(change)) if change.is_final()) {
                continue;
            }
            // Not waited for, so its id is still its own.
            let command = process_activity::command_line(pid).unwrap_or_default();
            let _ = child::signal(pid, Signal::KILL, false);
            if !left.iter().any(|known| known.command == command) {
                let session = process::Stat::of(pid).map_or(0, |stat| stat.session);
                left.push(LeftProcess { pid, session, command });
            }
        }
        std::thread::sleep(PROCESS_END_POLL);
    }
    left
}

/// The end of a program in words: `exit 1`, `SIGKILL`.
pub fn end_words(end: ProcessEnd) -> String {
    match end {
        ProcessEnd::Exited(code) => format!("exit {code}"),
        ProcessEnd::Signaled(signal) | ProcessEnd::Stopped(signal) => {
            match nix::sys::signal::Signal::try_from(signal.0) {
                Ok(known) => known.as_str().to_owned(),
                Err(_) => signal.name(),
            }
        }
        ProcessEnd::Continued => "continued".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A program whose processes end with the test.
    struct Program {
        child: Child,
        processes: TestProcesses,
    }

    impl Drop for Program {
        fn drop(&mut self) {
            self.processes.look();
            self.processes.signal(Signal::KILL);
            let _ = self.child.wait();
            let none = self.processes.wait_for_none(Duration::from_secs(10));
            assert!(none || std::thread::panicking(), "{:?}", self.processes.left());
        }
    }

    fn program(script: &str, mark: &str) -> Program {
        let mark = format!("/no/such/directory/{mark}");
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("TEST_MARK", &mark).stdin(Stdio::null()).stdout(Stdio::null());
        process::lead_session(&mut command);
        let child = command.spawn().unwrap();
        let root = i32::try_from(child.id()).unwrap();
        Program { child, processes: TestProcesses::new(root, Some(mark.into())) }
    }

    fn wait_for(processes: &mut TestProcesses, mut until: impl FnMut(&ProcessLook) -> bool) -> ProcessLook {
        let began = Instant::now();
        loop {
            let look = processes.look();
            if until(&look) {
                return look;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{look:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn commands(processes: &mut TestProcesses) -> Vec<String> {
        let mut commands: Vec<String> = processes.left().into_iter().map(|left| left.command).collect();
        commands.sort();
        commands
    }

    #[test]
    fn a_process_is_seen_with_its_descendants() {
        let mut program = program("sleep 60 & (while :; do :; done) & wait", "tree");
        let working = |look: &ProcessLook| look.all.iter().filter(|process| process.is_working).count();
        let look = wait_for(&mut program.processes, |look| look.all.len() == 3 && working(look) == 1);
        let later = wait_for(&mut program.processes, |later| later.ran > look.ran);
        assert!(!later.is_same_as(&look));
        wait_for(&mut program.processes, |look| {
            let pid = look.all.iter().map(|process| process.stat.pid);
            pid.filter_map(process_activity::command_line).any(|command| command == "sleep 60")
        });
    }

    #[test]
    fn a_program_that_sleeps_does_nothing_between_two_looks() {
        let mut program = program("exec sleep 60", "asleep");
        let mut before = program.processes.look();
        wait_for(&mut program.processes, |later| {
            let before = std::mem::replace(&mut before, later.clone());
            !later.is_working() && later.all.len() == 1 && later.is_same_as(&before)
        });
    }

    #[test]
    fn orphans_are_found_even_in_a_session_of_their_own() {
        process::become_subreaper();
        let mut program = program("setsid sleep 61 & sleep 62 &", "orphans");
        program.child.wait().unwrap();
        let began = Instant::now();
        while commands(&mut program.processes) != ["sleep 61", "sleep 62"] {
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", commands(&mut program.processes));
            std::thread::sleep(Duration::from_millis(1));
        }
        program.processes.signal(Signal::TERM);
        assert!(program.processes.wait_for_none(Duration::from_secs(10)));
    }

    #[test]
    fn what_was_started_with_a_variable_is_killed_and_nothing_else() {
        let mut program = program("sleep 63 & wait", "variable");
        let is_sleep = |pid| process_activity::command_line(pid).is_some_and(|command| command == "sleep 63");
        wait_for(&mut program.processes, |look| look.all.iter().any(|process| is_sleep(process.stat.pid)));
        // The start of the value, and a name that ends in the variable's name.
        for other in ["TEST_MARK=/no/such/directory/variabl", "MARK=/no/such/directory/variable"] {
            assert_eq!(end_started_with(other.as_bytes()), []);
        }
        let left = end_started_with(b"TEST_MARK=/no/such/directory/variable");
        assert!(left.len() == 2 && left.iter().any(|left| left.command == "sleep 63"), "{left:?}");
        assert_eq!(program.processes.look().all, []);
    }

    #[test]
    fn ends_have_words() {
        assert_eq!(end_words(ProcessEnd::Exited(1)), "exit 1");
        assert_eq!(end_words(ProcessEnd::Signaled(Signal::TERM)), "SIGTERM");
        assert_eq!(end_words(ProcessEnd::Signaled(Signal(nix::libc::SIGBUS))), "SIGBUS");
        assert_eq!(end_words(ProcessEnd::Signaled(Signal(nix::libc::SIGRTMIN() + 3))), "signal 37");
    }
}
