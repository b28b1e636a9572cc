//! What this process inherited, so that the programs it starts inherit the same.
//!
//! Ignored signals and closed standard streams must be recorded before anything else happens: Rust's runtime,
//! which would change both first, does not run in `hopty` (`docs/adr/0007-no-runtime-before-main.md`).
//! Everything else is read when it is needed.

use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::signal::SigSet;
use nix::sys::stat::Mode;

use super::{fd, signals};
use crate::core::inherited_state::{ErrorOutput, SignalState, bit};
use crate::core::process_change::Signal;

static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);
static FILE_SIZE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);
/// The inherited umask; a value of more than nine bits: not read yet.
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
        signals::ignore(signal);
    }
    let others = Mode::S_IRWXG | Mode::S_IRWXO;
    let umask = nix::sys::stat::umask(others);
    UMASK.store(umask.bits(), Ordering::Relaxed);
    nix::sys::stat::umask(umask & others);
    for stream in (0..3).filter(|stream| fd::is_close_on_exec(*stream).is_none()) {
        WAS_CLOSED.fetch_or(1 << stream, Ordering::Relaxed);
        // open returns the lowest free number, which is this one, and it stays open. Without /dev/null the
        // stream stays closed.
        let _ = nix::fcntl::open(c"/dev/null", OFlag::O_RDWR, Mode::empty()).map(IntoRawFd::into_raw_fd);
    }
}

/// Asks the kernel, because the C library hides two signals (32, 33).
fn is_ignored(signal: i32) -> bool {
    // The kernel's `struct sigaction`: handler, flags, restorer, mask.
    let mut now = [0u64; 4];
    // SAFETY: without a new action the call only reads; it writes 32 bytes.
    let done = unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, std::ptr::null::<u64>(), now.as_mut_ptr(), 8)
    };
    done == 0 && now[0] == libc::SIG_IGN as u64
}

/// The signal dispositions that this process inherited. Call it before catching, ignoring or blocking any.
pub fn signals() -> SignalState {
    let mut state = SignalState::default();
    let blocked = SigSet::thread_get_mask().unwrap_or_else(|_| SigSet::empty());
    for signal in SignalState::ALL {
        let ignored = match signal {
            libc::SIGPIPE => PIPE_WAS_IGNORED.load(Ordering::Relaxed),
            libc::SIGXFSZ => FILE_SIZE_WAS_IGNORED.load(Ordering::Relaxed),
            _ => is_ignored(signal),
        };
        if ignored {
            state.ignored |= bit(Signal(signal));
        }
        // SAFETY: sigismember only reads. nix does not know real-time signals.
        if unsafe { libc::sigismember(blocked.as_ref(), signal) } == 1 {
            state.blocked |= bit(Signal(signal));
        }
    }
    state
}

/// Where this process's standard error goes, relative to a terminal on standard input.
pub fn error_output() -> ErrorOutput {
    if was_closed(2) {
        ErrorOutput::Closed
    } else if fd::is_same_terminal(&io::stderr(), &io::stdin()) {
        ErrorOutput::Terminal
    } else {
        ErrorOutput::Redirected
    }
}

/// Whether a standard stream was closed: its output is lost.
pub fn was_closed(stream: u8) -> bool {
    WAS_CLOSED.load(Ordering::Relaxed) & 1 << stream != 0
}

/// The inherited umask; `None` if [`note`] has not run.
pub fn umask() -> Option<u32> {
    Some(UMASK.load(Ordering::Relaxed)).filter(|umask| *umask <= 0o777)
}

/// The inherited descriptors above 2: those without close-on-exec, since this process's own have it.
pub fn descriptors() -> Vec<i32> {
    let Ok(dir) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let mut open: Vec<i32> =
        dir.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    open.retain(|fd| *fd > 2 && fd::is_close_on_exec(*fd) == Some(false));
    open
}

/// Whether this process inherited `descriptor`.
pub fn has_descriptor(descriptor: i32) -> bool {
    let was_open = u8::try_from(descriptor).is_ok_and(|stream| stream < 3 && !was_closed(stream));
    was_open || descriptor > 2 && fd::is_close_on_exec(descriptor) == Some(false)
}

/// Makes `command`, which replaces this process, inherit the same. `state`: the result of [`signals()`], if
/// this process has changed dispositions since.
pub fn pass_on(command: &mut Command, state: Option<SignalState>) {
    let own = [(libc::SIGPIPE, &PIPE_WAS_IGNORED), (libc::SIGXFSZ, &FILE_SIZE_WAS_IGNORED)];
    let own = own.map(|(signal, was_ignored)| (signal, was_ignored.load(Ordering::Relaxed)));
    let umask = umask();
    let restore = move || {
        for (signal, ignored) in own {
            signals::set_disposition(signal, ignored);
        }
        if let Some(state) = state {
            restore_signals(state);
        }
        if let Some(umask) = umask {
            set_umask(umask);
        }
        // The /dev/null of `note`.
        for stream in (0..3).filter(|stream| was_closed(*stream)) {
            let _ = nix::unistd::close(i32::from(stream));
        }
        Ok(())
    };
    // SAFETY: async-signal-safe calls and no allocation.
    unsafe { command.pre_exec(restore) };
}

/// Ignores and blocks again what was ignored and blocked; caught signals are at their default after exec.
fn restore_signals(state: SignalState) {
    for signal in SignalState::ALL.filter(|signal| state.ignores(Signal(*signal))) {
        signals::ignore(signal);
    }
    signals::block_as(state);
}

/// Sets the umask. May be called between fork and exec.
pub fn set_umask(umask: u32) {
    nix::sys::stat::umask(Mode::from_bits_truncate(umask));
}
