//! Transcripts that Claude has deleted and hopty still has: in the archive and in records of handoffs.

use std::collections::HashSet;

use crate::core::ids::ConversationId;
use crate::fs::archive::{ArchiveStore, archive_sources};
use crate::fs::conversations::handoff_sources;
use crate::fs::conversations::search_transcripts::TranscriptSource;
use crate::fs::paths::Paths;

/// The transcripts of conversations that Claude no longer has (it has `known`): from the archive, or from a
/// handoff's copy.
pub(super) fn kept_sources(
    paths: &Paths,
    mut known: HashSet<ConversationId>,
) -> Vec<Box<dyn TranscriptSource>> {
    let store = ArchiveStore::new(&paths.archive(), &paths.claude);
    let mut archived = store.entries().0;
    archived.retain(|entry| entry.number == 0 && !known.contains(&entry.conversation));
    known.extend(archived.iter().map(|entry| entry.conversation.clone()));
    let mut sources = archive_sources(store.dir(), archived);
    sources.extend(handoff_sources(&paths.claude, &known));
    sources
}

/// The same, with every state of a conversation in the archive: an earlier one may have messages that no
/// later one has.
pub(in crate::cli) fn all_kept_sources(
    paths: &Paths,
    mut known: HashSet<ConversationId>,
) -> Vec<Box<dyn TranscriptSource>> {
    let store = ArchiveStore::new(&paths.archive(), &paths.claude);
    let archived = store.entries().0;
    known.extend(archived.iter().map(|entry| entry.conversation.clone()));
    let mut sources = archive_sources(store.dir(), archived);
    sources.extend(handoff_sources(&paths.claude, &known));
    sources
}
