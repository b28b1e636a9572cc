//! `hopty rename` and `hopty label`.

use std::collections::BTreeSet;

use serde_json::json;

use super::control::ANSWER;
use super::control::{HostControl, Rule, any_session, invalid_name, live_session, paths};
use super::error::{VerbError, say, visible};
use super::exit_codes::{INTERNAL, USAGE};
use super::status::status_of;
use crate::core::ids::{BadId, LABEL_HINT, Label, SessionName, change_labels};
use crate::fs::paths::Paths;
use crate::fs::session::{self, SessionError, is_alive};
use crate::ipc::answers::{LabelAnswer, RenameAnswer};
use crate::ipc::message::Request;

/// Renames a session, which may have ended.
pub(super) fn rename(words: &[String], as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    let (name, new) = match words {
        [new] => {
            (live_session(&paths, None, Rule::Careful).map_err(|failed| one_name(&paths, new, failed))?, new)
        }
        [given, new] => (any_session(&paths, Some(given))?, new),
        _ => return Err(VerbError::new(USAGE, "give the new name").hint("`hopty rename NAME NEW`")),
    };
    let new: SessionName = new.parse().map_err(|_| {
        let like = SessionName::for_directory(new);
        invalid_name(new).hint(format!("{}; `{like}` is one like it", invalid_name(new).help()))
    })?;
    if words.len() == 1 && new == name {
        return Err(no_new_name(&new));
    }
    if is_alive(&paths.session(&name)) {
        let request = Request::Rename { name: new.to_string() };
        HostControl::connect(&paths, &name, Some(ANSWER))?.ask::<RenameAnswer>(&request)?;
    } else if new != name {
        session::rename_ended(&paths, &name, &new).map_err(|error| {
            let code = match error {
                SessionError::Taken(_) | SessionError::Former { .. } | SessionError::Ended(_) => 4,
                _ => 125,
            };
            VerbError::new(code, format!("{new}: {error}")).about(&name).hint(error.hint())
        })?;
    }
    if as_json {
        say(format_args!("{}", json!({"name": new, "before": name})))?;
    } else if words.len() == 1 {
        say(format_args!("renamed {name} to {new}"))?;
    }
    Ok(0)
}

/// The error for one name where no session of this directory can be meant.
fn one_name(paths: &Paths, given: &str, failed: VerbError) -> VerbError {
    let is_session = given.parse().is_ok_and(|name| paths.session(&name).is_dir());
    if is_session {
        return no_new_name(&visible(given));
    }
    let hint =
        format!("{}; `hopty rename NAME {}` renames one from elsewhere", failed.help(), visible(given));
    failed.hint(hint)
}

fn no_new_name(name: &dyn std::fmt::Display) -> VerbError {
    VerbError::new(USAGE, "give the new name, too")
        .about(name)
        .hint(format!("`hopty rename {name} NEW` gives it another"))
}

pub(super) fn bad_label(error: &BadId) -> VerbError {
    VerbError::new(USAGE, "not a label").about(&error.text).hint(LABEL_HINT)
}

/// Changes or prints the labels of a session, which may have ended.
pub(super) fn label(given: &str, changes: &[String], as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    let name = any_session(&paths, Some(given))?;
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    // clap reads an option after the labels as a label.
    let as_json = as_json || changes.iter().any(|change| change == "--json");
    for change in changes.iter().filter(|change| *change != "--json") {
        match change.strip_prefix('-') {
            Some(label) => remove.push(label.to_owned()),
            None => add.push(change.strip_prefix('+').unwrap_or(change).to_owned()),
        }
    }
    // Checked here for the exit code of any other invalid word.
    change_labels(&mut BTreeSet::new(), &add, &remove).map_err(|error| bad_label(&error))?;
    if !add.is_empty() || !remove.is_empty() {
        if is_alive(&paths.session(&name)) {
            let request = Request::Label { add: add.clone(), remove: remove.clone() };
            HostControl::connect(&paths, &name, Some(ANSWER))?.ask::<LabelAnswer>(&request)?;
        } else {
            session::edit_ended(&paths, &name, |last| {
                let mut labels: BTreeSet<Label> =
                    last.labels.iter().filter_map(|label| label.parse().ok()).collect();
                let _ = change_labels(&mut labels, &add, &remove);
                last.labels = labels.iter().map(ToString::to_string).collect();
            })
            .map_err(|error| VerbError::new(INTERNAL, error.to_string()).about(&name).hint(error.hint()))?;
        }
    }
    let labels = status_of(&paths, &name)?.labels;
    if as_json {
        say(format_args!("{}", json!({"name": name, "labels": labels})))?;
    } else if add.is_empty() && remove.is_empty() {
        labels.iter().try_for_each(|label| say(format_args!("{}", visible(label))))?;
    }
    Ok(0)
}
