//! The terminal is whole afterwards, whatever ended it: termios bit for bit, every mode off, the primary
//! screen.

use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};

use super::support::term::Term;
use super::support::world::World;
use super::{child, client, run, support, world};

/// Leaves on whatever a terminal can have on.
const DIRTY: &str = "printf \
                     '\\033[?1049h\\033[?1000h\\033[?1003h\\033[?1006h\\033[?2004h\\033[?1004h\\033[>5u\\033[>4;2m\\033[?25l\\033[2;9r\\033[31m\\033(0dirt'; \
                     printf '\\033(By';";

fn dirty(world: &World, then: &str) -> Term {
    let term = run(world, &format!("stty raw -echo; {DIRTY} {then}"));
    wait_dirty(&term);
    term
}

fn wait_dirty(term: &Term) {
    term.wait_for("the modes", |s| {
        s.alternate() && !s.cursor().visible && s.keyboard_flags() != 0 && s.modes().len() >= 6
    });
}

fn stop(world: &World) {
    assert!(world.hopty(&["stop", "proj"]).status.success());
    world.assert_nothing_left();
}

#[test]
fn after_the_child_was_killed() {
    let world = world();
    let mut term = dirty(&world, "exec sleep 100");
    support::kill(child(&world), nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 137);
    term.assert_whole();
    world.assert_nothing_left();
}

#[test]
fn after_the_host_was_killed() {
    let world = world();
    let mut term = dirty(&world, "exec sleep 100");
    let pid = child(&world);
    support::kill(world.host_pid(), nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 125);
    term.assert_whole();
    term.wait_text("hopty: run: proj: the session's host died");
    term.wait_text("hint: ");
    // The program ends with its terminal.
    support::wait_for("the program's end", || {
        (!std::path::Path::new(&format!("/proc/{pid}")).exists()).then_some(())
    });
    let ended: serde_json::Value = serde_json::from_str(&world.ask(&["ls", "--all", "--json"])).unwrap();
    assert_eq!((&ended[0]["state"], &ended[0]["exit"]["cause"]), (&"ended".into(), &"host_lost".into()));
    assert_eq!(world.ask(&["why", "proj"]), "The host was killed, and the program with it.\n");
    // The stale socket is in nobody's way.
    let mut term = run(&world, "exit 6");
    assert_eq!(term.wait_exit(), 6);
    world.assert_nothing_left();
}

#[test]
fn after_the_client_was_killed_and_the_session_goes_on() {
    let world = world();
    let mut term = dirty(&world, "exec cat");
    support::kill(client(&world), nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 137);
    term.assert_whole();
    support::wait_for("the client to be gone", || {
        (world.status()["clients"] == serde_json::json!([])).then_some(())
    });
    stop(&world);
}

#[test]
fn signals_to_the_client_are_the_program_s() {
    for (signal, code) in [
        (nix::libc::SIGTERM, 143),
        (nix::libc::SIGINT, 130),
        (nix::libc::SIGQUIT, 131),
        (nix::libc::SIGUSR1, 138),
    ] {
        let world = world();
        let mut term = dirty(&world, "exec sleep 100");
        support::kill(client(&world), signal);
        assert_eq!(term.wait_exit(), code);
        term.assert_whole();
        world.assert_nothing_left();
    }
}

#[test]
fn a_program_that_catches_the_signal_decides_itself() {
    let world = world();
    let mut term =
        run(&world, "trap 'echo caught; exit 3' TERM; echo u$((1))p; while :; do sleep 0.05; done");
    term.wait_text("u1p");
    support::kill(client(&world), nix::libc::SIGTERM);
    assert_eq!(term.wait_exit(), 3);
    term.wait_text("caught");
    term.assert_whole();
    world.assert_nothing_left();
}

