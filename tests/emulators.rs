//! The screen model against two other emulators, on soups of what programs write and on the recorded screens
//! of Claude Code: the same cells, looks and cursor.
//!
//! Where the three are known to differ, the soup steers around it:
//!
//! * A cursor that waits to wrap. After EL, ED, ECH or a backspace, alacritty still waits, or erases nothing,
//!   where xterm waits no more; a tab has it wrap. avt lets it stand behind the last column. So these begin
//!   with a move.
//! * IL and DL: the others leave the column, xterm goes to the first one. So a carriage return follows.
//! * Combining marks at the left edge, and behind a wrap: alacritty joins them to what it finds, here they
//!   are dropped. So they follow a letter.
//! * CUU and CUD stop at the margins here, as in xterm, and not in alacritty. So there are margins only
//!   around what scrolls.
//! * IL and DL outside the margins do something in avt. So avt gets no margins.
//! * Erasing half of a wide character leaves the other half in the others. So none is cut.
//! * DCH of more characters than there are: alacritty erases before the cursor. It deletes one here.
//! * ED 1 in the second row: alacritty leaves the first one. It is left out.
//! * SGR 21: two underlines here, as in xterm; in alacritty the end of bold. It is left out.
//! * LNM does nothing in alacritty, for which the last of DECSCUSR and mode 12 says whether the cursor
//!   blinks; kitty flags that are set and not pushed are in no stack there; and a shift to another character
//!   set is not saved with the cursor. They are left out.
//! * Blinking and overlines, which alacritty does not keep, and kinds and colours of underlines, which avt
//!   does not.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "support/cells.rs"]
mod cells;

use std::fs;
use std::path::Path;

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::{Color as TheirColor, NamedColor, Processor};
use cells::Cells;
use hopty::screen::{Attr, Color, Screen, Style, Underline};
use proptest::collection::vec;
use proptest::prelude::*;
use unicode_width::UnicodeWidthChar;

/// A picture that all three can be brought to: cells with text and look (no text for the right half of a wide
/// one), cursor.
#[derive(Debug, PartialEq)]
struct Picture {
    rows: Vec<Vec<(String, Style)>>,
    cursor: (usize, usize),
}

impl Picture {
    /// Where a wide character did not fit, alacritty's blank has all of its look, ours what erasing leaves.
    fn without_the_look_of_last_blanks(mut self) -> Self {
        for last in self.rows.iter_mut().filter_map(|row| row.last_mut()).filter(|last| last.0 == " ") {
            last.1 = Style::default();
        }
        self
    }

    /// Text alone, for an emulator that keeps other looks.
    fn text(self) -> (Vec<String>, (usize, usize)) {
        let line = |row: &Vec<(String, Style)>| {
            row.iter().map(|cell| cell.0.as_str()).collect::<String>().trim_end().to_owned()
        };
        (self.rows.iter().map(line).collect(), self.cursor)
    }
}

fn ours(cols: u16, rows: u16, bytes: &[u8]) -> Picture {
    let mut screen = Screen::new(cols, rows);
    screen.feed(bytes);
    let row = |at| {
        let mut cells: Vec<(String, Style)> = Vec::new();
        for run in screen.row_runs(at) {
            for ch in run.text.chars() {
                match (ch.width(), cells.last_mut()) {
                    (Some(0), Some(last)) => last.0.push(ch),
                    (width, _) => {
                        cells.push((ch.to_string(), run.style));
                        cells.extend((1..width.unwrap_or(1)).map(|_| (String::new(), run.style)));
                    }
                }
            }
        }
        cells.resize(usize::from(cols), (" ".to_owned(), Style::default()));
        cells
    };
    let cursor = screen.cursor();
    Picture { rows: (0..rows).map(row).collect(), cursor: (usize::from(cursor.col), usize::from(cursor.row)) }
}

