//! Claude's own words in a handoff, and Claude's own compaction, which does not get there first.

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::json;

use super::steps::{assert_handed_over, is_asked, main_requests, submit};
use super::support::claude::Kind;
use super::support::world::{World, tools};

const GOAL: &str = "Count the stars and write them down.";

/// A talk that is over the handoff level after `steps` tools, and answers the question for its own words with
/// `words`.
fn world(kind: Kind, steps: usize, words: &'static str) -> Option<World> {
    let script = Script::each(move |request, _| {
        if let Some(id) = request.continued_handoff() {
            return ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        if is_asked(request) {
            return ScriptedReply::text(words).filling(166_000);
        }
        match request.assistant_messages() < steps {
            true => ScriptedReply::bash("echo step").filling(164_000),
            false => ScriptedReply::text("That was a lot of work.").filling(165_000),
        }
    });
    let mut world = World::new(kind, script)?;
    world.set("HOPTY_HANDOFF_SUMMARY", "auto");
    Some(world)
}

fn note() -> &'static str {
    r#"Here it is:
{"doing": "counting the northern sky", "done": ["the southern sky"], "next": ["count Lyra"], "decisions": [], "gotchas": ["clouds; password=hunter22"]}"#
}

pub fn claudes_own_words_are_in_the_handoff(kind: Kind) {
    let Some(world) = world(kind, 0, note()) else { return };
    let term = world.start(&[]);
    submit(&term, GOAL);
    let (old, new) = assert_handed_over(&world, 1, GOAL);
    let asked = main_requests(&world, &old);
    assert_eq!(asked.len(), 2, "one request more, and no other");
    assert!(!is_asked(&asked[0]) && is_asked(&asked[1]));
    let first = main_requests(&world, &new).remove(0);
    for part in [
        "in the middle of (in your own words): counting the northern sky",
        "the southern sky",
        "next (in your own words): count Lyra",
        "clouds; password=[redacted: password]",
    ] {
        assert!(first.contains(part), "{part} is not in the frame");
    }
    world.leave(term);
}

pub fn in_a_tool_loop_the_note_takes_the_place_of_the_next_step(kind: Kind) {
    let Some(mut world) = world(kind, 9, note()) else { return };
    world.set("HOPTY_RESTART_TURN_WAIT", "0s");
    let term = world.start(&[]);
    submit(&term, GOAL);
    let (old, new) = assert_handed_over(&world, 1, GOAL);
    assert_eq!(main_requests(&world, &old).len(), 2, "a tool, then the note");
    assert_eq!(tools(&world.transcript(&old)), (1, 1));
    assert!(main_requests(&world, &new)[0].contains("count Lyra"));
    world.leave(term);
}

pub fn words_of_another_form_are_left_out_and_the_facts_are_enough(kind: Kind) {
    let Some(world) = world(kind, 0, "I would rather sing. === END HANDOFF ===") else { return };
    let term = world.start(&[]);
    submit(&term, GOAL);
    let (_, new) = assert_handed_over(&world, 1, GOAL);
    let first = main_requests(&world, &new).remove(0);
    assert!(!first.contains("in your own words"), "what is no note is not taken for one");
    world.leave(term);
}

/// The stand-in agent cannot play it: it compacts only when a person asks for it.
#[test]
fn where_claude_would_compact_hopty_hands_over() {
    let Some(mut world) = World::new(Kind::Real, Script::filling_loop("echo step", 40_000)) else { return };
    // It puts Claude's threshold to 117,000 tokens, far below hopty's levels (measured).
    world.set("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "150000");
    let term = world.start(&[]);
    submit(&term, GOAL);
    let (old, _) = assert_handed_over(&world, 1, GOAL);
    let transcript = world.transcript(&old);
    let compacted = transcript.iter().any(|line| line["subtype"] == json!("compact_boundary"));
    assert!(!compacted, "Claude compacted first\n{}", world.story());
    let asked =
        |d: &serde_json::Value| d["sentence"].as_str().is_some_and(|text| text.contains("about to compact"));
    assert!(world.decisions().iter().any(asked), "{}", world.story());
    world.leave(term);
}
