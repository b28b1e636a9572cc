//! Links and the working directory: setting, keeping and limits.

use crate::screen::{PictureLines, Screen, StyledRun};

fn screen(bytes: &str) -> Screen {
    let mut screen = Screen::with_history(8, 3, 9);
    screen.feed(bytes.as_bytes());
    screen
}

fn told(runs: &[StyledRun]) -> String {
    let link = |run: &StyledRun| {
        run.link.as_ref().map(|link| format!("<{} {}>", link.id().unwrap_or("-"), link.uri()))
    };
    runs.iter().map(|run| link(run).unwrap_or_default() + &run.text).collect::<Vec<_>>().join("|")
}

fn row(bytes: &str) -> String {
    told(&screen(bytes).row_runs(0))
}

/// A screen that was fed with the dump.
fn dumped(screen: &Screen) -> Screen {
    let (cols, rows) = screen.size();
    let mut fresh = Screen::with_history(cols, rows, 9);
    let dump = screen.dump();
    [&dump.history, &dump.screen, &dump.unfinished].into_iter().for_each(|part| fresh.feed(part));
    fresh
}

#[test]
fn text_leads_where_it_was_written_to_lead() {
    assert_eq!(
        row("a\x1b]8;;http://x/\x07b\x1b]8;id=i:k=v;http://x/?a;b\x1b\\c\x1b]8;;\x1b\\d"),
        "a|<- http://x/>b|<i http://x/?a;b>c|d"
    );
    assert_eq!(row("\x1b]8;;u\x07\x1b[1ma\x1b[mb\x1b[0;4mc"), "<- u>a|<- u>b|<- u>c");
    assert_eq!(row("\x1b]8;;u\x07a\x1b]8;;u\x07b\x1b]8;id=i;u\x07c"), "<- u>ab|<i u>c");
    assert_eq!(row("\x1b]8;;u\x07漢e\u{301}\x1b[2b"), "<- u>漢e\u{301}ee");
}

#[test]
fn what_is_erased_or_makes_room_leads_nowhere() {
    for erase in ["\x1b[2J", "\x1b[K", "\x1b[3X", "\x1b[3P", "\x1b[M", "\x1b[L", "\x1b[T", "\x1b#8"] {
        let screen = screen(&format!("\x1b]8;;u\x07abc\r{erase}"));
        assert!(screen.row_runs(0).iter().all(|run| run.link.is_none()), "{erase:?}");
    }
    assert_eq!(row("\x1b]8;;u\x07abc\r\x1b[2@"), "  |<- u>abc");
    assert_eq!(row("\x1b[41m\x1b]8;;u\x07a\x1b[K").matches('<').count(), 1);
}

#[test]
fn a_saved_cursor_has_its_link_and_a_reset_has_none() {
    assert_eq!(row("\x1b]8;;u\x07\x1b7\x1b]8;;\x07a\x1b8\x1b[Cb"), "a|<- u>b");
    assert_eq!(row("\x1b7\x1b]8;;u\x07a\x1b8\x1b[Cb"), "<- u>a|b");
    for reset in ["\x1bc", "\x1b[!p"] {
        assert_eq!(row(&format!("\x1b]8;;u\x07{reset}b")), "b", "{reset:?}");
    }
    assert_eq!(screen("\x1b]8;;u\x07ab\x1bc"), Screen::with_history(8, 3, 9));
}

#[test]
fn a_link_that_is_open_in_some_terminal_is_closed_when_the_child_dies() {
    for open in [
        "\x1b]8;;u\x07",
        "\x1b]8;;u\x07\x1b7\x1b]8;;\x07\x1b8",
        "\x1b7\x1b]8;;u\x07\x1b8",
        "\x1b]8;;u\x07\x1b[!p",
    ] {
        let mut screen = screen(open);
        assert_eq!(screen.undo(), b"\x1b]8;;\x07", "{open:?}");
        screen.feed(b"\x1b]8;;\x07");
        assert!(screen.undo().is_empty());
    }
}

#[test]
fn a_link_outlives_the_way_into_the_history_and_another_width() {
    let mut screen = screen("\x1b]8;;u\x07abcdefghijkl\x1b]8;;\x07\r\n\r\n\r\n");
    assert_eq!(told(&screen.history_row_runs(0)), "<- u>abcdefgh");
    screen.resize(5, 2);
    let all: String = (0..screen.history_len()).map(|at| told(&screen.history_row_runs(at))).collect();
    assert_eq!(all, "<- u>abcde<- u>fghij<- u>kl");
}

#[test]
fn what_cannot_be_sent_again_is_no_link() {
    let long = format!("\x1b]8;;{}\x07a", "u".repeat(2084));
    let cut = format!("\x1b]8;;u{}\x07a", ";".repeat(14));
    for bytes in
        ["\x1b]8;;u\u{7f}\x07a", "\x1b]8;;u\u{9b}m\x07a", "\x1b]8;;\x07a", "\x1b]8;u\x07a", &long, &cut]
    {
        assert_eq!(row(bytes), "a", "{bytes:?}");
    }
    assert_eq!(row("\x1b]8;id=\u{7f};u\x07a"), "<- u>a");
    // The parser drops other controls, which is what terminals do.
    assert_eq!(row("\x1b]8;;a\nb\x07a"), "<- ab>a");
    let cut = Screen::new(8, 3).dump();
    assert_eq!(screen("\x1b]8;;u\u{7f}\x07\x1b]8;;\x07").dump().screen, cut.screen);
}

