//! Giving the terminal back what nobody has read, for who reads there next: the shell.
//!
//! The kernel has one call for that (`TIOCSTI`), which puts a byte where a key would have put it, and only
//! for the terminal that controls this process. Linux can be told to refuse it (`dev.tty.legacy_tiocsti =
//! 0`); then there is no other way.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::libc;

use super::modes;
use crate::core::terminal::Modes;

/// A terminal holds at most this, in bytes (Linux: 4096, one of them for the end of a line).
pub const HELD: usize = 4095;

static LEFT: Mutex<Option<LeftInput>> = Mutex::new(None);

struct LeftInput {
    typed: Vec<u8>,
    interrupted: Option<Arc<AtomicBool>>,
}

/// Leaves `typed` to who reads this terminal when its raw mode is over, in place of what was left before.
/// `interrupted` says by then whether Ctrl+C was pressed, which takes it all away, as a terminal does.
pub fn leave(typed: Vec<u8>, interrupted: Option<Arc<AtomicBool>>) {
    *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = Some(LeftInput { typed, interrupted });
}

/// Somebody has got it.
pub fn forget() {
    *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Puts what was left before all that waits in the terminal on standard input, without showing it: that has
/// been done where it was to be. `found` are the modes that it will be read in.
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
    // Of more than it holds the middle would be lost: a command that nobody wrote.
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

/// Everything that was typed into the raw terminal on standard input and nobody has read.
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

/// Whether the kernel lets this process do it: it looks at that before it looks for the byte, which is
/// nowhere.
fn takes(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: the kernel reads at the address that it is given, finds nothing there and says so.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCSTI, std::ptr::null::<u8>()) };
    done != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// The modes in which lines are lines and ends of file are such, and no key has another meaning or is shown.
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
