//! The person's terminal while one of hopty's own programs uses all of it: raw, usually on the alternate
//! screen, and restored on every way out: on leaving, for a pause, in a panic, on an error.

use std::fmt::Write as _;
use std::io;

use nix::libc;

use super::raw::{self, RawMode};
use crate::sys::fd::write_some;
use crate::sys::poll::{Interest, wait_for};
use crate::sys::signals::{self, stop_group};

/// The signals that a full-screen page catches: another size, continued after a pause, and those that end it.
pub const SIGNALS: [i32; 6] =
    [libc::SIGWINCH, libc::SIGCONT, libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT];
/// Begins a page: alternate screen, no cursor.
pub const BEGIN: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[0m\x1b[2J";
/// The reverse of [`BEGIN`], and the end of an update that a panic cut short.
pub const UNDO: &[u8] = b"\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?1049l";
/// As [`BEGIN`], with bracketed paste, mouse buttons and wheel.
pub const BEGIN_WITH_MOUSE: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1000h\x1b[?1006h\x1b[0m\x1b[2J";
/// The reverse of [`BEGIN_WITH_MOUSE`], and the end of an update that a panic cut short.
pub const UNDO_WITH_MOUSE: &[u8] = b"\x1b[?2026l\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";
/// How long one wait for a terminal that takes no output lasts, in ms.
const FULL_MS: u64 = 1000;

/// The terminal on standard input and output, in use by hopty or given back.
#[derive(Debug)]
pub struct FullScreen {
    raw: RawMode,
    begin: &'static [u8],
    undo: Vec<u8>,
    has_it: bool,
}

impl FullScreen {
    /// Takes the terminal. `begin` is written now and after each pause, `undo` before a pause and at the end.
    ///
    /// # Errors
    /// When standard input is no terminal, or it is gone.
    pub fn enter(begin: &'static [u8], undo: &[u8]) -> io::Result<Self> {
        signals::unblock_all();
        raw::restore_on_panic();
        let raw = RawMode::enter()?;
        let mut screen = FullScreen { raw, begin, undo: undo.to_vec(), has_it: false };
        screen.begin()?;
        Ok(screen)
    }

    fn begin(&mut self) -> io::Result<()> {
        raw::set_rescue(&self.undo);
        self.has_it = true;
        write(self.begin)
    }

    /// The terminal's state has changed: `undo` restores it from now on, also in a panic.
    pub fn set_undo(&mut self, undo: Vec<u8>) {
        if self.has_it {
            raw::set_rescue(&undo);
        }
        self.undo = undo;
    }

    /// Ends the current page and begins another.
    pub fn change(&mut self, begin: &'static [u8], undo: Vec<u8>) -> io::Result<()> {
        write(&self.undo)?;
        (self.begin, self.undo) = (begin, undo);
        self.begin()
    }

    /// Restores the terminal, for another program or for good.
    pub fn leave(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.has_it) {
            return Ok(());
        }
        raw::set_rescue(b"");
        let written = write(&self.undo);
        self.raw.suspend();
        written
    }

    /// Takes it again, once this process is in the foreground: after a pause, or after SIGCONT, when a shell
    /// has had the terminal.
    pub fn resume(&mut self) -> io::Result<()> {
        // In the background the terminal is the shell's.
        raw::wait_for_foreground();
        self.leave()?;
        self.raw.resume()?;
        self.begin()
    }

    /// Ctrl+Z: restores the terminal and stops this process group. Returns when it is continued;
    /// [`FullScreen::resume`] then takes the terminal again.
    pub fn stop(&mut self) -> io::Result<()> {
        self.leave()?;
        stop_group();
        Ok(())
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        // In a panic the hook has already restored everything.
        if !std::thread::panicking() {
            let _ = self.leave();
        }
    }
}

/// Writes to the terminal, even if another program has made it non-blocking.
pub fn write(bytes: &[u8]) -> io::Result<()> {
    let (out, mut rest) = (io::stdout(), bytes);
    while !rest.is_empty() {
        let written = write_some(&out, rest)?;
        rest = &rest[written..];
        if written == 0 {
            wait_for(&out, Interest::Write, FULL_MS)?;
        }
    }
    Ok(())
}

/// The size of the terminal, columns and rows; 80x24 if it does not know.
pub fn size() -> (u16, u16) {
    let size = raw::size();
    (if size.cols == 0 { 80 } else { size.cols }, if size.rows == 0 { 24 } else { size.rows })
}

/// The bytes that draw the rows that differ from the rows on the terminal. The cursor may be anywhere
/// afterwards.
pub fn changed_rows(drawn: &[String], wanted: &[String]) -> String {
    let mut out = String::new();
    for (at, row) in wanted.iter().enumerate().filter(|(at, row)| drawn.get(*at) != Some(row)) {
        // Erase first: after a full row the cursor is still on its last column.
        let _ = write!(out, "\x1b[{};1H\x1b[m\x1b[2K{row}", at + 1);
    }
    if wanted.len() < drawn.len() {
        let _ = write!(out, "\x1b[{};1H\x1b[m\x1b[J", wanted.len() + 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::changed_rows;

    #[test]
    fn only_rows_that_changed_are_drawn() {
        let rows = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(changed_rows(&rows("a b c"), &rows("a x c")), "\x1b[2;1H\x1b[m\x1b[2Kx");
        assert_eq!(changed_rows(&rows("a b c"), &rows("a")), "\x1b[2;1H\x1b[m\x1b[J");
        assert_eq!(changed_rows(&rows("a"), &rows("a b")), "\x1b[2;1H\x1b[m\x1b[2Kb");
        assert_eq!(changed_rows(&rows("a b"), &rows("a b")), "");
    }
}
