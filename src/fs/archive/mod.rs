//! The archive: a private directory with one file for each archived conversation (`core::archive`), in the
//! same layout as Claude's `projects`: `PROJECT/ID.jsonl.zst`.
//!
//! Nothing is removed before the archived copy was read back and compared ([`ArchiveStore::put`],
//! [`ArchiveStore::remove_source`]). A killed process leaves either the old state or the new one: a
//! conversation is where its transcript is, and the transcript is the first file to be removed and the last
//! to be restored. Leftovers are the same in both cases, and the next run cleans them up.

mod index;
mod pack;
mod restore_archived;
mod search_archive;
mod source;
mod store;
#[cfg(test)]
mod store_tests;
mod unpack;

pub use index::ArchiveEntry;
pub use pack::ArchiveLevel;
pub use restore_archived::{RestoreTimes, RestoredConversation};
pub use search_archive::archive_sources;
pub use source::{ArchiveSource, SourceFile};
pub use store::{ArchiveStore, Archived, Replaced};
pub use unpack::{ArchivedConversation, ArchivedReader};

use std::path::PathBuf;

use thiserror::Error;

use super::file_error::FsError;
use crate::core::archive::ArchiveError;

/// Why a conversation was not archived or restored.
#[derive(Debug, Error)]
pub enum ArchiveFailure {
    /// A file of the archive is damaged, or hopty did not write it.
    #[error("{}: {why}", path.display())]
    Refused {
        path: PathBuf,
        /// What is wrong with it.
        why: ArchiveError,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A file changed while it was read, so nothing was removed.
    #[error("{} changed while it was archived", .0.display())]
    Changed(PathBuf),
    /// The file would be overwritten.
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    /// The archived content differs from the file.
    #[error("{} differs from its archive", .0.display())]
    Differs(PathBuf),
    /// There is no transcript.
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    /// The disk is full.
    #[error("{0}")]
    NoRoom(String),
}

impl ArchiveFailure {
    /// How a person can fix it.
    pub fn hint(&self) -> String {
        match self {
            ArchiveFailure::Refused { why, .. } => why.hint().to_owned(),
            ArchiveFailure::Fs(FsError::Locked { .. }) => {
                "another hopty is archiving; try again when it is done".to_owned()
            }
            ArchiveFailure::Fs(_) => "check its permissions and the free disk space".to_owned(),
            ArchiveFailure::Changed(_) => {
                "the conversation is in use; archive it when it has ended".to_owned()
            }
            ArchiveFailure::Exists(path) | ArchiveFailure::Differs(path) => {
                format!("move {} out of the way", path.display())
            }
            ArchiveFailure::Missing(_) => "`hopty conversations ls` lists what is there".to_owned(),
            ArchiveFailure::NoRoom(_) => "free space on the disk".to_owned(),
        }
    }
}
