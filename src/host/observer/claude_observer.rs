//! What the observer learns from scans, hooks and the status line.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::growing_file_reader::FollowTranscript;
use super::growing_file_reader::{FileReader, ScanOrder, ScanResult, TranscriptRead};
use super::scan_queue::ScanQueue;
use super::scan_queue::{AfterScan, ScanWaiter};
use super::transcript_watch::TranscriptWatch;
use super::unwritten_turn_check::UnwrittenTurnCheck;
use super::{LateSave, Observer};
use crate::core::claude::args::OwnArgs;
use crate::core::claude::hooks::HookInput;
use crate::core::claude::language_model::LanguageModel;
use crate::core::claude::pasted_prompt::SentPrompt;
use crate::core::claude::tasks::Tasks;
use crate::core::claude::transcript_facts::TranscriptFacts;
use crate::core::config::Config;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::status_types::LAST_TURN_UNWRITTEN;
use crate::core::supervisor::action::RestartBy;
use crate::core::supervisor::event::{Event, HookEvent};
use crate::core::supervisor::restart_signal::SignalFile;
use crate::core::text::safe_text::cut_bytes;
use crate::core::time::Stamp;
use crate::fs::watch::{POLL_AT_REST_MS, POLL_MS, Watcher, pause};
use crate::ipc::message::RequestId;

/// How long a call or a request waits for a scan of Claude's earlier output, in ms: a hanging disk must not
/// block anything, and a hook gives up on a host that is silent for long.
const SCAN_MS: u64 = 150;
/// The longest working directory that is accepted from a hook, in bytes.
const MAX_DIR: usize = 4096;
/// How long a handoff waits for the lines of the last turn, and how often it looks for them, in ms. Claude
/// writes them up to 0.3 s late.
const LATE_SAVE_MS: u64 = 2000;
const LATE_LOOK_MS: u64 = 50;

impl Observer {
    pub fn new(reader: FileReader, own: &OwnArgs, claude: bool, config: &Config) -> Self {
        Observer {
            scans: ScanQueue::new(reader),
            transcript: None,
            tasks: Tasks::default(),
            unwritten_turn: UnwrittenTurnCheck::default(),
            late_save: None,
            prompt_before: None,
            name_before: None,
            dialog: None,
            model: LanguageModel::default(),
            working_dir: None,
            status_line: None,
            early_status_line: None,
            own: own.clone(),
            claude,
            configured_window: config.context.window,
            polling_reported: false,
            turns_by_transcript: false,
            polled: Stamp(0),
            patience_ms: SCAN_MS.min(config.hooks.ack.ms() / 2),
        }
    }

