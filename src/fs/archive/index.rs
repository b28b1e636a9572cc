//! What a list shows of archived conversations, kept in one file so that a list does not open each of them.
//! It may be deleted at any time: it is made again from the manifests.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::source::modified_ns;
use super::unpack::ArchivedConversation;
use crate::core::archive::ArchiveLimits;
use crate::core::ids::ConversationId;
use crate::core::time::WallTime;
use crate::fs::atomic;

/// The name of the index in the archive.
const INDEX: &str = "index.json";
/// The longest index that is read, in bytes.
const INDEX_CAP: u64 = 256 << 20;
/// The version of the index; an index of another version is rebuilt.
const INDEX_VERSION: u32 = 1;
/// The suffix of an archived conversation's file.
pub(super) const SUFFIX: &str = ".jsonl.zst";

/// One archived conversation, as a list shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArchiveEntry {
    /// Its path below the archive: `PROJECT/ID.jsonl.zst`.
    pub file: String,
    /// Its length in bytes, compressed.
    pub packed_bytes: u64,
    /// When the file was written, in nanoseconds since 1970.
    modified_ns: u64,
    pub conversation: ConversationId,
    /// The directory below `projects` that the conversation came from.
    pub project: String,
    pub archived_at: WallTime,
    /// The length of its transcript in bytes.
    pub transcript_bytes: u64,
    /// When its transcript was written last.
    pub written_at: WallTime,
    /// The bytes of all its files, before they were compressed.
    pub total_bytes: u64,
    /// How many files it has.
    pub files: usize,
    /// What a list shows of it, as it was archived.
    #[serde(default)]
    pub summary: Value,
    /// 0 for the current archive; earlier ones whose content is not all in it count from 1.
    pub number: u32,
}

impl ArchiveEntry {
    pub fn path(&self, archive: &Path) -> PathBuf {
        archive.join(&self.file)
    }

    fn read(
        archive: &Path,
        file: String,
        modified_ns: u64,
        number: u32,
    ) -> Result<Self, super::ArchiveFailure> {
        let opened = ArchivedConversation::open(&archive.join(&file), &ArchiveLimits::default())?;
        let manifest = &opened.manifest;
        let (transcript_bytes, written) =
            manifest.transcript().map_or((0, 0), |file| (file.bytes, file.modified_ns / 1_000_000));
        Ok(ArchiveEntry {
            file,
            packed_bytes: opened.packed_bytes,
            modified_ns,
            conversation: manifest.conversation.clone(),
            project: manifest.project.clone(),
            archived_at: manifest.archived_at,
            transcript_bytes,
            written_at: WallTime(i64::try_from(written).unwrap_or(i64::MAX)),
            total_bytes: manifest.total_bytes(),
            files: manifest.files.len(),
            summary: manifest.summary.clone(),
            number,
        })
    }
}

#[derive(Serialize, Deserialize)]
struct Index {
    version: u32,
    entries: Vec<ArchiveEntry>,
}

/// Parses a file name: `ID.jsonl.zst`, `ID.2.jsonl.zst`.
pub(super) fn name_of(file: &str) -> Option<(ConversationId, u32)> {
    let stem = file.strip_suffix(SUFFIX)?;
    match stem.split_once('.') {
        None => Some((stem.parse().ok()?, 0)),
        Some((id, number)) => Some((id.parse().ok()?, number.parse().ok().filter(|number| *number > 0)?)),
    }
}

/// All archived conversations, ordered by file, and why others cannot be read. Files that the index knows
/// are not opened.
pub(super) fn entries(archive: &Path) -> (Vec<ArchiveEntry>, Vec<super::ArchiveFailure>) {
    let known = read(archive);
    let before = known.len();
    let mut known: HashMap<String, ArchiveEntry> =
        known.into_iter().map(|entry| (entry.file.clone(), entry)).collect();
    let (mut found, mut bad, mut is_new) = (Vec::new(), Vec::new(), false);
    for project in fs::read_dir(archive).into_iter().flatten().flatten() {
        let (Some(name), Ok(kind)) = (project.file_name().to_str().map(str::to_owned), project.file_type())
        else {
            continue;
        };
        if !kind.is_dir() {
            continue;
        }
        for entry in fs::read_dir(project.path()).into_iter().flatten().flatten() {
            let file_name = entry.file_name();
            let Some((file, (_, number))) = file_name.to_str().and_then(|file| Some((file, name_of(file)?)))
            else {
                continue;
            };
            let file = format!("{name}/{file}");
            let Ok(meta) = fs::symlink_metadata(entry.path()) else { continue };
            let state = (meta.len(), modified_ns(&meta));
            if let Some(entry) =
                known.remove(&file).filter(|entry| (entry.packed_bytes, entry.modified_ns) == state)
            {
                found.push(entry);
                continue;
            }
            is_new = true;
            match ArchiveEntry::read(archive, file, state.1, number) {
                Ok(entry) => found.push(entry),
                Err(error) => bad.push(error),
            }
        }
    }
    found.sort_by(|one, other| one.file.cmp(&other.file));
    if is_new || found.len() != before {
        write(archive, &found);
    }
    (found, bad)
}

fn read(archive: &Path) -> Vec<ArchiveEntry> {
    let bytes = atomic::read_own(&archive.join(INDEX), INDEX_CAP, 0o022).ok().flatten();
    let index: Option<Index> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    index.filter(|index| index.version == INDEX_VERSION).map(|index| index.entries).unwrap_or_default()
}

fn write(archive: &Path, entries: &[ArchiveEntry]) {
    let index = Index { version: INDEX_VERSION, entries: entries.to_vec() };
    if let Ok(bytes) = serde_json::to_vec(&index) {
        // If this fails, only the next list takes longer.
        let _ = atomic::swap(&archive.join(INDEX), &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_contain_the_conversation_and_its_number() {
        let id = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
        let number = |name: &str| name_of(name).map(|(found, number)| (found.to_string(), number));
        assert_eq!(number(&format!("{id}.jsonl.zst")), Some((id.to_owned(), 0)));
        assert_eq!(number(&format!("{id}.12.jsonl.zst")), Some((id.to_owned(), 12)));
        for name in [
            ".jsonl.zst",
            "x.jsonl.zst",
            &format!("{id}.0.jsonl.zst"),
            &format!("{id}.x.jsonl.zst"),
            &format!("{id}.jsonl"),
        ] {
            assert_eq!(number(name), None, "{name}");
        }
    }
}
