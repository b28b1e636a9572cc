//! Laws over random input (`inputs.rs`).

use proptest::collection::vec;
use proptest::prelude::*;

use super::inputs::{flood, input, size};
use crate::screen::display::WORTH;
use crate::screen::parser::{Decoded, decode};
use crate::screen::terminal_state::TerminalState;
use crate::screen::{SIDE_MAX, Screen, Style, StyledRun, TerminalBefore};

/// How many lines of scrollback the screens keep.
pub const KEPT: usize = 7;

/// Queries before anything else, and a terminal's answers: paste and cursor keys are on, wrapping is off, a
/// keyboard stack has flags, and so on.
const ASKING: &[u8] =
    b"\x1b[?2004$p\x1b[?1$p\x1b[?7$p\x1b[?69$p\x1b[?u\x1b[?4m\x1bP$q q\x1b\\\x1b]11;?\x07\x1b]4;1;?\x07";
const ANSWERS: &[u8] = b"\x1b[?2004;1$y\x1b[?1;1$y\x1b[?7;2$y\x1b[?69;1$y\x1b[?5u\x1b[>4;1m\x1bP1$r5 \
      q\x1b\\\x1b]11;rgb:1/2/3\x07\x1b]4;1;rgb:1/1/1\x07";

fn different_looks(pair: &[StyledRun]) -> bool {
    pair[0].style != pair[1].style || pair[0].link != pair[1].link
}

/// Checks what holds for every screen at every time.
pub fn check(screen: &Screen) {
    let (cols, rows) = screen.size();
    assert!((1..=SIDE_MAX).contains(&cols) && (1..=SIDE_MAX).contains(&rows));
    let cursor = screen.cursor();
    assert!(cursor.col < cols && cursor.row < rows);
    assert_eq!(screen.lines().len(), usize::from(rows));
    for (at, line) in screen.lines().iter().enumerate() {
        assert!(line.chars().all(|ch| !ch.is_control()), "{line:?}");
        let runs = screen.row_runs(at as u16);
        let joined: String = runs.iter().map(|run| run.text.as_str()).collect();
        assert_eq!(joined.trim_end_matches(' '), line);
        assert!(runs.windows(2).all(different_looks));
    }
    assert!(screen.history_len() <= KEPT);
    assert!((0..screen.history_len()).all(|at| screen.history_row_runs(at).windows(2).all(different_looks)));
    assert!(screen.title().len() <= 1024);
    let (terminal, region) = (&screen.terminal, screen.terminal.display.position.margins);
    assert!(region.top <= region.bottom && region.bottom < usize::from(rows));
    assert!(region.left <= region.right && region.right < usize::from(cols));
    assert!(terminal.queries.len() <= 64);
    for page in [&terminal.display.buffers.active, &terminal.display.buffers.inactive] {
        page.grid.rows().iter().for_each(|row| row.check(usize::from(cols)));
        assert!(page.grid.is_unused() || page.grid.rows().len() == usize::from(rows));
    }
}

/// The default number of inputs for each law; `PROPTEST_CASES` sets another.
pub fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// The lines in which two things differ.
fn different(one: &impl std::fmt::Debug, other: &impl std::fmt::Debug) -> Vec<(String, String)> {
    let text = [format!("{one:#?}"), format!("{other:#?}")];
    text[0]
        .lines()
        .zip(text[1].lines())
        .filter(|(a, b)| a != b)
        .map(|(a, b)| (a.trim().to_owned(), b.trim().to_owned()))
        .take(12)
        .collect()
}

/// A line without invisible content: unstyled blanks at its end.
fn seen(mut runs: Vec<StyledRun>) -> Vec<StyledRun> {
    if let Some(last) = runs.last_mut().filter(|last| last.style == Style::default() && last.link.is_none()) {
        last.text.truncate(last.text.trim_end_matches(' ').len());
    }
    runs.retain(|run| !run.text.is_empty());
    runs
}

fn same_after_dump(screen: &Screen) -> Result<(), TestCaseError> {
    let dump = screen.dump();
    let (cols, rows) = screen.size();
    let mut fresh = Screen::with_history(cols, rows, KEPT);
    for part in [&dump.history, &dump.screen, &dump.unfinished] {
        prop_assert!(!part.contains(&0x07) || std::ptr::eq(part, &dump.unfinished));
        fresh.feed(part);
    }
    prop_assert!(fresh.terminal.queries.len() == 0);
    let mut expected = screen.terminal.clone();
    expected.before = TerminalBefore::default();
    drop(expected.queries.take());
    expected.display.modes.show_frames();
    let told = |terminal: &TerminalState| {
        let lines = (0..terminal.display.buffers.history.len())
            .filter_map(|at| terminal.display.buffers.history.line(at));
        lines.map(|line| (line.end, seen(line.runs(&terminal.display.links)))).collect::<Vec<_>>()
    };
    // With one column there is no room for a wide character.
    prop_assert!(
        cols == 1 || told(&fresh.terminal) == told(&expected),
        "{:?} {:?}",
        String::from_utf8_lossy(&dump.history),
        different(&told(&fresh.terminal), &told(&expected))
    );
    let mut made = fresh.terminal.clone();
    // Compared above: links have different numbers in each.
    expected.display.buffers.history.clear();
    made.display.buffers.history.clear();
    // A refused link is not opened again.
    expected.display.links.open = made.display.links.open;
    prop_assert!(
        made.is_same(&expected)
            && fresh.input == screen.input
            && fresh.unfinished_bytes.bytes() == screen.unfinished_bytes.bytes(),
        "{:?} {:?}",
        String::from_utf8_lossy(&[&dump.history[..], &dump.screen, &dump.unfinished].concat()),
        different(&made, &expected)
    );
    let again = fresh.dump();
    prop_assert!(cols == 1 || again == dump);
    Ok(())
}

