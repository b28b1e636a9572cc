//! Backups: everything that hopty keeps and what a person needs to go on, in one file (`core::backup`).
//!
//! A backup is written to a temporary file, synced, read back and compared before it gets its name. A restore
//! unpacks and checks all of it before the first file goes to its place. Each file is replaced whole or not
//! at all, and only when that is asked for; a restore that was killed is run again and takes up what is
//! there.

mod cipher;
mod collect;
mod create_backup;
mod restore_backup;
#[cfg(test)]
mod tests;

pub use cipher::{BackupCipher, BackupKey, is_encrypted};
pub use create_backup::{BackupReport, create};
pub use restore_backup::{Put, RestorePlan, RestoreReport, plan, restore, verify};

use std::io::ErrorKind;
use std::path::PathBuf;

use thiserror::Error;

use super::file_error::FsError;
use super::package::PackageFailure;
use super::paths::Paths;
use crate::core::backup::BackupRoot;

/// Why a backup was not made or restored.
#[derive(Debug, Error)]
pub enum BackupFailure {
    /// The package was refused, or could not be read or written.
    #[error(transparent)]
    Package(#[from] PackageFailure),
    /// A file could not be read or written.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A file that is there already.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// It has a file that no backup has.
    #[error("it has a file that belongs to no backup: {0:?}")]
    Foreign(String),
    /// It is encrypted, and there is no key, or another one.
    #[error("{0}")]
    Key(String),
    /// The disk does not have the room.
    #[error("{0}")]
    NoRoom(String),
    /// A restore ended before its last file.
    #[error("{cause}; {restored} of {of} files are restored, each whole, and the others are as they were")]
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

/// The directory of one of a backup's parts.
pub(super) fn root(paths: &Paths, root: BackupRoot) -> PathBuf {
    match root {
        BackupRoot::Claude => paths.claude.clone(),
        BackupRoot::State => paths.state.clone(),
        BackupRoot::Config => paths.config.clone(),
        BackupRoot::Data => paths.data.clone(),
    }
}
