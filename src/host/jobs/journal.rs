//! The journal from the loop's point of view: lines go to the writer; lines that cannot be written are
//! counted, and the journal resumes as soon as possible with a line that says how many are missing.

use std::time::Duration;

use crate::core::journal::JournalGap;
use crate::core::supervisor::action::DecisionKind;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;
use crate::fs::journal::Journal as JournalFile;
use crate::host::Host;
use crate::host::jobs::disk_writer::{DiskWriter, WriteJob, count};
use crate::host::jobs::log;
use crate::sys::clock::Clock;

/// How long after a failure to retry the journal, in ms; the pause doubles each time.
const AGAIN_MS: u64 = 1000;
/// The longest such pause, in ms.
const AGAIN_MOST_MS: u64 = 60_000;
/// How often to check whether the writer has failed, while it is busy, in ms.
const LOOK_MS: u64 = 1000;

/// The state of the journal.
#[derive(Debug, Default)]
enum JournalState {
    /// There is no journal.
    #[default]
    Off,
    /// Lines are written. After a failure that is not certain yet: how many were missing then.
    On { resumed: Option<JournalGap> },
    /// Lines have been missing since it failed.
    Broken { missing: JournalGap, again: Stamp, pause: u64 },
}

/// The journal, the writer, and whether their failure was reported.
#[derive(Debug, Default)]
pub(in crate::host) struct Journal {
    writer: DiskWriter,
    standing: JournalState,
    /// Bytes in the journal's file, including queued ones.
    bytes: u64,
    /// Its failure was reported.
    told: bool,
    pause: u64,
}

impl Journal {
    /// Queues a file's new content.
    pub fn put_file(&mut self, path: std::path::PathBuf, bytes: Vec<u8>) {
        self.writer.put(WriteJob::File(path, bytes));
    }

    /// Deletes a file, if it exists.
    pub fn remove_file(&mut self, path: std::path::PathBuf) {
        self.writer.put(WriteJob::Remove(path));
    }

    /// Waits until everything is on the disk, up to a limit.
    pub fn flush(&mut self, limit: Duration) {
        self.put_log();
        self.writer.flush(limit);
    }

    /// Device and inode of the journal's file; `None` while it is written, and if it must not be checked.
    pub fn journal_id(&self) -> Option<(u64, u64)> {
        let settled = matches!(self.standing, JournalState::On { .. }) && self.writer.is_idle();
        self.writer.journal_id().filter(|_| settled)
    }

    /// Whether lines still go to this file.
    pub fn writes_to(&self, id: (u64, u64)) -> bool {
        matches!(self.standing, JournalState::On { .. }) && self.writer.journal_id() == Some(id)
    }

    fn put_log(&mut self) {
        let lines = log::take();
        if !lines.is_empty() {
            self.writer.put(WriteJob::Log(lines));
        }
    }

    fn fail(&mut self, now: Stamp, lines: u64, start: bool) {
        let before = match &self.standing {
            JournalState::On { resumed: Some(missing) } => *missing,
            _ => JournalGap { lines: 0, start },
        };
        self.pause = if self.pause == 0 { AGAIN_MS } else { (self.pause * 2).min(AGAIN_MOST_MS) };
        let missing = JournalGap { lines: before.lines + lines, start: before.start };
        self.standing = JournalState::Broken { missing, again: now.after(self.pause), pause: self.pause };
    }
}

impl Host {
    /// Opens the journal; one of an earlier session with the same name is rotated away.
    pub(in crate::host) fn begin_journal(&mut self) -> std::io::Result<()> {
        match self.open_journal() {
            Ok(()) => {
                self.journal.standing = JournalState::On { resumed: None };
                let open = self.recorder.open_line(Stamp(0), self.began, env!("CARGO_PKG_VERSION"));
                self.write_journal(&open);
                Ok(())
            }
            Err(error) => {
                self.journal.fail(self.clock.now(), 0, true);
                self.journal.told = true;
                Err(error)
            }
        }
    }

    fn open_journal(&mut self) -> std::io::Result<()> {
        let limits = &self.launch.config.journal;
        let journal =
            JournalFile::begin(&self.claim.dir.join("journal.jsonl"), limits.max_bytes, limits.files)?;
        self.journal.writer.begin(journal);
        Ok(())
    }

