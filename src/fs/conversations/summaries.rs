//! Summaries of many transcripts: the start and the end of each are read, or all of it to count what was
//! used.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::agents::AgentTranscript;
use super::cache::{self, CachedSummary, FileCache, ResumePoint};
use super::line_reading::{LINE_CAP, digest_before, in_threads, read_lines};
use super::search_transcripts::TranscriptSource;
use super::sources::RULE;
use super::transcripts::{FileState, TranscriptFile};
use super::usage_files::records_of_source;
use crate::core::claude::line_splitter::LineSplitter;
use crate::core::conversation::summary::{ConversationSummary, SummaryReader};
use crate::core::hex::hex;
use crate::core::ids::ConversationId;
use crate::core::token_usage::{ConversationUsage, UsageFigures, UsageReader, UsageRecords};
use crate::fs::paths::Paths;
use crate::sys::safe_file;

/// How much of the start is read at a time until the first prompt is found, in bytes.
const HEAD_STEP: usize = 16 << 10;
/// How much of the start is read at most, in bytes. The newest Claude writes a whole request of some 100 KB
/// soon after the first prompt.
const HEAD: u64 = 256 << 10;
/// How much of the end is read, in bytes: as far back as Claude itself searches for titles.
const TAIL: u64 = 64 << 10;

/// The longest transcript that is read completely while a person waits, in bytes: a longer one would use up
/// the time of all others.
const WHOLE_READ_MAX: u64 = 64 << 20;

/// A conversation whose use was requested.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedConversation {
    /// Its summary, with what was used; `None` if there was no time.
    pub summary: Option<ConversationSummary>,
    /// How many transcripts of sub-agents it has.
    pub agents: usize,
}

/// Reads summaries, and caches them.
#[derive(Debug)]
pub struct Summaries {
    cache: FileCache<CachedSummary>,
}

impl Summaries {
    /// With the cache of earlier runs.
    #[must_use]
    pub fn load(paths: &Paths) -> Self {
        Summaries { cache: cache::summaries(paths) }
    }

