//! The journal from the loop's point of view: lines go to the writer; lines that cannot be written are
//! counted, and the journal resumes as soon as possible with a line that says how many are missing.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::core::config;
use crate::core::journal::JournalGap;
use crate::core::time::Stamp;
use crate::fs::rotating_journal::JournalLog as JournalFile;
use crate::fs::session::JOURNAL;
use crate::host::jobs::disk_writer_thread::{DiskThread, JournalPlace, WriteJob, count};
use crate::host::jobs::log;

/// How long after a failure to retry the journal, in ms; the pause doubles each time.
const JOURNAL_RETRY_MS: u64 = 1000;
/// The longest such pause, in ms.
const JOURNAL_RETRY_MAX_MS: u64 = 60_000;
/// How often to check whether the writer has failed, while it is busy, in ms.
const WRITER_CHECK_MS: u64 = 1000;

/// A change in whether the journal is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) enum JournalEvent {
    /// Lines are missing from here on, for the first time in this session.
    Failed,
    /// It is written again; this many of its lines are missing.
    Resumed { missing: u64 },
}

#[derive(Debug, Default)]
enum JournalState {
    /// There is no journal.
    #[default]
    Off,
    /// Lines are written. `resumed`: lines missing before, until the first write proves that it works again.
    On { resumed: Option<JournalGap> },
    /// Lines have been missing since it failed.
    Broken { missing: JournalGap, again: Stamp },
}

/// The journal, the thread that writes it, and its state.
#[derive(Debug)]
pub(in crate::host) struct Journal {
    config: config::Journal,
    writer: DiskThread,
    dir: PathBuf,
    state: JournalState,
    /// Bytes in the journal's file, including queued ones.
    bytes: u64,
    /// Its failure was reported.
    reported: bool,
    /// How long to wait before the next attempt, in ms.
    pause: u64,
    events: VecDeque<JournalEvent>,
}

impl Journal {
    pub fn new(config: config::Journal, dir: &Path) -> Self {
        Journal {
            config,
            writer: DiskThread::default(),
            dir: dir.to_owned(),
            state: JournalState::Off,
            bytes: 0,
            reported: false,
            pause: 0,
            events: VecDeque::new(),
        }
    }

    /// The next change since the last call.
    pub fn next_event(&mut self) -> Option<JournalEvent> {
        self.events.pop_front()
    }

    /// Opens the journal before the loop runs; one of an earlier session with the same name is rotated away.
    ///
    /// # Errors
    /// When it cannot be opened. It is tried again later.
    pub fn open(&mut self, now: Stamp) -> io::Result<()> {
        match JournalFile::begin(&self.path(), self.config.max_bytes, self.config.files) {
            Ok(file) => {
                self.writer.begin(file);
                self.state = JournalState::On { resumed: None };
                Ok(())
            }
            Err(error) => {
                self.fail(now, 0, true);
                self.reported = true;
                Err(error)
            }
        }
    }

    /// Writes lines. `open` makes the first line if a new file is needed.
    pub fn write(&mut self, lines: &str, now: Stamp, open: impl FnOnce() -> String) {
        match &mut self.state {
            JournalState::Off => return,
            JournalState::Broken { missing, .. } => {
                missing.lines += count(lines);
                return;
            }
            JournalState::On { .. } => {}
        }
        if !self.writer.has_room(lines.len()) {
            self.fail(now, count(lines), false);
            return self.report_failure(&"its disk accepts no writes");
        }
        self.bytes += lines.len() as u64;
        self.writer.put(WriteJob::Lines(lines.to_owned()));
        if self.bytes >= self.config.max_bytes {
            let open = open();
            self.bytes = open.len() as u64;
            self.writer.put(WriteJob::Rotate(open));
        }
    }

    /// The session's directory has moved to `dir`.
    pub fn moved(&mut self, dir: &Path) {
        dir.clone_into(&mut self.dir);
    }