#[test]
fn a_window_that_is_closed_leaves_the_session_running() {
    let world = world();
    let mut term = dirty(&world, "exec cat");
    let pid = child(&world);
    term.hang_up();
    assert_eq!(term.wait_exit(), 0, "SIGHUP detaches");
    support::wait_for("the client to be gone", || {
        (world.status()["clients"] == serde_json::json!([])).then_some(())
    });
    assert_eq!(child(&world), pid);
    // Attached again from another terminal, the picture is the same.
    let mut again = world.terminal(&["attach"]);
    wait_dirty(&again);
    again.wait_text("y");
    support::kill(pid, nix::libc::SIGKILL);
    assert_eq!(again.wait_exit(), 137);
    again.assert_whole();
    world.assert_nothing_left();
}

#[test]
fn a_window_that_is_closed_ends_the_session_where_that_is_configured() {
    let mut world = world();
    world.set("HOPTY_TERMINAL_ON_HANGUP", "end");
    let mut term = dirty(&world, "exec sleep 100");
    term.hang_up();
    term.wait_exit();
    world.wait_decision("session.ended", 1);
    world.assert_nothing_left();
}

#[test]
fn a_hang_up_that_only_the_client_hears_leaves_a_whole_terminal() {
    let world = world();
    let mut term = dirty(&world, "exec cat");
    support::kill(client(&world), nix::libc::SIGHUP);
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
    stop(&world);
}

#[test]
fn a_panic_of_the_client_leaves_a_whole_terminal() {
    let mut world = world();
    std::fs::write(world.faults().join("panic"), "client").unwrap();
    let mut term = run(&world, &format!("stty raw -echo; {DIRTY} exec cat"));
    assert_eq!(term.wait_exit(), 125);
    term.assert_whole();
    term.wait_text("hopty: run: proj: the client failed");
    term.wait_text("a panic was asked for");
    stop(&world);
    term.assert_whole();
}

/// Not the session's own end, but everybody else's: the host is told to end.
#[test]
fn a_host_that_is_told_to_end_ends_in_order() {
    let world = world();
    let mut term = dirty(&world, "exec sleep 100");
    support::kill(world.host_pid(), nix::libc::SIGTERM);
    assert_eq!(term.wait_exit(), 143);
    term.assert_whole();
    world.assert_nothing_left();
}

/// Ctrl+C while hopty is still starting must not leave a session that nobody sees.
#[test]
fn a_client_that_dies_before_it_attaches_takes_the_session_with_it() {
    let world = world();
    for _ in 0..5 {
        let mut term = run(&world, "exec sleep 100");
        support::wait_for("the host", || {
            world.processes().into_iter().find(|(pid, _)| support::is_host(*pid))
        });
        let _ = term.child.kill();
        term.wait_exit();
        support::wait_for("the end, or a client", || {
            let attached = world.decisions().iter().any(|d| d["kind"] == "client.attached");
            if attached {
                let _ = world.hopty(&["stop", "proj"]);
            }
            (attached || world.processes().is_empty()).then_some(())
        });
        world.assert_nothing_left();
    }
}

/// Never the same line twice: where only the picture is sent, one that stays the same would fill no terminal.
const COUNTS: &str = "exec seq 100000 999999999";

/// The terminal's modes come back, and the client ends, although nothing can be written: nobody is left who
/// could hear the signal.
#[test]
fn a_client_without_its_host_ends_by_a_signal_whose_terminal_takes_nothing() {
    for relayed in [true, false] {
        for first in ["host", "client"] {
            let world = world();
            let mut term =
                if relayed { super::relay::through_dev_tty(&world, COUNTS) } else { run(&world, COUNTS) };
            term.wait_text("1000");
            let (host, client) = (world.host_pid(), client(&world));
            term.stall(true);
            // The kernel frees what it has moved a moment later: it stays full only when it was so each time.
            let mut full = 0;
            support::wait_for("a full terminal", || {
                full = if is_full(&term) { full + 1 } else { 0 };
                (full > 40).then_some(())
            });
            if first == "host" {
                support::kill(host, nix::libc::SIGKILL);
                support::wait_for("the last words to wait", || {
                    let place = std::fs::read_to_string(format!("/proc/{client}/wchan")).ok()?;
                    (relayed || place.contains("tty") || place.contains("wait_woken")).then_some(())
                });
            } else {
                support::kill(host, nix::libc::SIGSTOP);
            }
            support::kill(client, nix::libc::SIGTERM);
            assert_eq!(term.wait_exit(), 143, "relayed: {relayed}, first: {first}");
            assert!(term.modes() == term.before, "relayed: {relayed}, first: {first}");
            support::kill(host, nix::libc::SIGKILL);
            drop(term);
            // The next start sweeps the dead host's socket away.
            assert_eq!(run(&world, "exit 6").wait_exit(), 6);
            world.assert_nothing_left();
        }
    }
}

