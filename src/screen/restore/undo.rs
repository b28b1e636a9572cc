//! The undo: the bytes that restore a terminal after the child died without doing so.
//!
//! Only the child's changes are undone, because a needless sequence can do harm: `?1049l` on the primary
//! screen moves the cursor to an old saved position, and the next line overwrites the text there (measured).
//! The state before the child is restored if the child queried it (`terminal_before.rs`), otherwise the
//! default of a fresh terminal.
//!
//! [`UNDO_STEPS`] lists all steps in their order: `docs/TERMINAL.md` shows it, and the tests check it.

use crate::screen::cursor::{CursorState, TabStops};
use crate::screen::display::DisplayState;
use crate::screen::modes::{ModeSpace, TerminalMode};
use crate::screen::terminal_state::TerminalState;

#[derive(Clone, Copy, Debug)]
pub struct UndoStep {
    pub what: &'static str,
    /// The reason for its place or form.
    pub why: &'static str,
    /// Output of a child, and the complete undo after it.
    pub examples: &'static [(&'static str, &'static str)],
    undo: fn(&TerminalState, &mut String),
}

/// All steps, in order.
pub const UNDO_STEPS: &[UndoStep] = &[
    UndoStep {
        what: "VT52",
        why: "first, because a VT52 understands nothing else",
        examples: &[("\x1b[?2l", "\x1b<")],
        undo: |terminal, out| out.push_str(if terminal.encoding.vt52 { "\x1b<" } else { "" }),
    },
    UndoStep {
        what: "text that is not UTF-8",
        why: "before anything that could hold text",
        examples: &[("\x1b%@", "\x1b%G")],
        undo: |terminal, out| out.push_str(if terminal.encoding.not_utf8 { "\x1b%G" } else { "" }),
    },
    UndoStep {
        what: "a frame that is held back (2026)",
        why: "or a terminal shows nothing of what follows",
        examples: &[("\x1b[?2026h", "\x1b[?2026l")],
        undo: |terminal, out| undo_mode(terminal, TerminalMode::Synchronized, out),
    },
    UndoStep {
        what: "kitty keyboard and pointer of the screen that is shown",
        why: "each screen has stacks of its own, which can be reached only while it is shown; as many pops \
              as pushes, so that what was pushed before is found again",
        examples: &[
            ("\x1b[>5u\x1b[>7u", "\x1b[<2u"),
            ("\x1b[=5u", "\x1b[=0;1u"),
            ("\x1b]22;wait\x07", "\x1b]22;\x07"),
            ("\x1b]22;>wait\x07", "\x1b]22;<\x07"),
        ],
        undo: |terminal, out| undo_stacks(terminal, terminal.display.buffers.alternate.is_some(), out),
    },
    UndoStep {
        what: "alternate screen",
        why: "by the mode that entered it; never on the primary screen, where 1049 moves the cursor",
        examples: &[
            ("\x1b[?1049h", "\x1b[?1049l"),
            ("\x1b[?1047h", "\x1b[?1047l"),
            ("\x1b[?47h", "\x1b[?47l"),
            ("\x1b[?47h\x1b[?1049h", "\x1b[?47l\x1b7\x1b[?1049l"),
        ],
        undo: |terminal, out| {
            out.push_str(&terminal.display.buffers.alternate.map(|how| how.way_back()).unwrap_or_default())
        },
    },
    UndoStep {
        what: "kitty keyboard and pointer of the primary screen",
        why: "the same, when it is shown again",
        examples: &[("\x1b[>1u\x1b[?1049h", "\x1b[?1049l\x1b[<1u")],
        undo: |terminal, out| {
            if terminal.display.buffers.alternate.is_some() {
                undo_stacks(terminal, false, out);
            }
        },
    },
    UndoStep {
        what: "what makes the terminal send other bytes, or none: keyboard lock, mouse, focus, pastes, \
               reports, keys",
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
        undo: |terminal, out| SENDING.iter().for_each(|mode| undo_mode(terminal, *mode, out)),
    },
    UndoStep {
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
        undo: undo_keys,
    },
    UndoStep {
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
        undo: |terminal, out| PLACING.iter().for_each(|mode| undo_mode(terminal, *mode, out)),
    },
    UndoStep {
        what: "reverse video; the cursor: blinking, hidden, its form",
        why: "a cursor that was hidden while all this was drawn did not flicker",
        examples: &[
            ("\x1b[?5h", "\x1b[?5l"),
            ("\x1b[?12h", "\x1b[?12l"),
            ("\x1b[?25l", "\x1b[?25h"),
            ("\x1b[5 q", "\x1b[0 q"),
        ],
        undo: undo_looks,
    },
    UndoStep {
        what: "origin, margins, tab stops",
        why: "they move the cursor, which is saved and brought back; from origin mode it is placed by hand, \
              because restoring would bring that back, too",
        examples: &[
            ("\x1b[2;4r\x1b[5;6H", "\x1b7\x1b[r\x1b8"),
            ("\x1b[?69h\x1b[3;5s", "\x1b7\x1b[?69l\x1b8"),
            ("\x1b[2;4r\x1b[?6h\x1b[2;3H", "\x1b[?6l\x1b[r\x1b[3;3H"),
            ("\x1b[9G\x1b[g", "\x1b7\x1b[3g\x1b[9G\x1bH\x1b[17G\x1bH\x1b8"),
        ],
        undo: undo_margins,
    },
    UndoStep {
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
        undo: undo_pen,
    },
    UndoStep {
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
        undo: |terminal, out| out.push_str(&terminal.window.colors.undo(terminal.before.colors())),
    },
    UndoStep {
        what: "progress",
        why: "",
        examples: &[("\x1b]9;4;1;50\x07", "\x1b]9;4;0;0\x07")],
        undo: |terminal, out| out.push_str(terminal.window.progress.undo()),
    },
    UndoStep {
        what: "title",
        why: "emptied first, for terminals that keep no stack of them; popped after, as often as it was \
              pushed",
        examples: &[("\x1b]0;t\x07", "\x1b]0;\x07"), ("\x1b[22;0t\x1b]0;t\x07", "\x1b]0;\x07\x1b[23;0t")],
        undo: |terminal, out| out.push_str(&terminal.window.titles.undo()),
    },
];