    /// Starts a new file with this line after the old one was deleted or moved away; the old content is gone
    /// with it. The writer does it after the queued lines, which belong to the old file.
    pub fn renew(&mut self, open: String) {
        self.bytes = open.len() as u64;
        self.writer.put(WriteJob::Anew(self.path(), open));
    }

    /// Checks the results of the queued writes, and retries a journal that failed. `resume` makes the line
    /// with which it continues.
    pub fn tend(&mut self, now: Stamp, resume: impl FnOnce(JournalGap) -> String) {
        if let Some(error) = self.writer.take_failure() {
            self.fail(now, 0, false);
            self.report_failure(&error);
        }
        match self.state {
            JournalState::On { resumed: Some(missing) } if self.writer.is_idle() => {
                self.state = JournalState::On { resumed: None };
                self.pause = 0;
                self.events.push_back(JournalEvent::Resumed { missing: missing.lines });
            }
            JournalState::Broken { missing, again } if again <= now => self.resume(missing, now, resume),
            _ => {}
        }
        // Last: a journal resumes only when the writer has nothing else to do.
        self.put_log();
    }

    /// Lets the writer continue the journal; it may have to open the file first.
    fn resume(&mut self, missing: JournalGap, now: Stamp, line: impl FnOnce(JournalGap) -> String) {
        let missing = JournalGap { lines: missing.lines + self.writer.take_lost(), ..missing };
        if !self.writer.is_idle() {
            // The disk still hangs on the last write.
            self.state = JournalState::Broken { missing, again: now.after(self.pause) };
            return;
        }
        let open = line(missing);
        self.bytes = self.writer.journal_bytes().unwrap_or(0) + open.len() as u64;
        let place =
            JournalPlace { path: self.path(), max_bytes: self.config.max_bytes, files: self.config.files };
        self.writer.put(WriteJob::Open(place, open));
        self.state = JournalState::On { resumed: Some(missing) };
    }

    /// The next deadline of [`Journal::tend`].
    pub fn deadline(&self, now: Stamp) -> Option<Stamp> {
        match &self.state {
            JournalState::Broken { again, .. } => Some(*again),
            JournalState::On { resumed: Some(_) } => Some(now.after(WRITER_CHECK_MS)),
            JournalState::On { resumed: None } | JournalState::Off => {
                (!self.writer.is_idle()).then(|| now.after(WRITER_CHECK_MS))
            }
        }
    }

    /// The path of its file.
    pub fn path(&self) -> PathBuf {
        self.dir.join(JOURNAL)
    }

    /// Queues a file's new content.
    pub fn put_file(&mut self, path: PathBuf, bytes: Vec<u8>) {
        self.writer.put(WriteJob::File(path, bytes));
    }

    /// Deletes a file, if it exists.
    pub fn remove_file(&mut self, path: PathBuf) {
        self.writer.put(WriteJob::Remove(path));
    }

    /// Waits until everything is on the disk, up to a limit.
    pub fn flush(&mut self, limit: Duration) {
        self.put_log();
        self.writer.flush(limit);
    }

    /// Device and inode of the journal's file; `None` while it is written, and if it must not be checked.
    pub fn journal_id(&self) -> Option<(u64, u64)> {
        let settled = matches!(self.state, JournalState::On { .. }) && self.writer.is_idle();
        self.writer.journal_id().filter(|_| settled)
    }

    /// Whether lines still go to this file.
    pub fn writes_to(&self, id: (u64, u64)) -> bool {
        matches!(self.state, JournalState::On { .. }) && self.writer.journal_id() == Some(id)
    }

    fn put_log(&mut self) {
        let lines = log::take();
        if !lines.is_empty() {
            self.writer.put(WriteJob::Log(lines));
        }
    }

    fn fail(&mut self, now: Stamp, lines: u64, start: bool) {
        let before = match &self.state {
            JournalState::On { resumed: Some(missing) } => *missing,
            _ => JournalGap { lines: 0, start },
        };
        self.pause =
            if self.pause == 0 { JOURNAL_RETRY_MS } else { (self.pause * 2).min(JOURNAL_RETRY_MAX_MS) };
        let missing = JournalGap { lines: before.lines + lines, start: before.start };
        self.state = JournalState::Broken { missing, again: now.after(self.pause) };
    }