    /// The watch that reports changes, while no scan runs.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.scans.watcher().and_then(Watcher::fd)
    }

    /// A run has started; this is its sessions file.
    pub fn run_started(&mut self, sessions_file: PathBuf) {
        if self.claude {
            let order = self.scans.want();
            (order.child, order.all) = (Some(sessions_file), true);
            self.model.begin_run();
        }
    }

    /// Requests a scan of everything that is watched.
    pub fn scan_all(&mut self) {
        self.scans.want().all = true;
    }

    /// Requests a scan of the new part of the transcript.
    pub fn read_on(&mut self) {
        self.scans.want();
    }

    /// Requests a scan of the sessions file.
    fn scan_sessions_file(&mut self) {
        self.scans.want().sessions_file = true;
    }

    /// Requests a check whether layout `memory` has a copy that has not been reviewed.
    pub fn scan_backup(&mut self) {
        self.scans.want().backup = true;
    }

    /// A signal file was obeyed and must be removed.
    pub fn consume_signal(&mut self, file: SignalFile) {
        self.scans.want().obeyed.push(file);
    }

    /// The next deadline. `changed` is when the screen last changed; `lines` is set while a hook waits for
    /// lines of the transcript.
    pub fn deadline(&self, now: Stamp, changed: Stamp, lines: bool) -> Option<Stamp> {
        let watch = self.unwritten_turn.deadline().filter(|_| self.scans.is_reader_here());
        let save = self.late_save.as_ref().map(|save| save.look);
        [self.poll_deadline(changed), self.scans.deadline(now, lines), watch, save]
            .into_iter()
            .flatten()
            .min()
    }

    /// When to poll the files, if the file system reports no changes.
    fn poll_deadline(&self, changed: Stamp) -> Option<Stamp> {
        // hopty does not compute where Claude keeps a project's transcripts, and a new directory is not
        // watched yet.
        let unknown = self.turns_by_transcript
            && self.transcript.as_ref().is_some_and(|transcript| transcript.path().is_none());
        let waits = self.claude && (unknown || self.scans.polls()) && self.scans.is_reader_here();
        waits.then(|| self.polled.after(pause(self.polled.since(changed))))
    }

    /// Handles the deadlines that have passed.
    pub fn due(&mut self, now: Stamp, changed: Stamp, events: &mut VecDeque<Event>) {
        if self.poll_deadline(changed).is_some_and(|at| at <= now) {
            self.polled = now;
            self.scan_all();
        }
        self.report_hanging(now, events);
    }

    /// Reports a scan that does not finish.
    pub fn report_hanging(&mut self, now: Stamp, events: &mut VecDeque<Event>) {
        if self.scans.hangs(now) {
            let what = "Claude's files cannot be read (their disk does not answer): hopty does not see what \
                        Claude writes"
                .to_owned();
            events.push_back(Event::Limited { what });
        }
    }

    /// The reader and its order, if a scan is requested and the reader is idle. `lines` is set while a hook
    /// waits for lines of the transcript.
    pub fn begin_scan(&mut self, now: Stamp, lines: bool) -> Option<(Box<FileReader>, ScanOrder)> {
        self.scans.begin(now, lines)
    }

    /// When the last scan began.
    pub fn scan_began(&self) -> Stamp {
        self.scans.began()
    }

    /// The reader has finished its scan.
    pub fn end_scan(&mut self, reader: Box<FileReader>, result: &ScanResult) {
        self.scans.finish_scan(reader, result);
    }

    /// Reports once that the file system reports no changes, so that hopty notices a script's files later.
    pub fn report_polling(&mut self, events: &mut VecDeque<Event>) {
        if self.scans.polls() && !std::mem::replace(&mut self.polling_reported, true) {
            let what = format!(
                "Claude's files cannot be watched (this user has no inotify watches left): hopty reads them \
                 every {POLL_MS} ms, when idle every {POLL_AT_REST_MS} ms"
            );
            events.push_back(Event::Limited { what });
        }
    }

    /// A hook call waits for a scan that starts after it, which also checks the transcript that the call
    /// names. `followed`: the conversation that the supervisor knows.
    pub fn hook_waits(
        &mut self,
        now: Stamp,
        request_id: RequestId,
        event: String,
        payload: Value,
        followed: Option<&ConversationId>,
    ) {
        let of = payload["session_id"].as_str().and_then(|id| id.parse::<ConversationId>().ok());
        // A hook's claim about another conversation is believed only if Claude's own file agrees.
        if of.as_ref() != followed {
            self.scan_sessions_file();
        }
        let named = payload["transcript_path"].as_str().map(PathBuf::from).zip(of);
        let number = self.scans.check(named);
        let waiter = AfterScan::Hook { number, event, payload, believed: false };
        self.scans.ask(now.after(self.patience_ms), request_id, waiter);
    }

    /// `hopty context` waits for a scan that starts after it.
    pub fn context_waits(&mut self, now: Stamp, request_id: RequestId) {
        self.scans.ask(now.after(self.patience_ms), request_id, AfterScan::Context);
    }

    /// The next request whose scan has finished or whose time is up.
    pub fn next_waiter(&mut self, now: Stamp) -> Option<ScanWaiter> {
        self.scans.next_due(now)
    }

    /// A connection has closed: drops its requests, but no hook call.
    pub fn forget_connection(&mut self, connection: u64) {
        self.scans.forget(connection);
    }

    /// Takes the hook calls that wait for a scan.
    pub fn take_hooks(&mut self) -> Vec<ScanWaiter> {
        self.scans.take_hooks()
    }

    /// The followed transcript.
    pub fn transcript(&self) -> Option<&TranscriptWatch> {
        self.transcript.as_ref()
    }

    /// Its conversation and its path, once the path is known.
    pub fn found_transcript(&self) -> Option<(&ConversationId, &Path)> {
        let transcript = self.transcript.as_ref()?;
        Some((&transcript.conversation, transcript.path()?))
    }

    /// Its path, if known.
    pub fn transcript_path(&self) -> Option<&Path> {
        self.transcript.as_ref().and_then(TranscriptWatch::path)
    }

    pub fn transcript_mut(&mut self) -> Option<&mut TranscriptWatch> {
        self.transcript.as_mut()
    }

    /// Starts to look for a prompt in the transcript.
    pub fn seek(&mut self, sent: Option<SentPrompt>) {
        if let (Some(sent), Some(transcript)) = (sent, &mut self.transcript) {
            transcript.facts.proof.seek(sent);
        }
    }

    /// Stops looking for it.
    pub fn stop_seeking(&mut self) {
        if let Some(transcript) = &mut self.transcript {
            transcript.facts.proof.stop_seeking();
        }
    }

    pub fn facts(&self) -> Option<&TranscriptFacts> {
        self.transcript.as_ref().map(|transcript| &transcript.facts)
    }

    /// The followed transcript, once it has been read to its end.
    pub fn whole_transcript(&self) -> Option<&TranscriptWatch> {
        self.transcript.as_ref().filter(|transcript| transcript.is_whole())
    }

    pub fn whole_transcript_mut(&mut self) -> Option<&mut TranscriptWatch> {
        self.transcript.as_mut().filter(|transcript| transcript.is_whole())
    }

    /// A turn of the followed conversation begins. `is_known`: somebody certainly submitted its prompt.
    fn begin_turn(&mut self, is_known: bool) {
        let bytes = self.transcript.as_ref().map_or(0, TranscriptWatch::bytes);
        self.unwritten_turn.begin_turn(bytes, is_known);
    }

    /// Whether the transcript, as far as hopty has read it, lacks the last turn that ended.
    pub fn misses_last_turn(&self) -> bool {
        let bytes = self.transcript.as_ref().map_or(0, TranscriptWatch::bytes);
        self.scans.is_reader_here() && self.unwritten_turn.misses_last_turn(bytes)
    }

    /// Lets a handoff wait for the lines of the last turn, which may be late. `false`: none will come.
    pub fn postpone_save(&mut self, by: RestartBy, claim_for: &ConversationId, now: Stamp) -> bool {
        if !self.unwritten_turn.may_be_late() {
            return false;
        }
        self.read_on();
        let (look, until) = (now.after(LATE_LOOK_MS), now.after(LATE_SAVE_MS));
        self.late_save = Some(LateSave { by, claim_for: claim_for.clone(), look, until });
        true
    }

    /// No handoff waits any longer.
    pub fn forget_late_save(&mut self) {
        self.late_save = None;
    }

    /// The handoff that waits, if the lines are there or no longer waited for. The caller drops one whose
    /// hand-over was cancelled.
    pub fn take_late_save(&mut self, now: Stamp) -> Option<(RestartBy, ConversationId)> {
        let is_there = !self.misses_last_turn() && self.scans.is_reader_here();
        let save = self.late_save.as_mut()?;
        if is_there || now >= save.until {
            return self.late_save.take().map(|save| (save.by, save.claim_for));
        }
        if now >= save.look {
            save.look = now.after(LATE_LOOK_MS).min(save.until);
            self.read_on();
        }
        None
    }

    /// A sentence (without its full stop), once, if a turn is over and Claude has not written it to the
    /// transcript. A disk that does not answer is reported as such.
    pub fn standing_transcript(&mut self, now: Stamp) -> Option<String> {
        let bytes = self.transcript.as_ref().map_or(0, TranscriptWatch::bytes);
        if !(self.scans.is_reader_here() && self.unwritten_turn.is_unwritten(now, bytes)) {
            return None;
        }
        let what = match self.transcript_path() {
            Some(path) => format!("{} did not grow", path.display()),
            None => "there is none".to_owned(),
        };
        Some(format!(
            "{LAST_TURN_UNWRITTEN} ({what}): it can neither be resumed nor handed over. Check whether the disk \
             is full, and whether CLAUDE_CODE_SKIP_PROMPT_HISTORY is set"
        ))
    }

    /// A hook was called. `is_current`: by Claude itself in the followed conversation; `cwd`: the directory
    /// in the call; `dir`: the session's; `is_known`: somebody certainly submitted its prompt.
    pub fn take_hook(
        &mut self,
        call: &HookInput,
        [is_current, is_known]: [bool; 2],
        cwd: Option<&str>,
        dir: &Path,
        now: Stamp,
    ) {
        if is_current {
            if let Some(model) = &call.model {
                self.model.start(model);
            }
            match call.hook.event {
                HookEvent::UserPromptSubmit => self.begin_turn(is_known),
                HookEvent::Stop | HookEvent::StopFailure => self.unwritten_turn.end_turn(now),
                _ => {}
            }
            let elsewhere = cwd.filter(|cwd| cwd.starts_with('/') && Path::new(cwd) != dir);
            self.working_dir = elsewhere.map(|cwd| cut_bytes(cwd, MAX_DIR).to_owned());
        }
        self.note_dialog(call);
    }

    /// The person begins another job, to which the tasks of the previous one do not belong.
    pub fn forget_tasks(&mut self) {
        self.tasks = Tasks::default();
    }

    /// Follows a conversation. `hook_path` is the transcript from a hook call; `keeps_tasks` is set if the
    /// conversation continues the previous one's tasks. Returns whether the conversation changed.
    pub fn follow(
        &mut self,
        conversation: &ConversationId,
        hook_path: Option<&str>,
        keeps_tasks: bool,
    ) -> bool {
        let another =
            self.transcript.as_ref().is_none_or(|transcript| transcript.conversation != *conversation);
        if another {
            self.name_before = self.conversation_name().map(str::to_owned);
            if keeps_tasks && let Some(before) = &self.transcript {
                self.tasks = before.facts.tasks.list().clone();
                let last = before.facts.prompts.iter().last().map(|prompt| prompt.text.clone());
                self.prompt_before = last.or(self.prompt_before.take());
            } else {
                self.prompt_before = None;
            }
            self.transcript = Some(TranscriptWatch::new(conversation.clone(), &self.tasks));
            self.unwritten_turn.forget();
        }
        if let Some((line, at)) =
            self.early_status_line.take_if(|(line, _)| line.conversation == *conversation)
        {
            self.take_status_line(line, at);
        }
        let follow =
            FollowTranscript { conversation: conversation.clone(), transcript: hook_path.map(PathBuf::from) };
        self.scans.want().follow = Some(follow);
        another
    }

    /// Takes the result of a scan of the transcript. Returns `None` if it belongs to another conversation,
    /// otherwise whether the file was replaced.
    pub fn take_transcript(&mut self, read: TranscriptRead) -> Option<bool> {
        let transcript =
            self.transcript.as_mut().filter(|transcript| transcript.conversation == read.conversation)?;
        let more = read.more;
        let found = transcript.take(read, &self.tasks);
        if more {
            self.read_on();
        }
        Some(found)
    }

    /// Passes the totals of the transcript to the supervisor, but only once it has been read to its end: old
    /// counts must not cross a level now. Returns whether it has been read to its end.
    pub fn report_transcript(
        &mut self,
        now: Stamp,
        handoff: Option<&HandoffId>,
        events: &mut VecDeque<Event>,
    ) -> bool {
        let usage = self.context_usage(now);
        let Some(transcript) = self.whole_transcript_mut() else { return false };
        transcript.report(&usage, handoff, events);
        true
    }

    /// The model that the run was started with.
    pub fn started_model(&self) -> Option<&str> {
        self.model.started()
    }

    /// The model that the person switched to.
    pub fn switched_model(&self) -> Option<&str> {
        self.model.switched(self.own.model.as_deref(), self.answered_model())
    }

    /// The name that the person gave the conversation, or the one before it.
    pub fn conversation_name(&self) -> Option<&str> {
        let named = self.transcript.as_ref().and_then(|transcript| transcript.facts.settings.title());
        named.or(self.name_before.as_deref())
    }

    pub(super) fn answered_model(&self) -> Option<&str> {
        self.transcript.as_ref().and_then(|transcript| transcript.facts.window.model())
    }

    /// Claude's working directory as its hooks report it, when it differs from the session's.
    pub fn working_dir(&self) -> Option<&str> {
        self.working_dir.as_deref()
    }

    /// A run begins in the session's directory.
    pub fn forget_working_dir(&mut self) {
        self.working_dir = None;
    }
}
