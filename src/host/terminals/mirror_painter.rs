//! A mirror: a picture of the session on a terminal that does not get the child's bytes, because of its size
//! or because its client does not lead.
//!
//! The mirror is drawn from the screen model on the terminal's alternate screen, so that the person's own
//! screen is kept. A second model follows what the terminal shows: only rows that differ are sent, and that
//! model knows which modes to undo. Modes that make a terminal report (mouse, focus) stay off: nobody reads
//! the reports.

use super::scene::ScreenRevision;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::core::word_wrap::wrap_message;
use crate::host::child::GuardedScreen;
use crate::screen::{Screen, TerminalMode};

/// Modes that change what keys send: a person may type here and become the leader.
const KEYS: [TerminalMode; 4] = [
    TerminalMode::CursorKeys,
    TerminalMode::Keypad,
    TerminalMode::BracketedPaste,
    TerminalMode::BackspaceSendsBs,
];
/// The least time between two pictures, in ms.
const FRAME_MS: u64 = 16;

/// Draws a mirror: sends a terminal only the rows that differ from what it shows.
#[derive(Debug)]
pub(in crate::host) struct MirrorPainter {
    shadow: GuardedScreen,
    /// The visible part of the session's screen: its first column and row.
    origin: (u16, u16),
    /// The screen that was drawn last.
    drawn: Option<ScreenRevision>,
    at: Stamp,
}

impl MirrorPainter {
    /// For a terminal of this size without any of the program's modes, and the bytes to send first.
    pub fn new(size: Size) -> (Self, Vec<u8>) {
        let start = b"\x1b[?1049h\x1b[m\x1b[H\x1b[2J".to_vec();
        let mut shadow = GuardedScreen::new(size.drawn());
        shadow.change(|shadow| shadow.feed(&start));
        (MirrorPainter { shadow, origin: (0, 0), drawn: None, at: Stamp(0) }, start)
    }

    /// Whether it was made for this size.
    pub fn fits(&self, size: Size) -> bool {
        self.shadow.size() == size.drawn()
    }

    /// When the next picture is due; `now` is the screen as it is.
    pub fn due(&self, now: ScreenRevision) -> Option<Stamp> {
        match self.drawn {
            None => Some(Stamp(0)),
            Some(drawn) => (drawn != now).then(|| self.at.after(FRAME_MS)),
        }
    }

    /// The bytes that make the terminal show the screen, or the part of it around the cursor. `None`: what
    /// the terminal shows is not known any more.
    pub fn draw(&mut self, screen: &Screen, run: u32, now: Stamp) -> Option<Vec<u8>> {
        (self.drawn, self.at) = (Some(ScreenRevision { run, revision: screen.revision() }), now);
        let origin = &mut self.origin;
        self.shadow.change(|shadow| frame(shadow, origin, screen))
    }

    /// The bytes that make the terminal show a text instead of the screen; `now` is the screen as it is.
    pub fn tell(&mut self, text: &str, now: ScreenRevision) -> Vec<u8> {
        self.drawn = Some(now);
        let text = wrap_message(text, usize::from(self.shadow.size().0)).replace('\n', "\r\n");
        let sent = format!("\x1b[m\x1b[H\x1b[2J{text}").into_bytes();
        self.shadow.change(|shadow| shadow.feed(&sent));
        sent
    }

    /// The bytes that undo the modes it has set.
    pub fn undo(&mut self) -> Vec<u8> {
        let undo = self.shadow.look(Screen::undo);
        undo.unwrap_or_else(|| self.shadow.last_undo().unwrap_or_default().to_vec())
    }

    /// Increases whenever those may have changed.
    pub fn undo_revision(&self) -> u64 {
        self.shadow.undo_revision()
    }
}

/// The bytes that make the terminal of `shadow` show the part of the screen that begins at `origin`; `shadow`
/// is updated.
fn frame(shadow: &mut Screen, origin: &mut (u16, u16), screen: &Screen) -> Vec<u8> {
    let (cols, rows) = shadow.size();
    let (wide, high) = screen.size();
    let cursor = screen.cursor();
    // Lines are read from their beginning: output at the far right in the past must not keep the viewport
    // there.
    let left = if cursor.col < cols { 0 } else { origin.0 };
    // Rows with text are worth more than blank rows below them.
    let blank = (cursor.row + 1..high).rev().take_while(|row| screen.row_runs(*row).is_empty()).count();
    let used = high - u16::try_from(blank).unwrap_or(0);
    *origin = (part(left, cols, wide, cursor.col), part(origin.1, rows, used, cursor.row));
    let mut out = String::new();
    for row in 0..rows {
        let wanted = screen.row_part(origin.1 + row, origin.0..origin.0 + cols);
        if shadow.row_runs(row) == wanted {
            continue;
        }
        out.push_str(&format!("\x1b[{};1H\x1b[m\x1b[2K", row + 1));
        for run in wanted {
            out.push_str(&run.style.sgr());
            out.push_str(&run.linked_text());
        }
    }
    write_keys(shadow, screen, &mut out);
    let place = (cursor.row - origin.1, cursor.col - origin.0);
    let old = shadow.cursor();
    if !out.is_empty() || (old.row, old.col) != place {
        out.push_str(&format!("\x1b[m\x1b[{};{}H", place.0 + 1, place.1 + 1));
    }
    if cursor.visible != old.visible {
        out.push_str(if cursor.visible { "\x1b[?25h" } else { "\x1b[?25l" });
    }
    if out.is_empty() {
        return Vec::new();
    }
    let frame = format!("\x1b[?2026h{out}\x1b[?2026l").into_bytes();
    shadow.feed(&frame);
    frame
}

