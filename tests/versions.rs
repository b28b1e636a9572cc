//! The main job on older versions of the real Claude Code. From 2.1.197 on everything works; what came before
//! is supervised by what it offers. `HOPTY_TEST_CLAUDE_VERSIONS` says where they are
//! (`tests/support/claude.rs`); the newest version is what every other test runs with.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::PathBuf;
use std::sync::Arc;

use hopty::standin::request::{ApiRequest, AskerKind as Asks};
use hopty::standin::script::{Script, ScriptedReply};
use serde_json::json;
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
    // Supervised by what they offer.
    v2_0_76 "2.0.76" { answers_and_ends, hands_over_after_a_tool, hands_over_at_the_end_of_a_turn }
    v1_0_128 "1.0.128" { answers_and_ends, hands_over_without_hooks }
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

/// Starts hopty and waits for the prompt box, whose sign was `>` in old versions.
fn start(world: &World) -> Term {
    let term = world.start(&[]);
    let is_box = |line: &String| ["❯\u{a0}", ">\u{a0}", "> "].iter().any(|sign| line.starts_with(sign));
    term.wait_for("the prompt box", |screen| screen.lines().iter().any(is_box));
    term
}

fn main_requests(world: &World, conversation: &str) -> Vec<Arc<ApiRequest>> {
    world.api.requests_of(conversation).into_iter().filter(|request| request.kind == Asks::Main).collect()
}

fn answers_and_ends(program: PathBuf) {
    let world = world(program, Script::list([ScriptedReply::text("The answer is 42.").filling(1000)]));
    let settings = std::fs::read(world.claude_dir().join("settings.json")).unwrap();
    let term = start(&world);
    world.submit_first(&term, "what is the answer?");
    term.wait_text("The answer is 42.");
    world.wait_state("idle");
    world.leave(term);
    assert_eq!(
        std::fs::read(world.claude_dir().join("settings.json")).unwrap(),
        settings,
        "settings are left alone"
    );
}

fn hands_over_at_a_tool_boundary(program: PathBuf) {
    let world = world(program, Script::filling_loop("echo step", 40_000));
    let term = start(&world);
    world.submit_first(&term, "Count the stars.");
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
    world.leave(term);
}

/// Two tools at once, over the hard level: the turn is cut after both, their results are kept, no request
/// follows.
fn hands_over_after_a_tool(program: PathBuf) {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        None => {
            let slow = json!({"command": "sleep 0.7; echo two", "description": "scripted"});
            let filled = 60_000 * (request.assistant_messages() as u64 + 1);
            ScriptedReply::bash("echo one").and_tool("Bash", slow).filling(filled.min(199_000))
        }
    });
    let world = world(program, script);
    let term = start(&world);
    world.submit_first(&term, "Count the stars.");
    let (old, new) = handed_over(&world);
    assert_eq!(tools(&world.transcript(&old)), (6, 6), "no tool result is lost");
    assert_eq!(main_requests(&world, &old).len(), 3, "not one more request from the old conversation");
    assert!(main_requests(&world, &new)[0].contains("=== HANDOFF LOADED"), "the frame is there");
    world.leave(term);
}

fn hands_over_at_the_end_of_a_turn(program: PathBuf) {
    let world = world(program, one_turn());
    let term = start(&world);
    world.submit_first(&term, "Count the stars.");
    let (old, new) = handed_over(&world);
    assert_eq!(tools(&world.transcript(&old)), (1, 1));
    assert!(main_requests(&world, &new)[0].contains("=== HANDOFF LOADED"), "the frame is there");
    world.leave(term);
}

fn hands_over_without_hooks(program: PathBuf) {
    let world = world(program, one_turn());
    let term = start(&world);
    world.submit_first(&term, "Count the stars.");
    let (old, new) = handed_over(&world);
    assert_eq!(tools(&world.transcript(&old)), (1, 1));
    assert!(main_requests(&world, &new)[0].contains("handoff.md first."), "the prompt names the document");
    world.leave(term);
}

fn one_turn() -> Script {
    Script::each(|request, _| match (request.continued_handoff(), request.assistant_messages()) {
        (Some(id), _) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        (None, 0) => ScriptedReply::bash("echo step").filling(100_000),
        _ => ScriptedReply::text("The stars are counted.").filling(190_000),
    })
}

/// Waits for the hand-over, told once as limited, and gives the old and the new conversation.
fn handed_over(world: &World) -> (String, String) {
    world.wait_decision("handoff.consumed", 1);
    let named = |kind: &str, field: &str| world.wait_decision(kind, 1)[field].as_str().unwrap().to_owned();
    assert!(named("degraded", "sentence").starts_with("Claude Code "), "a person is told what is missing");
    let (old, new) = (named("run.spawned", "conversation"), named("delivery.submitted", "conversation"));
    let prompt = format!("Continue from handoff {}.", named("handoff.saved", "handoff"));
    let first = &main_requests(world, &new)[0];
    let times: usize = first.texts().iter().map(|(_, text)| text.matches(&prompt).count()).sum();
    assert_eq!(times, 1, "the prompt is there exactly once");
    (old, new)
}
