//! `hopty restart`: what it prints and when it returns.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;
use super::{assert_fails, end_all};

/// The agent, idle after one answered prompt.
fn idle() -> (World, super::support::term::Term) {
    let replies = (0..20).map(|n| ScriptedReply::text(format!("Answer {n}.")).filling(1000));
    asked(World::new(Kind::StandIn, Script::list(replies)).unwrap())
}

fn asked(world: World) -> (World, super::support::term::Term) {
    let term = world.start(&[]);
    term.wait_box();
    term.send("a question");
    term.wait_text("a question");
    term.send("\r");
    term.wait_text("Answer 0.");
    world.wait_state("idle");
    (world, term)
}

#[test]
fn it_returns_at_once_and_says_so() {
    let (world, mut term) = idle();
    assert_eq!(world.ask(&["restart", "proj"]), "restart of proj requested: waiting for a safe point\n");
    world.wait_decision("delivery.submitted", 1);
    world.wait_state("idle");
    let answer: Value = serde_json::from_str(&world.ask(&["restart", "proj", "--json"])).unwrap();
    assert_eq!(answer.as_object().unwrap().keys().collect::<Vec<_>>(), ["request", "state"]);
    assert!(answer["request"].is_u64() && answer["state"] == "accepted");
    world.wait_decision("delivery.submitted", 2);
    world.wait_state("idle");
    assert_eq!(world.ask(&["restart", "--now"]), "restart of proj requested: waiting for a safe point\n");
    world.wait_decision("delivery.submitted", 3);
    end_all(&world);
    term.wait_exit();
    term.assert_whole();
    world.assert_replays();
}

#[test]
fn wait_returns_when_the_new_conversation_has_its_prompt() {
    let (world, mut term) = idle();
    let said = world.ask(&["restart", "proj", "--wait"]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "restart of proj requested: waiting for a safe point");
    let submitted = world.wait_decision("delivery.submitted", 1);
    let (handoff, conversation) =
        (submitted["handoff"].as_str().unwrap(), submitted["conversation"].as_str().unwrap());
    assert_eq!(lines[1..], [format!("handed over as {handoff}; conversation {conversation}")]);
    world.wait_state("idle");
    let status = world.status();
    assert_eq!(
        (&status["run"], &status["restarts"], &status["conversation"]),
        (&2.into(), &1.into(), &conversation.into())
    );
    end_all(&world);
    term.wait_exit();
}

/// The line between two runs is of the restart at hand, not of the handoff before it.
#[test]
fn a_restart_without_a_handoff_says_so_also_after_one_with_a_handoff() {
    let (world, mut term) = idle();
    world.ask(&["restart", "proj", "--wait"]);
    world.wait_decision("handoff.consumed", 1);
    world.wait_state("idle");
    term.wait_text("handing over as HO-");
    world.ask(&["restart", "proj", "--no-handoff", "--wait"]);
    term.wait_text("starting a fresh conversation");
    world.wait_state("idle");
    let shown = String::from_utf8_lossy(&term.bytes()).into_owned();
    let count = |words: &str| shown.matches(words).count();
    assert_eq!((count("hopty: handing over as HO-"), count("hopty: starting a fresh conversation")), (1, 1));
    end_all(&world);
    term.wait_exit();
}