/// Cursor shape, title, and the modes that change what keys send.
fn write_keys(shadow: &Screen, screen: &Screen, out: &mut String) {
    for mode in KEYS.into_iter().filter(|mode| screen.is_on(*mode) != shadow.is_on(*mode)) {
        let (_, number) = mode.number();
        out.push_str(&format!("\x1b[?{number}{}", if screen.is_on(mode) { 'h' } else { 'l' }));
    }
    if screen.keyboard_flags() != shadow.keyboard_flags() {
        out.push_str(&format!("\x1b[={};1u", screen.keyboard_flags()));
    }
    if screen.modify_other_keys() != shadow.modify_other_keys() {
        out.push_str(&format!("\x1b[>4;{}m", screen.modify_other_keys()));
    }
    if screen.cursor().shape != shadow.cursor().shape {
        out.push_str(&format!("\x1b[{} q", screen.cursor().shape.number()));
    }
    if screen.title() != shadow.title() {
        out.push_str(&format!("\x1b]2;{}\x1b\\", screen.title()));
    }
}

/// The first column or row of `whole` to show in a viewport of size `room`: moved only as far as the cursor
/// requires.
fn part(before: u16, room: u16, whole: u16, cursor: u16) -> u16 {
    let most = whole.saturating_sub(room);
    before.clamp((cursor + 1).saturating_sub(room), cursor).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(bytes: &str, size: (u16, u16)) -> (Screen, Screen, MirrorPainter) {
        let mut screen = Screen::new(20, 6);
        let (mut painter, start) = MirrorPainter::new(Size::cells(size.0, size.1));
        let mut terminal = Screen::new(size.0, size.1);
        terminal.feed(&start);
        for part in bytes.as_bytes().chunks(5) {
            screen.feed(part);
            let sent = painter.draw(&screen, 1, Stamp(0)).unwrap();
            terminal.feed(&sent);
        }
        (screen, terminal, painter)
    }

    #[test]
    fn a_terminal_of_the_same_size_shows_the_same() {
        let text = "plain\r\n\x1b[1;31mred\x1b[m 漢字 e\u{301}\r\n\x1b[7m   \x1b[m\x1b[?2004h\x1b[>5u\x1b[5 \
                    q\x1b]2;title\x07\x1b[2;3H\x1b[?25l";
        let (screen, terminal, _) = shows(text, (20, 6));
        for row in 0..6 {
            assert_eq!(terminal.row_runs(row), screen.row_runs(row));
        }
        assert_eq!(terminal.cursor(), screen.cursor());
        assert_eq!((terminal.title(), terminal.keyboard_flags()), ("title", 5));
        assert!(terminal.is_on(TerminalMode::BracketedPaste));
    }

    #[test]
    fn a_smaller_one_shows_the_part_round_the_cursor() {
        let (_, terminal, _) = shows("one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n0123456789abcdef", (8, 3));
        assert_eq!(terminal.lines(), ["", "", "9abcdef"]);
        let (_, terminal, _) = shows("one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n0123456789abcdef\x1b[H", (8, 3));
        assert_eq!(terminal.lines(), ["one", "two", "three"]);
        // Leaving the alternate screen may return to only a few lines at the top.
        let (_, terminal, _) = shows("one\r\ntwo\x1b[?1049h\x1b[6Hlow\x1b[?1049l", (8, 3));
        assert_eq!(terminal.lines(), ["one", "two", ""]);
        // A ruler was written at the far right, and then a key typed at the left.
        let (_, terminal, _) = shows("one\x1b[1;18H3,1\x1b[1;4H!", (8, 3));
        assert_eq!(terminal.lines(), ["one!", "", ""]);
    }

    #[test]
    fn a_larger_one_shows_all_of_it() {
        let (screen, terminal, _) = shows("one\r\n\x1b[6;20HX", (40, 10));
        assert_eq!(terminal.lines()[..6], screen.lines()[..]);
        assert_eq!((terminal.cursor().row, terminal.cursor().col), (5, 19));
    }

    #[test]
    fn nothing_is_sent_when_nothing_changed_and_all_is_undone() {
        let (screen, mut terminal, mut painter) =
            shows("text\x1b[?2004h\x1b[>1u\x1b[?1000h\x1b[?1004h", (20, 6));
        assert_eq!(painter.draw(&screen, 1, Stamp(9)), Some(Vec::new()));
        assert_eq!(
            (
                painter.due(ScreenRevision { run: 1, revision: screen.revision() }),
                painter.due(ScreenRevision { run: 2, revision: 0 })
            ),
            (None, Some(Stamp(9 + FRAME_MS)))
        );
        assert!(!terminal.is_on(TerminalMode::MouseButtons) && !terminal.is_on(TerminalMode::Focus));
        terminal.feed(&painter.undo());
        assert_eq!((terminal.modes(), terminal.keyboard_flags(), terminal.alternate()), (vec![], 0, false));
    }

    #[test]
    fn the_part_moves_no_further_than_it_must() {
        assert_eq!(
            [part(0, 10, 20, 9), part(0, 10, 20, 10), part(5, 10, 20, 7), part(5, 10, 20, 4)],
            [0, 1, 5, 4]
        );
        assert_eq!([part(15, 10, 20, 19), part(15, 10, 12, 11), part(3, 10, 5, 0)], [10, 2, 0]);
    }
}