#[test]
fn a_dump_and_a_picture_lead_to_the_same() {
    let screen = screen(
        "\x1b]8;id=i;http://x\x07abcdefghij\x1b]8;;y\x07\x1b[1mk\r\n\x1b7\x1b]8;;\x07l\r\nm\x1b]8;;z\x07",
    );
    let fresh = dumped(&screen);
    assert_eq!(fresh, screen);
    assert_eq!(fresh.dump(), screen.dump());
    let line = "\x1b]8;id=i;http://x\x1b\\abcdefgh\x1b]8;;\x1b\\\n\x1b]8;id=i;http://x\x1b\\ij\x1b]8;;\x1b\\\x1b[0;1m\x1b]8;;y\x1b\\k\x1b]8;;\x1b\\\x1b[m\n";
    assert!(
        screen.ansi(PictureLines::WithHistory).starts_with(line),
        "{:?}",
        screen.ansi(PictureLines::WithHistory)
    );
    let mut other = screen;
    other.feed(b"\x1b]8;;other\x07");
    assert_ne!(fresh, other);
}

#[test]
fn any_number_of_links_takes_bounded_room_and_new_ones_have_it_when_old_ones_are_gone() {
    for (length, different) in [(1, 30_000), (2000, 10_000)] {
        let mut screen = Screen::with_history(80, 24, 100);
        for n in 0..different {
            screen.feed(format!("\x1b]8;id={n};{}\x07x\x1b]8;;\x07", "u".repeat(length)).as_bytes());
        }
        let (links, bytes) = screen.terminal.display.links.taken();
        assert!(links <= 4096 && bytes <= 256 * 1024, "{links} {bytes}");
        screen.feed(b"\x1bc");
        assert_eq!(screen.terminal.display.links.taken(), (0, 0));
        for n in 0..6_000 {
            screen.feed(format!("\r\x1b[K\x1b]8;;{n}{}\x07x", "u".repeat(length)).as_bytes());
            assert!(
                screen.row_runs(0)[0]
                    .link
                    .as_ref()
                    .is_some_and(|link| link.uri().starts_with(&n.to_string())),
                "{n}"
            );
        }
    }
}

#[test]
fn what_is_in_use_is_kept_wherever_it_is() {
    let mut screen = screen(
        "\x1b]8;;history\x07a\x1b]8;;\x07\r\n\n\n\x1b]8;;cell\x07b\x1b]8;;saved\x07\x1b7\x1b[?47h\x1b[H\x1b]8;;hidden\x07c",
    );
    screen.feed(b"\x1b]8;;saved there\x07\x1b7\x1b[?47l\x1b[3H");
    for n in 0..10_000 {
        screen.feed(format!("\x1b]8;;{n}\x07\rx").as_bytes());
    }
    screen.feed(b"\x1b8x");
    assert_eq!(
        (told(&screen.history_row_runs(0)), told(&screen.row_runs(2))),
        ("<- history>a".into(), "<- 9999>x|<- saved>x".into())
    );
    screen.feed(b"\x1b[?47h\x1b8x");
    assert_eq!(told(&screen.row_runs(0)), "<- hidden>c|<- saved there>x");
}

#[test]
fn a_link_for_every_cell_does_not_make_a_dump_without_bounds() {
    let mut screen = Screen::new(200, 60);
    for n in 0..12_000 {
        screen.feed(format!("\x1b]8;;{}{}\x07x", "u".repeat(2000), n % 100).as_bytes());
    }
    let dump = screen.dump();
    assert!(dump.screen.len() < 512 * 1024, "{}", dump.screen.len());
    let mut fresh = Screen::new(200, 60);
    fresh.feed(&dump.screen);
    assert!(fresh.lines() == screen.lines() && fresh.dump() == dump);
    let runs = screen.row_runs(0);
    assert!(
        runs.len() == 9 && runs[7].link.is_some() && runs[8].link.is_none() && runs[8].text.len() == 192,
        "{}",
        runs.len()
    );
    assert!(screen.json(PictureLines::Screen).to_string().len() < 60 * 18 * 1024);
}

#[test]
fn the_directory_is_the_one_that_was_told_last() {
    let mut screen = screen("\x1b]7;file://host/a;b\x1b\\");
    assert_eq!((screen.directory(), dumped(&screen).directory()), ("file://host/a;b", "file://host/a;b"));
    assert!(screen.undo().is_empty());
    for none in [
        "\x1b]7;\x07",
        "\x1b]7\x07",
        "\x1b]7;a\u{7f}\x07",
        &format!("\x1b]7;{}\x07", "d".repeat(4097)),
        "\x1bc",
    ] {
        screen.feed(b"\x1b]7;d\x07");
        assert_eq!(screen.directory(), "d");
        screen.feed(none.as_bytes());
        assert_eq!(screen.directory(), "", "{none:?}");
    }
}
