//! Reads the lines of growing files, from where the last read ended, and several files at a time.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use sha2::{Digest, Sha256};

use crate::core::claude::line_splitter::LineSplitter;
use crate::core::hex::hex;

/// How much is read at a time, in bytes.
const PIECE: usize = 256 << 10;
/// The longest line that is examined, in bytes: a longer one contains nothing that a list shows.
pub(super) const LINE_CAP: usize = 16 << 20;
/// How many bytes before the read position identify the file.
const MARK: u64 = 256;
/// How many threads read at most.
const THREADS: usize = 8;

#[derive(Debug)]
pub(super) struct LinesEnd {
    /// After the last whole line, in bytes from the start.
    pub offset: u64,
    /// The digest of the bytes before it ([`digest_before`]).
    pub digest: String,
    /// The bytes after it: a last line without its newline.
    pub tail: Vec<u8>,
}

/// Passes the whole lines from `offset` to the length `bytes` to `each`.
pub(super) fn read_lines(
    file: &mut File,
    bytes: u64,
    offset: u64,
    mut each: impl FnMut(&[u8]),
) -> io::Result<LinesEnd> {
    file.seek(SeekFrom::Start(offset))?;
    let mut lines = LineSplitter::with_cap(LINE_CAP);
    let mut rest = Read::take(file.try_clone()?, bytes.saturating_sub(offset));
    let mut piece = vec![0; PIECE];
    let (mut at, mut last_end) = (offset, offset);
    loop {
        let n = rest.read(&mut piece)?;
        if n == 0 {
            break;
        }
        if let Some(end) = memchr::memrchr(b'\n', &piece[..n]) {
            last_end = at + end as u64 + 1;
        }
        at += n as u64;
        lines.feed(&piece[..n], &mut each);
    }
    let digest = digest_before(file, last_end)?;
    Ok(LinesEnd { offset: last_end, digest, tail: lines.tail().to_vec() })
}

/// The digest of up to [`MARK`] bytes before `offset`, so that a rewritten file is not mistaken for one
/// that grew.
pub(super) fn digest_before(file: &File, offset: u64) -> io::Result<String> {
    let from = offset.saturating_sub(MARK);
    let mut bytes = vec![0; usize::try_from(offset - from).unwrap_or(0)];
    file.read_exact_at(&mut bytes, from)?;
    Ok(hex(&Sha256::digest(&bytes)[..16]))
}

/// Calls `work` for every item, several at a time. The results are in the order of the items.
pub(super) fn in_threads<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS).min(items.len());
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        for _ in 0..threads {
            let (send, next, work) = (send.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let _ = send.send((at, work(item)));
                }
            });
        }
        drop(send);
        receive.into_iter().collect()
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