#[test]
fn where_nothing_was_said_the_fresh_conversation_gets_no_handoff() {
    let replies = (0..20).map(|n| ScriptedReply::text(format!("Answer {n}.")).filling(1000));
    let world = World::new(Kind::StandIn, Script::list(replies)).unwrap();
    let mut term = world.start(&[]);
    term.wait_box();
    world.wait_state("idle");
    wait_for("the hook of the start", || world.journal().contains("\"SessionStart\"").then_some(()));
    let conversation = || world.status()["conversation"].as_str().unwrap().to_owned();
    let first = conversation();
    let said = world.ask(&["restart", "proj", "--wait"]);
    let second = conversation();
    let requested = "restart of proj requested: waiting for a safe point";
    assert_eq!(said, format!("{requested}\nstarted fresh without a handoff; conversation {second}\n"));
    assert_ne!(first, second);
    let skipped = world.wait_decision("handoff.skipped", 1);
    assert_eq!(
        skipped["sentence"],
        "Nothing has been said in this conversation: Claude starts afresh without a handoff."
    );
    world.wait_state("idle");
    // With a signal, too.
    std::fs::write(
        world.claude_dir().join(".restart-session"),
        format!("{second}:{}\n", world.project.display()),
    )
    .unwrap();
    world.wait_decision("run.spawned", 3);
    world.wait_state("idle");
    let said = world.ask(&["restart", "proj", "--wait", "--json"]);
    let done: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!((&done["handoff"], &done["conversation"]), (&Value::Null, &conversation().into()), "{said}");
    world.wait_state("idle");
    assert_eq!(world.wait_decision("handoff.skipped", 3)["run"], 3);
    assert!(!world.decisions().iter().any(|d| d["kind"] == "handoff.saved"), "{}", world.story());
    assert_eq!(world.api.main_requests().len(), 0, "nothing was submitted");
    // The first word makes it worth a handoff.
    term.submit("a question");
    term.wait_text("Answer 0.");
    world.wait_state("idle");
    let said = world.ask(&["restart", "proj", "--wait"]);
    assert!(said.contains("handed over as HO-"), "{said}");
    world.wait_state("idle");
    end_all(&world);
    term.wait_exit();
    term.assert_whole();
    world.assert_replays();
}

#[test]
fn wait_fails_when_the_session_ends_first() {
    // The turn never ends, so the restart waits.
    let replies = [ScriptedReply::text("Slowly.").filling(1000).after_ms(600_000)];
    let world = World::new(Kind::StandIn, Script::list(replies)).unwrap();
    let mut term = world.start(&[]);
    term.wait_box();
    term.send("a question");
    term.wait_text("a question");
    term.send("\r");
    world.wait_state("busy");
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.hopty(&["restart", "proj", "--wait"]));
        world.wait_decision("restart.requested", 1);
        world.ask(&["stop", "proj", "--kill"]);
        assert_fails(&waiting.join().unwrap(), 1, "restart: proj: ");
    });
    assert!(begun.elapsed().as_secs() < 30);
    term.wait_exit();
    world.assert_nothing_left();
}

#[test]
fn a_program_that_is_no_agent_starts_afresh() {
    let world = super::world();
    let mut term = world.terminal(&["run", "--", "sh", "-c", "echo run $HOPTY_RUN; exec cat"]);
    term.wait_text("run 1");
    world.ask(&["restart", "proj", "--no-handoff"]);
    term.wait_text("run 2");
    term.send("typed\r");
    term.wait_for("the echo of cat", |s| s.lines().iter().filter(|l| **l == "typed").count() == 2);
    end_all(&world);
    term.wait_exit();
    term.assert_whole();
}

/// An agent that starts `sleep 1000` at its start and does not end it.
fn leaves_a_process() -> World {
    let replies = (0..3).map(|n| ScriptedReply::text(format!("Answer {n}.")).filling(1000));
    let mut world = World::new(Kind::StandIn, Script::list(replies)).unwrap();
    let agent = world
        .env
        .iter()
        .find(|(name, _)| name == "HOPTY_PROGRAM_CLAUDE")
        .unwrap()
        .1
        .to_str()
        .unwrap()
        .to_owned();
    let wrapper = world.home.join("wrapper");
    std::fs::write(
        &wrapper,
        format!("#!/bin/sh\nsetsid sleep 1000 </dev/null >/dev/null 2>&1 &\nexec '{agent}' \"$@\"\n"),
    )
    .unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o700)).unwrap();
    world.set("HOPTY_PROGRAM_CLAUDE", wrapper.to_str().unwrap());
    world
}

#[test]
fn what_a_run_leaves_behind_is_ended_and_told() {
    let (world, mut term) = asked(leaves_a_process());
    world.ask(&["restart", "proj"]);
    let reaped = world.wait_decision("tree.reaped", 1);
    assert_eq!(reaped["sentence"], "hopty ended 1 process that run 1 left behind.");
    world.wait_decision("delivery.submitted", 1);
    world.wait_state("idle");
    end_all(&world);
    term.wait_exit();
    world.assert_replays();
}

