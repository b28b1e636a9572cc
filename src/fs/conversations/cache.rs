//! Caches what was read from files.
//!
//! A cache may be deleted at any time; a damaged one or one of another version counts as empty. An entry is
//! valid as long as its file has the same length, time and inode.

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

/// The version of the cache; change it with every change of a summary's content or of how it is computed.
const VERSION: u32 = 5;
/// The longest file that is read, in bytes.
const CACHE_MAX: u64 = 256 << 20;

/// The cached summary of one transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CachedSummary {
    /// The state of the file that was read.
    pub state: FileState,
    pub summary: ConversationSummary,
    /// Where to continue reading, if every line was read.
    pub resume: Option<ResumePoint>,
    /// Identifies the sub-agents that were counted.
    pub agents: String,
}

/// Where to continue reading a transcript that has grown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ResumePoint {
    /// After the last whole line that was read, in bytes from the start.
    pub offset: u64,
    /// The digest of the bytes before it, so that a rewritten file is not mistaken for one that grew.
    pub digest: String,
    /// The state of the reader after these lines.
    pub reader: SummaryReader,
}

/// The cached summaries, by transcript path.
pub(super) fn summaries(paths: &Paths) -> FileCache<CachedSummary> {
    FileCache::load(paths.conversation_cache(), VERSION, CACHE_MAX)
}

/// The cache as a file.
#[derive(Serialize, Deserialize)]
struct CacheFile<P, T> {
    version: u32,
    entries: Vec<(P, T)>,
}

/// Cached facts about files, by path.
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

    /// The entry of a file, whether or not the file has changed since.
    pub(super) fn get(&self, path: &Path) -> Option<&T> {
        self.known.get(path)
    }

    pub(super) fn put(&mut self, path: &Path, read: T) {
        self.known.insert(path.to_owned(), read);
        self.is_changed = true;
    }

    /// Removes a file that can no longer be read.
    pub(super) fn forget(&mut self, path: &Path) {
        self.known.remove(path);
    }

    /// Writes changes, and removes files that are gone. If this fails everything is read again next time,
    /// so a full or read-only disk is not an error.
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
