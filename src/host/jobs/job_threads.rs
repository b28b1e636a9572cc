//! The threads of the host, and the results of their jobs.

use std::io;
use std::os::unix::net::UnixListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::Jobs;
use super::code_approval::CodeApproval;
use super::code_approval::CodeFound;
use super::handoffs::{Brief, RestartReason};
use super::inherited_handoff::InheritedHandoff;
use super::journal_queue::Journal;
use super::note_so_far::NoteState;
use super::session_file::SessionFile;
use super::shared_conversation::SharedConversation;
use crate::core::claude::settings_code::CodeDigest;
use crate::core::config::Config;
use crate::core::ids::{ConversationId, HandoffId, SessionName};
use crate::core::journal::JournalRecorder;
use crate::core::time::{Stamp, WallTime};
use crate::fs::atomic;
use crate::fs::cast_file::{CastFile, CastFileError};
use crate::fs::paths::Paths;
use crate::fs::session::SessionError;
use crate::host::cast_recording::{CastOrder, remove_old};
use crate::host::child::{LaunchFiles, LaunchSettings};
use crate::host::event_loop::PollToken;
use crate::host::identity::{RestoreOrder, RestoredFiles};
use crate::host::observer::{FileReader, ScanOrder, ScanResult, SessionFiles};
use crate::ipc::message::RequestId;
use crate::sys::clock::Clock;
use crate::sys::poll::{Interest, PollSet};
use crate::sys::worker::Worker;

/// hopty's version, as the journal states it.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How long the reader's thread waits for another scan, in ms.
const REST_MS: u64 = 2000;

/// The result of a job.
#[derive(Debug)]
pub enum JobEvent {
    /// A handoff is saved and claimed, with the store's notices for the person.
    Saved(Box<Brief>, Vec<String>),
    /// Saving it failed.
    NotSaved(String),
    /// The record for this PreCompact call is saved, or why it is not.
    Recorded(u64, Result<HandoffId, String>, Option<CodeFound>),
    /// A job in the background failed.
    Failed(String),
    /// The failed parts of a job that affect nothing else, in sentences.
    Limited(Vec<String>),
    /// The due copy of layout `memory` was made, if there was something to copy, or the error in a sentence.
    Copied(PathBuf, Result<Option<PathBuf>, String>),
    /// The settings that run code in the directories that Claude trusted when the session began.
    Known(Vec<(PathBuf, CodeDigest)>),
    /// The settings that a person accepted at that time.
    Accepted(Stamp, Vec<CodeFound>),
    /// The settings for a check.
    Checked(u64, CodeFound),
    /// The directory and the settings for this run.
    LaunchSettings(u32, Box<LaunchSettings>),
    /// The launch files of this run were written.
    Written(u32, Box<RestoredFiles>, io::Result<LaunchFiles>),
    /// The session's directory and its socket were restored.
    Restored(Box<RestoredFiles>, Option<UnixListener>),
    /// The session has its new name, for the request of this connection and number.
    Renamed(RequestId, SessionName, Result<PathBuf, SessionError>),
    /// A scan of Claude's files.
    Scanned(Box<FileReader>, Box<ScanResult>),
    /// The person's answer to an earlier host of this conversation.
    Recalled(ConversationId, Option<Vec<u8>>),
    /// The file of a recording, for the request with this number.
    CastOpened(u64, Result<CastFile, CastFileError>, Box<CastOrder>),
    /// The end of the conversation before the last hand-over, as a page for this client.
    Page(u64, String),
    /// The other session that runs this conversation, if there is one.
    SharedConversation(ConversationId, Option<SessionName>),
    /// A job in the background is done.
    Quiet,
}

impl Jobs {
    /// No thread runs yet. `dir`: where the journal will be.
    pub fn new(paths: &Paths, config: &Config, dir: &Path) -> Self {
        Jobs {
            worker: Worker::new("hopty-worker"),
            copier: Worker::new("hopty-copier"),
            reader: Worker::new("hopty-observer"),
            launch_writer: Worker::new("hopty-launch"),
            journal: Journal::new(config.journal.clone(), dir),
            session_file: SessionFile::default(),
            shared: SharedConversation::default(),
            reason: RestartReason::default(),
            note: NoteState::default(),
            brief: None,
            inherited: InheritedHandoff::default(),
            code: CodeApproval::default(),
            paths: paths.clone(),
            config: config.clone(),
        }
    }

    fn threads(&self) -> [&Worker<JobEvent>; 4] {
        [&self.worker, &self.copier, &self.reader, &self.launch_writer]
    }

    fn threads_mut(&mut self) -> [&mut Worker<JobEvent>; 4] {
        [&mut self.worker, &mut self.copier, &mut self.reader, &mut self.launch_writer]
    }

