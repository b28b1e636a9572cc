//! `hopty run -- PROGRAM` in a terminal: what the program finds, what the person sees, and what is left
//! afterwards is what it would be without hopty. Every case runs the real binary in a pseudo-terminal of its
//! own.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod ahead;
mod bytes;
mod ends;
mod flow;
mod handed;
mod idle;
mod inherit;
mod jobs;
mod latch;
mod relay;
mod size;
mod stops;
mod unread;
mod whole;

use support::term::Term;
use support::world::World;

/// A world without a Claude, and without hopty's own key, which tests/clients is about.
fn world() -> World {
    let mut world = World::plain();
    world.set("HOPTY_TERMINAL_PREFIX", "");
    world
}

/// `hopty run -- sh -c SCRIPT` in a terminal of 120x40.
fn run(world: &World, script: &str) -> Term {
    world.terminal(&["run", "--", "sh", "-c", script])
}

/// The same without hopty.
fn bare(world: &World, script: &str) -> Term {
    Term::start("/bin/sh".as_ref(), &["-c", script], &world.env, &world.project, (120, 40))
}

/// Everything that a program wrote to its terminal, after its end, as text with plain line ends.
fn output(term: &mut Term) -> String {
    term.wait_exit();
    term.drained();
    String::from_utf8_lossy(&term.bytes()).replace("\r\n", "\n")
}

/// The program of the only session, as soon as it runs.
fn child(world: &World) -> i32 {
    support::wait_for("the program", || {
        let output = world.hopty(&["status", "--json"]);
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        i32::try_from(status["pid"].as_i64()?).ok()
    })
}

/// The client that started the only session.
fn client(world: &World) -> i32 {
    let runs_hopty = |line: &str| line.split(' ').next().is_some_and(|program| program.ends_with("/hopty"));
    support::wait_for("the client", || {
        // A host looks like its client in all but its name, and does not have that from the first moment on.
        let has_host = world.processes().into_iter().any(|(pid, _)| support::is_host(pid));
        let found =
            world.processes().into_iter().find(|(pid, line)| runs_hopty(line) && !support::is_host(*pid));
        found.filter(|_| has_host).map(|(pid, _)| pid)
    })
}
