//! Errors of the handoff store as errors of a verb.

use crate::cli::error::VerbError;
use crate::cli::exit_codes::{FAILED, INTERNAL, REFUSED};
use crate::core::handoff::manifest::{NotClaimed, NotMoved};
use crate::core::handoff::manifest_entry::HandoffProgress;
use crate::fs::store::StoreError;
use crate::ipc::message::Code;

pub(super) fn not_there(what: String) -> VerbError {
    VerbError::new(FAILED, what).called(Code::NotFound).hint("`hopty handoff list --all` lists all handoffs")
}

/// An error of the store with its exit code and hint.
pub(super) fn store_failed(error: StoreError) -> VerbError {
    let said = error.to_string();
    match error {
        StoreError::NotClaimed(NotClaimed::Unknown(_)) | StoreError::NotMoved(NotMoved::Unknown(_)) => {
            not_there(said)
        }
        StoreError::NotClaimed(NotClaimed::NotActive { status: HandoffProgress::Expired, .. }) => {
            VerbError::new(FAILED, said)
                .called(Code::Ended)
                .hint("`hopty handoff show` still prints it; `handoff.expiry` sets how long a handoff waits")
        }
        StoreError::NotClaimed(NotClaimed::NotActive { .. })
        | StoreError::NotMoved(NotMoved::NotActive { .. }) => {
            VerbError::new(FAILED, said).called(Code::Ended).hint(
                "`hopty handoff list --all` shows the status of \
                each",
            )
        }
        StoreError::NotClaimed(NotClaimed::Held { .. }) | StoreError::NotMoved(NotMoved::NotHolder(_)) => {
            VerbError::new(REFUSED, said).hint(
                "only one conversation can load a handoff; the claim lapses when that \
                                       process ends",
            )
        }
        StoreError::NotClaimed(NotClaimed::Unusable { .. }) => VerbError::new(REFUSED, said).hint(
            "hopty leaves it unchanged; `hopty handoff path --record` prints the directory with its \
                   raw copies",
        ),
        StoreError::Fs(_) => VerbError::new(INTERNAL, said).hint(
            "the store is `handoff` in Claude's directory, \
            ~/.claude by default",
        ),
    }
}