    fn report_failure(&mut self, why: &dyn std::fmt::Display) {
        log::log(format_args!("the journal stops here: {why}"));
        if !std::mem::replace(&mut self.reported, true) {
            self.events.push_back(JournalEvent::Failed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    fn journal(dir: &Path) -> Journal {
        Journal::new(config::Config::default().journal, dir)
    }

    fn gap(missing: JournalGap) -> String {
        format!("resumed after {} lines, start {}\n", missing.lines, missing.start)
    }

    fn never() -> String {
        unreachable!("no other file begins")
    }

    fn text(dir: &Path) -> String {
        std::fs::read_to_string(dir.join(JOURNAL)).unwrap()
    }

    #[test]
    fn a_journal_that_cannot_be_opened_is_opened_by_the_writer_as_soon_as_possible() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("session");
        let mut journal = journal(&dir);
        assert!(journal.open(Stamp(0)).is_err());
        journal.write("a\nb\n", Stamp(0), never);
        // The directory is still missing: the writer fails, and the lines queued after it are lost, too.
        assert_eq!(journal.deadline(Stamp(0)), Some(Stamp(JOURNAL_RETRY_MS)));
        journal.tend(Stamp(JOURNAL_RETRY_MS), gap);
        journal.write("c\n", Stamp(JOURNAL_RETRY_MS), never);
        journal.flush(LONG);
        journal.tend(Stamp(JOURNAL_RETRY_MS), gap);
        assert_eq!(
            journal.deadline(Stamp(JOURNAL_RETRY_MS)),
            Some(Stamp(3 * JOURNAL_RETRY_MS)),
            "the pause doubles"
        );
        journal.write("d\n", Stamp(JOURNAL_RETRY_MS), never);
        std::fs::create_dir(&dir).unwrap();
        journal.flush(LONG);
        journal.tend(Stamp(3 * JOURNAL_RETRY_MS), gap);
        journal.write("e\n", Stamp(3 * JOURNAL_RETRY_MS), never);
        journal.flush(LONG);
        journal.tend(Stamp(3 * JOURNAL_RETRY_MS), gap);
        assert_eq!(text(&dir), "resumed after 4 lines, start true\ne\n");
        let events: Vec<_> = std::iter::from_fn(|| journal.next_event()).collect();
        assert_eq!(events, [JournalEvent::Resumed { missing: 4 }], "the caller reported the failed start");
        journal.flush(LONG);
        assert_eq!(journal.deadline(Stamp(9000)), None);
    }

    #[test]
    fn a_failure_is_reported_once_and_a_full_file_makes_room_for_the_next() {
        let root = tempfile::tempdir().unwrap();
        let mut journal = journal(root.path());
        journal.config.max_bytes = 4;
        journal.open(Stamp(0)).unwrap();
        journal.write("one\n", Stamp(0), || "open\n".to_owned());
        journal.write("x", Stamp(0), || "open\n".to_owned());
        journal.flush(LONG);
        assert_eq!(text(root.path()), "open\n", "the next file begins with its own line");
        for _ in 0..2 {
            journal.report_failure(&"no space left");
        }
        let events: Vec<_> = std::iter::from_fn(|| journal.next_event()).collect();
        assert_eq!(events, [JournalEvent::Failed]);
    }

    #[test]
    fn a_journal_that_was_never_opened_takes_nothing() {
        let root = tempfile::tempdir().unwrap();
        let mut journal = journal(root.path());
        journal.write("a\n", Stamp(0), never);
        journal.tend(Stamp(0), gap);
        journal.flush(LONG);
        assert!(!root.path().join(JOURNAL).exists());
        assert_eq!((journal.deadline(Stamp(0)), journal.journal_id()), (None, None));
    }
}
