//! Claude's files: scans, the transcript's lines, and the records made of a conversation.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::core::compat::{CompatWork, MemoryReason};
use crate::core::handoff::capture::Capture;
use crate::core::handoff::manifest_entry::HandoffKind;
use crate::core::ids::ConversationId;
use crate::core::status_types::{ContextStatus, LAST_TURN_UNWRITTEN};
use crate::core::supervisor::action::{DecisionKind, RestartBy};
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::Phase;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::jobs::NoteState;
use crate::host::observer::{AfterScan, FileReader, ScanResult, ScanWaiter};
use crate::ipc::answers::ContextAnswer;
use crate::sys::clock::Clock;

impl Host {
    /// Starts a scan if one is wanted and the reader is idle.
    pub(in crate::host) fn scan_when_due(&mut self) {
        let now = self.clock.now();
        self.observer.due(now, self.child.screen_changed(), &mut self.events);
        self.go_on_without_scan(now);
        self.save_late(now);
        if let Some(what) = self.observer.standing_transcript(now) {
            let text = format!("{what}.");
            self.notice(DecisionKind::Degraded, &text);
            self.notifier.queue.transcript_is_behind(now, text);
            self.events.push_back(Event::Limited { what });
        }
        if self.jobs.reader_stops_at(self.observer.scan_began()).is_some_and(|at| at <= now) {
            self.jobs.rest_reader();
        }
        if let Some((reader, order)) = self.observer.begin_scan(now, self.awaits_lines()) {
            self.jobs.scan(reader, order, self.session.session_files(self.control.socket()));
        }
    }

    fn awaits_lines(&self) -> bool {
        self.keyboard.carried.deadline().is_some() || self.control.hooks.await_lines()
    }

    /// When to start a scan, or to stop waiting for one.
    pub(in crate::host) fn observer_deadline(&self, now: Stamp) -> Option<Stamp> {
        let scans = self.observer.deadline(now, self.child.screen_changed(), self.awaits_lines());
        let lines = self.control.hooks.lines_deadline();
        [scans, lines, self.keyboard.carried.deadline()].into_iter().flatten().min()
    }

    /// Handles the result of a scan.
    pub(super) fn scanned(&mut self, reader: Box<FileReader>, result: ScanResult) {
        self.observer.end_scan(reader, &result);
        for event in result.events {
            let event = match event {
                Event::Status { status, conversation, waiting_for } => {
                    let waiting_for = waiting_for.map(|words| self.child.waiting_for(words));
                    Event::Status { status, conversation, waiting_for }
                }
                Event::Signal { .. } => {
                    // Read the draft in the box before the supervisor decides.
                    self.read_claude_screen();
                    event
                }
                event => event,
            };
            self.events.push_back(event);
        }
        if let Some(is_found) = result.transcript.and_then(|read| self.observer.take_transcript(read)) {
            if is_found && let Some((conversation, path)) = self.observer.found_transcript() {
                let work = self.compat.transcript_found(conversation, &path.display().to_string());
                self.do_compat(work);
            }
            self.report_transcript_news();
        }
        if let Some(copy) = result.backup {
            self.compat.copy_found(copy);
        }
        let now = self.clock.now();
        if let Some(own) = result.own {
            if self.session.misses(&own, self.jobs.journal.journal_id()) {
                // Restored a moment later.
                self.control.rebind_soon(now);
            }
            self.observer.report_polling(&mut self.events);
        }
        self.report_awaited_lines();
        self.observer.report_hanging(now, &mut self.events);
        self.go_on_without_scan(now);
    }

    /// Continues the requests and hook calls whose scan has finished or whose time is up.
    fn go_on_without_scan(&mut self, now: Stamp) {
        while let Some(ScanWaiter { request_id, what, .. }) = self.observer.next_waiter(now) {
            match what {
                AfterScan::Hook { event, payload, believed, .. } => {
                    self.hook_called(request_id, &event, &payload, believed);
                }
                AfterScan::Context => {
                    self.settle();
                    let answer = ContextAnswer {
                        context: self.context(),
                        tried: json!(self.observer.tried_sources(self.clock.now())),
                        levels: self.recorder.supervisor.levels(),
                        transcript: self.observer.transcript_path().map(Path::to_owned),
                    };
                    self.answer(request_id, Ok(answer));
                }
            }
        }
        self.control.hooks.report_late_lines(now, self.observer.facts(), &mut self.events);
        let whole = self.observer.whole_transcript_mut();
        self.events.extend(self.keyboard.carried.report_line(now, whole));
    }

