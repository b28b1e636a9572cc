//! `hopty attach`: chooses the session and attaches this terminal to it.

use std::io::{IsTerminal, Write};

use super::control::{CONNECT, Rule, dial, live_session, paths, unanswered};
use super::error::{VerbError, note, visible};
use super::exit_codes::{NOT_FOUND, REFUSED, USAGE};
use super::join_session::join;
use super::list;
use super::read_config;
use super::session_choice::{AttachChoice, choose_session};
use super::session_picker::{self, PickerEnd};
use super::table;
use crate::client::ClientOptions;
use crate::client::start::Greeting;
use crate::core::process_change::Signal;
use crate::core::status_types::SessionStatus;
use crate::fs::paths::Paths;
use crate::tty::{can_draw, raw};

pub(super) fn attach(given: Option<&str>, read_only: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    if let Some(outer) = std::env::var_os("HOPTY_SESSION") {
        // Two sessions that show each other would redraw forever, and one prefix key can lead only one of
        // them.
        let outer = visible(&outer.to_string_lossy());
        return Err(VerbError::new(REFUSED, format!("this terminal is already inside session {outer}")).hint(
            "detach first, or use another terminal; `env -u HOPTY_SESSION hopty attach NAME` attaches anyway",
        ));
    }
    let meant = match given {
        None => choose_session(&paths)?,
        Some(_) => AttachChoice::One(live_session(&paths, given, Rule::Any)?),
    };
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let name = match meant {
        AttachChoice::One(name) => name,
        AttachChoice::Several { sessions, .. } if !terminal || !can_draw() => {
            return Err(ask_for_name(&sessions)?);
        }
        AttachChoice::Several { sessions, here } => match session_picker::pick(sessions, here)? {
            PickerEnd::Picked(name) => name,
            PickerEnd::Cancelled => {
                note(format_args!("cancelled"));
                return Ok(1);
            }
            PickerEnd::Signal(signal) => return Ok(Signal(signal).exit_code()),
        },
    };
    if !terminal {
        return Err(VerbError::new(USAGE, "standard input and output must be a terminal")
            .hint("use `hopty screen` without one"));
    }
    let socket = dial(&paths, &name, CONNECT).map_err(|e| unanswered(&paths, &name, &e))?;
    join(
        &paths,
        &name,
        socket,
        Greeting::Due,
        ClientOptions { read_only, env: variables_of_terminal(&paths) },
        None,
    )
}

/// Lists the sessions if there is no terminal to pick one in, and asks for a name.
fn ask_for_name(sessions: &[SessionStatus]) -> Result<VerbError, VerbError> {
    let cols = raw::columns(std::io::stderr());
    for line in table::lines(&list::picker_table(sessions, cols), |_, _| None) {
        writeln!(std::io::stderr(), "{line}")?;
    }
    let names: Vec<String> = sessions.iter().map(|session| visible(&session.name)).collect();
    let first = names.first().map_or("NAME", String::as_str);
    Ok(VerbError::new(NOT_FOUND, "which session?")
        .about(names.join(", "))
        .hint(format!("give its name, as in `hopty attach {first}`")))
}

/// The variables of this terminal that the session's next run gets.
fn variables_of_terminal(paths: &Paths) -> std::collections::BTreeMap<String, String> {
    let names = read_config::load(paths, &[]).0.program.update_env;
    names.into_iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect()
}
