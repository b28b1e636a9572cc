//! Archives conversations, and removes their originals.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::ArchiveFailure;
use super::index::{self, ArchiveEntry, SUFFIX};
use super::pack::{self, ArchiveLevel};
use super::source::{self, ArchiveSource, ReadState};
use super::unpack::ArchivedConversation;
use crate::core::archive::{ArchiveLimits, ArchiveManifest};
use crate::core::ids::ConversationId;
use crate::core::time::WallTime;
use crate::fs::atomic;
use crate::fs::digest::length_and_sha256;
use crate::fs::file_error::FsError;
use crate::fs::lock::FileLock;
use crate::fs::store_trace;

/// How long to wait for another process that archives or restores.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// The most archives of one conversation that are kept beside the current one.
const BESIDE: u32 = 1000;

/// What happened to an earlier archive of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replaced {
    Nothing,
    /// The new archive has everything that the earlier one had.
    Earlier,
    /// The new archive lacks some of its content: the earlier one is kept under this path.
    Beside(PathBuf),
    /// It is identical: nothing was written.
    Same,
}

/// An archived conversation.
#[derive(Debug)]
pub struct Archived {
    pub path: PathBuf,
    /// Its length in bytes.
    pub packed_bytes: u64,
    pub manifest: ArchiveManifest,
    pub replaced: Replaced,
    states: Vec<ReadState>,
}

#[derive(Clone, Debug)]
pub struct ArchiveStore {
    pub(super) dir: PathBuf,
    pub(super) claude: PathBuf,
    pub(super) limits: ArchiveLimits,
    level: ArchiveLevel,
}

impl ArchiveStore {
    /// The archive in `dir` of the conversations below `claude`. Creates nothing.
    #[must_use]
    pub fn new(dir: &Path, claude: &Path) -> Self {
        ArchiveStore {
            dir: dir.to_owned(),
            claude: claude.to_owned(),
            limits: ArchiveLimits::default(),
            level: ArchiveLevel::default(),
        }
    }

