//! Signals that the client is sent, and pauses: the terminal goes back to the shell and comes again.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use nix::libc;

use super::{Relay, TerminalClient};
use crate::ipc::frame::{Frame, tag};
use crate::ipc::stream::ConnectionState;
use crate::sys::signals::stop_group;
use crate::tty::raw;

/// What a client hears.
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

/// How long the host may take to say good-bye to a terminal that went away.
const HANGUP: Duration = Duration::from_secs(1);

impl TerminalClient {
    pub(super) fn take_signals(&mut self) {
        let mut heard = self.signals.take();
        // Who goes on may have to wait for the terminal, and who is to end does not.
        heard.sort_by_key(|signal| *signal == libc::SIGCONT);
        for signal in heard {
            match signal {
                libc::SIGHUP => self.hang_up(),
                libc::SIGWINCH => self.tell_size(),
                libc::SIGTSTP => self.release(),
                libc::SIGCONT if self.suspending => self.continued = true,
                libc::SIGCONT => {
                    // Stopped and continued from outside: the shell may have changed the modes meanwhile.
                    if self.regain() {
                        self.stream.send(&Frame::new(tag::RESUME, &[]).encode());
                        self.tell_size();
                    }
                }
                other => self.pass_on(other),
            }
        }
    }

    fn pass_on(&mut self, signal: i32) {
        if [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT].contains(&signal) {
            self.told_to_end = true;
            self.output.told_to_end(signal);
            if self.life == ConnectionState::Closed {
                // Only what waits for the terminal keeps it from ending.
                self.output.end(signal, &[raw::END_OF_ANYTHING, &self.undo].concat());
            }
        }
        if !self.read_only {
            let number = u8::try_from(signal).unwrap_or(0);
            self.stream.send(&Frame::new(tag::SIGNAL, &[number]).encode());
        } else if self.told_to_end {
            // A host of an older version would end the program.
            self.stream.send(&Frame::new(tag::DETACH, &[]).encode());
        }
    }

    /// The terminal is gone, or is about to be: the host lets go of it and the session goes on.
    pub(super) fn hang_up(&mut self) {
        if self.hung_up.is_none() {
            self.hung_up = Some(Instant::now() + HANGUP);
            // Not as a signal to be passed on: older hosts would end the program with it.
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

    /// The second half: the modes are put back and this process stops, with its whole group, like any program
    /// after Ctrl+Z. In an orphaned process group the kernel discards the signal; then client and child
    /// simply continue.
    pub(super) fn stop_here(&mut self) {
        self.relay = Relay::Off;
        self.output.hand_back();
        if !self.continued {
            self.raw.suspend();
            stop_group();
        }
        self.suspending = false;
        self.continued = false;
        self.heard_in_pause();
        if !self.regain() {
            return;
        }
        self.heard_in_pause();
        self.stream.send(&Frame::new(tag::RESUME, &[]).encode());
        self.hand_over("");
        self.tell_size();
    }

    /// Raw again, as soon as the terminal is this process's: in the background this stops it (SIGTTOU) until
    /// the shell has put the job into the foreground. False where it was continued only to be told to end, or
    /// the terminal is gone.
    pub(super) fn regain(&mut self) -> bool {
        loop {
            if self.hung_up.is_some() || (self.told_to_end && !raw::in_foreground()) {
                return false;
            }
            match raw::ask_for_foreground() {
                Err(e) if e.kind() == ErrorKind::Interrupted => self.heard_in_pause(),
                _ => return self.raw.resume().is_ok(),
            }
        }
    }

    /// Signals that came while the process was stopped; those of the stop itself mean nothing any more.
    fn heard_in_pause(&mut self) {
        for signal in self.signals.take() {
            match signal {
                libc::SIGHUP => self.hang_up(),
                libc::SIGCONT | libc::SIGTSTP | libc::SIGWINCH => {}
                other => self.pass_on(other),
            }
        }
    }
}
