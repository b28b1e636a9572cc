//! `hopty rename`.

use serde_json::json;

use super::control::{HostControl, Rule, any, live, named, paths};
use super::error::{Failed, say};
use super::session::ANSWER;
use crate::fs::session::{self, SessionError, is_alive};

/// Gives a session, which may have ended, another name.
pub(super) fn rename(words: &[String], as_json: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    let (name, new) = match words {
        [new] => (live(&paths, None, Rule::Careful)?, new),
        [given, new] => (any(&paths, Some(given))?, new),
        _ => return Err(Failed::new(2, "give the new name").hint("`hopty rename NAME NEW`")),
    };
    let new = named(new)?;
    if is_alive(&paths.session(&name)) {
        HostControl::connect(&paths, &name, Some(ANSWER))?.ask(json!({"do": "rename", "name": new}))?;
    } else if new != name {
        session::rename_ended(&paths, &name, &new).map_err(|error| {
            let code = match error {
                SessionError::Taken(_) | SessionError::Former { .. } | SessionError::Ended(_) => 4,
                _ => 125,
            };
            Failed::new(code, format!("{new}: {error}")).about(&name).hint(error.hint())
        })?;
    }
    if as_json {
        say(format_args!("{}", json!({"name": new, "before": name})))?;
    }
    Ok(0)
}
