//! The recording of a session, and the requests that wait for its start or end.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cast_thread::{CastEnd, CastRecording, masked};
use crate::core::cast::{CastEventKind, CastHeader};
use crate::core::ids::{ConversationId, SessionName};
use crate::core::status_types::{RecordingStatus, Rfc3339};
use crate::core::supervisor::action::{Decision, DecisionKind};
use crate::core::terminal::Size;
use crate::core::text::safe_text::{cut_chars, safe_line};
use crate::fs::cast_file::{CastFile, CastFileError, CastOpening};
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::answers::RecordAnswer;
use crate::ipc::message::{Code, Record, RequestError};
use crate::sys::clock::Clock;
use crate::sys::private_dir;

/// The longest file of a recording by default, in bytes.
const FILE_MAX: u64 = 1 << 30;
/// Prefix of the names of `record.auto`'s recordings.
const AUTO_PREFIX: &str = "auto-";
/// The longest label of a marker, in characters.
const LABEL_MAX: usize = 200;
/// Players shorten longer pauses to this many seconds.
const IDLE_LIMIT_S: f64 = 2.0;
/// Puts a terminal that shows the end of another recording into the state of a fresh one: ends an unfinished
/// sequence, resets it, and empties its history.
const FRESH: &[u8] = b"\x18\x1b\\\x1bc\x1b[3J";

/// The request number of a recording that no request started.
pub const UNASKED: u64 = u64::MAX;

/// The session that is recorded.
#[derive(Clone, Debug)]
pub struct CastSubject {
    pub name: SessionName,
    /// The command, without secrets.
    pub command: String,
    /// The directory for recordings without a file name, and whether it outlives the session.
    pub recordings: PathBuf,
    pub outlives: bool,
    /// The longest file of `record.auto`, in bytes.
    pub auto_max_bytes: u64,
}

impl CastSubject {
    fn not_recorded(&self) -> RequestError {
        let hint = format!("`hopty record {}` starts a recording", self.name);
        RequestError::new(Code::Refused, "the session is not being recorded", hint)
    }
}

/// The screen when a recording starts.
#[derive(Clone, Debug)]
pub struct CastPicture {
    pub size: Size,
    /// The terminal's type (`TERM`); empty if unknown.
    pub term: String,
    /// The bytes that draw it, in pieces.
    pub output: Vec<Vec<u8>>,
}

/// What to record, and into which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CastOrder {
    pub path: PathBuf,
    opening: CastOpening,
    /// Record what is typed, too.
    with_input: bool,
    /// The longest file, in bytes.
    max_bytes: u64,
}

impl CastOrder {
    /// Opens the file, after creating its directory if that is `own`.
    pub fn open(&self, own: &Path) -> Result<CastFile, CastFileError> {
        if self.path.parent() == Some(own) {
            // Ignored: creating the file shows whether the directory exists.
            let _ = private_dir::create(own);
        }
        CastFile::open(&self.path, self.opening, self.max_bytes)
    }
}

/// The session's recording, and the requests that wait for its start or end.
#[derive(Debug)]
pub struct SessionCast {
    clock: Clock,
    /// The recording in progress.
    current: Option<Box<CastRecording>>,
    /// The file of the next recording is being opened.
    opening: bool,
    /// Numbers of the requests that wait for its end.
    stops: Vec<u64>,
    /// The files of `record.auto`; the last is being written.
    own_files: Vec<PathBuf>,
    /// The conversation that the observer follows.
    conversation: Option<ConversationId>,
    /// A handoff was saved for the next conversation.
    is_handing_over: bool,
    /// How many hand-overs there have been.
    handovers: u32,
}

/// A recording that has ended.
#[derive(Debug)]
pub struct EndedCast {
    file: String,
    end: CastEnd,
    lasted_ms: u64,
    /// The requests that wait for the end.
    pub stops: Vec<u64>,
    /// The next file of `record.auto` will be opened.
    pub continues: bool,
}

