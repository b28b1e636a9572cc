//! The files that say what Claude does: its transcript, its sessions file, the signal file. Read when inotify tells; where
//! nothing tells, every 250 ms, and more and more rarely while nothing happens.

use std::path::{Path, PathBuf};

use super::{Host, polling};
use crate::claude::sessions_file::{self, Said};
use crate::core::claude::args::Facts as OwnArgs;
use crate::core::claude::facts::Facts;
use crate::core::claude::lines::LineSplitter;
use crate::core::claude::model::Model;
use crate::core::claude::statusline::StatusLine;
use crate::core::claude::tasks::Tasks;
use crate::core::context::Fill;
use crate::core::figure::TokensFrom;
use crate::core::handoff::operation::{Cut, at_a_boundary};
use crate::core::ids::ConversationId;
use crate::core::supervisor::action::Want;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;
use crate::fs::paths::Paths;
use crate::fs::tail::{Found, Tail};
use crate::fs::watch::{Watcher, pause};
use crate::safe_file::{self, FileRule};

/// How often the transcript is looked at while a hook waits for its lines, in ms: Claude's own flush comes every 100.
const AWAIT_LOOK_MS: u64 = 5;
/// Bytes of the transcript that are read in one turn of the loop, so that keys never wait for a large file.
const SLICE: usize = 1 << 18;

/// A conversation's transcript.
#[derive(Debug)]
pub(super) struct Following {
    pub conversation: ConversationId,
    tail: Option<Tail>,
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
    queued: u32,
    prompted: bool,
    answered: bool,
    /// The failures that were looked at.
    pub failures: u64,
}

impl Following {
    fn new(conversation: ConversationId) -> Self {
        Following {
            conversation,
            tail: None,
            splitter: LineSplitter::new(),
            facts: Facts::new(),
            reported: Reported::default(),
            told_over: None,
            more: false,
        }
    }

    /// The transcript's path, when it is known.
    pub fn path(&self) -> Option<&Path> {
        self.tail.as_ref().map(Tail::path)
    }

    /// Bytes read of it.
    pub fn bytes(&self) -> u64 {
        self.tail.as_ref().map_or(0, Tail::offset)
    }
}

/// Everything that is watched.
#[derive(Debug)]
pub(super) struct Watching {
    pub watcher: Watcher,
    pub following: Option<Following>,
    /// The goal of the chain, inherited by every conversation after the first.
    pub goal: Option<String>,
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
    sessions_file: Option<PathBuf>,
    said: Option<Said>,
    pub signals: super::signal_file::Signals,
    pub own: OwnArgs,
    claude: bool,
    needs_poll: bool,
    /// That nothing tells was said.
    pub told_polling: bool,
    /// No hook names the transcript: it must be found.
    pub hookless: bool,
    pub looked: Stamp,
}

impl Watching {
    pub fn new(paths: &Paths, own: &OwnArgs, claude: bool) -> Self {
        let mut watching = Watching {
            watcher: polling::watcher(),
            following: None,
            goal: None,
            tasks: Tasks::default(),
            model: Model::default(),
            moved_to: None,
            status_line: None,
            early_line: None,
            status_file: String::new(),
            failure: None,
            sessions_file: None,
            said: None,
            signals: super::signal_file::Signals::default(),
            own: own.clone(),
            claude,
            needs_poll: false,
            told_polling: false,
            hookless: false,
            looked: Stamp(0),
        };
        if claude {
            watching.watch_dir(&paths.claude.clone());
        }
        watching.watcher.add(&paths.run());
        watching
    }

    /// Watches a directory, or the nearest one above it that exists, until it does.
    pub fn watch_dir(&mut self, dir: &Path) {
        let nearest = || dir.ancestors().find(|at| at.is_dir());
        let mut at = nearest();
        while let Some(found) = at {
            self.watcher.add(found);
            self.needs_poll |= !self.watcher.covers(found);
            // What was made between the look and the watch told nobody: look again.
            let now = nearest();
            if now == at {
                break;
            }
            at = now;
        }
    }

