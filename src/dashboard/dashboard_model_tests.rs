//! Keys and the dashboard's state.

use serde_json::{Value, json};

use super::dashboard_model::{DashAction, DashState, InputMode};
use super::preview::Preview;
use super::session_row::SessionRow;
use crate::core::ids::SessionName;
use crate::core::input::plain_keys::PlainKey;
use crate::core::status_types::SessionStatus;
use crate::core::time::{Stamp, WallTime};

pub fn name(text: &str) -> SessionName {
    text.parse().unwrap()
}

/// The row of a session's status.
pub fn row(name: &SessionName, object: Value, home: &str) -> SessionRow {
    let status = SessionStatus::from_json(object).unwrap();
    SessionRow::of(name, &status, home, WallTime::plain, |_| "5 min".to_owned())
}

/// A model with these sessions; those that end in `v` run vim.
pub fn model(names: &[&str]) -> DashState {
    let mut model = DashState::default();
    let all: Vec<SessionName> = names.iter().map(|n| name(n)).collect();
    model.listed(&all);
    for name in all {
        let vim = name.as_str().ends_with('v');
        let object = json!({"state": "idle", "agent": if vim { "plain" } else { "claude" },
            "dir": format!("/home/u/{name}"),
            "command": [if vim { "vim" } else { "claude" }], "why": "It began.", "restarts": 2,
            "clients": [{}],
            "context": {"tokens_from": "transcript", "percent": 40, "level": "ok"}});
        model.update_row(row(&name, object, "/home/u"));
    }
    model
}

fn chosen(model: &DashState) -> &str {
    model.chosen().map_or("", |(_, row)| row.name.as_str())
}

fn type_in(model: &mut DashState, text: &str) -> Option<DashAction> {
    text.chars().map(|c| model.key(PlainKey::Char(c))).last().flatten()
}

#[test]
fn the_choice_moves_and_stays_within_the_list() {
    let mut model = model(&["b", "a", "cv"]);
    assert_eq!(chosen(&model), "a");
    model.listed(&[name("0"), name("a"), name("b"), name("cv")]);
    assert_eq!(chosen(&model), "a", "another does not take its place");
    model.listed(&[name("a"), name("b"), name("cv")]);
    for (key, at) in [
        (PlainKey::Up, "a"),
        (PlainKey::Down, "b"),
        (PlainKey::End, "cv"),
        (PlainKey::Down, "cv"),
        (PlainKey::Char('k'), "b"),
        (PlainKey::Home, "a"),
    ] {
        assert_eq!((model.key(key.clone()), chosen(&model)), (None, at), "{key:?}");
    }
    assert_eq!(model.key(PlainKey::Enter), Some(DashAction::Attach(name("a"))));
    assert_eq!(type_in(&mut model, "ry"), Some(DashAction::Restart(name("a"))));
    assert_eq!(model.key(PlainKey::Char('q')), Some(DashAction::Quit));
}

#[test]
fn tab_cycles_through_sessions_that_wait_for_a_person() {
    let mut model = model(&["a", "b", "c", "d"]);
    assert_eq!(
        (model.key(PlainKey::Tab), chosen(&model), model.notice.as_str()),
        (None, "a", "no session waits for you")
    );
    for waits in ["b", "d"] {
        model.update_row(row(&name(waits), json!({"state": "blocked", "dir": format!("~/{waits}")}), ""));
    }
    assert_eq!(model.blocked(), 2);
    assert_eq!(model.shown().iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["b", "d", "a", "c"]);
    for at in ["b", "d", "b"] {
        assert_eq!((model.key(PlainKey::Tab), chosen(&model)), (None, at));
    }
    // A row that is filtered out cannot be selected.
    model.key(PlainKey::Char('/'));
    type_in(&mut model, "~/d");
    model.key(PlainKey::Enter);
    for _ in 0..2 {
        model.key(PlainKey::Tab);
        assert_eq!(chosen(&model), "d");
    }
    assert_eq!(DashState::default().key(PlainKey::Tab), None);
}

#[test]
fn a_session_is_stopped_only_after_a_yes() {
    let mut model = model(&["a"]);
    for key in [PlainKey::Enter, PlainKey::Char('n'), PlainKey::Escape, PlainKey::Paste("y".to_owned())] {
        assert_eq!(model.key(PlainKey::Char('s')), None);
        assert_eq!(model.mode, InputMode::Confirm(DashAction::Stop(name("a"))));
        assert_eq!((model.key(key), model.notice.as_str()), (None, "cancelled"));
    }
    model.key(PlainKey::Char('s'));
    assert_eq!(model.key(PlainKey::Char('y')), Some(DashAction::Stop(name("a"))));
    assert_eq!(model.mode, InputMode::List);
}

