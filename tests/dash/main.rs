//! `hopty dash` in a terminal: what it shows of real sessions, what its keys do to them, and that it leaves
//! the terminal as it found it.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod leaving;
mod looking;
mod pictures;
mod wishes;

use support::claude::hopty;
use support::term::Term;
use support::world::World;

/// A world without a Claude.
fn world() -> World {
    World::plain()
}

/// Starts a program in a session without a terminal.
fn detached(world: &World, name: &str, script: &str) {
    world.ask(&["run", "--name", name, "--detached", "--", "sh", "-c", script]);
}

/// The dashboard in a terminal of 100x30.
fn dash(world: &World) -> Term {
    dash_sized(world, (100, 30))
}

fn dash_sized(world: &World, size: (u16, u16)) -> Term {
    Term::start(&hopty(), &["dash"], &world.env, &world.project, size)
}

/// Waits until a session is the chosen one.
fn wait_chosen(term: &Term, name: &str) {
    term.wait_for(&format!("{name} to be chosen"), |screen| {
        screen.lines().iter().any(|line| line.starts_with(&format!("›{name} ")))
    });
}

/// Waits until so many terminals are attached to a session.
fn wait_clients(world: &World, name: &str, count: usize) {
    support::wait_for(&format!("{count} clients of {name}"), || {
        let status: serde_json::Value =
            serde_json::from_str(&world.ask(&["status", name, "--json"])).unwrap();
        (status["clients"].as_array()?.len() == count).then_some(())
    });
}

/// Ends every session, with the signal that nothing can refuse.
fn end_all(world: &World) {
    let list: serde_json::Value = serde_json::from_str(&world.ask(&["ls", "--json"])).unwrap();
    for session in list.as_array().unwrap() {
        world.ask(&["stop", session["name"].as_str().unwrap(), "--kill"]);
    }
    world.assert_nothing_left();
}

/// Leaves by `q`: the terminal is whole, and the sessions go on.
fn leave(mut term: Term) {
    term.send("q");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
}
