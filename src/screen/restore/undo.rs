//! The bytes that put a terminal back after the child died without doing so.
//!
//! Only what the child changed is undone, because a needless sequence can do harm: `?1049l` on the primary screen moves the
//! cursor to where it was once saved, and the next line overwrites what stands there (measured, DESIGN 6.4). It goes back to
//! what it was before where the child asked for that (`former.rs`), else to what it is in a fresh terminal.
//!
//! [`UNDONE`] is the whole of it, in the order in which it goes out: `docs/TERMINAL.md` shows it, and the tests go through it.

use crate::screen::cursor::{Caret, Tabs};
use crate::screen::modes::{Mode, ModeSpace};
use crate::screen::terminal::Terminal;

/// One step of the undo.
#[derive(Clone, Copy, Debug)]
pub struct Undone {
    /// What is undone.
    pub what: &'static str,
    /// Why in this place, or in this way.
    pub why: &'static str,
    /// What a child may write and nothing else, and the whole undo after it.
    pub examples: &'static [(&'static str, &'static str)],
    undo: fn(&Terminal, &mut String),
}

/// What is undone, in order.
pub const UNDONE: &[Undone] = &[
    Undone {
        what: "VT52",
        why: "first, because a VT52 understands nothing else",
        examples: &[("\x1b[?2l", "\x1b<")],
        undo: |terminal, out| out.push_str(if terminal.extras.vt52 { "\x1b<" } else { "" }),
    },
    Undone {
        what: "text that is not UTF-8",
        why: "before anything that could hold text",
        examples: &[("\x1b%@", "\x1b%G")],
        undo: |terminal, out| out.push_str(if terminal.extras.not_utf8 { "\x1b%G" } else { "" }),
    },
    Undone {
        what: "a frame that is held back (2026)",
        why: "or a terminal shows nothing of what follows",
        examples: &[("\x1b[?2026h", "\x1b[?2026l")],
        undo: |terminal, out| terminal.undo_mode(Mode::Synchronized, out),
    },
    Undone {
        what: "kitty keyboard and pointer of the screen that is shown",
        why: "each screen has stacks of its own, which can be reached only while it is shown; as many pops as pushes, so that what was pushed before is found again",
        examples: &[
            ("\x1b[>5u\x1b[>7u", "\x1b[<2u"),
            ("\x1b[=5u", "\x1b[=0;1u"),
            ("\x1b]22;wait\x07", "\x1b]22;\x07"),
            ("\x1b]22;>wait\x07", "\x1b]22;<\x07"),
        ],
        undo: |terminal, out| terminal.undo_stacks(terminal.alternate.is_some(), out),
    },
    Undone {
        what: "alternate screen",
        why: "by the mode that entered it; never on the primary screen, where 1049 moves the cursor",
        examples: &[
            ("\x1b[?1049h", "\x1b[?1049l"),
            ("\x1b[?1047h", "\x1b[?1047l"),
            ("\x1b[?47h", "\x1b[?47l"),
            ("\x1b[?47h\x1b[?1049h", "\x1b[?47l\x1b7\x1b[?1049l"),
        ],
        undo: |terminal, out| out.push_str(&terminal.alternate.map(|how| how.way_back()).unwrap_or_default()),
    },
    Undone {
        what: "kitty keyboard and pointer of the primary screen",
        why: "the same, when it is shown again",
        examples: &[("\x1b[>1u\x1b[?1049h", "\x1b[?1049l\x1b[<1u")],
        undo: |terminal, out| {
            if terminal.alternate.is_some() {
                terminal.undo_stacks(false, out);
            }
        },
    },
    Undone {
        what: "what makes the terminal send other bytes, or none: keyboard lock, mouse, focus, pastes, reports, keys",
        why: "before what is only seen",
        examples: &[
            ("\x1b[2h", "\x1b[2l"),
            ("\x1b[12l", "\x1b[12h"),
            ("\x1b[?9h", "\x1b[?9l"),
            ("\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l"),
            ("\x1b[?1001h", "\x1b[?1001l"),
            ("\x1b[?1002h\x1b[?1005h", "\x1b[?1005l\x1b[?1002l"),
            ("\x1b[?1003h\x1b[?1015h", "\x1b[?1015l\x1b[?1003l"),
            ("\x1b[?1003h\x1b[?1016h", "\x1b[?1016l\x1b[?1003l"),
            ("\x1b[?1007s\x1b[?1007h", "\x1b[?1007r"),
            ("\x1b[?1004h", "\x1b[?1004l"),
            ("\x1b[?2031h", "\x1b[?2031l"),
            ("\x1b[?2048h", "\x1b[?2048l"),
            ("\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[?5522h", "\x1b[?5522l"),
            ("\x1b[?9001h", "\x1b[?9001l"),
            ("\x1b[?8l", "\x1b[?8h"),
            ("\x1b[?67h", "\x1b[?67l"),
            ("\x1b[?1h", "\x1b[?1l"),
            ("\x1b[?2004s\x1b[?2004h", "\x1b[?2004l\x1b[?2004r"),
        ],
        undo: |terminal, out| SENDING.iter().for_each(|mode| terminal.undo_mode(*mode, out)),
    },
    Undone {
        what: "keypad, modifyOtherKeys and xterm's other key options, controls of 8 bits",
        why: "the same",
        examples: &[
            ("\x1b=", "\x1b>"),
            ("\x1b[?66h", "\x1b>"),
            ("\x1b[>4;2m", "\x1b[>4m"),
            ("\x1b[>1;3m", "\x1b[>1m"),
            ("\x1b[>2n", "\x1b[>2m"),
            ("\x1b[>4;1f", "\x1b[>4f"),
            ("\x1b G", "\x1b F"),
        ],
        undo: Terminal::undo_keys,
    },
    Undone {
        what: "how text and images are placed: wrapping, insertion, line feeds, images",
        why: "before the margins, which are put back with the cursor in its place",
        examples: &[
            ("\x1b[?7l", "\x1b[?7h"),
            ("\x1b[4h", "\x1b[4l"),
            ("\x1b[20h", "\x1b[20l"),
            ("\x1b[?40h", "\x1b[?40l"),
            ("\x1b[?95h", "\x1b[?95l"),
            ("\x1b[?45h", "\x1b[?45l"),
            ("\x1b[?1045h", "\x1b[?1045l"),
            ("\x1b[?42h", "\x1b[?42l"),
            ("\x1b[?80h", "\x1b[?80l"),
            ("\x1b[?8452h", "\x1b[?8452l"),
            ("\x1b[?2027s\x1b[?2027h", "\x1b[?2027r"),
        ],
        undo: |terminal, out| PLACING.iter().for_each(|mode| terminal.undo_mode(*mode, out)),
    },
    Undone {
        what: "reverse video; the cursor: blinking, hidden, its form",
        why: "a cursor that was hidden while all this was drawn did not flicker",
        examples: &[("\x1b[?5h", "\x1b[?5l"), ("\x1b[?12h", "\x1b[?12l"), ("\x1b[?25l", "\x1b[?25h"), ("\x1b[5 q", "\x1b[0 q")],
        undo: Terminal::undo_looks,
    },
    Undone {
        what: "origin, margins, tab stops",
        why: "they move the cursor, which is saved and brought back; from origin mode it is placed by hand, because restoring would bring that back, too",
        examples: &[
            ("\x1b[2;4r\x1b[5;6H", "\x1b7\x1b[r\x1b8"),
            ("\x1b[?69h\x1b[3;5s", "\x1b7\x1b[?69l\x1b8"),
            ("\x1b[2;4r\x1b[?6h\x1b[2;3H", "\x1b[?6l\x1b[r\x1b[3;3H"),
            ("\x1b[9G\x1b[g", "\x1b7\x1b[3g\x1b[9G\x1bH\x1b[17G\x1bH\x1b8"),
        ],
        undo: Terminal::undo_margins,
    },
    Undone {
        what: "character sets and shifts, pen, protection, an open link",
        why: "behind what restores a cursor, which has them, too",
        examples: &[
            ("\x1b(0\x1b)0\x0e", "\x1b(B\x1b)B\x0f"),
            ("\x1b*0\x1bn", "\x1b*B\x0f"),
            ("\x1b+K\x1bo", "\x1b+B\x0f"),
            ("\x1b[1;31m", "\x1b[m"),
            ("\x1b[1\"q", "\x1b[0\"q"),
            ("\x1bV\x1bW", "\x1b[0\"q"),
            ("\x1b[2*x", "\x1b[*x"),
            ("\x1b]8;;http://x\x07", "\x1b]8;;\x07"),
        ],
        undo: Terminal::undo_pen,
    },
    Undone {
        what: "colours of the terminal",
        why: "reset first, for terminals that have no stack of them; popped after",
        examples: &[
            ("\x1b]4;1;red\x07", "\x1b]104;1\x07"),
            ("\x1b]10;red\x07", "\x1b]110\x07"),
            ("\x1b]11;red\x07", "\x1b]111\x07"),
            ("\x1b]12;red\x07", "\x1b]112\x07"),
            ("\x1b]21;cursor=red\x07", "\x1b]21;cursor\x07"),
            ("\x1b[#P\x1b]11;red\x07", "\x1b]111\x07\x1b[#Q"),
        ],
        undo: |terminal, out| out.push_str(&terminal.colors.undo(terminal.former.colors())),
    },
    Undone {
        what: "progress",
        why: "",
        examples: &[("\x1b]9;4;1;50\x07", "\x1b]9;4;0;0\x07")],
        undo: |terminal, out| out.push_str(if terminal.extras.progress.is_some() { "\x1b]9;4;0;0\x07" } else { "" }),
    },
    Undone {
        what: "title",
        why: "emptied first, for terminals that keep no stack of them; popped after, as often as it was pushed",
        examples: &[("\x1b]0;t\x07", "\x1b]0;\x07"), ("\x1b[22;0t\x1b]0;t\x07", "\x1b]0;\x07\x1b[23;0t")],
        undo: |terminal, out| out.push_str(&terminal.titles.undo()),
    },
];

