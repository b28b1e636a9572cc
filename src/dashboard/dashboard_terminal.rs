//! The person's terminal while the dashboard has it: raw, on the alternate screen, and given back whatever
//! happens.

use std::io::{self, Write};

use crate::tty::raw::{self, RawMode};

/// Alternate screen, no cursor, pastes in brackets, buttons and wheel of the mouse.
const BEGIN: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1000h\x1b[?1006h\x1b[0m\x1b[2J";
/// The reverse, and the end of an update that a panic cut short.
const UNDO: &[u8] = b"\x1b[?2026l\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";

/// The terminal, in the dashboard's hands or lent back.
#[derive(Debug)]
pub struct DashTerminal {
    raw: RawMode,
    has_it: bool,
}

impl DashTerminal {
    /// Takes the terminal on standard input and output.
    ///
    /// # Errors
    /// When it is none, or is gone.
    pub fn enter() -> io::Result<DashTerminal> {
        raw::restore_on_panic();
        let raw = RawMode::enter()?;
        let mut stage = DashTerminal { raw, has_it: false };
        stage.begin()?;
        Ok(stage)
    }

    fn begin(&mut self) -> io::Result<()> {
        raw::set_rescue(UNDO);
        self.has_it = true;
        write(BEGIN)
    }

    /// Gives the terminal back as it was found, for another program or for good.
    ///
    /// # Errors
    /// When it is gone.
    pub fn leave(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.has_it) {
            return Ok(());
        }
        raw::set_rescue(b"");
        let written = write(UNDO);
        self.raw.suspend();
        written
    }

    /// Takes it again.
    ///
    /// # Errors
    /// When it is gone.
    pub fn resume(&mut self) -> io::Result<()> {
        self.raw.resume()?;
        self.begin()
    }
}

impl Drop for DashTerminal {
    fn drop(&mut self) {
        // A panic has put everything back before it came here.
        if !std::thread::panicking() {
            let _ = self.leave();
        }
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    io::stdout().write_all(bytes)?;
    io::stdout().flush()
}