    /// Watches the threads for answers.
    pub fn register<'fd>(&'fd self, set: &mut PollSet<'fd, PollToken>) {
        for fd in self.threads().into_iter().filter_map(Worker::fd) {
            set.add(PollToken::Worker, fd, Interest::Read);
        }
    }

    /// Whether a job is waiting or running.
    pub fn are_busy(&self) -> bool {
        self.threads().into_iter().any(Worker::is_busy)
    }

    /// Whether there are answers that no descriptor reports.
    pub fn have_answers(&self) -> bool {
        self.threads().into_iter().any(Worker::has_done_here)
    }

    /// The results since the last call.
    pub fn take(&mut self) -> Vec<JobEvent> {
        self.threads_mut().into_iter().flat_map(Worker::take).collect()
    }

    /// Ends the idle threads that are used once per hand-over.
    pub fn rest(&mut self) {
        for worker in [&mut self.copier, &mut self.launch_writer] {
            worker.rest();
        }
    }

    /// When to end the reader's thread, which has been idle for a while. `scan_began`: when the last scan
    /// began.
    pub fn reader_stops_at(&self, scan_began: Stamp) -> Option<Stamp> {
        let idles = self.reader.fd().is_some() && !self.reader.is_busy();
        idles.then(|| scan_began.after(REST_MS))
    }

    /// Opens the journal of a session that began at this time, with its first line.
    ///
    /// # Errors
    /// When it cannot be opened. It is tried again later.
    pub fn begin_journal(
        &mut self,
        recorder: &mut JournalRecorder,
        began: WallTime,
        now: Stamp,
    ) -> io::Result<()> {
        self.journal.open(now)?;
        let open = recorder.open_line(Stamp(0), began, VERSION);
        self.write_journal(&open, recorder, now);
        Ok(())
    }

    pub fn write_journal(&mut self, lines: &str, recorder: &mut JournalRecorder, now: Stamp) {
        self.journal.write(lines, now, || recorder.open_line(now, Clock::wall(), VERSION));
    }

    /// Starts another journal file, because the old one was deleted or moved away.
    pub fn renew_journal(&mut self, recorder: &mut JournalRecorder, now: Stamp) {
        self.journal.renew(recorder.open_line(now, Clock::wall(), VERSION));
    }

    /// Handles the results of queued journal writes.
    pub fn tend_journal(&mut self, recorder: &mut JournalRecorder, now: Stamp) {
        self.journal.tend(now, |missing| recorder.resume_line(now, Clock::wall(), VERSION, missing));
    }

    /// Starts a scan of Claude's files.
    pub fn scan(&mut self, mut reader: Box<FileReader>, order: ScanOrder, session: SessionFiles) {
        self.read(move || {
            // A failed scan costs only its own findings.
            let result = catch_unwind(AssertUnwindSafe(|| reader.scan(order, &session))).unwrap_or_default();
            JobEvent::Scanned(reader, Box::new(result))
        });
    }

    /// Ends the reader's thread if it is idle.
    pub fn rest_reader(&mut self) {
        self.reader.rest();
    }

    /// Runs a job that a hand-over may wait for.
    pub fn work(&mut self, job: impl FnOnce() -> JobEvent + Send + 'static) {
        self.worker.submit(job);
    }

    /// Runs a job that may take long.
    pub fn copy(&mut self, job: impl FnOnce() -> JobEvent + Send + 'static) {
        self.copier.submit(job);
    }

    /// Runs a job that reads. A hanging disk never answers, so every caller has a deadline.
    pub fn read(&mut self, job: impl FnOnce() -> JobEvent + Send + 'static) {
        self.reader.submit(job);
    }

    /// Runs a job that writes launch files.
    pub fn write_launch(&mut self, job: impl FnOnce() -> JobEvent + Send + 'static) {
        self.launch_writer.submit(job);
    }

    /// Opens the file of a recording, for the request with this number. `own`: the session's own directory of
    /// recordings; `gone`: a file to remove first.
    pub fn open_recording(&mut self, number: u64, order: CastOrder, own: PathBuf, gone: Option<PathBuf>) {
        self.work(move || {
            gone.iter().for_each(|gone| drop(std::fs::remove_file(gone)));
            JobEvent::CastOpened(number, order.open(&own), Box::new(order))
        });
    }

    /// Removes the recordings of `record.auto` that are older than `days`.
    pub fn remove_old_recordings(&mut self, days: u32) {
        let paths = self.paths.clone();
        self.work(move || {
            remove_old(&paths, days);
            JobEvent::Limited(Vec::new())
        });
    }

    /// Checks that the session can be reached, and restores what is missing.
    pub fn restore_socket(&mut self, order: RestoreOrder) {
        self.write_launch(move || {
            let (restored, listener) = order.run_with_socket();
            JobEvent::Restored(Box::new(restored), listener)
        });
    }

    /// Replaces a small file.
    pub fn write_small(&mut self, path: PathBuf, text: String) {
        self.work(move || {
            let done = atomic::swap(&path, text.as_bytes());
            done.map_or_else(|e| JobEvent::Failed(e.to_string()), |()| JobEvent::Quiet)
        });
    }
}

/// For the laws: jobs run when the test says so.
#[cfg(test)]
impl Jobs {
    pub fn work_by_hand(&mut self) {
        self.threads_mut().into_iter().for_each(Worker::work_by_hand);
    }

    /// Runs a job of each thread that uses the session's own disk.
    pub fn do_next(&mut self) -> bool {
        self.worker.do_next() | self.copier.do_next()
    }

    /// Runs a job of the reader.
    pub fn do_next_read(&mut self) -> bool {
        self.reader.do_next()
    }

    /// Runs a job of the launch writer.
    pub fn do_next_launch(&mut self) -> bool {
        self.launch_writer.do_next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_is_written_and_its_failure_comes_out() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::from_env(|name| (name == "HOME").then(|| dir.path().into())).unwrap();
        let mut jobs = Jobs::new(&paths, &Config::default(), dir.path());
        jobs.work_by_hand();
        jobs.write_small(dir.path().join("file"), "text\n".to_owned());
        jobs.write_small(dir.path().join("missing/file"), String::new());
        assert!(jobs.are_busy() && jobs.do_next() && jobs.do_next() && !jobs.do_next());
        assert!(matches!(&jobs.take()[..], [JobEvent::Quiet, JobEvent::Failed(_)]));
        assert!(!jobs.are_busy());
        assert_eq!(std::fs::read_to_string(dir.path().join("file")).unwrap(), "text\n");
    }
}