/// Modes that make the terminal send something, the forms of reports before the reports.
const SENDING: [Mode; 21] = [
    Mode::KeyboardLocked,
    Mode::NoLocalEcho,
    Mode::MousePixels,
    Mode::MouseSgr,
    Mode::MouseUrxvt,
    Mode::MouseUtf8,
    Mode::MouseMotion,
    Mode::MouseDrag,
    Mode::MouseHighlight,
    Mode::MouseButtons,
    Mode::MouseX10,
    Mode::AlternateScroll,
    Mode::Focus,
    Mode::ColorScheme,
    Mode::SizeReports,
    Mode::PasteEvents,
    Mode::BracketedPaste,
    Mode::WindowsKeys,
    Mode::AutoRepeat,
    Mode::BackspaceSendsBs,
    Mode::CursorKeys,
];

/// Modes that say where text and images go.
const PLACING: [Mode; 11] = [
    Mode::Graphemes,
    Mode::AllowColumns,
    Mode::KeepOnColumns,
    Mode::NationalSets,
    Mode::ReverseWrap,
    Mode::ReverseWrapAnywhere,
    Mode::AutoWrap,
    Mode::Insert,
    Mode::Newline,
    Mode::SixelDisplay,
    Mode::SixelCursor,
];

impl Terminal {
    /// The sequences, in the order in which they must go out. Empty when nothing is to be undone.
    pub fn undo(&self) -> String {
        let mut out = String::new();
        for step in UNDONE {
            (step.undo)(self, &mut out);
        }
        out
    }

