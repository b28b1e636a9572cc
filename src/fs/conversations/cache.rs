//! What was read of transcripts, kept for the next time.
//!
//! The file may be deleted at any time, and a damaged one or one of another version counts as none. What it
//! says of a transcript holds as long as that has the same length, time and inode.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::transcripts::FileState;
use crate::core::conversation::summary::{ConversationSummary, SummaryReader};
use crate::fs::atomic;
use crate::fs::paths::Paths;
use crate::sys::safe_file::{self, FileRule};

/// The version of the file: any change of what a summary is, or of how it is made, is another one.
const VERSION: u32 = 3;
/// The longest file that is read, in bytes.
const CAP: u64 = 256 << 20;

/// What is known of one transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CachedSummary {
    /// The file that it was made of.
    pub state: FileState,
    /// What it says.
    pub summary: ConversationSummary,
    /// Where to read on, where every line was read.
    pub resume: Option<ResumePoint>,
    /// What tells whether its sub-agents are those that were counted.
    pub agents: String,
}

/// Where a transcript that was read to its end is read on once it has grown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ResumePoint {
    /// Behind the last whole line that was read, in bytes from the begin.
    pub offset: u64,
    /// The digest of the bytes before it, so that a file that was written anew is not taken for one that
    /// grew.
    pub digest: String,
    /// What the lines so far add up to.
    pub reader: SummaryReader,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CacheFile {
    version: u32,
    entries: Vec<(PathBuf, CachedSummary)>,
}

/// The summaries that are known, by the transcript's path.
#[derive(Debug)]
pub(super) struct SummaryCache {
    file: PathBuf,
    known: HashMap<PathBuf, CachedSummary>,
    is_changed: bool,
}

impl SummaryCache {
    /// Reads it.
    pub(super) fn load(paths: &Paths) -> Self {
        let file = paths.conversation_cache();
        let bytes = safe_file::read(&file, FileRule::own(CAP)).ok().flatten().unwrap_or_default();
        let read: CacheFile = serde_json::from_slice(&bytes).unwrap_or_default();
        let known = if read.version == VERSION { read.entries.into_iter().collect() } else { HashMap::new() };
        SummaryCache { file, known, is_changed: false }
    }

    /// What is known of a transcript, whether or not it has changed since.
    pub(super) fn get(&self, path: &Path) -> Option<&CachedSummary> {
        self.known.get(path)
    }

    /// Keeps what was read.
    pub(super) fn put(&mut self, path: &Path, read: CachedSummary) {
        self.known.insert(path.to_owned(), read);
        self.is_changed = true;
    }

    /// Writes what has changed, and forgets transcripts that are gone. Without it everything is read again
    /// the next time, so that a full or read-only disk is no failure.
    pub(super) fn save(&mut self) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        let mut entries: Vec<(PathBuf, CachedSummary)> =
            self.known.iter().map(|(path, read)| (path.clone(), read.clone())).collect();
        entries.retain(|(path, _)| path.symlink_metadata().is_ok());
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let Some(dir) = self.file.parent() else { return };
        if let Ok(text) = serde_json::to_vec(&CacheFile { version: VERSION, entries })
            && atomic::private_dir(dir).is_ok()
        {
            let _ = atomic::swap(&self.file, &text);
        }
    }
}
