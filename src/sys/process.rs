//! Other processes, inspected and signalled by pid and start time, so that a reused pid is never hit.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::safe_file::first_bytes;
use crate::core::process_change::Signal;

/// The kernel's data on a process (Linux `/proc/PID/stat`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    /// Its session: the id of the process that leads it.
    pub session: i32,
    /// The device number of its controlling terminal; 0: none.
    pub tty: i32,
    /// The foreground process group of that terminal; -1: none.
    pub foreground: i32,
    /// The state letter: `R S D T t Z X`.
    pub state: u8,
    /// How many threads it has.
    pub threads: u32,
    /// Start time in clock ticks since boot: together with the pid, an identity that is never reused.
    pub start: u64,
}

impl Stat {
    /// Reads it; `None` if there is no such process.
    pub fn of(pid: i32) -> Option<Self> {
        StatFile::open(pid).ok()?.now()
    }

    /// Parses the content of a stat file. The name in parentheses may contain anything.
    pub fn parse(text: &str) -> Option<Self> {
        let (pid, rest) = text.split_once(' ')?;
        let (_, fields) = rest.rsplit_once(") ")?;
        // Read for every key that is typed, so it allocates nothing. The third field is the first here.
        let mut fields = fields.split(' ');
        Some(Stat {
            pid: pid.parse().ok()?,
            state: *fields.next()?.as_bytes().first()?,
            parent: fields.next()?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
            session: fields.next()?.parse().ok()?,
            tty: fields.next()?.parse().ok()?,
            foreground: fields.next()?.parse().ok()?,
            threads: fields.nth(11)?.parse().ok()?,
            start: fields.nth(1)?.parse().ok()?,
        })
    }

    /// Whether a signal has stopped it.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }

    /// Whether the process may use the terminal `device` (its `st_rdev`) now: it runs, and if that is its
    /// controlling terminal, its process group is in the foreground. A shell that has the terminal back is
    /// not disturbed.
    pub fn may_use(&self, device: u64) -> bool {
        let number = u32::from_ne_bytes(self.tty.to_ne_bytes());
        let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xf_ff00));
        let controls = (libc::major(device), libc::minor(device)) == (major, minor);
        !self.is_stopped() && (!controls || self.foreground == self.group)
    }
}

/// A process by pid and start time, since a pid can be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStart {
    pub pid: i32,
    /// Start time in clock ticks since boot, if known.
    pub ticks: Option<u64>,
}

impl ProcessStart {
    /// Opens its stat file; `None` if the process is gone, even if its pid was reused.
    #[must_use]
    pub fn stat_file(self) -> Option<StatFile> {
        let file = StatFile::open(self.pid).ok()?;
        self.ticks.is_none_or(|ticks| file.now().is_some_and(|stat| stat.start == ticks)).then_some(file)
    }
}

/// The stat file of one process, held open: cheap to read repeatedly, and never about another process.
#[derive(Debug)]
pub struct StatFile {
    file: std::fs::File,
}

impl StatFile {
    pub fn open(pid: i32) -> io::Result<Self> {
        Ok(StatFile { file: std::fs::File::open(format!("/proc/{pid}/stat"))? })
    }

    /// The current data; `None` if the process is gone.
    pub fn now(&self) -> Option<Stat> {
        // The longest line is under 1 KiB: 52 numbers and a name of 64 bytes.
        let mut buf = [0; 2048];
        let n = self.file.read_at(&mut buf, 0).ok()?;
        Stat::parse(&String::from_utf8_lossy(&buf[..n]))
    }
}

/// The process's start time in clock ticks since boot; `None` if it has ended, or without `/proc`.
/// Together with the pid it identifies a process.
pub fn start_ticks(pid: impl TryInto<i32>) -> Option<u64> {
    let stat = Stat::of(pid.try_into().ok()?)?;
    (!matches!(stat.state, b'Z' | b'X' | b'x')).then_some(stat.start)
}

/// Whether the process with this pid and start time is alive. Without `/proc` every start time is 0, and only
/// the pid counts.
pub fn is_alive(pid: u32, start: u64) -> bool {
    match start_ticks(pid) {
        Some(ticks) => ticks == start,
        None => start == 0 && exists(pid),
    }
}

/// The process's start time in seconds since 1970, to about a second; `None` as for [`start_ticks`].
pub fn began_at(pid: u32) -> Option<u64> {
    let ticks = start_ticks(pid)?;
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let boot: u64 = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()??;
    Some(boot + ticks / u64::try_from(per_second).ok().filter(|n| *n > 0)?)
}

/// Whether any process has this pid. On a system with `/proc` a zombie does not count.
pub fn exists(pid: u32) -> bool {
    if std::fs::exists("/proc/self/stat").unwrap_or(false) {
        return start_ticks(pid).is_some();
    }
    let Ok(pid) = i32::try_from(pid) else { return false };
    pid > 0 && !matches!(kill(Pid::from_raw(pid), None), Err(Errno::ESRCH))
}

