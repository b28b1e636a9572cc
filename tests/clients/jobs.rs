//! Ctrl+Z and `fg` while others watch.

use super::support::term::Term;
use super::{end, sized, support, wait_clients, world};

#[test]
fn a_suspended_program_gives_the_leader_its_shell_and_stays_in_sight_of_the_others() {
    let world = world();
    let mut env = world.env.clone();
    env.push(("H".into(), support::claude::hopty().into()));
    env.push(("PS1".into(), "$ ".into()));
    let mut first =
        Term::start("/bin/bash".as_ref(), &["--norc", "--noprofile", "-i"], &env, &world.project, (120, 40));
    first.wait_text("$");
    first.send("$H run -- sh -c 'echo be\"\"gun; while read x; do echo got $x; done'\r");
    first.wait_text("begun");
    let second = sized(&world, &["attach"], (60, 20));
    wait_clients(&world, 2);
    second.wait_text("begun");
    for n in 0..2 {
        first.send("\x1a");
        support::wait_for("the shell", || {
            first.lines().iter().any(|line| line.contains("Stopped")).then_some(())
        });
        assert_eq!(world.status()["state"], "stopped");
        first.send(format!("clear; echo shell-$((40 + {n}))\r"));
        first.wait_text(&format!("shell-4{n}"));
        assert!(
            !second.lines().iter().any(|line| line.contains("shell-") || line.contains("Stopped")),
            "{:?}",
            second.lines()
        );
        first.send("fg\r");
        support::wait_for("the program", || (world.status()["state"] != "stopped").then_some(()));
        wait_clients(&world, 2);
        first.send(format!("word{n}\r"));
        first.wait_text(&format!("got word{n}"));
        second.wait_text(&format!("got word{n}"));
    }
    // A key on another terminal continues it, and `fg` brings the first one back.
    first.send("\x1a");
    world.wait_state("stopped");
    support::wait_for("the shell", || (world.status()["clients"][0]["via"] == "none").then_some(()));
    let tty = world.status()["clients"][0]["tty"].as_str().unwrap().to_owned();
    let way = format!("`fg` in {tty} or `hopty attach proj` continues it");
    let why = world.ask(&["why", "proj"]);
    assert!(why.starts_with("Suspended for ") && why.contains(&way), "{why}");
    let listed = world.hopty(&["ls"]).stderr;
    assert!(String::from_utf8_lossy(&listed).contains(&format!("hint: proj is suspended: {way}")));
    second.send("other\r");
    second.wait_text("got other");
    first.send("fg\r");
    first.wait_text("got other");
    world.ask(&["stop", "proj", "--kill"]);
    first.send("exit\r");
    first.wait_exit();
    world.assert_nothing_left();
}

/// Attached from a shell with job control, whose job the client is: the kernel would stop it if it tried to
/// stop.
#[test]
fn who_attaches_from_a_shell_continues_a_stopped_program_and_is_not_suspended() {
    let world = world();
    world.ask(&[
        "run",
        "--detached",
        "--",
        "sh",
        "-c",
        "echo be$((1))gun; while read x; do echo got $x; done",
    ]);
    let pid = i32::try_from(world.status()["pid"].as_i64().unwrap()).unwrap();
    let mut env = world.env.clone();
    env.push(("H".into(), support::claude::hopty().into()));
    env.push(("PS1".into(), "$ ".into()));
    let mut term =
        Term::start("/bin/bash".as_ref(), &["--norc", "--noprofile", "-i"], &env, &world.project, (120, 40));
    term.wait_text("$");
    for n in 0..3 {
        support::kill(pid, nix::libc::SIGSTOP);
        world.wait_state("stopped");
        term.send("clear; $H attach\r");
        support::wait_for("the client", || (world.status()["clients"][0]["via"] == "fd").then_some(()));
        term.send(format!("word{n}\r"));
        term.wait_text(&format!("got word{n}"));
        assert!(!term.lines().iter().any(|line| line.contains("Stopped")), "{:?}", term.lines());
        term.send("\x1cd");
        term.wait_text("detached; the session keeps running");
    }
    // Who only looks lets it stand, and is not suspended either.
    support::kill(pid, nix::libc::SIGSTOP);
    world.wait_state("stopped");
    term.send("clear; $H attach --read-only\r");
    support::wait_for("the client", || (world.status()["clients"][0]["via"] == "fd").then_some(()));
    term.wait_text("got word2");
    assert_eq!(world.status()["state"], "stopped");
    term.send("\x1cd");
    term.wait_text("detached; the session keeps running");
    world.ask(&["stop", "proj", "--kill"]);
    term.send("exit\r");
    term.wait_exit();
    world.assert_nothing_left();
}

#[test]
fn who_attaches_continues_a_stopped_program() {
    let world = world();
    world.ask(&["run", "--detached", "--", "sh", "-c", "echo begun; while read x; do echo got $x; done"]);
    let pid = i32::try_from(world.status()["pid"].as_i64().unwrap()).unwrap();
    support::kill(pid, nix::libc::SIGSTOP);
    world.wait_state("stopped");
    let term = world.terminal(&["attach"]);
    term.wait_text("begun");
    term.send("typed\r");
    term.wait_text("got typed");
    end(&world);
}
