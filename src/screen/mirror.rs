//! A mirror: draws a screen, or the part of it around the cursor, on a terminal that does not get the
//! program's bytes.
//!
//! It draws on the terminal's alternate screen, so that the person's own screen is kept. A second screen, the
//! shadow, tracks the terminal's content: only rows that differ are sent, and the shadow knows which modes to
//! undo.

use std::ops::Range;

use super::{Screen, TerminalMode};

/// Modes that change what keys send: a person may type into a mirror.
const KEY_MODES: [TerminalMode; 4] = [
    TerminalMode::CursorKeys,
    TerminalMode::Keypad,
    TerminalMode::BracketedPaste,
    TerminalMode::BackspaceSendsBs,
];
/// Modes with which the terminal reports the mouse and the focus.
const REPORT_MODES: [TerminalMode; 5] = [
    TerminalMode::MouseButtons,
    TerminalMode::MouseDrag,
    TerminalMode::MouseMotion,
    TerminalMode::MouseSgr,
    TerminalMode::Focus,
];

/// The visible part of a screen that a terminal mirrors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mirror {
    /// Its first column and row.
    origin: (u16, u16),
    /// Whether the terminal reports mouse and focus as the program requested: only while its cells are those
    /// of the program.
    passes_reports: bool,
}

impl Mirror {
    /// The bytes to send first.
    pub(crate) const START: &'static str = "\x1b[?1049h\x1b[m\x1b[H\x1b[2J";

    /// A mirror whose reports are read.
    pub(crate) fn with_reports() -> Self {
        Mirror { passes_reports: true, ..Mirror::default() }
    }

