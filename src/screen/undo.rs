//! The bytes that put a terminal back after the child died without doing so.
//!
//! Only what is on is undone, because a needless sequence can do harm: `?1049l` on the primary screen moves the cursor to
//! where it was once saved, and the next line overwrites what stands there (measured, DESIGN 6.4). Tab stops and colours
//! of the palette are left alone.

use super::alternate::Alternate;
use super::cursor::{Charset, CursorShape};
use super::look::Look;
use super::modes::{Mode, ModeSpace};
use super::terminal::Terminal;

/// Modes that are undone by their own number, in this order: first what makes the terminal send bytes.
const PLAIN: [Mode; 22] = [
    Mode::MousePixels,
    Mode::MouseSgr,
    Mode::MouseUrxvt,
    Mode::MouseUtf8,
    Mode::MouseMotion,
    Mode::MouseDrag,
    Mode::MouseButtons,
    Mode::MouseX10,
    Mode::AlternateScroll,
    Mode::Focus,
    Mode::ColorScheme,
    Mode::SizeReports,
    Mode::BracketedPaste,
    Mode::WindowsKeys,
    Mode::Graphemes,
    Mode::CursorKeys,
    Mode::ReverseWrap,
    Mode::AutoWrap,
    Mode::Insert,
    Mode::Newline,
    Mode::ReverseVideo,
    Mode::CursorBlink,
];

impl Terminal {
    /// The sequences, in the order in which they must go out. Empty when nothing is on.
    pub(super) fn undo(&self) -> String {
        let mut out = String::new();
        // First, or a terminal that holds back frames shows nothing of what follows.
        self.undo_mode(Mode::Synchronized, &mut out);
        // What DECRC brings back on leaving is what is on afterwards.
        let mut caret = self.caret;
        if let Some(how) = self.alternate {
            // The stack of the alternate screen can only be reached while it is shown.
            out.push_str(&self.page.keyboard.undo());
            out.push_str(&format!("\x1b[?{}l", how.number()));
            out.push_str(&self.hidden.keyboard.undo());
            if how == Alternate::Saving {
                caret = self.hidden.saved.clamped(self.cols, self.rows);
            }
        } else {
            out.push_str(&self.page.keyboard.undo());
        }
        for mode in PLAIN {
            self.undo_mode(mode, &mut out);
        }
        if self.modify_other_keys != 0 {
            out.push_str("\x1b[>4m");
        }
        if self.modes.is_on(Mode::Keypad) {
            out.push_str("\x1b>");
        }
        self.undo_mode(Mode::CursorVisible, &mut out);
        if self.shape != CursorShape::Default {
            out.push_str("\x1b[0 q");
        }
        if caret.origin {
            // Leaving origin mode moves the cursor home, and DECRC would bring the mode back: so it is put back by hand.
            let (row, col) = (caret.row + 1, caret.col + 1);
            out.push_str(&format!("\x1b[?6l\x1b[r\x1b[{row};{col}H"));
        } else if self.region != self.whole() {
            out.push_str("\x1b7\x1b[r\x1b8");
        }
        if caret.charsets.g0 != Charset::Ascii {
            out.push_str("\x1b(B");
        }
        if caret.charsets.g1 != Charset::Ascii {
            out.push_str("\x1b)B");
        }
        if caret.charsets.shifted {
            out.push('\x0f');
        }
        if caret.look != Look::default() {
            out.push_str("\x1b[m");
        }
        out.push_str(&self.titles.undo());
        out
    }

    fn undo_mode(&self, mode: Mode, out: &mut String) {
        if self.modes.is_changed(mode) {
            out.push_str(&mode.sequence(mode.initially_on()));
        }
    }

    /// The modes that are not as in a fresh terminal, in the form of CONTRACT C4: the number of a private mode that is on;
    /// with `-` before it, of one that is off and should not be; with `ansi:`, of an ANSI mode.
    pub(super) fn mode_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Mode::ALL
            .into_iter()
            .filter(|mode| self.is_on(*mode) != mode.initially_on())
            .map(|mode| match mode.number() {
                (ModeSpace::Ansi, number) => format!("ansi:{number}"),
                (ModeSpace::Private, number) if mode.initially_on() => format!("-{number}"),
                (ModeSpace::Private, number) => number.to_string(),
            })
            .collect();
        names.extend(self.alternate.map(|how| how.number().to_string()));
        names
    }
}

