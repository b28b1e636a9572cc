//! `hopty rename`: everything speaks of the new name, and nothing that runs notices.

use std::process::Command;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;

use super::support::claude::{Kind, hopty};
use super::support::text;
use super::support::wait_for;
use super::support::world::World;
use super::{assert_fails, end_all, list, world};

fn asked() -> World {
    World::new(Kind::StandIn, Script::each(|_, _| ScriptedReply::text("Hello.").filling(1000))).unwrap()
}

fn variable(world: &World, name: &str, variable: &str) -> String {
    let pid = world.status_of(name)["pid"].as_i64().unwrap();
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    let found =
        environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(variable.as_bytes()));
    text(found.unwrap())
}

/// Everything by the new name, nothing by the old one, with a client that stays and a Claude whose hooks go
/// on.
#[test]
fn a_session_with_a_client_is_renamed_and_nobody_notices() {
    let world = asked();
    let mut term = world.start(&[]);
    term.wait_box();
    term.submit("One?");
    term.wait_text("Hello.");
    world.wait_state("idle");
    assert_eq!(world.ask(&["rename", "proj", "rocket"]), "");
    let hint = "hint: it was renamed to rocket";
    for verb in ["status", "attach", "stop", "send", "why", "screen", "restart", "rm", "ls", "context"] {
        let words: &[&str] = if verb == "send" { &["send", "proj", "x"] } else { &[verb, "proj"] };
        let output = world.hopty(words);
        assert_fails(&output, 3, "proj: there is no such session");
        assert!(text(&output.stderr).contains(hint), "{verb}: {}", text(&output.stderr));
    }
    assert_eq!(world.ask(&["ls", "--names"]), "rocket\n");
    assert!(world.ask(&["ls", "--format", "tmux"]).starts_with("rocket idle"));
    // From inside, by what the program was told at its start.
    let inside = Command::new(hopty())
        .args(["status", "--json"])
        .env_clear()
        .envs(world.env.iter().cloned())
        .env("HOPTY_SESSION", "proj")
        .current_dir("/")
        .output()
        .unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&inside.stdout).unwrap()["name"], "rocket");
    // The terminal goes on, and so do the hooks of the Claude that knows the old name.
    let prompts = || {
        let journal =
            std::fs::read_to_string(world.state_dir().join("sessions/rocket/journal.jsonl")).unwrap();
        journal.matches("\"event\":\"UserPromptSubmit\"").count()
    };
    assert_eq!(prompts(), 1);
    term.submit("Two?");
    wait_for("the turn", || {
        let now = world.status_of("rocket");
        (now["state"] == "idle" && now["work"]["prompt"] == "Two?").then_some(())
    });
    wait_for("the hook's call in the journal", || (prompts() == 2).then_some(()));
    assert_eq!(variable(&world, "rocket", "HOPTY_SESSION="), "proj");
    // A new session does not get the name that this Claude still uses.
    assert_fails(
        &world.hopty(&["run", "--name", "proj", "--detached", "--", "sleep", "100"]),
        1,
        "session rocket had it",
    );
    assert_eq!(world.ask(&["run", "--detached", "--", "sleep", "100"]), "proj-2\n");
    world.ask(&["stop", "proj-2", "--kill"]);
    // The next run is told the new name, and the journal goes on in one file.
    let said = world.ask(&["restart", "rocket", "--wait"]);
    assert!(said.contains("handed over as "), "{said}");
    assert_eq!(variable(&world, "rocket", "HOPTY_SESSION="), "rocket");
    assert!(variable(&world, "rocket", "HOPTY_SOCKET=").ends_with("/rocket.sock"));
    wait_for("the state", || (world.status_of("rocket")["state"] == "idle").then_some(()));
    world.assert_replays();
    // Detached and attached again by the new name.
    term.hang_up();
    term.wait_exit();
    let mut term = world.terminal(&["attach", "rocket"]);
    term.wait_box();
    term.submit("/exit");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
    world.assert_nothing_left();
    assert_eq!(world.status_of("rocket")["state"], "ended");
    assert_eq!(world.status_of("rocket")["name"], "rocket");
    assert_eq!(world.ask(&["ls", "--all", "--names"]), "proj-2\nrocket\n");
    // Now the name is free again.
    world.run_detached("proj", &["sleep", "100"]);
    world.ask(&["rm", "rocket"]);
    end_all(&world);
}

