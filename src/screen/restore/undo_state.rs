//! What the undo depends on, in a form that costs nothing to compare, so that it is not made anew after every burst.
//!
//! A part of the state that changes with every frame (modes, pen, caret in origin mode) is held as it is: on and off again
//! within one burst is no change. The rest (titles, keyboard stacks, what may come) is not: every sequence that is not
//! known to leave it alone counts as a change.

use crate::screen::cursor::{Charsets, CursorShape, Region};
use crate::screen::modes::{Alternate, Modes};
use crate::screen::terminal::Terminal;
use crate::screen::window::Extras;

/// Equal, and nothing else touched, means that `Terminal::undo` returns what it did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latch {
    modes: Modes,
    alternate: Option<Alternate>,
    region: Region,
    /// The caret's place, which the undo names in origin mode alone.
    origin: Option<(usize, usize)>,
    charsets: Charsets,
    plain_pen: bool,
    linked: bool,
    protected: bool,
    extras: Extras,
    shape: Option<CursorShape>,
}

impl Terminal {
    /// The state now.
    pub fn latch(&self) -> Latch {
        let caret = &self.caret;
        Latch {
            modes: self.modes,
            alternate: self.alternate,
            region: self.region,
            origin: caret.origin.then_some((caret.col, caret.row)),
            charsets: caret.charsets,
            plain_pen: caret.look.is_plain(),
            protected: caret.look.is_protected(),
            linked: caret.look.link() != 0,
            extras: self.extras,
            shape: self.shape,
        }
    }

    /// Whether a control sequence can change nothing but what the latch holds.
    pub fn latch_holds_csi(intermediates: &[u8], action: char) -> bool {
        match intermediates {
            [] => !matches!(action, 't' | 'g'),
            [b'?'] => matches!(action, 'h' | 'l' | 'J' | 'K' | 'n' | 'u'),
            [b' '] => action == 'q',
            _ => false,
        }
    }

    /// The same for a short escape sequence.
    pub fn latch_holds_esc(intermediates: &[u8], byte: u8) -> bool {
        match intermediates {
            [] => matches!(byte, b'7' | b'8' | b'=' | b'>' | b'D' | b'E' | b'M' | b'\\'),
            [b'(' | b')'] => true,
            _ => false,
        }
    }

    /// The same for an operating system command, by its number: links, notifications and progress, marks.
    pub fn latch_holds_osc(number: &[u8]) -> bool {
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
        // What is touched for the first time counts, because it may have to go back to something else than is usual.
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
