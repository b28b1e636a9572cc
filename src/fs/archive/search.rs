//! Searching the archive as it lies: an archived transcript is unpacked while it is read, and after it those
//! of its sub-agents.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::index::ArchiveEntry;
use super::unpack::ArchivedConversation;
use crate::core::archive::ArchiveLimits;
use crate::core::ids::ConversationId;
use crate::core::time::WallTime;
use crate::fs::conversations::search::{TranscriptPlace, TranscriptSource};

/// An archived transcript.
#[derive(Debug)]
struct ArchivedTranscript {
    entry: ArchiveEntry,
    path: PathBuf,
}

impl TranscriptSource for ArchivedTranscript {
    fn id(&self) -> &ConversationId {
        &self.entry.conversation
    }

    fn place(&self) -> TranscriptPlace {
        TranscriptPlace::Archived
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn modified(&self) -> WallTime {
        self.entry.written_at
    }

    fn open(&self) -> io::Result<Box<dyn Read>> {
        let failed = |failure: super::ArchiveFailure| io::Error::other(failure.to_string());
        let archived = ArchivedConversation::open(&self.path, &ArchiveLimits::default()).map_err(failed)?;
        let transcript = archived.manifest.transcript().ok_or(io::ErrorKind::NotFound)?;
        let mut all: Box<dyn Read> = Box::new(archived.content(transcript).map_err(failed)?);
        for agent in archived.manifest.agents() {
            // The last line before it may lack its newline.
            let agent = b"\n".chain(archived.content(agent).map_err(failed)?);
            all = Box::new(all.chain(agent));
        }
        Ok(all)
    }
}

/// Archived conversations as sources of a search.
#[must_use]
pub fn archive_sources(archive: &Path, entries: Vec<ArchiveEntry>) -> Vec<Box<dyn TranscriptSource>> {
    let source = |entry: ArchiveEntry| {
        let path = entry.path(archive);
        Box::new(ArchivedTranscript { entry, path }) as Box<dyn TranscriptSource>
    };
    entries.into_iter().map(source).collect()
}