/// Modes that make the terminal send reports; the formats of reports come before the reports.
const SENDING: [TerminalMode; 21] = [
    TerminalMode::KeyboardLocked,
    TerminalMode::NoLocalEcho,
    TerminalMode::MousePixels,
    TerminalMode::MouseSgr,
    TerminalMode::MouseUrxvt,
    TerminalMode::MouseUtf8,
    TerminalMode::MouseMotion,
    TerminalMode::MouseDrag,
    TerminalMode::MouseHighlight,
    TerminalMode::MouseButtons,
    TerminalMode::MouseX10,
    TerminalMode::AlternateScroll,
    TerminalMode::Focus,
    TerminalMode::ColorScheme,
    TerminalMode::SizeReports,
    TerminalMode::PasteEvents,
    TerminalMode::BracketedPaste,
    TerminalMode::WindowsKeys,
    TerminalMode::AutoRepeat,
    TerminalMode::BackspaceSendsBs,
    TerminalMode::CursorKeys,
];

/// Modes that determine where text and images go.
const PLACING: [TerminalMode; 11] = [
    TerminalMode::Graphemes,
    TerminalMode::AllowColumns,
    TerminalMode::KeepOnColumns,
    TerminalMode::NationalSets,
    TerminalMode::ReverseWrap,
    TerminalMode::ReverseWrapAnywhere,
    TerminalMode::AutoWrap,
    TerminalMode::Insert,
    TerminalMode::Newline,
    TerminalMode::SixelDisplay,
    TerminalMode::SixelCursor,
];

/// The sequences, in the required order. Empty if there is nothing to undo.
pub fn undo(terminal: &TerminalState) -> String {
    let mut out = String::new();
    for step in UNDO_STEPS {
        (step.undo)(terminal, &mut out);
    }
    out
}

fn mode_undo(terminal: &TerminalState, mode: TerminalMode) -> String {
    terminal.display.modes.undo(mode, terminal.before.mode(mode))
}

fn undo_mode(terminal: &TerminalState, mode: TerminalMode, out: &mut String) {
    out.push_str(&mode_undo(terminal, mode));
}

/// State with a stack for each screen.
fn undo_stacks(terminal: &TerminalState, alternate: bool, out: &mut String) {
    let buffer = terminal.display.buffers.buffer(alternate);
    out.push_str(&buffer.keyboard.undo(terminal.before.keyboard(alternate)));
    out.push_str(&buffer.pointer.undo());
}

fn undo_keys(terminal: &TerminalState, out: &mut String) {
    let keypad = mode_undo(terminal, TerminalMode::Keypad);
    // Not every terminal supports it by its number.
    out.push_str(&keypad.replace("\x1b[?66l", "\x1b>").replace("\x1b[?66h", "\x1b="));
    out.push_str(&terminal.key_options.undo(terminal.before.other_keys()));
    if terminal.encoding.eight_bit_controls {
        out.push_str("\x1b F");
    }
}

