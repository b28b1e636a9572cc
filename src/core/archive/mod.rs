//! The archive: conversations in one compressed file each. Pure.
//!
//! An archived conversation is a plain zstd file: `zstdcat` prints the transcript, followed by the files that
//! belonged to it. Each file is a zstd frame of its own. The manifest follows in a skippable frame, which
//! zstd ignores, and ends with a [`Seal`], which a truncated file does not have. `fs::archive` reads and
//! writes these files.

mod archive_manifest;
mod cleanup;
mod limit;
mod seal;

pub use archive_manifest::{ArchiveManifest, ArchivedFile, FORMAT, VERSION};
pub use cleanup::{CLEANUP_DAYS, CleanupPeriod, PeriodOrigin, SettingsScope};
pub use limit::{ArchiveLimits, over_limit};
pub use seal::{SEAL_BYTES, Seal};

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArchiveError {
    /// It has no seal: it is truncated, or another kind of file.
    #[error("it is not an archived conversation, or it is truncated")]
    NoSeal,
    /// Its manifest is unreadable or does not have the hash in its seal.
    #[error("its manifest is damaged: {0}")]
    Manifest(String),
    /// A later hopty wrote it.
    #[error("it has version {0} of the archive format, and this hopty reads version {VERSION}")]
    Version(u64),
    /// A file that does not belong to its conversation.
    #[error("it names {0:?}, which is not a file of its conversation")]
    Name(String),
    /// A repeated name, or one of both a file and a directory.
    #[error("it names {0:?} twice")]
    Duplicate(String),
    /// A file that is not at its offset.
    #[error("{0:?} does not lie where its manifest says")]
    Place(String),
    #[error("{what}: {found}, and at most {limit} are allowed")]
    Limit { what: &'static str, found: u64, limit: u64 },
    /// A length that differs from the manifest's.
    #[error("{name:?} does not have the {bytes} bytes that its manifest says")]
    Length {
        name: String,
        /// The manifest's length in bytes.
        bytes: u64,
    },
    /// A hash that differs from the manifest's.
    #[error("the content of {0:?} does not have the hash that its manifest says")]
    Hash(String),
    #[error("{name:?} cannot be unpacked: {why}")]
    Packed {
        name: String,
        /// The error of zstd.
        why: String,
    },
}

impl ArchiveError {
    pub fn hint(&self) -> &'static str {
        match self {
            ArchiveError::Version(_) => "install the hopty that wrote it, or a newer one",
            ArchiveError::NoSeal
            | ArchiveError::Manifest(_)
            | ArchiveError::Length { .. }
            | ArchiveError::Hash(_)
            | ArchiveError::Packed { .. } => "copy it from a backup; `zstdcat` prints what can still be read",
            ArchiveError::Name(_) | ArchiveError::Duplicate(_) | ArchiveError::Place(_) => {
                "hopty does not write such a file: do not trust it"
            }
            ArchiveError::Limit { .. } => {
                "hopty writes and unpacks no such file: a conversation of yours stays where it is; do not trust \
                 a file that you were given"
            }
        }
    }
}