/// Removes controls from the middle of characters. The parser drops controls in an OSC string, so that a
/// split character becomes complete; the stream parser had found it invalid before.
fn mend_torn(bytes: &mut Vec<u8>) {
    let mut at = 0;
    while at < bytes.len() {
        match decode(&bytes[at..]) {
            Decoded::Broken(len)
                if bytes.get(at + len).is_some_and(|byte| *byte < 0x20 && ![0x07, 0x1b].contains(byte)) =>
            {
                bytes.remove(at + len);
            }
            Decoded::Char(_, len) | Decoded::Broken(len) => at += len,
            Decoded::Cut => break,
        }
    }
}

/// Replaces single bytes of the C1 range, which the parser reads as controls, by other invalid bytes.
fn unlike_controls(bytes: &mut [u8]) {
    let mut at = 0;
    while at < bytes.len() {
        at += match decode(&bytes[at..]) {
            Decoded::Broken(1) => {
                bytes[at] |= 0xf8;
                1
            }
            Decoded::Char(_, len) | Decoded::Broken(len) => len,
            Decoded::Cut => break,
        }
    }
}

#[test]
fn an_empty_last_column_that_was_given_attributes_is_restored() {
    let mut screen = Screen::with_history(2, 3, KEPT);
    screen.feed("a漢\x1b[1;1;2;2;1$r".as_bytes());
    same_after_dump(&screen).unwrap();
}