    /// The child's sessions file from now on.
    pub fn child(&mut self, paths: &Paths, pid: i32) {
        if self.claude {
            let file = paths.claude_session(pid);
            if let Some(dir) = file.parent() {
                self.watch_dir(dir);
            }
            self.sessions_file = Some(file);
            self.said = None;
            self.model.run_begins();
        }
    }

    pub fn has_more(&self) -> bool {
        self.following.as_ref().is_some_and(|f| f.more)
    }

    /// When to look although nothing tells. `changed` is when the screen last did.
    pub fn deadline(&self, changed: Stamp) -> Option<Stamp> {
        // Where Claude keeps a project's transcripts is not computed, and a directory that it makes is not watched yet.
        let unknown = self.hookless && self.following.as_ref().is_some_and(|following| following.tail.is_none());
        (self.claude && (unknown || self.polls())).then(|| self.looked.after(pause(self.looked.since(changed))))
    }

    pub fn polls(&self) -> bool {
        self.needs_poll || self.watcher.is_blind()
    }
}

impl Host {
    /// What is looked at by time: a hook that waits for lines, a large file read in slices, places where nothing tells.
    pub(super) fn look_without_being_told(&mut self) {
        let now = self.clock.now();
        if self.look_deadline().is_some_and(|at| at <= now) {
            self.watching.looked = now;
            if self.watching.watcher.is_blind() {
                // Another session may have ended and given one back.
                self.watching.watcher = polling::watcher();
            }
            self.look();
            self.tell_polling();
        } else if self.watching.has_more() || self.hooks.values().any(|call| call.awaits.is_some()) {
            self.pump_transcript();
        }
    }

    /// Something changed somewhere: look at everything that is watched.
    pub(super) fn look(&mut self) {
        self.watching.needs_poll = false;
        if self.watching.claude {
            self.watching.watch_dir(&self.paths.claude);
        }
        self.watching.watcher.add(&self.paths.run());
        self.look_at_sessions_file();
        self.look_at_signals();
        self.pump_transcript();
        self.look_at_socket();
        self.look_at_session_dir();
    }

