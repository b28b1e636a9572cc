//! Why a backup was not made or restored, and what a person can do about it.

use std::io::ErrorKind;
use std::path::PathBuf;

use thiserror::Error;

use crate::fs::file_error::FsError;
use crate::fs::package::PackageFailure;

/// Why a backup was not made or restored.
#[derive(Debug, Error)]
pub enum BackupFailure {
    /// The package was refused, or could not be read or written.
    #[error(transparent)]
    Package(#[from] PackageFailure),
    /// A file could not be read or written.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The file exists.
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    /// It contains a file that no backup has.
    #[error("it contains a file that no backup has: {0:?}")]
    Foreign(String),
    /// It is encrypted, and the key is missing or wrong.
    #[error("{0}")]
    Key(String),
    /// The disk is full.
    #[error("{0}")]
    NoRoom(String),
    /// A restore ended before its last file.
    #[error("{cause}; {restored} of {of} files are restored, the others are unchanged")]
    Partly {
        /// How many files were written.
        restored: usize,
        /// How many the backup has.
        of: usize,
        cause: Box<BackupFailure>,
    },
}

impl BackupFailure {
    /// How a person can fix it.
    pub fn hint(&self) -> &'static str {
        match self {
            BackupFailure::Package(PackageFailure::Refused(why)) => why.hint(),
            BackupFailure::Package(PackageFailure::Changed(_)) => "run it again; nothing was kept",
            BackupFailure::Package(PackageFailure::CutShort) => "it is damaged: make or copy it again",
            BackupFailure::Fs(FsError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                "check the path: the file, or the directory for a new one, does not exist"
            }
            BackupFailure::Package(_) | BackupFailure::Fs(_) => "check permissions and free disk space",
            BackupFailure::Exists(_) => "name another file; hopty never replaces a backup",
            BackupFailure::Foreign(_) => "hopty does not write such a backup: do not trust it",
            BackupFailure::Key(_) => {
                "it opens only with the passphrase (--passphrase) or the key (--identity FILE) that it was made \
                 with"
            }
            BackupFailure::NoRoom(_) => "free space on the disk",
            BackupFailure::Partly { .. } => "fix that, and run `hopty backup restore` again: it continues",
        }
    }
}
