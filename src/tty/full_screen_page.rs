//! One of hopty's own pages that waits for keys and draws all of its rows: the loop of a list, a picker, a
//! review. Pages with other sources (the dashboard) or with pictures that move (the player) have their own.

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
    /// Given back before the signals are as they were: one that ends this process must not come in between.
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

    /// Draws these rows over all that the terminal shows.
    pub fn draw(&self, rows: &[String]) -> io::Result<()> {
        full_screen::write(whole_page(rows).as_bytes())
    }

    /// Waits at most `limit_ms` (`None`: no limit) for keys, for another size or for a signal. Gives the keys
    /// (there may be none), or the number of the signal that ends the page; a terminal that is gone counts as
    /// SIGHUP. Pauses at Ctrl+Z. Draw the page again in each case.
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

/// What draws these rows from the first one on, in one synchronized update. The terminal breaks none of them.
pub fn whole_page(rows: &[String]) -> String {
    format!("\x1b[?2026h\x1b[?7l{}\x1b[?7h\x1b[?2026l", full_screen::changed_rows(&[], rows))
}
