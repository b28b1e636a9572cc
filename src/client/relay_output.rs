//! What the client itself writes to its terminal: the program's output where the host cannot (the relay).
//!
//! Nothing is waited for, so that a terminal which takes nothing keeps no key and no signal from being heard.
//! Standard output is shared with the shell and must never become non-blocking: the terminal is opened anew
//! for it, and where that is not possible, writing waits.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

use crate::sys::outbuf::OutBuf;
use crate::sys::poll::{Interest, wait_for};
use crate::tty::raw;

/// Bytes waiting for the terminal above which the host is not listened to: the program's turn to wait.
const HIGH: usize = 1 << 18;

/// How long a terminal may take nothing before a process that was told to end does so, in ms; the host waits
/// as long for one whose client has died.
const STUCK_MS: u64 = 200;

/// What ends this process when it has nothing left but to write.
const ENDS: [i32; 4] = [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT];

/// The terminal on standard output, for writing.
#[derive(Debug, Default)]
pub(super) struct TerminalOutput {
    own: Option<File>,
    told: Option<i32>,
    waiting: OutBuf,
}

impl TerminalOutput {
    /// From here on writing does not wait, where that can be had.
    pub fn open(&mut self) {
        // Also where the terminal belongs to another user or has no name here: the controlling one can always
        // be opened.
        let controlling = nix::unistd::tcgetpgrp(io::stdout()).is_ok();
        let name = if controlling { "/dev/tty" } else { "/proc/self/fd/1" };
        let flags = libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC;
        self.own = File::options().write(true).custom_flags(flags).open(name).ok();
    }

    /// Writes, now or as soon as the terminal takes it. One that is gone takes everything.
    pub fn show(&mut self, bytes: &[u8]) {
        match &self.own {
            Some(file) => {
                if self.waiting.send(file, bytes).is_err() {
                    self.waiting.clear();
                }
            }
            None => {
                let mut out = io::stdout().lock();
                let _ = out.write_all(bytes).and_then(|()| out.flush());
            }
        }
    }

    /// The terminal takes something again.
    pub fn flush(&mut self) {
        if self.own.as_ref().is_some_and(|file| self.waiting.flush(file).is_err()) {
            self.waiting.clear();
        }
    }

    /// This signal is to end the program, and then this process. From here on the host is heard although much
    /// waits: it may have nothing more to say than that it is gone.
    pub fn told_to_end(&mut self, signal: i32) {
        self.told = Some(signal);
    }

    /// The host is gone and the terminal takes nothing: `last` is written if that changes at once, and this
    /// process ends by the signal.
    pub fn end(&mut self, signal: i32, last: &[u8]) {
        raw::end_by(&ENDS);
        if let Some(file) = &self.own {
            self.waiting.push(last);
            while !self.waiting.is_empty() && wait_for(file, Interest::Write, STUCK_MS).unwrap_or(false) {
                if self.waiting.flush(file).is_err() {
                    break;
                }
            }
        }
        raise(signal);
    }

    /// Writes everything for good, however long that takes: whoever does not want to wait ends this process
    /// by a signal. One that came already is obeyed where the terminal takes nothing.
    pub fn finish(&mut self) {
        raw::end_by(&ENDS);
        if let Some(signal) = self.told
            && !wait_for(&io::stdout(), Interest::Write, STUCK_MS).unwrap_or(true)
        {
            raise(signal);
        }
        self.hand_back();
    }

    /// Writes everything, however long that takes, and leaves the terminal alone.
    pub fn hand_back(&mut self) {
        self.own = None;
        let rest = self.waiting.take();
        self.show(&rest);
    }

    /// What to wait for when something waits.
    pub fn stuck(&self) -> Option<BorrowedFd<'_>> {
        self.own.as_ref().filter(|_| !self.waiting.is_empty()).map(AsFd::as_fd)
    }

    /// Whether no more should come for now.
    pub fn is_full(&self) -> bool {
        self.waiting.len() > if self.told.is_some() { HIGH << 4 } else { HIGH }
    }
}

fn raise(signal: i32) {
    let _ = nix::sys::signal::Signal::try_from(signal).map(nix::sys::signal::raise);
}
