//! The client's signals, and its suspensions, in which the shell has the terminal.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use nix::libc;

use super::terminal_client::{Relay, TerminalClient};
use crate::ipc::frame::{Frame, tag};
use crate::ipc::stream::ConnectionState;
use crate::sys::signals::stop_group;
use crate::tty::raw;

/// The signals that the client handles.
pub(super) const CAUGHT: [i32; 9] = [
    libc::SIGWINCH,
    libc::SIGHUP,
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// How long to wait for `BYE` after the terminal hung up.
const HANGUP: Duration = Duration::from_secs(1);

impl TerminalClient {
    pub(super) fn take_signals(&mut self) {
        let mut heard = self.signals.take();
        // SIGCONT last: it may wait for the terminal, and a signal that ends the client must not.
        heard.sort_by_key(|signal| *signal == libc::SIGCONT);
        for signal in heard {
            match signal {
                libc::SIGHUP => self.hang_up(),
                libc::SIGWINCH => self.send_size(),
                libc::SIGTSTP => self.release(),
                libc::SIGCONT if self.suspending => self.continued = true,
                libc::SIGCONT => {
                    // Stopped and continued from outside: the shell may have changed the modes.
                    if self.regain() {
                        self.stream.send(&Frame::new(tag::RESUME, &[]).encode());
                        self.send_size();
                    }
                }
                other => self.pass_on(other),
            }
        }
    }

    fn pass_on(&mut self, signal: i32) {
        if [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT].contains(&signal) {
            self.must_end = true;
            self.output.must_end(signal);
            if self.life == ConnectionState::Closed {
                // Only output that the terminal does not take keeps this process from ending.
                self.output.end(signal, &[raw::END_OF_ANYTHING, &self.undo].concat());
            }
        }
        if !self.read_only {
            let number = u8::try_from(signal).unwrap_or(0);
            self.stream.send(&Frame::new(tag::SIGNAL, &[number]).encode());
        } else if self.must_end {
            // A host of an older version would end the program.
            self.stream.send(&Frame::new(tag::DETACH, &[]).encode());
        }
    }

    /// The terminal is gone or about to go: the host releases it and the session keeps running.
    pub(super) fn hang_up(&mut self) {
        if self.hung_up.is_none() {
            self.hung_up = Some(Instant::now() + HANGUP);
            // Not as a SIGNAL frame: older hosts would end the program.
            for tag in [tag::HANGUP, tag::DETACH] {
                self.stream.send(&Frame::new(tag, &[]).encode());
            }
        }
    }

    /// The first half of a stop: the host gives the terminal back.
    pub(super) fn release(&mut self) {
        if !self.suspending {
            self.suspending = true;
            self.stream.send(&Frame::new(tag::RELEASE, &[]).encode());
        }
    }

    /// The second half: restores the modes and stops this process group like any program after Ctrl+Z. In an
    /// orphaned process group the kernel discards the signal; then client and child simply continue.
    pub(super) fn stop_here(&mut self) {
        self.relay = Relay::Off;
        self.output.hand_back();
        if !self.continued {
            self.raw.suspend();
            stop_group();
        }
        self.suspending = false;
        self.continued = false;
        self.take_suspension_signals();
        if !self.regain() {
            return;
        }
        self.take_suspension_signals();
        self.stream.send(&Frame::new(tag::RESUME, &[]).encode());
        self.hand_over("");
        self.send_size();
    }

    /// Back to raw mode as soon as this process owns the terminal: in the background this stops it (SIGTTOU)
    /// until the shell puts the job into the foreground. False if it was continued only to end, or the
    /// terminal is gone.
    pub(super) fn regain(&mut self) -> bool {
        loop {
            if self.hung_up.is_some() || (self.must_end && !raw::in_foreground()) {
                return false;
            }
            match raw::ask_for_foreground() {
                Err(e) if e.kind() == ErrorKind::Interrupted => self.take_suspension_signals(),
                _ => return self.raw.resume().is_ok(),
            }
        }
    }

    /// Handles signals that arrived during a stop; the stop's own signals mean nothing any more.
    fn take_suspension_signals(&mut self) {
        for signal in self.signals.take() {
            match signal {
                libc::SIGHUP => self.hang_up(),
                libc::SIGCONT | libc::SIGTSTP | libc::SIGWINCH => {}
                other => self.pass_on(other),
            }
        }
    }
}
