//! `hopty detach` and `hopty stop`, for one session or all.

use std::io::IsTerminal;

use serde_json::json;

use super::control::{ANSWER, HostControl, Rule, continue_host, live_session, paths};
use super::error::{VerbError, YesNo, ask_yes_no, no_terminal, note, say, say_wrapped};
use super::exit_codes::{FAILED, NOT_FOUND};
use crate::core::ids::SessionName;
use crate::fs::paths::Paths;
use crate::ipc::answers::{AcceptAnswer, DetachAnswer};
use crate::ipc::message::Request;

/// Detaches all clients of a session, which keeps running.
pub(super) fn detach(given: Option<&str>, client: Option<u32>, as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    let name = live_session(&paths, given, Rule::Any)?;
    let mut control = HostControl::connect(&paths, &name, Some(ANSWER))?;
    let done: DetachAnswer = control.ask(&Request::Detach { client })?;
    if as_json {
        say(format_args!("{}", json!(done)))?;
    } else if done.detached == 0 {
        let missing = client.map_or("no terminal is attached to it".to_owned(), |number| {
            format!("it has no client {number}")
        });
        let hint = format!("`hopty status {name} --json` lists clients");
        return Err(VerbError::new(FAILED, missing).about(&name).hint(hint));
    }
    Ok(u8::from(done.detached == 0))
}

pub(super) fn detach_all(as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    let (counts, code) = for_each(live_names(&paths)?, "detach", as_json, |name| {
        let mut control = HostControl::connect(&paths, name, Some(ANSWER))?;
        let done: DetachAnswer = control.ask(&Request::Detach { client: None })?;
        Ok(done.detached)
    });
    let detached: usize = counts.iter().sum();
    if as_json {
        say(format_args!("{}", json!({"detached": detached})))?;
    } else if detached == 0 && code == 0 {
        return Err(VerbError::new(FAILED, "no terminal is attached to any session")
            .hint("`hopty ls` lists sessions"));
    }
    Ok(if code == 0 { u8::from(detached == 0) } else { code })
}

/// Ends the named sessions, or the one that is meant without a name. None ends if one of them is not running.
pub(super) fn stop(given: &[String], kill: bool, as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    let names = match given {
        [] => vec![live_session(&paths, None, Rule::Careful)?],
        given => given
            .iter()
            .map(|name| live_session(&paths, Some(name), Rule::Careful))
            .collect::<Result<Vec<_>, _>>()?,
    };
    let (_, code) = for_each(names, "stop", as_json, |name| {
        stop_one(&paths, name, kill)?;
        // Which one hopty chose.
        if given.is_empty() && !as_json {
            say_wrapped(format_args!("stopped {name}"))?;
        }
        Ok(())
    });
    Ok(code)
}

/// Ends every session; asks first unless `yes`.
pub(super) fn stop_all(yes: bool, kill: bool, as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    let names = live_names(&paths)?;
    if names.is_empty() {
        return Err(VerbError::new(NOT_FOUND, "no session is running")
            .hint("`hopty ls --all` includes ended sessions"));
    }
    if !yes {
        if !std::io::stdin().is_terminal() {
            return Err(no_terminal("hopty stop --all --yes"));
        }
        let listed: Vec<&str> = names.iter().map(SessionName::as_str).collect();
        if !ask_yes_no(&format!("End {}?", listed.join(", ")), YesNo::No)? {
            note(format_args!("cancelled"));
            return Ok(1);
        }
    }
    let (_, code) = for_each(names, "stop", as_json, |name| {
        stop_one(&paths, name, kill)?;
        if !as_json {
            say_wrapped(format_args!("stopped {name}"))?;
        }
        Ok(())
    });
    Ok(code)
}

fn stop_one(paths: &Paths, name: &SessionName, kill: bool) -> Result<(), VerbError> {
    if kill {
        // A stopped host can kill nothing.
        continue_host(paths, name);
    }
    let stopped = HostControl::connect(paths, name, None).and_then(|mut control| {
        control.ask::<AcceptAnswer>(&Request::Stop { kill })?;
        control.wait_for_end();
        Ok(())
    });
    // A host of an older version releases its name a moment later. Another `hopty stop` may have been faster.
    if super::wait::has_ended(paths, name) { Ok(()) } else { stopped }
}

/// Runs `act` on each session, also after a failure. Returns the results of those that succeeded, and the
/// exit code of the last failure or 0.
fn for_each<T>(
    names: Vec<SessionName>,
    verb: &str,
    as_json: bool,
    each: impl Fn(&SessionName) -> Result<T, VerbError>,
) -> (Vec<T>, u8) {
    let mut code = 0;
    let done =
        names.iter().filter_map(|name| each(name).map_err(|failed| code = failed.print(verb, as_json)).ok());
    let done = done.collect();
    (done, code)
}

pub(super) fn live_names(paths: &Paths) -> Result<Vec<SessionName>, VerbError> {
    super::control::check_sessions_dir(paths)?;
    Ok(crate::fs::session::live_names(paths))
}
