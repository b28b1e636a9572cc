//! Whether a process that a file names is still the same one.
//!
//! A pid alone can be used again, so a process is known by its pid and its start time, which the kernel shows in
//! `/proc`. Where there is no `/proc` (macOS) the pid alone is asked for, and every start time is 0.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// When the process began, in clock ticks since boot; `None` when there is no such process or it is not known.
#[must_use]
pub fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    match fields.next()? {
        "Z" | "X" | "x" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

/// Whether the process with this pid and start time lives.
#[must_use]
pub fn is_alive(pid: u32, start: u64) -> bool {
    match start_ticks(pid) {
        Some(ticks) => ticks == start,
        None => start == 0 && exists(pid),
    }
}

/// When the process began, in seconds since 1970, to about a second; `None` as for [`start_ticks`].
pub(super) fn began_at(pid: u32) -> Option<u64> {
    let ticks = start_ticks(pid)?;
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let boot: u64 = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()??;
    Some(boot + ticks / u64::try_from(per_second).ok().filter(|n| *n > 0)?)
}

/// Whether any process has this pid. On a system with `/proc` a zombie does not count.
pub(super) fn exists(pid: u32) -> bool {
    if fs::exists("/proc/self/stat").unwrap_or(false) {
        return start_ticks(pid).is_some();
    }
    let Ok(pid) = i32::try_from(pid) else { return false };
    pid > 0 && !matches!(kill(Pid::from_raw(pid), None), Err(Errno::ESRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

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
