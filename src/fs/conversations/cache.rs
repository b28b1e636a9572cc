//! What was read of files, kept for the next time.
//!
//! A cache may be deleted at any time, and a damaged one or one of another version counts as none. What it
//! says of a file holds as long as that has the same length, time and inode.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::transcripts::FileState;
use crate::core::conversation::summary::{ConversationSummary, SummaryReader};
use crate::fs::atomic;
use crate::fs::paths::Paths;
use crate::sys::private_dir;
use crate::sys::safe_file::{self, FileLinks, FileRule};

/// The version of the file: any change of what a summary is, or of how it is made, is another one.
const VERSION: u32 = 5;
/// The longest file that is read, in bytes.
const CACHE_MAX: u64 = 256 << 20;

/// What is known of one transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CachedSummary {
    /// The file that it was made of.
    pub state: FileState,
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

/// The summaries that are known, by the transcript's path.
pub(super) fn summaries(paths: &Paths) -> FileCache<CachedSummary> {
    FileCache::load(paths.conversation_cache(), VERSION, CACHE_MAX)
}

/// A cache as it is written.
#[derive(Serialize, Deserialize)]
struct CacheFile<P, T> {
    version: u32,
    entries: Vec<(P, T)>,
}

/// What is known of files, by their paths.
#[derive(Debug)]
pub(super) struct FileCache<T> {
    file: PathBuf,
    version: u32,
    known: HashMap<PathBuf, T>,
    is_changed: bool,
}

impl<T: Serialize + DeserializeOwned> FileCache<T> {
    /// Reads it, at most `cap` bytes.
    pub(super) fn load(file: PathBuf, version: u32, cap: u64) -> Self {
        let bytes = safe_file::read(&file, FileRule::own(cap)).ok().flatten().unwrap_or_default();
        let read: Option<CacheFile<PathBuf, T>> = serde_json::from_slice(&bytes).ok();
        let entries = read.filter(|read| read.version == version).map(|read| read.entries);
        FileCache { file, version, known: entries.into_iter().flatten().collect(), is_changed: false }
    }

    /// What is known of a file, whether or not it has changed since.
    pub(super) fn get(&self, path: &Path) -> Option<&T> {
        self.known.get(path)
    }

    /// Keeps what was read.
    pub(super) fn put(&mut self, path: &Path, read: T) {
        self.known.insert(path.to_owned(), read);
        self.is_changed = true;
    }

    /// Forgets a file that cannot be read any more.
    pub(super) fn forget(&mut self, path: &Path) {
        self.known.remove(path);
    }

    /// Writes what has changed, and forgets files that are gone. Without it everything is read again the next
    /// time, so that a full or read-only disk is no failure.
    pub(super) fn save(&mut self) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        let mut entries: Vec<(&PathBuf, &T)> =
            self.known.iter().filter(|(path, _)| path.symlink_metadata().is_ok()).collect();
        entries.sort_by_key(|(path, _)| *path);
        let Some(dir) = self.file.parent() else { return };
        if let Ok(text) = serde_json::to_vec(&CacheFile { version: self.version, entries })
            && atomic::private_dir(dir).is_ok()
            && private_dir::check(dir, FileLinks::Refuse, 0o022).is_ok()
        {
            let _ = atomic::swap(&self.file, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cache_is_written_through_a_linked_directory() {
        let root = tempfile::tempdir().unwrap();
        let elsewhere = root.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, root.path().join("linked")).unwrap();
        for (dir, is_written) in [("linked", false), ("own", true)] {
            let file = root.path().join(dir).join("cache.json");
            let mut cache = FileCache::<u32>::load(file.clone(), 1, CACHE_MAX);
            cache.put(root.path(), 7);
            cache.save();
            assert_eq!(file.exists(), is_written, "{dir}");
        }
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
