//! The writer: one thread that writes the journal, the session's file and `host.log` to the disk, in order.
//! The loop queues its writes and continues: a disk that is slow, full or gone costs lines, never the
//! terminal.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::fs::atomic;
use crate::fs::rotating_journal::JournalLog;
use crate::host::jobs::log;

/// The most bytes that wait for the disk: above that, journal lines are dropped.
const WAITING_JOURNAL_MAX: usize = 1 << 20;
/// How long the idle thread waits before it ends: an idle session has no such thread.
const REST: Duration = Duration::from_secs(1);

/// Where a journal is, and how long it gets.
#[derive(Clone, Debug)]
pub(in crate::host) struct JournalPlace {
    pub path: PathBuf,
    /// It is rotated above this size, in bytes.
    pub max_bytes: u64,
    /// How many files are kept.
    pub files: u32,
}

#[derive(Debug)]
pub(in crate::host) enum WriteJob {
    /// Lines of the journal.
    Lines(String),
    /// A new file of the journal, which begins with this line.
    Rotate(String),
    /// Start a new journal at this path, with this first line: the old file is gone.
    Anew(PathBuf, String),
    /// Continues the journal after a failure, from this line on; opens it if it is not open.
    Open(JournalPlace, String),
    /// A file's new content.
    File(PathBuf, Vec<u8>),
    Remove(PathBuf),
    /// Lines of `host.log`.
    Log(String),
}

impl WriteJob {
    fn bytes(&self) -> usize {
        match self {
            WriteJob::Lines(text)
            | WriteJob::Rotate(text)
            | WriteJob::Anew(_, text)
            | WriteJob::Open(_, text)
            | WriteJob::Log(text) => text.len(),
            WriteJob::File(_, bytes) => bytes.len(),
            WriteJob::Remove(_) => 0,
        }
    }

    /// How many journal lines are lost if it is not done.
    fn lines(&self) -> u64 {
        match self {
            WriteJob::Lines(text) | WriteJob::Rotate(text) | WriteJob::Anew(_, text) => count(text),
            WriteJob::Open(..) | WriteJob::File(..) | WriteJob::Remove(_) | WriteJob::Log(_) => 0,
        }
    }

    fn run(&self, open: &mut Option<JournalLog>) -> io::Result<()> {
        match self {
            WriteJob::Lines(text) => journal(open)?.write(text),
            WriteJob::Rotate(text) => {
                let journal = journal(open)?;
                journal.rotate()?;
                journal.write(text)
            }
            WriteJob::Anew(path, text) => journal(open)?.begin_anew(path, text),
            WriteJob::Open(place, text) => match open {
                Some(journal) => journal.resume(text),
                None => {
                    open.insert(JournalLog::begin(&place.path, place.max_bytes, place.files)?).write(text)
                }
            },
            WriteJob::File(path, bytes) => {
                if let Err(error) = atomic::swap(path, bytes) {
                    log::write(&format!("hopty: {error}\n"));
                }
                Ok(())
            }
            WriteJob::Remove(path) => {
                let _ = std::fs::remove_file(path);
                Ok(())
            }
            WriteJob::Log(text) => {
                log::write(text);
                Ok(())
            }
        }
    }
}

fn journal(open: &mut Option<JournalLog>) -> io::Result<&mut JournalLog> {
    open.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Lines of a text.
pub(in crate::host) fn count(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

#[derive(Debug, Default)]
struct WriterState {
    jobs: VecDeque<WriteJob>,
    /// Bytes of the jobs, including the current one.
    bytes: usize,
    busy: bool,
    /// Whether there is a thread.
    runs: bool,
    journal: Option<JournalLog>,
    journal_id: Option<(u64, u64)>,
    /// Why the journal failed; its lines are dropped until it is resumed.
    failed: Option<io::Error>,
    is_off: bool,
    /// Lines that were dropped.
    lost: u64,
}

impl WriterState {
    fn done(&mut self, job: &WriteJob, journal: Option<JournalLog>, done: io::Result<()>) {
        self.journal_id = journal.as_ref().and_then(JournalLog::id);
        self.journal = journal;
        self.busy = false;
        self.bytes -= job.bytes();
        if let Err(error) = done {
            self.lost += job.lines();
            self.is_off = true;
            self.failed = Some(error);
        }
    }

    /// Whether to skip this job because the journal has failed.
    fn drops(&mut self, job: &WriteJob) -> bool {
        match job {
            WriteJob::Open(..) => self.is_off = false,
            WriteJob::Lines(_) | WriteJob::Rotate(_) | WriteJob::Anew(..) if self.is_off => {
                self.lost += job.lines();
                self.bytes -= job.bytes();
                return true;
            }
            _ => {}
        }
        false
    }
}

#[derive(Debug, Default)]
struct WriterShared {
    state: Mutex<WriterState>,
    changed: Condvar,
}

impl WriterShared {
    fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the queued jobs in order, and ends after some time without any.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            let Some(job) = state.jobs.pop_front() else {
                let (waited, rest) =
                    self.changed.wait_timeout(state, REST).unwrap_or_else(PoisonError::into_inner);
                state = waited;
                if rest.timed_out() && state.jobs.is_empty() {
                    state.runs = false;
                    return;
                }
                continue;
            };
            if state.drops(&job) {
                self.changed.notify_all();
                continue;
            }
            state.busy = true;
            let mut journal = state.journal.take();
            drop(state);
            let done = job.run(&mut journal);
            state = self.lock();
            state.done(&job, journal, done);
            self.changed.notify_all();
        }
    }
}

/// The thread and its queue.
#[derive(Debug, Default)]
pub(in crate::host) struct DiskThread {
    shared: Arc<WriterShared>,
}