/// A process with a pidfd: signals reach this process or none.
#[derive(Debug)]
pub struct Process {
    /// Its id, for messages.
    pub pid: i32,
    fd: OwnedFd,
}

impl Process {
    /// Opens a pidfd of a process.
    ///
    /// # Errors
    /// When there is no such process, or the kernel has no pidfds (before Linux 5.3).
    pub fn open(pid: i32) -> io::Result<Self> {
        let named = rustix::process::Pid::from_raw(pid).filter(|_| pid > 0);
        let named = named.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Process { pid, fd: rustix::process::pidfd_open(named, rustix::process::PidfdFlags::empty())? })
    }

    /// A process whose pidfd the caller has opened.
    #[must_use]
    pub fn held(pid: i32, fd: OwnedFd) -> Self {
        Process { pid, fd }
    }

    /// Sends a signal to it.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let none = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the descriptor is valid, a null siginfo means the same as kill(2). The wrappers do not
        // support real-time signals.
        let done =
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.fd.as_raw_fd(), signal.0, none, 0) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Whether it has ended.
    pub fn is_gone(&self) -> bool {
        super::poll::wait_for(&self.fd, super::poll::Interest::Read, 0).unwrap_or(true)
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// All processes at this moment, by id.
fn table() -> BTreeMap<i32, Stat> {
    let Ok(dir) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    dir.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Stat::of)
        .map(|stat| (stat.pid, stat))
        .collect()
}

/// The current descendants of `root`, without itself, each with a pidfd.
pub fn descendants(root: i32) -> Vec<Process> {
    let table = table();
    let below = |stat: &&Stat| {
        let mut at = stat.parent;
        for _ in 0..table.len() {
            if at == root {
                return true;
            }
            match table.get(&at) {
                Some(parent) => at = parent.parent,
                None => return false,
            }
        }
        false
    };
    table
        .values()
        .filter(|s| s.state != b'Z')
        .filter(below)
        .filter_map(|stat| {
            let held = Process::open(stat.pid).ok()?;
            // Check that this is the process seen above, not a newer one with the same pid.
            (Stat::of(stat.pid)?.start == stat.start).then_some(held)
        })
        .collect()
}

/// A process with its name (`comm`), which only the process itself can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedProcess {
    /// The kernel's data on it.
    pub stat: Stat,
    /// Its name, at most 15 bytes.
    pub name: String,
}

impl NamedProcess {
    fn of(pid: i32) -> Option<Self> {
        let text = String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/stat")).ok()?).into_owned();
        let (start, end) = (text.find('(')? + 1, text.rfind(')')?);
        Some(NamedProcess { stat: Stat::parse(&text)?, name: text.get(start..end)?.to_owned() })
    }
}

/// A process and its ancestors, nearest first, without process 1. `None` if it has ended, or if the chain
/// changed on every attempt.
pub fn lineage(pid: i32) -> Option<Vec<NamedProcess>> {
    /// More than any process has ancestors.
    const LINEAGE_MAX: usize = 4096;
    // If a parent ends while this reads, its children get another one.
    for _ in 0..8 {
        let mut chain = vec![NamedProcess::of(pid)?];
        while let Some(last) = chain.last()
            && last.stat.parent > 1
            && chain.len() < LINEAGE_MAX
        {
            let child = last.stat;
            match NamedProcess::of(child.parent) {
                Some(parent) if parent.stat.start <= child.start => chain.push(parent),
                _ => break,
            }
        }
        if chain.len() < LINEAGE_MAX && chain.last().is_some_and(|top| top.stat.parent <= 1) {
            return Some(chain);
        }
    }
    None
}

/// The environment that a process was started with, cut to its first 256 KiB; empty if this user may not read
/// it.
pub fn environment(pid: i32) -> Vec<u8> {
    std::fs::File::open(format!("/proc/{pid}/environ"))
        .and_then(|file| first_bytes(file, 256 << 10))
        .unwrap_or_default()
}

/// The children of this thread: those that it spawned, and those that it adopted as a sub-reaper.
pub fn own_children() -> Vec<i32> {
    std::fs::read_to_string("/proc/thread-self/children")
        .map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
        .unwrap_or_default()
}

/// Sets this process's name in listings (`ps -o comm`), at most 15 bytes.
pub fn set_process_name(name: &CStr) {
    let _ = nix::sys::prctl::set_name(name);
}

/// Keeps other processes of the same user from reading this one's memory, tracing it and taking its
/// descriptors (`pidfd_getfd`, `/proc/PID/fd`). Its directory in `/proc` then belongs to root, and it leaves
/// no core dump; a program that it executes is back to normal.
pub fn set_undumpable() {
    let _ = nix::sys::prctl::set_dumpable(false);
}