    pub(in crate::host) fn follow(
        &mut self,
        conversation: &ConversationId,
        transcript: Option<&str>,
        anew: bool,
    ) {
        if anew {
            // Another job begins: tasks and notes of the previous one do not apply.
            self.observer.forget_tasks();
            self.jobs.inherited.predecessor = None;
        }
        let keeps_tasks = !anew && self.recorder.supervisor.restarts() > 0;
        if self.observer.follow(conversation, transcript, keeps_tasks) {
            let run = self.recorder.supervisor.run();
            self.observer.seek(self.keyboard.carried.sought(run, Clock::wall()));
        }
    }

    /// Reports what is new in the transcript to the supervisor.
    pub(super) fn report_transcript_news(&mut self) {
        let handoff = self.jobs.brief.as_ref().map(|brief| &brief.id);
        if !self.observer.report_transcript(self.clock.now(), handoff, &mut self.events) {
            return;
        }
        if let Some(facts) = self.observer.facts() {
            self.keyboard.unrecorded.read(facts);
        }
        self.report_carried_prompt();
        let (observer, supervisor, now) = (&self.observer, &self.recorder.supervisor, self.clock.now());
        let work = self.compat.context_usage(|| (observer.context_usage(now).fill, supervisor.levels()));
        self.do_compat(work);
        self.observer.report_limit(&mut self.events);
        self.events.extend(self.keyboard.queue.report(self.observer.transcript_mut()));
    }

    /// Reports the transcript's evidence for the prompt that began the conversation.
    pub(in crate::host) fn report_carried_prompt(&mut self) {
        let (run, transcript) = (self.recorder.supervisor.run(), self.observer.transcript_mut());
        self.events.extend(self.keyboard.carried.report(run, transcript));
    }

    /// Continues hook calls whose lines have arrived.
    pub(super) fn report_awaited_lines(&mut self) {
        // The usage of a line is reported once the file has been read to its end: a hook call must not
        // continue earlier.
        let Some(transcript) = self.observer.whole_transcript_mut() else { return };
        if self.control.hooks.report_lines(&transcript.facts, &mut self.events) {
            self.jobs.update_note(Some(&transcript.facts));
        }
        self.events.extend(self.keyboard.carried.report_line(self.clock.now(), Some(transcript)));
    }

    /// Reports the start or end of a turn to the supervisor. An end requires a screen that has been quiet for
    /// a while: the lines of a message that is still being written look like its last.
    pub(in crate::host) fn report_turn_change(&mut self) {
        let now = self.clock.now();
        self.observer.set_turns_by_transcript(self.recorder.supervisor.turns_by_transcript(now));
        let Some(over) = self.observer.turn_is_over(self.recorder.supervisor.turn_is_cut()) else { return };
        let is_busy = |host: &mut Host| {
            host.child.view(&mut host.events).is_some_and(|view| view.busy_hint == Some(true))
        };
        if over && (now < self.child.quiet_from() || is_busy(self)) {
            return;
        }
        self.observer.report_turn(over, &mut self.events);
    }

    /// The `context` part of the session status.
    pub(in crate::host) fn context(&self) -> ContextStatus {
        let now = self.clock.now();
        self.observer.context_usage(now).status(self.recorder.supervisor.level(), self.session.wall(now))
    }
}

impl Host {
    /// The data on the conversation for its record.
    fn capture(&self, conversation: ConversationId, kind: HandoffKind, reason: String) -> Capture {
        let (path, before) = (self.observer.transcript_path(), self.jobs.inherited.predecessor.clone());
        let origin = self.session.origin(conversation, kind, path, before);
        let (fill, moved_to) = (self.recorder.supervisor.fill(), self.observer.working_dir());
        self.jobs.capture(origin, self.observer.facts(), fill, reason, moved_to)
    }

