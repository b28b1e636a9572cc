//! The person's terminal while a session has it: raw, every signal that concerns it heard.

use std::io;

use nix::libc;

use super::pause::CAUGHT;
use super::typeahead;
use crate::core::terminal::{Ahead, Modes};
use crate::sys::signals::{self, Signals};
use crate::tty::{raw, unread_input};

/// The terminal on standard input; it is put back when this goes.
#[derive(Debug)]
pub struct RawTerminal {
    pub(super) raw: raw::RawMode,
    pub(super) signals: Signals,
}

impl RawTerminal {
    /// Takes it, as soon as it is this process's.
    pub fn take() -> io::Result<Self> {
        signals::unblock_all();
        // As long as signals still do what they always do.
        raw::wait_for_foreground();
        let signals = Signals::catch(&CAUGHT)?;
        signals::let_interrupt(&CAUGHT);
        raw::restore_on_panic();
        Ok(RawTerminal { raw: raw::RawMode::enter()?, signals })
    }

    /// The same for who starts a program: what was typed ahead of it is taken out of the terminal, which has
    /// shown it already. Until the program has its terminal, Ctrl+C still ends this process.
    pub fn take_with_ahead() -> io::Result<(Self, Ahead)> {
        raw::wait_for_foreground();
        let reads = typeahead::reads();
        let mut hold = Self::take()?;
        // The rest, now that the terminal is raw: the line that was still being edited.
        let ahead = Ahead { reads, rest: unread_input::take_waiting() };
        // For the shell, if no program comes to read it.
        unread_input::leave(
            ahead.keys(hold.found().cc.get(libc::VEOF)),
            Some(signals::flag(&[libc::SIGINT, libc::SIGQUIT])?),
        );
        hold.raw.lend()?;
        Ok((hold, ahead))
    }

    /// The terminal's modes as they were found.
    pub fn found(&self) -> &Modes {
        self.raw.found()
    }

    /// What is heard.
    pub fn signals(&mut self) -> &mut Signals {
        &mut self.signals
    }
}
