//! Hand-overs that a person, or Claude itself, asks for.

use std::os::unix::fs::MetadataExt;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::{assert_handed_over, main_requests, quiet_talk, submit, talk, text_of};
use super::support::claude::{self, Kind};
use super::support::wait_for;
use super::support::world::World;

pub fn hopty_restart_hands_over_an_idle_session(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, conversation) = talk(&world);
    let said = world.ask(&["restart", "proj"]);
    assert_eq!(said, "restart of proj requested: waiting for a safe point\n");
    let (old, new) = assert_handed_over(&world, 1, "Say hello to me.");
    assert_eq!(old, conversation);
    let between = String::from_utf8_lossy(&term.bytes()).into_owned();
    assert!(
        between.contains("hopty: handing over as HO-") && !between.contains("% full"),
        "a person's restart has no reason but theirs"
    );
    world.wait_state("idle");
    world.wait_decision("handoff.consumed", 1);
    let why = world.ask(&["why", "proj"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(world.status()["why"], why);
    assert!(why.starts_with("Handed over at "), "{why}");
    assert!(why.contains(" %, as requested (HO-"), "{why}");
    let undo = "; the fresh conversation has answered. `hopty back` returns to the conversation before.";
    assert!(why.ends_with(undo), "{why}");
    let said = world.ask(&["restart", "proj", "--wait"]);
    assert!(said.contains("handed over as HO-"), "{said}");
    let (old, _) = assert_handed_over(&world, 2, "Say hello to me.");
    assert_eq!(old, new);
    // The worker writes it after the decision.
    let manifest = wait_for("the manifest to say consumed", || {
        let text = std::fs::read(world.claude_dir().join("handoff/global.manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&text).unwrap();
        (manifest["current"]["status"] == "consumed").then_some(manifest)
    });
    assert_eq!(manifest["history"][0]["status"], "consumed");
    assert_eq!(manifest["current"]["predecessor"], manifest["history"][0]["id"]);
    let record = world.claude_dir().join("handoff/records").join(manifest["current"]["id"].as_str().unwrap());
    wait_for("the transcript's copy", || record.join("transcript.jsonl.gz").exists().then_some(()));
    for file in ["handoff.md", "state.json"] {
        assert_eq!(std::fs::metadata(record.join(file)).unwrap().mode() & 0o777, 0o600, "{file}");
    }
    world.leave(term);
}

pub fn a_restart_from_inside_claudes_own_bash(kind: Kind) {
    let hopty = claude::hopty().display().to_string();
    let script = Script::each(move |request, _| {
        if let Some(id) = request.continued_handoff() {
            return ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        if request.assistant_messages() == 0 {
            return ScriptedReply::bash(format!("{hopty} restart && {hopty} stop; echo code $?"))
                .filling(2000);
        }
        ScriptedReply::text("I asked for it.").filling(2500)
    });
    let Some(world) = World::new(kind, script) else { return };
    let term = world.start(&[]);
    submit(&term, "Restart yourself.");
    let (old, _) = assert_handed_over(&world, 1, "Restart yourself.");
    let requests = main_requests(&world, &old);
    let results = requests.last().unwrap().tool_results();
    assert!(results[0].1.contains("restart of proj requested"), "{results:?}");
    assert!(
        results[0].1.contains("may not stop it") && results[0].1.contains("code 4"),
        "a descendant may not stop its session: {results:?}"
    );
    world.leave(term);
}

pub fn a_pending_handoff_is_loaded_on_request(kind: Kind) {
    let Some(mut world) = World::new(kind, quiet_talk()) else { return };
    world.set("HOPTY_AGENT_EXIT_MS", "500");
    let settings_path = world.claude_dir().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&std::fs::read(&settings_path).unwrap()).unwrap();
    settings["hooks"] =
        json!({"SessionEnd": [{"hooks": [{"type": "command", "command": "sleep 1", "timeout": 5}]}]});
    std::fs::write(&settings_path, settings.to_string()).unwrap();
    let (mut term, _) = talk(&world);
    world.ask(&["restart", "proj"]);
    world.wait_decision("stop.sent", 1);
    term.send("\x03");
    term.wait_exit();
    drop(term);
    world.assert_nothing_left();
    let term = world.start(&["--handoff"]);
    world.wait_decision("handoff.consumed", 1);
    let new = text_of(&world.wait_decision("delivery.submitted", 1), "conversation");
    let first = main_requests(&world, &new).into_iter().next().unwrap();
    assert!(first.contains("=== HANDOFF LOADED") && first.contains("Say hello to me."));
    world.leave(term);
    let again = world.hopty(&["--detached", "--handoff"]);
    assert_eq!(
        again.status.code(),
        Some(1),
        "a handoff has one reader: {}",
        String::from_utf8_lossy(&again.stderr)
    );
    assert!(String::from_utf8_lossy(&again.stderr).contains("hint:"));
}

#[cfg(debug_assertions)]
/// The copy takes as long as the test wants, whoever wrote the transcript.
#[test]
fn a_hand_over_does_not_wait_for_the_copy_of_an_earlier_one() {
    let Some(mut world) = World::new(Kind::StandIn, quiet_talk()) else { return };
    let slow = world.faults().join("slow-copy");
    std::fs::write(&slow, "").unwrap();
    let (term, _) = talk(&world);
    let copied = |n: usize| {
        let id = text_of(&world.wait_decision("handoff.saved", n), "handoff");
        let state =
            std::fs::read(world.claude_dir().join("handoff/records").join(id).join("state.json")).unwrap();
        serde_json::from_slice::<serde_json::Value>(&state).unwrap()["transcript"].clone()
    };
    for n in 1..=2 {
        world.ask(&["restart", "proj"]);
        world.wait_decision("handoff.consumed", n);
        world.wait_state("idle");
    }
    assert_eq!((copied(1), copied(2)), ("pending".into(), "pending".into()));
    std::fs::remove_file(&slow).unwrap();
    wait_for("both copies", || (copied(1) == "done" && copied(2) == "done").then_some(()));
    world.leave(term);
}
