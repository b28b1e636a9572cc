//! Searches transcripts, wherever they are: each source is read once from start to end.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::thread;

use crate::core::conversation::search_query::{SearchHit, SearchQuery};
use crate::core::ids::ConversationId;
use crate::core::time::WallTime;

/// How much is read at a time, in bytes.
const PIECE: usize = 512 << 10;
/// The longest line that is searched, in bytes; longer ones are counted as skipped.
pub const LINE_CAP: usize = 64 << 20;
/// How many sources are read ahead of the one whose hits are returned.
const AHEAD: usize = 64;
/// How many threads read at most.
const THREADS: usize = 8;

/// Where a transcript is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TranscriptPlace {
    /// In Claude's directory.
    Live,
    /// In hopty's archive.
    Archived,
    /// In the record of a handoff; Claude's own is gone.
    HandedOver,
}

impl TranscriptPlace {
    /// Its name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            TranscriptPlace::Live => "live",
            TranscriptPlace::Archived => "archived",
            TranscriptPlace::HandedOver => "handed over",
        }
    }
}

/// A transcript that can be read, wherever it is stored and however it is packed.
pub trait TranscriptSource: Send + Sync {
    fn id(&self) -> &ConversationId;

    fn place(&self) -> TranscriptPlace;

    /// Its file.
    fn path(&self) -> &std::path::Path;

    /// Its modification time: the newest are searched first.
    fn modified(&self) -> WallTime;

    /// Its lines from the start, unpacked.
    ///
    /// # Errors
    /// When it cannot be opened.
    fn open(&self) -> io::Result<Box<dyn Read>>;
}

/// The hits in one source.
#[derive(Debug, Default)]
pub struct SourceHits {
    /// The matching texts, in order.
    pub hits: Vec<SearchHit>,
    /// Lines that were too long.
    pub skipped: u64,
    /// Why it could not be read, or not to its end.
    pub failure: Option<String>,
}

/// Searches `sources`, several at a time, and passes the hits of each to `each`, in order, until that
/// returns a break.
pub fn search(
    sources: &[Box<dyn TranscriptSource>],
    query: &SearchQuery,
    mut each: impl FnMut(&dyn TranscriptSource, SourceHits) -> bool,
) {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS).min(sources.len());
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let taken = (Mutex::new(0_usize), Condvar::new());
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (send, next, stop, taken) = (send.clone(), &next, &stop, &taken);
            scope.spawn(move || {
                let mut buffer = Vec::new();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(source) = sources.get(at) else { return };
                    let mut done = taken.0.lock().unwrap_or_else(PoisonError::into_inner);
                    while at > *done + AHEAD && !stop.load(Ordering::Relaxed) {
                        done = taken.1.wait(done).unwrap_or_else(PoisonError::into_inner);
                    }
                    drop(done);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let _ = send.send((at, search_source(&**source, query, &mut buffer, stop)));
                }
            });
        }
        drop(send);
        let mut early: Vec<Option<SourceHits>> = (0..sources.len()).map(|_| None).collect();
        let mut at = 0;
        for (which, found) in receive {
            early[which] = Some(found);
            while let Some(found) = early.get_mut(at).and_then(Option::take) {
                if !stop.load(Ordering::Relaxed) && !each(&*sources[at], found) {
                    stop.store(true, Ordering::Relaxed);
                }
                at += 1;
                *taken.0.lock().unwrap_or_else(PoisonError::into_inner) = at;
                taken.1.notify_all();
            }
        }
    });
}

fn search_source(
    source: &dyn TranscriptSource,
    query: &SearchQuery,
    buffer: &mut Vec<u8>,
    stop: &AtomicBool,
) -> SourceHits {
    let mut found = SourceHits::default();
    let done = source.open().and_then(|reader| search_lines(reader, query, buffer, &mut found, stop));
    found.failure = done.err().map(|error| error.to_string());
    found
}

