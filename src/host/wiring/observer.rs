//! The observer's scans, and the events that they cause for the supervisor and the other parts.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde_json::{Value, json};

use crate::core::claude::transcript_facts::TranscriptFacts;
use crate::core::handoff::operation::{Cut, at_a_boundary};
use crate::core::ids::ConversationId;
use crate::core::status::{ContextStatus, LimitsStatus, ReachedLimit, Rfc3339};
use crate::core::supervisor::action::{DecisionKind, Want};
use crate::core::supervisor::event::Event;
use crate::core::supervisor::limits::LimitKind;
use crate::core::time::{Stamp, WallTime};
use crate::host::Host;
use crate::host::jobs::JobEvent;
use crate::host::observer::{
    AfterScan, FileReader, ScanResult, ScanWaiter, SessionFiles, TranscriptRead, time_left,
};
use crate::ipc::answers::ContextAnswer;
use crate::ipc::message::ok_line;

/// How long the screen must have been quiet before a turn without a hook counts as over, in ms.
const QUIET_MS: u64 = 2000;

/// How long a call or a request waits for a scan of Claude's earlier output, in ms: a hanging disk must not
/// block anybody.
const SCAN_MS: u64 = 150;
/// How long the thread waits for another scan, in ms.
const REST_MS: u64 = 2000;
/// How much earlier than the loop's clock expects a limit must reset to be reported again, in ms: that clock
/// stops while the machine sleeps.
const SLEPT_MS: u64 = 5000;

impl Host {
    /// Starts a scan if one is wanted and the reader is idle.
    pub(in crate::host) fn scan_when_due(&mut self) {
        let now = self.clock.now();
        self.observer.due(now, self.screen_changed(), &mut self.events);
        self.go_on_without_scan(now);
        self.tell_standing_transcript(now);
        if self.reader_rests_at().is_some_and(|at| at <= now) {
            self.jobs.rest_reader();
        }
        let Some((mut reader, order)) = self.observer.begin_scan(now, self.awaits_lines()) else { return };
        let session = SessionFiles {
            dir: self.session.dir.clone(),
            name: self.session.claim.name.clone(),
            session_dir: self.session.claim.dir.clone(),
            socket: self.control.socket().to_owned(),
        };
        self.jobs.read(move || {
            // A failed scan costs only its own findings.
            let result = catch_unwind(AssertUnwindSafe(|| reader.scan(order, &session))).unwrap_or_default();
            JobEvent::Scanned(reader, Box::new(result))
        });
    }

    /// Tells people that a turn is over and Claude has not written it down.
    fn tell_standing_transcript(&mut self, now: Stamp) {
        if !self.observer.transcript_stands(now) {
            return;
        }
        let path = self.observer.transcript().and_then(|transcript| transcript.path());
        let what = match path {
            Some(path) => format!("{} did not grow", path.display()),
            None => "there is none".to_owned(),
        };
        let what = format!(
            "Claude's last turn is not in its transcript ({what}): it can neither be resumed nor handed \
             over. Check whether the disk is \
             full, and whether CLAUDE_CODE_SKIP_PROMPT_HISTORY is set"
        );
        let text = format!("{what}.");
        self.notice(DecisionKind::Degraded, &text);
        self.notifier.queue.transcript_stands(now, text);
        self.events.push_back(Event::Limited { what });
    }

    fn awaits_lines(&self) -> bool {
        self.keyboard.carried.deadline().is_some() || self.control.hooks.await_lines()
    }

    /// When the screen last changed.
    fn screen_changed(&self) -> Stamp {
        self.child.run.as_ref().map_or(Stamp(0), |run| run.changed)
    }

    /// When to start a scan, or to stop waiting for one.
    pub(in crate::host) fn observer_deadline(&self) -> Option<Stamp> {
        let lines = self.control.hooks.lines_deadline();
        let scans = self.observer.deadline(self.clock.now(), self.screen_changed(), self.awaits_lines());
        [scans, lines, self.keyboard.carried.deadline()].into_iter().flatten().min()
    }

    /// When the reader's thread ends because nobody has needed it for a while.
    pub(in crate::host) fn reader_rests_at(&self) -> Option<Stamp> {
        self.jobs.reader_idles().then(|| self.observer.scan_began().after(REST_MS))
    }

