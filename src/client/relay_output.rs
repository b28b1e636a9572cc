//! What the client itself writes to its terminal: the program's output if the host cannot (the relay).
//!
//! Nothing blocks, so that a terminal that takes no output delays no key and no signal. Standard output is
//! shared with the shell and must never become non-blocking, so the terminal is opened again; where that
//! fails, writes block.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

use crate::sys::outbuf::OutBuf;
use crate::sys::poll::{Interest, wait_for};
use crate::sys::signals::END_SIGNALS;
use crate::tty::raw;

/// Bytes waiting for the terminal above which the host's frames are not read, so that the program has to
/// wait.
const HIGH: usize = 1 << 18;

/// How long a process that was told to end waits for a terminal that takes nothing, in ms; the host waits as
/// long for a client that has died.
const STUCK_MS: u64 = 200;

/// The terminal on standard output, for writing.
#[derive(Debug, Default)]
pub(super) struct TerminalOutput {
    own: Option<File>,
    /// The signal that told this process to end.
    end_signal: Option<i32>,
    waiting: OutBuf,
}

impl TerminalOutput {
    /// Writes no longer block from here on, if the terminal can be opened again.
    pub fn open(&mut self) {
        // Works even if the terminal belongs to another user or has no name here: the controlling terminal
        // can always be opened.
        let controlling = nix::unistd::tcgetpgrp(io::stdout()).is_ok();
        let name = if controlling { "/dev/tty" } else { "/proc/self/fd/1" };
        let flags = libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC;
        self.own = File::options().write(true).custom_flags(flags).open(name).ok();
    }

    /// Writes `bytes` now or as soon as the terminal takes them. A terminal that is gone swallows everything.
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

    /// Writes what fits.
    pub fn flush(&mut self) {
        if self.own.as_ref().is_some_and(|file| self.waiting.flush(file).is_err()) {
            self.waiting.clear();
        }
    }

    /// This signal ends the program, and then this process. From here on the host's frames are read however
    /// much output waits: the next may only say that the host is gone.
    pub fn must_end(&mut self, signal: i32) {
        self.end_signal = Some(signal);
    }

    /// The host is gone and the terminal takes nothing: writes `last` if that changes at once, and ends this
    /// process by the signal.
    pub fn end(&mut self, signal: i32, last: &[u8]) {
        raw::end_by(&END_SIGNALS);
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

    /// Writes everything, however long that takes, before this process exits; a signal ends the wait. One
    /// that has already arrived is obeyed as soon as the terminal takes nothing.
    pub fn finish(&mut self) {
        raw::end_by(&END_SIGNALS);
        if let Some(signal) = self.end_signal
            && !wait_for(&io::stdout(), Interest::Write, STUCK_MS).unwrap_or(true)
        {
            raise(signal);
        }
        self.hand_back();
    }

    /// Writes everything, however long that takes, and closes the terminal.
    pub fn hand_back(&mut self) {
        self.own = None;
        let rest = self.waiting.take();
        self.show(&rest);
    }

    /// What to poll for room, if bytes wait.
    pub fn stuck(&self) -> Option<BorrowedFd<'_>> {
        self.own.as_ref().filter(|_| !self.waiting.is_empty()).map(AsFd::as_fd)
    }

    /// Whether too much waits for more to be read.
    pub fn is_full(&self) -> bool {
        self.waiting.len() > if self.end_signal.is_some() { HIGH << 4 } else { HIGH }
    }
}

fn raise(signal: i32) {
    let _ = nix::sys::signal::Signal::try_from(signal).map(nix::sys::signal::raise);
}