#[test]
fn what_a_run_leaves_behind_is_left_alone_where_that_is_configured() {
    let mut world = leaves_a_process();
    world.set("HOPTY_RESTART_REAP", "none");
    let (world, mut term) = asked(world);
    let sleeps = |world: &World| -> Vec<i32> {
        let all = world.processes().into_iter();
        all.filter(|(_, command)| command.starts_with("sleep 1000")).map(|(pid, _)| pid).collect()
    };
    let before = sleeps(&world);
    assert_eq!(before.len(), 1);
    world.ask(&["restart", "proj", "--wait"]);
    let after = sleeps(&world);
    assert!(after.contains(&before[0]) && after.len() == 2, "{before:?} {after:?}");
    for pid in after {
        super::support::kill(pid, nix::libc::SIGKILL);
    }
    end_all(&world);
    term.wait_exit();
}

/// `program.update_env`: what the terminal that attached last has, the next run gets.
#[test]
fn the_next_run_has_the_variables_of_the_last_client() {
    let mut world = super::world();
    world.set("HOPTY_PROGRAM_UPDATE_ENV", "LENT");
    world.set("LENT", "one");
    world.set("KEPT", "one");
    world.run_detached("one", &["sh", "-c", "echo $LENT-$KEPT; exec cat"]);
    world.ask(&["wait", "one", "text=one-one"]);
    world.set("LENT", "two");
    world.set("KEPT", "two");
    let mut term = world.terminal(&["attach", "one"]);
    term.wait_text("one-one");
    world.ask(&["restart", "one", "--wait"]);
    term.wait_text("two-one");
    end_all(&world);
    term.wait_exit();
}

#[test]
fn a_program_that_is_no_agent_is_only_started_anew() {
    let world = super::world();
    world.run_detached("one", &["cat"]);
    let said = world.ask(&["restart", "one", "--wait"]);
    assert_eq!(said, "restart of one requested\nrestarted\n");
    end_all(&world);
}

/// For a moment the machine has no processes left: the session waits with all that the next run is to get.
#[cfg(debug_assertions)]
#[test]
fn a_next_run_that_cannot_be_started_at_once_is_started_later() {
    let script = Script::each(|_, n| ScriptedReply::text(format!("Answer {n}.")).filling(1000));
    let mut world = World::new(Kind::StandIn, script).unwrap();
    let fault = world.faults().join("no-fork");
    let (world, mut term) = asked(world);
    std::fs::write(&fault, "").unwrap();
    world.ask(&["restart", "proj", "--now"]);
    world.wait_decision("delivery.submitted", 1);
    assert!(!fault.exists(), "the start failed once");
    assert_eq!(world.status()["run"], 2);
    end_all(&world);
    term.wait_exit();
    world.assert_replays();
}

#[cfg(debug_assertions)]
#[test]
fn without_inotify_files_are_looked_at_and_that_is_said_once() {
    let replies = (0..3).map(|n| ScriptedReply::text(format!("Answer {n}.")).filling(1000));
    let mut world = World::new(Kind::StandIn, Script::list(replies)).unwrap();
    std::fs::write(world.faults().join("no-inotify"), "").unwrap();
    let (world, mut term) = asked(world);
    let said = world.wait_decision("degraded", 1);
    assert!(
        said["sentence"].as_str().unwrap().contains("reads them every 250 ms, when idle every 4000 ms"),
        "{said}"
    );
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    let signal = world.claude_dir().join(".restart-session");
    std::fs::write(&signal, format!("{conversation}:{}\n", world.project.display())).unwrap();
    world.wait_decision("delivery.submitted", 1);
    world.wait_state("idle");
    assert_eq!(world.decisions().iter().filter(|d| d["kind"] == "degraded").count(), 1);
    end_all(&world);
    term.wait_exit();
    world.assert_replays();
}

