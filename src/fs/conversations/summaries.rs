//! What a list shows of many transcripts: both ends of each are read, or all of it where that is asked for.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::cache::{CachedSummary, ResumePoint, SummaryCache};
use super::line_reading::{LINE_CAP, digest_before, in_threads, read_lines};
use super::sources::RULE;
use super::transcripts::{FileState, TranscriptFile};
use crate::core::claude::line_splitter::LineSplitter;
use crate::core::conversation::summary::{ConversationSummary, SummaryReader};
use crate::fs::paths::Paths;
use crate::sys::safe_file;

/// How much of the begin is read at a time, until the first prompt is found, in bytes.
const HEAD_STEP: usize = 16 << 10;
/// How much of the begin is read at most, in bytes. The newest Claude writes a whole request of some 100 KB
/// soon after the first prompt.
const HEAD: u64 = 256 << 10;
/// How much of the end is read, in bytes: as far back as Claude itself looks for titles.
const TAIL: u64 = 64 << 10;

/// How much of a transcript is read for a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryDepth {
    /// Its begin and its end.
    Ends,
    /// All of it, unless its ends say everything.
    Whole,
}

/// Reads summaries, and knows those that were read before.
#[derive(Debug)]
pub struct Summaries {
    cache: SummaryCache,
}

impl Summaries {
    /// With what is known from before.
    #[must_use]
    pub fn load(paths: &Paths) -> Self {
        Summaries { cache: SummaryCache::load(paths) }
    }

