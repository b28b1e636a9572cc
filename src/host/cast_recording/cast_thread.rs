//! The thread of a recording: the loop hands events over, and the thread encodes and writes them in batches.
//! A disk that is slow, full or gone costs the recording, never the session.

use std::io::Write;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::core::cast::{CastEvent, CastEventKind, CastHeader, CastWriter};
use crate::core::time::WallTime;
use crate::fs::cast_file::{CastFile, CastWriteError};
use crate::sys::clock::Clock;

/// How long output is collected before it is written, which is what a killed host loses.
const BATCH: Duration = Duration::from_millis(20);
/// The longest output of an event, in bytes.
const EVENT_BYTES: usize = 1 << 16;
/// Encoded lines are written once they reach this size, in bytes: they are still in the processor's cache.
const WRITE_BYTES: usize = 1 << 17;
/// What each buffer keeps after [`FLOOD_MEMORY_KEPT`] without events, in bytes.
const KEPT_BYTES: usize = 1 << 16;
/// How long the memory of a flood is kept: returning it and getting it again costs more than reusing it.
const FLOOD_MEMORY_KEPT: Duration = Duration::from_secs(1);
/// The most bytes that wait for the disk; with more, the recording ends.
const WAITING_MAX: usize = 64 << 20;

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CastEnd {
    /// Length of the file, in bytes.
    pub bytes: u64,
    /// Why it ended by itself; `None` if it was stopped.
    pub failure: Option<String>,
    /// The file has reached its limit.
    pub is_full: bool,
}

/// Events in order of arrival.
#[derive(Debug, Default)]
struct CastBatch {
    events: Vec<BatchEvent>,
    /// The output of all of them.
    output: Vec<u8>,
    /// Bytes that were typed.
    input: usize,
}

#[derive(Debug)]
struct BatchEvent {
    at_us: u64,
    kind: BatchEventKind,
}

#[derive(Debug)]
enum BatchEventKind {
    /// This many bytes of [`CastBatch::output`], after those of the previous event.
    Output(usize),
    Other(CastEventKind),
}

impl CastBatch {
    /// Appends output to the last event, or adds an event.
    fn add_output(&mut self, at_us: u64, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
        match self.events.last_mut() {
            Some(BatchEvent { at_us: since, kind: BatchEventKind::Output(len) })
                if *len + bytes.len() <= EVENT_BYTES
                    && at_us.saturating_sub(*since) < BATCH.as_micros() as u64 =>
            {
                *len += bytes.len();
            }
            _ => self.events.push(BatchEvent { at_us, kind: BatchEventKind::Output(bytes.len()) }),
        }
    }

    /// Adds an event other than output.
    fn add(&mut self, at_us: u64, kind: CastEventKind) {
        if let CastEventKind::Input(bytes) = &kind {
            self.input += bytes.len();
        }
        self.events.push(BatchEvent { at_us, kind: BatchEventKind::Other(kind) });
    }

    /// Bytes of output and input.
    fn bytes(&self) -> usize {
        self.output.len() + self.input
    }

    /// Keeps the memory for the next events.
    fn clear(&mut self) {
        self.events.clear();
        self.output.clear();
        self.input = 0;
    }

    /// Encodes and writes the events, and clears the batch.
    fn write(
        &mut self,
        writer: &mut CastWriter,
        lines: &mut Vec<u8>,
        file: &mut CastFile,
    ) -> Result<(), CastWriteError> {
        let mut output = self.output.as_slice();
        for BatchEvent { at_us, kind } in self.events.drain(..) {
            match kind {
                BatchEventKind::Output(len) => {
                    let bytes = output.split_off(..len).unwrap_or_default();
                    // One call may bring output of any length.
                    for part in bytes.chunks(EVENT_BYTES) {
                        writer.output(at_us, part, lines);
                        write_lines(lines, WRITE_BYTES, file)?;
                    }
                }
                BatchEventKind::Other(kind) => writer.event(&CastEvent { at_us, kind }, lines),
            }
        }
        write_lines(lines, 0, file)
    }
}