#[test]
fn a_torn_character_in_a_title_is_none() {
    let mut screen = Screen::new(20, 1);
    screen.feed(b"\x1b]0;a\xe2\x00\x82\xacb\x07");
    assert_eq!(screen.title(), "a\u{fffd}\u{fffd}\u{fffd}b");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn input_may_be_cut_anywhere((cols, rows) in size(), bytes in input(),
        cuts in vec(any::<prop::sample::Index>(), 0..6)) {
        let mut whole = Screen::with_history(cols, rows, KEPT);
        whole.feed(&bytes);
        let mut single = Screen::with_history(cols, rows, KEPT);
        bytes.iter().for_each(|byte| single.feed(std::slice::from_ref(byte)));
        prop_assert!(whole == single, "byte by byte: {:?} against {:?}", whole, single);
        let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.sort_unstable();
        let mut pieces = Screen::with_history(cols, rows, KEPT);
        let mut from = 0;
        for to in places {
            pieces.feed(&bytes[from..to]);
            from = to;
        }
        pieces.feed(&bytes[from..]);
        prop_assert!(whole == pieces, "cut: {:?} against {:?}", whole, pieces);
    }

    #[test]
    fn the_short_way_leads_where_the_parser_leads((cols, rows) in size(), mut bytes in input()) {
        unlike_controls(&mut bytes);
        // The parser alone would carry out a command that is cancelled.
        if bytes.windows(2).any(|pair| pair == b"\x1b]" || pair == b"\x1bP") {
            bytes.retain(|byte| !matches!(byte, 0x18 | 0x1a));
            mend_torn(&mut bytes);
        }
        // The parser alone would end such a string in the middle of a character.
        if bytes.windows(2).any(|pair| pair == b"\x1bP") {
            bytes.retain(u8::is_ascii);
        }
        let mut short = Screen::with_history(cols, rows, KEPT);
        short.feed(&bytes);
        let mut long = Screen::with_history(cols, rows, KEPT);
        let mut parser = vte::Parser::<1024>::default();
        parser.advance(&mut long.terminal, &bytes);
        long.terminal.parser.clear_calls();
        (long.terminal.display.changed, long.terminal.undo_outdated) = (false, false);
        prop_assert!(short.terminal == long.terminal, "{:?} against {:?}", short, long);
    }

    #[test]
    fn what_is_skipped_leaves_no_trace((cols, rows) in size(), before in input(), bytes in flood()) {
        let mut skipped = Screen::with_history(cols, rows, KEPT);
        skipped.feed(&before);
        skipped.feed(&bytes);
        let mut written = Screen::with_history(cols, rows, KEPT);
        written.feed(&before);
        bytes.chunks(WORTH - 1).for_each(|piece| written.feed(piece));
        prop_assert!(skipped == written, "{:?} against {:?}", skipped, written);
        prop_assert_eq!(skipped.undo(), written.undo());
    }

    #[test]
    fn what_is_passed_over_leaves_no_trace((cols, rows) in size(), before in input(), bytes in flood(),
        resized in size()) {
        let mut skipped = Screen::with_history(cols, rows, KEPT);
        skipped.feed(&before);
        let from = skipped.skip(&bytes);
        skipped.feed(&bytes[from..]);
        let mut written = Screen::with_history(cols, rows, KEPT);
        written.feed(&before);
        bytes.chunks(WORTH - 1).for_each(|piece| written.feed(piece));
        prop_assert!(skipped == written, "{:?} against {:?}", skipped, written);
        prop_assert_eq!(skipped.undo(), written.undo());
        for screen in [&mut skipped, &mut written] {
            screen.resize(resized.0, resized.1);
        }
        prop_assert!(skipped == written, "resized: {:?} against {:?}", skipped, written);
    }

    #[test]
    fn nothing_panics_and_all_stays_in_bounds((cols, rows) in size(), steps in vec((input(), size()), 0..6)) {
        let mut screen = Screen::with_history(cols, rows, KEPT);
        for (bytes, (cols, rows)) in steps {
            screen.feed(&bytes);
            check(&screen);
            screen.resize(cols, rows);
            check(&screen);
        }
    }

    #[test]
    fn random_bytes_do_no_harm((cols, rows) in size(), bytes in vec(any::<u8>(), 0..600)) {
        let mut screen = Screen::with_history(cols, rows, KEPT);
        screen.feed(&bytes);
        check(&screen);
    }

    #[test]
    fn undo_leaves_nothing_to_undo((cols, rows) in size(), bytes in input(), (new_cols, new_rows) in size()) {
        let mut screen = Screen::new(cols, rows);
        screen.feed(&bytes);
        screen.feed(screen.ending());
        prop_assert!(screen.ending().is_empty());
        screen.resize(new_cols, new_rows);
        let before = screen.cursor();
        let (was_alternate, lines) = (screen.alternate(), screen.lines());
        let undo = screen.undo();
        screen.feed(&undo);
        prop_assert!(screen.undo().is_empty(), "{:?} then {:?}", String::from_utf8_lossy(&undo),
            String::from_utf8_lossy(&screen.undo()));
        // The previous state of these two is unknown.
        let left: Vec<String> = screen.modes().into_iter().filter(|mode| mode != "1007" && mode != "2027").collect();
        prop_assert!(!screen.alternate() && left.is_empty() && screen.cursor().visible);
        prop_assert_eq!((screen.keyboard_flags(), screen.modify_other_keys(), screen.title()), (0, 0, ""));
        if !was_alternate {
            prop_assert_eq!((screen.cursor().col, screen.cursor().row), (before.col, before.row));
            prop_assert_eq!(screen.lines(), lines);
        }
        check(&screen);
    }

    /// As in a terminal with many modes set before, which it reports when queried.
    #[test]
    fn what_is_known_is_found_again_and_then_there_is_nothing_to_undo(bytes in input(), more in input()) {
        let mut screen = Screen::new(10, 6);
        screen.feed(ASKING);
        screen.learn(ANSWERS);
        let former = screen.terminal_before().clone();
        screen.feed(&bytes);
        screen.learn(&more);
        screen.set_terminal_before(former);
        screen.feed(&more);
        screen.feed(screen.ending());
        let undo = screen.undo();
        screen.feed(&undo);
        prop_assert!(screen.undo().is_empty(), "{:?} then {:?}", String::from_utf8_lossy(&undo),
            String::from_utf8_lossy(&screen.undo()));
    }

    #[test]
    fn the_undo_changes_only_with_its_revision((cols, rows) in size(), steps in vec((input(), size()),
        0..6)) {
        let mut screen = Screen::new(cols, rows);
        for (bytes, (cols, rows)) in steps {
            for piece in bytes.chunks(3) {
                let before = (screen.undo_revision(), screen.undo());
                screen.feed(piece);
                prop_assert!(before.0 != screen.undo_revision() || before.1 == screen.undo(), "{:?}",
                    String::from_utf8_lossy(piece));
            }
            let before = (screen.undo_revision(), screen.undo());
            screen.resize(cols, rows);
            prop_assert!(before.0 != screen.undo_revision() || before.1 == screen.undo());
        }
    }

    /// Queries, and what is known of the terminal, are not part of the screen; a synchronized update is not
    /// resumed.
    #[test]
    fn a_dump_brings_a_fresh_screen_to_the_same_state((cols, rows) in size(), bytes in input(),
        (other_cols, other_rows) in size(), more in input()) {
        let mut screen = Screen::with_history(cols, rows, KEPT);
        screen.feed(&bytes);
        same_after_dump(&screen)?;
        screen.resize(other_cols, other_rows);
        same_after_dump(&screen)?;
        screen.feed(&more);
        same_after_dump(&screen)?;
    }

    #[test]
    fn a_resize_there_and_back_keeps_what_both_sizes_hold(bytes in input()) {
        let mut screen = Screen::new(10, 6);
        screen.feed(&bytes);
        let lines = screen.lines();
        screen.resize(30, 20);
        screen.resize(10, 6);
        prop_assert_eq!(screen.lines(), lines);
    }
}