    /// The summaries of `files`, in order, from the start and the end of each. If several start with the
    /// same line, some are forks of others, and all of each is read. An unreadable file has an empty
    /// summary.
    pub fn read(&mut self, files: &[TranscriptFile]) -> Vec<ConversationSummary> {
        let known = |file: &TranscriptFile| {
            let known = self.cache.get(&file.path).filter(|known| known.state == file.state)?;
            Some(known.summary.clone())
        };
        let mut found: Vec<Option<ConversationSummary>> = files.iter().map(known).collect();
        let jobs: Vec<(usize, Option<ResumePoint>)> = (0..files.len())
            .filter(|at| found[*at].is_none())
            .map(|at| (at, self.cache.get(&files[at].path).and_then(|known| known.resume.clone())))
            .collect();
        let read = in_threads(&jobs, |(at, resume)| read_one(&files[*at], resume.as_ref()));
        for ((at, _), read) in jobs.into_iter().zip(read) {
            let Ok(Some(read)) = read else { continue };
            found[at] = Some(read.summary.clone());
            self.cache.put(&files[at].path, read);
        }
        let mut found: Vec<ConversationSummary> = found.into_iter().map(Option::unwrap_or_default).collect();
        let mut families: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, summary) in found.iter().enumerate() {
            if let Some(line) = summary.first_line.as_deref() {
                families.entry(line).or_default().push(at);
            }
        }
        let forks = families.into_values().filter(|family| family.len() > 1).flatten().collect();
        self.complete(files, forks, &mut found);
        found
    }

    /// The summary of all of one file.
    pub fn read_whole(&mut self, file: &TranscriptFile) -> ConversationSummary {
        let files = std::slice::from_ref(file);
        let mut found = self.read(files);
        self.complete(files, vec![0], &mut found);
        found.remove(0)
    }

    /// Reads all of those files of which only both ends were read, unless they are large.
    fn complete(
        &mut self,
        files: &[TranscriptFile],
        mut which: Vec<usize>,
        found: &mut [ConversationSummary],
    ) {
        let is_partly_read = |file: &TranscriptFile| {
            let known = self.cache.get(&file.path).filter(|known| known.state == file.state);
            known.is_some_and(|known| known.resume.is_none()) && file.state.bytes <= WHOLE_READ_MAX
        };
        which.retain(|at| is_partly_read(&files[*at]));
        let read = in_threads(&which, |at| -> io::Result<Option<CachedSummary>> {
            let Some(mut file) = safe_file::open(&files[*at].path, RULE).map_err(io::Error::other)? else {
                return Ok(None);
            };
            let state = FileState::of(&file.metadata()?);
            on_from(&mut file, state, 0, SummaryReader::new(), |_| ()).map(Some)
        });
        for (at, read) in which.into_iter().zip(read) {
            let Ok(Some(read)) = read else { continue };
            found[at] = read.summary.clone();
            self.cache.put(&files[at].path, read);
        }
    }

    /// The summaries of `files` with what was used, in order; every line is read if the ends are not
    /// enough. Stops when `patience` is used up.
    pub fn count(
        &mut self,
        files: &[TranscriptFile],
        patience: Option<Duration>,
    ) -> Vec<CountedConversation> {
        let until = patience.map(|patience| Instant::now() + patience);
        let agents = agents_of(files);
        let jobs: Vec<CountJob<'_>> = files
            .iter()
            .map(|file| {
                let agents = agents.get(&file.id).map_or(&[][..], Vec::as_slice);
                let mark = mark_of(agents);
                let known = self.cache.get(&file.path).filter(|known| known.state == file.state);
                let known = known.filter(|known| known.summary.is_complete());
                // An account that has everything has sub-agents, too.
                let known = known.filter(|known| known.summary.counted.is_none() || known.agents == mark);
                CountJob { file, agents, mark, known: known.map(|known| known.summary.clone()) }
            })
            .collect();
        let read = in_threads(&jobs, |job| {
            let is_late =
                until.is_some_and(|until| Instant::now() > until || job.file.state.bytes > WHOLE_READ_MAX);
            if job.known.is_some() || is_late { Ok(None) } else { count_one(job) }
        });
        let mut counted = Vec::with_capacity(files.len());
        for (job, read) in jobs.into_iter().zip(read) {
            let summary = match read {
                Ok(Some(read)) => {
                    let summary = read.summary.clone();
                    self.cache.put(&job.file.path, read);
                    Some(summary)
                }
                _ => job.known,
            };
            counted.push(CountedConversation { summary, agents: job.agents.len() });
        }
        counted
    }

    /// What conversations used whose transcript is stored elsewhere (in the archive), in the order of
    /// `kept`; `None` for those that were left when `patience` was used up.
    pub fn count_kept(
        &mut self,
        kept: &[Box<dyn TranscriptSource>],
        patience: Option<Duration>,
    ) -> Vec<Option<UsageFigures>> {
        let until = patience.map(|patience| Instant::now() + patience);
        let read = in_threads(kept, |source| -> io::Result<Option<CachedSummary>> {
            let state = FileState::of(&source.path().symlink_metadata()?);
            if let Some(known) = self.cache.get(source.path()).filter(|known| known.state == state) {
                return Ok(Some(known.clone()));
            }
            if until.is_some_and(|until| Instant::now() > until || state.bytes > WHOLE_READ_MAX) {
                return Ok(None);
            }
            let own = records_of_source(&**source)?;
            let counted =
                Some(UsageFigures::of(ConversationUsage { id: source.id(), own: &own, agents: &[] }));
            let summary = ConversationSummary { counted, ..ConversationSummary::default() };
            Ok(Some(CachedSummary { state, summary, resume: None, agents: String::new() }))
        });
        kept.iter()
            .zip(read)
            .map(|(source, read)| {
                let read = read.ok().flatten()?;
                let counted = read.summary.counted;
                self.cache.put(source.path(), read);
                counted
            })
            .collect()
    }

    /// Writes the cache. A failure is harmless.
    pub fn save(&mut self) {
        self.cache.save();
    }
}

