//! A conversation below Claude's directory: its transcript and the files that belong to it.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::ArchiveFailure;
use crate::core::archive::ArchiveManifest;
use crate::core::ids::ConversationId;
use crate::fs::conversations::{ConversationFiles, FileRole};
use crate::fs::file_error::FsError;
use crate::sys::safe_file::{self, FileRule};

/// A file of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path below Claude's directory.
    pub name: String,
    pub path: PathBuf,
    /// Whether other conversations may use it, too. A shared file is archived but never removed.
    pub is_shared: bool,
}

/// Metadata of a file: as long as it is unchanged, so is the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadState {
    pub device: u64,
    pub inode: u64,
    pub bytes: u64,
    pub modified_ns: u64,
    pub mode: u32,
}

impl ReadState {
    pub fn of(meta: &Metadata) -> Self {
        ReadState {
            device: meta.dev(),
            inode: meta.ino(),
            bytes: meta.len(),
            modified_ns: modified_ns(meta),
            mode: meta.mode() & 0o777,
        }
    }
}

/// A modification time, in nanoseconds since 1970.
pub(super) fn modified_ns(meta: &Metadata) -> u64 {
    let since = meta.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

/// A conversation that can be archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveSource {
    pub conversation: ConversationId,
    /// Its directory below `projects`.
    pub project: String,
    /// Its files: the transcript first, then the others by name.
    pub files: Vec<SourceFile>,
    /// Files that are not archived because they are not plain files of this user, or their names are not
    /// text.
    pub skipped: Vec<PathBuf>,
}

impl ArchiveSource {
    /// The conversation with these files, in `claude/projects/PROJECT`.
    ///
    /// # Errors
    /// When the transcript is missing, is not a plain file of this user, or is somewhere else.
    pub fn of(claude: &Path, found: &ConversationFiles) -> Result<Self, ArchiveFailure> {
        let path = &found.transcript.path;
        let missing = || ArchiveFailure::Missing(path.clone());
        let project = path
            .strip_prefix(claude.join("projects"))
            .ok()
            .and_then(|below| below.parent()?.to_str())
            .ok_or_else(missing)?;
        let owner = ArchiveManifest::new(
            found.id.clone(),
            project.to_owned(),
            Default::default(),
            Default::default(),
        );
        let transcript = ArchiveManifest::transcript_name(&owner.project, &owner.conversation);
        let mut source = ArchiveSource {
            conversation: found.id.clone(),
            project: project.to_owned(),
            files: Vec::new(),
            skipped: found.odd.clone(),
        };
        // Hooks rewrite the scripts in `session-env`, and Claude's shell would run whatever an archive
        // restores there.
        for file in found.files.iter().filter(|file| file.role != FileRole::SessionEnv) {
            let is_own = fs::symlink_metadata(&file.path)
                .is_ok_and(|meta| safe_file::check(&file.path, &meta, FileRule::own(u64::MAX)).is_ok());
            match file.below_claude.to_str().filter(|name| is_own && owner.owns(name)) {
                Some(name) => source.files.push(SourceFile {
                    name: name.to_owned(),
                    path: file.path.clone(),
                    is_shared: file.role == FileRole::Plan,
                }),
                None => source.skipped.push(file.path.clone()),
            }
        }
        // By name, the transcript before all others.
        source.files.sort_by_key(|file| (file.name != transcript, file.name.clone()));
        if source.files.first().is_none_or(|file| file.name != transcript) {
            return Err(missing());
        }
        Ok(source)
    }

    pub fn transcript(&self) -> &Path {
        self.files.first().map_or(Path::new(""), |file| &file.path)
    }

    /// Whether a manifest lists exactly these files, with the same lengths and times.
    pub(super) fn looks_like(&self, manifest: &ArchiveManifest) -> bool {
        let archived = manifest.by_name();
        self.files.len() == manifest.restored().count()
            && self.files.iter().all(|source| {
                let file = archived.get(source.name.as_str());
                file.zip(state_at(&source.path)).is_some_and(|(file, state)| {
                    (state.bytes, state.modified_ns) == (file.bytes, file.modified_ns)
                })
            })
    }
}

/// Opens a file of a conversation, and returns its state.
pub(super) fn open(path: &Path) -> Result<(File, ReadState), ArchiveFailure> {
    let file = safe_file::open(path, FileRule::own(u64::MAX)).map_err(FsError::from)?;
    let file = file.ok_or_else(|| ArchiveFailure::Missing(path.to_owned()))?;
    let meta = file.metadata().map_err(FsError::io("look at", path))?;
    Ok((file, ReadState::of(&meta)))
}

/// The current state of a path; `None` if nothing is there.
pub(super) fn state_at(path: &Path) -> Option<ReadState> {
    fs::symlink_metadata(path).ok().map(|meta| ReadState::of(&meta))
}
