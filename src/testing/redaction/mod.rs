//! Redaction of what tests show and store: secrets, paths of this machine, and values that differ in each
//! run.
//!
//! Reports should show the failure unchanged, so only secrets, the tape's own redactions and the test's
//! directories are removed ([`TapeRedactions::outcome`]). A snapshot must also be the same tomorrow, so
//! times, dates, ports, process ids, UUIDs and versions become placeholders as well
//! ([`TapeRedactions::snapshot_screen`]). Reports take a [`RedactedOutcome`] and nothing else.

mod screen_cells;
mod tape_redactions;
mod volatile;

pub use tape_redactions::{RedactedOutcome, TapeRedactions};
