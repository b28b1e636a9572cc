//! The session's recording: begun and ended on request, and told what happens.

use std::path::PathBuf;
use std::time::Duration;

use nix::libc;

use crate::core::cast::{CastEventKind, CastHeader};
use crate::core::handoff::redact::redact_words;
use crate::core::handoff::text::{cut_chars, safe_line};
use crate::core::ids::ConversationId;
use crate::core::status::{RecordingStatus, Rfc3339};
use crate::core::supervisor::action::{Decision, DecisionKind};
use crate::core::supervisor::event::Event;
use crate::core::terminal::Size;
use crate::fs::cast_file::{CastFile, CastFileError, CastOpening};
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::host::Host;
use crate::host::cast_recording::{CastOrder, CastRecording, masked};
use crate::host::jobs::JobEvent;
use crate::host::session_exit::HostExit;
use crate::host::start::StartReport;
use crate::ipc::answers::RecordAnswer;
use crate::ipc::message::{Code, Failure, Record, error_line, ok_line};
use crate::sys::clock::Clock;
use crate::tty::modes;

/// The longest file of a recording by default, in bytes.
const FILE_MAX: u64 = 1 << 30;
/// What the names of recordings begin with that `record.auto` makes.
const AUTO_PREFIX: &str = "auto-";
/// The longest label of a marker, in characters.
const LABEL_MAX: usize = 200;
/// Players shorten longer pauses to this many seconds.
const IDLE_LIMIT_S: f64 = 2.0;
/// Puts a terminal that shows the end of another recording into the state of a fresh one: ends an unfinished
/// sequence, resets it, and empties its history.
const FRESH: &[u8] = b"\x18\x1b\\\x1bc\x1b[3J";

/// The number of a recording that nobody has asked for.
const UNASKED: u64 = u64::MAX;

/// The time as part of a file's name. A colon in a name looks like a host to rsync and scp.
fn file_time() -> String {
    Clock::wall().rfc3339_ms().replace(':', "-")
}

