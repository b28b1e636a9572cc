//! Ends that hopty did not ask for: Ctrl+C, and a kill from outside.

use serde_json::{Value, json};

use super::steps::{main_requests, quiet_talk, submit, talk, text_of};
use super::support::claude::Kind;
use super::support::world::World;
use super::support::{kill, wait_for};

pub fn ctrl_c_twice_ends_it_in_every_encoding(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let signal = world.claude_dir().join(".restart-session");
    for key in ["\x03", "\x1b[99;5u", "\x1b[27;5;99~"] {
        std::fs::write(&signal, "c74cc080-94b9-4841-b82f-a62cfb8efdc0:/home/somebody\n").unwrap();
        let mut term = world.start(&[]);
        term.wait_box();
        world.wait_state("idle");
        term.send(key);
        term.wait_text("again to exit");
        term.send(key);
        assert_eq!(term.wait_exit(), 0, "{key:?}");
        term.assert_whole();
        let end = world.decisions().into_iter().next_back().unwrap();
        assert_eq!(end["cause"], "user_interrupt", "{key:?}: {end}");
        let why = world.ask(&["why", "proj"]);
        assert!(why.contains("Ctrl+C"), "{why}");
        world.assert_replays();
        world.assert_nothing_left();
    }
}

pub fn ctrl_c_during_a_hand_over_wins(kind: Kind) {
    let Some(mut world) = World::new(kind, quiet_talk()) else { return };
    // A hook at the end makes stopping slow enough to press a key meanwhile.
    let settings_path = world.claude_dir().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&std::fs::read(&settings_path).unwrap()).unwrap();
    settings["hooks"] =
        json!({"SessionEnd": [{"hooks": [{"type": "command", "command": "sleep 2", "timeout": 5}]}]});
    std::fs::write(&settings_path, settings.to_string()).unwrap();
    world.set("HOPTY_AGENT_EXIT_MS", "1000");
    let (mut term, _) = talk(&world);
    term.send("an unsent thought");
    term.wait_text("an unsent thought");
    world.ask(&["restart", "proj", "--now"]);
    world.wait_decision("stop.sent", 1);
    let why = world.status()["why"].as_str().unwrap().to_owned();
    assert!(why.starts_with("Handing over at "), "{why}");
    assert!(why.contains("as requested: hopty ends Claude, and a fresh conversation starts next."), "{why}");
    term.send("\x03");
    term.wait_exit();
    term.assert_whole();
    let unsent = std::fs::read_to_string(world.session_dir().join("unsent.txt")).unwrap();
    assert_eq!(unsent, "an unsent thought", "a draft is not lost in silence");
    let end = world.decisions().into_iter().next_back().unwrap();
    assert_eq!(end["cause"], "user_interrupt", "{}", world.story());
    let handoff = text_of(&end, "handoff");
    wait_for("handoff and draft to be named on exit", || {
        let shown = String::from_utf8_lossy(&term.bytes()).into_owned();
        (shown.contains(&handoff) && shown.contains("unsent.txt")).then_some(())
    });
    assert_eq!(
        world.decisions().iter().filter(|d| d["kind"] == "run.spawned").count(),
        1,
        "nothing restarts"
    );
    let why = world.ask(&["why", "proj"]);
    assert!(why.contains("Ctrl+C") && why.contains(&handoff), "{why}");
    world.assert_replays();
    world.assert_nothing_left();
}

pub fn a_kill_from_outside_is_resumed(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, conversation) = talk(&world);
    let pid = i32::try_from(world.status()["pid"].as_i64().unwrap()).unwrap();
    kill(pid, nix::libc::SIGKILL);
    world.wait_decision("run.spawned", 2);
    let why = world.decisions().into_iter().find(|d| d["kind"] == "run.ended").unwrap();
    assert!(text_of(&why, "sentence").contains("SIGKILL from outside"), "{why}");
    term.wait_text("Hello.");
    world.wait_state("idle");
    assert_eq!(text_of(&world.status(), "conversation"), conversation, "the same conversation goes on");
    submit(&term, "And again, please.");
    wait_for("an answer in the same conversation", || {
        (main_requests(&world, &conversation).len() >= 2).then_some(())
    });
    world.leave(term);
}
