//! The main job on older versions of the real Claude Code. From 2.1.197 on everything works; what came before is supervised
//! by what it offers. `HOPTY_TEST_CLAUDE_VERSIONS` says where they are (`tests/support/claude.rs`); the newest version is
//! what every other test runs with.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::PathBuf;
use std::sync::Arc;

use hopty::standin::request::{Kind as Asks, Request};
use hopty::standin::script::{Reply, Script};
use support::claude::{self, Kind};
use support::term::Term;
use support::world::{World, tools};

macro_rules! versions {
    ($($module:ident $version:literal { $($name:ident),* $(,)? })*) => {
        $(mod $module {
            $(#[test] fn $name() {
                if let Some(program) = super::claude::version($version) { super::$name(program); }
            })*
        })*
    };
}

versions! {
    v2_1_197 "2.1.197" { answers_and_ends, hands_over_at_a_tool_boundary }
    v2_1_240 "2.1.240" { answers_and_ends, hands_over_at_a_tool_boundary }
    v2_1_300 "2.1.300" { answers_and_ends, hands_over_at_a_tool_boundary }
}

mod newest {
    #[test]
    fn answers_and_ends() {
        if let Some(program) = super::claude::real() {
            super::answers_and_ends(program);
        }
    }

    #[test]
    fn hands_over_at_a_tool_boundary() {
        if let Some(program) = super::claude::real() {
            super::hands_over_at_a_tool_boundary(program);
        }
    }
}

fn world(program: PathBuf, script: Script) -> World {
    World::with(Kind::Real, Some(program), script)
}

fn prompt(term: &Term, text: &str) {
    term.send(text);
    term.wait_text(text);
    term.send("\r");
}

fn leave(world: &World, mut term: Term) {
    prompt(&term, "/exit");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
    world.assert_replays();
    world.assert_nothing_left();
}

fn main_requests(world: &World, conversation: &str) -> Vec<Arc<Request>> {
    world.api.requests_of(conversation).into_iter().filter(|request| request.kind == Asks::Main).collect()
}

fn answers_and_ends(program: PathBuf) {
    let world = world(program, Script::list([Reply::text("The answer is 42.").filling(1000)]));
    let settings = std::fs::read(world.claude_dir().join("settings.json")).unwrap();
    let term = world.start(&[]);
    term.wait_box();
    prompt(&term, "what is the answer?");
    term.wait_text("The answer is 42.");
    world.wait_state("idle");
    leave(&world, term);
    assert_eq!(std::fs::read(world.claude_dir().join("settings.json")).unwrap(), settings, "settings are left alone");
}

fn hands_over_at_a_tool_boundary(program: PathBuf) {
    let world = world(program, Script::filling_loop("echo step", 40_000));
    let term = world.start(&[]);
    term.wait_box();
    prompt(&term, "Count the stars.");
    world.wait_decision("handoff.consumed", 1);
    let named = |kind: &str, field: &str| world.wait_decision(kind, 1)[field].as_str().unwrap().to_owned();
    let (old, new) = (named("run.spawned", "conversation"), named("delivery.submitted", "conversation"));
    let saved = named("handoff.saved", "handoff");
    assert_eq!(tools(&world.transcript(&old)), (5, 5), "no tool result is lost");
    assert_eq!(main_requests(&world, &old).len(), 5, "not one more request from the old conversation");
    let first = main_requests(&world, &new).into_iter().next().unwrap();
    assert!(first.contains(&format!("=== HANDOFF LOADED (ID: {saved}) ===")), "the frame is there");
    assert!(first.contains("Count the stars."), "the goal is there");
    let prompt = format!("Continue from handoff {saved}.");
    let times: usize = first.texts().iter().map(|(_, text)| text.matches(&prompt).count()).sum();
    assert_eq!(times, 1, "the prompt is there exactly once");
    world.wait_state("idle");
    leave(&world, term);
}
