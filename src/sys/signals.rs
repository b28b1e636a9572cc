//! Signals as a descriptor for poll sets: signal-hook's self-pipe.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::libc;
use nix::sys::signal::{
    SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal as NamedSignal, kill, raise, sigaction,
    sigprocmask,
};
use nix::unistd::Pid;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::core::inherited_state::SignalState;
use crate::core::process_change::Signal;

/// The signals that ask a program to end.
pub const END_SIGNALS: [i32; 4] = [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT];

/// Caught signals, delivered through a socket.
#[derive(Debug)]
pub struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
}

impl Signals {
    /// Starts to catch `signals`.
    ///
    /// # Errors
    /// When the socket pair or a handler cannot be created.
    pub fn catch(signals: &[i32]) -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        Ok(Signals { delivery: SignalDelivery::with_pipe(read, write, SignalOnly, signals)? })
    }

    /// The signals since the last call, each listed once.
    pub fn take(&mut self) -> Vec<i32> {
        self.delivery.pending().collect()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }
}

/// A flag that is set when one of `signals` arrives, in addition to other handlers.
pub fn flag(signals: &[i32]) -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in signals {
        signal_hook::flag::register(*signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}

/// Makes these caught signals interrupt a blocking call (EINTR), which would otherwise be restarted.
pub fn let_interrupt(signals: &[i32]) {
    for signal in signals {
        // SAFETY: a zeroed sigaction is valid; only a flag of the existing one is changed.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(*signal, std::ptr::null(), &raw mut now) == 0 {
                now.sa_flags &= !libc::SA_RESTART;
                libc::sigaction(*signal, &raw const now, std::ptr::null_mut());
            }
        }
    }
}

/// Unblocks every signal that was blocked when this process began.
pub fn unblock_all() {
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
}

/// Blocks the signals that `state` blocks, and no other. May be called between fork and exec.
pub fn block_as(state: SignalState) {
    // SAFETY: an all-zero set is valid; a number that the C library reserves is refused and changes nothing.
    // nix's signals have no real-time ones.
    unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut mask);
        for signal in SignalState::ALL.filter(|signal| state.blocks(Signal(*signal))) {
            libc::sigaddset(&raw mut mask, signal);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
    }
}

/// Ignores a signal for this process.
pub fn ignore(signal: i32) {
    set_disposition(signal, true);
}

/// Ignores a signal, or gives it its default effect. May be called between fork and exec.
pub fn set_disposition(signal: i32, ignored: bool) {
    // SAFETY: neither is a handler, so nothing can run in a wrong context. nix's signals have no real-time
    // ones.
    unsafe { libc::signal(signal, if ignored { libc::SIG_IGN } else { libc::SIG_DFL }) };
}

/// Stops this process's group, as the terminal's Ctrl+Z does; returns when it is continued.
pub fn stop_group() {
    // 0 is this process's own group.
    with_default_stop(|| kill(Pid::from_raw(0), NamedSignal::SIGTSTP));
}

/// Stops this process alone; returns when it is continued.
pub fn stop_self() {
    with_default_stop(|| raise(NamedSignal::SIGTSTP));
}

fn with_default_stop(stop: impl FnOnce() -> nix::Result<()>) {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default is no handler, and the restored one was installed before.
    unsafe {
        let before = sigaction(NamedSignal::SIGTSTP, &default);
        let _ = stop();
        let _ = before.and_then(|before| sigaction(NamedSignal::SIGTSTP, &before));
    }
}
