//! What the loop knows of Claude's files, and when they are looked at: when inotify tells, when a call or a person asks, and where
//! nothing tells, every 250 ms, and more and more rarely while nothing happens. The looking itself is the [`Observer`]'s.

use std::path::{Path, PathBuf};

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use super::Host;
use super::keyboard::queued_way;
use super::looks::{Asked, Asking, Looks};
use super::observer::{Follow, Here, Observer, Piece, Seen, TranscriptSeen};
use super::save::Done;
use crate::core::claude::args::Facts as OwnArgs;
use crate::core::claude::carried::Way;
use crate::core::claude::facts::Facts;
use crate::core::claude::lines::LineSplitter;
use crate::core::claude::model::Model;
use crate::core::claude::statusline::StatusLine;
use crate::core::claude::tasks::Tasks;
use crate::core::compat::signals::SignalFile;
use crate::core::context::Fill;
use crate::core::figure::TokensFrom;
use crate::core::handoff::operation::{Cut, at_a_boundary};
use crate::core::ids::ConversationId;
use crate::core::supervisor::action::Want;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;
use crate::fs::paths::Paths;
use crate::fs::watch::pause;
use crate::ipc::message::ok_line;
use crate::sys::safe_file::{self, FileRule};

/// How long a call or a request waits for a look at what Claude wrote before it, in ms: a disk that hangs holds nobody.
const LOOK_MS: u64 = 150;
/// How long the thread waits for another look, in ms.
const REST_MS: u64 = 2000;

/// A conversation's transcript.
#[derive(Debug)]
pub(super) struct Following {
    pub conversation: ConversationId,
    /// Where it is, when that is known, and the bytes that were read of it.
    path: Option<PathBuf>,
    bytes: u64,
    splitter: LineSplitter,
    pub facts: Facts,
    pub(super) reported: Reported,
    /// Whether the supervisor was told that its turn is over.
    pub told_over: Option<bool>,
    /// Its file has not been read to its end yet.
    pub more: bool,
}

/// What the supervisor was told last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reported {
    tokens: Option<(u64, u64)>,
    queued: (u32, Option<Way>),
    prompted: bool,
    answered: bool,
    /// The failures that were looked at.
    pub failures: u64,
}

impl Following {
    fn new(conversation: ConversationId) -> Self {
        Following {
            conversation,
            path: None,
            bytes: 0,
            splitter: LineSplitter::new(),
            facts: Facts::new(),
            reported: Reported::default(),
            told_over: None,
            more: false,
        }
    }

    /// The transcript's path, when it is known.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Bytes read of it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Everything that is watched.
#[derive(Debug)]
pub(super) struct Watching {
    pub looks: Looks,
    pub following: Option<Following>,
    /// Claude's list of tasks as the conversation before left it: after a hand-over they share one (CONTRACT C14).
    pub tasks: Tasks,
    /// The model that Claude runs.
    pub model: Model,
    /// Where the conversation works, by its hooks, when that is not the session's directory.
    pub moved_to: Option<String>,
    /// What Claude's status line said last, and when.
    pub status_line: Option<(StatusLine, Stamp)>,
    /// The same of a conversation that no hook has named yet.
    pub early_line: Option<(StatusLine, Stamp)>,
    /// What `.context-status` was last given.
    pub status_file: String,
    /// Why the program could not be started.
    pub failure: Option<String>,
    pub own: OwnArgs,
    claude: bool,
    /// That nothing tells was said.
    pub told_polling: bool,
    /// No hook names the transcript: it must be found.
    pub hookless: bool,
    pub looked: Stamp,
}

impl Watching {
    pub fn new(observer: Observer, own: &OwnArgs, claude: bool) -> Self {
        Watching {
            looks: Looks::new(observer),
            following: None,
            tasks: Tasks::default(),
            model: Model::default(),
            moved_to: None,
            status_line: None,
            early_line: None,
            status_file: String::new(),
            failure: None,
            own: own.clone(),
            claude,
            told_polling: false,
            hookless: false,
            looked: Stamp(0),
        }
    }

