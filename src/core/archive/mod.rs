//! The archive: conversations that were put away, each in one compressed file. Pure.
//!
//! An archived conversation is a plain zstd file: `zstdcat` prints the transcript, followed by what lay
//! beside it. Each of its files is a zstd frame of its own. The manifest follows in a skippable frame, which
//! zstd passes over, and ends with a [`Seal`]: a file that was cut off has none, and is never taken for a
//! whole one. `fs::archive` reads and writes them.

mod archive_manifest;
mod cleanup;
mod limit;
mod seal;

pub use archive_manifest::{ArchiveManifest, ArchivedFile, FORMAT, VERSION};
pub use cleanup::{CLEANUP_DAYS, CleanupPeriod, PeriodOrigin, SettingsScope};
pub use limit::{ArchiveLimits, over_limit};
pub use seal::{SEAL_BYTES, Seal};

use thiserror::Error;

/// Why a file is not an archived conversation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArchiveError {
    /// It has no seal: it was cut off, or it is something else.
    #[error("it is not an archived conversation, or it is truncated")]
    NoSeal,
    /// Its manifest does not have the hash of its seal, or cannot be read.
    #[error("its manifest is damaged: {0}")]
    Manifest(String),
    /// A later hopty wrote it.
    #[error("it has version {0} of the archive format, and this hopty reads version {VERSION}")]
    Version(u64),
    /// A file that does not belong to its conversation.
    #[error("it names {0:?}, which is not a file of its conversation")]
    Name(String),
    /// A name that stands there twice, or is that of a file and of a directory.
    #[error("it names {0:?} twice")]
    Duplicate(String),
    /// A file of it that is not where the manifest says.
    #[error("{0:?} does not lie where its manifest says")]
    Place(String),
    /// More than a limit allows.
    #[error("{what}: {found}, and at most {limit} are allowed")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: u64,
        /// How much there may be.
        limit: u64,
    },
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
    /// What cannot be unpacked.
    #[error("{name:?} cannot be unpacked: {why}")]
    Packed {
        name: String,
        /// What zstd says.
        why: String,
    },
}

impl ArchiveError {
    /// How a person can fix it.
    pub fn hint(&self) -> &'static str {
        match self {
            ArchiveError::Version(_) => "install the hopty that wrote it, or a newer one",
            ArchiveError::NoSeal
            | ArchiveError::Manifest(_)
            | ArchiveError::Length { .. }
            | ArchiveError::Hash(_)
            | ArchiveError::Packed { .. } => "copy it from a backup; `zstdcat` prints what can still be read",
            ArchiveError::Name(_)
            | ArchiveError::Duplicate(_)
            | ArchiveError::Place(_)
            | ArchiveError::Limit { .. } => "hopty does not write such a file: do not trust it",
        }
    }
}