/// Writes the lines if they are at least `least` bytes.
fn write_lines(lines: &mut Vec<u8>, least: usize, file: &mut CastFile) -> Result<(), CastWriteError> {
    if lines.len() >= least {
        file.write(lines)?;
        lines.clear();
    }
    Ok(())
}

#[derive(Debug, Default)]
struct CastQueue {
    batch: CastBatch,
    /// Bytes of output and input in the batch, and in the one that is being written.
    waiting: usize,
    /// No more events follow.
    closed: bool,
    /// Length of the file.
    written: u64,
    end: Option<CastEnd>,
}

#[derive(Debug, Default)]
struct CastShared {
    queue: Mutex<CastQueue>,
    changed: Condvar,
}

impl CastShared {
    fn lock(&self) -> MutexGuard<'_, CastQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for events and swaps them for an empty batch. False when there is nothing left to write.
    ///
    /// From the first event on it waits a fixed time, so that in a flood the loop wakes the thread once in
    /// that time.
    fn next_batch(&self, batch: &mut CastBatch, lines: &mut Vec<u8>) -> bool {
        batch.clear();
        let is_open = |queue: &mut CastQueue| queue.end.is_none() && !queue.closed;
        let has_nothing = |queue: &mut CastQueue| queue.batch.events.is_empty() && is_open(queue);
        let waited = self.changed.wait_timeout_while(self.lock(), FLOOD_MEMORY_KEPT, has_nothing);
        let (mut queue, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            for buffer in [&mut queue.batch.output, &mut batch.output, lines] {
                buffer.shrink_to(KEPT_BYTES);
            }
            queue = self.changed.wait_while(queue, has_nothing).unwrap_or_else(PoisonError::into_inner);
        }
        let waited = self.changed.wait_timeout_while(queue, BATCH, is_open);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut queue.batch, batch);
        queue.end.is_none() && !batch.events.is_empty()
    }

    fn write(&self, mut file: CastFile) {
        let mut writer = CastWriter::new();
        let (mut batch, mut lines) = (CastBatch::default(), Vec::new());
        let mut written = Ok(());
        while written.is_ok() && self.next_batch(&mut batch, &mut lines) {
            written = batch.write(&mut writer, &mut lines, &mut file);
            let mut queue = self.lock();
            queue.waiting -= batch.bytes();
            queue.written = file.bytes();
        }
        if written.is_ok() {
            writer.finish(&mut lines);
            written = file.write(&lines);
        }
        let is_full = matches!(written, Err(CastWriteError::Full(_)));
        let failure = written.err().map(|error| error.to_string());
        let mut queue = self.lock();
        (queue.batch, queue.waiting) = (CastBatch::default(), 0);
        queue.end.get_or_insert(CastEnd { bytes: file.bytes(), failure, is_full });
        // Close and unlock the file before the end is reported.
        drop(file);
        self.changed.notify_all();
    }
}

/// Typed bytes as they may be recorded while the terminal does not echo a line: one dot per character, and
/// control characters, which are not part of a password.
pub(super) fn masked(bytes: &[u8]) -> Vec<u8> {
    let mut masked = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            // Continuation of a UTF-8 character.
            0x80..=0xbf => {}
            0x1b | b' '..=b'~' | 0xc0.. => masked.extend_from_slice("•".as_bytes()),
            _ => masked.push(*byte),
        }
    }
    masked
}

/// A recording in progress.
#[derive(Debug)]
pub(super) struct CastRecording {
    shared: Arc<CastShared>,
    /// Readable when it has ended.
    wake: UnixStream,
    path: PathBuf,
    began: WallTime,
    clock: Clock,
    /// When it began, by that clock.
    origin_us: u64,
    with_input: bool,
}