fn alacritty(cols: u16, rows: u16, bytes: &[u8]) -> Picture {
    seen(&alacritty_after(cols, rows, bytes), cols, rows)
}

fn alacritty_after(cols: u16, rows: u16, bytes: &[u8]) -> Term<VoidListener> {
    let config = Config { scrolling_history: 0, kitty_keyboard: true, ..Config::default() };
    let mut terminal = Term::new(config, &Cells(cols, rows), VoidListener);
    let mut parser: Processor = Processor::new();
    parser.advance(&mut terminal, bytes);
    terminal
}

fn seen(terminal: &Term<VoidListener>, cols: u16, rows: u16) -> Picture {
    let grid = terminal.grid();
    let row = |at: u16| {
        let cell = |col: u16| {
            let cell = &grid[Line(i32::from(at))][Column(usize::from(col))];
            let mut text = String::new();
            if !cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
                // A tab leaves itself behind in alacritty, for copying.
                text.push(if cell.c == '\t' { ' ' } else { cell.c });
                text.extend(cell.zerowidth().unwrap_or_default());
            }
            (text, style(cell))
        };
        (0..cols).map(cell).collect()
    };
    let point = grid.cursor.point;
    Picture {
        rows: (0..rows).map(row).collect(),
        cursor: (point.column.0, usize::try_from(point.line.0).unwrap()),
    }
}

fn style(cell: &alacritty_terminal::term::cell::Cell) -> Style {
    let color = |color: TheirColor| match color {
        TheirColor::Named(NamedColor::Foreground | NamedColor::Background) => Color::Default,
        TheirColor::Named(name) => Color::Indexed(name as u8),
        TheirColor::Indexed(index) => Color::Indexed(index),
        TheirColor::Spec(rgb) => Color::Rgb(rgb.r, rgb.g, rgb.b),
    };
    let mut style = Style::default();
    style.fg = color(cell.fg);
    style.bg = color(cell.bg);
    style.underline_color = cell.underline_color().map_or(Color::Default, color);
    let kinds = [
        (Flags::UNDERLINE, Underline::Single),
        (Flags::DOUBLE_UNDERLINE, Underline::Double),
        (Flags::UNDERCURL, Underline::Curly),
        (Flags::DOTTED_UNDERLINE, Underline::Dotted),
        (Flags::DASHED_UNDERLINE, Underline::Dashed),
    ];
    style.underline = kinds
        .into_iter()
        .find(|(flag, _)| cell.flags.contains(*flag))
        .map_or(Underline::None, |(_, kind)| kind);
    let attrs = [
        (Flags::BOLD, Attr::Bold),
        (Flags::DIM, Attr::Dim),
        (Flags::ITALIC, Attr::Italic),
        (Flags::INVERSE, Attr::Reverse),
        (Flags::HIDDEN, Attr::Hidden),
        (Flags::STRIKEOUT, Attr::Strike),
    ];
    attrs.into_iter().filter(|(flag, _)| cell.flags.contains(*flag)).for_each(|(_, attr)| style.add(attr));
    style
}

fn avt(cols: u16, rows: u16, bytes: &[u8]) -> (Vec<String>, (usize, usize)) {
    let mut terminal = avt::Terminal::new(usize::from(cols), usize::from(rows)).unwrap();
    terminal.feed(std::str::from_utf8(bytes).unwrap());
    let lines = terminal.screen().visible_lines().map(|line| line.text().trim_end().to_owned()).collect();
    let cursor = terminal.cursor();
    (lines, (cursor.col.min(usize::from(cols) - 1), cursor.row))
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![2 => Just(String::new()), 6 => (0u32..9).prop_map(|n| n.to_string()),
        1 => Just("99".to_owned())]
}

fn moved() -> impl Strategy<Value = String> {
    (1u32..7, 1u32..13).prop_map(|(row, col)| format!("\x1b[{row};{col}H"))
}