    /// Saves a record of the conversation before a compaction shortens it.
    pub(super) fn save_before_compaction(&mut self, hook: u64) {
        let supervisor = &self.recorder.supervisor;
        let Some(conversation) = supervisor.conversation().cloned() else {
            let failed = Err("no conversation is known".to_owned());
            return self.events.extend(self.jobs.settle_record(&mut self.control.hooks, hook, failed, None));
        };
        let reason = "Claude was about to compact its context.".to_owned();
        let mut capture = self.capture(conversation, HandoffKind::Auto, reason);
        // Its queue stays with the conversation.
        capture.situation.queued.clear();
        let own = self.jobs.own_files(self.child.pid(), self.session.began);
        let code = self.session.next_found(supervisor.next_dir());
        self.jobs.save_record(hook, capture, self.session.dir.clone(), own, code);
    }

    pub(in crate::host) fn save(&mut self, by: RestartBy, claim_for: &ConversationId) {
        self.observer.forget_late_save();
        let Some(conversation) = self.recorder.supervisor.conversation().cloned() else {
            self.events.push_back(Event::SaveFailed { error: "no conversation is known".to_owned() });
            return;
        };
        if self.observer.misses_last_turn() {
            if !self.observer.postpone_save(by, claim_for, self.clock.now()) {
                self.events.push_back(Event::SaveFailed { error: LAST_TURN_UNWRITTEN.to_owned() });
            }
            return;
        }
        let draft = self.child.draft_text(&mut self.events);
        let kind = match by {
            RestartBy::Level => HandoffKind::Auto,
            RestartBy::Signal => HandoffKind::Signal,
            RestartBy::Command => HandoffKind::Manual,
        };
        let mut capture = self.capture(conversation, kind, self.jobs.reason.sentence.clone());
        capture.situation.draft = draft;
        capture.situation.queue_follows = true;
        self.jobs.update_note(self.observer.facts());
        if let NoteState::Said(note) = std::mem::take(&mut self.jobs.note) {
            capture.summary = Some(note.text());
            capture.note = Some(note);
        }
        let situation = &mut capture.situation;
        situation.queued_by_nobody = self.keyboard.draft.take_foreign(&mut situation.queued);
        self.name_images(&mut situation.queued);
        let queued = situation.queued.iter().map(String::as_str).collect();
        self.keyboard.carried.found_queued(self.recorder.supervisor.run(), queued);
        let own = self.jobs.own_files(self.child.pid(), self.session.began);
        let (dir, material) = (self.session.dir.clone(), self.compat.needs_material());
        let next = self.recorder.supervisor.next_dir().map(PathBuf::from);
        self.jobs.save_handoff(capture, claim_for, (dir, next), own, material);
    }

    /// Saves the handoff that waited for the lines of the last turn, or gives it up.
    fn save_late(&mut self, now: Stamp) {
        let Some((by, claim_for)) = self.observer.take_late_save(now) else { return };
        if !matches!(self.recorder.supervisor.phase(), Phase::Saving { .. }) {
            return;
        }
        if self.observer.misses_last_turn() {
            self.events.push_back(Event::SaveFailed { error: LAST_TURN_UNWRITTEN.to_owned() });
        } else {
            self.save(by, &claim_for);
        }
    }

    /// Does what one of the source documents' own forms asks for. A failure never delays a hand-over and
    /// becomes a line of the journal.
    pub(in crate::host) fn do_compat(&mut self, work: Option<CompatWork>) {
        let Some(work) = work else { return };
        let place = self.session.layout_place(self.child.pid(), self.observer.transcript_path());
        let conversation = self.observer.transcript().map(|transcript| transcript.conversation.clone());
        let capture = match work {
            CompatWork::CopyTranscript(..) => {
                conversation.map(|of| self.capture(of, HandoffKind::Auto, String::new()))
            }
            _ => None,
        };
        self.jobs.do_compat(work, place, capture);
    }

    pub(in crate::host) fn copy_transcript(
        &mut self,
        conversation: Option<&ConversationId>,
        reason: MemoryReason,
    ) {
        // There is nothing to copy of a transcript that was never read.
        let known = self.observer.transcript().is_some_and(|transcript| {
            Some(&transcript.conversation) == conversation
                && transcript.bytes() > 0
                && transcript.path().is_some()
        });
        if known {
            let work = self.compat.copy(conversation, reason, &self.session.dir, Clock::wall());
            self.do_compat(work);
        }
    }
}
