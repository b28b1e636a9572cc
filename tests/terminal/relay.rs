//! A terminal that the host cannot reopen is reached through frames; everything else is the same. And places
//! where a terminal is not quite what one thinks.

use super::support::claude::hopty;
use super::support::term::Term;
use super::support::world::World;
use super::{bare, child, output, support, world};

/// `hopty run -- sh -c SCRIPT` with `/dev/tty` for a terminal: that name means another one in the host.
pub(super) fn through_dev_tty(world: &World, script: &str) -> Term {
    let words = format!("exec '{}' run -- sh -c '{script}' </dev/tty >/dev/tty", hopty().display());
    bare(world, &words)
}

fn is_relayed(world: &World) -> bool {
    support::wait_for("the client", || world.status()["clients"][0]["via"].as_str().map(|via| via == "relay"))
}

#[test]
fn bytes_sizes_and_codes_are_the_same() {
    let world = world();
    let mut term = through_dev_tty(&world, "stty raw -echo; echo u$((1))p; cat; stty size; exit 5");
    term.wait_text("u1p");
    assert!(is_relayed(&world));
    let begin = term.bytes().len();
    // 4 is no end of file in raw mode, so `cat` is ended from outside.
    let sent: Vec<u8> = (0..40_000u32).map(|n| n.to_le_bytes()[0]).collect();
    term.send(&sent);
    support::wait_for("the echo", || (term.bytes().len() >= begin + sent.len()).then_some(()));
    assert!(term.bytes()[begin..] == sent);
    term.resize(99, 33);
    support::wait_for("the size", || (world.status()["size"]["cols"] == 99).then_some(()));
    let cat = world.processes().into_iter().find(|(_, line)| line.trim() == "cat").unwrap().0;
    support::kill(cat, nix::libc::SIGTERM);
    term.wait_text("33 99");
    assert_eq!(term.wait_exit(), 5);
    term.assert_whole();
    world.assert_nothing_left();
}

#[test]
fn a_megabyte_before_the_exit_arrives_whole() {
    let world = world();
    let mut term = through_dev_tty(&world, "seq 1 180000; exit 9");
    let wanted: String = (1..=180_000).map(|n| format!("{n}\n")).collect();
    let got = output(&mut term);
    assert!(got == wanted, "{} of {} bytes", got.len(), wanted.len());
    assert_eq!(term.wait_exit(), 9);
    world.assert_nothing_left();
}

const DIRTY: &str = "printf \"\\033[?1049h\\033[?1000h\\033[?2004h\\033[?25l\\033[>5udirt\"; exec sleep 100";

#[test]
fn the_terminal_is_whole_after_every_end() {
    for end in ["child", "host", "panic", "stop", "hup"] {
        let mut world = world();
        if end == "panic" {
            std::fs::write(world.faults().join("panic"), "client").unwrap();
        }
        let mut term = through_dev_tty(&world, DIRTY);
        if end != "panic" {
            term.wait_text("dirt");
            assert!(is_relayed(&world));
        }
        let code = match end {
            "child" => {
                support::kill(child(&world), nix::libc::SIGKILL);
                137
            }
            "host" => {
                support::kill(
                    i32::try_from(world.status()["host_pid"].as_i64().unwrap()).unwrap(),
                    nix::libc::SIGKILL,
                );
                125
            }
            "hup" => {
                support::kill(super::client(&world), nix::libc::SIGHUP);
                0
            }
            "stop" => {
                assert!(world.hopty(&["stop", "proj"]).status.success());
                143
            }
            _ => 125,
        };
        assert_eq!(term.wait_exit(), code, "{end}");
        term.assert_whole();
        if ["hup", "panic"].contains(&end) {
            assert!(world.hopty(&["stop", "proj"]).status.success());
        }
        world.assert_nothing_left();
    }
}

#[test]
fn ctrl_z_and_fg_work_there_too() {
    let mut world = world();
    let mut term = super::jobs::shell(&mut world);
    term.send("$H run -- cat </dev/tty >/dev/tty\r");
    assert!(is_relayed_soon(&world));
    for n in 0..2 {
        term.send(format!("line-{n}\r"));
        term.wait_for("the echo of cat", |s| {
            s.lines().iter().filter(|l| **l == format!("line-{n}")).count() >= 2
        });
        term.send("\x1a");
        term.wait_text("Stopped");
        super::jobs::ask(&term, n);
        term.send("clear; fg\r");
        support::wait_for("the child to go on", || (world.status()["state"] == "unknown").then_some(()));
    }
    term.send("end\r\x04");
    super::jobs::wait_prompt(&term);
    super::jobs::leave(&mut term, &world, 0);
}