    /// The bytes that make the first `rows` rows of the terminal of `shadow` show `screen`; empty if they do.
    /// `shadow` is updated.
    pub(crate) fn draw(&mut self, shadow: &mut Screen, rows: u16, screen: &Screen) -> Vec<u8> {
        let cols = shadow.size().0;
        let (wide, high) = screen.size();
        let cursor = screen.cursor();
        // Lines are read from their start: earlier output at the far right must not keep the viewport there.
        let left = if cursor.col < cols { 0 } else { self.origin.0 };
        // Rows with text are more useful than blank rows below them.
        let blank = (cursor.row + 1..high).rev().take_while(|row| screen.row_runs(*row).is_empty()).count();
        let used = high - u16::try_from(blank).unwrap_or(0);
        // The options of a dialog are below the one that the cursor marks.
        let below = (cursor.row + 1 + rows / 2).min(used).max(cursor.row + 1);
        self.origin = (
            part(left, cols, wide, cursor.col..cursor.col + 1),
            part(self.origin.1, rows, used, cursor.row..below),
        );
        let mut out = String::new();
        for row in 0..rows {
            let wanted = screen.row_part(self.origin.1 + row, self.origin.0..self.origin.0 + cols);
            if shadow.row_runs(row) == wanted {
                continue;
            }
            out.push_str(&format!("\x1b[{};1H\x1b[m\x1b[2K", row + 1));
            for run in wanted {
                out.push_str(&run.style.sgr());
                out.push_str(&run.linked_text());
            }
        }
        self.set_modes(shadow, screen, &mut out);
        let place = (cursor.row - self.origin.1, cursor.col - self.origin.0);
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
    fn set_modes(&self, shadow: &Screen, screen: &Screen, out: &mut String) {
        let reports = self.passes_reports && self.origin == (0, 0);
        let reports = REPORT_MODES.map(|mode| (mode, reports && screen.is_on(mode)));
        let modes = KEY_MODES.map(|mode| (mode, screen.is_on(mode))).into_iter().chain(reports);
        for (mode, wanted) in modes.filter(|(mode, wanted)| *wanted != shadow.is_on(*mode)) {
            let (_, number) = mode.number();
            out.push_str(&format!("\x1b[?{number}{}", if wanted { 'h' } else { 'l' }));
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
}

/// The first column or row of `whole` to show in a viewport of size `room`: moved only as far as needed for
/// `seen`, which begins at the cursor.
fn part(before: u16, room: u16, whole: u16, seen: Range<u16>) -> u16 {
    let most = whole.saturating_sub(room);
    before.clamp(seen.end.saturating_sub(room).min(seen.start), seen.start).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirrored(bytes: &str, size: (u16, u16)) -> (Screen, Screen, Screen, Mirror) {
        let mut screen = Screen::new(20, 6);
        let mut mirror = Mirror::default();
        let (mut shadow, mut terminal) = (Screen::new(size.0, size.1), Screen::new(size.0, size.1));
        shadow.feed(Mirror::START.as_bytes());
        terminal.feed(Mirror::START.as_bytes());
        for part in bytes.as_bytes().chunks(5) {
            screen.feed(part);
            terminal.feed(&mirror.draw(&mut shadow, size.1, &screen));
        }
        (screen, terminal, shadow, mirror)
    }

    #[test]
    fn a_terminal_of_the_same_size_shows_the_same() {
        let text = "plain\r\n\x1b[1;31mred\x1b[m 漢字 e\u{301}\r\n\x1b[7m   \x1b[m\x1b[?2004h\x1b[>5u\x1b[5 \
                    q\x1b]2;title\x07\x1b[2;3H\x1b[?25l";
        let (screen, terminal, ..) = mirrored(text, (20, 6));
        for row in 0..6 {
            assert_eq!(terminal.row_runs(row), screen.row_runs(row));
        }
        assert_eq!(terminal.cursor(), screen.cursor());
        assert_eq!((terminal.title(), terminal.keyboard_flags()), ("title", 5));
        assert!(terminal.is_on(TerminalMode::BracketedPaste));
    }

    #[test]
    fn a_smaller_one_shows_the_part_round_the_cursor() {
        let lines = |bytes: &str| mirrored(bytes, (8, 3)).1.lines();
        assert_eq!(lines("one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n0123456789abcdef"), ["", "", "9abcdef"]);
        assert_eq!(
            lines("one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n0123456789abcdef\x1b[H"),
            ["one", "two", "three"]
        );
        // Leaving the alternate screen may return to only a few lines at the top.
        assert_eq!(lines("one\r\ntwo\x1b[?1049h\x1b[6Hlow\x1b[?1049l"), ["one", "two", ""]);
        // Something was written at the far right, and then a key was typed at the left.
        assert_eq!(lines("one\x1b[1;18H3,1\x1b[1;4H!"), ["one!", "", ""]);
    }

    #[test]
    fn the_options_below_the_cursor_are_in_sight() {
        let mut screen = Screen::new(20, 6);
        screen.feed(b"text\r\nProceed?\r\n> 1. Yes\r\n  2. Always\r\n  3. No\x1b[3;1H");
        let (mut mirror, mut shadow) = (Mirror::default(), Screen::new(12, 4));
        mirror.draw(&mut shadow, 4, &screen);
        assert_eq!(shadow.lines(), ["Proceed?", "> 1. Yes", "  2. Always", "  3. No"]);
    }

    #[test]
    fn a_larger_one_shows_all_of_it() {
        let (screen, terminal, ..) = mirrored("one\r\n\x1b[6;20HX", (40, 10));
        assert_eq!(terminal.lines()[..6], screen.lines()[..]);
        assert_eq!((terminal.cursor().row, terminal.cursor().col), (5, 19));
    }

    #[test]
    fn nothing_is_sent_when_nothing_changed_and_all_is_undone() {
        let (screen, mut terminal, mut shadow, mut mirror) =
            mirrored("text\x1b[?2004h\x1b[>1u\x1b[?1000h\x1b[?1004h", (20, 6));
        assert_eq!(mirror.draw(&mut shadow, 6, &screen), b"");
        assert!(!terminal.is_on(TerminalMode::MouseButtons) && !terminal.is_on(TerminalMode::Focus));
        terminal.feed(&shadow.undo());
        assert_eq!((terminal.modes(), terminal.keyboard_flags(), terminal.alternate()), (vec![], 0, false));
    }

    #[test]
    fn the_mouse_is_reported_where_cells_are_those_of_the_program() {
        let mut screen = Screen::new(20, 6);
        screen.feed(b"\x1b[?1000;1006h");
        let (mut mirror, mut shadow) = (Mirror::with_reports(), Screen::new(20, 3));
        mirror.draw(&mut shadow, 3, &screen);
        assert!(shadow.is_on(TerminalMode::MouseButtons) && shadow.is_on(TerminalMode::MouseSgr));
        screen.feed(b"\x1b[6H!");
        mirror.draw(&mut shadow, 3, &screen);
        assert!(!shadow.is_on(TerminalMode::MouseButtons));
    }

    #[test]
    fn the_part_moves_no_further_than_it_must() {
        assert_eq!(
            [(0, 9), (0, 10), (5, 7), (5, 4)].map(|(before, at)| part(before, 10, 20, at..at + 1)),
            [0, 1, 5, 4]
        );
        assert_eq!([part(15, 10, 20, 19..20), part(15, 10, 12, 11..12), part(3, 10, 5, 0..1)], [10, 2, 0]);
        assert_eq!([part(0, 10, 20, 8..14), part(0, 2, 20, 8..14)], [4, 8]);
    }
}
