//! `hopty restart`.

use std::io::IsTerminal;

use serde_json::json;

use super::args::RestartOptions;
use super::control::{ANSWER, HostControl, Rule, live_session, paths};
use super::error::{VerbError, note, say, say_wrapped, visible};
use crate::core::ids::SessionName;
use crate::core::status_types::SessionStatus;
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::reported_state::SessionState;
use crate::fs::paths::Paths;
use crate::ipc::answers::{AcceptAnswer, RestartAnswer};
use crate::ipc::message::Request;
use crate::sys::clock::local;

pub(super) fn restart(options: &RestartOptions) -> Result<u8, VerbError> {
    let &RestartOptions { now, no_handoff, wait, json: as_json, .. } = options;
    let paths = paths()?;
    let name = live_session(&paths, options.name.as_deref(), Rule::Any)?;
    let mut control = HostControl::connect(&paths, &name, if wait { None } else { Some(ANSWER) })?;
    // Only for people: a script expects neither an answer nor an error, and it must not tempt Claude to cut
    // its own turn short.
    let told = !now && !as_json && std::io::stderr().is_terminal();
    let status = if as_json { None } else { Some(control.status()?) };
    let held = status.as_ref().filter(|_| told).and_then(delay_reason);
    let is_plain = status.is_some_and(|status| status.agent.is(ProgramKind::Plain));
    let accepted: AcceptAnswer = control.ask(&Request::Restart { now, no_handoff, wait })?;
    if as_json {
        say(format_args!("{}", json!(accepted)))?;
    } else {
        let waits = if is_plain { "" } else { ": waiting for a safe point" };
        say_wrapped(format_args!("restart of {name} requested{waits}"))?;
        if let Some(what) = held {
            note(format_args!("hint: {what}; `hopty restart {name} --now` does not wait"));
        }
    }
    if wait {
        let done: RestartAnswer = control.answer()?;
        if as_json {
            say(format_args!("{}", json!(done)))?;
        } else {
            let handed = match done.handoff {
                Some(id) => format!("handed over as {id}"),
                None if is_plain => "restarted".to_owned(),
                None => "started fresh without a handoff".to_owned(),
            };
            let conversation =
                done.conversation.map_or_else(String::new, |id| format!("; conversation {id}"));
            say_wrapped(format_args!("{handed}{conversation}"))?;
        }
    }
    Ok(0)
}

/// What delays a restart, for a person.
fn delay_reason(session: &SessionStatus) -> Option<String> {
    match (session.state.known(), session.blocked_on(local)) {
        _ if session.agent.is(ProgramKind::Plain) => None,
        (Some(SessionState::Blocked), Some(what)) => Some(format!("it is blocked on {}", visible(&what))),
        (Some(SessionState::Busy), _) => Some("it is busy".to_owned()),
        _ => None,
    }
}

/// Requests a hand-over at the next safe point.
pub(super) fn request_restart(paths: &Paths, name: &SessionName) -> Result<(), VerbError> {
    let mut control = HostControl::connect(paths, name, Some(ANSWER))?;
    let request = Request::Restart { now: false, no_handoff: false, wait: false };
    control.ask::<AcceptAnswer>(&request).map(drop)
}
