//! What the dashboard shows, on ratatui's own test terminal.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::dashboard_model::DashState;
use super::dashboard_model_tests::{model, name, row};
use super::dashboard_view;
use super::keys::DashKey;
use super::preview::Preview;
use super::row::is_harmless;

fn rows(model: &DashState, cols: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(cols, height)).unwrap();
    terminal.draw(|frame| dashboard_view::draw(model, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let cells = buffer.content().chunks(usize::from(cols));
    cells
        .map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned())
        .collect()
}

fn shown(model: &DashState, cols: u16, height: u16) -> String {
    rows(model, cols, height).join("\n")
}

/// Two sessions, the first chosen and with a picture.
fn two() -> DashState {
    let mut model = model(&["notes-v", "proj"]);
    model.key(DashKey::Down);
    let busy = json!({"state": "blocked", "waiting_for": "a person", "agent": "claude",
        "dir": "/home/u/proj", "command": ["claude"],
        "why": "Context is at 82 % of 200000 tokens; hand-over requested.", "restarts": 3, "clients": [{},
        {}],
        "context": {"tokens_from": "transcript", "percent": 82, "level": "handoff"}});
    model.told(row(&name("proj"), busy, "/home/u"));
    model.preview =
        Preview::read(&name("proj"), (80, 24), "\x1b]0;My title\x07● Working.\r\n\r\n❯ a draft", false);
    model
}

#[test]
fn a_usual_terminal_shows_the_list_and_the_picture() {
    let want = " hopty  2 sessions, 1 blocked
 SESSION  STATE    CONTEXT          RESTARTS  CLIENTS  DIRECTORY
›proj     blocked  █████████░ 82%   3         2        ~/proj
 notes-v  idle     ████░░░░░░ 40%   2         1        ~/notes-v
┌ proj: My title ──────────────────────────────────────────────────────────────┐
│waits for a person. Context is at 82 % of 200000 tokens; hand-over requested. │
│● Working.                                                                    │
│                                                                              │
│❯ a draft                                                                     │";
    let rows = rows(&two(), 80, 24);
    assert_eq!(rows[..9].join("\n"), want);
    assert_eq!(rows[23], "q quit   1-3 answer   Tab next blocked   ? keys   Enter attach   / filter");
}

#[test]
fn a_small_terminal_shows_what_matters_most() {
    let want = " hopty  2 sessions, 1 blocked
 SESSION  STATE    FULL   DIRECTORY
›proj     blocked   82%   ~/proj
 notes-v  idle      40%   ~/notes-v
 proj: My title ────────────────────────
waits for a person. Context is at 82 % …
● Working.

❯ a draft
q quit   1-3 answer   Tab next blocked";
    assert_eq!(shown(&two(), 40, 10), want);
}

#[test]
fn a_large_terminal_shows_everything() {
    let rows = rows(&two(), 200, 60);
    for (row, words) in [
        (1, &["SESSION", "CONTEXT", "RESTARTS", "CLIENTS", "DIRECTORY", "LAST"][..]),
        (2, &["›proj", "blocked", "█████████░ 82%", "~/proj", "hand-over requested."]),
        (4, &["┌ proj: My title"]),
        (58, &["┘"]),
    ] {
        assert!(words.iter().all(|word| rows[row].contains(word)), "{}", rows[row]);
    }
}

#[test]
fn every_size_is_drawn() {
    let mut help = two();
    help.key(DashKey::Char('?'));
    let mut line = two();
    line.key(DashKey::Char('i'));
    line.key(DashKey::Paste("漢字 ".repeat(200)));
    for model in [&DashState::default(), &two(), &help, &line] {
        for (cols, height) in
            [(1, 1), (2, 3), (7, 2), (12, 40), (39, 9), (41, 11), (61, 13), (300, 4), (500, 200)]
        {
            rows(model, cols, height);
        }
    }
}

