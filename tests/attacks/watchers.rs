//! Clients that only watch. They may be told to end, or be another program that speaks the protocol: the
//! session goes on.

use hopty::ipc::frame::tag;
use nix::libc;

use super::support::claude::hopty;
use super::support::term::Term;
use super::support::wire::Wire;
use super::support::world::World;
use super::support::{self, wait_for};

/// Tells of every signal that it hears, and echoes lines.
const TELLS: &str = "for s in INT QUIT TERM USR1 USR2; do trap \"echo heard $s\" $s; done; echo be$((1))gun; \
    while :; do if read line; then echo got $line; fi; done";

const ENDS: [i32; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP];

fn sized(world: &World, args: &[&str]) -> Term {
    Term::start(&hopty(), args, &world.env, &world.project, (60, 20))
}

fn wait_clients(world: &World, count: usize) {
    wait_for("clients", || {
        let status = world.status();
        let clients = status["clients"].as_array().cloned().unwrap_or_default();
        (clients.len() == count && clients.iter().all(|client| client["via"] != "none")).then_some(())
    });
}

/// The program is there, and has heard no signal.
fn assert_goes_on(world: &World, what: &str) {
    world.ask(&["send", "proj", &format!("after {what}\r")]);
    world.ask(&["wait", "proj", &format!("text=got after {what}"), "--timeout", "20s"]);
    let screen = world.ask(&["screen", "proj"]);
    assert!(!screen.contains("heard"), "after {what}:\n{screen}");
    assert_eq!(world.status()["state"], "unknown", "after {what}");
}

fn end(world: &World) {
    world.ask(&["stop", "proj", "--kill"]);
    world.assert_nothing_left();
}

#[test]
fn a_watcher_that_is_told_to_end_leaves_and_the_session_goes_on() {
    for read_only in [true, false] {
        let world = World::plain();
        let first = world.terminal(&["run", "--", "sh", "-c", TELLS]);
        first.wait_text("be1gun");
        for signal in ENDS {
            let args: &[&str] = if read_only { &["attach", "--read-only"] } else { &["attach"] };
            let mut second = sized(&world, args);
            second.wait_text("be1gun");
            wait_clients(&world, 2);
            support::kill(i32::try_from(second.child.id()).unwrap(), signal);
            assert_eq!(second.wait_exit(), 0, "read-only {read_only}, signal {signal}");
            second.assert_whole();
            if signal != libc::SIGHUP {
                second.wait_text("detached; the session keeps running");
            }
            assert_goes_on(&world, &format!("{signal}"));
            wait_clients(&world, 1);
        }
        end(&world);
    }
}

/// Nobody else is there, and it may not type: no reason to end anything.
#[test]
fn who_only_looks_passes_no_signal_on_even_alone() {
    let world = World::plain();
    world.ask(&["run", "--detached", "--", "sh", "-c", TELLS]);
    for signal in ENDS.into_iter().chain([libc::SIGUSR1, libc::SIGUSR2]) {
        let mut only = sized(&world, &["attach", "--read-only"]);
        only.wait_text("be1gun");
        wait_clients(&world, 1);
        let pid = i32::try_from(only.child.id()).unwrap();
        support::kill(pid, signal);
        if [libc::SIGUSR1, libc::SIGUSR2].contains(&signal) {
            // They mean nothing to it.
            assert_goes_on(&world, &format!("{signal}"));
            support::kill(pid, libc::SIGTERM);
        }
        assert_eq!(only.wait_exit(), 0, "signal {signal}");
        only.assert_whole();
        assert_goes_on(&world, &format!("{signal} and end"));
    }
    end(&world);
}

