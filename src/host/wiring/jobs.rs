//! Results of jobs, and what is written: the journal, recordings, the session's file, notifications.

use crate::core::supervisor::action::DecisionKind;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::reported_state::SessionState;
use crate::core::text::visible::escaped;
use crate::fs::cast_file::{CastFile, CastFileError};
use crate::fs::session;
use crate::host::Host;
use crate::host::cast_recording::{CastOrder, UNASKED};
use crate::host::identity::RestoredFiles;
use crate::host::jobs::log::log;
use crate::host::jobs::{JobEvent, JournalEvent, recalled_ask_answer};
use crate::ipc::answers::RecordAnswer;
use crate::sys::clock::{self, Clock};

/// Results of jobs.
impl Host {
    pub(in crate::host) fn take_jobs(&mut self) {
        for event in self.jobs.take() {
            match event {
                JobEvent::Accepted(at, found) => {
                    self.jobs.code.accept_read(at, self.clock.now(), found);
                }
                JobEvent::Checked(number, found) => {
                    let changed = self.jobs.code.end_check(number, &found);
                    self.events.extend(changed.map(|changed| match found.gone() {
                        Some(dir) => Event::DirectoryGone { dir },
                        None => Event::Settings { changed },
                    }));
                }
                JobEvent::Scanned(reader, result) => self.scanned(reader, *result),
                JobEvent::Recalled(conversation, bytes) => {
                    let now = Clock::wall();
                    self.events.extend(recalled_ask_answer(&conversation, bytes.as_deref(), now));
                }
                JobEvent::LaunchSettings(run, read) => self.launch_settings_read(run, *read),
                JobEvent::Written(run, restored, given) => {
                    // A late result does not change the directory.
                    self.restored(*restored);
                    self.launch_files_written(run, given);
                }
                JobEvent::Restored(restored, listener) => {
                    self.restored(*restored);
                    if let Some(listener) = listener {
                        self.control.rebound(listener);
                        // A new directory is not watched yet.
                        self.observer.scan_all();
                    }
                }
                JobEvent::Renamed(request_id, name, done) => self.end_rename(request_id, name, done),
                JobEvent::Saved(mut brief, notices) => {
                    for text in std::mem::take(&mut brief.found) {
                        self.notice(DecisionKind::HandoffSaved, &text);
                    }
                    self.events.extend(notices.into_iter().map(|what| Event::Limited { what }));
                    self.events.push_back(Event::Saved { handoff: brief.id.clone(), mark: brief.mark });
                    self.session.channel.clone_from(&brief.made_in.1);
                    let work = self.compat.handoff_saved(brief.material.as_deref());
                    self.jobs.brief = Some(*brief);
                    self.do_compat(work);
                }
                JobEvent::NotSaved(error) => self.events.push_back(Event::SaveFailed { error }),
                JobEvent::Recorded(hook, saved, found) => {
                    let hooks = &mut self.control.hooks;
                    self.events.extend(self.jobs.settle_record(hooks, hook, saved, found.as_ref()));
                }
                JobEvent::Failed(error) => log(error),
                JobEvent::Limited(failed) => {
                    self.events.extend(failed.into_iter().map(|what| Event::Limited { what }))
                }
                JobEvent::Copied(due, made) => {
                    let made = made.unwrap_or_else(|what| {
                        self.events.push_back(Event::Limited { what });
                        None
                    });
                    self.compat.copied(&due, made);
                }
                JobEvent::Known(dirs) => self.jobs.code.know(dirs),
                JobEvent::CastOpened(number, opened, order) => self.cast_opened(number, opened, &order),
                JobEvent::Page(client, text) => {
                    self.on_terminals(|terminals, scene| terminals.show_page(client, &text, scene));
                }
                JobEvent::SharedConversation(conversation, other) => {
                    if let Some(what) = self.jobs.shared.take(conversation, other) {
                        self.notice(DecisionKind::Degraded, &format!("{what}."));
                        self.events.push_back(Event::Limited { what });
                    }
                }
                JobEvent::Quiet => {}
            }
        }
        self.jobs.rest();
    }

    /// The session's directory was restored, or nothing was missing.
    fn restored(&mut self, restored: RestoredFiles) {
        let RestoredFiles { claim, failed, lost, .. } = restored;
        if let Some(error) = failed {
            return log(format_args!("cannot recreate the session's directory: {error}"));
        }
        // A journal that was started meanwhile is not lost.
        let lost = lost.is_some_and(|id| self.jobs.journal.writes_to(id));
        if claim.is_none() && !lost {
            return;
        }
        if let Some(claim) = claim {
            self.session.claim = claim;
            let name = self.session.name();
            self.control.rebind_as(name, self.session.paths.socket(name));
            self.jobs.journal.moved(&self.session.claim.dir);
            log("the session's directory was gone and is recreated");
            self.write_session_file();
        }
        if lost {
            // The journal's file was deleted or moved away: start another one.
            self.jobs.renew_journal(&mut self.recorder, self.clock.now());
            let what = "The journal was deleted or moved: a new one continues from here".to_owned();
            self.events.push_back(Event::Limited { what });
        }
        self.observer.scan_all();
    }
}