#[test]
fn a_long_list_shows_the_part_around_the_choice() {
    let names: Vec<String> = (0..200).map(|n| format!("s{n:03}")).collect();
    let mut model = model(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let marked =
        |model: &DashState| rows(model, 80, 24).into_iter().find(|row| row.starts_with('›')).unwrap();
    for (key, name) in
        [(DashKey::End, "s199"), (DashKey::PageUp, "s189"), (DashKey::Home, "s000"), (DashKey::Down, "s001")]
    {
        model.key(key);
        assert!(marked(&model).starts_with(&format!("›{name}")));
    }
    model.key(DashKey::End);
    assert!(shown(&model, 80, 24).contains(" s198"), "and its neighbours");
    assert!(shown(&model, 80, 24).starts_with(" hopty  200 sessions  200/200\n"), "and where it is");
    model.key(DashKey::Home);
    assert!(shown(&model, 80, 24).starts_with(" hopty  200 sessions  1/200\n"));
    assert!(
        shown(&two(), 80, 24).starts_with(" hopty  2 sessions, 1 blocked\n"),
        "which is plain where all are in sight"
    );
}

/// A long name takes the room of the counts, not that of the directory.
#[test]
fn the_directory_is_in_sight_of_a_usual_terminal() {
    let mut model = model(&["a-name-that-is-longer-than-its-column", "proj"]);
    for (state, cols) in [("idle", 80), ("unresponsive", 80), ("unresponsive", 60), ("idle", 45)] {
        model.told(row(&name("proj"), json!({"state": state, "dir": "/home/u/proj"}), "/home/u"));
        let rows = rows(&model, cols, 24);
        assert!(rows[1].contains("DIRECTORY") && rows[3].contains("~/proj"), "{cols}:\n{}", rows.join("\n"));
    }
}

/// Each key, in the smallest terminal that is cared for, too.
#[test]
fn the_page_of_keys_is_whole() {
    let mut model = two();
    model.key(DashKey::Char('?'));
    for (cols, height, first, last) in [
        (40, 10, "up, down", "quit"),
        (59, 24, "up, down", "quit"),
        (60, 11, "up, down", "quit, the sessions keep running"),
        (80, 24, "select", "quit, the sessions keep running"),
    ] {
        let shown = shown(&model, cols, height);
        for words in [first, "PgDn", "Tab", "Enter", "Ctrl+L", "i or :", last] {
            assert!(shown.contains(words), "{words} in {cols}x{height}:\n{shown}");
        }
    }
}

#[test]
fn without_a_session_it_says_how_to_start_one() {
    let mut model = DashState::default();
    assert!(!shown(&model, 80, 24).contains("No session"), "nobody has looked yet");
    model.listed(&[]);
    for (cols, height) in [(40, 10), (200, 60)] {
        let shown = shown(&model, cols, height);
        assert!(
            shown.contains("No session is running.")
                && shown.contains("Run `hopty` in a project to start one"),
            "{shown}"
        );
    }
}

#[test]
fn questions_lines_filters_and_refusals_are_shown() {
    let mut model = two();
    model.key(DashKey::Char('s'));
    assert!(shown(&model, 40, 10).ends_with("Stop proj for good? y / n"));
    model.key(DashKey::Char('n'));
    assert!(shown(&model, 40, 10).ends_with("cancelled"));
    model.key(DashKey::Char('i'));
    model.key(DashKey::Paste("a line that is longer than there is room".to_owned()));
    assert!(shown(&model, 30, 10).ends_with("to proj: r than there is room"), "{}", shown(&model, 30, 10));
    model.key(DashKey::Escape);
    model.key(DashKey::Char('/'));
    model.key(DashKey::Char('x'));
    assert!(
        shown(&model, 60, 10).contains("2 sessions, 0 with \"x\", 1 blocked")
            && shown(&model, 60, 10).contains("no session matches")
    );
    model.say("stop: proj: a command inside the session may not stop it");
    model.key(DashKey::Escape);
    model.say("stop: proj: a command inside the session may not stop it");
    assert!(shown(&model, 80, 10).ends_with("stop: proj: a command inside the session may not stop it"));
}

#[test]
fn no_picture_is_explained() {
    let mut model = two();
    model.preview = Preview::Missing("unknown request `screen`".to_owned());
    assert!(shown(&model, 80, 24).contains("no preview: unknown request `screen`"));
    model.preview = Preview::read(&name("proj"), (80, 24), "x", true);
    assert!(shown(&model, 80, 24).contains("no preview: the session's screen model has failed"));
}

#[test]
fn text_of_sessions_never_reaches_the_terminal_raw() {
    let mut model = model(&["proj"]);
    let evil = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\r\n\u{202e}\u{7f}";
    let object = json!({"state": evil, "waiting_for": evil, "agent": evil, "dir": evil, "command": [evil],
        "why": evil,
        "context": {"tokens_from": "transcript", "percent": 900, "level": evil}});
    model.told(row(&name("proj"), object, "/"));
    model.preview = Preview::read(&name("proj"), (80, 24), "\u{1b}]0;a\u{202e}b\u{7}x\u{202e}\u{85}y", false);
    for (cols, height) in [(40, 10), (80, 24), (200, 60)] {
        model.say(evil);
        assert!(rows(&model, cols, height).join("").chars().all(is_harmless));
        model.key(DashKey::Char('/'));
        model.key(DashKey::Paste(evil.to_owned()));
        assert!(rows(&model, cols, height).join("").chars().all(is_harmless));
        model.key(DashKey::Escape);
    }
}
