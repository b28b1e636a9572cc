//! The program of a host that died without a word. The kernel tells it to end (SIGHUP, SIGTERM); one that ignores both is ended by
//! whoever finds its host dead: the client, or the next session of that name.

use std::os::fd::AsFd;
use std::time::Duration;

use serde_json::Value;

use crate::core::ids::SessionName;
use crate::core::process::Signal;
use crate::fs::atomic;
use crate::fs::paths::Paths;
use crate::io::poll::{Interest, wait_for};
use crate::io::process::{Process, environment};

/// How long it may take to end by itself; Claude's own hooks may take 3.4 s.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest `session.json` that is read, in bytes.
const CAP: u64 = 1 << 20;

/// Sees to it that the program of session `name`, whose host is dead, is gone. `host_is_dead` is asked before anything is
/// done to it: a connection that closes is no proof, and the name may be a new session's by then.
pub fn end(paths: &Paths, name: &SessionName, host_is_dead: impl Fn() -> bool) {
    let Ok(Some(text)) = atomic::read(&paths.session(name).join("session.json"), CAP) else { return };
    let session: Value = serde_json::from_slice(&text).unwrap_or_default();
    let pid = session["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 1 && session["exit"].is_null());
    let Some(process) = pid.and_then(|pid| Process::open(pid).ok()) else { return };
    // Held first, and then looked at: the number may be another process's by now.
    let mark = [b"HOPTY_SOCKET=", paths.socket(name).as_os_str().as_encoded_bytes()].concat();
    if !environment(process.pid).split(|byte| *byte == 0).any(|entry| entry == mark) {
        return;
    }
    let patience = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
    if host_is_dead() && !wait_for(&process.as_fd(), Interest::Read, patience).unwrap_or(true) && host_is_dead() {
        let _ = process.signal(Signal::KILL);
        // So that who says that it is gone is right.
        let _ = wait_for(&process.as_fd(), Interest::Read, patience);
    }
}
