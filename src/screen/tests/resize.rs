//! Resizing, in examples and as laws over random input.

use proptest::collection::vec;
use proptest::prelude::*;

use super::inputs::{input, size};
use super::laws::{KEPT, check, config};
use crate::screen::Screen;
use crate::screen::grid::{LineEnd, width};

/// Scrollback and screen as text, with wrapped lines joined, unless the continuation was erased; without
/// blanks at line ends and empty lines at the end.
fn paragraphs(screen: &Screen) -> Vec<String> {
    let text = |runs: Vec<crate::screen::StyledRun>| runs.into_iter().map(|run| run.text).collect::<String>();
    let kept = (0..screen.history_len()).map(|at| {
        (text(screen.history_row_runs(at)), screen.terminal.display.buffers.history.line(at).unwrap().end)
    });
    let shown = screen.terminal.display.buffers.active.grid.rows().iter().zip(0..).map(|(row, at)| {
        let mut text = text(screen.row_runs(at));
        match (row.end(), row.cols() - row.written().len()) {
            (LineEnd::Wrap, blanks) => text.push_str(&" ".repeat(blanks)),
            (LineEnd::Gap, 0) => drop(text.pop()),
            (LineEnd::Gap, blanks) => text.push_str(&" ".repeat(blanks - 1)),
            _ => {}
        }
        (text, row.end())
    });
    let (mut joined, mut open, mut before) = (Vec::new(), String::new(), LineEnd::Break);
    for (text, end) in kept.chain(shown) {
        if before == LineEnd::Break || text.is_empty() {
            joined.push(std::mem::take(&mut open));
        } else if before == LineEnd::Gap && text.chars().next().and_then(width) != Some(2) {
            open.push(' ');
        }
        open.push_str(&text);
        before = end;
    }
    joined.push(open);
    joined.iter_mut().for_each(|line| line.truncate(line.trim_end_matches(' ').len()));
    joined.truncate(joined.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1));
    joined.split_off(1.min(joined.len()))
}

fn history(screen: &Screen) -> Vec<String> {
    (0..screen.history_len())
        .map(|at| screen.history_row_runs(at).into_iter().map(|run| run.text).collect())
        .collect()
}

fn place(screen: &Screen) -> (u16, u16) {
    (screen.cursor().col, screen.cursor().row)
}

fn screen(cols: u16, rows: u16, bytes: &str) -> Screen {
    let mut screen = Screen::with_history(cols, rows, 100);
    screen.feed(bytes.as_bytes());
    screen
}

#[test]
fn what_ran_over_is_joined_and_cut_anew() {
    let mut screen = screen(6, 3, "abcdefghij\r\nxy");
    screen.resize(4, 4);
    assert_eq!(screen.lines(), ["abcd", "efgh", "ij", "xy"]);
    assert_eq!(place(&screen), (2, 3));
    screen.resize(20, 4);
    assert_eq!(screen.lines(), ["abcdefghij", "xy", "", ""]);
    assert_eq!(place(&screen), (2, 1));
}

#[test]
fn a_full_screen_keeps_its_end_and_another_its_start() {
    let mut full = screen(6, 3, "1\r\n2\r\n3\r\n4\r\nabcdef");
    full.resize(3, 3);
    assert_eq!(
        (history(&full), full.lines()),
        (["1", "2", "3"].map(str::to_owned).to_vec(), ["4", "abc", "def"].map(str::to_owned).to_vec())
    );
    assert_eq!(full.history_total(), 3);
    full.resize(6, 3);
    assert_eq!((full.history_len(), full.history_total(), full.lines()[0].as_str()), (2, 2, "3"));
    full.resize(6, 5);
    assert_eq!((full.history_len(), full.history_total(), full.lines()[0].as_str()), (0, 0, "1"));
    let mut cleared = screen(6, 3, "1\r\n2\r\n3\r\n4\r\n5\x1b[2J\x1b[Habcdef");
    for size in [(5, 3), (9, 3), (9, 5), (9, 2)] {
        cleared.resize(size.0, size.1);
        assert_eq!((cleared.history_len(), cleared.lines()[0].starts_with("abcde")), (2, true), "{size:?}");
    }
}

