//! The store of handoffs: `C/handoff`.
//!
//! Every change is made under the `flock` on `C/handoff/.lock`, and under `{channel}.lock.d` for shell
//! scripts that know only that. `claims` decides who gets a handoff. Files are written in the order record,
//! `CURRENT.md`, manifest, so that the manifest never names a missing file. A manifest that cannot be read
//! is quarantined and reported, never overwritten. All of this waits for disks and locks: call it on a
//! worker, not in a loop.

mod boot_time;
mod claims;
mod handoff_store;
mod manifests;
#[cfg(test)]
mod power_tests;
mod records;
mod retention;

pub use handoff_store::{Retention, SavedHandoff, Store, StoreError, StoredHandoff};
pub use records::HandoffRecords;
pub(super) use records::TRANSCRIPT_CAP;

pub use super::project::HandoffScope;