/// Whether not one byte more goes into the terminal. Linux moves what was written to the reader's side by and
/// by, and does not wake up a writer for the room behind it: that is filled up here.
fn is_full(term: &Term) -> bool {
    /// What a reader finds at most, of all that waits (`N_TTY_BUF_SIZE` less one).
    const READER: nix::libc::c_int = 4095;
    let mut slave = term.pty.open_slave().unwrap();
    hopty::sys::fd::set_nonblocking(&slave).unwrap();
    while slave.write(b"\0").is_ok() {}
    let mut waits = 0;
    // SAFETY: FIONREAD writes one int.
    unsafe { nix::libc::ioctl(term.pty.as_fd().as_raw_fd(), nix::libc::FIONREAD, &mut waits) };
    waits == READER && !hopty::sys::poll::wait_for(&slave, hopty::sys::poll::Interest::Write, 0).unwrap()
}

/// A prompt box with lines below the cursor, as an agent draws one that is not on a screen of its own.
#[test]
fn what_is_said_next_stands_below_what_the_program_drew() {
    for killed in ["host", "client"] {
        let world = world();
        let mut term = run(
            &world,
            "stty raw -echo; printf 'top\\r\\n> box\\r\\nrule\\r\\nfoot\\033[2A\\r\\033[2C'; exec sleep 100",
        );
        term.wait_text("foot");
        // The host tells its client of a picture that has not changed for a while, by its own clock.
        world.ask(&["wait", "text=foot"]);
        assert_eq!(world.hopty(&["wait", "exit", "--timeout", "300ms"]).status.code(), Some(1));
        world.status();
        let pid = if killed == "host" { world.host_pid() } else { client(&world) };
        support::kill(pid, nix::libc::SIGKILL);
        assert_eq!(term.wait_exit(), if killed == "host" { 125 } else { 137 });
        term.assert_whole();
        term.drained();
        let (lines, row) = (term.lines(), term.look(|screen| usize::from(screen.cursor().row)));
        assert_eq!(lines[..4], ["top", "> box", "rule", "foot"], "{killed}");
        if killed == "host" {
            assert!(lines[4].starts_with("hopty: run: proj: the session's host died"), "{lines:?}");
        } else {
            assert_eq!((row, lines[4].as_str()), (4, ""));
            stop(&world);
        }
        world.assert_nothing_left();
    }
}

/// What hopty has to tell at the start cannot be written: no reason to have no session.
#[test]
fn a_session_begins_whose_errors_cannot_be_written() {
    let world = world();
    // There is something to tell.
    std::fs::create_dir_all(world.session_dir().join("journal.jsonl")).unwrap();
    for dir in [world.state_dir(), world.state_dir().join("sessions"), world.session_dir()] {
        std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
    let script = format!(
        "exec '{}' run -- sh -c 'echo u$((1))p; exec cat' 2>/dev/full",
        support::claude::hopty().display()
    );
    let mut term = Term::start("/bin/sh".as_ref(), &["-c", &script], &world.env, &world.project, (120, 40));
    term.wait_text("u1p");
    term.send("\x04");
    assert_eq!(term.wait_exit(), 0);
    world.assert_nothing_left();
}