impl CastRecording {
    /// Starts the thread; it writes the header if the file has none.
    pub fn begin(
        file: CastFile,
        path: PathBuf,
        header: &CastHeader,
        with_input: bool,
        clock: Clock,
    ) -> std::io::Result<Self> {
        let (wake, mut ring) = UnixStream::pair()?;
        let shared = Arc::new(CastShared::default());
        shared.lock().written = file.bytes();
        let of_thread = Arc::clone(&shared);
        let first = if file.is_empty() { header.line() } else { String::new() };
        let mut file = file;
        std::thread::Builder::new().name("hopty-recorder".to_owned()).spawn(move || {
            match file.write(first.as_bytes()) {
                Ok(()) => of_thread.write(file),
                Err(error) => {
                    let end =
                        CastEnd { bytes: file.bytes(), failure: Some(error.to_string()), is_full: false };
                    of_thread.lock().end.get_or_insert(end);
                    of_thread.changed.notify_all();
                }
            }
            let _ = ring.write_all(&[1]);
        })?;
        let (began, origin_us) = (Clock::wall(), clock.micros());
        Ok(CastRecording { shared, wake, path, began, clock, origin_us, with_input })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn began(&self) -> WallTime {
        self.began
    }

    /// How long it has lasted, in ms.
    pub fn lasted_ms(&self) -> u64 {
        u64::try_from(Clock::wall().0.saturating_sub(self.began.0)).unwrap_or(0)
    }

    /// Length of the file so far, in bytes.
    pub fn bytes(&self) -> u64 {
        self.shared.lock().written
    }

    /// Whether typed bytes are recorded.
    pub fn with_input(&self) -> bool {
        self.with_input
    }

    /// Readable when it has ended.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    pub fn end(&self) -> Option<CastEnd> {
        self.shared.lock().end.clone()
    }

    /// Records output of the program.
    pub fn output(&self, bytes: &[u8]) {
        let at_us = self.at();
        self.add(|batch| batch.add_output(at_us, bytes));
    }

    /// Records any other event.
    pub fn put(&self, kind: CastEventKind) {
        let at_us = self.at();
        self.add(|batch| batch.add(at_us, kind));
    }

    fn at(&self) -> u64 {
        self.clock.micros().saturating_sub(self.origin_us)
    }

    fn add(&self, add: impl FnOnce(&mut CastBatch)) {
        let mut queue = self.shared.lock();
        if queue.end.is_some() || queue.closed {
            return;
        }
        let (is_first, before) = (queue.batch.events.is_empty(), queue.batch.bytes());
        add(&mut queue.batch);
        queue.waiting += queue.batch.bytes() - before;
        if queue.waiting > WAITING_MAX {
            // The thread may hang forever, so do not wait for its end.
            queue.batch = CastBatch::default();
            let failure = Some("its disk is too slow".to_owned());
            queue.end = Some(CastEnd { bytes: queue.written, failure, is_full: false });
            // Makes the descriptor readable from now on.
            let _ = self.wake.shutdown(Shutdown::Both);
        }
        if is_first {
            self.shared.changed.notify_all();
        }
    }

    /// Writes what is left and ends; [`CastRecording::end`] follows.
    pub fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }

    /// Waits for the end, up to a limit.
    pub fn wait(&self, limit: Duration) -> Option<CastEnd> {
        let until = Instant::now() + limit;
        let mut queue = self.shared.lock();
        while queue.end.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            queue = self.shared.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.end.clone()
    }
}

impl Drop for CastRecording {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::cast::CastReader;
    use crate::fs::cast_file::CastOpening;

    #[test]
    fn a_password_is_dots() {
        assert_eq!(masked("pé漢\x1b[A\x7f\r".as_bytes()), "••••••\x7f\r".as_bytes());
    }

    const LONG: Duration = Duration::from_secs(30);

    fn begin(path: &Path, max: u64) -> CastRecording {
        let file = CastFile::open(path, CastOpening::New, max).unwrap();
        CastRecording::begin(file, path.to_owned(), &CastHeader::new(80, 24), true, Clock::start()).unwrap()
    }