    /// The child's sessions file from now on.
    pub fn child(&mut self, paths: &Paths, pid: i32) {
        if self.claude {
            let order = self.looks.want();
            (order.child, order.all) = (Some(paths.claude_session(pid)), true);
            self.model.run_begins();
        }
    }

    /// When to look although nothing tells. `changed` is when the screen last did.
    pub fn deadline(&self, changed: Stamp) -> Option<Stamp> {
        // Where Claude keeps a project's transcripts is not computed, and a directory that it makes is not watched yet.
        let unknown = self.hookless && self.following.as_ref().is_some_and(|following| following.path.is_none());
        let waits = self.claude && (unknown || self.looks.polls()) && self.looks.is_observer_here();
        waits.then(|| self.looked.after(pause(self.looked.since(changed))))
    }
}

impl Host {
    /// Has the observer look, when that is wanted and it is here.
    pub(super) fn send_observer(&mut self) {
        let now = self.clock.now();
        if self.look_deadline().is_some_and(|at| at <= now) {
            self.watching.looked = now;
            self.look();
        }
        self.go_on_unseen(now);
        if self.observer_rests_at().is_some_and(|at| at <= now) {
            self.observer.rest();
        }
        let Some((mut observer, order)) = self.watching.looks.lend(now, self.awaits_lines()) else { return };
        let here = Here {
            dir: self.dir.clone(),
            name: self.claim.name.clone(),
            session_dir: self.claim.dir.clone(),
            socket: self.socket.clone(),
        };
        self.observe(move || {
            // A look that fails costs what it would have seen.
            let seen = catch_unwind(AssertUnwindSafe(|| observer.look(order, &here))).unwrap_or_default();
            Done::Seen(observer, Box::new(seen))
        });
    }

    fn awaits_lines(&self) -> bool {
        self.prompts.deadline().is_some() || self.hooks.values().any(|call| call.awaits.is_some())
    }

    /// When the observer is to be sent, or no longer waited for.
    pub(super) fn observer_deadline(&self) -> Option<Stamp> {
        let lines = self.hooks.values().filter_map(|call| call.awaits).map(|(_, until)| until).min();
        let looks = self.watching.looks.deadline(self.clock.now(), self.awaits_lines());
        [looks, lines, self.prompts.deadline()].into_iter().flatten().min()
    }

    /// When the observer's thread ends, because nobody has needed it for a while.
    pub(super) fn observer_rests_at(&self) -> Option<Stamp> {
        (self.observer.fd().is_some() && !self.observer.is_busy()).then(|| self.watching.looks.lent().after(REST_MS))
    }

    /// Something changed somewhere: look at everything that is watched.
    pub(super) fn look(&mut self) {
        self.watching.looks.want().all = true;
    }

    /// The observer is back.
    pub(super) fn observed(&mut self, observer: Box<Observer>, seen: Seen) {
        self.watching.looks.came_back(observer, &seen);
        for event in seen.events {
            let event = match event {
                Event::Status { status, conversation, waiting_for } => {
                    let words = |words: String| self.rules().map_or(words.clone(), |rules| rules.waiting_for(&words));
                    Event::Status { status, conversation, waiting_for: waiting_for.map(words) }
                }
                event => event,
            };
            self.events.push_back(event);
        }
        if let Some(transcript) = seen.transcript {
            self.take_transcript(transcript);
        }
        if let Some(copy) = seen.backup {
            self.found_backup(copy);
        }
        if let Some(own) = seen.own {
            self.look_at_own_files(own);
            self.tell_polling();
        }
        self.tell_lines();
        self.go_on_unseen(self.clock.now());
    }