/// What counting one conversation needs.
struct CountJob<'a> {
    file: &'a TranscriptFile,
    agents: &'a [AgentTranscript],
    mark: String,
    known: Option<ConversationSummary>,
}

/// The sub-agents of conversations.
fn agents_of(files: &[TranscriptFile]) -> HashMap<ConversationId, Vec<AgentTranscript>> {
    let mut agents: HashMap<ConversationId, Vec<AgentTranscript>> = HashMap::new();
    for agent in AgentTranscript::of(files) {
        if let Some(owner) = agent.owner() {
            agents.entry(owner).or_default().push(agent);
        }
    }
    agents
}

/// Identifies the sub-agents' files that were counted; empty if there are none.
fn mark_of(agents: &[AgentTranscript]) -> String {
    if agents.is_empty() {
        return String::new();
    }
    let mut hash = Sha256::new();
    for AgentTranscript { path, state, .. } in agents {
        hash.update(format!("{}\0{} {} {}\0", path.display(), state.bytes, state.modified_ns, state.inode));
    }
    hex(&hash.finalize()[..16])
}

/// Reads every line of a conversation and of its sub-agents.
fn count_one(job: &CountJob<'_>) -> io::Result<Option<CachedSummary>> {
    let Some(mut file) = safe_file::open(&job.file.path, RULE).map_err(io::Error::other)? else {
        return Ok(None);
    };
    let state = FileState::of(&file.metadata()?);
    let mut usage = UsageReader::default();
    let mut read = on_from(&mut file, state, 0, SummaryReader::new(), |line| usage.line(line))?;
    let agents = job.agents.iter().map(|agent| records_of_file(&agent.path));
    let agents = agents.collect::<io::Result<Vec<UsageRecords>>>()?;
    let conversation = ConversationUsage { id: &job.file.id, own: usage.records(), agents: &agents };
    read.summary.counted = Some(UsageFigures::of(conversation));
    read.agents.clone_from(&job.mark);
    Ok(Some(read))
}

/// The records of a file; none if it is gone.
fn records_of_file(path: &Path) -> io::Result<UsageRecords> {
    let mut usage = UsageReader::default();
    if let Some(mut file) = safe_file::open(path, RULE).map_err(io::Error::other)? {
        let bytes = file.metadata()?.len();
        let end = read_lines(&mut file, bytes, 0, |line| usage.line(line))?;
        usage.line(&end.tail);
    }
    Ok(usage.into_records())
}

fn read_one(file: &TranscriptFile, resume: Option<&ResumePoint>) -> io::Result<Option<CachedSummary>> {
    let opened = safe_file::open(&file.path, RULE).map_err(io::Error::other)?;
    let Some(mut opened) = opened else { return Ok(None) };
    // Its current state: it may have grown since it was listed, and this is the length that is read.
    let state = FileState::of(&opened.metadata()?);
    if let Some(point) = resume.filter(|point| point.offset <= state.bytes)
        && digest_before(&opened, point.offset)? == point.digest
    {
        return on_from(&mut opened, state, point.offset, point.reader.clone(), |_| ()).map(Some);
    }
    if state.bytes > HEAD + TAIL {
        let summary = ends(&opened, state.bytes)?;
        return Ok(Some(CachedSummary { state, summary, resume: None, agents: String::new() }));
    }
    on_from(&mut opened, state, 0, SummaryReader::new(), |_| ()).map(Some)
}

/// Reads from `offset` to the file's current end; also passes every line to `each`.
fn on_from(
    file: &mut File,
    state: FileState,
    offset: u64,
    mut reader: SummaryReader,
    mut each: impl FnMut(&[u8]),
) -> io::Result<CachedSummary> {
    let end = read_lines(file, state.bytes, offset, |line| {
        reader.line(line);
        each(line);
    })?;
    let resume = ResumePoint { offset: end.offset, digest: end.digest, reader: reader.clone() };
    // A last line without its newline counts now, and is read again once it is complete.
    reader.line(&end.tail);
    each(&end.tail);
    let summary = reader.summary().clone();
    Ok(CachedSummary { state, summary, resume: Some(resume), agents: String::new() })
}

