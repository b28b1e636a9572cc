//! State changes of a child process, by pid, including stops and continues.

use std::io;

use nix::libc;

use crate::core::process_change::{ProcessEnd, Signal};

/// The next state change of the child `pid`; `None` if there is none now. Its end is reported once;
/// afterwards the pid is free.
pub fn change(pid: i32) -> io::Result<Option<ProcessEnd>> {
    Ok(wait(pid, libc::WUNTRACED | libc::WCONTINUED)?.and_then(read_status))
}

/// Replaces nix's `waitpid`, which fails for a child that a real-time signal ended, after collecting it.
fn wait(pid: i32, flags: i32) -> io::Result<Option<i32>> {
    let mut status = 0;
    loop {
        // SAFETY: waitpid writes one int.
        match unsafe { libc::waitpid(pid, &raw mut status, flags | libc::WNOHANG) } {
            0 => return Ok(None),
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            _ => return Ok(Some(status)),
        }
    }
}

fn read_status(status: i32) -> Option<ProcessEnd> {
    if libc::WIFEXITED(status) {
        return Some(ProcessEnd::Exited(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(255)));
    }
    if libc::WIFSIGNALED(status) {
        return Some(ProcessEnd::Signaled(Signal(libc::WTERMSIG(status))));
    }
    if libc::WIFSTOPPED(status) {
        return Some(ProcessEnd::Stopped(Signal(libc::WSTOPSIG(status))));
    }
    libc::WIFCONTINUED(status).then_some(ProcessEnd::Continued)
}

/// Sends a signal to a child that has not been waited for, or to its group: its pid cannot have been reused.
pub fn signal(pid: i32, signal: Signal, group: bool) -> io::Result<()> {
    if pid <= 1 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let target = if group { -pid } else { pid };
    // SAFETY: kill takes two numbers. nix's signals have no real-time ones.
    let done = unsafe { libc::kill(target, signal.0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Collects an orphan that this process adopted; true if it had ended.
pub fn collect(pid: i32) -> bool {
    pid > 1 && matches!(wait(pid, 0), Ok(Some(_)))
}