    /// Those whose look has come, and those who have waited long enough, go on.
    fn go_on_unseen(&mut self, now: Stamp) {
        if self.watching.looks.hangs(now) {
            let what = "Claude's files cannot be read, their disk does not answer: nothing is known of what Claude writes".to_owned();
            self.events.push_back(Event::Limited { what });
        }
        while let Some(Asking { connection, request, what, .. }) = self.watching.looks.next_due(now) {
            match what {
                Asked::Hook { event, payload, believed, .. } => self.hook_called(connection, request, &event, &payload, believed),
                Asked::Context => {
                    self.settle();
                    let line = ok_line(request, &self.explained());
                    self.send(connection, &line);
                }
            }
        }
        self.tell_late_lines(now);
    }

    /// A hook is called: what Claude wrote before is looked at first.
    pub(super) fn hook_asks(&mut self, connection: u64, request: u64, event: String, payload: Value) {
        let of = payload["session_id"].as_str().and_then(|id| id.parse::<ConversationId>().ok());
        // What it says of another conversation is believed only if Claude's own file says the same.
        self.watching.looks.want().sessions_file |= of.as_ref() != self.recorder.supervisor.conversation();
        if event == "SessionStart" {
            self.look_for_backup();
        }
        let named = payload["transcript_path"].as_str().map(PathBuf::from).zip(of);
        let number = self.watching.looks.check(named);
        self.ask_for_look(connection, request, Asked::Hook { number, event, payload, believed: false });
    }

    pub(super) fn context_asked(&mut self, connection: u64, request: u64) {
        self.ask_for_look(connection, request, Asked::Context);
    }

    fn ask_for_look(&mut self, connection: u64, request: u64, what: Asked) {
        // A hook gives up on a host that says nothing for long.
        let patience = LOOK_MS.min(self.launch.config.hooks.ack.ms() / 2);
        self.watching.looks.ask(self.clock.now().after(patience), connection, request, what);
        self.send_observer();
    }

    /// A signal was obeyed: its file is to go.
    pub(super) fn consume_signal(&mut self, file: SignalFile) {
        self.watching.looks.want().obeyed.push(file);
    }

    pub(super) fn follow(&mut self, conversation: &ConversationId, transcript: Option<&str>, anew: bool) {
        let known = self.watching.following.as_ref().is_some_and(|f| f.conversation == *conversation);
        if !known {
            if self.recorder.supervisor.restarts() > 0
                && !anew
                && let Some(before) = &self.watching.following
            {
                self.watching.tasks = before.facts.tasks().clone();
            }
            let mut following = Following::new(conversation.clone());
            following.facts = Facts::after(&self.watching.tasks);
            self.watching.following = Some(following);
            self.seek_carried();
        }
        if let Some((line, at)) = self.watching.early_line.take_if(|(line, _)| line.conversation == *conversation) {
            self.spoken(line, at);
        }
        let follow = Follow { conversation: conversation.clone(), transcript: transcript.map(PathBuf::from) };
        self.watching.looks.want().follow = Some(follow);
    }

    /// What is new in the transcript, and what it adds up to for the supervisor.
    fn take_transcript(&mut self, seen: TranscriptSeen) {
        let tasks = &self.watching.tasks;
        let Some(following) = self.watching.following.as_mut().filter(|following| following.conversation == seen.conversation) else {
            return;
        };
        let found = following.path.as_ref() != Some(&seen.path);
        if found {
            following.path = Some(seen.path);
            following.splitter = LineSplitter::new();
        }
        for piece in seen.pieces {
            match piece {
                Piece::Bytes(bytes) => {
                    let facts = &mut following.facts;
                    following.splitter.feed(&bytes, |line| facts.feed(line));
                }
                Piece::Anew => {
                    following.splitter.restart();
                    following.facts = Facts::after(tasks);
                }
            }
        }
        (following.bytes, following.more) = (seen.bytes, seen.more);
        if seen.more {
            self.watching.looks.want();
        }
        if found {
            self.write_current_session();
        }
        self.tell_transcript();
    }

