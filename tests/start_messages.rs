//! What hopty says at a start is seen: it waits where it must be read, and is kept where Claude draws over
//! it.

#![allow(clippy::unwrap_used)]

mod support;

use hopty::standin::script::{Script, ScriptedReply};

use support::claude::Kind;
use support::wait_for;
use support::world::World;

/// The prefix key and `n`: the page of notices.
const NOTICES: &str = "\x1cn";

fn world() -> World {
    World::new(Kind::StandIn, Script::each(|_, _| ScriptedReply::text("Hello.").filling(1000))).unwrap()
}

#[test]
fn a_mistake_in_the_configuration_waits_for_enter_and_stays_among_the_notices() {
    let world = world();
    let dir = world.home.join(".config/hopty");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("config.toml"), "[restart]\nmode = \"aks\"\n").unwrap();
    let term = world.start(&[]);
    term.wait_text("Enter starts Claude anyway");
    assert!(term.lines().iter().any(|line| line.contains("restart.mode")), "{:?}", term.lines());
    assert!(!world.session_dir().join("journal.jsonl").exists(), "nothing was started");
    term.send("\r");
    term.wait_box();
    term.send(NOTICES);
    term.wait_text("notices, newest first");
    term.wait_text("restart.mode");
    term.wait_text("using the default");
    term.send("x");
    term.wait_box();
    world.leave(term);
    // A script is told and not asked.
    let done = world.hopty(&["--version"]);
    assert!(done.status.success());
}

#[test]
fn mistakes_that_fill_more_than_a_page_are_in_the_order_of_the_file() {
    let world = world();
    let dir = world.home.join(".config/hopty");
    std::fs::create_dir_all(&dir).unwrap();
    let keys: String = (1..=17).map(|n| format!("unknown_{n} = {n}\n")).collect();
    std::fs::write(dir.join("config.toml"), format!("[restart]\n{keys}")).unwrap();
    let term = world.start_sized(&[], (80, 24));
    term.wait_text("Enter starts Claude anyway");
    term.send("\r");
    term.wait_box();
    term.send(NOTICES);
    term.wait_text("config.toml:2: unknown key");
    term.wait_text("more, any other key: return");
    let last = "config.toml:18: unknown key";
    let has = |lines: &[String], text: &str| lines.iter().any(|line| line.contains(text));
    assert!(!has(&term.lines(), last), "{:?}", term.lines());
    for _ in 0..9 {
        let before = term.lines();
        if has(&before, last) {
            break;
        }
        term.send("n");
        term.wait_for("the next page", |screen| {
            let lines = screen.lines();
            lines != before
                && has(&lines, "notices, newest first")
                && (has(&lines, "key: return") || has(&lines, "key to return"))
        });
    }
    term.wait_text(last);
    term.send("x");
    term.wait_box();
    world.leave(term);
}

#[test]
fn a_mistake_in_a_repository_keeps_nobody_waiting() {
    let world = world();
    std::fs::write(world.project.join(".hopty.toml"), "[restart]\nmode = \"aks\"\n").unwrap();
    let term = world.start(&[]);
    term.wait_box();
    term.send(NOTICES);
    term.wait_text("Press any key to return");
    term.wait_text("restart.mode");
    term.send("x");
    term.wait_box();
    world.leave(term);
}

#[test]
fn ctrl_c_at_the_question_starts_nothing() {
    let world = world();
    let dir = world.home.join(".config/hopty");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("config.toml"), "[restart]\nmode = \"aks\"\n").unwrap();
    let mut term = world.start(&[]);
    term.wait_text("Enter starts Claude anyway");
    term.send("\x03");
    term.wait_exit();
    assert!(world.api.main_requests().is_empty() && !world.session_dir().exists());
    world.assert_nothing_left();
}

#[test]
fn a_detached_session_is_offered() {
    let mut world = world();
    let mut first = world.start(&[]);
    first.wait_box();
    first.submit("Say hello.");
    first.wait_text("Hello.");
    first.hang_up();
    first.wait_exit();
    wait_for("nobody to be attached", || (world.status()["clients"] == serde_json::json!([])).then_some(()));
    world.set("HOPTY_TERMINAL_OFFER_ATTACH", "true");
    let mut again = world.start(&[]);
    again.wait_text("proj is running here, detached. Attach to it? [Y/n]");
    again.send("x\r");
    again.wait_text("answer y or n");
    again.send("YES\r");
    again.wait_text("Hello.");
    world.ask(&["detach", "proj"]);
    assert_eq!(again.wait_exit(), 0);
    assert_eq!(world.ask(&["ls", "--names"]), "proj\n", "no second session");

    let mut unclear = world.start(&[]);
    unclear.wait_text("Attach to it? [Y/n]");
    unclear.send("x\rx\rx\r");
    assert_eq!(unclear.wait_exit(), 2);
    assert_eq!(world.ask(&["ls", "--names"]), "proj\n", "nothing was started");

    let second = world.start(&[]);
    second.wait_text("Attach to it? [Y/n]");
    second.send("n\r");
    second.wait_box();
    assert_eq!(world.ask(&["ls", "--names"]), "proj\nproj-2\n");
    // A prompt is for a new session: nobody is asked.
    let third = world.start(&["Begin."]);
    third.wait_text("Hello.");
    third.send(NOTICES);
    third.wait_text("proj is already running here, detached");
    third.send("x");
    for name in ["proj", "proj-2", "proj-3"] {
        world.ask(&["stop", name]);
    }
    world.assert_nothing_left();
}
