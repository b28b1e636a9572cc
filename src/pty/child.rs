//! What became of a child: looked at by pid, stops and continues included.

use std::io;

use nix::libc;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::core::process::{ProcessEnd, Signal};

/// The next change of the child `pid`, `None` when there is none now. An end is given once; after it the pid is free.
///
/// # Errors
/// When `pid` is no child of this process.
pub fn change(pid: i32) -> io::Result<Option<ProcessEnd>> {
    let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED | WaitPidFlag::WCONTINUED;
    Ok(match waitpid(Pid::from_raw(pid), Some(flags))? {
        WaitStatus::Exited(_, code) => Some(ProcessEnd::Exited(u8::try_from(code & 0xff).unwrap_or(255))),
        WaitStatus::Signaled(_, signal, _) => Some(ProcessEnd::Signaled(Signal(signal as i32))),
        WaitStatus::Stopped(_, signal) => Some(ProcessEnd::Stopped(Signal(signal as i32))),
        WaitStatus::Continued(_) => Some(ProcessEnd::Continued),
        _ => None,
    })
}

/// Sends a signal to a child that was not waited for yet, or to its group: its pid cannot have been reused.
///
/// # Errors
/// When it is gone.
pub fn signal(pid: i32, signal: Signal, group: bool) -> io::Result<()> {
    if pid <= 1 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let target = if group { -pid } else { pid };
    // SAFETY: kill takes two numbers.
    let done = unsafe { libc::kill(target, signal.0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Collects an orphan that was left to this process; true when it had ended.
#[must_use]
pub fn collect(pid: i32) -> bool {
    matches!(waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG)), Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)))
}