    pub(super) fn tell_transcript(&mut self) {
        let figure = self.figure();
        let frame = self.frame.as_ref().map(|frame| frame.id.clone());
        // What stands in the middle of a long transcript is of long ago: its figures must not cross a level now.
        let Some(following) = self.watching.following.as_mut().filter(|following| !following.more) else { return };
        let conversation = following.conversation.clone();
        let facts = &following.facts;
        let told = &mut following.reported;
        let Fill { tokens, window, bytes } = figure.fill;
        // A guess decides nothing.
        if matches!(figure.tokens_from, TokensFrom::Transcript | TokensFrom::Statusline) && told.tokens != Some((tokens, window)) {
            told.tokens = Some((tokens, window));
            self.events.push_back(Event::Usage { conversation: conversation.clone(), tokens, window, bytes });
        }
        let queued = u32::try_from(persons(facts).count()).unwrap_or(u32::MAX);
        let carries = queued_way(persons(facts).next());
        if told.queued != (queued, carries) {
            told.queued = (queued, carries);
            self.events.push_back(Event::Queued { prompts: queued, carries });
        }
        if let Some(id) = &frame {
            if !told.prompted && facts.continued(id) {
                told.prompted = true;
                self.events.push_back(Event::Prompted { conversation: conversation.clone() });
            }
            if !told.answered && facts.answered(id) {
                told.answered = true;
                self.events.push_back(Event::Answered { conversation });
            }
        }
        self.tell_carried();
        self.write_context_status();
        self.tell_limit();
        self.tell_sent();
    }

    /// Hook calls whose lines have come.
    fn tell_lines(&mut self) {
        let Some(following) = self.watching.following.as_ref().filter(|following| !following.more) else {
            // The figure of a line is told when the file has been read to its end: the line must not be told before it.
            return;
        };
        let (facts, mut heard) = (&following.facts, false);
        for (id, waiting) in &mut self.hooks {
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
                self.events.push_back(Event::Lines { id: *id, found, cut: cut(want, Some(facts)) });
            }
        }
        if heard {
            self.hear_words();
        }
        self.tell_prompt_line(self.clock.now());
    }

    /// Hook calls whose time for that is over.
    fn tell_late_lines(&mut self, now: Stamp) {
        let facts = self.watching.following.as_ref().map(|following| &following.facts);
        for (id, waiting) in &mut self.hooks {
            if let Some((want, _)) = waiting.awaits.take_if(|(_, until)| *until <= now) {
                self.events.push_back(Event::Lines { id: *id, found: false, cut: cut(want, facts) });
            }
        }
        self.tell_prompt_line(now);
    }

    pub(super) fn await_lines(&mut self, id: u64, want: Want, until: Stamp) {
        match self.hooks.get_mut(&id) {
            _ if want == Want::Prompt => self.await_prompt(id, until),
            Some(call) => call.awaits = Some((want, until)),
            None => self.events.push_back(Event::Lines { id, found: false, cut: Cut::Free }),
        }
        self.tell_lines();
        self.watching.looks.want();
    }
}

/// What a stop now would cut in two.
fn cut(want: Want, facts: Option<&Facts>) -> Cut {
    facts.filter(|_| want == Want::Assistant).map_or(Cut::Free, |facts| at_a_boundary(facts).cut())
}

/// The prompts that a person has queued in Claude; Claude queues its own notifications in the same way.
pub(super) fn persons(facts: &Facts) -> impl Iterator<Item = &str> {
    facts.queued_prompts()
}

/// A settings file, when it is there and of a size that a person writes.
pub(super) fn read_settings(path: &Path) -> Option<String> {
    bounded(path, 1 << 20)
}

/// A project may have put a device or a pipe there, which would never end.
fn bounded(path: &Path, max: u64) -> Option<String> {
    safe_file::read_text(path, FileRule::of_claude(max)).ok().flatten()
}
