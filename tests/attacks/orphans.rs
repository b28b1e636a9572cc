//! Programs that outlive their host.

use std::time::Duration;

use nix::libc;

use super::support::wait::ends_within;
use super::support::world::World;
use super::support::{self, wait_for};

fn number(world: &World, key: &str) -> i32 {
    i32::try_from(world.status()[key].as_i64().unwrap()).unwrap()
}

/// The host dies without a word, and the program ignores that its terminal is gone.
#[test]
fn a_program_that_ignores_hangups_ends_with_its_host() {
    for (ignored, attached) in [("HUP", false), ("HUP", true), ("HUP INT QUIT PIPE USR1", false)] {
        let world = World::plain();
        let script = format!("trap '' {ignored}; echo be$((1))gun; while :; do sleep 0.1; done 2>/dev/null");
        let term = if attached {
            let term = world.terminal(&["run", "--", "sh", "-c", &script]);
            term.wait_text("be1gun");
            Some(term)
        } else {
            world.ask(&["run", "--detached", "--", "sh", "-c", &script]);
            world.ask(&["wait", "proj", "text=be1gun", "--timeout", "20s"]);
            None
        };
        let (host, child) = (number(&world, "host_pid"), number(&world, "pid"));
        support::kill(host, libc::SIGKILL);
        assert!(ends_within(child, Duration::from_secs(20)), "ignores {ignored}, attached {attached}");
        if let Some(mut term) = term {
            assert_eq!(term.wait_exit(), 125);
            term.wait_text("host died, and the program with it");
            term.assert_whole();
        }
    }
}

/// It ignores whatever can be ignored: the client that finds the host dead ends it, or whoever starts a
/// session of that name.
#[test]
fn a_program_that_ignores_everything_is_ended_by_who_finds_its_host_dead() {
    const SCRIPT: &str =
        "trap '' HUP TERM INT QUIT; echo be$((1))gun; while :; do sleep 0.1; done 2>/dev/null";
    let world = World::plain();
    let mut term = world.terminal(&["run", "--", "sh", "-c", SCRIPT]);
    term.wait_text("be1gun");
    let (host, child) = (number(&world, "host_pid"), number(&world, "pid"));
    support::kill(host, libc::SIGKILL);
    assert_eq!(term.wait_exit(), 125);
    assert!(ends_within(child, Duration::ZERO), "the client says that it died");
    term.assert_whole();

    world.ask(&["run", "--detached", "--", "sh", "-c", SCRIPT]);
    world.ask(&["wait", "proj", "text=be1gun", "--timeout", "20s"]);
    let (host, child) = (number(&world, "host_pid"), number(&world, "pid"));
    support::kill(host, libc::SIGKILL);
    wait_for("the host to be gone", || (!support::is_host(host)).then_some(()));
    world.ask(&["run", "--detached", "--", "cat"]);
    assert!(ends_within(child, Duration::from_secs(20)), "the next session of that name");
    world.ask(&["stop", "proj", "--kill"]);
    world.assert_nothing_left();
}

/// Claude itself is told, not killed: what it does at its end is done.
#[test]
fn a_program_that_hears_hangups_ends_in_its_own_way() {
    let world = World::plain();
    let script = "trap 'sleep 0.3; echo clean >end; exit' HUP TERM; echo be$((1))gun; while :; do sleep 0.1; \
                  done 2>/dev/null";
    let mut term = world.terminal(&["run", "--", "sh", "-c", script]);
    term.wait_text("be1gun");
    support::kill(number(&world, "host_pid"), libc::SIGKILL);
    assert_eq!(term.wait_exit(), 125);
    let end = wait_for("its last word", || {
        std::fs::read_to_string(world.project.join("end")).ok().filter(|text| text.ends_with('\n'))
    });
    assert_eq!(end, "clean\n");
}
