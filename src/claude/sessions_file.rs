//! `~/.claude/sessions/PID.json`, in which Claude reports its status (from 2.1.197 on).

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::core::ids::ConversationId;
use crate::core::supervisor::event::SessionsFileStatus;
use crate::core::text::visible::is_hidden;
use crate::sys::process;
use crate::sys::safe_file::{self, FileRule};

/// The largest such file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 16;

/// The most such files that are examined.
const FILES_CAP: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionsFileEntry {
    /// Claude's status; missing while it starts.
    pub status: Option<SessionsFileStatus>,
    pub conversation: Option<ConversationId>,
    /// What it waits for, in Claude's words: at most 40 characters, without any that move a cursor.
    pub waiting_for: Option<String>,
}

#[derive(Deserialize)]
struct RawSessionsFile {
    #[serde(default)]
    status: Option<SessionsFileStatus>,
    #[serde(default, rename = "sessionId")]
    session_id: Option<String>,
    #[serde(default, rename = "waitingFor")]
    waiting_for: Option<String>,
}

/// A running Claude, according to its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveClaude {
    pub pid: u32,
    pub conversation: ConversationId,
    pub dir: PathBuf,
}

#[derive(Deserialize)]
struct RawLiveClaude {
    pid: u32,
    #[serde(rename = "sessionId")]
    session_id: String,
    cwd: PathBuf,
}

/// Every Claude that has a file in `dir` (`C/sessions`) and a running process; a killed one leaves its file
/// behind.
pub fn living(dir: &Path) -> Vec<LiveClaude> {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten().take(FILES_CAP);
    let mut all: Vec<LiveClaude> = files
        .filter_map(|entry| {
            let raw: RawLiveClaude = serde_json::from_slice(&content(&entry.path())?).ok()?;
            let conversation = raw.session_id.parse().ok()?;
            process::exists(raw.pid).then_some(LiveClaude { pid: raw.pid, conversation, dir: raw.cwd })
        })
        .collect();
    all.sort_unstable_by_key(|living| living.pid);
    all
}

fn content(path: &Path) -> Option<Vec<u8>> {
    safe_file::read(path, FileRule::own(MAX_BYTES)).ok().flatten()
}

/// Reads the file; `None` if it is missing, incomplete or not Claude's.
pub fn read(path: &Path) -> Option<SessionsFileEntry> {
    let raw: RawSessionsFile = serde_json::from_slice(&content(path)?).ok()?;
    let waiting_for =
        raw.waiting_for.map(|words| words.chars().filter(|c| !is_hidden(*c)).take(40).collect());
    Some(SessionsFileEntry {
        status: raw.status,
        conversation: raw.session_id.and_then(|id| id.parse().ok()),
        waiting_for,
    })
}