    /// The same store with another compression level, for `benches/archive.rs`.
    #[doc(hidden)]
    #[must_use]
    pub fn at_level(mut self, level: ArchiveLevel) -> Self {
        self.level = level;
        self
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// All archived conversations, ordered by file, and why others cannot be read.
    pub fn entries(&self) -> (Vec<ArchiveEntry>, Vec<ArchiveFailure>) {
        index::entries(&self.dir)
    }

    /// Opens an archived conversation.
    ///
    /// # Errors
    /// When it is damaged, or cannot be read.
    pub fn open(&self, entry: &ArchiveEntry) -> Result<ArchivedConversation, ArchiveFailure> {
        ArchivedConversation::open(&entry.path(&self.dir), &self.limits)
    }

    fn path_of(&self, project: &str, conversation: &ConversationId) -> PathBuf {
        self.dir.join(project).join(format!("{conversation}{SUFFIX}"))
    }

    /// Whether the archive has the conversation in its current state, judged by lengths and times. Unpacks
    /// nothing.
    pub fn has(&self, source: &ArchiveSource) -> bool {
        let path = self.path_of(&source.project, &source.conversation);
        ArchivedConversation::open(&path, &self.limits).is_ok_and(|held| source.looks_like(&held.manifest))
    }

    pub(super) fn lock(&self) -> Result<FileLock, ArchiveFailure> {
        atomic::private_dir(&self.dir)?;
        Ok(FileLock::take(&self.dir.join(".lock"), LOCK_WAIT)?)
    }

    /// Archives a conversation, reads it back and compares it. The original is only read. An earlier
    /// archive is replaced if the new one has all of its content, and otherwise kept beside it.
    ///
    /// # Errors
    /// When a file changes meanwhile, cannot be read or written, or the written content differs. The
    /// archive is then unchanged.
    pub fn put(
        &self,
        source: &ArchiveSource,
        now: WallTime,
        summary: Value,
    ) -> Result<Archived, ArchiveFailure> {
        let _lock = self.lock()?;
        let path = self.path_of(&source.project, &source.conversation);
        let dir = self.dir.join(&source.project);
        atomic::private_dir(&dir)?;
        atomic::sweep(&dir);
        let earlier = if path.symlink_metadata().is_ok() {
            Some(ArchivedConversation::open(&path, &self.limits))
        } else {
            None
        };
        if let Some(Ok(held)) = &earlier
            && source.looks_like(&held.manifest)
            && let Some(states) = same(held, source)
        {
            return Ok(Archived {
                path,
                packed_bytes: held.packed_bytes,
                manifest: held.manifest.clone(),
                replaced: Replaced::Same,
                states,
            });
        }
        let before = earlier.as_ref().and_then(|held| held.as_ref().ok()).map(|held| &held.manifest);
        let mut temp = atomic::temporary_in(&dir)?;
        let empty = ArchiveManifest::new(source.conversation.clone(), source.project.clone(), now, summary);
        let packed = pack::pack(temp.as_file_mut(), &path, source, empty, before, self.level)?;
        store_trace::filled(temp.path());
        temp.as_file().sync_all().map_err(FsError::io("sync", &path))?;
        store_trace::synced(temp.path());
        atomic::forget_cached(temp.as_file());
        let written = temp.reopen().map_err(FsError::io("open", &path))?;
        let packed_bytes = self.read_back(&path, written, &packed.manifest)?;
        let begins = |name: &str, bytes: u64, sha256: &str| {
            packed.beginnings.get(name).is_some_and(|(of, hash)| *of == bytes && hash == sha256)
        };
        let replaced = match before {
            _ if earlier.is_none() => Replaced::Nothing,
            Some(before) if packed.manifest.covers(before, begins) => Replaced::Earlier,
            _ => Replaced::Beside(self.keep_copy(&path, &source.conversation)?),
        };
        store_trace::renamed(temp.path(), &path);
        temp.persist(&path).map_err(|failed| FsError::io("rename to", &path)(failed.error))?;
        atomic::sync_dir(&dir)?;
        Ok(Archived { path, packed_bytes, manifest: packed.manifest, replaced, states: packed.states })
    }

    /// Compares the written archive with what was packed; returns its length in bytes.
    fn read_back(&self, path: &Path, file: File, manifest: &ArchiveManifest) -> Result<u64, ArchiveFailure> {
        let written = ArchivedConversation::read(path, file, &self.limits)?;
        if written.manifest.files != manifest.files {
            return Err(ArchiveFailure::Differs(path.to_owned()));
        }
        written.verify()?;
        Ok(written.packed_bytes)
    }

    /// Gives the archive at `path` a second name, under which it stays.
    fn keep_copy(&self, path: &Path, conversation: &ConversationId) -> Result<PathBuf, ArchiveFailure> {
        for number in 1..BESIDE {
            let beside = path.with_file_name(format!("{conversation}.{number}{SUFFIX}"));
            match atomic::keep_copy(path, &beside) {
                Ok(()) => return Ok(beside),
                // A process that was killed after this step has already kept it.
                Err(_) if is_one_file(path, &beside) => return Ok(beside),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(FsError::io("keep", path)(error).into()),
            }
        }
        Err(ArchiveFailure::Exists(path.to_owned()))
    }

    /// Removes exactly the archived files of a conversation from Claude's directory, the transcript first.
    /// The caller must have checked that nobody has it open.
    ///
    /// # Errors
    /// When a file has changed since it was archived, or the transcript cannot be removed: then nothing was
    /// removed. When another file cannot be removed: the leftovers belong to no conversation.
    pub fn remove_source(&self, archived: &Archived, source: &ArchiveSource) -> Result<(), ArchiveFailure> {
        let _lock = self.lock()?;
        let files = source.files.iter().zip(&archived.states);
        for (file, state) in files.clone() {
            if source::state_at(&file.path) != Some(*state) {
                return Err(ArchiveFailure::Changed(file.path.clone()));
            }
        }
        for (file, _) in files.filter(|(file, _)| !file.is_shared) {
            fs::remove_file(&file.path).map_err(FsError::io("delete", &file.path))?;
            store_trace::removed(&file.path);
            if let Some(dir) = file.path.parent().filter(|_| file.path == source.transcript()) {
                atomic::sync_dir(dir)?;
            }
        }
        self.remove_empty(source);
        Ok(())
    }

    /// Removes directories that are now empty, the deepest first.
    fn remove_empty(&self, source: &ArchiveSource) {
        let mut dirs: Vec<PathBuf> = Vec::new();
        for file in source.files.iter().skip(1) {
            // A conversation's directory has its id in the path; `tasks` itself is kept.
            let own = Path::new(&file.name).ancestors().skip(1);
            let id = source.conversation.as_str();
            dirs.extend(
                own.filter(|dir| dir.components().any(|part| part.as_os_str() == id))
                    .map(|dir| self.claude.join(dir)),
            );
        }
        dirs.sort_by_key(|dir| std::cmp::Reverse(dir.components().count()));
        dirs.dedup();
        for dir in dirs {
            // A directory that is not empty stays.
            let _ = fs::remove_dir(dir);
        }
    }

    /// Deletes an archived conversation.
    ///
    /// # Errors
    /// When it cannot be deleted.
    pub fn delete(&self, entry: &ArchiveEntry) -> Result<(), ArchiveFailure> {
        let _lock = self.lock()?;
        let path = entry.path(&self.dir);
        fs::remove_file(&path).map_err(FsError::io("delete", &path))?;
        if let Some(dir) = path.parent() {
            atomic::sync_dir(dir)?;
            let _ = fs::remove_dir(dir);
        }
        Ok(())
    }
}

/// Whether two paths are the same file.
fn is_one_file(path: &Path, other: &Path) -> bool {
    let file = |path: &Path| fs::symlink_metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    file(path).is_some_and(|one| file(other) == Some(one))
}

/// The states of the conversation's files if their content is archived; reads all of them.
fn same(held: &ArchivedConversation, source: &ArchiveSource) -> Option<Vec<ReadState>> {
    held.verify().ok()?;
    let archived = held.manifest.by_name();
    source
        .files
        .iter()
        .map(|file| {
            let archived = archived.get(file.name.as_str())?;
            let (mut content, state) = source::open(&file.path).ok()?;
            let (_, sha256) = length_and_sha256(&mut content).ok()?;
            (sha256 == archived.sha256 && source::state_at(&file.path) == Some(state)).then_some(state)
        })
        .collect()
}