    /// A scan is over.
    pub(in crate::host) fn scanned(&mut self, reader: Box<FileReader>, result: ScanResult) {
        self.observer.end_scan(reader, &result);
        for event in result.events {
            let event = match event {
                Event::Status { status, conversation, waiting_for } => {
                    let waiting_for = waiting_for.map(|words| self.child.waiting_for(words));
                    Event::Status { status, conversation, waiting_for }
                }
                event => event,
            };
            self.events.push_back(event);
        }
        if let Some(read) = result.transcript {
            self.take_transcript(read);
        }
        if let Some(copy) = result.backup {
            self.compat.copy_found(copy);
        }
        if let Some(own) = result.own {
            if self.session.misses(&own, self.jobs.journal.journal_id()) {
                self.control.rebind_soon(self.clock.now());
            }
            self.observer.report_polling(&mut self.events);
        }
        self.tell_lines();
        let now = self.clock.now();
        self.observer.report_hanging(now, &mut self.events);
        self.go_on_without_scan(now);
    }

    /// Continues the requests whose scan has finished or whose time is up.
    fn go_on_without_scan(&mut self, now: Stamp) {
        while let Some(ScanWaiter { connection, request, what, .. }) = self.observer.next_waiter(now) {
            match what {
                AfterScan::Hook { event, payload, believed, .. } => {
                    self.hook_called(connection, request, &event, &payload, believed)
                }
                AfterScan::Context => {
                    self.settle();
                    let line = ok_line(request, &self.explained());
                    self.send(connection, &line);
                }
            }
        }
        self.tell_late_lines(now);
    }

    /// A hook is called: Claude's earlier output is read first.
    pub(in crate::host) fn hook_asks(
        &mut self,
        connection: u64,
        request: u64,
        event: String,
        payload: Value,
    ) {
        let of = payload["session_id"].as_str().and_then(|id| id.parse::<ConversationId>().ok());
        // A hook's claim about another conversation is believed only if Claude's own file agrees.
        if of.as_ref() != self.recorder.supervisor.conversation() {
            self.observer.scan_sessions_file();
        }
        if event == "SessionStart" {
            self.look_for_backup();
        }
        let until = self.scan_patience();
        self.observer.hook_waits(until, (connection, request), event, payload);
        self.scan_when_due();
    }

    pub(in crate::host) fn context_asked(&mut self, connection: u64, request: u64) {
        let until = self.scan_patience();
        self.observer.context_waits(until, connection, request);
        self.scan_when_due();
    }

    /// Until when a request waits for a scan. A hook gives up on a host that is silent for long.
    fn scan_patience(&self) -> Stamp {
        self.clock.now().after(SCAN_MS.min(self.session.launch.config.hooks.ack.ms() / 2))
    }

    pub(in crate::host) fn follow(
        &mut self,
        conversation: &ConversationId,
        transcript: Option<&str>,
        anew: bool,
    ) {
        if anew {
            // Another job: the tasks and notes of the one before do not apply.
            self.observer.forget_tasks();
            self.jobs.lineage.predecessor = None;
        }
        let keeps_tasks = !anew && self.recorder.supervisor.restarts() > 0;
        if self.observer.follow(conversation, transcript, keeps_tasks) {
            self.seek_carried();
        }
    }

    /// Handles new lines of the transcript, and passes the totals to the supervisor.
    fn take_transcript(&mut self, read: TranscriptRead) {
        let Some(found) = self.observer.take_transcript(read) else { return };
        if found {
            self.write_current_session();
        }
        self.tell_transcript();
    }

    pub(in crate::host) fn tell_transcript(&mut self) {
        let handoff = self.jobs.brief.as_ref().map(|frame| &frame.id);
        if !self.observer.report_transcript(self.clock.now(), handoff, &mut self.events) {
            return;
        }
        self.tell_carried();
        self.write_context_status();
        self.observer.report_limit(&mut self.events);
        self.tell_sent();
    }

    /// Continues hook calls whose lines have come.
    fn tell_lines(&mut self) {
        // The usage of a line is reported once the file has been read to its end: the line must not be
        // reported earlier.
        let Some(transcript) = self.observer.whole_transcript() else { return };
        let (facts, mut heard) = (&transcript.facts, false);
        for (id, waiting) in self.control.hooks.iter_mut() {
            let Some((want, _)) = waiting.awaits else { continue };
            let uses = || waiting.call.tool_uses.iter().map(String::as_str);
            let found = match (want, &waiting.call.last_message) {
                (Want::Assistant, Some(text)) => facts.last_text_is(text),
                (Want::Assistant, None) => facts.has_assistant_with(uses()),
                (Want::Results, _) => facts.has_results(uses()),
                (Want::Prompt, _) => false,
            };
            if found {
                waiting.awaits = None;
                heard |= want == Want::Assistant;
                self.events.push_back(Event::Lines { id, found, cut: cut(want, Some(facts)) });
            }
        }
        if heard {
            self.hear_note();
        }
        self.tell_prompt_line(self.clock.now());
    }

