//! Reads the token usage from transcripts; only new lines are read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::agents::AgentTranscript;
use super::cache::FileCache;
use super::line_reading::{LINE_CAP, digest_before, in_threads, read_lines};
use super::search_transcripts::TranscriptSource;
use super::sources::RULE;
use super::transcripts::{FileState, TranscriptFile};
use crate::core::claude::line_splitter::LineSplitter;
use crate::core::ids::ConversationId;
use crate::core::token_usage::{UsageReader, UsageRecords};
use crate::fs::paths::Paths;
use crate::sys::safe_file;

/// The version of the cache; change it with every change of what is read, or how.
const VERSION: u32 = 5;
/// The longest cache that is read, in bytes.
const USAGE_CACHE_MAX: u64 = 1 << 30;
/// How much of an unpacked transcript is read at a time, in bytes.
const PIECE: usize = 256 << 10;

/// The records of one conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptUsage {
    pub id: ConversationId,
    /// Its own transcript.
    pub own: UsageRecords,
    /// Those of its sub-agents.
    pub agents: Vec<UsageRecords>,
}

/// The cached usage of one file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CachedUsage {
    state: FileState,
    /// After the last whole line that was read, in bytes.
    offset: u64,
    /// The digest of the bytes before it.
    digest: String,
    /// The reader's state after the whole lines.
    reader: UsageReader,
    /// The records including the last line, if that has no newline yet.
    with_tail: Option<UsageRecords>,
}

impl CachedUsage {
    fn records(&self) -> &UsageRecords {
        self.with_tail.as_ref().unwrap_or_else(|| self.reader.records())
    }
}

/// Reads usage, and caches it. The cache may be deleted at any time; a damaged one counts as empty.
#[derive(Debug)]
pub struct UsageFiles {
    cache: FileCache<CachedUsage>,
    /// Files that could not be read, with the reason.
    failures: Vec<(PathBuf, io::Error)>,
}

impl UsageFiles {
    /// With the cache of earlier runs.
    #[must_use]
    pub fn load(paths: &Paths) -> Self {
        let cache = FileCache::load(paths.usage_cache(), VERSION, USAGE_CACHE_MAX);
        UsageFiles { cache, failures: Vec::new() }
    }

    /// The usage in `transcripts` and in all sub-agents, including those whose conversation is gone, and in
    /// transcripts that are stored elsewhere (`kept`): in the archive or in a handoff.
    pub fn read(
        &mut self,
        transcripts: &[TranscriptFile],
        sub_agents: Vec<AgentTranscript>,
        kept: &[Box<dyn TranscriptSource>],
    ) -> Vec<TranscriptUsage> {
        let mut agents: BTreeMap<ConversationId, Vec<PathBuf>> = BTreeMap::new();
        for agent in sub_agents {
            if let Some(owner) = agent.owner() {
                agents.entry(owner).or_default().push(agent.path);
            }
        }
        let files: Vec<PathBuf> = transcripts
            .iter()
            .map(|transcript| transcript.path.clone())
            .chain(agents.values().flatten().cloned())
            .collect();
        let packed: HashMap<&Path, &dyn TranscriptSource> =
            kept.iter().map(|source| (source.path(), source.as_ref())).collect();
        let read = in_threads(&files, |path| read_one(path, self.cache.get(path)));
        self.keep(files, read);
        let kept_files: Vec<PathBuf> = packed.keys().map(|path| (*path).to_owned()).collect();
        let read = in_threads(&kept_files, |path| match packed.get(path.as_path()) {
            Some(source) => read_packed(*source, self.cache.get(path)),
            None => Ok(None),
        });
        self.keep(kept_files, read);
        let records =
            |path: &Path| self.cache.get(path).map(|known| known.records().clone()).unwrap_or_default();
        let mut seen = HashSet::new();
        let live = transcripts.iter().map(|transcript| {
            let own = records(&transcript.path);
            // If several files have one id, its sub-agents count with the first.
            let agents = match seen.insert(&transcript.id) {
                true => agents.get(&transcript.id).into_iter().flatten().map(|path| records(path)).collect(),
                false => Vec::new(),
            };
            TranscriptUsage { id: transcript.id.clone(), own, agents }
        });
        let live: Vec<TranscriptUsage> = live.collect();
        let kept = kept.iter().map(|source| TranscriptUsage {
            id: source.id().clone(),
            own: records(source.path()),
            agents: Vec::new(),
        });
        let orphans =
            agents.iter().filter(|(owner, _)| !seen.contains(owner)).map(|(owner, files)| TranscriptUsage {
                id: owner.clone(),
                own: UsageRecords::default(),
                agents: files.iter().map(|path| records(path)).collect(),
            });
        live.into_iter().chain(kept).chain(orphans).collect()
    }

    /// Files that could not be read, with the reason.
    pub fn failures(&self) -> &[(PathBuf, io::Error)] {
        &self.failures
    }

    fn keep(&mut self, files: Vec<PathBuf>, read: Vec<io::Result<Option<CachedUsage>>>) {
        for (path, read) in files.into_iter().zip(read) {
            match read {
                Ok(Some(read)) => self.cache.put(&path, read),
                Ok(None) => {}
                Err(error) => {
                    // The cache entry is of a file that can no longer be read.
                    self.cache.forget(&path);
                    self.failures.push((path, error));
                }
            }
        }
    }