#[test]
fn a_question_is_about_the_session_that_it_was_asked_for() {
    let mut model = model(&["a", "b"]);
    model.key(PlainKey::Char('s'));
    model.listed(&[name("b")]);
    assert_eq!(chosen(&model), "b");
    assert_eq!(model.key(PlainKey::Char('y')), Some(DashAction::Stop(name("a"))));
}

#[test]
fn a_line_goes_to_an_agent_and_to_nothing_else() {
    let mut model = model(&["a", "bv"]);
    model.key(PlainKey::Char(':'));
    type_in(&mut model, "go on quickly");
    model.key(PlainKey::Paste("\nwith\u{1b}[31m this\n".to_owned()));
    let Some(DashAction::Send(to, text)) = model.key(PlainKey::Enter) else { panic!("{:?}", model.mode) };
    assert_eq!((to, text.as_str()), (name("a"), "go on quickly with\u{fffd}[31m this"));
    for empty in ["", "  "] {
        model.key(PlainKey::Char('i'));
        type_in(&mut model, empty);
        assert_eq!((model.key(PlainKey::Enter), &model.mode), (None, &InputMode::List));
    }
    model.key(PlainKey::Down);
    // Characters of a refused line are not keys for anything else.
    assert_eq!(type_in(&mut model, "irsyq"), None);
    let InputMode::Refused(why) = &model.mode else { panic!("{:?}", model.mode) };
    assert!(why.starts_with("bv is not Claude"), "{why}");
    assert_eq!((model.key(PlainKey::Escape), &model.mode), (None, &InputMode::List));
}

#[test]
fn a_line_can_be_written_before_the_first_status_arrives() {
    let mut model = DashState::default();
    model.listed(&[name("a")]);
    assert_eq!(type_in(&mut model, "irsyq"), None);
    assert_eq!(model.key(PlainKey::Enter), Some(DashAction::Send(name("a"), "rsyq".to_owned())));
}

#[test]
fn a_restart_is_asked_about_and_a_dialog_is_answered() {
    let mut model = model(&["a", "bv"]);
    assert_eq!(type_in(&mut model, "r"), None);
    assert_eq!(type_in(&mut model, "n"), None);
    assert_eq!(type_in(&mut model, "ry"), Some(DashAction::Restart(name("a"))));
    assert_eq!(type_in(&mut model, "1"), None, "it does not wait");
    assert_eq!(model.notice, "a does not wait for an answer");
    model.update_row(row(
        &name("a"),
        json!({"state": "blocked", "waiting_for": "permission", "agent": "claude"}),
        "",
    ));
    assert_eq!(type_in(&mut model, "1"), Some(DashAction::Answer(name("a"), 1, "permission".to_owned())));
    model.preview = Preview::read(&name("a"), (40, 8), " ❯ 1. Yes\r\n   2. Ever\r\n   3. No", false);
    assert_eq!((model.answers(), type_in(&mut model, "4")), (Some(3), None));
    assert_eq!(model.notice, "a: the dialog has the answers 1 to 3");
    assert!(type_in(&mut model, "3").is_some());
    model.key(PlainKey::Down);
    assert_eq!(type_in(&mut model, "r"), None);
    assert_eq!(type_in(&mut model, "y"), Some(DashAction::Restart(name("bv"))));
}

#[test]
fn a_notice_lasts_until_the_next_key() {
    let mut model = model(&["a", "b"]);
    model.show_notice("done");
    assert_eq!((model.key(PlainKey::Down), model.notice.as_str()), (None, ""));
}

#[test]
fn a_filter_narrows_the_list_and_the_choice_follows() {
    let mut model = model(&["alpha", "beta", "gammav"]);
    model.key(PlainKey::Char('/'));
    type_in(&mut model, "VIM");
    assert_eq!((model.shown().len(), chosen(&model)), (1, "gammav"));
    assert_eq!(model.key(PlainKey::Enter), None, "it is kept");
    assert_eq!((model.filter.as_str(), model.count()), ("VIM", 3));
    model.key(PlainKey::Escape);
    assert_eq!((model.filter.as_str(), model.shown().len()), ("", 3));
    model.key(PlainKey::Char('/'));
    type_in(&mut model, "nothing like it");
    assert_eq!(chosen(&model), "");
    assert_eq!(model.key(PlainKey::Down), None);
    model.key(PlainKey::Escape);
    assert_eq!(
        (model.key(PlainKey::Enter), model.shown().len()),
        (Some(DashAction::Attach(name("alpha"))), 3)
    );
}

