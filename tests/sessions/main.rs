//! Sessions from outside: the verbs with their output and exit codes, the socket and its protocol,
//! and who may ask for what. Every case runs the real binary.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod attach_picker;
mod errors;
mod following;
mod listing;
mod many;
mod marks;
mod names;
mod peers;
mod protocol;
mod renaming;
mod restarts;
mod screens;
mod sending;
mod sockets;
mod titles;
mod waiting;

use std::process::Output;

use serde_json::Value;
use support::world::World;
use support::{text, wait_for};

/// A world with the stand-in agent.
fn world() -> World {
    World::plain()
}

/// Ends every session, with the signal that nothing can refuse.
fn end_all(world: &World) {
    for session in list(world) {
        world.ask(&["stop", session["name"].as_str().unwrap(), "--kill"]);
    }
    world.assert_nothing_left();
}

/// What `ls --json` says.
fn list(world: &World) -> Vec<Value> {
    serde_json::from_str(&world.ask(&["ls", "--json"])).unwrap()
}

/// That a verb failed as all of them do: this code, one line that says what failed, one that helps.
fn assert_fails(output: &Output, code: i32, words: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 2 && lines[1].starts_with("hint: ") && lines[1].len() > 6, "{said}");
    let what = lines[0].strip_prefix("hopty: ").expect(&said);
    assert!(what.contains(": ") && what.contains(words), "{said}");
}
