//! Raw mode of the person's terminal, taken back whatever happens.

use std::io;

use crossterm::terminal;

use super::modes::{self, When};
use crate::core::terminal::{Modes, Size};

/// The terminal is raw as long as this lives.
#[derive(Debug)]
pub struct RawMode {
    found: Modes,
}

impl RawMode {
    /// Makes the terminal on standard input raw.
    ///
    /// # Errors
    /// When standard input is no terminal.
    pub fn enter() -> io::Result<Self> {
        let found = modes::read(&io::stdin())?;
        terminal::enable_raw_mode()?;
        Ok(RawMode { found })
    }

    /// The modes as they were found.
    #[must_use]
    pub fn found(&self) -> &Modes {
        &self.found
    }

    /// Puts the modes back, for a pause.
    pub fn suspend(&self) {
        let _ = terminal::disable_raw_mode();
        let _ = modes::set(&io::stdin(), &self.found, When::Now);
    }

    /// Raw again after a pause.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn resume(&self) -> io::Result<()> {
        terminal::enable_raw_mode()
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        self.suspend();
    }
}

/// The terminal's size in cells and pixels; 80x24 where it does not say.
#[must_use]
pub fn size() -> Size {
    match terminal::window_size() {
        Ok(s) if s.columns > 0 && s.rows > 0 => Size { cols: s.columns, rows: s.rows, xpixel: s.width, ypixel: s.height },
        _ => Size { cols: 80, rows: 24, xpixel: 0, ypixel: 0 },
    }
}
