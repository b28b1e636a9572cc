//! The person's terminal in raw mode, together with the signals that concern it.

use std::io;

use nix::libc;

use super::suspension::CAUGHT;
use super::typeahead;
use crate::core::terminal::{Ahead, Modes};
use crate::sys::signals::{self, Signals};
use crate::tty::{raw, unread_input};

/// The terminal on standard input; dropping this restores it.
#[derive(Debug)]
pub struct RawTerminal {
    pub(super) raw: raw::RawMode,
    pub(super) signals: Signals,
}

impl RawTerminal {
    /// Makes the terminal raw as soon as this process may.
    pub fn take() -> io::Result<Self> {
        signals::unblock_all();
        // Before signals are caught, so that they keep their default effect meanwhile.
        raw::wait_for_foreground();
        let signals = Signals::catch(&CAUGHT)?;
        signals::let_interrupt(&CAUGHT);
        raw::restore_on_panic();
        Ok(RawTerminal { raw: raw::RawMode::enter()?, signals })
    }

    /// [`RawTerminal::take`] for a client that starts a program: also takes out of the terminal what was
    /// typed ahead, which the terminal has already echoed. Until the program has its terminal, Ctrl+C still
    /// ends this process.
    pub fn take_with_ahead() -> io::Result<(Self, Ahead)> {
        raw::wait_for_foreground();
        let reads = typeahead::reads();
        let mut hold = Self::take()?;
        // The rest, now that the terminal is raw: the line that was being edited.
        let ahead = Ahead { reads, rest: unread_input::take_waiting() };
        // For the shell, if no program reads it.
        unread_input::leave(
            ahead.keys(hold.modes_before().cc.get(libc::VEOF)),
            Some(signals::flag(&[libc::SIGINT, libc::SIGQUIT])?),
        );
        hold.raw.enter_cbreak()?;
        Ok((hold, ahead))
    }

    /// The terminal's modes before it was made raw.
    pub fn modes_before(&self) -> &Modes {
        self.raw.modes_before()
    }

    pub fn signals(&mut self) -> &mut Signals {
        &mut self.signals
    }
}