/// Makes this process adopt the orphans among its descendants (Linux).
pub fn become_subreaper() {
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Makes the program that `command` starts lead a session of its own, without a terminal and with nothing
/// open but its three streams: another thread may be opening a descriptor that is not yet close-on-exec.
pub fn lead_session(command: &mut Command) {
    // SAFETY: setsid and close_range are async-signal-safe and touch only the child.
    unsafe {
        command.pre_exec(|| {
            super::fd::close_on_exec_above_streams();
            Ok(nix::unistd::setsid().map(drop)?)
        });
    };
}

/// Kills the program that `command` starts when the thread that starts it ends (Linux).
pub fn end_with_thread(command: &mut Command) {
    // SAFETY: prctl is async-signal-safe and touches only the child.
    unsafe {
        command.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?));
    }
}

/// Whether a process ignores a signal (`SigIgn` of Linux's `/proc/PID/status`); `false` if that is not
/// available.
pub fn ignores(pid: i32, signal: Signal) -> bool {
    in_signal_set(pid, "SigIgn:", signal)
}

/// Whether a process has a handler for a signal (`SigCgt` of Linux's `/proc/PID/status`); `false` if that is
/// not available.
pub fn catches(pid: i32, signal: Signal) -> bool {
    in_signal_set(pid, "SigCgt:", signal)
}

/// Whether a signal is in one of the sets of `/proc/PID/status`: bit n - 1 is signal n.
fn in_signal_set(pid: i32, set: &str, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let signals =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix(set)?.trim(), 16).ok());
    let bit = u32::try_from(signal.0 - 1).ok().and_then(|bit| 1u64.checked_shl(bit));
    signals.zip(bit).is_some_and(|(signals, bit)| signals & bit != 0)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_name_full_of_parentheses_does_not_confuse() {
        let text = "42 (a) R 1 (b)) S 7 41 40 34819 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 8123456 1 1";
        let stat = Stat {
            pid: 42,
            parent: 7,
            group: 41,
            session: 40,
            tty: 34819,
            foreground: -1,
            state: b'S',
            threads: 1,
            start: 8_123_456,
        };
        assert_eq!(Stat::parse(text), Some(stat));
        assert_eq!(Stat::parse("junk"), None);
    }

    #[test]
    fn a_terminal_is_used_only_from_the_foreground() {
        let pts3 = libc::makedev(136, 3);
        let stat = Stat {
            pid: 42,
            parent: 7,
            group: 42,
            session: 42,
            tty: 34819,
            foreground: 42,
            state: b'S',
            threads: 1,
            start: 1,
        };
        assert!(stat.may_use(pts3));
        assert!(!Stat { foreground: 7, ..stat }.may_use(pts3), "the shell has it");
        assert!(!Stat { state: b'T', ..stat }.may_use(pts3), "it is stopped");
        assert!(
            Stat { foreground: 7, ..stat }.may_use(libc::makedev(136, 4)),
            "another terminal than its controlling one"
        );
        assert!(Stat { tty: 0, foreground: -1, ..stat }.may_use(pts3), "it has no controlling terminal");
        let pts300 = Stat { tty: (136 << 8) | 44 | (1 << 20), foreground: 7, ..stat };
        assert!(!pts300.may_use(libc::makedev(136, 300)));
    }

    #[test]
    fn descendants_are_found_and_ended_through_their_descriptors() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 300 & echo up; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(shell.stdout.take().unwrap()), &mut line).unwrap();
        let root = i32::try_from(shell.id()).unwrap();
        let found = descendants(root);
        assert_eq!(found.len(), 1);
        let chain: Vec<i32> = lineage(found[0].pid).unwrap().iter().map(|named| named.stat.pid).collect();
        assert_eq!(chain[..3], [found[0].pid, root, i32::try_from(std::process::id()).unwrap()]);
        assert_eq!(lineage(root).unwrap()[0].name, "sh");
        found[0].signal(Signal::KILL).unwrap();
        shell.wait().unwrap();
        assert!(found[0].is_gone());
        assert!(found[0].signal(Signal::KILL).is_err());
    }

    #[test]
    fn a_process_is_known_by_pid_and_start() {
        let me = std::process::id();
        let start = start_ticks(me).unwrap();
        assert!(is_alive(me, start));
        assert!(!is_alive(me, start + 1) && !is_alive(me, 0));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(!exists(pid) && !is_alive(pid, 0) && start_ticks(pid).is_none());
        assert!(!exists(0) && !exists(u32::MAX));
    }

    #[test]
    fn a_start_time_is_a_time_of_day() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let began = began_at(std::process::id()).unwrap();
        assert!(began <= now + 2 && began + 86_400 > now);
    }
}