impl DiskThread {
    /// The journal that lines go to.
    pub fn begin(&mut self, journal: JournalLog) {
        let mut state = self.shared.lock();
        state.journal_id = journal.id();
        state.journal = Some(journal);
    }

    /// Whether the queue has room for this much more.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.shared.lock().bytes + bytes <= WAITING_JOURNAL_MAX
    }

    /// Queues a job. If no thread can be started, the job runs at once.
    pub fn put(&mut self, job: WriteJob) {
        let mut state = self.shared.lock();
        state.bytes += job.bytes();
        if let WriteJob::File(path, _) = &job {
            // Only the last state counts, and it must follow the lines that led to it.
            let stale = |waiting: &&WriteJob| matches!(waiting, WriteJob::File(other, _) if other == path);
            state.bytes -= state.jobs.iter().filter(stale).map(WriteJob::bytes).sum::<usize>();
            state.jobs.retain(|waiting| !stale(&waiting));
        }
        state.jobs.push_back(job);
        if !state.runs {
            let shared = Arc::clone(&self.shared);
            state.runs = std::thread::Builder::new()
                .name("hopty-writer".to_owned())
                .spawn(move || shared.work())
                .is_ok();
        }
        if state.runs {
            drop(state);
            self.shared.changed.notify_all();
            return;
        }
        while let Some(job) = state.jobs.pop_front() {
            if !state.drops(&job) {
                let mut journal = state.journal.take();
                let done = job.run(&mut journal);
                state.done(&job, journal, done);
            }
        }
    }

    /// Why the journal failed, if it has since the last call.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.shared.lock().failed.take()
    }

    /// How many lines were dropped since the last call.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.shared.lock().lost)
    }

    /// Bytes in the journal's file.
    pub fn journal_bytes(&self) -> Option<u64> {
        self.shared.lock().journal.as_ref().map(JournalLog::bytes)
    }

    /// Device and inode of the journal's file after the last finished job; `None` if there is none.
    pub fn journal_id(&self) -> Option<(u64, u64)> {
        self.shared.lock().journal_id
    }

    /// Whether everything was written or dropped.
    pub fn is_idle(&self) -> bool {
        let state = self.shared.lock();
        state.jobs.is_empty() && !state.busy
    }

    /// Waits until everything is written, up to a limit.
    pub fn flush(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut state = self.shared.lock();
        while !state.jobs.is_empty() || state.busy {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn lines_come_in_order_and_files_after_the_lines_before_them() {
        let dir = tempfile::tempdir().unwrap();
        let (path, file) = (dir.path().join("j"), dir.path().join("f"));
        let mut writer = DiskThread::default();
        writer.begin(JournalLog::begin(&path, 1 << 20, 3).unwrap());
        for n in 0..100 {
            writer.put(WriteJob::Lines(format!("{n}\n")));
            writer.put(WriteJob::File(file.clone(), n.to_string().into_bytes()));
        }
        assert!(writer.flush(LONG) && writer.is_idle());
        let wanted: String = (0..100).map(|n| format!("{n}\n")).collect();
        assert_eq!(
            (std::fs::read_to_string(&path).unwrap(), std::fs::read(&file).unwrap()),
            (wanted, b"99".to_vec())
        );
        assert_eq!(writer.shared.lock().bytes, 0);
    }

    /// A FIFO without a reader stands for a disk that hangs.
    #[test]
    fn a_disk_that_hangs_holds_up_nobody_and_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let mut writer = DiskThread::default();
        writer.begin(JournalLog::at(&path).unwrap());
        let began = Instant::now();
        let line = format!("{}\n", "x".repeat(9999));
        let mut put = 0;
        while writer.has_room(line.len()) {
            writer.put(WriteJob::Lines(line.clone()));
            put += 1;
        }
        assert!((100..200).contains(&put), "{put}");
        assert!(!writer.flush(Duration::from_millis(1)) && began.elapsed() < LONG);
        // Held lines are written once the disk works again.
        let read = std::thread::spawn(move || {
            let (mut reader, mut left, mut buf) = (reader, put * line.len(), vec![0; 1 << 16]);
            while left > 0 {
                left -= io::Read::read(&mut reader, &mut buf).unwrap();
            }
        });
        assert!(writer.flush(LONG));
        read.join().unwrap();
        assert!(writer.take_failure().is_none());
    }

    #[test]
    fn a_journal_that_fails_drops_lines_until_it_is_resumed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let mut writer = DiskThread::default();
        writer.begin(JournalLog::at("/dev/full".as_ref()).unwrap());
        writer.put(WriteJob::Lines("a\nb\n".to_owned()));
        writer.put(WriteJob::Lines("c\n".to_owned()));
        assert!(writer.flush(LONG) && writer.take_failure().is_some());
        writer.put(WriteJob::Lines("d\n".to_owned()));
        assert!(writer.flush(LONG));
        assert_eq!((writer.take_lost(), writer.take_lost()), (4, 0));
        writer.begin(JournalLog::begin(&path, 1 << 20, 3).unwrap());
        let place = JournalPlace { path: path.clone(), max_bytes: 1 << 20, files: 3 };
        writer.put(WriteJob::Open(place.clone(), "open\n".to_owned()));
        writer.put(WriteJob::Lines("e\n".to_owned()));
        assert!(writer.flush(LONG) && writer.take_failure().is_none());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "open\ne\n");
        // Without a journal a new one is opened, and the old file is kept.
        let mut writer = DiskThread::default();
        writer.put(WriteJob::Open(place, "again\n".to_owned()));
        assert!(writer.flush(LONG) && writer.take_failure().is_none());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "again\n");
        assert_eq!(std::fs::read_to_string(dir.path().join("j.1")).unwrap(), "open\ne\n");
    }
}
