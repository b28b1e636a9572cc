//! Notifications arrive: each event, by each way, and not where somebody is there.

#![allow(clippy::unwrap_used)]

mod support;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;

use support::claude::Kind;
use support::wait_for;
use support::world::World;

/// Makes a file, which needs a permission, and says so.
fn makes_a_file() -> Script {
    Script::each(|request, _| {
        if request.tool_results().is_empty() {
            ScriptedReply::bash("touch made").filling(1000)
        } else {
            ScriptedReply::text("Made.").filling(1000)
        }
    })
}

/// A world in which each notification becomes a line of a file, and permissions are asked for.
fn world(kind: Kind, script: Script, after: &str) -> Option<World> {
    let mut world = World::new(kind, script)?;
    world.args.retain(|arg| arg != "--dangerously-skip-permissions");
    let told = world.home.join("told.jsonl");
    world.set("HOPTY_NOTIFY_COMMAND", &format!("cat >> '{}'", told.display()));
    world.set("HOPTY_NOTIFY_AFTER", after);
    Some(world)
}

fn told(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(world.home.join("told.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits for the `n`-th notification, from 1.
fn wait_told(world: &World, n: usize) -> Value {
    wait_for(&format!("notification {n}"), || told(world).into_iter().nth(n - 1))
}

fn start_detached(world: &World) {
    let mut args = vec!["--detached"];
    args.extend(world.args.iter().map(String::as_str));
    let mut term = world.terminal(&args);
    assert_eq!(term.wait_exit(), 0);
    world.ask(&["wait", "proj", "idle", "--timeout", "60s"]);
}

fn a_blocked_session_and_its_end_of_work_are_told(kind: Kind) {
    let Some(world) = world(kind, makes_a_file(), "0s") else { return };
    start_detached(&world);
    world.ask(&["send", "proj", "Make it.", "--submit"]);
    let blocked = wait_told(&world, 1);
    assert_eq!(
        (&blocked["event"], &blocked["reason"]),
        (&"blocked".into(), &"permission".into()),
        "{blocked}"
    );
    assert_eq!((&blocked["session"], &blocked["status"]["state"]), (&"proj".into(), &"blocked".into()));
    assert_eq!(blocked["dir"].as_str(), world.project.to_str());
    world.ask(&["wait", "proj", "text=Do you want to proceed"]);
    // A dialog of the real program takes no key in its first moment.
    wait_for("the approval", || {
        world.ask(&["send", "proj", "--keys", "enter"]);
        world.hopty(&["wait", "proj", "idle", "--timeout", "3s"]).status.success().then_some(())
    });
    assert_eq!(wait_told(&world, 2)["event"], "idle");
    world.ask(&["stop", "proj"]);
    assert_eq!(told(&world).len(), 2, "somebody ended it: {:?}", told(&world));
    world.assert_nothing_left();
}

fn a_crash_is_told_and_an_end_that_nobody_asked_for(kind: Kind) {
    let Some(mut world) = world(kind, makes_a_file(), "0s") else { return };
    world.set("HOPTY_NOTIFY_EVENTS", "crashed,ended");
    world.set("HOPTY_RECOVERY_QUICK_DEATHS", "2");
    start_detached(&world);
    // Before the first prompt there is nothing to resume.
    world.ask(&["send", "proj", "Make it.", "--submit"]);
    world.wait_state("blocked");
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    wait_for("the transcript", || (world.transcript(&conversation).len() > 1).then_some(()));
    let pid = world.status()["pid"].as_i64().unwrap();
    support::kill(i32::try_from(pid).unwrap(), nix::libc::SIGSEGV);
    assert_eq!(wait_told(&world, 1)["event"], "crashed");
    let again = wait_for("the next run", || world.status()["pid"].as_i64().filter(|now| *now != pid));
    support::kill(i32::try_from(again).unwrap(), nix::libc::SIGSEGV);
    let ended = wait_told(&world, 2);
    assert_eq!((&ended["event"], &ended["status"]["name"]), (&"ended".into(), &"proj".into()), "{ended}");
    world.assert_nothing_left();
}

support::both! {
    a_blocked_session_and_its_end_of_work_are_told,
    a_crash_is_told_and_an_end_that_nobody_asked_for,
}

/// The real program writes no transcript when it is told so; the stand-in agent always does.
#[test]
fn a_turn_that_is_not_in_the_transcript_is_told_once() {
    let Some(mut world) = world(Kind::Real, Script::each(|_, _| ScriptedReply::text("Hello.")), "0s") else {
        return;
    };
    world.set("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "1");
    world.set("HOPTY_NOTIFY_EVENTS", "transcript");
    start_detached(&world);
    world.ask(&["send", "proj", "Hello?", "--submit"]);
    let told_of = wait_told(&world, 1);
    assert_eq!(told_of["event"], "transcript", "{told_of}");
    assert!(told_of["text"].as_str().unwrap().contains("is not in its transcript"), "{told_of}");
    world.ask(&["stop", "proj"]);
    assert_eq!(told(&world).len(), 1);
    world.assert_nothing_left();
}

#[test]
fn attached_terminals_ring() {
    let mut world = world(Kind::StandIn, makes_a_file(), "0s").unwrap();
    world.set("HOPTY_NOTIFY_TERMINAL", "osc9,osc99,osc777,bell");
    world.set("HOPTY_NOTIFY_EVENTS", "blocked");
    let term = world.start(&[]);
    term.wait_box();
    let before = world.hopty(&["screen", "proj"]).stdout;
    term.submit("Make it.");
    let text = "Claude waits for your answer (permission)";
    for sequence in [
        format!("\x1b]9;hopty: proj: {text}\x07"),
        format!("\x1b]99;;hopty: proj: {text}\x1b\\"),
        format!("\x1b]777;notify;hopty: proj;{text}\x07\x07"),
    ] {
        wait_for("the notification", || {
            String::from_utf8_lossy(&term.bytes()).contains(&sequence).then_some(())
        });
    }
    assert_ne!(before, world.hopty(&["screen", "proj"]).stdout, "the dialog is drawn");
    term.send("\r");
    world.wait_state("idle");
    world.leave(term);
}

#[test]
fn a_key_in_the_meantime_keeps_it_silent() {
    let world = world(Kind::StandIn, makes_a_file(), "3s").unwrap();
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Make it.");
    world.wait_state("blocked");
    // An arrow in the dialog answers nothing.
    term.send("\x1b[B\x1b[A");
    term.wait_text("Do you want to proceed");
    let since = std::time::Instant::now();
    wait_for("the delay to pass", || (since.elapsed().as_millis() > 3500).then_some(()));
    assert!(told(&world).is_empty(), "{:?}", told(&world));
    term.send("\r");
    world.wait_state("idle");
    world.leave(term);
}

/// A command that hangs, one that fails and a desktop without its service cost a line each.
#[test]
fn what_fails_is_logged_once_and_nothing_stops() {
    let mut world = world(Kind::StandIn, makes_a_file(), "0s").unwrap();
    world.set("HOPTY_NOTIFY_COMMAND", "exit 7");
    world.set("HOPTY_NOTIFY_DESKTOP", "true");
    world.set("PATH", "/nowhere:/usr/bin:/bin");
    start_detached(&world);
    let log = || std::fs::read_to_string(world.session_dir().join("host.log")).unwrap_or_default();
    world.ask(&["send", "proj", "Make it.", "--submit"]);
    world.wait_state("blocked");
    world.ask(&["send", "proj", "--keys", "enter"]);
    world.wait_state("idle");
    wait_for("the line of the log", || {
        log().contains("notification: notify.command exited with 7").then_some(())
    });
    assert_eq!(log().matches("exited with 7").count(), 1, "{}", log());
    world.ask(&["stop", "proj"]);
    world.assert_nothing_left();
}
