//! What processes do now and how much they have run (Linux): the state of every thread, the time on a CPU,
//! and the time spent waiting for one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use nix::libc;

use super::process::Stat;

/// The system calls that read a descriptor, which is their first argument.
const READING_CALLS: [i64; 2] = [libc::SYS_read, libc::SYS_readv];
/// The system calls that wait for one of several descriptors.
#[cfg(target_arch = "x86_64")]
const POLLING_CALLS: [i64; 6] = [
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
];
#[cfg(not(target_arch = "x86_64"))]
const POLLING_CALLS: [i64; 3] = [libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_pwait];

/// What a process does, summed over its threads. Threads that have ended do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessActivity {
    /// The kernel's data on it.
    pub stat: Stat,
    /// A thread runs, could run, or waits for a disk (`R` or `D`).
    pub is_working: bool,
    /// How long it ran on a CPU.
    pub ran: Duration,
    /// How long it was runnable but waited for a CPU.
    pub waited: Duration,
    /// How often it was given a CPU.
    pub turns: u64,
}

impl ProcessActivity {
    /// Looks at a process; `None` if it has ended, zombies included.
    pub fn of(pid: i32) -> Option<Self> {
        let stat = Stat::of(pid)?;
        if matches!(stat.state, b'Z' | b'X' | b'x') && stat.threads <= 1 {
            return None;
        }
        let mut activity = ProcessActivity {
            stat,
            is_working: is_work(stat.state),
            ran: Duration::ZERO,
            waited: Duration::ZERO,
            turns: 0,
        };
        if stat.threads <= 1 {
            activity.add(&format!("/proc/{pid}"));
            return Some(activity);
        }
        for thread in numbers_in(&format!("/proc/{pid}/task")) {
            let dir = format!("/proc/{pid}/task/{thread}");
            let state = fs::read_to_string(format!("{dir}/stat")).ok().and_then(|text| Stat::parse(&text));
            activity.is_working |= state.is_some_and(|thread| is_work(thread.state));
            activity.add(&dir);
        }
        Some(activity)
    }

    /// Adds the times of a thread.
    fn add(&mut self, dir: &str) {
        let text = fs::read_to_string(format!("{dir}/schedstat")).unwrap_or_default();
        let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(0));
        self.ran += Duration::from_nanos(numbers.next().unwrap_or(0));
        self.waited += Duration::from_nanos(numbers.next().unwrap_or(0));
        self.turns += numbers.next().unwrap_or(0);
    }
}

fn is_work(state: u8) -> bool {
    matches!(state, b'R' | b'D')
}

/// The children of all threads of a process.
pub fn children(parent: &Stat) -> Vec<i32> {
    let pid = parent.pid;
    if parent.threads <= 1 {
        return children_of_thread(&format!("/proc/{pid}/task/{pid}"));
    }
    let threads = numbers_in(&format!("/proc/{pid}/task")).into_iter();
    threads.flat_map(|thread| children_of_thread(&format!("/proc/{pid}/task/{thread}"))).collect()
}

/// The children of this process's first thread. The kernel gives orphans that a sub-reaper adopts to that
/// thread (`find_alive_thread`); what other threads spawned is not among them.
pub fn adopted_children() -> Vec<i32> {
    children_of_thread(&format!("/proc/self/task/{}", std::process::id()))
}

fn children_of_thread(dir: &str) -> Vec<i32> {
    let text = fs::read_to_string(format!("{dir}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// The number of the system call that a process's first thread sleeps in; `None` if it runs, or if this user
/// may not see it.
pub fn system_call(pid: i32) -> Option<i64> {
    fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?.split_whitespace().next()?.parse().ok()
}

/// Whether a process waits for input from the terminal at `path`, which may be its `/dev/tty`: a thread reads
/// it, or the first one polls descriptors. `None` where this user may not see it.
pub fn awaits_input(pid: i32, path: &Path) -> Option<bool> {
    let mut is_known = false;
    for thread in numbers_in(&format!("/proc/{pid}/task")) {
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")) else { continue };
        is_known = true;
        let mut words = text.split_whitespace();
        let call: i64 = words.next().and_then(|call| call.parse().ok()).unwrap_or(-1);
        let is_waiting = if READING_CALLS.contains(&call) {
            let fd = words.next().and_then(|fd| i32::from_str_radix(fd.trim_start_matches("0x"), 16).ok());
            let file = fd.and_then(|fd| fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok());
            file.is_some_and(|file| file == path || file == Path::new("/dev/tty"))
        } else {
            thread == pid && POLLING_CALLS.contains(&call)
        };
        if is_waiting {
            return Some(true);
        }
    }
    is_known.then_some(false)
}

/// The names of a process's program: its file, and the name that a script or the process itself set (`comm`).
/// `None` if this user may not see them.
pub fn program_names(pid: i32) -> Option<[String; 2]> {
    let file = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some([file.file_name()?.to_string_lossy().into_owned(), name.trim_end().to_owned()])
}

/// The arguments of a process, its program first; `None` if this user may not see them.
pub fn arguments(pid: i32) -> Option<Vec<String>> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = String::from_utf8_lossy(&words);
    Some(line.trim_end_matches('\0').split('\0').map(str::to_owned).collect())
}

/// The command line of a process, separated by blanks; its name in brackets if the arguments are unknown.
pub fn command_line(pid: i32) -> Option<String> {
    let line = arguments(pid)?.join(" ");
    if !line.is_empty() {
        return Some(line);
    }
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(format!("[{}]", name.trim()))
}

/// The entries of a directory that are numbers.
fn numbers_in(dir: &str) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn working_and_sleeping_processes_are_distinguished() {
        let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let pid = |child: &std::process::Child| i32::try_from(child.id()).unwrap();
        let wait = |pid: i32, until: &dyn Fn(ProcessActivity) -> bool| {
            let began = std::time::Instant::now();
            while !ProcessActivity::of(pid).is_some_and(until) {
                assert!(began.elapsed() < Duration::from_secs(20), "{:?}", ProcessActivity::of(pid));
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        wait(pid(&sleeper), &|sleeper| !sleeper.is_working && sleeper.turns > 0);
        wait(pid(&busy), &|busy| busy.is_working && busy.ran > Duration::from_millis(20));
        let own = Stat::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(children(&own).contains(&pid(&sleeper)));
        assert_eq!(command_line(pid(&sleeper)).unwrap(), "sleep 60");
        for child in [&mut sleeper, &mut busy] {
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(ProcessActivity::of(pid(child)), None);
        }
    }

    /// The first thread of a test program only waits for the others.
    #[test]
    fn a_thread_that_works_counts() {
        let activity = ProcessActivity::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(activity.is_working && activity.stat.threads > 1, "{activity:?}");
    }
}