/// Removes the recordings of `record.auto` that are older than so many days.
fn remove_old(paths: &Paths, days: u32) {
    let limit = Duration::from_secs(u64::from(days) * 86_400);
    for (name, _) in session::list(paths) {
        let dir = paths.session(&name).join("recordings");
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

impl CastFileError {
    fn failure(&self) -> Failure {
        let code = match self {
            CastFileError::Unsafe(_) => Code::Internal,
            _ => Code::Refused,
        };
        Failure::new(code, self.to_string(), self.hint())
    }
}

impl Host {
    /// `hopty record NAME`.
    pub(super) fn record(&mut self, id: u64, request: u64, wanted: &Record) {
        let failure = match (&self.cast.current, self.exit, self.cast_order(wanted)) {
            (_, Some(_), _) => Failure::new(Code::Ended, "the session has ended", ""),
            (Some(recording), ..) => Failure::new(
                Code::Busy,
                format!("it is being recorded to {} already", recording.path().display()),
                format!("`hopty record {} --stop` ends that recording", self.claim.name),
            ),
            (None, ..) if self.cast.opening => {
                Failure::new(Code::Busy, "another recording is about to begin", "try again")
            }
            (None, None, Err(failure)) => failure,
            (None, None, Ok(order)) => {
                let number = self.control.owe(id, request);
                self.cast.opening = true;
                let own = self.own_recordings();
                // A disk may hang.
                self.jobs.work(move || JobEvent::CastOpened(number, order.open(&own), Box::new(order)));
                return;
            }
        };
        self.send(id, &error_line(request, &failure));
    }

    /// Where recordings are kept for which no file was named.
    fn own_recordings(&self) -> PathBuf {
        self.claim.dir.join("recordings")
    }

    fn cast_order(&self, wanted: &Record) -> Result<CastOrder, Failure> {
        let opening = match (wanted.append, wanted.overwrite) {
            (false, false) => CastOpening::New,
            (true, false) => CastOpening::Append,
            (false, true) => CastOpening::Overwrite,
            (true, true) => {
                let what = "--append and --overwrite exclude each other";
                return Err(Failure::new(Code::BadRequest, what, "use one of --append and --overwrite"));
            }
        };
        let path = match &wanted.file {
            Some(file) => PathBuf::from(file),
            None if self.private.is_some() => {
                let what = "the session has no directory that outlives it";
                return Err(Failure::new(Code::Refused, what, "name a file: -o FILE"));
            }
            None => self.own_recordings().join(format!("{}.cast", file_time())),
        };
        if !path.is_absolute() {
            return Err(Failure::new(Code::BadRequest, "the path is not absolute", "see docs/PROTOCOL.md"));
        }
        let max_bytes = wanted.max_bytes.unwrap_or(FILE_MAX);
        Ok(CastOrder { path, opening, with_input: wanted.input, max_bytes })
    }

    /// The file of a recording was opened.
    pub(in crate::host) fn cast_opened(
        &mut self,
        number: u64,
        opened: Result<CastFile, CastFileError>,
        order: CastOrder,
    ) {
        self.cast.opening = false;
        let begun = match opened {
            Ok(_) if self.exit.is_some() => Err(Failure::new(Code::Ended, "the session has ended", "")),
            Ok(file) => self.begin_cast(file, &order),
            Err(error) => Err(error.failure()),
        };
        if number == UNASKED
            && self.exit.is_none()
            && let Err(failure) = &begun
        {
            let what = format!("The session is not recorded: {}", failure.message);
            self.notice(DecisionKind::Degraded, &format!("{what}. The session continues."));
            self.events.push_back(Event::Limited { what });
        }
        let Some((id, request)) = self.control.settle(number) else { return };
        let line = match begun {
            Ok(()) => ok_line(request, &RecordAnswer::of(&order.path)),
            Err(failure) => error_line(request, &failure),
        };
        self.send(id, &line);
    }

    /// Starts the recording with the whole state of the screen, as for a terminal that attaches now.
    fn begin_cast(&mut self, file: CastFile, order: &CastOrder) -> Result<(), Failure> {
        let size = self.child.run.as_ref().map_or(self.launch.size, |run| run.size);
        let (cols, rows) = size.drawn();
        let mut command = vec![self.launch.called.clone()];
        command.extend(self.args.iter().map(|arg| arg.to_string_lossy().into_owned()));
        let header = CastHeader {
            term_type: Some(self.child.term()).filter(|term| !term.is_empty()),
            timestamp: u64::try_from(Clock::wall().0 / 1000).ok(),
            idle_time_limit: Some(IDLE_LIMIT_S),
            command: Some(redact_words(&command).join(" ")),
            title: Some(self.claim.name.to_string()),
            ..CastHeader::new(cols, rows)
        };
        let continues = !file.is_empty();
        let recording =
            CastRecording::begin(file, order.path.clone(), &header, order.with_input, &self.clock)
                .map_err(|error| Failure::new(Code::Internal, error.to_string(), ""))?;
        if continues {
            recording.put(CastEventKind::Resize { cols, rows }, &self.clock);
            recording.output(FRESH, &self.clock);
        }
        if let Some(run) = &mut self.child.run {
            if let Some(dump) = run.model.dump(usize::MAX) {
                let parts = [dump.history, dump.screen, dump.unfinished];
                recording.output(&parts.concat(), &self.clock);
            }
            if run.end.is_some() {
                recording.output(&run.undo(), &self.clock);
            }
        }
        self.cast.current = Some(Box::new(recording));
        Ok(())
    }

    /// `hopty record -- PROGRAM`: before the program starts. Returns the message for the person.
    pub(in crate::host) fn record_from_start(&mut self, wanted: &Record) -> Result<String, StartReport> {
        let failed =
            |failure: Failure| StartReport::failed(failure.code.exit(), failure.message, failure.hint);
        let order = self.cast_order(wanted).map_err(failed)?;
        let file = order.open(&self.own_recordings()).map_err(|error| failed(error.failure()))?;
        self.begin_cast(file, &order).map_err(failed)?;
        Ok(format!("recording to {}", order.path.display()))
    }

    /// Begins the recording that `record.auto` asks for. Returns why it cannot, which keeps no session from
    /// its start.
    pub(in crate::host) fn record_by_itself(&mut self) -> Option<String> {
        if !self.launch.config.record.auto || self.private.is_some() || self.cast.current.is_some() {
            return None;
        }
        let order = self.own_order();
        let opened = order.open(&self.own_recordings()).map_err(|error| error.failure());
        let begun = opened.and_then(|file| self.begin_cast(file, &order));
        let (paths, days) = (self.paths.clone(), self.launch.config.record.keep_days);
        self.jobs.work(move || {
            remove_old(&paths, days);
            JobEvent::Limited(Vec::new())
        });
        begun.err().map(|failure| format!("the session is not recorded: {}", failure.message))
    }

    /// The next file of `record.auto`.
    fn own_order(&mut self) -> CastOrder {
        let path = self.own_recordings().join(format!("{AUTO_PREFIX}{}.cast", file_time()));
        self.cast.own_files.push(path.clone());
        let max_bytes = self.launch.config.record.max_bytes / 2;
        CastOrder { path, opening: CastOpening::New, with_input: false, max_bytes }
    }

    /// Goes on in the next file of `record.auto`, which begins with the whole picture. Two files are kept.
    fn record_on(&mut self) {
        let order = self.own_order();
        let gone = (self.cast.own_files.len() > 2).then(|| self.cast.own_files.remove(0));
        self.cast.opening = true;
        let own = self.own_recordings();
        self.jobs.work(move || {
            gone.iter().for_each(|gone| drop(std::fs::remove_file(gone)));
            JobEvent::CastOpened(UNASKED, order.open(&own), Box::new(order))
        });
    }

    /// `hopty record --stop`.
    pub(super) fn stop_recording(&mut self, id: u64, request: u64) {
        match &self.cast.current {
            Some(recording) => {
                recording.close();
                let number = self.control.owe(id, request);
                self.cast.stops.push(number);
            }
            None => {
                let failure = self.not_recorded();
                self.send(id, &error_line(request, &failure));
            }
        }
    }

    fn not_recorded(&self) -> Failure {
        let hint = format!("`hopty record {}` starts a recording", self.claim.name);
        Failure::new(Code::Refused, "the session is not being recorded", hint)
    }

    /// The recording may have ended.
    pub(in crate::host) fn recording_ended(&mut self) {
        let Some(end) = self.cast.current.as_ref().and_then(|recording| recording.end()) else { return };
        let Some(recording) = self.cast.current.take() else { return };
        let file = recording.path().to_string_lossy().into_owned();
        for number in std::mem::take(&mut self.cast.stops) {
            let Some((id, request)) = self.control.settle(number) else { continue };
            let line = match &end.failure {
                None => {
                    let (bytes, duration_ms) = (Some(end.bytes), Some(recording.lasted_ms()));
                    ok_line(request, &RecordAnswer { file: file.clone(), bytes, duration_ms })
                }
                Some(why) => {
                    let what = format!("the recording to {file} has stopped: {why}");
                    error_line(request, &Failure::new(Code::Internal, what, "what was written can be played"))
                }
            };
            self.send(id, &line);
        }
        let is_own = self.cast.own_files.last().is_some_and(|own| *own == recording.path());
        if end.is_full && is_own && self.exit.is_none() {
            self.record_on();
        } else if let Some(why) = end.failure {
            let what = format!("The recording to {file} has stopped: {why}");
            self.notice(DecisionKind::Degraded, &format!("{what}. The session continues."));
            self.events.push_back(Event::Limited { what });
        }
    }

    /// `hopty mark`.
    pub(super) fn mark(&mut self, id: u64, request: u64, label: &str) {
        let line = match &self.cast.current {
            Some(recording) => {
                recording.put(CastEventKind::Marker(cut_chars(&safe_line(label), LABEL_MAX)), &self.clock);
                ok_line(request, &RecordAnswer::of(recording.path()))
            }
            None => error_line(request, &self.not_recorded()),
        };
        self.send(id, &line);
    }

    /// Marks what hopty itself does.
    pub(in crate::host) fn record_decision(&mut self, decision: &Decision) {
        match decision.kind {
            DecisionKind::HandoffSaved => self.cast.is_handing_over = true,
            DecisionKind::RestartCancelled => self.cast.is_handing_over = false,
            _ => {}
        }
        let Some(recording) = &self.cast.current else { return };
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
        recording.put(CastEventKind::Marker(label), &self.clock);
    }

    /// Marks where another conversation begins.
    pub(in crate::host) fn record_conversation(&mut self, next: ConversationId) {
        let Some(last) = self.cast.conversation.replace(next.clone()).filter(|last| *last != next) else {
            return;
        };
        let label = if std::mem::take(&mut self.cast.is_handing_over) {
            self.cast.handovers += 1;
            format!("hand-over {}: {last} -> {next}", self.cast.handovers)
        } else {
            format!("conversation {last} -> {next}")
        };
        if let Some(recording) = &self.cast.current {
            recording.put(CastEventKind::Marker(label), &self.clock);
        }
    }

    pub(super) fn record_size(&mut self, size: Size) {
        if let Some(recording) = &self.cast.current {
            let (cols, rows) = size.drawn();
            recording.put(CastEventKind::Resize { cols, rows }, &self.clock);
        }
    }

    /// Bytes that are typed into the child.
    pub(in crate::host) fn record_input(&mut self, bytes: &[u8]) {
        let Some(recording) = self.cast.current.as_ref().filter(|recording| recording.with_input()) else {
            return;
        };
        let hidden =
            self.child.run.as_ref().and_then(|run| modes::read(&run.pty).ok()).is_some_and(|modes| {
                modes.lflag & u64::from(libc::ICANON) != 0 && modes.lflag & u64::from(libc::ECHO) == 0
            });
        let bytes = if hidden { masked(bytes) } else { bytes.to_vec() };
        recording.put(CastEventKind::Input(bytes), &self.clock);
    }

    /// The session is over.
    pub(in crate::host) fn record_exit(&mut self, exit: HostExit) {
        if let Some(recording) = &self.cast.current {
            recording.put(CastEventKind::Exit(i32::from(exit.code())), &self.clock);
            recording.close();
        }
    }

    pub(super) fn recording_status(&self) -> Option<RecordingStatus> {
        let recording = self.cast.current.as_ref()?;
        Some(RecordingStatus {
            file: recording.path().to_string_lossy().into_owned(),
            since: Some(Rfc3339(recording.began())),
            bytes: recording.bytes(),
            input: recording.with_input(),
        })
    }
}
