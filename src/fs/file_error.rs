//! File errors, each with the file's path.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::core::io_words::io_words;
use crate::sys::private_dir::DirError;
use crate::sys::safe_file::SafeFileError;

/// A file operation that failed.
#[derive(Debug, Error)]
pub enum FsError {
    /// The system refused it.
    #[error("cannot {doing} {}: {}", path.display(), io_words(source))]
    Io {
        /// A verb, such as `open`.
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A symbolic link is in place of a file.
    #[error("{} is a symbolic link, not a file", .0.display())]
    Symlink(PathBuf),
    /// Something that is not a file or directory is there.
    #[error("{} is not a {expected}", path.display())]
    WrongKind {
        path: PathBuf,
        /// What was expected: `file`, `directory`.
        expected: &'static str,
    },
    /// Another user owns the directory, or can write to it.
    #[error("{} belongs to another user or can be written by others", .0.display())]
    NotPrivate(PathBuf),
    #[error("{} is longer than {cap} bytes", path.display())]
    TooLong {
        path: PathBuf,
        /// The limit in bytes.
        cap: u64,
    },
    /// A lock was not acquired in time.
    #[error("{} is held by {holder}", path.display())]
    Locked {
        path: PathBuf,
        /// Its holder, if known.
        holder: String,
    },
}

impl From<SafeFileError> for FsError {
    fn from(error: SafeFileError) -> Self {
        match error {
            SafeFileError::Io { doing, path, source } => FsError::Io { doing, path, source },
            SafeFileError::Link(path) => FsError::Symlink(path),
            SafeFileError::Kind { path, .. } => FsError::WrongKind { path, expected: "file" },
            SafeFileError::Foreign(path) | SafeFileError::Writable(path) => FsError::NotPrivate(path),
            SafeFileError::TooLong { path, cap } => FsError::TooLong { path, cap },
        }
    }
}

impl From<DirError> for FsError {
    fn from(error: DirError) -> Self {
        match error {
            DirError::Io(path, source) => FsError::Io { doing: "inspect", path, source },
            DirError::NoDirectory(path) => FsError::WrongKind { path, expected: "directory" },
            DirError::Foreign(path) | DirError::Open { path, .. } => FsError::NotPrivate(path),
        }
    }
}

impl FsError {
    /// Creates an [`FsError::Io`] for `map_err`.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FsError {
        let path = path.to_owned();
        move |source| FsError::Io { doing, path, source }
    }
}
