//! The program of a host that died unexpectedly. The kernel signals it (SIGHUP, SIGTERM); one that ignores
//! both is ended by the process that finds its host dead: the client, or the next session of that name.

use std::os::fd::AsFd;
use std::time::Duration;

use crate::core::ids::SessionName;
use crate::core::process_change::Signal;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::sys::poll::{Interest, wait_for};
use crate::sys::process::{Process, environment};

/// How long it may take to end by itself; Claude's own hooks may take 3.4 s.
const ORPHAN_END_LIMIT: Duration = Duration::from_secs(5);

/// Makes sure that the program of session `name`, whose host is dead, has ended. Calls `host_is_dead` first:
/// a closed connection is no proof, and a new session may have the name by now.
pub fn end(paths: &Paths, name: &SessionName, host_is_dead: impl Fn() -> bool) {
    let Ok(Some(last)) = session::status(&paths.session(name)) else { return };
    let pid = last.pid.filter(|pid| *pid > 1 && last.exit.is_none());
    let Some(process) = pid.and_then(|pid| Process::open(pid).ok()) else { return };
    // Open the pidfd first, and then check the process: the pid may be another process's by now.
    let mut names = session::former_names(paths, name);
    names.push(name.clone());
    let marks: Vec<Vec<u8>> = names
        .iter()
        .map(|name| [b"HOPTY_SOCKET=", paths.socket(name).as_os_str().as_encoded_bytes()].concat())
        .collect();
    if !environment(process.pid).split(|byte| *byte == 0).any(|entry| marks.iter().any(|mark| entry == mark))
    {
        return;
    }
    let patience = u64::try_from(ORPHAN_END_LIMIT.as_millis()).unwrap_or(u64::MAX);
    if host_is_dead()
        && !wait_for(&process.as_fd(), Interest::Read, patience).unwrap_or(true)
        && host_is_dead()
    {
        let _ = process.signal(Signal::KILL);
        // So that the message about it is true.
        let _ = wait_for(&process.as_fd(), Interest::Read, patience);
    }
}
