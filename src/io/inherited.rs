//! What this process inherited, so that the programs it starts inherit the same.
//!
//! A signal that is ignored and a closed standard stream must be noted before anything else happens: Rust's runtime, which
//! would change both first, does not run in `hopty` (`docs/adr/0007-no-runtime-before-main.md`). Everything else is read
//! when it is needed.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use nix::libc;

use super::fd;
use crate::core::inherited::{ErrorOutput, SignalState, bit};
use crate::core::process::Signal;

static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);
/// Bit n: standard stream n was closed.
static WAS_CLOSED: AtomicU8 = AtomicU8::new(0);

/// The first thing that the program does: notes what it inherited, and then ignores SIGPIPE and opens what is closed of
/// standard input, output and error, so that no file takes their place.
pub fn note() {
    PIPE_WAS_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    // SAFETY: SIG_IGN is no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    // SAFETY: F_GETFD only looks.
    for stream in (0..3).filter(|stream| unsafe { libc::fcntl(*stream, libc::F_GETFD) } == -1) {
        WAS_CLOSED.fetch_or(1 << stream, Ordering::Relaxed);
        // SAFETY: the lowest free number is given, which is this one. Where there is no /dev/null the stream stays closed.
        unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
    }
}

/// Asks the kernel: the C library keeps two signals for itself (32, 33) and tells nothing of them.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    // The kernel's `struct sigaction`: what is done, flags, restorer, mask.
    let mut now = [0u64; 4];
    // SAFETY: without a new action the call only looks; it writes 32 bytes.
    let done = unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, std::ptr::null::<u64>(), now.as_mut_ptr(), 8) };
    done == 0 && now[0] == libc::SIG_IGN as u64
}

#[cfg(not(target_os = "linux"))]
fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is valid, and sigaction with a null action only looks.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// The signals as this process found them. Only before it catches, ignores or blocks any itself.
#[must_use]
pub fn signals() -> SignalState {
    let mut state = SignalState::default();
    // SAFETY: an all-zero set is valid, a null set changes nothing, and sigismember only looks.
    let blocked = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_SETMASK, std::ptr::null(), &raw mut set);
        set
    };
    for signal in SignalState::ALL {
        let ignored = if signal == libc::SIGPIPE { PIPE_WAS_IGNORED.load(Ordering::Relaxed) } else { is_ignored(signal) };
        if ignored {
            state.ignored |= bit(Signal(signal));
        }
        // SAFETY: as above.
        if unsafe { libc::sigismember(&raw const blocked, signal) } == 1 {
            state.blocked |= bit(Signal(signal));
        }
    }
    state
}

/// Where this process's errors go, as seen from a program whose terminal is the one on standard input.
#[must_use]
pub fn error_output() -> ErrorOutput {
    if was_closed(2) {
        ErrorOutput::Closed
    } else if fd::is_same_terminal(&io::stderr(), &io::stdin()) {
        ErrorOutput::Terminal
    } else {
        ErrorOutput::Redirected
    }
}

/// Whether a standard stream was closed: what is written to it goes nowhere.
#[must_use]
pub fn was_closed(stream: u8) -> bool {
    WAS_CLOSED.load(Ordering::Relaxed) & 1 << stream != 0
}

/// The descriptors above 2 that were open when this process began: those that exec leaves open, since its own are not.
#[must_use]
pub fn descriptors() -> Vec<i32> {
    let Ok(dir) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let mut open: Vec<i32> = dir.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // SAFETY: F_GETFD only looks.
    open.retain(|fd| *fd > 2 && unsafe { libc::fcntl(*fd, libc::F_GETFD) } == 0);
    open
}

/// Makes `command`, which takes this process's place, find what this process found.
pub fn pass_on(command: &mut Command) {
    let ignored = PIPE_WAS_IGNORED.load(Ordering::Relaxed);
    let restore = move || {
        // SAFETY: neither is a handler.
        unsafe { libc::signal(libc::SIGPIPE, if ignored { libc::SIG_IGN } else { libc::SIG_DFL }) };
        for stream in (0..3).filter(|stream| was_closed(*stream)) {
            // SAFETY: the /dev/null of `note`.
            unsafe { libc::close(i32::from(stream)) };
        }
        Ok(())
    };
    // SAFETY: async-signal-safe calls and no allocation.
    unsafe { command.pre_exec(restore) };
}
