//! Calls of hopty's hooks that are not Claude's: any program of this user can make them.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::support::claude::hopty;
use super::support::world::World;

/// Calls a hook of the session `proj` as Claude does, and gives back what Claude would read.
pub fn call(world: &World, event: &str, payload: &Value) -> String {
    let socket = world.state_dir().join("run/proj.sock");
    let mut command = Command::new(hopty());
    command
        .args(["hook", event, "5000"])
        .env_clear()
        .envs(world.env.iter().cloned())
        .env("HOPTY_SOCKET", socket);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}
