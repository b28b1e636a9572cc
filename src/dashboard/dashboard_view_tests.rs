//! The dashboard on ratatui's own test terminal.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Modifier;
use serde_json::json;

use super::dashboard_model::DashState;
use super::dashboard_model_tests::{model, name, row};
use super::dashboard_view;
use super::preview::Preview;
use super::session_row::is_harmless;
use crate::core::input::plain_keys::PlainKey;

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

const DIALOG: &str =
    "\x1b]0;My title\x07● Working.\r\n ❯ 1. Yes\r\n   2. Yes, and don't ask again\r\n   3. No";

/// Two sessions; the first is selected and has a preview.
fn two() -> DashState {
    let mut model = model(&["notes-v", "proj"]);
    model.key(PlainKey::Down);
    let busy = json!({"state": "blocked", "waiting_for": "a person", "agent": "claude",
        "dir": "/home/u/proj", "command": ["claude"], "state_since": "2026-11-20T14:00:00.000Z",
        "work": {"title": "Mend the parser."},
        "why": "Blocked on a person for 5 min. `hopty attach proj` answers it.", "restarts": 3, "clients": [{},
        {}],
        "context": {"tokens_from": "transcript", "percent": 82, "level": "handoff"}});
    model.update_row(row(&name("proj"), busy, "/home/u"));
    model.preview = Preview::read(&name("proj"), (80, 24), DIALOG, false);
    model
}

#[test]
fn a_usual_terminal_shows_the_list_and_the_picture() {
    let want = " hopty  2 sessions, 1 blocked
 SESSION  STATE               FOR    CONTEXT    DIRECTORY  ABOUT
›proj     blocked (a person)  5 min  █████ 82%  ~/proj     Mend the parser.
 notes-v  idle                       ██░░░ 40%  ~/notes-v  vim
┌ proj: My title ──────────────────────────────────────────────────────────────┐
│Blocked on a person for 5 min. `hopty attach proj` answers it.                │
│● Working.                                                                    │
│ ❯ 1. Yes                                                                     │
│   2. Yes, and don't ask again                                                │
│   3. No                                                                      │";
    let rows = rows(&two(), 80, 24);
    assert_eq!(rows[..10].join("\n"), want);
    assert_eq!(rows[23], "q quit   1-3 answer   Tab next blocked   ? keys   Enter attach   / filter");
}