/// Searches the lines of `reader`. The raw bytes are searched first, many lines at a time, and only a line
/// that may match is parsed as JSON. `buffer` is reused for the next source.
fn search_lines(
    mut reader: impl Read,
    query: &SearchQuery,
    buffer: &mut Vec<u8>,
    found: &mut SourceHits,
    stop: &AtomicBool,
) -> io::Result<()> {
    // Zeroed once: a read of packed data returns a quarter of a piece.
    buffer.resize(buffer.len().max(2 * PIECE), 0);
    let (mut filled, mut skips) = (0, false);
    while !stop.load(Ordering::Relaxed) {
        if buffer.len() - filled < PIECE {
            buffer.resize(2 * buffer.len(), 0);
        }
        let n = match reader.read(&mut buffer[filled..filled + PIECE]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if n == 0 {
            if !skips {
                search_block(&buffer[..filled], query, found);
            }
            return Ok(());
        }
        let old = filled;
        filled += n;
        // The bytes before were already searched for the end of a line.
        let Some(end) = memchr::memrchr(b'\n', &buffer[old..filled]).map(|end| old + end + 1) else {
            if skips {
                filled = 0;
            } else if filled > LINE_CAP {
                found.skipped += 1;
                skips = true;
                (*buffer, filled) = (vec![0; 2 * PIECE], 0);
            }
            continue;
        };
        let from = if std::mem::take(&mut skips) {
            memchr::memchr(b'\n', &buffer[..end]).map_or(end, |first| first + 1)
        } else {
            0
        };
        search_block(&buffer[from..end], query, found);
        buffer.copy_within(end..filled, 0);
        filled -= end;
        if buffer.len() > 8 * PIECE && filled < PIECE {
            buffer.truncate(2 * PIECE);
            buffer.shrink_to_fit();
        }
    }
    Ok(())
}

/// Searches whole lines.
fn search_block(block: &[u8], query: &SearchQuery, found: &mut SourceHits) {
    let mut at = 0;
    while let Some(hit) = query.prefilter().next(block, at) {
        let begin = memchr::memrchr(b'\n', &block[..hit]).map_or(0, |end| end + 1);
        let end = memchr::memchr(b'\n', &block[hit..]).map_or(block.len(), |end| hit + end);
        query.search_line(&block[begin..end], |hit| found.hits.push(hit));
        at = end + 1;
        if at > block.len() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    struct Text(ConversationId, PathBuf, Vec<u8>);

    impl TranscriptSource for Text {
        fn id(&self) -> &ConversationId {
            &self.0
        }
        fn place(&self) -> TranscriptPlace {
            TranscriptPlace::Archived
        }
        fn path(&self) -> &Path {
            &self.1
        }
        fn modified(&self) -> WallTime {
            WallTime(0)
        }
        fn open(&self) -> io::Result<Box<dyn Read>> {
            if self.2.is_empty() {
                return Err(io::Error::other("gone"));
            }
            // Reads of odd lengths.
            Ok(Box::new(Slow(self.2.clone(), 0, 1)))
        }
    }

    struct Slow(Vec<u8>, usize, usize);

    impl Read for Slow {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.2 = self.2 * 7 % 100_003 + 1;
            let n = into.len().min(self.2).min(self.0.len() - self.1);
            into[..n].copy_from_slice(&self.0[self.1..self.1 + n]);
            self.1 += n;
            Ok(n)
        }
    }

    fn text(n: u32, content: impl Into<Vec<u8>>) -> Box<dyn TranscriptSource> {
        let id = format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0").parse().unwrap();
        Box::new(Text(id, PathBuf::from(n.to_string()), content.into()))
    }

    fn prompt(text: &str) -> String {
        format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{text}\"}}}}\n")
    }

    #[test]
    fn every_source_is_searched_and_given_in_order() {
        let sources: Vec<_> = (0..300)
            .map(|n| match n {
                7 => text(n, ""),
                n => {
                    text(n, prompt("hay").repeat(n as usize * 10) + prompt(&format!("needle {n}")).trim_end())
                }
            })
            .collect();
        let query = SearchQuery::new("needle \\d+", false, false).unwrap();
        let mut seen = Vec::new();
        search(&sources, &query, |source, found| {
            let said: Vec<String> = found.hits.into_iter().map(|hit| hit.text).collect();
            seen.push((source.path().display().to_string(), said, found.failure));
            true
        });
        assert_eq!(seen.len(), 300);
        for (n, (path, said, failure)) in seen.into_iter().enumerate() {
            assert_eq!(path, n.to_string());
            if n == 7 {
                assert_eq!((said, failure.as_deref()), (vec![], Some("gone")));
            } else {
                assert_eq!((said, failure), (vec![format!("needle {n}")], None));
            }
        }
        let mut taken = 0;
        search(&sources, &query, |_, _| {
            taken += 1;
            taken < 5
        });
        assert_eq!(taken, 5, "it stops when it is told to");
    }

    #[test]
    fn a_line_without_end_is_passed_and_counted() {
        let mut content = prompt("needle 1").into_bytes();
        content.resize(content.len() + LINE_CAP + (1 << 20), b'x');
        content.extend_from_slice(format!("\n{}", prompt("needle 2")).as_bytes());
        let query = SearchQuery::new("needle", false, false).unwrap();
        let mut found = SourceHits::default();
        let (mut buffer, stop) = (Vec::new(), AtomicBool::new(false));
        search_lines(content.as_slice(), &query, &mut buffer, &mut found, &stop).unwrap();
        assert_eq!((found.hits.len(), found.skipped), (2, 1));
    }
}
