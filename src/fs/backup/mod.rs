//! Backups: everything that hopty keeps, and what a person needs to continue, in one file (`core::backup`).
//!
//! A backup is written to a temporary file, synced, read back and compared before it gets its name. A
//! restore unpacks and checks everything before the first file goes to its place. Each file is replaced as
//! a whole, and only on request. A restore that was killed can be run again and continues.

mod backup_failure;
mod cipher;
mod collect;
mod create_backup;
mod restore_backup;
#[cfg(test)]
mod tests;

pub use backup_failure::BackupFailure;
pub use cipher::{BackupCipher, BackupKey, is_encrypted};
pub use create_backup::{BackupReport, create};
pub use restore_backup::{RestoreOutcome, RestorePlan, RestoreReport, plan, restore, verify};

use std::path::PathBuf;

use super::paths::Paths;
use crate::core::backup::BackupRoot;

/// The directory that corresponds to a part of a backup.
pub(super) fn root(paths: &Paths, root: BackupRoot) -> PathBuf {
    match root {
        BackupRoot::Claude => paths.claude.clone(),
        BackupRoot::State => paths.state.clone(),
        BackupRoot::Config => paths.config.clone(),
        BackupRoot::Data => paths.data.clone(),
    }
}