#[test]
fn empty_rows_below_go_first_and_the_cursor_stays_on_the_screen() {
    let mut screen = screen(6, 5, "1\r\n2\r\n3\x1b[2;1H");
    screen.resize(6, 3);
    assert_eq!(
        (screen.history_len(), screen.lines(), place(&screen)),
        (0, ["1", "2", "3"].map(str::to_owned).to_vec(), (0, 1))
    );
    screen.resize(6, 2);
    assert_eq!(
        (history(&screen), screen.lines(), place(&screen)),
        (vec!["1".into()], vec!["2".into(), "3".into()], (0, 0))
    );
    screen.resize(6, 1);
    assert_eq!(
        (history(&screen), screen.lines(), place(&screen)),
        (vec!["1".into()], vec!["2".into()], (0, 0))
    );
}

#[test]
fn the_cursor_stays_on_its_character() {
    for (cols, expected) in [(3, (1, 3)), (4, (2, 2)), (5, (0, 2)), (11, (10, 0)), (10, (0, 1))] {
        let mut screen = screen(20, 6, "abcdefghijKlm\x1b[1;11H");
        screen.resize(cols, 6);
        assert_eq!(place(&screen), expected, "{cols}");
        screen.feed(b"*");
        assert!(paragraphs(&screen)[0].starts_with("abcdefghij*"));
    }
}

#[test]
fn a_cursor_that_waits_to_wrap_goes_on_where_the_text_ends() {
    for cols in 2..12 {
        let mut screen = screen(6, 4, "abcdef");
        screen.resize(cols, 4);
        screen.feed(b"gh");
        assert_eq!(paragraphs(&screen), ["abcdefgh"], "{cols}");
    }
}

#[test]
fn a_wide_character_is_not_parted_and_its_gap_is_not_text() {
    let mut screen = screen(5, 4, "ab漢字語x");
    assert_eq!(screen.lines()[..2], ["ab漢", "字語x"]);
    screen.resize(4, 4);
    assert_eq!(screen.lines()[..3], ["ab漢", "字語", "x"]);
    screen.resize(9, 4);
    assert_eq!(screen.lines()[..2], ["ab漢字語x", ""]);
    screen.resize(1, 4);
    screen.resize(5, 4);
    assert_eq!(paragraphs(&screen)[0].chars().take(2).collect::<String>(), "ab");
}

#[test]
fn a_gap_that_is_followed_by_something_else_is_a_blank() {
    let mut screen = screen(3, 3, "ab漢\x1b[2;1Hxy");
    screen.resize(9, 3);
    assert_eq!(screen.lines()[0], "ab xy");
    screen.resize(3, 3);
    assert_eq!(screen.lines(), ["ab", "xy", ""]);
}

#[test]
fn a_line_written_over_up_to_its_end_does_not_go_on() {
    let mut screen = screen(4, 4, "abcdefgh\x1b[HABCD\r\nEF");
    screen.resize(9, 4);
    assert_eq!(screen.lines(), ["ABCD", "EFgh", "", ""]);
}

#[test]
fn the_primary_screen_is_cut_anew_while_the_other_is_shown() {
    let mut screen = screen(6, 3, "abcdefgh\x1b[?1049h\x1b[HABCDEF\x1b[1;6H");
    screen.resize(4, 3);
    assert_eq!((screen.lines()[0].as_str(), place(&screen)), ("ABCD", (3, 0)));
    screen.resize(8, 3);
    assert_eq!(screen.lines()[0], "ABCD");
    screen.feed(b"\x1b[?1049l");
    assert_eq!((screen.lines()[0].as_str(), place(&screen)), ("abcdefgh", (7, 0)));
}

#[test]
fn looks_and_marks_survive() {
    let mut screen = screen(20, 2, "plain \x1b[1;31mbold e\u{301}漢\x1b[41m  \x1b[m\r\n\r\n");
    let before = screen.history_row_runs(0);
    assert_eq!(before.len(), 3);
    for cols in [3, 7, 2, 20] {
        screen.resize(cols, 2);
    }
    screen.resize(20, 1);
    assert_eq!(screen.history_row_runs(0), before);
}

