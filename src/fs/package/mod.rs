//! Writes and reads packages (`core::package`): one pass over a stream, with bounded memory.
//!
//! [`write()`] needs all lengths and hashes first ([`describe`]) and fails if a file has changed since.
//! [`PackageReader`] accepts a stream from anybody: it refuses everything that the manifest does not name,
//! and writes only below a private directory of its caller.

mod read;
#[cfg(test)]
mod read_tests;
mod write;

pub use read::PackageReader;
pub use write::{describe, write};

use std::io;

use thiserror::Error;

use super::file_error::FsError;
use crate::core::package::PackageError;

/// Why a package was not written or read.
#[derive(Debug, Error)]
pub enum PackageFailure {
    #[error(transparent)]
    Refused(#[from] PackageError),
    /// A file could not be read or written.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The package could not be read.
    #[error("cannot read the package: {0}")]
    Input(io::Error),
    /// The package ended before its last file did.
    #[error("the package ends too early")]
    CutShort,
    /// The package could not be written.
    #[error("cannot write the package: {0}")]
    Output(io::Error),
    /// A file changed while it was packed.
    #[error("{0} changed while it was packed")]
    Changed(String),
}
