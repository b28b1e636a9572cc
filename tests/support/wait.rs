//! Waiting: for a condition, for a process's end, for a file to change. Each wait has a limit, and ends as
//! soon as it can.

use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use hopty::fs::watch::Watcher;
use hopty::sys::poll::{self, Interest};
use hopty::sys::process::Process;

/// How long anything may take before a test fails.
pub const LIMIT: Duration = Duration::from_secs(120);

/// How often to look where nothing tells.
const LOOK: Duration = Duration::from_millis(5);

/// Waits until `done` gives a value. Panics with `what` after the limit.
pub fn wait_for<T>(what: &str, done: impl FnMut() -> Option<T>) -> T {
    wait_within(LIMIT, done).unwrap_or_else(|| panic!("waited {LIMIT:?} in vain for {what}"))
}

/// The same with a limit of its own; `None` when it has passed. For what only a look can tell: a terminal's
/// modes, what `/proc` says, another program's answer.
pub fn wait_within<T>(limit: Duration, mut done: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + limit;
    loop {
        if let Some(value) = done() {
            return Some(value);
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether a process ends within `limit`; one that is gone has.
pub fn ends_within(pid: i32, limit: Duration) -> bool {
    let Ok(process) = Process::open(pid) else { return true };
    readable_within(&process, limit)
}

/// How a child of this process ended; `None` when the limit has passed.
pub fn end_of(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    ends_within(i32::try_from(child.id()).unwrap(), limit).then(|| child.wait().unwrap())
}

/// Waits until a directory, which need not be there yet, or what is in it may have changed.
pub fn changed_within(dir: &Path, watcher: &mut Watcher, limit: Duration) {
    watcher.add(dir);
    // Before there is such a directory, and where nobody can be told, a look now and then must do.
    let limit = if watcher.covers(dir) { limit } else { LOOK };
    match watcher.fd() {
        Some(fd) => readable_within(&fd, limit),
        None => false,
    };
    watcher.drain();
}

fn readable_within(fd: &impl AsFd, limit: Duration) -> bool {
    let limit = u64::try_from(limit.as_millis()).unwrap().max(1);
    poll::wait_for(&fd.as_fd(), Interest::Read, limit).unwrap()
}
