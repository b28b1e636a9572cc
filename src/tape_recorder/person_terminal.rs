//! The terminal of the person who records: the program's screen, and below it a line about the recording.

use std::io;

use unicode_width::UnicodeWidthStr;

use crate::core::text::ellipsis::start_within;
use crate::core::text::visible::visible;
use crate::screen::{PictureLines, Screen};
use crate::tty::full_screen::{FullScreen, UNDO_WITH_MOUSE, changed_rows, size, write};

/// Alternate screen, and bracketed paste, so that pastes are recorded as such.
const BEGIN: &[u8] = b"\x1b[?1049h\x1b[?2004h\x1b[0m\x1b[2J";

#[derive(Debug)]
pub(super) struct PersonTerminal {
    full_screen: FullScreen,
    title: String,
    /// The rows on the terminal.
    drawn: Vec<String>,
    /// It reports clicks, so selecting text with the mouse needs Shift.
    reports_mouse: bool,
}

impl PersonTerminal {
    pub fn open(title: &str) -> io::Result<Self> {
        let full_screen = FullScreen::enter(BEGIN, UNDO_WITH_MOUSE)?;
        Ok(PersonTerminal { full_screen, title: visible(title), drawn: Vec::new(), reports_mouse: false })
    }

    /// Takes the terminal again after a shell had it.
    pub fn resume(&mut self) -> io::Result<()> {
        (self.drawn, self.reports_mouse) = (Vec::new(), false);
        self.full_screen.resume()
    }

    /// Columns and rows for the program: one row is the person's.
    pub fn program_size(&self) -> (u16, u16) {
        let (cols, rows) = size();
        (cols, rows.saturating_sub(1).max(1))
    }

    /// The content of the terminal is unknown.
    pub fn forget(&mut self) {
        self.drawn.clear();
    }

    /// Makes it report clicks and the wheel while the program wants them.
    pub fn report_mouse(&mut self, reports: bool) -> io::Result<()> {
        if reports == self.reports_mouse {
            return Ok(());
        }
        self.reports_mouse = reports;
        write(if reports { b"\x1b[?1000h\x1b[?1006h" } else { b"\x1b[?1006l\x1b[?1000l" })
    }

    pub fn draw(&mut self, screen: &Screen, commands: usize, last: &str) -> io::Result<()> {
        let (cols, rows) = size();
        let rows = rows.max(2);
        let mut wanted: Vec<String> = screen
            .ansi(PictureLines::Screen)
            .lines()
            .take(usize::from(rows) - 1)
            .map(str::to_owned)
            .collect();
        wanted.resize(usize::from(rows) - 1, String::new());
        wanted.push(self.bar(usize::from(cols), commands, last));
        let mut bytes = b"\x1b[?2026h\x1b[?25l".to_vec();
        if self.drawn.is_empty() {
            bytes.extend_from_slice(b"\x1b[0m\x1b[2J");
        }
        bytes.extend_from_slice(changed_rows(&self.drawn, &wanted).as_bytes());
        let cursor = screen.cursor();
        bytes.extend_from_slice(format!("\x1b[{};{}H", cursor.row + 1, cursor.col + 1).as_bytes());
        bytes.extend_from_slice(if cursor.visible { b"\x1b[?25h\x1b[?2026l" } else { b"\x1b[?2026l" });
        self.drawn = wanted;
        write(&bytes)
    }

    fn bar(&self, cols: usize, commands: usize, last: &str) -> String {
        let left = format!(" \u{25cf} {}  {commands}", self.title);
        let right = " Ctrl+\\ ends ";
        let last = if last.is_empty() { String::new() } else { format!(": {}", visible(last)) };
        let room = cols.saturating_sub(right.width());
        let text = format!("{left}{last}");
        let line = start_within(&text, room);
        let gap = " ".repeat(room - line.width());
        format!("\x1b[0;7m{line}{gap}{}\x1b[m", start_within(right, cols))
    }
}
