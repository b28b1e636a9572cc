//! What this process inherited, so that the programs it starts inherit the same.
//!
//! Ignored signals and closed standard streams must be recorded before anything else happens: Rust's runtime,
//! which would change both first, does not run in `hopty` (`docs/adr/0007-no-runtime-before-main.md`).
//! Everything else is read when it is needed.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use nix::libc;

use super::fd;
use crate::core::inherited::{ErrorOutput, SignalState, bit};
use crate::core::process::Signal;

static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);
static FILE_SIZE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);
/// The inherited umask; more than nine bits: not read yet.
static UMASK: AtomicU32 = AtomicU32::new(u32::MAX);
/// Bit n: standard stream n was closed.
static WAS_CLOSED: AtomicU8 = AtomicU8::new(0);

/// The program's first step: records what it inherited. Then it ignores SIGPIPE and SIGXFSZ (a write beyond
/// the file size limit fails instead of ending the program), opens closed standard streams, so that no file
/// takes their place, and clears the owner's bits of the umask, so that it can use the files that it creates.
pub fn note() {
    for (signal, was_ignored) in [(libc::SIGPIPE, &PIPE_WAS_IGNORED), (libc::SIGXFSZ, &FILE_SIZE_WAS_IGNORED)]
    {
        was_ignored.store(is_ignored(signal), Ordering::Relaxed);
        // SAFETY: SIG_IGN is no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // SAFETY: umask takes a number and cannot fail.
    let umask = unsafe { libc::umask(0o077) };
    UMASK.store(umask, Ordering::Relaxed);
    // SAFETY: as above.
    unsafe { libc::umask(umask & 0o077) };
    // SAFETY: F_GETFD only looks.
    for stream in (0..3).filter(|stream| unsafe { libc::fcntl(*stream, libc::F_GETFD) } == -1) {
        WAS_CLOSED.fetch_or(1 << stream, Ordering::Relaxed);
        // SAFETY: open returns the lowest free number, which is this one. Without /dev/null the stream stays
        // closed.
        unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
    }
}

/// Asks the kernel, because the C library hides two signals (32, 33).
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    // The kernel's `struct sigaction`: handler, flags, restorer, mask.
    let mut now = [0u64; 4];
    // SAFETY: without a new action the call only reads; it writes 32 bytes.
    let done = unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, std::ptr::null::<u64>(), now.as_mut_ptr(), 8)
    };
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

/// The signal dispositions that this process inherited. Only before it catches, ignores or blocks any itself.
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
        let ignored = match signal {
            libc::SIGPIPE => PIPE_WAS_IGNORED.load(Ordering::Relaxed),
            libc::SIGXFSZ => FILE_SIZE_WAS_IGNORED.load(Ordering::Relaxed),
            _ => is_ignored(signal),
        };
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

/// Where this process's errors go, from the point of view of a program whose terminal is the one on standard
/// input.
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

/// Whether a standard stream was closed: output to it is lost.
#[must_use]
pub fn was_closed(stream: u8) -> bool {
    WAS_CLOSED.load(Ordering::Relaxed) & 1 << stream != 0
}

/// The inherited umask; `None` if [`note`] has not run.
#[must_use]
pub fn umask() -> Option<u32> {
    Some(UMASK.load(Ordering::Relaxed)).filter(|umask| *umask <= 0o777)
}

/// The inherited descriptors above 2: those without close-on-exec, since this process's own have it.
#[must_use]
pub fn descriptors() -> Vec<i32> {
    let Ok(dir) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let mut open: Vec<i32> =
        dir.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // SAFETY: F_GETFD only looks.
    open.retain(|fd| *fd > 2 && unsafe { libc::fcntl(*fd, libc::F_GETFD) } == 0);
    open
}

/// Makes `command`, which replaces this process, inherit what this process inherited. `signals`: the result
/// of [`signals`], if this process has changed dispositions since.
pub fn pass_on(command: &mut Command, signals: Option<SignalState>) {
    let own = [(libc::SIGPIPE, &PIPE_WAS_IGNORED), (libc::SIGXFSZ, &FILE_SIZE_WAS_IGNORED)];
    let own = own.map(|(signal, was_ignored)| (signal, was_ignored.load(Ordering::Relaxed)));
    let umask = umask();
    let restore = move || {
        for (signal, ignored) in own {
            // SAFETY: neither is a handler.
            unsafe { libc::signal(signal, if ignored { libc::SIG_IGN } else { libc::SIG_DFL }) };
        }
        if let Some(state) = signals {
            restore_signals(state);
        }
        if let Some(umask) = umask {
            // SAFETY: umask takes a number.
            unsafe { libc::umask(umask) };
        }
        for stream in (0..3).filter(|stream| was_closed(*stream)) {
            // SAFETY: the /dev/null of `note`.
            unsafe { libc::close(i32::from(stream)) };
        }
        Ok(())
    };
    // SAFETY: async-signal-safe calls and no allocation.
    unsafe { command.pre_exec(restore) };
}

/// Ignores and blocks again what was ignored and blocked; caught signals are at their default after exec.
fn restore_signals(state: SignalState) {
    // SAFETY: SIG_IGN is no handler; an emptied set is valid, and a number that is refused changes nothing.
    unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut mask);
        for signal in SignalState::ALL {
            if state.ignores(Signal(signal)) {
                libc::signal(signal, libc::SIG_IGN);
            }
            if state.blocks(Signal(signal)) {
                libc::sigaddset(&raw mut mask, signal);
            }
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
    }
}