#[test]
fn a_narrow_moment_loses_nothing_and_tells_no_more_than_the_limit() {
    let mut screen = Screen::with_history(40, 2, 20);
    (0..30).for_each(|at| screen.feed(format!("line {at} of a text that is long\r\n").as_bytes()));
    let before = paragraphs(&screen);
    screen.resize(3, 2);
    assert_eq!(screen.history_len(), 20);
    screen.resize(40, 2);
    assert_eq!(paragraphs(&screen), before);
    screen.resize(3, 2);
    screen.feed(b"\r\n\r\n\r\n");
    assert_eq!(screen.history_len(), 20);
    screen.resize(40, 2);
    assert!(screen.history_len() < 5);
}

#[test]
fn memory_is_bounded_for_lines_where_each_cell_has_a_look_and_marks() {
    let mut screen = Screen::with_history(1000, 2, 10);
    let cell = |at: usize| format!("\x1b[38;2;{};9;9me{}", at % 250, "\u{301}".repeat(9));
    let line: String = (0..1000).map(cell).collect();
    (0..20).for_each(|_| screen.feed(line.as_bytes()));
    let room = screen
        .terminal
        .display
        .buffers
        .history
        .clone()
        .take_lines()
        .iter()
        .map(crate::screen::grid::HistoryLine::size)
        .sum::<usize>();
    assert!(room <= 10 * 4096 && screen.history_len() == 1, "{room} {}", screen.history_len());
}

/// The primary screen, with the cursor in an empty last row: nothing is below it that could be lost for lack
/// of room.
const LAST: &[u8] = b"\x18\x1b[?1049l\x1b[?47l\x1b[?69l\x1b[?6l\x1b[r\x1b[m\x1b[999H\r\n";

fn large() -> impl Strategy<Value = (u16, u16)> {
    prop_oneof![4 => size(), 1 => (1u16..=1000, 1u16..=500)]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_size_does_harm((cols, rows) in large(), steps in vec((input(), large()), 0..6)) {
        let mut screen = Screen::with_history(cols, rows, KEPT);
        for (bytes, (cols, rows)) in steps {
            screen.feed(&bytes);
            screen.resize(cols, rows);
            check(&screen);
        }
        screen.feed(b"\x1b[?1049l\x1b[?47l");
        check(&screen);
    }

    #[test]
    fn a_storm_of_sizes_loses_no_text((cols, rows) in size(), bytes in input(), sizes in vec((2u16..100,
        1u16..40), 1..20)) {
        let mut screen = Screen::with_history(cols.max(2), rows, 5000);
        screen.feed(&bytes);
        screen.feed(LAST);
        let before = paragraphs(&screen);
        for (cols, rows) in sizes {
            screen.resize(cols, rows);
            prop_assert_eq!(paragraphs(&screen), before.clone(), "{} {}", cols, rows);
        }
    }

    #[test]
    fn a_resize_there_and_back_brings_the_same_rows((cols, rows) in size(), bytes in input(),
        (other_cols, other_rows) in size()) {
        let mut screen = Screen::with_history(cols, rows, 5000);
        screen.feed(&bytes);
        screen.feed(LAST);
        // Blanks that wrap into nothing are as empty as others.
        let blank = |text: &str| text.trim_end_matches(' ').is_empty();
        let above = history(&screen).iter().enumerate()
            .any(|(at, text)| blank(text) && screen.history_row_wrapped(at));
        prop_assume!(!above && !screen.lines().iter().enumerate()
            .any(|(at, text)| blank(text) && screen.row_wrapped(at as u16)));
        let (cols, rows) = screen.size();
        let all = |screen: &Screen| [history(screen), screen.lines()].concat();
        let (before, cursor) = (all(&screen), place(&screen));
        screen.resize(other_cols.max(2), other_rows);
        screen.resize(cols, rows);
        let trimmed = |lines: Vec<String>| lines.into_iter().map(|line| line.trim_end_matches(' ').to_owned()).collect::<Vec<_>>();
        prop_assert_eq!(trimmed(all(&screen)), trimmed(before));
        prop_assert_eq!(place(&screen), cursor);
    }
}