/// Claude has not come to the prompt of its arguments yet: the fresh one gets it, once.
#[test]
fn a_first_prompt_that_was_not_submitted_goes_to_the_fresh_conversation() {
    for kind in [Kind::StandIn, Kind::Real] {
        let script = Script::each(|_, _| ScriptedReply::text("It is done.").filling(1000));
        let Some(world) = World::new(kind, script) else { continue };
        let file = world.claude_dir().join("settings.json");
        let mut settings: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let command = "mkdir first 2>/dev/null && sleep 60; true";
        settings["hooks"] = json!({"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]});
        std::fs::write(&file, settings.to_string()).unwrap();
        let term = world.start(&["Take the first step."]);
        wait_for("the hook of the start", || world.journal().contains("\"SessionStart\"").then_some(()));
        let said = world.ask(&["restart", "proj", "--now", "--wait"]);
        assert!(said.contains("started fresh without a handoff"), "{said}");
        term.wait_text("It is done.");
        world.wait_state("idle");
        assert_eq!(world.status()["run"], 2, "{}", world.story());
        let requests = world.api.main_requests();
        assert_eq!(requests.len(), 1, "{}", world.story());
        assert!(requests[0].contains("Take the first step."), "{:?}", requests[0].texts());
        world.leave(term);
    }
}

/// Every script begins so. Claude's files say idle before Claude comes to the prompt of its arguments.
#[test]
fn a_session_with_a_first_prompt_is_idle_once_it_has_answered() {
    for kind in [Kind::StandIn, Kind::Real] {
        let script = Script::each(|_, _| ScriptedReply::text("It is done.").after_ms(300).filling(1000));
        let Some(world) = World::new(kind, script) else { continue };
        for condition in [&["idle"][..], &["not", "busy"]] {
            let args: Vec<&str> = world.args.iter().map(String::as_str).collect();
            world.ask(&[&["--detached"][..], &args, &["Take the first step."]].concat());
            world.ask(&[&["wait", "proj"][..], condition, &["--timeout", "60s"]].concat());
            assert_eq!(world.ask(&["answer", "proj"]), "It is done.\n", "{}", world.story());
            end_all(&world);
        }
    }
}

/// The conversation that is resumed has something to hand over, and Claude has not come to the prompt yet.
#[test]
fn a_prompt_for_a_resumed_conversation_that_was_not_submitted_goes_along_with_the_handoff() {
    let script = Script::each(|request, _| match request.contains("Take the second step.") {
        true => ScriptedReply::text("The second one is done.").filling(1000),
        false => ScriptedReply::text("The first one is done.").filling(1000),
    });
    let world = World::new(Kind::StandIn, script).unwrap();
    let term = world.start(&["Take the first step."]);
    term.wait_text("The first one is done.");
    world.wait_state("idle");
    let id = world.status()["conversation"].as_str().unwrap().to_owned();
    world.leave(term);
    let file = world.claude_dir().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let command = "mkdir first 2>/dev/null && sleep 60; true";
    settings["hooks"] = json!({"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]});
    std::fs::write(&file, settings.to_string()).unwrap();
    let term = world.start(&["--resume", &id, "Take the second step."]);
    wait_for("the hook of the start", || world.journal().contains("\"source\":\"resume\"").then_some(()));
    world.ask(&["restart", "proj", "--now", "--wait"]);
    term.wait_text("The second one is done.");
    world.wait_state("idle");
    assert_eq!(world.status()["run"], 2, "{}", world.story());
    let requests = world.api.main_requests();
    let with_it = requests.iter().filter(|request| request.contains("Take the second step."));
    assert_eq!(with_it.count(), 1, "{}", world.story());
    world.leave(term);
}

/// The hook of the prompt is yet to come when the key is pressed.
#[test]
fn a_hand_over_by_key_right_behind_the_first_prompt_waits_for_it() {
    let script = Script::each(|request, _| match request.contains("=== HANDOFF LOADED") {
        true => ScriptedReply::text("The new one has it.").filling(2000),
        false => ScriptedReply::text("The answer.").filling(1000),
    });
    let world = World::new(Kind::StandIn, script).unwrap();
    let term = world.start(&[]);
    term.wait_box();
    term.send("a question");
    term.wait_text("a question");
    term.send("\r\x1cr");
    world.wait_decision("restart.requested", 1);
    let why = world.wait_decision("handoff.saved", 1);
    assert_eq!(why["run"], 1, "{}", world.story());
    term.wait_text("The new one has it.");
    assert!(!String::from_utf8_lossy(&term.bytes()).contains("No hand-over"), "{}", world.story());
    world.leave(term);
}
