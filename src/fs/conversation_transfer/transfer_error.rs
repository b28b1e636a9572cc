//! Why a conversation was not moved, copied, exported or imported.

use std::path::PathBuf;

use thiserror::Error;

use crate::core::ids::ConversationId;
use crate::fs::file_error::FsError;
use crate::fs::package::PackageFailure;

/// Why a conversation was not moved, copied, exported or imported. Nothing has changed unless stated
/// otherwise.
#[derive(Debug, Error)]
pub enum TransferError {
    /// The new place is taken.
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    /// A conversation with this id exists.
    #[error("conversation {id} already exists: {}", path.display())]
    SameId {
        id: ConversationId,
        /// Its transcript.
        path: PathBuf,
    },
    /// A line, or a file without lines, that is too long to be searched for secrets.
    #[error("{} is too long to be searched for secrets", .0.display())]
    TooLongToRedact(PathBuf),
    /// The package was refused, or could not be read or written.
    #[error(transparent)]
    Package(#[from] PackageFailure),
    /// The package is complete, but its list of conversations is wrong.
    #[error("the package's list of conversations: {0}")]
    BadList(String),
    /// Claude uses the same folder for both directories, so the transcript would not move.
    #[error("Claude already finds it in {0}")]
    SameFolder(String),
    /// A program has it open.
    #[error("it is open in {0}")]
    Open(String),
    /// A file changed meanwhile.
    #[error("{} changed meanwhile", .0.display())]
    Changed(PathBuf),
    /// The file read back differently.
    #[error("{} differs from what hopty wrote", .0.display())]
    Differs(PathBuf),
    /// The disk is full.
    #[error("{0}")]
    NoRoom(String),
    #[error("{} is not valid UTF-8", .0.display())]
    NotText(PathBuf),
    /// Another transfer is running.
    #[error("another move, copy or import is running")]
    Busy,
    /// A file could not be read or written.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// It is in its new place, but the source could not be removed.
    #[error("it is in its new directory, but {} could not be removed: {cause}", path.display())]
    SourceStays {
        /// What is left.
        path: PathBuf,
        cause: String,
    },
}

impl TransferError {
    /// How a person can fix it.
    pub fn hint(&self) -> String {
        match self {
            TransferError::Exists(path) => format!("move {} out of the way", path.display()),
            TransferError::SameId { .. } => "give it another id with --new-id".to_owned(),
            TransferError::TooLongToRedact(_) => "export it without --redact, for yourself alone".to_owned(),
            TransferError::Package(PackageFailure::Refused(error)) => error.hint().to_owned(),
            TransferError::Package(PackageFailure::CutShort) => {
                "it is incomplete: make or copy it again".to_owned()
            }
            TransferError::Package(PackageFailure::Changed(_)) => {
                "end the session that has it open, and try again".to_owned()
            }
            TransferError::Package(_) => {
                "check the file, its permissions and the space on the disk".to_owned()
            }
            TransferError::BadList(_) => "hopty does not write such a package: do not trust it".to_owned(),
            TransferError::SameFolder(_) => "name another directory".to_owned(),
            TransferError::Open(_) => "end that session first (`hopty stop`, or /exit)".to_owned(),
            TransferError::Changed(_) => "end the session that has it open, and try again".to_owned(),
            TransferError::Differs(_) => {
                "check the disk: the data that hopty wrote came back changed".to_owned()
            }
            TransferError::NoRoom(_) => "free space on the disk".to_owned(),
            TransferError::NotText(_) => "Claude names directories as text: rename it".to_owned(),
            TransferError::Busy => "try again when it is done".to_owned(),
            TransferError::Fs(FsError::NotPrivate(path)) => {
                format!("change the owner of {} to yourself (chown)", path.display())
            }
            TransferError::Fs(FsError::Symlink(path)) => {
                format!("replace the link {} with its target", path.display())
            }
            TransferError::Fs(_) => "check its permissions and the space on the disk".to_owned(),
            TransferError::SourceStays { path, .. } => {
                format!("both copies are complete; remove one by hand: {}", path.display())
            }
        }
    }
}
