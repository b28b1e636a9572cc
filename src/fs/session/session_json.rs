//! The last status that a session's host wrote (`session.json`), and its last screen.

use std::path::{Path, PathBuf};

use super::STATUS;
use super::session_list::{ended_names, live_names};
use crate::core::ids::{ConversationId, SessionName};
use crate::core::status_types::{ExitKind, SessionStatus};
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::reported_state::{SessionState, StateSource};
use crate::fs::paths::Paths;
use crate::sys::boot;
use crate::sys::safe_file::{self, FileRule, SafeFileError};

/// The longest session file that is read, in bytes: it contains the command line, of which the kernel accepts
/// up to 2 MiB.
const STATUS_CAP: u64 = 16 << 20;
/// The longest picture of a last screen that is read, in bytes.
const SCREEN_CAP: u64 = 64 << 20;

pub(super) fn last_waits_for_restore(dir: &Path) -> bool {
    status(dir).ok().flatten().is_some_and(|last| waits_for_restore(&last))
}

/// Whether `hopty restore` can resume an ended session: its host was killed, or told to end (SIGTERM),
/// and its conversation exists.
pub fn waits_for_restore(last: &SessionStatus) -> bool {
    was_killed(last) && resumable(last).is_some()
}

/// As [`waits_for_restore`], whether or not its conversation exists.
pub fn was_killed(last: &SessionStatus) -> bool {
    let lost = last.exit.as_ref().is_none_or(|exit| exit.kind.is(ExitKind::Lost));
    last.agent.is(ProgramKind::Claude) && (lost || last.machine.shutdown)
}

/// Whether the machine was rebooted since. Older hosts recorded no boot id.
pub fn is_of_another_boot(last: &SessionStatus) -> bool {
    let (then, now) = (last.machine.boot_id.as_deref(), boot::id());
    then.is_some() && now.is_some() && then != now.as_deref()
}

/// The conversation of a session that Claude can resume.
pub fn resumable(status: &SessionStatus) -> Option<&ConversationId> {
    let transcript = status.transcript.as_ref()?;
    status.conversation.as_ref().filter(|_| Path::new(transcript).is_file())
}

/// The last `session.json` that a session's host wrote; `None` if there is none.
///
/// # Errors
/// When it is not a file of this user, or cannot be read.
pub fn status(dir: &Path) -> Result<Option<SessionStatus>, SafeFileError> {
    let bytes = safe_file::read(&dir.join(STATUS), FileRule::own(STATUS_CAP))?;
    Ok(bytes.and_then(|bytes| SessionStatus::read(&bytes)))
}

/// The last status of the session in this directory, whose host is alive and does not answer. Since when is
/// unknown, and its reason is that of the silence.
pub fn unresponsive(dir: &Path, last: SessionStatus) -> SessionStatus {
    let why = match super::stopped_host(dir) {
        Some(pid) => format!("Its host, process {pid}, is stopped: `kill -CONT {pid}` continues it."),
        None => "Its host does not answer in time; it may be busy.".to_owned(),
    };
    SessionStatus {
        state: SessionState::Unresponsive.into(),
        state_from: StateSource::None.into(),
        state_since: None,
        why,
        ..last
    }
}

/// A live session other than `own` that runs this conversation, according to its `session.json`.
pub fn other_session_with(
    paths: &Paths,
    own: &SessionName,
    conversation: &ConversationId,
) -> Option<SessionName> {
    let runs = |name: &SessionName| {
        let status = status(&paths.session(name)).ok().flatten();
        status.and_then(|status| status.conversation).as_ref() == Some(conversation)
    };
    live_names(paths).into_iter().filter(|name| name != own).find(runs)
}

/// Whether `session.json` exists and cannot be parsed. A file that cannot be read does not count as
/// damaged.
pub fn is_damaged(dir: &Path) -> bool {
    match status(dir) {
        Ok(status) => status.is_none() && dir.join(STATUS).exists(),
        Err(SafeFileError::Io { .. }) => false,
        Err(_) => true,
    }
}

/// The ended sessions whose `session.json` is damaged.
pub fn damaged(paths: &Paths) -> Vec<SessionName> {
    ended_names(paths).into_iter().filter(|name| is_damaged(&paths.session(name))).collect()
}

/// The last screen of a session that ended without an attached client, as the JSON object that a host would
/// answer.
pub fn last_screen(paths: &Paths, name: &SessionName) -> Option<serde_json::Value> {
    let bytes = safe_file::read(&paths.last_screen(name), FileRule::own(SCREEN_CAP)).ok()??;
    let last: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    (last["degraded"] == serde_json::json!(false)).then_some(last)
}

/// The directory that a session runs in, according to its `session.json`.
pub fn working_dir(dir: &Path) -> Option<PathBuf> {
    let status = status(dir).ok()??;
    Some(status.dir).filter(|dir| !dir.is_empty()).map(PathBuf::from)
}
