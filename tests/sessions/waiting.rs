//! `wait`: answered when it is so, at the latest when the time is over, and never for what was so before.

use std::process::{Child, Command, Stdio};

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;

use super::support::claude::{Kind, hopty};
use super::support::text;
use super::support::wait::{LIMIT, end_of};
use super::support::world::World;
use super::support::{kill, ticks, wait_for};
use super::{assert_fails, end_all, list, world};

/// A verb that runs beside the test.
fn beside(world: &World, args: &[&str]) -> Child {
    let mut command = Command::new(hopty());
    command.args(args).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn code(mut child: Child) -> i32 {
    let status = end_of(&mut child, LIMIT).expect("it ends");
    status.code().unwrap()
}

fn host_of(world: &World, name: &str) -> i32 {
    let status: Value = serde_json::from_str(&world.ask(&["status", name, "--json"])).unwrap();
    i32::try_from(status["host_pid"].as_i64().unwrap()).unwrap()
}

/// Waits until `n` verbs have a connection to session `one`. Nothing else may talk to it meanwhile.
fn connected(world: &World, n: usize) {
    connected_to(world, "one", n);
}

/// The same for any session.
fn connected_to(world: &World, name: &str, n: usize) {
    let path = world.state_dir().join(format!("run/{name}.sock"));
    let path = path.to_str().unwrap();
    // The kernel's list: state 03 is a connection, 01 the listener.
    let is_one = |line: &str| line.ends_with(path) && line.split_whitespace().nth(5) == Some("03");
    let open =
        || std::fs::read_to_string("/proc/net/unix").unwrap().lines().filter(|line| is_one(line)).count();
    wait_for("the verbs to wait", || (open() == n).then_some(()));
}

#[test]
fn what_cannot_be_waited_for_is_said_at_once() {
    let world = world();
    world.run_detached("one", &["sleep", "1000"]);
    for (args, exit, words) in [
        (&["wait", "one", "tired"][..], 2, "tired: unknown condition"),
        (&["wait", "one", "exit", "quite=1s"], 2, "quite=1s: unknown condition"),
        (
            &["wait", "one", "exit", "not", "idle"],
            2,
            "it is not an agent, so it is never idle, busy or blocked",
        ),
        (&["wait", "one", "text=("], 2, "text=("),
        (&["wait", "one", "text="], 2, "an empty pattern"),
        (&["wait", "one", "idle", "--timeout", "soon"], 2, "not a duration"),
        (&["wait", "one", "idle"], 2, "it is not an agent"),
        (&["wait", "one", "blocked"], 2, "it is not an agent"),
        (&["wait", "nosuch", "exit"], 3, "there is no such session"),
        (&["wait", "one", "exit", "--timeout", "10ms"], 1, "timed out after 10ms, the session is running"),
        (&["wait", "one", "text=x", "--timeout", "10ms"], 1, "timed out after 10ms"),
    ] {
        assert_fails(&world.hopty(args), exit, words);
    }
    for (args, meant) in [(&["wait", "one", "bussy"][..], "busy"), (&["wait", "exit", "txt=x"], "text=x")] {
        let said = text(&world.hopty(args).stderr);
        assert_eq!(said.lines().nth(1), Some(&*format!("hint: did you mean `{meant}`?")), "{said}");
    }
    let failed = world.hopty(&["wait", "one", "exit", "--timeout", "10ms", "--json"]);
    let error: Value = serde_json::from_slice(&failed.stdout).unwrap();
    assert_eq!((failed.status.code(), &error["error"]["code"]), (Some(1), &"busy".into()));
    end_all(&world);
}

#[test]
fn an_end_is_waited_for_and_known_afterwards() {
    let world = world();
    world.run_detached("one", &["sh", "-c", "read line; exit 7"]);
    let waits = beside(&world, &["wait", "one", "exit", "--json"]);
    world.ask(&["wait", "one", "text=^$"]);
    world.ask(&["stop", "one"]);
    let output = waits.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let session: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&session["state"], &session["exit"]["cause"]), (&"ended".into(), &"stopped".into()));
    // At once, and with the same answer.
    assert_eq!(world.ask(&["wait", "one", "exit", "--json"]), text(&output.stdout));
    assert_fails(&world.hopty(&["wait", "one", "text=x"]), 1, "the session has ended");
    world.assert_nothing_left();
}