/// Reads the start, until everything is known that only the start can tell, and the end.
fn ends(file: &File, bytes: u64) -> io::Result<ConversationSummary> {
    let mut reader = SummaryReader::new();
    let mut lines = LineSplitter::with_cap(LINE_CAP);
    let tail_from = bytes - TAIL;
    let limit = HEAD.min(tail_from);
    let mut piece = vec![0; HEAD_STEP];
    let mut at = 0;
    while at < limit && !reader.has_beginning() {
        let most = usize::try_from(limit - at).unwrap_or(HEAD_STEP).min(HEAD_STEP);
        let n = file.read_at(&mut piece[..most], at)?;
        if n == 0 {
            break;
        }
        lines.feed(&piece[..n], |line| reader.line(line));
        at += n as u64;
    }
    reader.skip();
    let mut tail = vec![0; usize::try_from(TAIL).unwrap_or_default()];
    let mut filled = 0;
    while filled < tail.len() {
        let n = file.read_at(&mut tail[filled..], tail_from + filled as u64)?;
        if n == 0 {
            break;
        }
        filled += n;
    }
    let tail = &tail[..filled];
    // The first line is cut: its start is unknown.
    let whole = memchr::memchr(b'\n', tail).map_or(&tail[tail.len()..], |end| &tail[end + 1..]);
    whole.split(|b| *b == b'\n').for_each(|line| reader.line(line));
    Ok(reader.summary().clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::conversations::Transcripts;
    use crate::fs::conversations::files::tests::paths;
    use std::io::{Seek, SeekFrom, Write};

    const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

    fn answer(n: u32) -> String {
        format!(
            "{{\"type\":\"assistant\",\"cwd\":\"/p\",\"timestamp\":\"2026-11-20T10:00:00Z\",\"message\":{{\"id\":\"m{n}\",\"model\":\"m\",\"usage\":{{\"output_tokens\":1}}}}}}\n"
        )
    }

    fn prompt(text: &str) -> String {
        format!("{{\"type\":\"user\",\"cwd\":\"/p\",\"message\":{{\"content\":\"{text}\"}}}}\n")
    }

    #[test]
    fn a_long_transcript_is_read_at_its_ends_and_whole_where_that_is_asked_for() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());
        let dir = paths.claude.join("projects/-p");
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("{ID}.jsonl"));
        let many: String = (0..8000).map(answer).collect();
        std::fs::write(&path, prompt("first") + &many + &prompt("last")).unwrap();
        let files = Transcripts::all(&paths).files;
        let read = || {
            let mut summaries = Summaries::load(&paths);
            let read = summaries.read(&files).remove(0);
            summaries.save();
            read
        };
        let count = |patience| {
            let mut summaries = Summaries::load(&paths);
            let read = summaries.count(&files, patience).remove(0).summary;
            summaries.save();
            read
        };
        let read_ends = read();
        assert!(read_ends.counted.is_none());
        assert_eq!(
            (read_ends.first_prompt.as_deref(), read_ends.last_prompt.as_deref()),
            (Some("first"), Some("last"))
        );
        assert_eq!(count(Some(Duration::ZERO)), None, "nobody waits");
        let whole = count(None).unwrap();
        assert_eq!(whole.counted.unwrap().tokens.output, 8000);
        assert_eq!(count(Some(Duration::ZERO)), Some(whole.clone()), "the cache has it");
        assert_eq!(read(), whole);
        let agents = dir.join(ID).join("subagents");
        std::fs::create_dir_all(&agents).unwrap();
        std::fs::write(agents.join("agent-1.jsonl"), answer(9000)).unwrap();
        assert_eq!(count(None).unwrap().counted.unwrap().tokens.output, 8001, "a sub-agent came");
    }

    #[test]
    fn of_long_ones_that_begin_with_the_same_line_it_is_known_which_is_the_fork() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());
        let dir = paths.claude.join("projects/-p");
        std::fs::create_dir_all(&dir).unwrap();
        let id = |n: u32| format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0");
        let many: String = (0..8000).map(answer).collect();
        let from = |n: u32| answer(9).replacen('{', &format!("{{\"requestSessionId\":\"{}\",", id(n)), 1);
        let begin = |uuid: &str| prompt("go").replacen('{', &format!("{{\"uuid\":\"{uuid}\","), 1);
        for (n, text) in [
            (1, begin("a") + &many),
            (2, begin("a") + &many + &from(1) + &many),
            (3, begin("b") + &many + &from(1) + &many),
        ] {
            std::fs::write(dir.join(format!("{}.jsonl", id(n))), text).unwrap();
        }
        let mut files = Transcripts::all(&paths).files;
        files.sort_by(|a, b| a.id.cmp(&b.id));
        let mut summaries = Summaries::load(&paths);
        let source = |summary: &ConversationSummary| summary.forked_from.as_ref().map(ToString::to_string);
        let read: Vec<_> = summaries.read(&files).iter().map(source).collect();
        assert_eq!(read, [None, Some(id(1)), None], "the third may be one of a source that is gone");
        assert_eq!(source(&summaries.read_whole(&files[2])), Some(id(1)));
    }

    #[test]
    fn a_file_that_grew_is_read_on_and_one_that_was_written_anew_from_its_begin() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());
        let dir = paths.claude.join("projects/-p");
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("{ID}.jsonl"));
        let counted = || {
            let mut summaries = Summaries::load(&paths);
            let read = summaries.count(&Transcripts::all(&paths).files, None).remove(0).summary.unwrap();
            summaries.save();
            (read.counted.unwrap().tokens.output, read.last_prompt)
        };
        std::fs::write(&path, prompt("one") + &answer(1) + &answer(2)).unwrap();
        assert_eq!(counted(), (2, Some("one".to_owned())));
        let mut file = File::options().append(true).open(&path).unwrap();
        // A half-written line, and its rest.
        let line = answer(3);
        write!(file, "{}{}", answer(2), &line[..40]).unwrap();
        assert_eq!(counted(), (2, Some("one".to_owned())), "a message that was counted is not counted again");
        write!(file, "{}{}", &line[40..], prompt("two").trim_end()).unwrap();
        assert_eq!(counted(), (3, Some("two".to_owned())), "the last line has no newline yet");
        writeln!(file).unwrap();
        assert_eq!(counted(), (3, Some("two".to_owned())));
        std::fs::write(&path, prompt("new") + &answer(9).repeat(40) + &answer(10)).unwrap();
        assert_eq!(counted(), (2, Some("new".to_owned())));
        // A damaged, foreign or missing cache costs only time.
        for cache in ["", "{", "{\"version\":0,\"entries\":[]}", "[]"] {
            std::fs::write(paths.conversation_cache(), cache).unwrap();
            assert_eq!(counted(), (2, Some("new".to_owned())), "{cache}");
        }
        let mode =
            std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(paths.conversation_cache()).unwrap());
        assert_eq!(mode & 0o777, 0o600);
        std::fs::remove_file(paths.conversation_cache()).unwrap();
        assert_eq!(counted(), (2, Some("new".to_owned())));
    }

    #[test]
    fn hostile_files_are_summarized_in_bounded_memory() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());
        let dir = paths.claude.join("projects/-p");
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("{ID}.jsonl"));
        let mut file = File::create(&path).unwrap();
        file.write_all(prompt("first").as_bytes()).unwrap();
        // A sparse line of 100 MB, invalid UTF-8, a torn line.
        file.set_len(100 << 20).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(b"\n\xff\xfe{\"type\":\"user\"\n{\"type\":\"assis").unwrap();
        let files = Transcripts::all(&paths).files;
        let mut summaries = Summaries::load(&paths);
        assert_eq!(summaries.read(&files).remove(0).first_prompt.as_deref(), Some("first"));
        let whole = summaries.count(&files, None).remove(0).summary.unwrap();
        assert_eq!(whole.first_prompt.as_deref(), Some("first"));
    }
}
