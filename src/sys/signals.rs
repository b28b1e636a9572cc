//! Signals as a descriptor: signal-hook's self-pipe, which fits into a poll set.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

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

    /// The signals since the last call, each once.
    pub fn take(&mut self) -> Vec<i32> {
        self.delivery.pending().collect()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }
}

/// A flag that is set when one of `signals` arrives, whatever else handles it.
///
/// # Errors
/// When a handler cannot be installed.
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
            let mut now: nix::libc::sigaction = std::mem::zeroed();
            if nix::libc::sigaction(*signal, std::ptr::null(), &raw mut now) == 0 {
                now.sa_flags &= !nix::libc::SA_RESTART;
                nix::libc::sigaction(*signal, &raw const now, std::ptr::null_mut());
            }
        }
    }
}

/// Unblocks every signal that was blocked when this process began.
pub fn unblock_all() {
    // SAFETY: an emptied set is valid.
    unsafe {
        let mut none: nix::libc::sigset_t = std::mem::zeroed();
        nix::libc::sigemptyset(&raw mut none);
        nix::libc::sigprocmask(nix::libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Ignores a signal for this process.
pub fn ignore(signal: i32) {
    // SAFETY: SIG_IGN is no handler, so nothing can run in a wrong context.
    unsafe { nix::libc::signal(signal, nix::libc::SIG_IGN) };
}

/// Stops this process's group, as the terminal's Ctrl+Z does; returns when it is continued.
pub fn stop_group() {
    use nix::libc;

    // SAFETY: plain signal calls; the old handler is restored afterwards. 0 is this process's own group.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGTSTP, &raw const default, &raw mut old);
        libc::kill(0, libc::SIGTSTP);
        libc::sigaction(libc::SIGTSTP, &raw const old, std::ptr::null_mut());
    }
}
