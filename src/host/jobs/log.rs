//! The host's own log, `host.log` of its session: what failed and nobody waits for. It is the host's standard
//! error.

use std::fmt::Display;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nix::libc;

use crate::core::visible::visible;
use crate::fs::session;

/// From now on it is the one in this session's directory, where that can be written.
pub(in crate::host) fn to(dir: &Path) {
    if let Ok(log) = session::open_log(dir) {
        // SAFETY: standard error is this process's own.
        unsafe { libc::dup2(log.as_raw_fd(), 2) };
    }
}

/// Bytes that wait to be written at most.
const MOST: usize = 1 << 16;

static WAITING: Mutex<String> = Mutex::new(String::new());

/// Notes a line. It is written by the writer: a disk that hangs, which is what it may tell of, holds nobody
/// up.
pub(in crate::host) fn log(what: impl Display) {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    if waiting.len() < MOST {
        waiting.push_str(&format!("hopty: {}\n", visible(&what.to_string())));
    }
}

/// The lines that wait.
pub(in crate::host) fn take() -> String {
    std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Writes lines. `eprintln!` would panic where the disk is full, and the program would end with the host:
/// here that costs the lines.
pub(in crate::host) fn write(lines: &str) {
    let _ = std::io::stderr().write_all(lines.as_bytes());
}
