//! A page of hopty's own that waits for keys and draws all its rows: the loop of a list, a picker, a review.
//! Pages with other sources of events (the dashboard) or moving pictures (the player) have their own loops.

use std::io;
use std::os::fd::AsFd;

use nix::libc;

use super::full_screen::{self, FullScreen, SIGNALS};
use super::page_keys::PageKeys;
use crate::core::input::plain_keys::PlainKey;
use crate::sys::signals::Signals;

/// The terminal on standard input and output while a page has it. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct FullScreenPage {
    /// Dropped before the signal handlers: a signal that ends this process must not come in between.
    screen: FullScreen,
    signals: Signals,
    keys: PageKeys,
}

impl FullScreenPage {
    /// Takes the terminal, with `begin` and `undo` as in [`FullScreen::enter`].
    ///
    /// # Errors
    /// When standard input is no terminal, or it is gone.
    pub fn open(begin: &'static [u8], undo: &[u8]) -> io::Result<Self> {
        let signals = Signals::catch(&SIGNALS)?;
        Ok(FullScreenPage { signals, screen: FullScreen::enter(begin, undo)?, keys: PageKeys::new() })
    }

    /// Draws these rows over everything on the terminal.
    pub fn draw(&self, rows: &[String]) -> io::Result<()> {
        full_screen::write(whole_page(rows).as_bytes())
    }

    /// Waits at most `limit_ms` (`None`: no limit) for keys, a resize or a signal. Returns the keys (perhaps
    /// none), or the signal that ends the page; a terminal that is gone counts as SIGHUP. Stops at Ctrl+Z.
    /// Draw the page again in each case.
    pub fn wait(&mut self, limit_ms: Option<u64>) -> io::Result<Result<Vec<PlainKey>, i32>> {
        let is_ready = self.keys.wait_beside(self.signals.as_fd(), limit_ms)?;
        for signal in self.signals.take() {
            match signal {
                libc::SIGWINCH => {}
                libc::SIGCONT => self.screen.resume()?,
                ends => return Ok(Err(ends)),
            }
        }
        let Some(mut keys) = self.keys.read(is_ready)? else { return Ok(Err(libc::SIGHUP)) };
        if keys.contains(&PlainKey::Suspend) {
            keys.retain(|key| *key != PlainKey::Suspend);
            self.screen.stop()?;
            self.screen.resume()?;
        }
        Ok(Ok(keys))
    }
}

/// The bytes that draw these rows from the top, in one synchronized update, without wrapping.
pub fn whole_page(rows: &[String]) -> String {
    format!("\x1b[?2026h\x1b[?7l{}\x1b[?7h\x1b[?2026l", full_screen::changed_rows(&[], rows))
}
