//! Conversations that go to another directory or another machine.
//!
//! [`TransferPlan`] says which file goes where, [`Transfers::place`] does it. Every file is written anew
//! beside its new place, read back and compared with its source. Then each gets its name by a hard link,
//! which never replaces a file, the transcript last: Claude knows a conversation by that file, so this link
//! is the moment at which the new conversation is there. Only afterwards is the source removed, where a move
//! is wanted.
//!
//! What is under way is written down first (`transfer_record`). After a kill at any point the next call
//! ([`Transfers::begin`]) undoes what was not finished, or finishes what was. The new lines are made by
//! `core::conversation_transfer`.
//!
//! [`export()`] writes a conversation as a package (`core::package`); [`Transfers::unpack`] reads one, and
//! [`TransferPlan::of_package`] puts it in place in the same way.

mod export_package;
mod file_place;
mod import_package;
mod kill_point;
#[cfg(test)]
mod package_tests;
mod project_folder;
mod recovery;
mod transfer_lines;
mod transfer_plan;
mod transfer_record;
#[cfg(test)]
pub(super) mod transfer_tests;
mod transfers;

pub use export_package::{ExportOptions, ExportReport, export};
pub use import_package::{PackedConversation, UnpackedPackage, conversations_of};
pub use project_folder::{ProjectMemory, belongs_below, project_folder};
pub use recovery::{RecoveredTransfer, TransferOutcome};
pub use transfer_lines::{LineCounts, leave_out_acting_parts, may_have_acting_parts};
pub use transfer_plan::{TransferPlan, TransferTarget};
pub use transfer_record::TransferKind;
pub use transfers::{IsOpen, TransferReport, Transfers};

use std::path::PathBuf;

use thiserror::Error;

use super::file_error::FsError;
use super::package::PackageFailure;
use crate::core::ids::ConversationId;

/// Why a conversation was not moved, copied, exported or imported. Unless it says so, nothing has changed.
#[derive(Debug, Error)]
pub enum TransferError {
    /// There is something at the place where it would go.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// A conversation with this id is there already.
    #[error("conversation {id} is there already: {}", path.display())]
    SameId {
        id: ConversationId,
        /// Its transcript.
        path: PathBuf,
    },
    /// A line, or a file without lines, in which hopty cannot look for secrets.
    #[error("{} is too long to look for secrets in it", .0.display())]
    TooLongToRedact(PathBuf),
    /// The package was refused, or could not be read or written.
    #[error(transparent)]
    Package(#[from] PackageFailure),
    /// The package is whole, but what it says of conversations is not.
    #[error("the package's list of conversations: {0}")]
    BadList(String),
    /// The transcript would stay where it is: Claude has one folder for both directories.
    #[error("Claude finds it in {0} already")]
    SameFolder(String),
    /// A program has it open.
    #[error("it is open in {0}")]
    Open(String),
    /// A file changed meanwhile.
    #[error("{} changed meanwhile", .0.display())]
    Changed(PathBuf),
    /// What was read back is not what was written.
    #[error("{} differs from what hopty wrote", .0.display())]
    Differs(PathBuf),
    /// There is too little room.
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
    #[error("it is in its new directory, and {} stays as well: {cause}", path.display())]
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
                format!("both are whole; remove one of them by hand: {}", path.display())
            }
        }
    }
}