    /// Starts a new file after the old one was deleted or moved away; the old content is gone with it. The
    /// writer does it after the queued lines, which belong to the old one.
    pub(in crate::host) fn renew_journal(&mut self) {
        let open = self.recorder.open_line(self.clock.now(), Clock::wall(), env!("CARGO_PKG_VERSION"));
        self.journal.bytes = open.len() as u64;
        self.journal.writer.put(WriteJob::Anew(self.claim.dir.join("journal.jsonl"), open));
        let what = "The journal was deleted or moved away: a new one continues from here".to_owned();
        self.events.push_back(Event::Limited { what });
    }

    pub(in crate::host) fn write_journal(&mut self, lines: &str) {
        let now = self.clock.now();
        let record = &mut self.journal;
        match &mut record.standing {
            JournalState::Off => return,
            JournalState::Broken { missing, .. } => {
                missing.lines += count(lines);
                return;
            }
            JournalState::On { .. } => {}
        }
        if !record.writer.has_room(lines.len()) {
            record.fail(now, count(lines), false);
            return self.tell_journal_failed(&"its disk takes nothing");
        }
        record.bytes += lines.len() as u64;
        record.writer.put(WriteJob::Lines(lines.to_owned()));
        if record.bytes >= self.launch.config.journal.max_bytes {
            let open = self.recorder.open_line(now, Clock::wall(), env!("CARGO_PKG_VERSION"));
            self.journal.bytes = open.len() as u64;
            self.journal.writer.put(WriteJob::Rotate(open));
        }
    }

    fn tell_journal_failed(&mut self, why: &dyn std::fmt::Display) {
        log::log(format_args!("the journal misses lines from here on: {why}"));
        if !std::mem::replace(&mut self.journal.told, true) {
            self.events.push_back(Event::Degraded { part: "journal".to_owned() });
        }
    }

    /// Checks the results of the queued writes, and retries a journal that failed.
    pub(in crate::host) fn tend_journal(&mut self) {
        let now = self.clock.now();
        self.journal.put_log();
        if let Some(error) = self.journal.writer.take_failure() {
            self.journal.fail(now, 0, false);
            self.tell_journal_failed(&error);
        }
        let record = &mut self.journal;
        match record.standing {
            JournalState::On { resumed: Some(missing) } if record.writer.is_idle() => {
                record.standing = JournalState::On { resumed: None };
                record.pause = 0;
                let lines = missing.lines;
                self.notice(
                    DecisionKind::Degraded,
                    &format!("The journal is written again; {lines} lines of it are missing."),
                );
            }
            JournalState::Broken { again, .. } if again <= now => self.resume_journal(now),
            _ => {}
        }
    }

    fn resume_journal(&mut self, now: Stamp) {
        let JournalState::Broken { mut missing, again, pause } = std::mem::take(&mut self.journal.standing)
        else {
            return;
        };
        let lost = self.journal.writer.take_lost();
        missing.lines += lost;
        let opened = self.journal.writer.is_idle()
            && (self.journal.writer.journal_bytes().is_some() || self.open_journal().is_ok());
        if !opened {
            // The disk still hangs on the last write, or there is no file yet.
            let again = if again <= now { now.after(pause) } else { again };
            self.journal.standing = JournalState::Broken { missing, again, pause };
            return;
        }
        let open = self.recorder.resume_line(now, Clock::wall(), env!("CARGO_PKG_VERSION"), missing);
        self.journal.bytes = self.journal.writer.journal_bytes().unwrap_or(0) + open.len() as u64;
        self.journal.writer.put(WriteJob::Resume(open));
        self.journal.standing = JournalState::On { resumed: Some(missing) };
    }

    /// The journal's next deadline.
    pub(in crate::host) fn journal_deadline(&self, now: Stamp) -> Option<Stamp> {
        match &self.journal.standing {
            JournalState::Broken { again, .. } => Some(*again),
            JournalState::On { resumed: Some(_) } => Some(now.after(LOOK_MS)),
            JournalState::On { resumed: None } | JournalState::Off => {
                (!self.journal.writer.is_idle()).then(|| now.after(LOOK_MS))
            }
        }
    }
}
