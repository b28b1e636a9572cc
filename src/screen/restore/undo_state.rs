//! The inputs of the undo in a form that is cheap to compare, so that the undo is not made again after every
//! burst.
//!
//! State that changes with every frame (modes, pen, cursor in origin mode) is stored: set and reset within
//! one burst is no change. The rest (titles, keyboard stacks, later additions) is not: every sequence that
//! may affect it counts as a change.

use crate::screen::cursor::{Charsets, CursorShape, Margins};
use crate::screen::modes::{AlternateScreen, ModeSet, TerminalEncoding};
use crate::screen::terminal_state::TerminalState;
use crate::screen::window::Progress;

/// If it is equal and nothing else was touched, [`undo`](super::undo::undo) returns the same bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UndoState {
    modes: ModeSet,
    alternate: Option<AlternateScreen>,
    margins: Margins,
    /// The cursor's position, which the undo needs only in origin mode.
    origin: Option<(usize, usize)>,
    charsets: Charsets,
    plain_pen: bool,
    linked: bool,
    protected: bool,
    link_open: bool,
    progress: Progress,
    encoding: TerminalEncoding,
    cursor_shape: Option<CursorShape>,
}

impl UndoState {
    pub fn of(terminal: &TerminalState) -> Self {
        let display = &terminal.display;
        let cursor = &display.position.cursor;
        Self {
            modes: display.modes,
            alternate: display.buffers.alternate,
            margins: display.position.margins,
            origin: cursor.origin.then_some((cursor.col, cursor.row)),
            charsets: cursor.charsets,
            plain_pen: cursor.pen.is_plain(),
            linked: cursor.pen.link() != 0,
            protected: cursor.pen.is_protected() || display.iso_protection,
            link_open: display.links.open,
            progress: terminal.window.progress,
            encoding: terminal.encoding,
            cursor_shape: display.cursor_shape,
        }
    }

    /// Whether a control sequence can only change the state stored here.
    pub fn holds_csi(intermediates: &[u8], action: char) -> bool {
        match intermediates {
            [] => !matches!(action, 't' | 'g'),
            [b'?'] => matches!(action, 'h' | 'l' | 'J' | 'K' | 'n' | 'u'),
            [b' '] => action == 'q',
            _ => false,
        }
    }

    /// [`holds_csi`] for a short escape sequence.
    pub fn holds_esc(intermediates: &[u8], byte: u8) -> bool {
        match intermediates {
            [] => matches!(byte, b'7' | b'8' | b'=' | b'>' | b'D' | b'E' | b'M' | b'\\'),
            [b'(' | b')'] => true,
            _ => false,
        }
    }

    /// [`holds_csi`] for an operating system command, by its number: links, notifications and progress,
    /// marks.
    pub fn holds_osc(number: &[u8]) -> bool {
        matches!(number, b"8" | b"9" | b"133")
    }
}

#[cfg(test)]
mod tests {
    use crate::screen::Screen;

    #[test]
    fn the_undo_revision_rises_only_with_what_is_undone() {
        let mut screen = Screen::new(20, 6);
        let mut last = screen.undo_revision();
        let mut rises = |screen: &Screen| {
            let rose = screen.undo_revision() > last;
            last = screen.undo_revision();
            rose
        };
        let frame = "\x1b[?2026h\x1b[?25l\x1b[H\x1b[2J\x1b[1;31mtext\x1b[m\r\n\x1b[3A\x1b[K\x1b]8;;u\x1b\\x\x1b]8;;\x1b\\\x1b7\x1b8\x1b[?25h\x1b[?2026l";
        // The first change counts, because the state to restore may differ from the default.
        screen.feed(frame.as_bytes());
        assert!(rises(&screen));
        for _ in 0..3 {
            screen.feed(frame.as_bytes());
            assert!(!rises(&screen));
        }
        for touched in [
            "\x1b[1m",
            "\x1b[m",
            "\x1b[?2004h",
            "\x1b[?1049h",
            "\x1b[?1049l\x1b[1m\x1b[?1049h",
            "\x1b[>1u",
            "\x1b[=2u",
            "\x1b[<u",
            "\x1b]2;t\x07",
            "\x1b[22;0t",
            "\x1b[2;3r",
            "\x1b[?6h",
            "\x1b[2;2H",
            "\x1b(0",
            "\x0e",
            "\x1b[5 q",
            "\x1b[>4;1m",
            "\x1bc",
        ] {
            screen.feed(touched.as_bytes());
            assert!(rises(&screen), "{touched:?}");
        }
        screen.resize(10, 6);
        assert!(rises(&screen));
        screen.resize(10, 6);
        assert!(!rises(&screen));
    }
}