#[cfg(test)]
mod tests {
    use super::super::Screen;

    fn undo(bytes: &str) -> String {
        let mut screen = Screen::new(20, 6);
        screen.feed(bytes.as_bytes());
        let place = (screen.cursor().col, screen.cursor().row);
        let was_alternate = screen.alternate();
        let undo = screen.undo();
        screen.feed(&undo);
        assert_eq!(screen.undo(), b"", "undone twice: {bytes:?}");
        assert!(screen.modes().is_empty() && !screen.alternate() && screen.cursor().visible);
        if !was_alternate {
            assert_eq!((screen.cursor().col, screen.cursor().row), place, "{bytes:?}");
        }
        String::from_utf8(undo).unwrap()
    }

    #[test]
    fn each_thing_is_undone_by_its_own_sequence_alone() {
        let table = [
            ("", ""),
            ("text\x1b[2J\x1b[3;3H\x1b7\x1b[c", ""),
            ("\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l"),
            ("\x1b[?1004h\x1b[?2004h\x1b[?2031h", "\x1b[?1004l\x1b[?2031l\x1b[?2004l"),
            ("\x1b[?2026h", "\x1b[?2026l"),
            ("\x1b[?1h\x1b=", "\x1b[?1l\x1b>"),
            ("\x1b[?66h", "\x1b>"),
            ("\x1b[?7l\x1b[?25l", "\x1b[?7h\x1b[?25h"),
            ("\x1b[4h\x1b[20h", "\x1b[4l\x1b[20l"),
            ("\x1b[?5h\x1b[?12h\x1b[?45h", "\x1b[?45l\x1b[?5l\x1b[?12l"),
            ("\x1b[>4;2m", "\x1b[>4m"),
            ("\x1b[>4;2m\x1b[>4m", ""),
            ("\x1b[>5u\x1b[>7u", "\x1b[<2u"),
            ("\x1b[=5u", "\x1b[=0;1u"),
            ("\x1b[5 q", "\x1b[0 q"),
            ("\x1b[2;4r\x1b[5;6H", "\x1b7\x1b[r\x1b8"),
            ("\x1b[2;4r\x1b[?6h\x1b[2;3H", "\x1b[?6l\x1b[r\x1b[3;3H"),
            ("\x1b(0\x1b)0\x0e", "\x1b(B\x1b)B\x0f"),
            ("\x1b[1;31m", "\x1b[m"),
            ("\x1b]0;t\x07", "\x1b]0;\x07"),
            ("\x1b[22;0t\x1b]0;t\x07", "\x1b]0;\x07\x1b[23;0t"),
            ("\x1b[?1049h", "\x1b[?1049l"),
            ("\x1b[?1047h", "\x1b[?1047l"),
            ("\x1b[?47h", "\x1b[?47l"),
        ];
        for (bytes, expected) in table {
            assert_eq!(undo(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_was_turned_off_again_is_not_undone() {
        assert_eq!(undo("\x1b[?1049h\x1b[?1000h\x1b[?25l\x1b[?25h\x1b[?1000l\x1b[?1049l"), "");
        assert_eq!(undo("\x1b[?1049h\x1b[>1u\x1b[?1049l"), "", "the other screen's keyboard is not on");
    }

    #[test]
    fn each_screen_s_keyboard_is_popped_while_it_is_shown() {
        assert_eq!(undo("\x1b[>1u\x1b[?1049h\x1b[>3u\x1b[>5u"), "\x1b[<2u\x1b[?1049l\x1b[<1u");
    }

    #[test]
    fn what_leaving_the_alternate_screen_brings_back_is_undone_too() {
        assert_eq!(undo("\x1b[1m\x1b(0\x1b[?1049h\x1b[m\x1b(B"), "\x1b[?1049l\x1b(B\x1b[m");
        assert_eq!(undo("\x1b[?1049h\x1b[1m\x1b(0"), "\x1b[?1049l");
        assert_eq!(undo("\x1b[?47h\x1b[1m"), "\x1b[?47l\x1b[m");
    }
}