    fn undo_mode(&self, mode: Mode, out: &mut String) {
        out.push_str(&self.modes.undo(mode, self.former.mode(mode)));
    }

    /// What has a stack for each screen.
    fn undo_stacks(&self, alternate: bool, out: &mut String) {
        let page = if alternate == self.alternate.is_some() { &self.page } else { &self.hidden };
        out.push_str(&page.keyboard.undo(self.former.keyboard(alternate)));
        out.push_str(&self.extras.pointers[usize::from(alternate)].undo());
    }

    fn undo_keys(&self, out: &mut String) {
        let keypad = self.modes.undo(Mode::Keypad, self.former.mode(Mode::Keypad));
        // Not every terminal knows it by its number.
        out.push_str(&keypad.replace("\x1b[?66l", "\x1b>").replace("\x1b[?66h", "\x1b="));
        out.push_str(&self.keys.undo(self.former.other_keys()));
        if self.extras.eight_bit {
            out.push_str("\x1b F");
        }
    }

    fn undo_looks(&self, out: &mut String) {
        self.undo_mode(Mode::ReverseVideo, out);
        self.undo_mode(Mode::CursorBlink, out);
        self.undo_mode(Mode::CursorVisible, out);
        let before = self.former.shape().unwrap_or_default();
        if self.shape.is_some_and(|shape| shape != before) {
            out.push_str(&format!("\x1b[{} q", before.number()));
        }
    }

    /// The cursor as it is when the alternate screen is left: leaving by 1049 restores it.
    fn caret_afterwards(&self) -> Caret {
        match self.alternate {
            Some(how) if how.restores() => self.hidden.saved,
            _ => self.caret,
        }
    }

    fn undo_margins(&self, out: &mut String) {
        let caret = self.caret_afterwards();
        let mut moving = String::new();
        let sides = self.modes.undo(Mode::SideMargins, self.former.mode(Mode::SideMargins));
        moving.push_str(&sides);
        let (region, whole) = (self.region, self.whole());
        if (region.top, region.bottom) != (whole.top, whole.bottom) || caret.origin {
            moving.push_str("\x1b[r");
        }
        if sides.is_empty() && self.is_narrow() {
            moving.push_str("\x1b[s");
        }
        if self.tabs != Tabs::new(self.cols) {
            moving.push_str("\x1b[3g");
            (0..self.cols).filter(|col| Tabs::is_default(*col)).for_each(|col| moving.push_str(&format!("\x1b[{}G\x1bH", col + 1)));
        }
        if caret.origin {
            // Leaving origin mode moves the cursor home, and DECRC would bring the mode back: so it is put back by hand.
            out.push_str(&format!("\x1b[?6l{moving}\x1b[{};{}H", caret.row + 1, caret.col + 1));
        } else if !moving.is_empty() {
            out.push_str(&format!("\x1b7{moving}\x1b8"));
        }
    }

