//! `hopty ls`.

use std::io::Write;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::control::{Control, none_runs, paths};
use super::error::{Failed, say, visible};
use super::handoff::age;
use super::session;
use super::table::{self, Look};
use crate::core::process::Signal;
use crate::core::time::WallTime;
use crate::io::clock::Clock;

/// A host that does not answer within this is `unresponsive` (CONTRACT C3).
pub(super) const PATIENCE: Duration = Duration::from_millis(200);

pub(super) fn ls(as_json: bool, all: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    super::control::readable(&paths)?;
    // All hosts are asked at once, so that a slow one costs its own time only.
    let known = crate::fs::session::list(&paths);
    let ended = !all && !known.is_empty();
    let asked: Vec<_> = known
        .into_iter()
        .filter(|(_, alive)| *alive || all)
        .map(|(name, alive)| {
            let paths = paths.clone();
            thread::spawn(move || {
                if !alive {
                    crate::fs::session::remove_stale_socket(&paths, &name);
                    return session::ended(&paths, &name);
                }
                let answer = Control::connect(&paths, &name, Some(PATIENCE)).and_then(|mut c| c.ask(json!({"do": "status"})));
                answer.ok().or_else(|| session::unresponsive(&paths, &name))
            })
        })
        .collect();
    let sessions: Vec<Value> = asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect();
    if as_json {
        say(format_args!("{}", json!(sessions)))?;
        return Ok(0);
    }
    if sessions.is_empty() {
        let _ = writeln!(std::io::stderr(), "no session is running; {}", none_runs(ended));
        return Ok(0);
    }
    // How it ended is asked of all only by who asks for ended ones.
    let ends: &[(&str, Cell)] = if all { &[("EXIT", exit), ("ENDED", ended_ago)] } else { &[] };
    let columns: Vec<_> = FIRST.iter().chain(ends).chain(REST).collect();
    let mut rows: Vec<Vec<String>> = vec![columns.iter().map(|(head, _)| (*head).to_owned()).collect()];
    rows.extend(sessions.iter().map(|session| columns.iter().map(|(_, cell)| cell(session)).collect()));
    let look = Look::of_output();
    if let Some(cols) = look.cols {
        table::narrow(&mut rows, cols, &["RESTARTS", "RUN", "CLIENTS", "CONTEXT"]);
    }
    let of_state = |row: usize| row.checked_sub(1).and_then(|at| color(sessions[at]["state"].as_str()?));
    let color = |row, column| (look.colors && column == STATE).then(|| of_state(row)).flatten();
    table::lines(&rows, color).iter().try_for_each(|line| say(format_args!("{line}")))?;
    Ok(0)
}

/// The SGR number of a state, as on the dashboard: what needs a person stands out.
fn color(state: &str) -> Option<u8> {
    match state {
        "idle" => Some(32),
        "busy" => Some(33),
        "blocked" => Some(35),
        "unresponsive" => Some(31),
        _ => None,
    }
}

/// The names alone, from the directory of sessions: for scripts, and for shells while one types.
pub(super) fn names(all: bool) -> Result<u8, Failed> {
    for (name, alive) in crate::fs::session::list(&paths()?) {
        if alive || all {
            say(format_args!("{name}"))?;
        }
    }
    Ok(0)
}

/// What stands in one column for a session object.
type Cell = fn(&Value) -> String;

/// Which of the columns the state's is.
const STATE: usize = 1;

/// The columns before and behind those of how a session ended.
const FIRST: &[(&str, Cell)] = &[("NAME", |session| text(&session["name"])), ("STATE", state)];
const REST: &[(&str, Cell)] = &[
    ("RUN", |session| text(&session["run"])),
    ("CONTEXT", context),
    ("RESTARTS", |session| text(&session["restarts"])),
    ("CLIENTS", |session| session["clients"].as_array().map_or(0, Vec::len).to_string()),
    ("DIRECTORY", |session| text(&session["dir"])),
];

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => visible(text),
        Value::Null => "-".to_owned(),
        // A number, or whatever else a damaged file has in its place.
        other => visible(&other.to_string()),
    }
}

fn state(session: &Value) -> String {
    let on = session["waiting_for"].as_str().map_or_else(String::new, |what| format!(" ({})", visible(what)));
    text(&session["state"]) + &on
}

fn context(session: &Value) -> String {
    let context = &session["context"];
    if context["tokens_from"] == "none" || context.is_null() { "-".to_owned() } else { format!("{} %", text(&context["percent"])) }
}

/// The exit code, or the signal's name; `lost` where the host died and nobody knows.
fn exit(session: &Value) -> String {
    let exit = &session["exit"];
    let signal = exit["signal"].as_i64().and_then(|number| i32::try_from(number).ok());
    match signal {
        Some(number) => Signal(number).name(),
        None if exit["kind"] == "lost" => "lost".to_owned(),
        None => text(&exit["code"]),
    }
}

fn ended_ago(session: &Value) -> String {
    let at = session["ended_at"].as_str().and_then(WallTime::parse);
    at.map_or_else(|| "-".to_owned(), |at| format!("{} ago", age(Clock::wall().0.saturating_sub(at.0))))
}
