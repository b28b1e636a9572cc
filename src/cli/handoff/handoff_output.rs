//! The output of `hopty handoff`: JSON for programs, text for people.

use serde_json::Value;

use crate::cli::error::{VerbError, say};
use crate::core::handoff::manifest_entry::{HandoffProgress, IndexEntry};
use crate::sys::clock::Clock;

/// An entry as in `docs/HANDOFF.md` with its present status: if it was not loaded in time, it is expired even
/// before the manifest says so.
pub(super) fn object(entry: &IndexEntry) -> Value {
    let mut entry = entry.clone();
    if entry.status == HandoffProgress::Active && !entry.is_pending(Clock::wall()) {
        entry.status = HandoffProgress::Expired;
    }
    serde_json::to_value(&entry).unwrap_or_default()
}

/// Prints the value as JSON, or the text.
pub(super) fn answer(json: bool, value: &Value, text: &str) -> Result<u8, VerbError> {
    if json {
        say(format_args!("{value}"))?
    } else {
        say(format_args!("{text}"))?
    }
    Ok(0)
}
