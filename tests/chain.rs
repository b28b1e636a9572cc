//! The main job, end to end, with the stand-in agent and with the real Claude Code: the same cases for both, so that the
//! stand-in cannot drift into fiction. `docs/TESTING.md` has the table.

mod support;

use hopty::standin::script::{Reply, Script};
use support::claude::Kind;
use support::world::{World, tools};

/// Each case becomes two tests, `stand_in::NAME` and `real::NAME`.
macro_rules! both {
    ($($name:ident),* $(,)?) => {
        mod stand_in {
            $(#[test] fn $name() { super::$name(super::Kind::StandIn); })*
        }
        mod real {
            $(#[test] fn $name() { super::$name(super::Kind::Real); })*
        }
    };
}

both! {
    a_prompt_is_answered_and_exit_leaves_a_whole_terminal,
    a_tool_loop_over_the_hard_level_hands_over_at_a_tool_boundary,
}

fn a_prompt_is_answered_and_exit_leaves_a_whole_terminal(kind: Kind) {
    let Some(world) = World::new(kind, Script::list([Reply::text("The answer is 42.").filling(1000)])) else { return };
    let settings = std::fs::read(world.claude_dir().join("settings.json")).unwrap();
    let mut term = world.start(&[]);
    term.wait_box();
    term.send("what is the answer?");
    term.wait_text("what is the answer?");
    term.send("\r");
    term.wait_text("The answer is 42.");
    world.wait_state("idle");
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    assert!(!world.transcript(&conversation).is_empty(), "a transcript is written");
    term.send("/exit");
    term.wait_text("/exit");
    term.send("\r");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
    assert_eq!(std::fs::read(world.claude_dir().join("settings.json")).unwrap(), settings, "settings are left alone");
    world.assert_replays();
    world.assert_nothing_left();
}

fn a_tool_loop_over_the_hard_level_hands_over_at_a_tool_boundary(kind: Kind) {
    let Some(world) = World::new(kind, Script::filling_loop("echo step", 40_000)) else { return };
    let mut term = world.start(&[]);
    term.wait_box();
    let goal = "Count the stars, one by one, and never stop.";
    term.send(goal);
    term.wait_text(goal);
    term.send("\r");
    world.wait_decision("handoff.consumed", 1);
    let decisions = world.decisions();
    let saved = decisions.iter().find(|d| d["kind"] == "handoff.saved").unwrap()["handoff"].as_str().unwrap().to_owned();
    let new = decisions.iter().find(|d| d["kind"] == "delivery.submitted").unwrap()["conversation"].as_str().unwrap().to_owned();
    let old = decisions.iter().find(|d| d["kind"] == "run.spawned").unwrap()["conversation"].as_str().unwrap().to_owned();
    assert_ne!(old, new);
    let (uses, results) = tools(&world.transcript(&old));
    assert_eq!((uses, results), (5, 5), "no tool result is lost");
    let (of_old, of_new) = (world.api.requests_of(&old), world.api.requests_of(&new));
    let main = |list: &[std::sync::Arc<hopty::standin::request::Request>]| {
        list.iter().filter(|r| r.kind == hopty::standin::request::Kind::Main).count()
    };
    assert_eq!(main(&of_old), 5, "not one more request from the old conversation");
    let first = of_new.iter().find(|r| r.kind == hopty::standin::request::Kind::Main).unwrap();
    assert!(first.contains(&format!("=== HANDOFF LOADED (ID: {saved}) ===")), "the frame is there");
    assert!(first.contains("=== END HANDOFF ==="));
    assert!(first.contains(goal), "the goal is there, verbatim");
    let prompt = format!("Continue from handoff {saved}.");
    let times: usize = first.texts().iter().map(|(_, text)| text.matches(&prompt).count()).sum();
    assert_eq!(times, 1, "the prompt is there exactly once");
    world.wait_state("idle");
    term.send("/exit");
    term.wait_text("/exit");
    term.send("\r");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
    world.assert_replays();
    world.assert_nothing_left();
}