/// Who waits for something that the end makes impossible is not left waiting.
#[test]
fn an_end_is_told_to_who_waits_for_something_else() {
    let world = world();
    world.run_detached("one", &["sleep", "1000"]);
    let waits = beside(&world, &["wait", "one", "text=never", "--timeout", "1h"]);
    let killed = beside(&world, &["wait", "one", "exit"]);
    connected(&world, 2);
    let host = i32::try_from(list(&world)[0]["host_pid"].as_i64().unwrap()).unwrap();
    // The host is killed: nothing is answered, and whoever waits for the end knows it all the same.
    kill(host, nix::libc::SIGKILL);
    assert_eq!(code(killed), 0);
    assert_eq!(code(waits), 1);
}

#[test]
fn a_text_is_found_when_it_comes_and_where_it_stands() {
    let world = world();
    let script =
        "printf 'a\\r\\n  b'; read line; printf '\\033[2J\\033[5;3Hready 42\\033[H'; exec sleep 1000";
    world.run_detached("one", &["sh", "-c", script]);
    world.ask(&["wait", "one", "text=^a$"]);
    world.ask(&["wait", "one", "text=a\\n +b$"]);
    let waits = beside(&world, &["wait", "one", "text=^  ready [0-9]+$", "--json"]);
    let mut term = world.terminal(&["attach", "one"]);
    term.send("\r");
    let output = waits.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["name"], "one");
    assert_fails(&world.hopty(&["wait", "one", "text=^a$", "--timeout", "50ms"]), 1, "timed out after 50ms");
    end_all(&world);
    term.wait_exit();
}

/// The last words of a program that ends are on its screen.
#[test]
fn a_text_that_comes_with_the_end_is_found() {
    let world = world();
    world.run_detached("one", &["sh", "-c", "read line; echo last words"]);
    let waits = beside(&world, &["wait", "one", "text=last words"]);
    connected(&world, 1);
    let mut term = world.terminal(&["attach", "one"]);
    term.send("\r");
    term.wait_exit();
    let output = waits.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    world.assert_nothing_left();
}

/// A program that draws without a pause costs who waits an answer in 20 ms, and the host not more than that.
#[test]
fn a_screen_that_never_rests_is_looked_at_now_and_then() {
    let world = world();
    world.run_detached("one", &["sh", "-c", "while :; do echo spinning $((n += 1)); done"]);
    world.ask(&["wait", "one", "text=spinning [0-9]{4}"]);
    end_all(&world);
}

#[test]
fn idle_and_busy_are_of_after_a_line_of_the_journal() {
    let script = Script::each(|_, _| ScriptedReply::text("Done.").after_ms(300).filling(1000));
    let Some(world) = World::new(Kind::StandIn, script) else { return };
    let term = world.start(&[]);
    term.wait_box();
    world.ask(&["wait", "idle"]);
    let session = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let idle = session(&world.ask(&["wait", "proj", "idle", "--json"]));
    assert_eq!(idle["state"], "idle");
    let seq = idle["seq"].to_string();
    assert_fails(
        &world.hopty(&["wait", "proj", "idle", "--since", &seq, "--timeout", "20ms"]),
        1,
        "timed out after 20ms, the session is idle",
    );
    let busy = beside(&world, &["wait", "proj", "busy", "--since", &seq, "--json"]);
    let again = beside(&world, &["wait", "proj", "idle", "--since", &seq, "--json"]);
    term.send("go on");
    term.wait_text("go on");
    term.send("\r");
    let busy = session(&text(&busy.wait_with_output().unwrap().stdout));
    let again = session(&text(&again.wait_with_output().unwrap().stdout));
    assert!(busy["state"] == "busy" && again["state"] == "idle");
    assert!(again["seq"].as_u64() > busy["seq"].as_u64());
    assert!(term.lines().iter().any(|line| line.contains("Done.")), "the turn is over: {:?}", term.lines());
    drop(term);
    world.wait_decision("client.detached", 1);
    end_all(&world);
}

#[test]
fn one_of_several_conditions_ends_the_wait_and_is_printed() {
    let world = world();
    world.run_detached(
        "one",
        &["sh", "-c", "for n in 1 2 3 4 5 6 7 8; do echo tick $n; sleep 0.1; done; read x; clear; read x"],
    );
    assert_eq!(world.ask(&["wait", "one", "text=never", "text=tick 8"]), "text=tick 8\n");
    assert_eq!(world.ask(&["wait", "one", "quiet=300ms"]), "", "one condition needs no word");
    assert_eq!(world.ask(&["wait", "one", "not", "text=never"]), "");
    let late = world.hopty(&["wait", "one", "not", "text=tick", "--timeout", "300ms"]);
    assert_fails(&late, 1, "not text=tick: timed out after 300ms");
    world.ask(&["send", "one", "--keys", "enter"]);
    world.ask(&["wait", "one", "not", "text=tick"]);
    let met: serde_json::Value =
        serde_json::from_str(&world.ask(&["wait", "one", "exit", "quiet=100ms", "--json"])).unwrap();
    assert_eq!((&met["met"], &met["name"]), (&"quiet=100ms".into(), &"one".into()));
    world.ask(&["send", "one", "--keys", "enter"]);
    assert_eq!(world.ask(&["wait", "one", "text=never", "exit"]), "exit\n");
    assert_fails(&world.hopty(&["wait", "one", "quiet=soon"]), 2, "not a duration");
    world.assert_nothing_left();
}

