//! Several terminals at one session: who leads, what each sees, the prefix key, detaching and coming back.
//! Every case runs the real binary in pseudo-terminals of its own.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod agent;
#[cfg(debug_assertions)]
mod degraded;
mod history;
mod jobs;
mod leader;
mod notices;
mod orders;
mod slow;

use support::term::Term;
use support::world::World;

/// A world without a Claude.
fn world() -> World {
    World::plain()
}

/// `hopty run -- sh -c SCRIPT` in a terminal of 120x40.
fn run(world: &World, script: &str) -> Term {
    world.terminal(&["run", "--", "sh", "-c", script])
}

/// `hopty ARGS` in a terminal of a size of its own.
fn sized(world: &World, args: &[&str], size: (u16, u16)) -> Term {
    Term::start(&support::claude::hopty(), args, &world.env, &world.project, size)
}

/// The clients of the only session, as `hopty status --json` lists them.
fn clients(world: &World) -> Vec<serde_json::Value> {
    world.status()["clients"].as_array().cloned().unwrap_or_default()
}

fn wait_clients(world: &World, count: usize) {
    support::wait_for("clients", || {
        let clients = clients(world);
        (clients.len() == count && clients.iter().all(|client| client["via"] != "none")).then_some(())
    });
}

fn end(world: &World) {
    world.ask(&["stop", "proj", "--kill"]);
    world.assert_nothing_left();
}
