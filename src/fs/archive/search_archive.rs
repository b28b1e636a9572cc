//! Searches the archive in place: a transcript is unpacked while it is read, followed by those of its
//! sub-agents, one at a time.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::index::ArchiveEntry;
use super::unpack::{ArchivedConversation, ArchivedReader};
use crate::core::archive::{ArchiveLimits, ArchivedFile};
use crate::core::ids::ConversationId;
use crate::core::time::WallTime;
use crate::fs::conversations::search_transcripts::{TranscriptPlace, TranscriptSource};

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
        let archived = ArchivedConversation::open(&self.path, &ArchiveLimits::default());
        let archived = archived.map_err(io::Error::other)?;
        let transcript = archived.manifest.transcript().ok_or(io::ErrorKind::NotFound)?;
        let reader = archived.content(transcript).map_err(io::Error::other)?;
        let agents: Vec<ArchivedFile> = archived.manifest.agents().cloned().collect();
        Ok(Box::new(TranscriptWithAgents { archived, reader, agents: agents.into_iter() }))
    }
}

/// The lines of an archived transcript, then those of its sub-agents. There may be thousands of sub-agents,
/// so only one is open at a time.
struct TranscriptWithAgents {
    archived: ArchivedConversation,
    reader: ArchivedReader,
    /// The sub-agents that are still to be read.
    agents: std::vec::IntoIter<ArchivedFile>,
}

impl Read for TranscriptWithAgents {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        if n > 0 || buffer.is_empty() {
            return Ok(n);
        }
        let Some(agent) = self.agents.next() else { return Ok(0) };
        self.reader = self.archived.content(&agent).map_err(io::Error::other)?;
        // The last line before it may lack its newline.
        buffer[0] = b'\n';
        Ok(1)
    }
}

/// Archived conversations as sources of a search.
pub fn archive_sources(archive: &Path, entries: Vec<ArchiveEntry>) -> Vec<Box<dyn TranscriptSource>> {
    let source = |entry: ArchiveEntry| {
        let path = entry.path(archive);
        Box::new(ArchivedTranscript { entry, path }) as Box<dyn TranscriptSource>
    };
    entries.into_iter().map(source).collect()
}
