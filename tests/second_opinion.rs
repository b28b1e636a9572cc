//! What hopty undoes, judged by another terminal than its own model: alacritty's. It knows fewer modes, and
//! disagrees with xterm about some (the alternate screen has one number there), so that only what both agree
//! on can be relied on.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "support/cells.rs"]
mod cells;

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::{Config, TermMode};
use alacritty_terminal::vte::ansi::Processor;
use cells::Cells;
use hopty::screen::{Screen, UNDO_STEPS};

struct Other {
    term: Term<VoidListener>,
    parser: Processor,
}

impl Other {
    fn new() -> Self {
        let config = Config { kitty_keyboard: true, ..Config::default() };
        Other { term: Term::new(config, &Cells(20, 6), VoidListener), parser: Processor::new() }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
    }

    fn row(&self, row: i32) -> String {
        let line = &self.term.grid()[Line(row)];
        (0..20).map(|col| line[Column(col)].c).collect::<String>().replace('\t', " ").trim_end().to_owned()
    }
}

/// Feeds both the same, and the undo after it to the other one.
fn undone(before: &str, bytes: &str) -> (Other, Vec<u8>) {
    let mut screen = Screen::new(20, 6);
    let mut other = Other::new();
    other.feed(before.as_bytes());
    screen.feed(bytes.as_bytes());
    other.feed(bytes.as_bytes());
    let undo = [screen.ending(), &screen.undo()].concat();
    other.feed(&undo);
    (other, undo)
}

/// Where a sequence without measure ends, both agree, and what follows is text.
#[test]
fn what_follows_a_long_sequence_is_text() {
    let long = |text: &str| text.repeat((200 << 10) / text.len());
    for (begin, middle, end) in [
        ("\x1b[", long("1;"), "m"),
        ("\x1b[?", long("9"), "l"),
        ("\x1b[", long("1\n"), "m"),
        ("\x1b(", long("("), "B"),
        ("\x1bPq", long("A"), "\x1b\\"),
        ("\x1b_G", long("A\x07"), "\x1b\\"),
        ("\x1b^", long("\x07"), "\x1b\\"),
        ("\x1bX", long("x"), "\x1b\\"),
        ("\x1b]52;c;", long("A"), "\x07"),
    ] {
        let bytes = [begin, &middle, end, "after"].concat();
        for size in [bytes.len(), 1000] {
            let (mut screen, mut other) = (Screen::new(20, 6), Other::new());
            bytes.as_bytes().chunks(size).for_each(|piece| {
                screen.feed(piece);
                other.feed(piece);
            });
            let rows: Vec<String> = (0..6).map(|row| other.row(row)).collect();
            assert_eq!(screen.lines(), rows, "{begin:?} {end:?}");
            assert!(rows.iter().any(|row| row.ends_with("after")), "{begin:?} {end:?}: {rows:?}");
        }
    }
}

#[test]
fn nothing_is_left_on() {
    let fresh = *Other::new().term.mode();
    for (bytes, _) in UNDO_STEPS.iter().flat_map(|step| step.examples) {
        let (mut other, undo) = undone("", bytes);
        assert_eq!(*other.term.mode(), fresh, "{bytes:?} {:?}", String::from_utf8_lossy(&undo));
        assert_eq!(other.term.cursor_style(), Other::new().term.cursor_style(), "{bytes:?}");
        // What is printed next looks as in a fresh terminal, and scrolls all of it.
        other.feed(b"\rlqj#\r\n\r\n\r\n\r\n\r\n\r\nx\ty");
        assert_eq!(other.row(5), "x       y", "{bytes:?}");
        other.feed(b"\x1b[H");
        let cell = &other.term.grid()[Line(5)][Column(0)];
        assert!(cell.flags.is_empty() && cell.hyperlink().is_none(), "{bytes:?}");
        for row in 0..5 {
            assert!(["", "lqj#"].contains(&other.row(row).as_str()), "{bytes:?} {:?}", other.row(row));
        }
    }
}

#[test]
fn the_cursor_stays_where_it_was() {
    for (bytes, _) in
        UNDO_STEPS.iter().flat_map(|step| step.examples).filter(|(bytes, _)| !bytes.contains('r'))
    {
        let text = format!("{bytes}\x1b[4;3Hab");
        let (other, undo) = undone("", &text);
        let entered = [47, 1047, 1049].iter().any(|number| bytes.contains(&format!("\x1b[?{number}h")));
        if !entered {
            let point = other.term.grid().cursor.point;
            assert_eq!(
                (point.line.0, point.column.0),
                (3, 4),
                "{bytes:?} {:?}",
                String::from_utf8_lossy(&undo)
            );
        }
    }
}

