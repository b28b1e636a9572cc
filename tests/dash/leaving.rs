//! How it ends: by a key, by a signal, with its terminal, and where it does not begin. The terminal is whole
//! afterwards.

use nix::libc;

use super::support::{kill, suspend_in_a_shell};
use super::{dash, detached, end_all, wait_chosen, wait_clients, world};

#[test]
fn signals_end_it_with_a_whole_terminal() {
    let world = world();
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
        let mut term = dash(&world);
        term.wait_text("No session is running.");
        kill(i32::try_from(term.child.id()).unwrap(), signal);
        assert_eq!(term.wait_exit(), 128 + signal);
        term.assert_whole();
    }
    world.assert_nothing_left();
}

#[test]
fn a_panic_leaves_a_whole_terminal_and_is_told() {
    let mut world = world();
    std::fs::write(world.faults().join("panic"), "dashboard").unwrap();
    let mut term = dash(&world);
    term.wait_text("No session is running.");
    term.send("\x0c");
    assert_eq!(term.wait_exit(), 125);
    term.assert_whole();
    term.wait_text("a panic was asked for");
    term.wait_text("hint: the sessions keep running");
}

#[test]
fn a_signal_while_a_session_is_attached_leaves_the_session_alone() {
    let world = world();
    detached(&world, "one", "trap 'echo hit' TERM HUP INT; echo ready; while :; do read line || exit; done");
    let mut term = dash(&world);
    wait_chosen(&term, "one");
    term.send("\r");
    term.wait_for("the primary screen", |screen| !screen.alternate());
    wait_clients(&world, "one", 1);
    kill(i32::try_from(term.child.id()).unwrap(), libc::SIGTERM);
    assert_eq!(term.wait_exit(), 128 + libc::SIGTERM);
    term.assert_whole();
    wait_clients(&world, "one", 0);
    end_all(&world);
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let world = world();
    let mut term = dash(&world);
    term.wait_text("No session is running.");
    term.hang_up();
    assert_eq!(term.wait_exit(), 128 + libc::SIGHUP);
    world.assert_nothing_left();
}

#[test]
fn the_shell_gets_its_terminal_back_for_a_while() {
    let mut world = world();
    let mut term = suspend_in_a_shell(&mut world, (100, 30), "dash", "No session is running.", 3);
    term.send("exit\r");
    assert_eq!(term.wait_exit(), 0);
    world.assert_nothing_left();
}

#[test]
fn where_nothing_can_be_drawn_it_says_so() {
    let mut world = world();
    let piped = world.hopty(&["dash"]);
    assert_eq!(piped.status.code(), Some(2));
    let said = String::from_utf8_lossy(&piped.stderr).into_owned();
    assert_eq!(
        said,
        "hopty: dash: standard input and output must be a terminal\nhint: use `hopty ls` without one\n"
    );
    world.set("TERM", "dumb");
    let mut term = dash(&world);
    assert_eq!(term.wait_exit(), 2);
    term.wait_text("hopty: dash: TERM=dumb: this terminal cannot draw a full screen");
    term.wait_text("hint: `hopty ls` lists sessions");
    term.assert_whole();
}
