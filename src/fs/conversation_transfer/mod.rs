//! Transfers conversations to another directory or another machine.
//!
//! [`TransferPlan`] says which file goes where, and [`Transfers::place`] carries it out. Every file is
//! first written beside its new place, read back and compared with its source. Then each gets its name by a
//! hard link, which never replaces a file. The transcript comes last: Claude knows a conversation by that
//! file, so this link creates the new conversation. Only after that does a move remove the source.
//!
//! Each transfer is recorded before it starts (`transfer_record`). After a kill at any point, the next call
//! ([`Transfers::begin`]) undoes or finishes it. `core::conversation_transfer` makes the new lines.
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
mod transfer_error;
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
pub use transfer_error::TransferError;
pub use transfer_lines::{LineCounts, leave_out_acting_parts, may_have_acting_parts};
pub use transfer_plan::{TransferPlan, TransferTarget};
pub use transfer_record::TransferKind;
pub use transfers::{IsOpen, TransferReport, Transfers};
