//! `hopty attach`: chooses the session and attaches this terminal to it.

use std::io::{IsTerminal, Write};

use super::control::{CONNECT, Rule, check_sessions_dir, dial, live_session, nearest, paths, unanswered};
use super::detach_and_stop::live_names;
use super::error::{VerbError, note, visible};
use super::exit_codes::{NOT_FOUND, REFUSED, USAGE};
use super::join_session::join;
use super::list;
use super::read_config;
use super::session_picker::{self, PickerEnd};
use super::table;
use crate::client::ClientOptions;
use crate::client::start::Greeting;
use crate::core::ids::SessionName;
use crate::core::process_change::Signal;
use crate::core::status_types::SessionStatus;
use crate::fs::paths::Paths;
use crate::fs::session::ListedSession;
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

/// What `hopty attach` without a name may mean.
#[derive(Debug, PartialEq)]
enum AttachChoice {
    One(SessionName),
    /// A person picks from the list. The first `here` of them run in this directory.
    Several {
        sessions: Vec<SessionStatus>,
        here: usize,
    },
}

/// The only session that is running, or the only one of this directory; of several here, the one that is
/// detached.
fn choose_session(paths: &Paths) -> Result<AttachChoice, VerbError> {
    check_sessions_dir(paths)?;
    let names = live_names(paths)?;
    let here = nearest(paths, &names);
    match (here.as_slice(), names.as_slice()) {
        ([one], _) | ([], [one]) => Ok(AttachChoice::One(one.clone())),
        // The error says what else can be done.
        ([], []) => live_session(paths, None, Rule::Any).map(AttachChoice::One),
        _ => {
            let alive = names.into_iter().map(|name| ListedSession { name, is_alive: true });
            Ok(choice(list::statuses(paths, alive.collect()), &here))
        }
    }
}

fn choice(sessions: Vec<SessionStatus>, here: &[SessionName]) -> AttachChoice {
    let (mut of_here, mut others): (Vec<SessionStatus>, Vec<SessionStatus>) =
        sessions.into_iter().partition(|session| here.iter().any(|name| name.as_str() == session.name));
    let mut detached = of_here.iter().filter(|session| session.clients.is_empty());
    if let (Some(one), None) = (detached.next(), detached.next())
        && let Ok(name) = one.name.parse()
    {
        return AttachChoice::One(name);
    }
    of_here.sort_by_key(|session| !list::needs_person(session));
    others.sort_by_key(|session| !list::needs_person(session));
    let here = of_here.len();
    of_here.append(&mut others);
    AttachChoice::Several { sessions: of_here, here }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::status_types::ClientStatus;
    use crate::core::supervisor::reported_state::SessionState;

    fn session(name: &str, clients: usize, state: SessionState) -> SessionStatus {
        SessionStatus {
            name: name.to_owned(),
            state: state.into(),
            clients: vec![ClientStatus::default(); clients],
            ..SessionStatus::default()
        }
    }

    #[test]
    fn the_only_detached_session_of_several_is_chosen() {
        let (idle, blocked) = (SessionState::Idle, SessionState::Blocked);
        let here: Vec<SessionName> = ["b", "c"].map(|name| name.parse().unwrap()).to_vec();
        let found =
            choice(vec![session("a", 0, blocked), session("b", 1, idle), session("c", 0, idle)], &here);
        assert_eq!(found, AttachChoice::One("c".parse().unwrap()), "one elsewhere does not count");
        // Several are detached, or none: a person picks. Sessions of this directory come first, blocked ones
        // before the others.
        for clients in [0, 1] {
            let sessions = vec![
                session("a", 0, idle),
                session("b", clients, idle),
                session("c", clients, blocked),
                session("d", 0, blocked),
            ];
            let AttachChoice::Several { sessions, here } = choice(sessions, &here) else {
                panic!("{clients}")
            };
            let names: Vec<&str> = sessions.iter().map(|session| session.name.as_str()).collect();
            assert_eq!((here, names), (2, vec!["c", "b", "d", "a"]));
        }
        let AttachChoice::Several { here, .. } =
            choice(vec![session("a", 0, idle), session("b", 0, idle)], &[])
        else {
            panic!("one elsewhere is not simply taken");
        };
        assert_eq!(here, 0);
    }
}
