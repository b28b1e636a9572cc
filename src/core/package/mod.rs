//! The form of a package: files that leave this machine or come from another, in one stream.
//!
//! A package is a tar stream, compressed with gzip. Its first file is the manifest, which names every other
//! file with its length and its hash, in the order in which they follow. So a reader knows everything that it
//! is going to get, and can refuse it, before the first byte of it is written to a disk. What is in a package
//! is one of the [`PackageKind`]s; `info` has what only that kind knows.
//!
//! `fs::package` reads and writes the stream.

mod package_file_name;
mod package_limits;
mod package_manifest;

pub use package_file_name::{PackageName, PackageNameError};
pub use package_limits::PackageLimits;
pub use package_manifest::{PackageFile, PackageKind, PackageManifest};

use thiserror::Error;

/// The name of the format, in each manifest.
pub const FORMAT: &str = "hopty-package";
/// The version of the format that this hopty writes, and the only one that it reads.
pub const VERSION: u32 = 1;
/// The name of the manifest in the tar stream.
pub const MANIFEST_ENTRY: &str = "hopty-package.json";
/// The directory of the files in the tar stream.
pub const FILES_ENTRY: &str = "files";

/// Why a package is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PackageError {
    /// It is something else.
    #[error("this is not a hopty package: {0}")]
    NotAPackage(String),
    /// It was written by a hopty with another form of packages.
    #[error("it has version {0} of the package format, and this hopty reads version {VERSION}")]
    Version(u64),
    /// It has something else than was asked for.
    #[error("it is a package of {found}, not of {wanted}")]
    Kind {
        found: PackageKind,
        /// What was asked for.
        wanted: PackageKind,
    },
    /// A name that must not be used.
    #[error("the name {name:?} in it {why}")]
    Name {
        name: String,
        /// What is wrong with it.
        why: PackageNameError,
    },
    /// A name that stands there twice, or is that of a file and of a directory.
    #[error("it has two files for the name {0:?}")]
    Duplicate(String),
    /// An entry that is no plain file: a link, a device, a directory.
    #[error("the entry {name:?} is {found}, not a regular file")]
    NotAFile {
        name: String,
        /// What it is, with an article.
        found: &'static str,
    },
    /// An entry that the manifest does not name at this place.
    #[error("it has {found:?} where its manifest says {wanted:?}")]
    Order {
        found: String,
        /// What the manifest says.
        wanted: String,
    },
    /// A length that differs from the manifest's.
    #[error("{name} has {found} bytes, and its manifest says {wanted}")]
    Length {
        name: String,
        /// Its length in bytes.
        found: u64,
        /// The manifest's length in bytes.
        wanted: u64,
    },
    /// A hash that differs from the manifest's.
    #[error("the content of {0} does not have the hash that its manifest says")]
    Hash(String),
    /// Something after the last file.
    #[error("something follows its last file")]
    Trailing,
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
    /// A stream that becomes too large when it is unpacked.
    #[error("it unpacks to more than {0} times its length, like a decompression bomb")]
    Ratio(u64),
}

impl PackageError {
    /// How a person can fix it.
    pub fn hint(&self) -> &'static str {
        match self {
            PackageError::NotAPackage(_) => "name a file that hopty wrote",
            PackageError::Version(_) => "install the hopty that wrote it, or a newer one",
            PackageError::Kind { .. } => "use the verb that reads such a package",
            PackageError::Limit { .. } => "hopty reads no larger one; `tar` unpacks it if you trust it",
            PackageError::Length { .. } | PackageError::Hash(_) => "it is damaged: make or copy it again",
            PackageError::Name { .. }
            | PackageError::Duplicate(_)
            | PackageError::NotAFile { .. }
            | PackageError::Order { .. }
            | PackageError::Trailing => "hopty does not write such a package: do not trust it",
            PackageError::Ratio(_) => {
                "hopty writes and unpacks no such package: a conversation of yours stays where it is; do not \
                 trust a package that you were given"
            }
        }
    }
}