/// What happens to a session while several conditions are waited for: nothing, for which nobody works; a host
/// that is stopped; its end; its death.
#[test]
fn several_conditions_are_waited_for_without_work_whatever_happens() {
    let world = world();
    let named = ["two", "three"];
    for name in named {
        world.run_detached(name, &["sh", "-c", "read x; echo got $x; read x"]);
    }
    let wait = |name, more: &[&str]| beside(&world, &[&["wait", name, "text=never"][..], more].concat());
    let mut idle = wait("two", &["exit", "--timeout", "10m"]);
    let gone = wait("two", &["not", "text=^$", "exit", "--timeout", "10m"]);
    let text_comes = wait("three", &["text=got it", "exit", "--timeout", "10m"]);
    let pid = i32::try_from(idle.id()).unwrap();
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    wait_for("it to sleep", || state().contains(") S ").then_some(()));
    let host = host_of(&world, "three");
    kill(host, nix::libc::SIGSTOP);
    let none = wait("three", &["exit", "--timeout", "300ms"]).wait_with_output().unwrap();
    assert_fails(&none, 125, "is stopped");
    kill(host, nix::libc::SIGCONT);
    world.ask(&["send", "three", "it\r"]);
    let found = text_comes.wait_with_output().unwrap();
    assert_eq!((found.status.code(), text(&found.stdout).as_str()), (Some(0), "text=got it\n"));
    // A poll each 100 ms takes a tick of 10 ms in some of its rounds.
    let before = ticks(pid).unwrap();
    world.ask(&["wait", "three", "quiet=1s"]);
    assert_eq!(ticks(pid), Some(before), "it has worked while nothing happened");
    assert!(idle.try_wait().unwrap().is_none());
    let lost = wait("two", &["text=ever", "--timeout", "10m"]);
    connected_to(&world, "two", 3);
    world.ask(&["stop", "two", "--kill"]);
    assert_fails(&lost.wait_with_output().unwrap(), 1, "the session");
    assert_eq!(text(&idle.wait_with_output().unwrap().stdout), "exit\n");
    assert_eq!(code(gone), 0);
    let died = wait("three", &["exit", "--timeout", "10m"]);
    connected_to(&world, "three", 1);
    kill(host, nix::libc::SIGKILL);
    assert_eq!(text(&died.wait_with_output().unwrap().stdout), "exit\n");
    // A host that was killed leaves its socket, which the next of that name takes.
    wait_for("the programs to end", || world.processes().is_empty().then_some(()));
}

/// A hand-over is another run with another screen, and the states of both are seen.
#[test]
fn several_conditions_outlive_a_restart() {
    let script = Script::each(|_, _| ScriptedReply::text("Done.").filling(1000));
    let Some(world) = World::new(Kind::StandIn, script) else { return };
    let mut args = vec!["--detached"];
    args.extend(world.args.iter().map(String::as_str));
    assert_eq!(world.terminal(&args).wait_exit(), 0);
    world.ask(&["wait", "proj", "idle"]);
    let over = beside(&world, &["wait", "proj", "exit", "text=never", "--timeout", "10m"]);
    let seq = world.status()["seq"].to_string();
    let left = beside(&world, &["wait", "proj", "not", "idle", "exit", "--timeout", "10m"]);
    let again = beside(&world, &["wait", "proj", "idle", "exit", "--since", &seq, "--timeout", "10m"]);
    world.ask(&["restart", "proj", "--no-handoff", "--wait"]);
    assert_eq!(text(&left.wait_with_output().unwrap().stdout), "not idle\n");
    assert_eq!(text(&again.wait_with_output().unwrap().stdout), "idle\n");
    world.ask(&["stop", "proj"]);
    assert_eq!(text(&over.wait_with_output().unwrap().stdout), "exit\n");
    world.assert_nothing_left();
}