    /// Writes the cache. A failure is harmless.
    pub fn save(&mut self) {
        self.cache.save();
    }
}

/// Reads the new lines of a file; `None` if there are none, or the file is gone.
fn read_one(path: &Path, known: Option<&CachedUsage>) -> io::Result<Option<CachedUsage>> {
    let Some(mut file) = safe_file::open(path, RULE).map_err(io::Error::other)? else { return Ok(None) };
    let state = FileState::of(&file.metadata()?);
    if known.is_some_and(|known| known.state == state) {
        return Ok(None);
    }
    let (offset, mut reader) = match known.filter(|known| known.offset <= state.bytes) {
        Some(known) if digest_before(&file, known.offset)? == known.digest => {
            (known.offset, known.reader.clone())
        }
        _ => (0, UsageReader::default()),
    };
    let end = read_lines(&mut file, state.bytes, offset, |line| reader.line(line))?;
    let with_tail = (!end.tail.is_empty()).then(|| {
        let mut all = reader.clone();
        all.line(&end.tail);
        all.records().clone()
    });
    Ok(Some(CachedUsage { state, offset: end.offset, digest: end.digest, reader, with_tail }))
}

/// The same for a packed transcript, which is read again when its file has changed.
fn read_packed(
    source: &dyn TranscriptSource,
    known: Option<&CachedUsage>,
) -> io::Result<Option<CachedUsage>> {
    let state = FileState::of(&source.path().symlink_metadata()?);
    if known.is_some_and(|known| known.state == state) {
        return Ok(None);
    }
    let reader = read_source(source)?;
    Ok(Some(CachedUsage { state, offset: 0, digest: String::new(), reader, with_tail: None }))
}

/// The records of a transcript, wherever it is stored.
pub(super) fn records_of_source(source: &dyn TranscriptSource) -> io::Result<UsageRecords> {
    Ok(read_source(source)?.into_records())
}

fn read_source(source: &dyn TranscriptSource) -> io::Result<UsageReader> {
    let mut reader = UsageReader::default();
    let mut lines = LineSplitter::with_cap(LINE_CAP);
    let mut input = source.open()?;
    let mut piece = vec![0; PIECE];
    loop {
        match input.read(&mut piece)? {
            0 => break,
            n => lines.feed(&piece[..n], |line| reader.line(line)),
        }
    }
    reader.line(lines.tail());
    Ok(reader)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::fs::conversations::Transcripts;
    use crate::fs::conversations::files::tests::paths;

    const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

    fn answer(n: u32, output: u32) -> String {
        format!(
            "{{\"type\":\"assistant\",\"sessionId\":\"{ID}\",\"timestamp\":\"2026-11-20T10:00:00Z\",\"message\":{{\"id\":\"m{n}\",\"model\":\"m\",\"usage\":{{\"output_tokens\":{output}}}}}}}\n"
        )
    }

    fn all(paths: &Paths) -> (u64, usize) {
        let mut files = UsageFiles::load(paths);
        let read = files.read(&Transcripts::all(paths).files, AgentTranscript::all(paths), &[]);
        assert!(files.failures().is_empty(), "{:?}", files.failures());
        files.save();
        let records = read.iter().flat_map(|usage| std::iter::once(&usage.own).chain(&usage.agents));
        let answers: Vec<_> = records.flat_map(|records| &records.answers).collect();
        (answers.iter().map(|answer| answer.tokens.output).sum(), answers.len())
    }

    #[test]
    fn only_new_lines_are_read_and_sub_agents_count() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());
        let dir = paths.claude.join("projects/-p");
        let agents = dir.join(ID).join("subagents");
        std::fs::create_dir_all(&agents).unwrap();
        let path = dir.join(format!("{ID}.jsonl"));
        std::fs::write(&path, answer(1, 1) + &answer(2, 2)).unwrap();
        assert_eq!(all(&paths), (3, 2));
        std::fs::write(agents.join("agent-a1.jsonl"), answer(3, 4)).unwrap();
        std::fs::write(dir.join("agent-b2.jsonl"), answer(4, 8)).unwrap();
        std::fs::write(dir.join("agent-c3.jsonl"), answer(5, 16).replace("c74cc080", "d74cc080")).unwrap();
        assert_eq!(all(&paths), (31, 5), "one whose conversation is gone counts, too");
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        let line = answer(6, 32);
        write!(file, "{}", &line[..line.len() - 1]).unwrap();
        assert_eq!(all(&paths), (63, 6), "the last line has no newline yet");
        writeln!(file).unwrap();
        write!(file, "{}", answer(6, 33)).unwrap();
        assert_eq!(all(&paths), (64, 6));
        // A rewritten file, and invalid caches.
        std::fs::write(&path, answer(9, 64).repeat(9)).unwrap();
        assert_eq!(all(&paths), (92, 4));
        for cache in ["", "{", "[]", "{\"version\":1,\"entries\":[[\"/x\",{}]]}"] {
            std::fs::write(paths.usage_cache(), cache).unwrap();
            assert_eq!(all(&paths), (92, 4), "{cache}");
        }
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(paths.usage_cache()).unwrap());
        assert_eq!(mode & 0o777, 0o600);
    }
}