impl EndedCast {
    /// The answer to those requests.
    pub fn answer(&self) -> Result<RecordAnswer, RequestError> {
        match &self.end.failure {
            None => Ok(RecordAnswer {
                file: self.file.clone(),
                bytes: Some(self.end.bytes),
                duration_ms: Some(self.lasted_ms),
            }),
            Some(why) => {
                let what = format!("the recording to {} has stopped: {why}", self.file);
                Err(RequestError::new(Code::Internal, what, "what was written can be played"))
            }
        }
    }

    /// Why it ended before it was stopped, as a sentence without the full stop.
    pub fn failure(&self) -> Option<String> {
        let why = self.end.failure.as_ref()?;
        Some(format!("The recording to {} has stopped: {why}", self.file))
    }
}

impl SessionCast {
    pub fn new(clock: Clock) -> Self {
        SessionCast {
            clock,
            current: None,
            opening: false,
            stops: Vec::new(),
            own_files: Vec::new(),
            conversation: None,
            is_handing_over: false,
            handovers: 0,
        }
    }

    /// Whether the session is being recorded.
    pub fn is_recording(&self) -> bool {
        self.current.is_some()
    }

    /// Readable when the recording has ended.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.current.as_ref().map(|recording| recording.fd())
    }

    /// Handles a request for a recording. Open its file now in a thread, because a disk may hang, and then
    /// call [`SessionCast::opened`].
    pub fn ask(
        &mut self,
        wanted: &Record,
        subject: &CastSubject,
        ended: bool,
    ) -> Result<CastOrder, RequestError> {
        if ended {
            return Err(RequestError::session_has_ended());
        }
        if let Some(recording) = &self.current {
            return Err(RequestError::new(
                Code::Busy,
                format!("it is being recorded to {} already", recording.path().display()),
                format!("`hopty record {} --stop` ends that recording", subject.name),
            ));
        }
        if self.opening {
            return Err(RequestError::new(Code::Busy, "another recording is about to begin", "try again"));
        }
        let order = SessionCast::order(wanted, subject)?;
        self.opening = true;
        Ok(order)
    }

    /// Turns a request into an order.
    fn order(wanted: &Record, subject: &CastSubject) -> Result<CastOrder, RequestError> {
        let opening = match (wanted.append, wanted.overwrite) {
            (false, false) => CastOpening::New,
            (true, false) => CastOpening::Append,
            (false, true) => CastOpening::Overwrite,
            (true, true) => {
                let what = "--append and --overwrite exclude each other";
                return Err(RequestError::new(Code::BadRequest, what, "use one of --append and --overwrite"));
            }
        };
        let path = match &wanted.file {
            Some(file) => PathBuf::from(file),
            None if !subject.outlives => {
                let what = "the session has no directory that outlives it";
                return Err(RequestError::new(Code::Refused, what, "name a file: -o FILE"));
            }
            None => subject.recordings.join(format!("{}.cast", file_time())),
        };
        if !path.is_absolute() {
            return Err(RequestError::new(
                Code::BadRequest,
                "the path is not absolute",
                "see docs/PROTOCOL.md",
            ));
        }
        let max_bytes = wanted.max_bytes.unwrap_or(FILE_MAX);
        Ok(CastOrder { path, opening, with_input: wanted.input, max_bytes })
    }

    /// The next file of `record.auto`, and one to delete: two are kept.
    pub fn next_own(&mut self, subject: &CastSubject) -> (CastOrder, Option<PathBuf>) {
        let path = subject.recordings.join(format!("{AUTO_PREFIX}{}.cast", file_time()));
        self.own_files.push(path.clone());
        let max_bytes = subject.auto_max_bytes / 2;
        let order = CastOrder { path, opening: CastOpening::New, with_input: false, max_bytes };
        let gone = (self.own_files.len() > 2).then(|| self.own_files.remove(0));
        (order, gone)
    }

    /// The file of the next recording is being opened.
    pub fn begin_opening(&mut self) {
        self.opening = true;
    }

    /// The file of a recording was opened.
    pub fn opened(
        &mut self,
        opened: Result<CastFile, CastFileError>,
        ended: bool,
    ) -> Result<CastFile, RequestError> {
        self.opening = false;
        match opened {
            Ok(_) if ended => Err(RequestError::session_has_ended()),
            opened => opened.map_err(|error| cast_failure(&error)),
        }
    }

    /// Starts a recording with the whole state of the screen, as a client that attaches now would get it.
    pub fn begin(
        &mut self,
        file: CastFile,
        order: &CastOrder,
        subject: &CastSubject,
        picture: CastPicture,
    ) -> Result<(), RequestError> {
        let (cols, rows) = picture.size.drawn();
        let header = CastHeader {
            term_type: Some(picture.term).filter(|term| !term.is_empty()),
            timestamp: u64::try_from(Clock::wall().0 / 1000).ok(),
            idle_time_limit: Some(IDLE_LIMIT_S),
            command: Some(subject.command.clone()),
            title: Some(subject.name.to_string()),
            ..CastHeader::new(cols, rows)
        };
        let continues = !file.is_empty();
        let recording = CastRecording::begin(file, order.path.clone(), &header, order.with_input, self.clock)
            .map_err(|error| {
                RequestError::new(Code::Internal, error.to_string(), "look at the free space of its disk")
            })?;
        if continues {
            recording.put(CastEventKind::Resize { cols, rows });
            recording.output(FRESH);
        }
        picture.output.iter().for_each(|bytes| recording.output(bytes));
        self.current = Some(Box::new(recording));
        Ok(())
    }

    /// Starts a recording before the program starts. Returns the message for the person.
    pub fn begin_now(
        &mut self,
        wanted: &Record,
        subject: &CastSubject,
        picture: CastPicture,
    ) -> Result<String, RequestError> {
        let order = SessionCast::order(wanted, subject)?;
        let file = order.open(&subject.recordings).map_err(|error| cast_failure(&error))?;
        self.begin(file, &order, subject, picture)?;
        Ok(format!("recording to {}", order.path.display()))
    }

    /// Starts the recording of `record.auto`. Returns why it cannot, which does not prevent the session.
    pub fn begin_own(&mut self, subject: &CastSubject, picture: CastPicture) -> Option<String> {
        let (order, _) = self.next_own(subject);
        let opened = order.open(&subject.recordings).map_err(|error| cast_failure(&error));
        let begun = opened.and_then(|file| self.begin(file, &order, subject, picture));
        begun.err().map(|failure| format!("the session is not recorded: {}", failure.message))
    }

    /// Handles a request to end the recording. It gets `number`, and is answered after
    /// [`SessionCast::take_end`].
    pub fn stop(&mut self, number: impl FnOnce() -> u64, subject: &CastSubject) -> Result<(), RequestError> {
        let recording = self.current.as_ref().ok_or_else(|| subject.not_recorded())?;
        recording.close();
        self.stops.push(number());
        Ok(())
    }

    /// The recording, if it has ended.
    pub fn take_end(&mut self) -> Option<EndedCast> {
        let end = self.current.as_ref()?.end()?;
        let recording = self.current.take()?;
        let is_own = self.own_files.last().is_some_and(|own| *own == recording.path());
        Some(EndedCast {
            file: recording.path().to_string_lossy().into_owned(),
            lasted_ms: recording.lasted_ms(),
            continues: end.is_full && is_own,
            stops: std::mem::take(&mut self.stops),
            end,
        })
    }

    /// `hopty mark`.
    pub fn mark(&self, label: &str, subject: &CastSubject) -> Result<RecordAnswer, RequestError> {
        let recording = self.current.as_ref().ok_or_else(|| subject.not_recorded())?;
        recording.put(CastEventKind::Marker(cut_chars(&safe_line(label), LABEL_MAX)));
        Ok(RecordAnswer::of(recording.path()))
    }

    /// Adds markers for what hopty itself does.
    pub fn decided(&mut self, decision: &Decision) {
        match decision.kind {
            DecisionKind::HandoffSaved => self.is_handing_over = true,
            DecisionKind::RestartCancelled => self.is_handing_over = false,
            _ => {}
        }
        let label = match decision.kind {
            DecisionKind::RunSpawned if decision.run > 1 => format!("run {}", decision.run),
            DecisionKind::HandoffSaved => match &decision.handoff {
                Some(id) => format!("handoff {id} saved"),
                None => "handoff saved".to_owned(),
            },
            DecisionKind::LevelCrossed => match decision.level {
                Some(level) => format!("level {}", level.word()),
                None => return,
            },
            DecisionKind::LimitReached => "usage limit reached".to_owned(),
            DecisionKind::LimitOver => "usage limit over".to_owned(),
            _ => return,
        };
        self.put(CastEventKind::Marker(label));
    }

    /// Adds a marker where another conversation begins.
    pub fn follow(&mut self, next: ConversationId) {
        let Some(last) = self.conversation.replace(next.clone()).filter(|last| *last != next) else { return };
        let label = if std::mem::take(&mut self.is_handing_over) {
            self.handovers += 1;
            format!("hand-over {}: {last} -> {next}", self.handovers)
        } else {
            format!("conversation {last} -> {next}")
        };
        self.put(CastEventKind::Marker(label));
    }

    /// Records output of the program.
    pub fn output(&self, bytes: &[u8]) {
        if let Some(recording) = &self.current {
            recording.output(bytes);
        }
    }

    /// Records a new size.
    pub fn resized(&self, size: Size) {
        let (cols, rows) = size.drawn();
        self.put(CastEventKind::Resize { cols, rows });
    }

    /// Records input to the program. `hidden`: its terminal does not echo the line.
    pub fn input(&self, bytes: &[u8], hidden: impl FnOnce() -> bool) {
        if self.current.as_ref().is_some_and(|recording| recording.with_input()) {
            let bytes = if hidden() { masked(bytes) } else { bytes.to_vec() };
            self.put(CastEventKind::Input(bytes));
        }
    }

    /// Records the program's exit code.
    pub fn exit(&self, code: u8) {
        if let Some(recording) = &self.current {
            recording.put(CastEventKind::Exit(i32::from(code)));
            recording.close();
        }
    }

    /// Waits up to `limit` for the last bytes of a recording that ends.
    pub fn wait(&self, limit: Duration) {
        if let Some(recording) = &self.current {
            recording.wait(limit);
        }
    }

    /// Ends the recording and waits up to `limit` for its last bytes.
    pub fn finish(&mut self, limit: Duration) {
        if let Some(recording) = self.current.take() {
            recording.close();
            recording.wait(limit);
        }
    }

    /// The `recording` part of the session status.
    pub fn status(&self) -> Option<RecordingStatus> {
        let recording = self.current.as_ref()?;
        Some(RecordingStatus {
            file: recording.path().to_string_lossy().into_owned(),
            since: Some(Rfc3339(recording.began())),
            bytes: recording.bytes(),
            input: recording.with_input(),
        })
    }

    fn put(&self, kind: CastEventKind) {
        if let Some(recording) = &self.current {
            recording.put(kind);
        }
    }
}

/// The error answer for a file that cannot be recorded into.
fn cast_failure(error: &CastFileError) -> RequestError {
    let code = match error {
        CastFileError::Unsafe(_) => Code::Internal,
        _ => Code::Refused,
    };
    RequestError::new(code, error.to_string(), error.hint())
}

/// The time as part of a file's name. A colon in a name looks like a host to rsync and scp.
fn file_time() -> String {
    Clock::wall().rfc3339_ms().replace(':', "-")
}

/// Removes the recordings of `record.auto` that are older than `days`.
pub fn remove_old(paths: &Paths, days: u32) {
    let limit = Duration::from_secs(u64::from(days) * 86_400);
    for listed in session::list(paths) {
        let dir = paths.session(&listed.name).join(session::RECORDINGS);
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
            if entry.file_name().to_string_lossy().starts_with(AUTO_PREFIX)
                && age.is_some_and(|age| age > limit)
            {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
#[path = "session_cast_tests.rs"]
mod tests;
