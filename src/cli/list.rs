//! `hopty ls`.

use std::io::Write;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::control::{Control, none_runs, paths};
use super::error::{Failed, say, visible};
use super::session;

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
    let mut rows = vec![["NAME", "STATE", "RUN", "CONTEXT", "RESTARTS", "CLIENTS", "DIRECTORY"].map(str::to_owned)];
    rows.extend(sessions.iter().map(row));
    print(&rows)?;
    Ok(0)
}

/// Prints a table: columns as wide as they must be, two spaces between them.
pub(super) fn print<const N: usize>(rows: &[[String; N]]) -> std::io::Result<()> {
    let widths: Vec<usize> = (0..N).map(|n| rows.iter().map(|row| row[n].width()).max().unwrap_or(0)).collect();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width()))).collect();
        say(format_args!("{}", cells.join("  ").trim_end()))?;
    }
    Ok(())
}

fn row(session: &Value) -> [String; 7] {
    let text = |key: &str| match &session[key] {
        Value::String(text) => visible(text),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let context = &session["context"];
    let fill =
        if context["tokens_from"] == "none" || context.is_null() { "-".to_owned() } else { format!("{} %", context["percent"]) };
    let clients = session["clients"].as_array().map_or(0, Vec::len).to_string();
    let state = match session["waiting_for"].as_str() {
        Some(what) => format!("{} ({})", text("state"), visible(what)),
        None => text("state"),
    };
    [text("name"), state, text("run"), fill, text("restarts"), clients, text("dir")]
}
