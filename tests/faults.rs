//! What must hold when something odd happens around the child: kept keys, closed terminals, strange files.

#![allow(clippy::unwrap_used)]

mod support;

use std::os::unix::fs::PermissionsExt;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;
use support::claude::{Kind, hopty};
use support::program_files;
use support::term::Term;
use support::wait_for;
use support::world::World;

fn world(script: Script) -> World {
    World::new(Kind::StandIn, script).unwrap()
}

/// The stand-in in its default permission mode, after its first answer.
fn careful(script: Script) -> (World, Term) {
    let mut world = world(script);
    world.args = ["--model", "claude-sonnet-4-5"].map(str::to_owned).to_vec();
    let term = world.start(&[]);
    term.wait_box();
    term.send("hi\r");
    term.wait_text("Hello.");
    world.wait_state("idle");
    (world, term)
}

#[test]
fn keys_that_were_kept_approve_nothing() {
    let (world, term) = careful(Script::each(|request, _| match request.continued_handoff() {
        Some(_) => ScriptedReply::bash("touch approved").filling(2000),
        None => ScriptedReply::text("Hello.").filling(3000),
    }));
    world.ask(&["restart", "proj", "--now"]);
    world.wait_decision("stop.sent", 1);
    for n in 0..40 {
        term.send(format!("line {n}\r"));
    }
    world.wait_decision("delivery.submitted", 1);
    term.wait_text("Do you want to proceed?");
    // Two more answers of the host: what it still had to type would have been typed by then.
    world.wait_state("blocked");
    world.status();
    assert!(
        !world.project.join("approved").exists(),
        "an Enter that was typed before the dialog answered it"
    );
    // It is for the person, whose key passes those that wait.
    term.send("\r");
    wait_for("the person's answer", || world.project.join("approved").exists().then_some(()));
    world.ask(&["stop", "proj"]);
    world.assert_nothing_left();
}

#[test]
fn a_dialog_that_is_gone_blocks_nobody() {
    let (world, term) = careful(Script::each(|request, _| match request.assistant_messages() {
        0 => ScriptedReply::text("Hello.").filling(3000),
        _ => ScriptedReply::bash("touch approved").filling(185_000),
    }));
    term.send("work\r");
    term.wait_text("Do you want to proceed?");
    world.wait_decision("restart.requested", 1);
    world.wait_state("blocked");
    // Ctrl+C drops the hand-over and leaves the dialog; Escape closes that.
    term.send("\x03");
    world.wait_decision("restart.cancelled", 1);
    term.send("\x1b");
    world.wait_state("idle");
    world.ask(&["stop", "proj"]);
}

#[test]
fn a_new_run_hears_what_it_asks_its_terminal() {
    let mut world = world(Script::list([
        ScriptedReply::text("one").filling(1000),
        ScriptedReply::text("two").filling(1000),
    ]));
    let asks = world.home.join("asks");
    let script = format!(
        "#!/bin/sh\nstty raw -echo min 0 time 50\nprintf '\\033[c'\ndd bs=64 count=1 2>/dev/null | od -An -c \
         >> \"$HOME/answers\"\nstty sane\nexec '{}' __agent \"$@\"\n",
        hopty().display()
    );
    program_files::write(&asks, &script);
    world.set("HOPTY_PROGRAM_CLAUDE", asks.to_str().unwrap());
    let term = world.start(&[]);
    term.wait_box();
    term.send("hi\r");
    term.wait_text("one");
    world.wait_state("idle");
    world.ask(&["restart", "proj"]);
    world.wait_decision("delivery.submitted", 1);
    let answers = std::fs::read_to_string(world.home.join("answers")).unwrap();
    assert_eq!(answers.lines().filter(|line| line.contains("033")).count(), 2, "{answers}");
    world.ask(&["stop", "proj"]);
}

#[test]
fn a_program_that_closed_its_terminal_can_be_stopped() {
    let world = world(Script::list([]));
    let closes = "exec </dev/null >/dev/null 2>&1; echo $$ > closed; exec sleep 1000";
    world.ask(&["run", "--name", "proj", "--detached", "--", "sh", "-c", closes]);
    wait_for("the program to close its terminal", || world.project.join("closed").exists().then_some(()));
    // The host has seen the end of the terminal when it has answered something later.
    world.status();
    world.ask(&["stop", "proj"]);
    world.assert_nothing_left();
}

#[test]
fn how_a_program_ended_is_told_as_it_was() {
    let world = world(Script::list([]));
    let exit = |kill: &[&str], script: &str| -> Value {
        world.ask(&["run", "--name", "proj", "--detached", "--", "sh", "-c", script]);
        world.ask(&[&["stop", "proj"], kill].concat());
        world.status()["exit"].clone()
    };
    let killed = exit(&["--kill"], "sleep 1000");
    assert_eq!(
        (&killed["kind"], &killed["signal"], &killed["code"]),
        (&"signaled".into(), &9.into(), &137.into())
    );
    let ended = exit(&[], "trap 'exit 143' TERM; : > ready; while :; do sleep 0.01; done");
    assert_eq!((ended["kind"].as_str(), ended["signal"].is_null()), (Some("exited"), true), "{ended}");
}

#[test]
fn a_restart_without_a_handoff_is_waited_for() {
    let world = world(Script::list([ScriptedReply::text("one").filling(1000)]));
    let term = world.start(&[]);
    term.wait_box();
    term.send("hi\r");
    term.wait_text("one");
    world.wait_state("idle");
    world.ask(&["restart", "--no-handoff", "--wait"]);
    assert_eq!(world.status()["run"], 2);
    world.ask(&["stop", "proj"]);
}

#[test]
fn a_settings_file_is_no_argument_for_all_to_read() {
    let world = world(Script::list([]));
    let file = world.home.join("own.json");
    // Longer than one argument may be.
    std::fs::write(&file, format!("{{\"env\":{{\"SECRET\":\"{}\"}}}}", "s".repeat(200_000))).unwrap();
    let mut args = vec!["--detached", "--settings", file.to_str().unwrap()];
    args.extend(world.args.iter().map(String::as_str));
    world.ask(&args);
    let merged = world.session_dir().join("settings.json");
    assert_eq!(std::fs::metadata(&merged).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(world.processes().iter().all(|(_, line)| !line.contains("sssss")));
    world.ask(&["stop", "proj"]);
    assert!(!merged.exists(), "it is left behind");
}

#[test]
fn a_device_in_the_project_keeps_nobody_from_claude() {
    let world = world(Script::list([]));
    std::os::unix::fs::symlink("/dev/zero", world.project.join(".mcp.json")).unwrap();
    let term = world.start(&[]);
    term.wait_box();
    world.ask(&["stop", "proj"]);
}
