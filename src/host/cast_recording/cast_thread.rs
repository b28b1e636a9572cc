//! The thread of a recording: the loop hands events over, and the thread encodes and writes them in batches. A
//! disk that is slow, full or gone costs the recording, never the session.

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

/// How long output is collected before it is written: what a host that is killed loses.
const BATCH: Duration = Duration::from_millis(20);
/// Output that is written without waiting any longer, in bytes: in a flood, half of what comes in [`BATCH`].
/// Each batch wakes the thread, which costs the loop more than the copy does.
const BATCH_BYTES: usize = 1 << 20;
/// The longest output of an event, in bytes.
const EVENT_BYTES: usize = 1 << 16;
/// The most bytes that wait for the disk; with more, the recording ends.
const WAITING_MAX: usize = 64 << 20;

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CastEnd {
    /// Length of the file, in bytes.
    pub bytes: u64,
    /// Why it ended before it was stopped.
    pub failure: Option<String>,
    /// The file has reached its limit.
    pub is_full: bool,
}

#[derive(Debug, Default)]
struct CastQueue {
    events: Vec<CastEvent>,
    /// Bytes of output and input in the events, and in those that are being written.
    waiting: usize,
    /// No more events come.
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

    /// Waits for a batch; `None` when there is nothing left to write.
    fn next_batch(&self) -> Option<Vec<CastEvent>> {
        let mut queue = self.lock();
        let mut full: Option<Instant> = None;
        loop {
            if queue.end.is_some() {
                return None;
            }
            if queue.events.is_empty() {
                if queue.closed {
                    return None;
                }
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let until = *full.get_or_insert_with(|| Instant::now() + BATCH);
            let left = until.saturating_duration_since(Instant::now());
            if queue.closed || queue.waiting >= BATCH_BYTES || left.is_zero() {
                return Some(std::mem::take(&mut queue.events));
            }
            queue = self.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The thread.
    fn write(&self, mut file: CastFile) {
        let mut writer = CastWriter::new();
        let mut lines = Vec::new();
        let (mut failure, mut is_full) = (None, false);
        while failure.is_none() {
            lines.clear();
            let batch = self.next_batch();
            let last = batch.is_none();
            let mut bytes = 0;
            for event in batch.into_iter().flatten() {
                bytes += size(&event.kind);
                encode(&mut writer, &event, &mut lines);
            }
            if last {
                writer.finish(&mut lines);
            }
            let written = file.write(&lines);
            is_full = matches!(written, Err(CastWriteError::Full(_)));
            failure = written.err().map(|error| error.to_string());
            lines.shrink_to(2 * BATCH_BYTES);
            let mut queue = self.lock();
            queue.waiting -= bytes;
            queue.written = file.bytes();
            if last {
                break;
            }
        }
        let mut queue = self.lock();
        (queue.events, queue.waiting) = (Vec::new(), 0);
        queue.end.get_or_insert(CastEnd { bytes: file.bytes(), failure, is_full });
        // The file is closed and unlocked before anybody learns of the end.
        drop(file);
        self.changed.notify_all();
    }
}

/// Bytes that an event takes in the queue.
fn size(kind: &CastEventKind) -> usize {
    match kind {
        CastEventKind::Output(bytes) | CastEventKind::Input(bytes) => bytes.len(),
        _ => 0,
    }
}

/// The lines of an event, whose output may be of any length.
fn encode(writer: &mut CastWriter, event: &CastEvent, lines: &mut Vec<u8>) {
    match &event.kind {
        CastEventKind::Output(bytes) => {
            bytes.chunks(EVENT_BYTES).for_each(|part| writer.output(event.at_us, part, lines));
        }
        _ => writer.event(event, lines),
    }
}

/// Typed bytes as they may be recorded while the terminal does not echo a line: one dot for each character,
/// and control characters, which are no part of a password.
pub(super) fn masked(bytes: &[u8]) -> Vec<u8> {
    let mut masked = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            // The rest of a character.
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
    /// When it began, by the session's clock.
    origin_us: u64,
    with_input: bool,
}

impl CastRecording {
    /// Starts the thread; the header is written where the file has none.
    pub fn begin(
        file: CastFile,
        path: PathBuf,
        header: &CastHeader,
        with_input: bool,
        clock: &Clock,
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
        Ok(CastRecording { shared, wake, path, began: Clock::wall(), origin_us: clock.micros(), with_input })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When it began.
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

    /// How it ended, if it has.
    pub fn end(&self) -> Option<CastEnd> {
        self.shared.lock().end.clone()
    }

    /// The program has written these bytes.
    pub fn output(&self, bytes: &[u8], clock: &Clock) {
        let at_us = self.at(clock);
        let mut queue = self.shared.lock();
        if queue.closed {
            return;
        }
        if let Some(CastEvent { at_us: since, kind: CastEventKind::Output(last) }) = queue.events.last_mut()
            && last.len() + bytes.len() <= EVENT_BYTES
            && at_us.saturating_sub(*since) < BATCH.as_micros() as u64
        {
            last.extend_from_slice(bytes);
            self.added(queue, bytes.len());
        } else {
            self.push(queue, CastEvent { at_us, kind: CastEventKind::Output(bytes.to_vec()) });
        }
    }

    /// Anything else has happened.
    pub fn put(&self, kind: CastEventKind, clock: &Clock) {
        self.push(self.shared.lock(), CastEvent { at_us: self.at(clock), kind });
    }

    fn at(&self, clock: &Clock) -> u64 {
        clock.micros().saturating_sub(self.origin_us)
    }

    fn push(&self, mut queue: MutexGuard<'_, CastQueue>, event: CastEvent) {
        let bytes = size(&event.kind);
        let first = queue.events.is_empty();
        if queue.end.is_none() && !queue.closed {
            queue.events.push(event);
            if first {
                self.shared.changed.notify_all();
            }
            self.added(queue, bytes);
        }
    }

    /// After `bytes` were added to the events.
    fn added(&self, mut queue: MutexGuard<'_, CastQueue>, bytes: usize) {
        let before = queue.waiting;
        queue.waiting += bytes;
        if queue.waiting > WAITING_MAX {
            // The thread may hang for ever; its end is not waited for.
            queue.events = Vec::new();
            let failure = Some("its disk is too slow".to_owned());
            queue.end = Some(CastEnd { bytes: queue.written, failure, is_full: false });
            // Readable from now on.
            let _ = self.wake.shutdown(Shutdown::Both);
        }
        if before < BATCH_BYTES && queue.waiting >= BATCH_BYTES {
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

    fn begin(path: &Path, max: u64, clock: &Clock) -> CastRecording {
        let file = CastFile::open(path, CastOpening::New, max).unwrap();
        CastRecording::begin(file, path.to_owned(), &CastHeader::new(80, 24), true, clock).unwrap()
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
        let clock = Clock::start();
        let recording = begin(&path, u64::MAX, &clock);
        let flood = vec![b'x'; 200_000];
        recording.output(b"a", &clock);
        recording.output(b"b\xe2", &clock);
        recording.put(CastEventKind::Resize { cols: 10, rows: 5 }, &clock);
        recording.output(b"\x82\xac", &clock);
        recording.output(&flood, &clock);
        recording.put(CastEventKind::Exit(3), &clock);
        recording.close();
        recording.output(b"late", &clock);
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
        let clock = Clock::start();
        let recording = begin(&path, u64::MAX, &clock);
        // The thread is kept from the batch, so that what is late could join it.
        {
            let mut queue = recording.shared.lock();
            queue.events.push(CastEvent { at_us: 0, kind: CastEventKind::Output(b"in time".to_vec()) });
            (queue.waiting, queue.closed) = (7, true);
        }
        recording.output(b"late", &clock);
        recording.close();
        recording.wait(LONG).unwrap();
        assert_eq!(events(&path), [CastEventKind::Output(b"in time".to_vec())]);
    }

    #[test]
    fn it_is_written_soon_without_being_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        let clock = Clock::start();
        let recording = begin(&path, u64::MAX, &clock);
        recording.output(b"hello", &clock);
        let began = Instant::now();
        // The bytes are counted behind the write.
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
        let clock = Clock::start();
        let recording = begin(&path, 200, &clock);
        recording.output(&[b'x'; 300], &clock);
        let end = recording.wait(LONG).unwrap();
        assert!(end.failure.unwrap().contains("limit of 200 bytes"));
        assert_eq!(events(&path), []);
        // Nothing waits for it any more.
        for _ in 0..1000 {
            recording.output(&[b'x'; 300], &clock);
        }
        assert_eq!(recording.shared.lock().waiting, 0);

        let full = CastFile::at("/dev/full".as_ref()).unwrap();
        let header = CastHeader::new(80, 24);
        let recording = CastRecording::begin(full, path, &header, false, &clock).unwrap();
        let end = recording.wait(LONG).unwrap();
        assert!(end.failure.unwrap().contains("No space left"));
    }

    /// A disk that hangs: a FIFO that nobody reads, which accepts no more than its buffer.
    #[test]
    fn a_disk_that_hangs_ends_it_and_holds_up_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let _reader = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let clock = Clock::start();
        let file = CastFile::at(&path).unwrap();
        let recording = CastRecording::begin(file, path, &CastHeader::new(80, 24), false, &clock).unwrap();
        let piece = vec![b'x'; 1 << 20];
        let put = (0..1000).find(|_| {
            recording.output(&piece, &clock);
            recording.end().is_some()
        });
        assert!(put.is_some_and(|put| put < 100), "{put:?}");
        assert!(recording.end().unwrap().failure.unwrap().contains("too slow"));
    }
}
