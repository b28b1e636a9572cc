//! The host's own log, `host.log` of its session: failures that no answer reports. It is the host's standard
//! error.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::core::text::visible::visible;
use crate::fs::session;

/// Opens the one in this session's directory, if possible.
pub(in crate::host) fn to(dir: &Path) {
    if let Ok(log) = session::open_log(dir) {
        let _ = nix::unistd::dup2_stderr(&log);
    }
}

/// The most bytes that wait to be written.
const WAITING_LOG_MAX: usize = 1 << 16;

static WAITING: Mutex<String> = Mutex::new(String::new());

/// Logs a line. The writer writes it, so that a hanging disk, which may be its subject, does not block the
/// loop.
pub(in crate::host) fn log(what: impl Display) {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    if waiting.len() < WAITING_LOG_MAX {
        waiting.push_str(&format!("hopty: {}\n", visible(&what.to_string())));
    }
}

/// Takes the lines that wait to be written.
pub(in crate::host) fn take() -> String {
    std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Writes lines. `eprintln!` would panic on a full disk, and the program would end with the host: here only
/// the lines are lost.
pub(in crate::host) fn write(lines: &str) {
    let _ = std::io::stderr().write_all(lines.as_bytes());
}
