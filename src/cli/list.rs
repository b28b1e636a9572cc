//! `hopty ls`.

use std::io::Write;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::control::{Control, none_runs, paths};
use super::error::{Failed, note, say, visible};
use super::handoff::age;
use super::restore::died_with_machine;
use super::session;
use super::table::{self, TableStyle};
use crate::core::process::Signal;
use crate::core::status::{ExitKind, Rfc3339, SessionStatus};
use crate::core::supervisor::state::SessionState;
use crate::sys::clock::Clock;

/// A host that does not answer within this is `unresponsive`.
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
                let answer =
                    Control::connect(&paths, &name, Some(PATIENCE)).and_then(|mut control| control.status());
                answer.ok().or_else(|| session::unresponsive(&paths, &name))
            })
        })
        .collect();
    let sessions: Vec<SessionStatus> =
        asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect();
    if as_json {
        say(format_args!("{}", json!(sessions)))?;
        return Ok(0);
    }
    let died = sessions.iter().filter(|session| died_with_machine(session)).count();
    if sessions.is_empty() {
        let _ = writeln!(std::io::stderr(), "no session is running; {}", none_runs(ended));
        return Ok(0);
    }
    // How it ended is asked of all only by who asks for ended ones.
    let ends: &[(&str, Cell)] = if all { &[("EXIT", exit), ("ENDED", ended_ago)] } else { &[] };
    let columns: Vec<_> = FIRST.iter().chain(ends).chain(REST).collect();
    let mut rows: Vec<Vec<String>> = vec![columns.iter().map(|(head, _)| (*head).to_owned()).collect()];
    rows.extend(sessions.iter().map(|session| columns.iter().map(|(_, cell)| cell(session)).collect()));
    let look = TableStyle::of_output();
    if let Some(cols) = look.cols {
        table::narrow(&mut rows, cols, &["RESTARTS", "RUN", "CLIENTS", "CONTEXT"]);
    }
    let of_state = |row: usize| row.checked_sub(1).and_then(|at| color(sessions[at].state.known()?));
    let color = |row, column| (look.colors && column == STATE).then(|| of_state(row)).flatten();
    table::lines(&rows, color).iter().try_for_each(|line| say(format_args!("{line}")))?;
    match died {
        0 => {}
        1 => note(format_args!("1 session died with the machine: `hopty restore` resumes it")),
        n => note(format_args!("{n} sessions died with the machine: `hopty restore` resumes them")),
    }
    Ok(0)
}

/// The SGR number of a state, as on the dashboard: what needs a person stands out.
fn color(state: SessionState) -> Option<u8> {
    match state {
        SessionState::Idle => Some(32),
        SessionState::Busy => Some(33),
        SessionState::Blocked => Some(35),
        SessionState::Unresponsive => Some(31),
        SessionState::Starting | SessionState::Stopped | SessionState::Ended | SessionState::Unknown => None,
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

/// What stands in one column for a session.
type Cell = fn(&SessionStatus) -> String;

/// Which of the columns the state's is.
const STATE: usize = 1;

/// The columns before and behind those of how a session ended.
const FIRST: &[(&str, Cell)] = &[("NAME", |session| text(&session.name)), ("STATE", state)];
const REST: &[(&str, Cell)] = &[
    ("RUN", |session| session.run.to_string()),
    ("CONTEXT", context),
    ("RESTARTS", |session| session.restarts.to_string()),
    ("CLIENTS", |session| session.clients.len().to_string()),
    ("DIRECTORY", |session| text(&session.dir)),
];

fn text(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { visible(text) }
}

fn state(session: &SessionStatus) -> String {
    let on = session.waiting_for.as_ref().map_or_else(String::new, |what| format!(" ({})", visible(what)));
    text(&session.state.to_string()) + &on
}

fn context(session: &SessionStatus) -> String {
    session.context.known_percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent} %"))
}

/// The exit code, or the signal's name; `lost` where the host died and nobody knows.
fn exit(session: &SessionStatus) -> String {
    let Some(exit) = &session.exit else { return "-".to_owned() };
    match (exit.signal, exit.code) {
        (Some(number), _) => Signal(number).name(),
        (None, _) if exit.kind.is(ExitKind::Lost) => "lost".to_owned(),
        (None, code) => code.map_or_else(|| "-".to_owned(), |code| code.to_string()),
    }
}

fn ended_ago(session: &SessionStatus) -> String {
    let ago = |at: Rfc3339| format!("{} ago", age(Clock::wall().0.saturating_sub(at.0.0)));
    session.ended_at.map_or_else(|| "-".to_owned(), ago)
}
