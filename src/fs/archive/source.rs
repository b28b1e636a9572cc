//! A conversation as it lies below Claude's directory: its transcript, and what belongs to it.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::ArchiveFailure;
use crate::core::archive::ArchiveManifest;
use crate::core::ids::ConversationId;
use crate::fs::error::FsError;
use crate::sys::safe_file::{self, FileLinks, FileOwner, FileRule};

/// How deep directories are followed.
const DEPTH: usize = 16;

/// A file of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path below Claude's directory.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
}

/// What a file was when it was looked at: if this has not changed, its content has not, either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    pub device: u64,
    pub inode: u64,
    pub bytes: u64,
    pub modified_ns: u64,
    pub mode: u32,
}

impl FileState {
    pub fn of(meta: &Metadata) -> Self {
        FileState {
            device: meta.dev(),
            inode: meta.ino(),
            bytes: meta.len(),
            modified_ns: modified_ns(meta),
            mode: meta.mode() & 0o777,
        }
    }
}

/// When a file was written last, in nanoseconds since 1970.
pub(super) fn modified_ns(meta: &Metadata) -> u64 {
    let since = meta.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

/// A conversation that can be archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveSource {
    /// Its id.
    pub conversation: ConversationId,
    /// The directory below `projects` in which it lies.
    pub project: String,
    /// Its files: the transcript, then the others in the order of their names.
    pub files: Vec<SourceFile>,
    /// What lies beside it and is not archived, because it is not a plain file of this user.
    pub skipped: Vec<PathBuf>,
}

impl ArchiveSource {
    /// The conversation with this transcript, which lies in `claude/projects/PROJECT`.
    ///
    /// # Errors
    /// When the transcript is not there, is not a plain file of this user, or lies elsewhere.
    pub fn find(claude: &Path, transcript: &Path) -> Result<Self, ArchiveFailure> {
        let missing = || ArchiveFailure::Missing(transcript.to_owned());
        let id = transcript.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".jsonl"));
        let conversation: ConversationId = id.and_then(|id| id.parse().ok()).ok_or_else(missing)?;
        let project = transcript.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let project = project.ok_or_else(missing)?.to_owned();
        let own = FileRule { links: FileLinks::Refuse, owner: FileOwner::User, cap: u64::MAX, closed: 0 };
        let meta = fs::symlink_metadata(transcript).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => missing(),
            _ => FsError::io("look at", transcript)(error).into(),
        })?;
        safe_file::check(transcript, &meta, own).map_err(FsError::from)?;
        let empty = ArchiveManifest::new(conversation.clone(), project.clone(), Default::default(), Default::default());
        let mut source = ArchiveSource { conversation, project, files: Vec::new(), skipped: Vec::new() };
        let id = source.conversation.to_string();
        for dir in [
            format!("projects/{}/{id}", source.project),
            format!("tasks/{id}"),
            format!("file-history/{id}"),
            format!("session-env/{id}"),
        ] {
            source.walk(claude, &dir, &empty, DEPTH);
        }
        for entry in fs::read_dir(claude.join("todos")).into_iter().flatten().flatten() {
            if let Some(name) = entry.file_name().to_str().filter(|name| name.starts_with(&id)) {
                source.take(claude, &format!("todos/{name}"), &empty);
            }
        }
        source.files.sort_by(|one, other| one.name.cmp(&other.name));
        let name = ArchiveManifest::transcript_name(&source.project, &source.conversation);
        source.files.insert(0, SourceFile { name, path: transcript.to_owned() });
        Ok(source)
    }

    fn walk(&mut self, claude: &Path, dir: &str, owner: &ArchiveManifest, depth: usize) {
        let path = claude.join(dir);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() && depth > 0 => {}
            Ok(_) => return self.skipped.push(path),
            Err(_) => return,
        }
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            match (entry.file_name().to_str(), entry.file_type()) {
                (Some(name), Ok(kind)) if kind.is_dir() => {
                    self.walk(claude, &format!("{dir}/{name}"), owner, depth - 1);
                }
                (Some(name), Ok(_)) => self.take(claude, &format!("{dir}/{name}"), owner),
                _ => self.skipped.push(entry.path()),
            }
        }
    }

    fn take(&mut self, claude: &Path, name: &str, owner: &ArchiveManifest) {
        let path = claude.join(name);
        let own = FileRule { links: FileLinks::Refuse, owner: FileOwner::User, cap: u64::MAX, closed: 0 };
        let is_own = fs::symlink_metadata(&path).is_ok_and(|meta| safe_file::check(&path, &meta, own).is_ok());
        if is_own && owner.owns(name) {
            self.files.push(SourceFile { name: name.to_owned(), path });
        } else {
            self.skipped.push(path);
        }
    }

    /// The transcript's path.
    #[must_use]
    pub fn transcript(&self) -> &Path {
        self.files.first().map_or(Path::new(""), |file| &file.path)
    }

    /// Whether it has exactly the files of a manifest, with the same lengths and times.
    pub(super) fn looks_like(&self, manifest: &ArchiveManifest) -> bool {
        self.files.len() == manifest.files.len()
            && self.files.iter().all(|source| {
                let state = fs::symlink_metadata(&source.path).ok().map(|meta| FileState::of(&meta));
                manifest.files.iter().find(|file| file.name == source.name).is_some_and(|file| {
                    state.is_some_and(|state| {
                        (state.bytes, state.modified_ns) == (file.bytes, file.modified_ns)
                    })
                })
            })
    }
}

/// Opens a file of a conversation, and tells its state.
pub(super) fn open(path: &Path) -> Result<(File, FileState), ArchiveFailure> {
    let own = FileRule { links: FileLinks::Refuse, owner: FileOwner::User, cap: u64::MAX, closed: 0 };
    let file = safe_file::open(path, own).map_err(FsError::from)?;
    let file = file.ok_or_else(|| ArchiveFailure::Missing(path.to_owned()))?;
    let meta = file.metadata().map_err(FsError::io("look at", path))?;
    Ok((file, FileState::of(&meta)))
}

/// The state of what lies at a path now; `None` if nothing does.
pub(super) fn state_at(path: &Path) -> Option<FileState> {
    fs::symlink_metadata(path).ok().map(|meta| FileState::of(&meta))
}