fn look() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        4 => prop::sample::select(vec!["", "0", "1", "2", "3", "4", "7", "8", "9", "22", "23", "24", "27",
            "28", "29"])
            .prop_map(str::to_owned),
        2 => prop::sample::select(vec!["4:0", "4:2", "4:3", "4:4", "4:5", "59", "58:5:3",
            "58:2::1:2:3"]).prop_map(str::to_owned),
        3 => (0u32..8, prop::sample::select(vec![30u32, 40, 90, 100]))
            .prop_map(|(n, base)| (base + n).to_string()),
        1 => prop::sample::select(vec!["39", "49"]).prop_map(str::to_owned),
        2 => (0u32..256, prop::sample::select(vec![38u32, 48]))
            .prop_map(|(n, which)| format!("{which};5;{n}")),
        2 => (0u32..256, prop::sample::select(vec![38u32, 48]))
            .prop_map(|(n, which)| format!("{which};2;{n};7;0")),
    ];
    vec(one, 1..4).prop_map(|all| format!("\x1b[{}m", all.join(";")))
}

fn narrow() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ -~]{1,16}", 1 => prop::sample::select(vec!["é", "─│╭", "❯ ", "✻",
        "ё"]).prop_map(str::to_owned)]
}

/// Margins, what scrolls inside them, and none again.
fn margins() -> impl Strategy<Value = String> {
    let inside = prop::sample::select(vec![
        "\n", "\n", "\x1bM", "\x1bD", "\x1b[L\r", "\x1b[2M\r", "\x1b[S", "\x1b[2T", "a\r", "b\r\n",
    ]);
    let margins = prop::sample::select(vec!["\x1b[2;4r", "\x1b[1;3r", "\x1b[3;4r"]);
    (margins, moved(), vec(inside, 0..9))
        .prop_map(|(margins, place, inside)| format!("{margins}{place}{}\x1b[r", inside.concat()))
}

fn wide() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["漢字", "한글", "かな", "e\u{301}", "x漢y", "🦀"]).prop_map(str::to_owned)
}

/// What all three do alike.
fn common() -> impl Strategy<Value = String> {
    let after_a_move = (number(), prop::sample::select(vec!['K', 'J', 'X', '@', 'L', 'M'])).prop_filter(
        "unknown extents",
        |(n, action)| match action {
            'K' => ["", "0", "1", "2"].contains(&n.as_str()),
            'J' => ["", "0", "2"].contains(&n.as_str()),
            _ => true,
        },
    );
    prop_oneof![
        8 => narrow(),
        3 => look(),
        3 => moved(),
        3 => (moved(), after_a_move).prop_map(|(place, (n, action))| format!("{place}\x1b[{n}{action}{}",
            if "LM".contains(action) { "\r" } else { "" })),
        3 => (number(), prop::sample::select(vec!['A', 'B', 'C', 'D', 'E', 'F', 'G', 'd', 'S', 'T']))
            .prop_map(|(n, action)| format!("\x1b[{n}{action}")),
        4 => prop::sample::select(vec!["\r\n", "\r\n", "\r"]).prop_map(str::to_owned),
        2 => (moved(), prop::sample::select(vec!["\n", "\t", "\x08", "\x1b[P", "\x1bM", "\x1bD",
            "\x1bE"])).prop_map(|(place, what)| place + what),
        1 => prop::sample::select(vec!["\x1b[?2026h", "\x1b[?2026l", "\x1b[?25l", "\x1b[?2004h",
            "\x1b]0;t\x07"])
            .prop_map(str::to_owned),
    ]
}

