//! What the client itself writes to its terminal: the program's output where the host cannot (the relay).
//!
//! Nothing is waited for, so that a terminal which takes nothing keeps no key and no signal from being heard. Standard
//! output is shared with the shell and must never become non-blocking: the terminal is opened anew for it, and where that
//! is not possible, writing waits.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

use crate::io::outbuf::OutBuf;

/// Bytes waiting for the terminal above which the host is not listened to: the program's turn to wait.
const HIGH: usize = 1 << 18;

/// The terminal on standard output, for writing.
#[derive(Debug, Default)]
pub(super) struct Output {
    own: Option<File>,
    waiting: OutBuf,
}

impl Output {
    /// From here on writing does not wait, where that can be had.
    pub fn open(&mut self) {
        // Also where the terminal belongs to another user or has no name here: the controlling one can always be opened.
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

    /// Writes everything, however long that takes, and leaves the terminal alone.
    pub fn finish(&mut self) {
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
        self.waiting.len() > HIGH
    }
}