#[test]
fn a_waiting_session_is_selected_until_a_key_is_pressed() {
    let told = |model: &mut DashState, of: &str, state: &str| {
        model.update_row(row(&name(of), json!({"state": state, "agent": "claude"}), ""));
    };
    for key in [None, Some(PlainKey::Up)] {
        let mut model = DashState::default();
        model.listed(&[name("a"), name("b"), name("c")]);
        told(&mut model, "a", "idle");
        key.clone().into_iter().for_each(|key| drop(model.key(key)));
        told(&mut model, "b", "blocked");
        assert_eq!(chosen(&model), if key.is_some() { "a" } else { "b" });
        told(&mut model, "c", "idle");
        told(&mut model, "b", "idle");
        assert_eq!(chosen(&model), if key.is_some() { "a" } else { "b" }, "all are known");
    }
}

#[test]
fn a_session_that_is_started_here_is_chosen() {
    let mut model = model(&["a", "c"]);
    model.filter = "~/a".to_owned();
    model.started(name("b"));
    assert_eq!(chosen(&model), "a", "it is not listed yet");
    model.listed(&[name("a"), name("b"), name("c")]);
    assert_eq!((chosen(&model), model.filter.as_str()), ("b", ""), "and no filter hides it");
    model.key(PlainKey::Up);
    model.listed(&[name("a"), name("b"), name("c")]);
    assert_eq!(chosen(&model), "a", "once");
    model.started(name("c"));
    assert_eq!(chosen(&model), "c", "one that is listed already");
}

#[test]
fn one_that_ended_is_named_and_its_neighbour_is_chosen() {
    let mut model = model(&["a", "b", "c"]);
    model.key(PlainKey::Down);
    model.listed(&[name("a"), name("c")]);
    assert_eq!((chosen(&model), model.notice.as_str()), ("c", "b ended"));
    model.listed(&[]);
    assert_eq!(chosen(&model), "");
    assert_eq!((model.key(PlainKey::Enter), model.key(PlainKey::Char('s'))), (None, None));
}

#[test]
fn help_closes_with_any_key() {
    let mut model = model(&["a"]);
    model.key(PlainKey::Char('?'));
    assert_eq!(model.mode, InputMode::Help);
    assert_eq!((model.key(PlainKey::Char('s')), &model.mode), (None, &InputMode::List));
}

proptest::proptest! {
    #[test]
    fn no_keys_break_it(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let mut model = model(&["a", "b", "cv"]);
        for key in crate::core::input::plain_keys::PlainKeyParser::default().feed(&bytes, Stamp::default()) {
            model.key(key);
            if model.shown().is_empty() { assert!(model.chosen().is_none()); } else { assert!(model.chosen().is_some()); }
        }
    }
}

#[test]
fn a_new_session_asks_for_its_directory_and_ended_ones_can_be_listed() {
    let mut model = DashState::default();
    model.listed(&[name("proj")]);
    model.update_row(row(&name("proj"), json!({"state": "idle", "dir": "/home/u/proj"}), "/home/u"));
    assert_eq!(model.key(PlainKey::Char('n')), None);
    assert_eq!(
        model.mode,
        InputMode::Directory("~/proj".to_owned()),
        "beside the chosen one, unless changed"
    );
    model.key(PlainKey::Char('2'));
    assert_eq!(model.key(PlainKey::Enter), Some(DashAction::New("~/proj2".to_owned())));
    assert_eq!(model.key(PlainKey::Char('e')), Some(DashAction::Ended));
    model.listed(&[name("old"), name("proj")]);
    model.update_row(row(&name("old"), json!({"state": "ended"}), ""));
    model.choose(1);
    assert_eq!(model.chosen().unwrap().1.name, name("old"), "ended ones are last");
    assert_eq!((model.key(PlainKey::Char('r')), model.mode.clone()), (None, InputMode::List));
    assert!(model.notice.contains("has ended"), "{}", model.notice);
    assert_eq!(model.key(PlainKey::Char('w')), Some(DashAction::Log(name("old"))));
    model.show_log(name("old"), (0..30).map(|n| n.to_string()).collect());
    model.key(PlainKey::WheelDown);
    assert!(matches!(model.mode, InputMode::Log(_, _, 1)));
    model.key(PlainKey::Escape);
    model.listed(&[name("proj")]);
    assert!(!model.notice.contains("old"), "it had ended before");
}
