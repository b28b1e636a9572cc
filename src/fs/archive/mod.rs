//! The archive: a directory of this user's alone, with one file for each archived conversation
//! (`core::archive`), in the same places as below Claude's `projects`: `PROJECT/ID.jsonl.zst`.
//!
//! Nothing is removed that was not read back and compared first ([`ArchiveStore::put`],
//! [`ArchiveStore::remove_source`]). A process that is killed leaves the old state or the new one, because a
//! conversation is where its transcript is: the transcript is the first file that is removed and the last
//! that is restored. What else is left is the same on both sides, and the next run takes it up.

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
    /// A file of the archive is damaged, or was not made by hopty.
    #[error("{}: {why}", path.display())]
    Refused {
        path: PathBuf,
        /// What is wrong with it.
        why: ArchiveError,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A file changed while it was read, so that nothing was removed.
    #[error("{} changed while it was archived", .0.display())]
    Changed(PathBuf),
    /// A file that would be overwritten.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// What was archived is not what lies there.
    #[error("{} differs from its archive", .0.display())]
    Differs(PathBuf),
    /// There is no transcript.
    #[error("{} is not there", .0.display())]
    Missing(PathBuf),
    /// The disk does not have the room.
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