fn undo_looks(terminal: &TerminalState, out: &mut String) {
    undo_mode(terminal, TerminalMode::ReverseVideo, out);
    undo_mode(terminal, TerminalMode::CursorBlink, out);
    undo_mode(terminal, TerminalMode::CursorVisible, out);
    let before = terminal.before.shape().unwrap_or_default();
    if terminal.display.cursor_shape.is_some_and(|shape| shape != before) {
        out.push_str(&format!("\x1b[{} q", before.number()));
    }
}

/// The cursor when the alternate screen is left: leaving it with 1049 restores the cursor.
fn cursor_afterwards(display: &DisplayState) -> CursorState {
    match display.buffers.alternate {
        Some(how) if how.restores() => display.buffers.inactive.saved_cursor,
        _ => display.position.cursor,
    }
}

fn undo_margins(terminal: &TerminalState, out: &mut String) {
    let (cursor, position) = (cursor_afterwards(&terminal.display), &terminal.display.position);
    let mut moving = String::new();
    let sides = mode_undo(terminal, TerminalMode::SideMargins);
    moving.push_str(&sides);
    let (margins, whole) = (position.margins, position.whole());
    if (margins.top, margins.bottom) != (whole.top, whole.bottom) || cursor.origin {
        moving.push_str("\x1b[r");
    }
    if sides.is_empty() && position.has_side_margins() {
        moving.push_str("\x1b[s");
    }
    if position.tab_stops != TabStops::new(position.cols) {
        moving.push_str("\x1b[3g");
        let stops = (0..position.cols).filter(|col| TabStops::is_default(*col));
        stops.for_each(|col| moving.push_str(&format!("\x1b[{}G\x1bH", col + 1)));
    }
    if cursor.origin {
        // Leaving origin mode moves the cursor home, and DECRC would set the mode again: so the position is
        // restored explicitly.
        out.push_str(&format!("\x1b[?6l{moving}\x1b[{};{}H", cursor.row + 1, cursor.col + 1));
    } else if !moving.is_empty() {
        out.push_str(&format!("\x1b7{moving}\x1b8"));
    }
}

fn undo_pen(terminal: &TerminalState, out: &mut String) {
    let display = &terminal.display;
    let cursor = cursor_afterwards(display);
    out.push_str(&cursor.charsets.undo());
    if !cursor.pen.is_plain() {
        out.push_str("\x1b[m");
    }
    if cursor.pen.is_protected() || display.iso_protection {
        out.push_str("\x1b[0\"q");
    }
    if display.rectangular_changes {
        out.push_str("\x1b[*x");
    }
    if display.links.open || cursor.pen.link() != 0 {
        out.push_str("\x1b]8;;\x07");
    }
}

/// The modes that differ from those of a fresh terminal, in the form of `screen --json`: the number of a
/// private mode that is set; with `-`, of one that is reset and should not be; with `ansi:`, of an ANSI mode.
pub fn mode_names(display: &DisplayState) -> Vec<String> {
    let mut names: Vec<String> = TerminalMode::ALL
        .into_iter()
        .filter(|mode| display.is_on(*mode) != mode.initially_on())
        .map(|mode| match mode.number() {
            (ModeSpace::Ansi, number) => format!("ansi:{number}"),
            (ModeSpace::Private, number) if mode.initially_on() => format!("-{number}"),
            (ModeSpace::Private, number) => number.to_string(),
        })
        .collect();
    names.extend(display.buffers.alternate.map(|how| how.number().to_string()));
    names
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
        let left: Vec<String> =
            screen.modes().into_iter().filter(|mode| !["1007", "2027"].contains(&mode.as_str())).collect();
        assert!(left.is_empty() && !screen.alternate() && screen.cursor().visible, "{bytes:?} {screen:?}");
        if !was_alternate {
            assert_eq!((screen.cursor().col, screen.cursor().row), place, "{bytes:?}");
        }
        String::from_utf8(undo).unwrap()
    }

    #[test]
    fn each_thing_is_undone_by_its_own_sequence_alone() {
        for step in UNDO_STEPS {
            for (bytes, expected) in step.examples {
                assert_eq!(undo(bytes), *expected, "{}: {bytes:?}", step.what);
            }
        }
    }

    #[test]
    fn every_mode_is_undone() {
        for mode in TerminalMode::ALL {
            let undone = undo(&mode.sequence(!mode.initially_on()));
            let no_default = [TerminalMode::AlternateScroll, TerminalMode::Graphemes].contains(&mode);
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
