//! The history of the screen model and what a change of size does to it, against alacritty_terminal: the same
//! rows, from the oldest line of the history to the last one of the screen, with their colours.
//!
//! The two share them out differently between history and screen. Here a screen that is not full keeps its
//! first row when it grows, and empty rows below the cursor go first when it shrinks. So it is all rows that
//! are compared; and the cursor stands behind all text, because alacritty drops what is below it. Lines end
//! with a character: where blanks alone ran over, the row that they stand in is as empty as one that was
//! erased, and is kept here.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "support/cells.rs"]
mod cells;

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::{Color as TheirColor, NamedColor, Processor};
use cells::Cells;
use hopty::screen::{Color, Screen, StyledRun};
use proptest::collection::vec;
use proptest::prelude::*;
use unicode_width::UnicodeWidthChar;

/// More lines than there will be, so that nothing is lost in either.
const KEPT: usize = 4000;

/// Both models, fed and resized alike.
struct Both {
    ours: Screen,
    theirs: Term<VoidListener>,
    parser: Processor,
}

/// The characters of a row with their colours, blanks at the end left out.
type Row = Vec<(char, Color, Color)>;

fn trimmed(mut row: Row) -> Row {
    let blank = (' ', Color::Default, Color::Default);
    row.truncate(row.iter().rposition(|cell| *cell != blank).map_or(0, |last| last + 1));
    row
}

/// Without the empty rows at the end.
fn filled(mut rows: Vec<Row>) -> Vec<Row> {
    rows.truncate(rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1));
    rows
}

fn color(color: TheirColor) -> Color {
    match color {
        TheirColor::Named(NamedColor::Foreground | NamedColor::Background) => Color::Default,
        TheirColor::Named(name) => Color::Indexed(name as u8),
        TheirColor::Indexed(index) => Color::Indexed(index),
        TheirColor::Spec(rgb) => Color::Rgb(rgb.r, rgb.g, rgb.b),
    }
}

impl Both {
    fn new(cols: u16, rows: u16) -> Self {
        let config = Config { scrolling_history: KEPT, ..Config::default() };
        let theirs = Term::new(config, &Cells(cols, rows), VoidListener);
        Both { ours: Screen::with_history(cols, rows, KEPT), theirs, parser: Processor::new() }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.ours.feed(bytes);
        self.parser.advance(&mut self.theirs, bytes);
    }

    fn resize(&mut self, cols: u16, rows: u16) {
        self.ours.resize(cols, rows);
        self.theirs.resize(Cells(cols, rows));
    }

    fn our_rows(&self) -> Vec<Row> {
        let row = |runs: Vec<StyledRun>| {
            let cells =
                runs.iter().flat_map(|run| run.text.chars().map(|ch| (ch, run.style.fg, run.style.bg)));
            trimmed(cells.filter(|cell| cell.0.width() != Some(0)).collect())
        };
        let kept = (0..self.ours.history_len()).map(|at| row(self.ours.history_row_runs(at)));
        filled(kept.chain((0..self.ours.size().1).map(|at| row(self.ours.row_runs(at)))).collect())
    }

    fn their_rows(&self) -> Vec<Row> {
        let grid = self.theirs.grid();
        let row = |at: i32| {
            let cells = (0..grid.columns()).map(|col| &grid[Line(at)][Column(col)]);
            let shown = cells.filter(|cell| {
                !cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER)
            });
            trimmed(shown.map(|cell| (cell.c, color(cell.fg), color(cell.bg))).collect())
        };
        filled((grid.topmost_line().0..=grid.bottommost_line().0).map(row).collect())
    }
}

fn line() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        6 => "[ -~]{0,30}",
        2 => prop::sample::select(vec!["漢字", "語", "é─", "e\u{301}", "한글 x"]).prop_map(str::to_owned),
        1 => "[a-z]{60,200}",
    ];
    let look = prop::sample::select(vec![
        "", "", "\x1b[31m", "\x1b[1;92m", "\x1b[38;5;200m", "\x1b[38;2;1;2;3m", "\x1b[m",
    ]);
    vec((look, text), 0..4).prop_map(|parts| {
        let parts: String = parts.into_iter().map(|(look, text)| look.to_owned() + &text).collect();
        parts + "\x1b[m.\r\n"
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_scrolls_out_is_the_same(cols in 2u16..60, rows in 1u16..12, lines in vec(line(), 0..60)) {
        let mut both = Both::new(cols, rows);
        both.feed(lines.concat().as_bytes());
        prop_assert_eq!(both.our_rows(), both.their_rows());
        prop_assert_eq!(both.ours.history_len(), both.theirs.grid().history_size());
    }

    #[test]
    fn it_is_the_same_after_any_sizes(
        cols in 2u16..60, rows in 1u16..12, steps in vec((vec(line(), 0..20), 2u16..60, 1u16..12), 1..6)
    ) {
        let mut both = Both::new(cols, rows);
        for (lines, cols, rows) in steps {
            both.feed(lines.concat().as_bytes());
            both.resize(cols, rows);
            prop_assert_eq!(both.our_rows(), both.their_rows(), "{} {}", cols, rows);
        }
    }
}

/// What clears, and what leaves in a region that begins at the top.
#[test]
fn both_keep_and_clear_the_same() {
    for bytes in [
        "a\r\nb\r\nc\r\nd\r\ne\x1b[3J",
        "a\r\nb\r\nc\r\nd\r\ne\x1bcx",
        "a\r\nb\r\nc\r\nd\x1b[1;2r\x1b[2H\n\n",
        "a\r\nb\r\nc\x1b[2S",
        "a\r\nb\x1b[?1049h\n\n\n\n",
    ] {
        let mut both = Both::new(10, 3);
        both.feed(bytes.as_bytes());
        assert_eq!(both.ours.history_len(), both.theirs.grid().history_size(), "{bytes:?}");
        both.feed(b"\x1b[?1049l");
        assert_eq!(both.our_rows(), both.their_rows(), "{bytes:?}");
    }
}
