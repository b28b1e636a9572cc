//! Giving unread input back to the terminal, for the shell to read.
//!
//! The kernel has one call for that (`TIOCSTI`), which inserts a byte as if it had been typed, and only into
//! the controlling terminal. Linux can be set to refuse it (`dev.tty.legacy_tiocsti = 0`); then there is no
//! other way.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::libc;

use super::modes;
use crate::core::terminal::Modes;

/// The most that a terminal holds, in bytes (Linux: 4096, one of them for a line end).
pub const HELD: usize = 4095;

static LEFT: Mutex<Option<LeftInput>> = Mutex::new(None);

struct LeftInput {
    typed: Vec<u8>,
    interrupted: Option<Arc<AtomicBool>>,
}

/// Leaves `typed` for the next reader of this terminal, replacing what was left before; it is inserted when
/// raw mode ends. If `interrupted` is set by then, Ctrl+C was pressed, which discards it all, as a terminal
/// does.
pub fn leave(typed: Vec<u8>, interrupted: Option<Arc<AtomicBool>>) {
    *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = Some(LeftInput { typed, interrupted });
}

/// What was left has been delivered elsewhere.
pub fn forget() {
    *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Inserts what was left before everything that waits in the terminal on standard input, without echo: it was
/// echoed when it was typed. `found` are the modes in which it will be read.
pub(super) fn give(found: &Modes) {
    let Some(LeftInput { mut typed, interrupted }) =
        LEFT.lock().unwrap_or_else(PoisonError::into_inner).take()
    else {
        return;
    };
    let stdin = io::stdin();
    if typed.is_empty()
        || interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed))
        || !takes(stdin.as_fd())
    {
        return;
    }
    typed.extend(take_waiting());
    // If it did not fit, the middle would be lost: a command that nobody typed.
    if typed.len() > HELD || modes::set(&stdin, &quiet(found)).is_err() {
        return;
    }
    for byte in &typed {
        // SAFETY: TIOCSTI reads one byte.
        if unsafe { libc::ioctl(stdin.as_raw_fd(), libc::TIOCSTI, byte) } != 0 {
            return;
        }
    }
}

/// Takes everything that was typed into the raw terminal on standard input and not read.
pub fn take_waiting() -> Vec<u8> {
    let stdin = io::stdin();
    let waiting = rustix::io::ioctl_fionread(&stdin).unwrap_or(0);
    let mut rest = vec![0; usize::try_from(waiting).unwrap_or(0).min(HELD + 1)];
    if rest.is_empty() {
        return Vec::new();
    }
    let n = nix::unistd::read(&stdin, &mut rest).unwrap_or(0);
    rest.truncate(n);
    rest
}

/// Whether the kernel allows it: it checks that before it reads the byte, from an invalid address here.
fn takes(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: the kernel fails to read at the null address and says so.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCSTI, std::ptr::null::<u8>()) };
    done != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// Modes with line editing and end of file, but no other special key and no echo.
fn quiet(found: &Modes) -> Modes {
    let mut quiet = found.clone();
    quiet.iflag = found.iflag & u64::from(libc::ICRNL | libc::INLCR | libc::IGNCR);
    quiet.lflag = found.lflag & u64::from(libc::ICANON);
    let kept = [libc::VEOF, libc::VMIN, libc::VTIME];
    for (place, byte) in quiet.cc.iter_mut().enumerate() {
        *byte = if kept.contains(&place) { *byte } else { 0 };
    }
    quiet
}
