//! Settles handoffs that a script loaded. No host observes their conversations, so the next command that
//! reads the store checks whether the conversation with the claim has answered, and marks the handoff
//! consumed.

use std::path::Path;

use crate::core::claude::transcript_line::TranscriptLine;
use crate::core::handoff::manifest_entry::{Claim, IndexEntry};
use crate::core::ids::Channel;
use crate::core::time::WallTime;
use crate::fs::paths::Paths;
use crate::fs::store::Store;
use crate::fs::{session, whole_transcript};
use crate::sys::clock::Clock;

/// How much of a transcript's end is read, in bytes.
const LOOKED_AT: u64 = 8 << 20;

/// Marks answered handoffs of a channel, or of all, as consumed. A session's host does that for its own
/// conversations.
pub(in crate::cli) fn settle(paths: &Paths, store: &Store, channel: Option<&Channel>) {
    let now = Clock::wall();
    let Ok(known) = store.list(channel) else { return };
    let loaded = known
        .into_iter()
        .filter_map(|(_, entry)| Some((entry.claim.clone().filter(|_| entry.is_pending(now))?, entry)));
    let mut hosts: Option<Vec<u32>> = None;
    for (claim, entry) in loaded {
        let hosts = hosts.get_or_insert_with(|| hosts_of(paths));
        if !hosts.contains(&claim.by_pid) && has_answered(paths, &claim, &entry) {
            // Another process may have done the same.
            let _ = store.consume(&entry.id, &claim.session_id, claim.by_pid, now);
        }
    }
}

fn hosts_of(paths: &Paths) -> Vec<u32> {
    let host = |name| u32::try_from(session::host_of(&paths.session(&name))?).ok();
    session::live_names(paths).into_iter().filter_map(host).collect()
}

/// Whether the conversation of a claim has an answer that is younger than the claim. A claim that a host took
/// for itself and did not use does not count.
fn has_answered(paths: &Paths, claim: &Claim, entry: &IndexEntry) -> bool {
    let Some(path) =
        paths.find_transcript(&claim.session_id).filter(|_| claim.by_pid != entry.created_by_pid)
    else {
        return false;
    };
    answer_since(&path, claim.at)
}

fn answer_since(path: &Path, since: WallTime) -> bool {
    let mut answered = false;
    let read = whole_transcript::last_lines(path, LOOKED_AT, |bytes| {
        TranscriptLine::parse_each(bytes, |line| {
            if let TranscriptLine::Assistant(line) = line
                && !line.sidechain
                && !line.synthetic
            {
                answered |= line.timestamp.as_deref().and_then(WallTime::parse).is_some_and(|at| at >= since);
            }
        });
    });
    read.is_ok() && answered
}