    /// The summaries of `files`, in their order. One that cannot be read has an empty one.
    pub fn read(&mut self, files: &[TranscriptFile], depth: SummaryDepth) -> Vec<ConversationSummary> {
        let mut found: Vec<Option<ConversationSummary>> =
            files.iter().map(|file| self.known(file, depth)).collect();
        let missing: Vec<usize> = (0..files.len()).filter(|at| found[*at].is_none()).collect();
        let before = |at: &usize| self.cache.get(&files[*at].path);
        let jobs: Vec<(usize, Option<ResumePoint>)> =
            missing.iter().map(|at| (*at, before(at).and_then(|known| known.resume.clone()))).collect();
        let read = in_threads(&jobs, |(at, resume)| read_one(&files[*at], resume.as_ref(), depth));
        for ((at, _), read) in jobs.into_iter().zip(read) {
            let Ok(Some(read)) = read else { continue };
            found[at] = Some(read.summary.clone());
            self.cache.put(&files[at].path, read);
        }
        found.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Whether a summary of this depth is known already.
    #[must_use]
    pub fn knows(&self, file: &TranscriptFile, depth: SummaryDepth) -> bool {
        self.known(file, depth).is_some()
    }

    /// Keeps what was read for the next time. It may fail without harm.
    pub fn save(&mut self) {
        self.cache.save();
    }

    fn known(&self, file: &TranscriptFile, depth: SummaryDepth) -> Option<ConversationSummary> {
        let known = self.cache.get(&file.path).filter(|known| known.state == file.state)?;
        (depth == SummaryDepth::Ends || known.summary.is_complete()).then(|| known.summary.clone())
    }
}

fn read_one(
    file: &TranscriptFile,
    resume: Option<&ResumePoint>,
    depth: SummaryDepth,
) -> io::Result<Option<CachedSummary>> {
    let opened = safe_file::open(&file.path, RULE).map_err(io::Error::other)?;
    let Some(mut opened) = opened else { return Ok(None) };
    // What it is now: it may have grown since it was listed, and what is read is of this length.
    let state = FileState::of(&opened.metadata()?);
    if let Some(point) = resume.filter(|point| point.offset <= state.bytes)
        && digest_before(&opened, point.offset)? == point.digest
    {
        return on_from(&mut opened, state, point.offset, point.reader.clone()).map(Some);
    }
    if depth == SummaryDepth::Ends && state.bytes > HEAD + TAIL {
        let summary = ends(&opened, state.bytes)?;
        return Ok(Some(CachedSummary { state, summary, resume: None }));
    }
    on_from(&mut opened, state, 0, SummaryReader::new()).map(Some)
}

/// Reads from `offset` to the end that the file has now.
fn on_from(
    file: &mut File,
    state: FileState,
    offset: u64,
    mut reader: SummaryReader,
) -> io::Result<CachedSummary> {
    let end = read_lines(file, state.bytes, offset, |line| reader.line(line))?;
    let resume = ResumePoint { offset: end.offset, digest: end.digest, reader: reader.clone() };
    // A last line without its newline counts now, and is read again once it is whole.
    let mut all = reader;
    all.line(&end.tail);
    Ok(CachedSummary { state, summary: all.summary(), resume: Some(resume) })
}

/// Reads the begin, until it says what only the begin can say, and the end.
fn ends(file: &File, bytes: u64) -> io::Result<ConversationSummary> {
    let mut reader = SummaryReader::new();
    let mut lines = LineSplitter::with_cap(LINE_CAP);
    let tail_from = bytes - TAIL;
    let limit = HEAD.min(tail_from);
    let mut piece = vec![0; HEAD_STEP];
    let mut at = 0;
    while at < limit && !reader.knows_begin() {
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
    // The first line is cut; where it begins is not known.
    let whole = memchr::memchr(b'\n', tail).map_or(&tail[tail.len()..], |end| &tail[end + 1..]);
    whole.split(|b| *b == b'\n').for_each(|line| reader.line(line));
    Ok(reader.summary())
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
            "{{\"type\":\"assistant\",\"cwd\":\"/p\",\"message\":{{\"id\":\"m{n}\",\"model\":\"m\",\"usage\":{{\"output_tokens\":1}}}}}}\n"
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
        let read = |depth| {
            let mut summaries = Summaries::load(&paths);
            let known = summaries.knows(&files[0], depth);
            let read = summaries.read(&files, depth).remove(0);
            summaries.save();
            (known, read)
        };
        let (known, read_ends) = read(SummaryDepth::Ends);
        assert!(!known && read_ends.counted.is_none());
        assert_eq!(
            (read_ends.first_prompt.as_deref(), read_ends.last_prompt.as_deref()),
            (Some("first"), Some("last"))
        );
        assert_eq!(read(SummaryDepth::Ends), (true, read_ends), "the cache has it");
        let (known, whole) = read(SummaryDepth::Whole);
        assert_eq!((known, whole.counted.unwrap().output), (false, 8000));
        assert_eq!(read(SummaryDepth::Whole), (true, whole.clone()));
        assert_eq!(read(SummaryDepth::Ends), (true, whole));
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
            let read = summaries.read(&Transcripts::all(&paths).files, SummaryDepth::Whole).remove(0);
            summaries.save();
            (read.counted.unwrap().output, read.last_prompt)
        };
        std::fs::write(&path, prompt("one") + &answer(1) + &answer(2)).unwrap();
        assert_eq!(counted(), (2, Some("one".to_owned())));
        let mut file = File::options().append(true).open(&path).unwrap();
        // A line that is half written, and its rest.
        let line = answer(3);
        write!(file, "{}{}", answer(2), &line[..40]).unwrap();
        assert_eq!(counted(), (2, Some("one".to_owned())), "a message that was counted is not counted again");
        write!(file, "{}{}", &line[40..], prompt("two").trim_end()).unwrap();
        assert_eq!(counted(), (3, Some("two".to_owned())), "the last line has no newline yet");
        writeln!(file).unwrap();
        assert_eq!(counted(), (3, Some("two".to_owned())));
        std::fs::write(&path, prompt("new") + &answer(9).repeat(40) + &answer(10)).unwrap();
        assert_eq!(counted(), (2, Some("new".to_owned())));
        // A cache that is damaged, foreign or gone costs nothing but the time.
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
    fn hostile_files_are_read_in_bounded_memory_and_say_what_they_can() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());
        let dir = paths.claude.join("projects/-p");
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("{ID}.jsonl"));
        let mut file = File::create(&path).unwrap();
        file.write_all(prompt("first").as_bytes()).unwrap();
        // A line of 100 MB without a byte on the disk, invalid UTF-8, a torn line.
        file.set_len(100 << 20).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(b"\n\xff\xfe{\"type\":\"user\"\n{\"type\":\"assis").unwrap();
        let files = Transcripts::all(&paths).files;
        for depth in [SummaryDepth::Ends, SummaryDepth::Whole] {
            let read = Summaries::load(&paths).read(&files, depth).remove(0);
            assert_eq!(read.first_prompt.as_deref(), Some("first"), "{depth:?}");
        }
    }
}