    /// Continues hook calls whose time for their lines is up.
    fn tell_late_lines(&mut self, now: Stamp) {
        let facts = self.observer.transcript().map(|transcript| &transcript.facts);
        for (id, waiting) in self.control.hooks.iter_mut() {
            if let Some((want, _)) = waiting.awaits.take_if(|(_, until)| *until <= now) {
                self.events.push_back(Event::Lines { id, found: false, cut: cut(want, facts) });
            }
        }
        self.tell_prompt_line(now);
    }

    pub(in crate::host) fn await_lines(&mut self, id: u64, want: Want, until: Stamp) {
        match self.control.hooks.get_mut(id) {
            _ if want == Want::Prompt => self.keyboard.carried.await_line(id, until),
            Some(call) => call.awaits = Some((want, until)),
            None => self.events.push_back(Event::Lines { id, found: false, cut: Cut::Free }),
        }
        self.tell_lines();
        self.observer.read_on();
    }

    /// Tells the supervisor when a turn began or ended. An end requires a screen that has been quiet for a
    /// while: the lines of a message that is still being written look like its last.
    pub(in crate::host) fn tell_turn(&mut self) {
        let now = self.clock.now();
        self.observer.set_turns_by_transcript(self.recorder.supervisor.turns_by_transcript(now));
        let Some(over) = self.observer.turn_is_over(self.recorder.supervisor.turn_is_cut()) else { return };
        if over && (now < self.quiet_from() || self.view().is_some_and(|view| view.busy_hint == Some(true))) {
            return;
        }
        self.observer.report_turn(over, &mut self.events);
    }

    /// When an end that was not reported yet may be.
    pub(in crate::host) fn turn_deadline(&self, now: Stamp) -> Option<Stamp> {
        self.observer.turn_deadline(self.recorder.supervisor.turn_is_cut(), self.quiet_from(), now)
    }

    /// From when on the screen counts as quiet, if it does not change.
    fn quiet_from(&self) -> Stamp {
        self.screen_changed().after(QUIET_MS)
    }

    /// The machine may have slept: the wall clock decides when a limit is over.
    pub(in crate::host) fn tell_limit_anew(&mut self) {
        let supervisor = &self.recorder.supervisor;
        let (Some(limit), Some(conversation)) = (supervisor.limit(), supervisor.conversation()) else {
            return;
        };
        let left = time_left(limit.resets);
        if limit.reset.since(self.clock.now()) > left + SLEPT_MS {
            let conversation = conversation.clone();
            self.events.push_back(Event::UsageLimit {
                conversation,
                limit: limit.kind,
                left,
                resets: limit.resets,
            });
        }
    }

    /// The `limits` part of the session object.
    pub(in crate::host) fn limits(&self) -> LimitsStatus {
        let reached = self.recorder.supervisor.limit();
        let resets_at = |seconds: u64| Some(Rfc3339(WallTime::of_seconds(seconds)));
        LimitsStatus {
            reached: reached
                .map(|limit| ReachedLimit { kind: limit.kind.into(), resets_at: resets_at(limit.resets) }),
            five_hour: self.observer.limit_use(LimitKind::FiveHour),
            seven_day: self.observer.limit_use(LimitKind::SevenDay),
        }
    }

    /// The `context` part of the session object.
    pub(in crate::host) fn context(&self) -> ContextStatus {
        let now = self.clock.now();
        self.observer.context_usage(now).status(self.recorder.supervisor.level(), self.session.wall(now))
    }

    /// The same with every source that was tried.
    fn explained(&self) -> ContextAnswer {
        let transcript = self.observer.transcript().and_then(|transcript| transcript.path());
        let (levels, tried) =
            (self.recorder.supervisor.levels(), self.observer.tried_sources(self.clock.now()));
        let transcript = transcript.map(Path::to_owned);
        ContextAnswer { context: self.context(), tried: json!(tried), levels, transcript }
    }
}

/// What a stop now would interrupt.
fn cut(want: Want, facts: Option<&TranscriptFacts>) -> Cut {
    facts.filter(|_| want == Want::Assistant).map_or(Cut::Free, |facts| at_a_boundary(facts).cut())
}
