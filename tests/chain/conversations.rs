//! A conversation from its first prompt to `/exit`, and where another begins.

use hopty::standin::script::{Reply, Script};

use super::steps::{main_requests, quiet_talk, submit, talk, text_of};
use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;

pub fn a_prompt_is_answered_and_exit_leaves_a_whole_terminal(kind: Kind) {
    let Some(world) = World::new(kind, Script::list([Reply::text("The answer is 42.").filling(1000)])) else { return };
    let settings = std::fs::read(world.claude_dir().join("settings.json")).unwrap();
    let term = world.start(&[]);
    submit(&term, "what is the answer?");
    term.wait_text("The answer is 42.");
    world.wait_state("idle");
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    assert!(!world.transcript(&conversation).is_empty(), "a transcript is written");
    world.leave(term);
    assert_eq!(std::fs::read(world.claude_dir().join("settings.json")).unwrap(), settings, "settings are left alone");
}

pub fn item_002_clear_begins_another_conversation_and_it_is_followed(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, conversation) = talk(&world);
    submit(&term, "/clear");
    let changed = world.wait_decision("conversation.changed", 1);
    let new = text_of(&changed, "conversation");
    assert_ne!(new, conversation);
    // A signal that names the old one is foreign now; one that names the new one is obeyed.
    let signal = world.claude_dir().join(".restart-session");
    std::fs::write(&signal, format!("{conversation}:{}", world.project.display())).unwrap();
    world.wait_decision("restart.ignored", 1);
    submit(&term, "Say hello to me, newly.");
    wait_for("the answer", || (main_requests(&world, &new).len() == 1).then_some(()));
    world.wait_state("idle");
    let replaced = signal.with_extension("new");
    std::fs::write(&replaced, format!("{new}:{}", world.project.display())).unwrap();
    std::fs::rename(&replaced, &signal).unwrap();
    world.wait_decision("handoff.consumed", 1);
    let submitted = world.wait_decision("delivery.submitted", 1);
    let first = main_requests(&world, &text_of(&submitted, "conversation")).into_iter().next().unwrap();
    assert!(first.contains(&format!("Previous Session: {new}")), "the handoff is of the conversation that asked");
    world.leave(term);
}

pub fn a_claude_inside_a_claude_writes_its_transcript(kind: Kind) {
    let Some(mut world) = World::new(kind, quiet_talk()) else { return };
    for name in ["CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "AI_AGENT"] {
        world.set(name, "1");
    }
    let (term, conversation) = talk(&world);
    wait_for("the transcript", || (!world.transcript(&conversation).is_empty()).then_some(()));
    world.leave(term);
}
