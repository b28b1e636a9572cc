//! The transcripts that can be searched: Claude's own, and those that only a handoff has kept.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::search_transcripts::{TranscriptPlace, TranscriptSource};
use super::transcripts::TranscriptFile;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::WallTime;
use crate::fs::store::Store;
use crate::sys::safe_file::{self, FileLinks, FileOwner, FileRule};

/// The rule for opening a transcript: a regular file of any user, as Claude reads it too.
pub(super) const RULE: FileRule =
    FileRule { links: FileLinks::Refuse, owner: FileOwner::Anyone, cap: u64::MAX, closed: 0 };

/// One of Claude's own transcripts.
#[derive(Debug)]
struct LiveTranscript(TranscriptFile);

impl TranscriptSource for LiveTranscript {
    fn id(&self) -> &ConversationId {
        &self.0.id
    }

    fn place(&self) -> TranscriptPlace {
        TranscriptPlace::Live
    }

    fn path(&self) -> &Path {
        &self.0.path
    }

    fn modified(&self) -> WallTime {
        self.0.state.modified()
    }

    fn open(&self) -> io::Result<Box<dyn Read>> {
        let file = safe_file::open(&self.0.path, RULE).map_err(io::Error::other)?;
        Ok(Box::new(file.ok_or(io::ErrorKind::NotFound)?))
    }
}

/// The copy of a transcript in the record of a handoff.
#[derive(Debug)]
struct HandoffTranscript {
    store: Store,
    handoff: HandoffId,
    id: ConversationId,
    path: PathBuf,
    at: WallTime,
}

impl TranscriptSource for HandoffTranscript {
    fn id(&self) -> &ConversationId {
        &self.id
    }

    fn place(&self) -> TranscriptPlace {
        TranscriptPlace::HandedOver
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn modified(&self) -> WallTime {
        self.at
    }

    fn open(&self) -> io::Result<Box<dyn Read>> {
        self.store.records().transcript(&self.handoff).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Claude's own transcripts as sources.
pub fn live_sources(files: Vec<TranscriptFile>) -> Vec<Box<dyn TranscriptSource>> {
    files.into_iter().map(|file| Box::new(LiveTranscript(file)) as Box<dyn TranscriptSource>).collect()
}

/// The newest copy of each conversation that handoffs of `claude_dir` have kept and that is not in `known`.
pub fn handoff_sources(claude_dir: &Path, known: &HashSet<ConversationId>) -> Vec<Box<dyn TranscriptSource>> {
    let mut seen = known.clone();
    let mut sources: Vec<Box<dyn TranscriptSource>> = Vec::new();
    let store = Store::at(claude_dir);
    // The newest first.
    for record in store.records().states() {
        if !store.records().has_transcript(&record.id) || !seen.insert(record.session_id.clone()) {
            continue;
        }
        sources.push(Box::new(HandoffTranscript {
            store: Store::at(claude_dir),
            path: store.records().dir_of(&record.id),
            at: WallTime::parse(&record.created_at).unwrap_or_default(),
            id: record.session_id,
            handoff: record.id,
        }));
    }
    sources
}
