//! `~/.claude/sessions/PID.json`, in which Claude says what it does (from 2.1.197 on).

use std::path::Path;

use serde::Deserialize;

use crate::core::ids::ConversationId;
use crate::core::supervisor::event::AgentStatus;

/// The largest such file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 16;

/// What it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// What Claude does; missing while it starts.
    pub status: Option<AgentStatus>,
    /// The conversation.
    pub conversation: Option<ConversationId>,
    /// While it waits for a person: for what, in Claude's words, at most 40 characters and none that moves a cursor.
    pub waiting_for: Option<String>,
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default)]
    status: Option<AgentStatus>,
    #[serde(default, rename = "sessionId")]
    session_id: Option<String>,
    #[serde(default, rename = "waitingFor")]
    waiting_for: Option<String>,
}

/// Reads it; `None` when it is not there, torn or not Claude's.
#[must_use]
pub fn read(path: &Path) -> Option<Said> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return None;
    }
    let raw: Raw = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let waiting_for = raw.waiting_for.map(|words| words.chars().filter(|c| !c.is_control()).take(40).collect());
    Some(Said { status: raw.status, conversation: raw.session_id.and_then(|id| id.parse().ok()), waiting_for })
}