#[test]
fn a_small_terminal_shows_what_matters_most() {
    let want = " hopty  2 sessions, 1 blocked
 SESSION  STATE         FOR    CONTEXT
›proj     blocked       5 min  █████ 82%
 notes-v  idle                 ██░░░ 40%
 proj: My title ────────────────────────
Blocked on a person for 5 min. `hopty a…
 ❯ 1. Yes
   2. Yes, and don't ask again
   3. No
q quit   1-3 answer   Tab next blocked";
    assert_eq!(shown(&two(), 40, 10), want);
}

#[test]
fn in_a_small_terminal_a_dialog_gets_the_rows_of_the_list() {
    let many: Vec<String> = (0..17).map(|n| format!("s{n}")).collect();
    let mut names: Vec<&str> = many.iter().map(String::as_str).collect();
    names.push("proj");
    let mut wide = model(&names);
    let busy = json!({"state": "blocked", "waiting_for": "question", "agent": "claude",
        "dir": "/home/u/proj", "command": ["claude"], "state_since": "2026-11-20T14:00:00.000Z"});
    wide.update_row(row(&name("proj"), busy, "/home/u"));
    wide.key(PlainKey::Tab);
    let options: Vec<String> = (1..5).map(|n| format!("   {n}. Database\r\n      Its words")).collect();
    let dialog = format!("Which?\r\n{}\r\n", options.join("\r\n")).replacen("   1.", " \u{276f} 1.", 1);
    wide.preview = Preview::read(&name("proj"), (80, 24), &dialog, false);
    let rows = rows(&wide, 40, 15);
    assert!(rows.iter().any(|row| row.contains("1. Database")), "{}", rows.join("\n"));
    assert!(rows.iter().any(|row| row.contains("\u{203a}proj")), "{}", rows.join("\n"));
}

#[test]
fn a_large_terminal_shows_everything() {
    let rows = rows(&two(), 200, 60);
    for (row, words) in [
        (1, &["SESSION", "FOR", "CONTEXT", "RESTARTS", "CLIENTS", "DIRECTORY", "ABOUT"][..]),
        (2, &["›proj", "blocked (a person)", "5 min", "█████████░ 82%", "~/proj", "Mend the parser."]),
        (4, &["┌ proj: My title"]),
        (58, &["┘"]),
    ] {
        assert!(words.iter().all(|word| rows[row].contains(word)), "{}", rows[row]);
    }
}

/// The branch comes after the model and before the age, if there is space.
#[test]
fn a_branch_is_shown_where_there_is_room() {
    let mut model = model(&["rocket"]);
    let object = json!({"state": "idle", "agent": "claude", "dir": "/home/u/rocket",
        "state_since": "2026-11-20T14:00:00.000Z", "started_at": "2026-11-20T14:00:00.000Z",
        "work": {"title": "Mend the parser.", "model": "claude-opus-5-5"},
        "context": {"tokens_from": "transcript", "percent": 82, "level": "handoff"}});
    let rocket = row(&name("rocket"), object, "/home/u").on_branch(Some("fix/\u{1b}parser"));
    assert!(rocket.matches("FIX/"));
    model.update_row(rocket);
    let at = |cols| rows(&model, cols, 24)[1..3].to_vec();
    assert_eq!(
        at(100)[1],
        "›rocket   idle   5 min  5 min  █████ 82%  opus-5-5  fix/\u{fffd}parser  ~/rocket   Mend the parser."
    );
    let heads = |cols| at(cols)[0].split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let all = ["SESSION", "STATE", "FOR", "AGE", "CONTEXT", "MODEL", "BRANCH", "DIRECTORY", "ABOUT"];
    let without = |gone: &[&str]| all.iter().copied().filter(|head| !gone.contains(head)).collect::<Vec<_>>();
    assert_eq!(heads(100), without(&[]));
    assert_eq!(heads(90), without(&["AGE"]));
    assert_eq!(heads(80), without(&["AGE", "BRANCH"]));
}

#[test]
fn the_tasks_are_shown_where_a_session_has_any() {
    let mut model = model(&["rocket"]);
    let heads = |model: &DashState| rows(model, 100, 24)[1].contains("TASKS");
    assert!(!heads(&model));
    let object = json!({"state": "idle", "agent": "claude", "dir": "/home/u/rocket",
        "work": {"title": "Mend the parser.", "tasks": 6, "tasks_done": 4}});
    model.update_row(row(&name("rocket"), object, "/home/u"));
    assert!(heads(&model) && rows(&model, 100, 24)[2].contains(" 4/6 "), "{}", rows(&model, 100, 24)[2]);
}

#[test]
fn the_help_page_shows_each_line_completely() {
    let mut help = two();
    help.key(PlainKey::Char('?'));
    for cols in [62, 80] {
        let page = shown(&help, cols, 24);
        assert!(page.contains("stop it (ask)") && page.contains("page)"), "{page}");
    }
}

/// If space is scarce, a directory keeps its end and a topic its start.
#[test]
fn directory_and_topic_share_the_remaining_width() {
    let mut model = model(&["rocket", "parser"]);
    for (name_of, about) in [("rocket", "Make the rocket pass all of its six stages."), ("parser", "")] {
        let dir = format!("/home/u/work/projects/deep/{name_of}");
        let object = json!({"state": "blocked", "waiting_for": "permission", "dir": dir,
            "state_since": "2026-11-20T14:00:00.000Z", "work": {"prompt": about}});
        model.update_row(row(&name(name_of), object, "/home/u"));
    }
    let at = |cols| rows(&model, cols, 24)[1..4].to_vec();
    assert_eq!(
        at(80),
        [
            " SESSION  STATE                 FOR    DIRECTORY      ABOUT",
            "›parser   blocked (permission)  5 min  …/deep/parser",
            " rocket   blocked (permission)  5 min  …/deep/rocket  Make the rocket pass all …",
        ],
        "nobody knows how full the context is"
    );
    assert!(at(200)[2].contains("~/work/projects/deep/rocket  Make the rocket pass all of its six stages."));
    assert_eq!(at(40)[2], " rocket   blocked   5 min  …/deep/rocket");
    // A long name leaves no space for the directory and the age on a narrow terminal.
    let long = "a-rather-long-name-of-a-session";
    model.listed(&[name(long)]);
    let object = json!({"state": "blocked", "waiting_for": "permission", "dir": "/home/u/work/rocket",
        "state_since": "2026-11-20T14:00:00.000Z", "work": {"prompt": "Make it fly."}});
    model.update_row(row(&name(long), object, "/home/u"));
    assert_eq!(rows(&model, 40, 24)[2], "›a-rather-long…  blocked (permis…  5 min");
    let usual = rows(&model, 80, 24)[1..3].to_vec();
    assert_eq!(
        usual,
        [
            " SESSION                   STATE                 FOR    DIRECTORY",
            "›a-rather-long-name-of-a…  blocked (permission)  5 min  ~/work/rocket",
        ]
    );
}

/// The full part of the bar keeps its colour in the selected row, which is in reverse video.
#[test]
fn the_bar_of_the_selected_row_is_not_reversed() {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| dashboard_view::draw(&two(), frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = (0..80).map(|x| &buffer[(x, 2)]);
    let reversed = |cell: &ratatui::buffer::Cell| cell.modifier.contains(Modifier::REVERSED);
    let bar: Vec<bool> = row.clone().filter(|cell| cell.symbol() == "█").map(reversed).collect();
    assert_eq!(bar, [false; 5]);
    assert!(row.clone().filter(|cell| cell.symbol() != "█").all(reversed));
}

#[test]
fn every_size_is_drawn() {
    let mut help = two();
    help.key(PlainKey::Char('?'));
    let mut line = two();
    line.key(PlainKey::Char('i'));
    line.key(PlainKey::Paste("漢字 ".repeat(200)));
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
    for (key, name) in [
        (PlainKey::End, "s199"),
        (PlainKey::PageUp, "s189"),
        (PlainKey::Home, "s000"),
        (PlainKey::Down, "s001"),
    ] {
        model.key(key);
        assert!(marked(&model).starts_with(&format!("›{name}")));
    }
    model.key(PlainKey::End);
    assert!(shown(&model, 80, 24).contains(" s198"), "and its neighbours");
    assert!(shown(&model, 80, 24).starts_with(" hopty  200 sessions  200/200\n"), "and where it is");
    model.key(PlainKey::Home);
    assert!(shown(&model, 80, 24).starts_with(" hopty  200 sessions  1/200\n"));
    assert!(
        shown(&two(), 80, 24).starts_with(" hopty  2 sessions, 1 blocked\n"),
        "which is plain where all are in sight"
    );
}

/// A long name takes the space of the counts, not that of the directory.
#[test]
fn the_directory_is_in_sight_of_a_usual_terminal() {
    let mut model = model(&["a-name-that-is-longer-than-its-column", "proj"]);
    for (state, cols) in [("idle", 80), ("unresponsive", 80), ("unresponsive", 60), ("idle", 45)] {
        model.update_row(row(&name("proj"), json!({"state": state, "dir": "/home/u/proj"}), "/home/u"));
        let rows = rows(&model, cols, 24);
        assert!(rows[1].contains("DIRECTORY") && rows[3].contains("~/proj"), "{cols}:\n{}", rows.join("\n"));
    }
}

/// Each key is shown even in the smallest supported terminal.
#[test]
fn the_page_of_keys_is_whole() {
    let mut model = two();
    model.key(PlainKey::Char('?'));
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
fn an_empty_list_explains_how_to_start_a_session() {
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
    model.key(PlainKey::Char('s'));
    assert!(shown(&model, 40, 10).ends_with("Stop proj for good? y / n"));
    model.key(PlainKey::Char('n'));
    assert!(shown(&model, 40, 10).ends_with("cancelled"));
    model.key(PlainKey::Char('i'));
    model.key(PlainKey::Paste("a line that is longer than there is room".to_owned()));
    assert!(shown(&model, 30, 10).ends_with("to proj: r than there is room"), "{}", shown(&model, 30, 10));
    model.key(PlainKey::Escape);
    model.key(PlainKey::Char('/'));
    model.key(PlainKey::Char('x'));
    assert!(
        shown(&model, 60, 10).contains("2 sessions, 0 with \"x\", 1 blocked")
            && shown(&model, 60, 10).contains("no session matches")
    );
    model.show_notice("stop: proj: a command inside the session may not stop it");
    model.key(PlainKey::Escape);
    model.show_notice("stop: proj: a command inside the session may not stop it");
    assert!(shown(&model, 80, 10).ends_with("stop: proj: a command inside the session may not stop it"));
}

#[test]
fn a_message_takes_the_rows_that_it_needs() {
    let mut model = two();
    model.show_notice("send: np2: Claude shows a dialog (permission), and a prompt would answer it");
    let end = "\nsend: np2: Claude shows a dialog\n(permission), and a prompt would answer\nit";
    let page = shown(&model, 40, 12);
    assert!(page.ends_with(end) && page.contains("›proj"), "{page}");
    let low = shown(&model, 40, 5);
    assert!(low.ends_with("send: np2: Claude shows a dialog (permi…"), "{low}");
    model.key(PlainKey::Escape);
    assert!(shown(&model, 40, 12).ends_with("q quit   1-3 answer   Tab next blocked"));
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
    model.update_row(row(&name("proj"), object, "/"));
    model.preview = Preview::read(&name("proj"), (80, 24), "\u{1b}]0;a\u{202e}b\u{7}x\u{202e}\u{85}y", false);
    for (cols, height) in [(40, 10), (80, 24), (200, 60)] {
        model.show_notice(evil);
        assert!(rows(&model, cols, height).join("").chars().all(is_harmless));
        model.key(PlainKey::Char('/'));
        model.key(PlainKey::Paste(evil.to_owned()));
        assert!(rows(&model, cols, height).join("").chars().all(is_harmless));
        model.key(PlainKey::Escape);
    }
}