/// Who is alone and may type stands for the session, also when it never typed; and so does the leader of
/// several.
#[test]
fn who_leads_or_is_alone_passes_signals_on() {
    for others in [false, true] {
        let world = World::plain();
        world.ask(&[
            "run",
            "--detached",
            "--",
            "sh",
            "-c",
            "trap 'echo heard; exit 3' TERM; echo be$((1))gun; while :; do read x; done",
        ]);
        let mut leader = world.terminal(&["attach"]);
        leader.wait_text("be1gun");
        wait_clients(&world, 1);
        let watcher = others.then(|| sized(&world, &["attach"]));
        wait_clients(&world, 1 + usize::from(others));
        support::kill(i32::try_from(leader.child.id()).unwrap(), libc::SIGTERM);
        assert_eq!(leader.wait_exit(), 3, "others {others}");
        if let Some(mut watcher) = watcher {
            assert_eq!(watcher.wait_exit(), 3);
        }
        world.assert_nothing_left();
    }
}

#[test]
fn closing_the_window_of_a_watcher_ends_nothing_where_a_hang_up_ends_the_session() {
    let mut world = World::plain();
    world.set("HOPTY_TERMINAL_ON_HANGUP", "end");
    let mut first = world.terminal(&["run", "--", "sh", "-c", TELLS]);
    first.wait_text("be1gun");
    for args in [&["attach", "--read-only"][..], &["attach"]] {
        for how in ["hangup", "SIGHUP", "SIGKILL"] {
            let mut watcher = sized(&world, args);
            watcher.wait_text("be1gun");
            wait_clients(&world, 2);
            let pid = i32::try_from(watcher.child.id()).unwrap();
            match how {
                "hangup" => watcher.hang_up(),
                "SIGHUP" => support::kill(pid, libc::SIGHUP),
                _ => support::kill(pid, libc::SIGKILL),
            }
            watcher.wait_exit();
            wait_clients(&world, 1);
            assert_goes_on(&world, how);
        }
    }
    // The leader's own window is the session's.
    first.hang_up();
    first.wait_exit();
    world.wait_decision("stop.sent", 1);
    end(&world);
}

/// A client of another version, or one that lies: the host alone decides.
#[test]
fn a_forged_watcher_cannot_signal_hang_up_or_continue_the_program() {
    for (hangup, read_only) in [("detach", true), ("detach", false), ("end", true), ("end", false)] {
        let mut world = World::plain();
        world.set("HOPTY_TERMINAL_ON_HANGUP", hangup);
        let first = world.terminal(&["run", "--", "sh", "-c", TELLS]);
        first.wait_text("be1gun");
        wait_clients(&world, 1);
        for signal in 1..=64u8 {
            let mut forged = Wire::attach(&world, "proj", read_only);
            forged.frame(tag::SIGNAL, &[signal]);
            forged.frame(tag::SIGNAL, &[]);
            if read_only {
                forged.frame(tag::INPUT, b"never\r\x03\x1c\x1a");
            }
            for tag in [
                tag::RELEASE,
                tag::RESUME,
                tag::TERMINAL,
                tag::RELEASE,
                tag::RESUME,
                tag::HANGUP,
                tag::DETACH,
            ] {
                forged.frame(tag, &[]);
            }
            assert!(!forged.rest().is_empty());
        }
        assert_goes_on(&world, hangup);
        assert!(!world.ask(&["screen", "proj"]).contains("never"));
        assert!(!world.journal().contains("\"passed\""), "{}", world.story());
        wait_clients(&world, 1);
        end(&world);
    }
}

/// A person has stopped the program; who only looks does not let it run on by going and coming.
#[test]
fn a_watcher_that_is_suspended_and_continued_leaves_a_stopped_program_stopped() {
    let world = World::plain();
    world.ask(&["run", "--detached", "--", "sh", "-c", TELLS]);
    let pid = i32::try_from(world.status()["pid"].as_i64().unwrap()).unwrap();
    support::kill(pid, libc::SIGSTOP);
    world.wait_state("stopped");
    let mut forged = Wire::attach(&world, "proj", true);
    for tag in [tag::RELEASE, tag::RESUME, tag::RELEASE, tag::RESUME, tag::DETACH] {
        forged.frame(tag, &[]);
    }
    forged.rest();
    assert!(hopty::sys::process::Stat::of(pid).unwrap().is_stopped());
    assert_eq!(world.status()["state"], "stopped");
    end(&world);
}
