//! What every case does: start Claude where nobody looks, send, wait, end.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::support::claude::hopty;
use super::support::world::World;

/// Starts Claude where nobody looks, with the world's arguments.
pub fn start(world: &World, more: &[&str]) {
    let mut args = vec!["--detached"];
    args.extend(world.args.iter().map(String::as_str));
    args.extend_from_slice(more);
    // The drop-in form needs a terminal; it is gone as soon as the name is printed.
    let mut term = world.terminal(&args);
    assert_eq!(term.wait_exit(), 0);
    world.ask(&["wait", "proj", "idle", "--timeout", "60s"]);
}

/// Runs a verb with `input` on its standard input.
pub fn with_stdin(world: &World, args: &[&str], input: &str) -> Output {
    let path = world.project.join("input");
    std::fs::write(&path, input).unwrap();
    let mut command = Command::new(hopty());
    command.args(args).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
    command.stdin(std::fs::File::open(path).unwrap()).stderr(Stdio::piped()).output().unwrap()
}

/// Submits a text; what the verb says, and the number of the journal line.
pub fn submit(world: &World, text: &str) -> (String, u64) {
    let output = with_stdin(world, &["send", "proj", "--stdin", "--submit", "--json"], text);
    let said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}\n{}", String::from_utf8_lossy(&output.stderr), world.story()));
    let keys: Vec<&String> = said.as_object().unwrap().keys().collect();
    assert!(keys == ["result", "seq"] || keys == ["error"], "no other keys: {said}");
    (said["result"].as_str().unwrap_or("refused").to_owned(), said["seq"].as_u64().unwrap_or_default())
}

pub fn submitted(world: &World, text: &str) -> u64 {
    let (result, seq) = submit(world, text);
    assert_eq!(result, "submitted", "{}", world.story());
    seq
}

pub fn wait_idle(world: &World, since: u64) -> Value {
    let since = since.to_string();
    serde_json::from_str(
        &world.ask(&["wait", "proj", "idle", "--since", &since, "--timeout", "60s", "--json"]),
    )
    .unwrap()
}

pub fn end(world: &World) {
    world.ask(&["stop", "proj"]);
    world.assert_replays();
    world.assert_nothing_left();
}

/// The texts of the last message of a person in the last request, and how often `text` stands in it.
pub fn times_asked(world: &World, text: &str) -> usize {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let wanted = squeeze(text);
    let requests = world.api.main_requests();
    let last = requests.last().expect("a request");
    last.texts().iter().map(|(_, text)| squeeze(text).matches(&wanted).count()).sum()
}