    pub(super) fn look_at_sessions_file(&mut self) {
        let Some(path) = self.watching.sessions_file.clone() else { return };
        if let Some(dir) = path.parent() {
            self.watching.watch_dir(dir);
        }
        let said = sessions_file::read(&path);
        if said == self.watching.said || said.is_none() {
            return;
        }
        self.watching.said.clone_from(&said);
        if let Some(Said { status: Some(status), conversation, waiting_for }) = said {
            let waiting_for = waiting_for.map(|words| self.rules().map_or(words.clone(), |rules| rules.waiting_for(&words)));
            self.events.push_back(Event::Status { status, conversation, waiting_for });
        }
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
            following.facts = Facts::after(self.watching.goal.as_deref(), &self.watching.tasks);
            self.watching.following = Some(following);
        }
        if let Some((line, at)) = self.watching.early_line.take_if(|(line, _)| line.conversation == *conversation) {
            self.spoken(line, at);
        }
        // Of one conversation there is one transcript: a later word about it changes nothing.
        let same = self.watching.following.as_ref().and_then(|f| f.path()).filter(|path| path.exists()).map(Path::to_owned);
        let path = same.or_else(|| transcript.map(PathBuf::from)).or_else(|| self.paths.find_transcript(conversation));
        self.follow_file(path);
        self.write_current_session();
        self.pump_transcript();
    }

    fn follow_file(&mut self, path: Option<PathBuf>) {
        let Some(path) = path else {
            let projects = self.paths.claude.join("projects");
            self.watching.watch_dir(&projects);
            return;
        };
        if let Some(dir) = path.parent() {
            self.watching.watch_dir(dir);
        }
        if let Some(following) = &mut self.watching.following
            && following.path() != Some(path.as_path())
        {
            following.tail = Some(Tail::new(&path));
            following.splitter = LineSplitter::new();
        }
    }

    /// Reads what is new in the transcript and tells the supervisor what it adds up to.
    pub(super) fn pump_transcript(&mut self) {
        let Some(following) = &self.watching.following else { return };
        match following.path().and_then(Path::parent).map(Path::to_owned) {
            Some(dir) => self.watching.watch_dir(&dir),
            None => {
                let found = self.paths.find_transcript(&following.conversation);
                self.follow_file(found);
            }
        }
        let (goal, tasks) = (&self.watching.goal, &self.watching.tasks);
        let Some(following) = &mut self.watching.following else { return };
        let Some(tail) = &mut following.tail else { return };
        let mut buf = vec![0; 1 << 16];
        let mut read = 0;
        following.more = false;
        loop {
            match tail.read(&mut buf) {
                Ok(Found::Bytes(n)) => {
                    let facts = &mut following.facts;
                    following.splitter.feed(&buf[..n], |line| facts.feed(line));
                    read += n;
                    if read >= SLICE {
                        following.more = true;
                        break;
                    }
                }
                Ok(Found::Anew) => {
                    following.splitter.restart();
                    following.facts = Facts::after(goal.as_deref(), tasks);
                }
                Ok(Found::Nothing) | Err(_) => break,
            }
        }
        self.tell_transcript();
        self.tell_lines();
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
        if told.queued != queued {
            told.queued = queued;
            self.events.push_back(Event::Queued { prompts: queued });
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
        self.write_context_status();
        self.tell_limit();
        self.tell_sent();
        if self.watching.goal.is_none() {
            self.watching.goal = self.watching.following.as_ref().and_then(|f| f.facts.goal().map(str::to_owned));
        }
    }

    /// Hook calls whose lines have come, or whose time is over.
    fn tell_lines(&mut self) {
        let now = self.clock.now();
        let Some(following) = &self.watching.following else { return };
        let facts = &following.facts;
        // The figure of a line is told when the file has been read to its end: the line must not be told before it.
        let all = !following.more;
        for (id, waiting) in &mut self.hooks {
            let Some((want, until)) = waiting.awaits else { continue };
            let uses = || waiting.call.tool_uses.iter().map(String::as_str);
            let found = match (want, &waiting.call.last_message) {
                (Want::Assistant, Some(text)) => facts.last_text_is(text),
                (Want::Assistant, None) => facts.has_assistant_with(uses()),
                (Want::Results, _) => facts.has_results(uses()),
            };
            if (found && all) || now >= until {
                waiting.awaits = None;
                let cut = if want == Want::Assistant { at_a_boundary(facts).cut() } else { Cut::Free };
                self.events.push_back(Event::Lines { id: *id, found, cut });
            }
        }
    }

    pub(super) fn await_lines(&mut self, id: u64, want: Want, until: Stamp) {
        match self.hooks.get_mut(&id) {
            Some(call) => call.awaits = Some((want, until)),
            None => self.events.push_back(Event::Lines { id, found: false, cut: Cut::Free }),
        }
        self.pump_transcript();
    }

    /// When the transcript is to be looked at for a hook that waits.
    pub(super) fn await_deadline(&self, now: Stamp) -> Option<Stamp> {
        self.hooks.values().any(|call| call.awaits.is_some()).then(|| now.after(AWAIT_LOOK_MS))
    }
}

/// The prompts that a person has queued in Claude; Claude queues its own notifications in the same way.
pub(super) fn persons(facts: &Facts) -> impl Iterator<Item = &str> {
    facts
        .queued_prompts()
        .filter(|prompt| !prompt.starts_with("<task-notification>") && !prompt.starts_with("Your claude.ai usage limit"))
}

/// A settings file, when it is there and of a size that a person writes.
pub(super) fn read_settings(path: &Path) -> Option<String> {
    bounded(path, 1 << 20)
}

/// A project may have put a device or a pipe there, which would never end.
fn bounded(path: &Path, max: u64) -> Option<String> {
    safe_file::read_text(path, FileRule::of_claude(max)).ok().flatten()
}
