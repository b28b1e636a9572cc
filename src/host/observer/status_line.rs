//! Claude's status line: the only source in which Claude reports the size of its context window.
//!
//! For each launch Claude gets `hopty statusline` in `--settings`, merged with the person's own `--settings`,
//! because Claude uses only the last one. The person's own status line is chained, so it looks the same as
//! before.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Observer;
use crate::claude::plugin;
use crate::core::claude::args::OwnArgs;
use crate::core::claude::settings::{SettingsArgument, merge};
use crate::core::claude::statusline_payload::StatusLine;
use crate::core::time::Stamp;
use crate::fs::paths::Paths;
use crate::sys::clock::Clock;
use crate::sys::safe_file::{self, FileRule};

/// The `--settings` of a launch: the person's own, with `hopty statusline` in front of their status line.
/// `None`: nothing is added, because the project has a status line of its own, which Claude runs only in a
/// trusted project.
///
/// `refresh_s`: how often Claude also runs it by itself, in seconds, unless the person's settings say so
/// (2.1.332 runs it once after each answer; an older version ignores the key).
pub(in crate::host) fn settings(
    paths: &Paths,
    project: &Path,
    own: &OwnArgs,
    refresh_s: Option<u64>,
) -> Option<String> {
    let [user, shared, local] = paths.claude_settings(project);
    let object = |path: &Path| -> Map<String, Value> {
        read_settings(path).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    };
    if object(&shared).contains_key("statusLine") || object(&local).contains_key("statusLine") {
        return None;
    }
    let given_text = match own.settings.as_deref() {
        None => None,
        Some(value) if SettingsArgument::of(value) == SettingsArgument::Inline => Some(value.to_owned()),
        Some(path) => Some(read_settings(&project.join(path))?),
    };
    let mut flag: Map<String, Value> = match &given_text {
        None => Map::new(),
        Some(text) => serde_json::from_str(text).ok()?,
    };
    let theirs = flag.remove("statusLine").or_else(|| object(&user).remove("statusLine"));
    let mut ours = theirs.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
    let command = theirs.as_ref().and_then(|theirs| theirs.get("command")?.as_str()).unwrap_or_default();
    ours.insert("type".to_owned(), json!("command"));
    ours.insert("command".to_owned(), json!(plugin::statusline_command(&plugin::this_binary(), command)));
    if let Some(seconds) = refresh_s {
        ours.entry("refreshInterval").or_insert_with(|| json!(seconds));
    }
    let additions = Map::from_iter([("statusLine".to_owned(), Value::Object(ours))]);
    let flag = given_text.map(|_| Value::Object(flag).to_string());
    merge(flag.as_deref(), &additions).ok().flatten()
}

impl Observer {
    /// Whether Claude runs the status line in this conversation.
    pub fn has_status_line(&self) -> bool {
        let now = self.transcript.as_ref().map(|transcript| &transcript.conversation);
        self.status_line.as_ref().is_some_and(|(line, _)| Some(&line.conversation) == now)
    }

    /// Handles a status line payload: the window that Claude reports, and its tokens while the transcript has
    /// none. Returns whether it belongs to the followed conversation.
    pub fn status_line(&mut self, payload: &Value, now: Stamp) -> bool {
        let Some(reported) = StatusLine::read(payload) else { return false };
        let same = self
            .transcript
            .as_ref()
            .is_some_and(|transcript| transcript.conversation == reported.conversation);
        if same {
            self.take_status_line(reported, now);
        } else {
            // With `--continue` it may arrive before the hook that names the conversation (measured on
            // 2.1.330), and only once.
            self.early_status_line = Some((reported, now));
        }
        same
    }

    /// The status line of the followed conversation.
    pub(super) fn take_status_line(&mut self, mut reported: StatusLine, at: Stamp) {
        if let Some((earlier, _)) = &self.status_line {
            reported.keep_limits(earlier, u64::try_from(Clock::wall().0 / 1000).unwrap_or(0));
        }
        if let Some(model) = &reported.model {
            self.model.take_status_line(model, reported.window);
        }
        self.status_line = Some((reported, at));
    }
}

/// A settings file, if it exists and has a plausible size.
fn read_settings(path: &Path) -> Option<String> {
    // A project may contain a device or a pipe in its place, which would never end.
    safe_file::read_text(path, FileRule::of_claude(1 << 20)).ok().flatten()
}