impl Host {
    /// Reports changes in whether the journal is written.
    pub(in crate::host) fn take_journal_events(&mut self) {
        while let Some(event) = self.jobs.journal.next_event() {
            match event {
                JournalEvent::Failed => self.events.push_back(Event::Degraded { part: "journal".to_owned() }),
                JournalEvent::Resumed { missing } => self.notice(
                    DecisionKind::Degraded,
                    &format!("The journal continues; {missing} lines are missing."),
                ),
            }
        }
    }
}

/// The session's recording.
impl Host {
    /// The file of a recording was opened.
    pub(super) fn cast_opened(
        &mut self,
        number: u64,
        opened: Result<CastFile, CastFileError>,
        order: &CastOrder,
    ) {
        let (subject, picture) =
            (self.session.cast_subject(), self.child.cast_picture(self.session.launch.size));
        let opened = self.cast.opened(opened, self.exit.is_some());
        let begun = opened.and_then(|file| self.cast.begin(file, order, &subject, picture));
        if let Err(failure) = &begun
            && number == UNASKED
            && self.exit.is_none()
        {
            self.recording_failed(format!("The session is not recorded: {}", failure.message));
        }
        if let Some(request_id) = self.control.settle(number) {
            self.answer(request_id, begun.map(|()| RecordAnswer::of(&order.path)));
        }
    }

    /// The recording may have ended.
    pub(in crate::host) fn recording_ended(&mut self) {
        let Some(mut ended) = self.cast.take_end() else { return };
        for number in std::mem::take(&mut ended.stops) {
            if let Some(request_id) = self.control.settle(number) {
                self.answer(request_id, ended.answer());
            }
        }
        if ended.continues && self.exit.is_none() {
            // The next file begins with the whole picture.
            let (order, gone) = self.cast.next_own(&self.session.cast_subject());
            self.cast.begin_opening();
            self.jobs.open_recording(UNASKED, order, self.session.recordings(), gone);
        } else if let Some(what) = ended.failure() {
            self.recording_failed(what);
        }
    }

    fn recording_failed(&mut self, what: String) {
        let then = if self.exit.is_none() { " The session continues." } else { "" };
        self.notice(DecisionKind::Degraded, &format!("{what}.{then}"));
        self.events.push_back(Event::Limited { what });
    }
}

/// The session's file, and notifications.
impl Host {
    /// Saves what a restore needs when a turn begins, and the context usage when it ends: the host may be
    /// killed at any time.
    pub(in crate::host) fn note_turn(&mut self) {
        let entered = self.recorder.supervisor.entered().1;
        let state = self.recorder.supervisor.state().state;
        self.explanation.note(state);
        if self.jobs.session_file.note_state(entered)
            && matches!(state, SessionState::Busy | SessionState::Idle)
        {
            self.jobs.session_file.write_soon(self.clock.now());
            self.segment_may_differ();
            // The other session may have ended.
            if self.jobs.shared.is_known()
                && let Some(conversation) = self.recorder.supervisor.conversation()
            {
                let (paths, name) = (&self.session.paths, self.session.name());
                self.jobs.check_shared_conversation(paths, name, conversation);
            }
        }
    }

    /// Writes `session.json`, which outlives the host. The disk thread writes it, so that the loop does not
    /// wait.
    pub(in crate::host) fn write_session_file(&mut self) {
        self.jobs.session_file.written();
        let mut text = format!("{:#}", self.status().json());
        text.push('\n');
        self.jobs.journal.put_file(self.session.claim.dir.join(session::STATUS), escaped(&text).into_bytes());
    }

    /// Sends due notifications, and writes what attached terminals should get.
    pub(in crate::host) fn tend_notifications(&mut self) {
        self.notifier.take_done();
        let now = self.clock.now();
        if self.notifier.is_due(now) {
            if self.observer.turn_is_interrupted() {
                self.notifier.queue.interrupted();
            }
            let due = self.notifier.due(now, clock::day_ms());
            if !due.is_empty() {
                let status = self.status();
                for told in due {
                    let at = self.session.wall(told.at);
                    self.notifier.send(&told, at, &status);
                }
            }
        }
        if !self.notifier.terminal_bytes().is_empty() {
            let bytes = self.notifier.terminal_bytes().to_vec();
            let done = self.on_terminals(|terminals, scene| terminals.ring(&bytes, scene));
            self.notifier.note_written(done, now);
        }
    }
}