/// What happens at the last column without autowrap and when it is back, REP over rows, and a cursor saved
/// with numbers. Only xterm, alacritty and hopty are of one mind there.
fn edges() -> impl Strategy<Value = String> {
    let saved = (moved(), "[a-z]{0,9}", number())
        .prop_map(|(place, text, n)| format!("{place}\x1b[{n};5s\x1b[m{text}\r\x1b[u"));
    prop_oneof![
        2 => (moved(), "[a-z]{1,20}", narrow())
            .prop_map(|(place, text, then)| format!("{place}\x1b[?7l{text}\x1b[?7h{then}")),
        1 => (moved(), "é{1,16}", narrow())
            .prop_map(|(place, text, then)| format!("{place}\x1b[?7l{text}\x1b[?7h{then}")),
        2 => ("[a-z]", 0u32..60).prop_map(|(ch, n)| format!("{ch}\x1b[{n}b")),
        1 => saved,
    ]
}

/// Text of all widths, in which no wide character is cut.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => wide(),
        4 => narrow(),
        2 => look(),
        3 => Just("\r\n".to_owned()),
        2 => (1u32..7).prop_map(|row| format!("\x1b[{row}H\x1b[2K")),
    ]
}

fn soup(piece: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    // A frame that is held back must come out before pictures are compared.
    vec(piece, 0..60).prop_map(|pieces| (pieces.concat() + "\x1b[?2026l").into_bytes())
}

/// Switches, stacks, saved cursors and screens, of which alacritty thinks as xterm does.
fn switches() -> impl Strategy<Value = String> {
    let modes = prop::sample::select(vec![1, 25, 1004, 1007, 2004]);
    prop_oneof![
        6 => (modes, prop::sample::select(vec!['h', 'h', 'l']))
            .prop_map(|(mode, on)| format!("\x1b[?{mode}{on}")),
        3 => prop::sample::select(vec![
            "\x1b7", "\x1b8", "\x1b(0", "\x1b(B", "\x1b)0", "\x1b=", "\x1b>", "\x1b[4h", "\x1b[4l",
            "\x1b[?7l", "\x1b[?7h",
            "\x1b[2 q", "\x1b[5 q", "\x1b[>1u", "\x1b[>5u", "\x1b[<u", "\x1b[3g", "\x1bH", "\x1b[g",
            "\x1b[?1000h", "\x1b[?1002h", "\x1b[?1003h", "\x1b[?1005h", "\x1b[?1006h",
            "\x1b[?1003l\x1b[?1002l\x1b[?1000l", "\x1b[?1006l\x1b[?1005l"
        ]).prop_map(str::to_owned),
    ]
}

/// One screen, or both, either of which is shown last.
fn on_both_screens() -> impl Strategy<Value = Vec<u8>> {
    let soup = || soup(prop_oneof![8 => common(), 4 => switches(), 1 => margins(), 2 => edges()]);
    prop_oneof![
        soup(),
        (soup(), soup()).prop_map(|(one, two)| [&one, &b"\x1b[?1049h"[..], &two].concat()),
        (soup(), soup(), soup()).prop_map(|(one, two, three)| [
            &one,
            &b"\x1b[?1049h"[..],
            &two,
            b"\x1b[?1049l",
            &three
        ]
        .concat()),
    ]
}