fn is_relayed_soon(world: &World) -> bool {
    child(world);
    is_relayed(world)
}

#[test]
fn a_closed_window_detaches_there_too() {
    let world = world();
    let mut term = through_dev_tty(&world, DIRTY);
    term.wait_text("dirt");
    assert!(is_relayed(&world));
    term.hang_up();
    assert_eq!(term.wait_exit(), 0);
    support::wait_for("the client to be gone", || {
        (world.status()["clients"] == serde_json::json!([])).then_some(())
    });
    assert!(world.hopty(&["stop", "proj"]).status.success());
    world.assert_nothing_left();
}

/// The terminal belongs to root, hopty is somebody else: after su or sudo.
#[test]
fn a_terminal_of_another_user_is_relayed() {
    let world = world();
    let Some(program) = support::nobody::give(&world) else { return };
    let mut term = support::nobody::terminal(
        &world,
        &program,
        &["run", "--", "sh", "-c", "echo u$((1))p; read x; echo got $x; exit 8"],
    );
    term.wait_text("u1p");
    let status = support::nobody::command(&world, &program, &["status", "--json"]).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["clients"][0]["via"], "relay");
    term.send("it\r");
    term.wait_text("got it");
    assert_eq!(term.wait_exit(), 8);
    term.assert_whole();
    world.assert_nothing_left();
}

#[test]
fn terminals_of_every_kind() {
    for name in ["dumb", "", "vt52"] {
        let mut world = world();
        world.set("TERM", name);
        if name.is_empty() {
            world.env.retain(|(n, _)| n != "TERM");
        }
        let mut term = super::run(&world, "echo term=$TERM; exit 3");
        assert!(
            output(&mut term).starts_with(&format!("term={}", if name.is_empty() { "dumb" } else { name }))
                || name.is_empty()
        );
        assert_eq!(term.wait_exit(), 3);
        term.assert_whole();
        world.assert_nothing_left();
    }
}

#[test]
fn without_a_controlling_terminal() {
    let world = world();
    let words = format!(
        "exec setsid -w '{}' run -- sh -c 'tty; echo u$((1))p; read x; echo got $x; exit 4'",
        hopty().display()
    );
    let mut term = bare(&world, &words);
    term.wait_text("u1p");
    term.send("it\r");
    term.wait_text("got it");
    assert_eq!(term.wait_exit(), 4);
    term.assert_whole();
    world.assert_nothing_left();
}

#[test]
fn inside_script() {
    let Some(_) = support::needs("script") else { return };
    let world = world();
    let words = format!(
        "exec script -qec \"'{}' run -- sh -c 'echo u\\$((1))p; read x; echo got \\$x; exit 6'\" /dev/null",
        hopty().display()
    );
    let mut term = bare(&world, &words);
    term.wait_text("u1p");
    term.send("it\r");
    term.wait_text("got it");
    assert_eq!(term.wait_exit(), 6);
    world.assert_nothing_left();
}

#[test]
fn inside_tmux() {
    let Some(_) = support::needs("tmux") else { return };
    let world = world();
    let socket = world.root.path().join("tmux.sock");
    let inner =
        format!("'{}' run -- sh -c 'echo u$((1))p; read x; echo got $x; exec cat'", hopty().display());
    let args = ["-S", socket.to_str().unwrap(), "-f", "/dev/null", "new-session", &inner];
    let mut term = Term::start("/usr/bin/tmux".as_ref(), &args, &world.env, &world.project, (120, 40));
    term.wait_text("u1p");
    term.send("it\r");
    term.wait_text("got it");
    // In a pane the group is orphaned: Ctrl+Z goes on at once.
    term.send("\x1amore\r");
    term.wait_for("the echo of cat", |s| s.lines().iter().filter(|l| l.ends_with("more")).count() >= 2);
    term.resize(100, 30);
    support::wait_for("the size", || (world.status()["size"]["cols"] == 100).then_some(()));
    term.send("\x04");
    assert_eq!(term.wait_exit(), 0);
    world.assert_nothing_left();
}
