//! `hopty ls`.

use std::io::Write;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::control::{Control, none_runs, paths};
use super::error::{Failed, say, visible};
use super::handoff::age;
use super::session;
use crate::core::process::Signal;
use crate::core::time::WallTime;
use crate::io::clock::Clock;

/// A host that does not answer within this is `unresponsive` (CONTRACT C3).
pub(super) const PATIENCE: Duration = Duration::from_millis(200);

pub(super) fn ls(as_json: bool, all: bool) -> Result<u8, Failed> {
    let paths = paths()?;
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
    print(&rows)?;
    Ok(0)
}

/// Prints a table: columns as wide as they must be, two spaces between them.
pub(super) fn print(rows: &[impl AsRef<[String]>]) -> std::io::Result<()> {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let width = |n: usize| rows.iter().filter_map(|row| row.as_ref().get(n)).map(|cell| cell.width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells: Vec<String> =
            row.as_ref().iter().zip(&widths).map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width()))).collect();
        say(format_args!("{}", cells.join("  ").trim_end()))?;
    }
    Ok(())
}

/// What stands in one column for a session object.
type Cell = fn(&Value) -> String;

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
        other => other.to_string(),
    }
}

fn state(session: &Value) -> String {
    let on = session["waiting_for"].as_str().map_or_else(String::new, |what| format!(" ({})", visible(what)));
    text(&session["state"]) + &on
}

fn context(session: &Value) -> String {
    let context = &session["context"];
    if context["tokens_from"] == "none" || context.is_null() { "-".to_owned() } else { format!("{} %", context["percent"]) }
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