/// Whichever numbers a child mixes, the primary screen is shown again and what stood there still stands
/// there.
#[test]
fn the_way_back_fits_terminals_that_know_one_number_only() {
    for enter in [
        "\x1b[?1049h", "\x1b[?47h\x1b[?1049h", "\x1b[?1047h\x1b[?1049h", "\x1b[?1049h\x1b[?47h",
        "\x1b[?1049h\x1b[?1047h",
    ] {
        let bytes = format!("first\r\nsecond{enter}\x1b[2Jthere");
        let (other, undo) = undone("", &bytes);
        assert!(
            !other.term.mode().contains(TermMode::ALT_SCREEN),
            "{enter:?} {:?}",
            String::from_utf8_lossy(&undo)
        );
        assert_eq!((other.row(0).as_str(), other.row(1).as_str()), ("first", "second"), "{enter:?}");
        let point = other.term.grid().cursor.point;
        assert_eq!((point.line.0, point.column.0), (1, 6), "{enter:?}");
    }
}

#[test]
fn flags_that_were_pushed_before_are_found_again() {
    let before = TermMode::DISAMBIGUATE_ESC_CODES | TermMode::REPORT_EVENT_TYPES;
    for bytes in [
        "\x1b[>1u",
        "\x1b[>1u\x1b[>5u\x1b[<u",
        "\x1b[?1049h\x1b[>5u",
        "\x1b[>1u\x1b[?1049h\x1b[>5u\x1b[>7u",
        "\x1b[>1u\x1b[=9u",
    ] {
        let (other, undo) = undone("\x1b[>3u", bytes);
        let flags = *other.term.mode() & TermMode::KITTY_KEYBOARD_PROTOCOL;
        assert_eq!(flags, before, "{bytes:?} {:?}", String::from_utf8_lossy(&undo));
    }
}

#[test]
fn what_is_cut_swallows_neither_the_undo_nor_what_follows() {
    for cut in [
        "\x1b", "\x1b[", "\x1b[38;2;1", "\x1b(", "\x1b]0;ti", "\x1b]8;;http://", "\x1b]52;c;aG", "\x1bPq#1",
        "\x1b_Ga=T;", "\x1b[\n",
    ] {
        for on in ["", "\x1b[?2004h"] {
            let bytes = format!("{on}{cut}");
            let (mut other, _) = undone("", &bytes);
            assert_eq!(*other.term.mode(), *Other::new().term.mode(), "{bytes:?}");
            other.feed(b"\r$ ls");
            assert!((0..6).any(|row| other.row(row) == "$ ls"), "{bytes:?}");
        }
    }
}

/// Which cells are links, as the other terminal has it.
#[test]
fn links_come_and_go_as_in_the_other_terminal() {
    for bytes in [
        "a\x1b]8;;http://x\x07b\x1b[1mc\x1b[md\x1b]8;;\x07e",
        "\x1b]8;id=i;http://x/?a;b\x07a\x1b]8;;y\x07b\x1b]8;;\x07",
        "\x1b]8;;x\x07\x1b7\x1b]8;;\x07ab\x1b8\x1b[3Ccd",
        "\x1b7\x1b]8;;x\x07ab\x1b8\x1b[3Ccd",
        "\x1b]8;;x\x07\x1b[?1049h\x1b]8;;\x07\x1b[?1049lab",
        "\x1b]8;;x\x07abcdef\x1b[3D\x1b[K",
        "\x1b]8;;x\x07abcdef\x1b[4D\x1b[2P",
        "\x1b]8;;x\x07abcdef\x1b[4D\x1b[2@",
        "\x1b]8;;x\x07abcdef\x1b[4D\x1b[2X",
        "\x1b]8;;x\x07漢漢\x1b]8;;\x07\x1b[2Gy",
        "\x1b]8;;x\x07abc\x1bcd",
        "\x1b]8;;x\x07a\x1b]8;;\x1b\\b",
    ] {
        let mut screen = Screen::new(20, 6);
        screen.feed(bytes.as_bytes());
        let mut other = Other::new();
        other.feed(bytes.as_bytes());
        let mut attached = Other::new();
        attached.feed(&screen.dump().screen);
        for col in 0..20 {
            let runs = screen.row_part(0, col..col + 1);
            let link = runs.first().and_then(|run| run.link.as_ref()).map(|link| link.uri().to_owned());
            for other in [&other, &attached] {
                let cell = &other.term.grid()[Line(0)][Column(usize::from(col))];
                assert_eq!(link, cell.hyperlink().map(|link| link.uri().to_owned()), "{bytes:?} {col}");
            }
        }
    }
}