/// What the dump makes of a fresh terminal must be what the bytes made of one. Moves come last, so that the
/// cursor and a scroll are looked at, too.
fn same_after_dump(cols: u16, rows: u16, bytes: &[u8]) {
    let mut screen = Screen::new(cols, rows);
    screen.feed(bytes);
    let dump = screen.dump();
    let dump = [dump.screen, dump.unfinished].concat();
    let mut fresh = Screen::new(cols, rows);
    fresh.feed(&dump);
    assert!(fresh == screen, "{}x{} {}", cols, rows, bytes.escape_ascii());
    for then in ["", "x", "\ty", "\x1b[H\x1b[B*", "\x1b[?1049lz", "\x1b8l", "\x0eq\x0fq", "\x1b[99B\n\n-"] {
        let all = |bytes: &[u8]| alacritty_after(cols, rows, &[bytes, then.as_bytes()].concat());
        let (one, other) = (all(bytes), all(&dump));
        let why = || format!("{cols}x{rows} {} -> {} + {then:?}", bytes.escape_ascii(), dump.escape_ascii());
        assert_eq!(seen(&one, cols, rows), seen(&other, cols, rows), "{}", why());
        assert_eq!((one.mode(), one.cursor_style()), (other.mode(), other.cursor_style()), "{}", why());
        assert_eq!(one.grid().cursor.input_needs_wrap, other.grid().cursor.input_needs_wrap, "{}", why());
    }
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_soup_looks_as_in_alacritty(bytes in soup(prop_oneof![12 => common(), 1 => margins(), 2 => edges()]),
        cols in 2u16..14, rows in 4u16..8) {
        prop_assert_eq!(ours(cols, rows, &bytes), alacritty(cols, rows, &bytes), "{}x{} {}", cols, rows,
            bytes.escape_ascii());
    }

    #[test]
    fn wide_text_looks_as_in_alacritty(bytes in soup(text()), cols in 2u16..14, rows in 4u16..8) {
        let [ours, theirs] = [ours, alacritty].map(|model| model(cols, rows,
            &bytes).without_the_look_of_last_blanks());
        prop_assert_eq!(ours, theirs, "{}x{} {}", cols, rows, bytes.escape_ascii());
    }

    #[test]
    fn a_dump_is_for_alacritty_what_the_soup_was(bytes in on_both_screens(), cols in 2u16..14,
        rows in 4u16..8) {
        // Where the two disagree about the bytes of a screen, there is nothing to compare.
        let ends = bytes.windows(7).enumerate().filter(|(_, part)| part == b"\x1b[?1049")
            .map(|(at, _)| at).chain([bytes.len()]);
        for end in ends {
            prop_assume!(ours(cols, rows, &bytes[..end]) == alacritty(cols, rows, &bytes[..end]));
        }
        same_after_dump(cols, rows, &bytes);
    }

    #[test]
    fn a_dump_reads_in_avt_as_the_soup_did(bytes in soup(common()), cols in 2u16..14, rows in 4u16..8) {
        let mut screen = Screen::new(cols, rows);
        screen.feed(&bytes);
        prop_assert_eq!(avt(cols, rows, &screen.dump().screen), avt(cols, rows, &bytes), "{}x{} {}", cols,
            rows, bytes.escape_ascii());
    }

    #[test]
    fn a_soup_reads_as_in_avt(bytes in soup(common()), cols in 2u16..14, rows in 4u16..8) {
        prop_assert_eq!(ours(cols, rows, &bytes).text(), avt(cols, rows, &bytes), "{}x{} {}", cols, rows,
            bytes.escape_ascii());
    }
}

#[test]
fn recorded_screens_look_as_in_the_others() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/screens");
    let versions =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = versions.flat_map(|path| fs::read_dir(path).unwrap()).map(|entry| entry.unwrap().path());
    let mut seen = 0;
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "ansi")) {
        let text = fs::read_to_string(&file).unwrap().replace('\n', "\r\n");
        for (cols, rows) in [(120, 60), (80, 24), (33, 9)] {
            let picture = ours(cols, rows, text.as_bytes());
            assert_eq!(
                picture,
                alacritty(cols, rows, text.as_bytes()),
                "{} at {cols}x{rows}",
                file.display()
            );
            let mut screen = Screen::new(cols, rows);
            screen.feed(text.as_bytes());
            let dump = screen.dump().screen;
            assert_eq!(alacritty(cols, rows, &dump), picture, "{} at {cols}x{rows}", file.display());
            assert_eq!(
                avt(cols, rows, &dump),
                avt(cols, rows, text.as_bytes()),
                "{} at {cols}x{rows}",
                file.display()
            );
            assert_eq!(
                picture.text(),
                avt(cols, rows, text.as_bytes()),
                "{} at {cols}x{rows}",
                file.display()
            );
        }
        seen += 1;
    }
    assert!(seen > 100, "only {seen} recordings");
}