    fn undo_pen(&self, out: &mut String) {
        let caret = self.caret_afterwards();
        out.push_str(&caret.charsets.undo());
        if !caret.look.is_plain() {
            out.push_str("\x1b[m");
        }
        if caret.look.is_protected() || self.extras.iso_protection {
            out.push_str("\x1b[0\"q");
        }
        if self.extras.rectangles {
            out.push_str("\x1b[*x");
        }
        if self.extras.link || caret.look.link() != 0 {
            out.push_str("\x1b]8;;\x07");
        }
    }

    /// The modes that are not as in a fresh terminal, in the form of CONTRACT C4: the number of a private mode that is on;
    /// with `-` before it, of one that is off and should not be; with `ansi:`, of an ANSI mode.
    pub fn mode_names(&self) -> Vec<String> {
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
    use super::*;
    use crate::screen::Screen;

    fn undo(bytes: &str) -> String {
        let mut screen = Screen::new(20, 6);
        screen.feed(bytes.as_bytes());
        let place = (screen.cursor().col, screen.cursor().row);
        let was_alternate = screen.alternate();
        let undo = [screen.ending(), &screen.undo()].concat();
        screen.feed(&undo);
        assert_eq!((screen.ending(), screen.undo()), (&b""[..], vec![]), "undone twice: {bytes:?}");
        let left: Vec<String> = screen.modes().into_iter().filter(|mode| !["1007", "2027"].contains(&mode.as_str())).collect();
        assert!(left.is_empty() && !screen.alternate() && screen.cursor().visible, "{bytes:?} {screen:?}");
        if !was_alternate {
            assert_eq!((screen.cursor().col, screen.cursor().row), place, "{bytes:?}");
        }
        String::from_utf8(undo).unwrap()
    }

    #[test]
    fn each_thing_is_undone_by_its_own_sequence_alone() {
        for step in UNDONE {
            for (bytes, expected) in step.examples {
                assert_eq!(undo(bytes), *expected, "{}: {bytes:?}", step.what);
            }
        }
    }

    #[test]
    fn every_mode_is_undone() {
        for mode in Mode::ALL {
            let undone = undo(&mode.sequence(!mode.initially_on()));
            let no_default = [Mode::AlternateScroll, Mode::Graphemes].contains(&mode);
            assert_eq!(undone.is_empty(), no_default, "{mode:?}");
        }
    }

    #[test]
    fn what_changes_nothing_is_not_undone() {
        for bytes in [
            "",
            "text\x1b[2J\x1b[3;3H\x1b7\x1b[c",
            "\x1b[>4;2m\x1b[>4m",
            "\x1b[?2004s\x1b[?2004h\x1b[?2004r",
            "\x1b]8;;u\x07link\x1b]8;;\x07",
            "\x1b[3g\x1b[9G\x1bH\x1b[17G\x1bH",
            "\x1b[?1049h\x1b[?1000h\x1b[?25l\x1b[?25h\x1b[?1000l\x1b[?1049l",
            "\x1b[?1049h\x1b[>1u\x1b[?1049l",
            "\x1b[5 q\x1b[0 q",
        ] {
            assert_eq!(undo(bytes), "", "{bytes:?}");
        }
    }

    #[test]
    fn what_is_cut_is_ended_first_and_does_nothing() {
        let table = [
            ("\x1b[?2004h\x1b[?1049", "\x18\x1b[?2004l"),
            ("\x1b[?2004h\x1b", "\x18\x1b\\\x1b[?2004l"),
            ("\x1b(", "\x18"),
            ("text\x1b]0;ti", "\x18\x1b\\"),
            ("\x1b]11;red", "\x18\x1b\\"),
            ("\x1b]52;c;aGk=\x1b", "\x18\x1b\\"),
            ("\x1b_Ga=T;AAAA", "\x18\x1b\\"),
            ("\x1bP+q", "\x18\x1b\\"),
        ];
        for (bytes, expected) in table {
            assert_eq!(undo(bytes), expected, "{bytes:?}");
        }
        let mut screen = Screen::new(20, 6);
        screen.feed(b"\xe2\x82");
        assert_eq!(screen.ending(), b"\x18");
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
