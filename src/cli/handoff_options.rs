//! The options that a conversation from a handoff (`--handoff`) takes over from the one before: its name,
//! model and plan mode, unless the person sets others.

use std::path::Path;

use crate::core::claude::args::{OwnArgs, is_model};
use crate::core::claude::permission::PermissionMode;
use crate::core::handoff::handoff_selector::pick;
use crate::core::handoff::state_json::HandoffState;
use crate::core::ids::SessionName;
use crate::fs::paths::Paths;
use crate::fs::store::{HandoffScope, Store};
use crate::fs::{registry, session};
use crate::host::start::BeginWith;
use crate::sys::clock::Clock;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HandoffOptions {
    /// The person's name for the conversation.
    pub title: Option<String>,
    pub args: Vec<String>,
}

impl HandoffOptions {
    /// The options for a session that begins in `dir`; none if there is no handoff, which the host reports.
    pub(super) fn of(paths: &Paths, begin: &BeginWith, own: &OwnArgs, dir: &Path) -> HandoffOptions {
        let Some(state) = state_of(paths, begin, dir) else { return HandoffOptions::default() };
        let title = own.name.is_none().then(|| title_of(paths, &state, dir)).flatten();
        HandoffOptions { title, args: options(&state, own) }
    }
}

/// The state of the handoff to begin with.
fn state_of(paths: &Paths, begin: &BeginWith, dir: &Path) -> Option<HandoffState> {
    let store = Store::at(&paths.claude);
    let id = match begin {
        BeginWith::Fresh => return None,
        BeginWith::From(text) => {
            pick(text, store.list(None).ok()?.iter().map(|(_, entry)| &entry.id)).ok()?
        }
        BeginWith::Pending => {
            let channel = registry::channel_of(&paths.claude, dir).ok()?;
            store.pending(&channel, None, HandoffScope::Project, dir, Clock::wall()).ok()??.id
        }
    };
    store.records().state(&id)
}

/// Only the most restrictive permission mode is taken over: any program of this user can write a record, so
/// its mode must not allow more than the command line and the settings do.
fn options(state: &HandoffState, own: &OwnArgs) -> Vec<String> {
    let model = state.model.as_deref().filter(|model| own.model.is_none() && is_model(model));
    let asks = own.permission_mode.is_none() && !own.skips_permissions;
    let mode = state.permission_mode.as_deref().filter(|_| asks);
    let mode: Option<PermissionMode> = mode
        .and_then(|word| serde_json::from_value(word.into()).ok())
        .filter(|mode| *mode == PermissionMode::Plan);
    let pair = |option: &str, value: &str| [option.to_owned(), value.to_owned()];
    let model = model.map(|model| pair("--model", model));
    let mode = mode.map(|mode| pair("--permission-mode", mode.word()));
    model.into_iter().chain(mode).flatten().collect()
}

/// The name of the conversation before, from the session that ended in it, or that session's own name.
fn title_of(paths: &Paths, state: &HandoffState, dir: &Path) -> Option<String> {
    let name = state.hopty_session.as_ref()?;
    let place = paths.session(name);
    if session::is_alive(&place) {
        return None;
    }
    let last = session::status(&place).ok()??;
    // A session that broke off in a hand-over is in the fresh conversation already.
    let is_its = [&last.conversation, &last.before].into_iter().flatten().any(|id| *id == state.session_id)
        || last.handoff.as_ref().is_some_and(|handoff| handoff.id == state.id);
    if !is_its {
        return None;
    }
    let given = OwnArgs::of(last.command.get(1..).unwrap_or_default()).name;
    let here = dir.file_name().map(|name| SessionName::for_directory(&name.to_string_lossy()));
    given.or(last.work.title).or_else(|| (here.as_ref() != Some(name)).then(|| name.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args_of(model: Option<&str>, mode: Option<&str>, own: &str) -> String {
        let state = HandoffState {
            model: model.map(str::to_owned),
            permission_mode: mode.map(str::to_owned),
            ..serde_json::from_str(include_str!("../../fixtures/samples/state.json")).unwrap()
        };
        let words: Vec<String> = own.split_whitespace().map(str::to_owned).collect();
        options(&state, &OwnArgs::of(&words)).join(" ")
    }

    #[test]
    fn model_and_mode_stay_unless_others_are_given() {
        let all = "--model claude-sonnet-4-5 --permission-mode plan";
        let (model, mode) = (Some("claude-sonnet-4-5"), Some("plan"));
        assert_eq!(args_of(model, mode, ""), all);
        assert_eq!(args_of(model, mode, "--model opus"), "--permission-mode plan");
        assert_eq!(args_of(model, mode, "--permission-mode default"), "--model claude-sonnet-4-5");
        assert_eq!(args_of(None, mode, "--dangerously-skip-permissions"), "");
        for wider in ["default", "dontAsk", "acceptEdits", "auto", "bypassPermissions", "of another version"]
        {
            assert_eq!(args_of(None, Some(wider), ""), "", "{wider}");
        }
        assert_eq!(args_of(Some("--resume"), None, ""), "", "no option hides in a name");
    }
}
