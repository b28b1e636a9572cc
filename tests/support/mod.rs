//! What tests are made of: a world of their own (home, project, API), a terminal to look at, and Claude, real or stand-in.
//!
//! Nothing here sleeps to be on the safe side: tests wait for a screen, a file, a request or a journal line, and give up
//! after a limit with everything printed that is known.

#![allow(dead_code)]
#![allow(clippy::unwrap_used, reason = "a test may")]

pub mod claude;
pub mod nobody;
pub mod term;
pub mod world;

use std::time::{Duration, Instant};

/// How long anything may take before a test fails.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Waits until `done` gives a value, looking every few milliseconds. Panics with `what` after the limit.
pub fn wait_for<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + LIMIT;
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(Instant::now() < until, "waited {LIMIT:?} in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process is a session's host, by the name that it gives itself.
pub fn is_host(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == "hopty-host")
}

/// Sends a signal to one process.
pub fn kill(pid: i32, signal: i32) {
    assert!(pid > 1);
    // SAFETY: kill takes two numbers.
    assert_eq!(unsafe { nix::libc::kill(pid, signal) }, 0, "kill {signal} {pid}: {}", std::io::Error::last_os_error());
}