#[test]
fn names_that_are_taken_or_none_are_refused() {
    let world = world();
    world.run_detached("one", &["sleep", "100"]);
    world.run_detached("two", &["sleep", "100"]);
    world.run_detached("over", &["true"]);
    // Its host says that it ended, and has the name until it is gone itself.
    let refused = || text(&world.hopty(&["rename", "one", "over"]).stderr);
    wait_for("its end", || refused().contains("an ended session has that name").then_some(()));
    for (from, to, code, words) in [
        ("one", "two", 4, "one: two: the name is taken"),
        ("over", "two", 4, "over: two: the name is taken"),
        ("one", "No name", 2, "No name: not a session name"),
        ("one", "../one", 2, "../one: not a session name"),
        ("none", "new", 3, "none: there is no such session"),
    ] {
        assert_fails(&world.hopty(&["rename", from, to]), code, words);
    }
    let names = |all: &[&str]| world.ask(&[&["ls", "--names"], all].concat());
    assert_eq!(names(&["--all"]), "one\nover\ntwo\n");
    world.ask(&["rename", "one", "one"]);
    let said: Value = serde_json::from_str(&world.ask(&["rename", "--json", "over", "done"])).unwrap();
    assert_eq!(said, serde_json::json!({"name": "done", "before": "over"}));
    assert_eq!(world.status_of("done")["name"], "done");
    world.ask(&["rename", "one", "a"]);
    world.ask(&["rename", "a", "b"]);
    // Back to a name that it had.
    world.ask(&["rename", "b", "one"]);
    assert_eq!(names(&[]), "one\ntwo\n");
    let names: Vec<_> = list(&world).into_iter().map(|session| session["name"].clone()).collect();
    assert_eq!(names, ["one", "two"]);
    assert_fails(&world.hopty(&["why", "a"]), 3, "a: there is no such session");
    end_all(&world);
}

#[test]
fn a_host_that_is_killed_after_a_rename_leaves_nothing() {
    let world = world();
    world.run_detached("one", &["sh", "-c", "trap '' HUP TERM; while :; do sleep 1; done"]);
    world.ask(&["rename", "one", "two"]);
    let host = world.status_of("two")["host_pid"].as_i64().unwrap();
    hopty::sys::process::Process::open(i32::try_from(host).unwrap())
        .unwrap()
        .signal(hopty::core::process_change::Signal::KILL)
        .unwrap();
    wait_for("its end", || (world.status_of("two")["state"] == "ended").then_some(()));
    // The next session of that name ends the program of the one before.
    world.run_detached("two", &["sleep", "100"]);
    world.ask(&["ls"]);
    end_all(&world);
}

#[test]
fn labels_are_added_removed_listed_and_kept() {
    let world = world();
    let ls = |words: &[&str]| {
        let listed: Value = serde_json::from_str(&world.ask(&[&["ls", "--json"], words].concat())).unwrap();
        listed
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        world.ask(&[
            "run", "--name", "one", "--label", "work", "--label=api", "--detached", "--", "sleep", "100"
        ]),
        "one\n"
    );
    world.run_detached("two", &["sleep", "100"]);
    assert!(!world.ask(&["ls", "two"]).contains("LABELS"), "no label, no column");
    assert_eq!(world.ask(&["label", "one"]), "api\nwork\n");
    assert_eq!((ls(&["--label", "work"]), ls(&["--label", "none"])), (vec!["one".to_owned()], vec![]));
    assert_eq!(world.ask(&["label", "one", "+x", "-api"]), "");
    assert_eq!(world.ask(&["label", "two", "work"]), "");
    assert_eq!(ls(&["--label", "work"]), ["one", "two"]);
    assert_eq!(world.ask(&["ls", "--format", "{name} {labels}"]), "one work,x\ntwo work\n");
    assert!(world.ask(&["ls"]).lines().nth(1).unwrap().contains("work,x"));
    for bad in ["No", "a b", "+", "-", "--x y"] {
        assert_fails(&world.hopty(&["label", "one", bad]), 2, "not a label");
    }
    assert_fails(&world.hopty(&["ls", "--label", "No"]), 2, "not a label");
    assert_fails(&world.hopty(&["run", "--label", "No", "--", "true"]), 2, "not a label");
    // A name and an end leave them as they are.
    world.ask(&["rename", "one", "uno"]);
    world.ask(&["stop", "uno", "--kill"]);
    assert_eq!(ls(&["--all", "--label", "x"]), ["uno"]);
    let said: Value = serde_json::from_str(&world.ask(&["label", "--json", "uno", "old", "-x"])).unwrap();
    assert_eq!(said, serde_json::json!({"name": "uno", "labels": ["old", "work"]}));
    end_all(&world);
}