    fn events(path: &Path) -> Vec<CastEventKind> {
        let mut reader = CastReader::new();
        reader.push(&std::fs::read(path).unwrap());
        reader.finish();
        std::iter::from_fn(|| reader.next()).map(|event| event.unwrap().kind).collect()
    }

    #[test]
    fn what_happens_is_in_the_file_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        let recording = begin(&path, u64::MAX);
        let flood = vec![b'x'; 200_000];
        recording.output(b"a");
        recording.output(b"b\xe2");
        recording.put(CastEventKind::Resize { cols: 10, rows: 5 });
        recording.output(b"\x82\xac");
        recording.output(&flood);
        recording.put(CastEventKind::Exit(3));
        recording.close();
        recording.output(b"late");
        let end = recording.wait(LONG).unwrap();
        assert_eq!(
            end,
            CastEnd { bytes: std::fs::metadata(&path).unwrap().len(), failure: None, is_full: false }
        );
        let all = events(&path);
        let output: Vec<u8> = all
            .iter()
            .filter_map(
                |kind| if let CastEventKind::Output(bytes) = kind { Some(bytes.clone()) } else { None },
            )
            .flatten()
            .collect();
        assert_eq!(output, ["ab€".as_bytes(), &flood].concat());
        assert_eq!(all[0], CastEventKind::Output(b"ab".to_vec()), "one event for what came together");
        assert_eq!(all[1], CastEventKind::Resize { cols: 10, rows: 5 });
        assert_eq!(all.last(), Some(&CastEventKind::Exit(3)));
    }

    #[test]
    fn what_comes_after_the_end_is_not_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        let recording = begin(&path, u64::MAX);
        // Locking the queue keeps the thread from taking the batch, so that the late event could join it.
        {
            let mut queue = recording.shared.lock();
            queue.batch.add_output(0, b"in time");
            (queue.waiting, queue.closed) = (7, true);
        }
        recording.output(b"late");
        recording.close();
        recording.wait(LONG).unwrap();
        assert_eq!(events(&path), [CastEventKind::Output(b"in time".to_vec())]);
    }

    #[test]
    fn it_is_written_soon_without_being_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        let recording = begin(&path, u64::MAX);
        recording.output(b"hello");
        let began = Instant::now();
        // Bytes are counted after the write.
        while !std::fs::read_to_string(&path).unwrap().contains("hello") || recording.bytes() == 0 {
            assert!(began.elapsed() < LONG);
            std::thread::yield_now();
        }
        assert!(recording.end().is_none());
    }

    #[test]
    fn a_limit_or_a_disk_that_refuses_ends_it_with_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        let recording = begin(&path, 200);
        recording.output(&[b'x'; 300]);
        let end = recording.wait(LONG).unwrap();
        assert!(end.failure.unwrap().contains("limit of 200 bytes"));
        assert_eq!(events(&path), []);
        // Nothing more is written.
        for _ in 0..1000 {
            recording.output(&[b'x'; 300]);
        }
        assert_eq!(recording.shared.lock().waiting, 0);

        let full = CastFile::at("/dev/full".as_ref()).unwrap();
        let header = CastHeader::new(80, 24);
        let recording = CastRecording::begin(full, path, &header, false, Clock::start()).unwrap();
        let end = recording.wait(LONG).unwrap();
        assert!(end.failure.unwrap().contains("No space left"));
    }

    /// A FIFO without a reader stands for a disk that hangs, which accepts no more than its buffer.
    #[test]
    fn a_disk_that_hangs_ends_it_and_holds_up_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let _reader = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let file = CastFile::at(&path).unwrap();
        let recording =
            CastRecording::begin(file, path, &CastHeader::new(80, 24), false, Clock::start()).unwrap();
        let piece = vec![b'x'; 1 << 20];
        let put = (0..1000).find(|_| {
            recording.output(&piece);
            recording.end().is_some()
        });
        assert!(put.is_some_and(|put| put < 100), "{put:?}");
        assert!(recording.end().unwrap().failure.unwrap().contains("too slow"));
    }
}
