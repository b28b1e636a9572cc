//! The host: owns one pseudo-terminal, supervises what runs in it, and outlives terminals. One process a session, one
//! thread, one `poll`.
//!
//! It turns readiness into events, gives them to the supervisor and performs what comes back; it decides nothing itself.
//!
//! | file | holds |
//! |---|---|
//! | `start` | from the client's pipe to the first run |
//! | `event_loop` | one turn: wait, take what is ready, do what is due |
//! | `figure` | how full the window is, with reasons |
//! | `run` | one life of the child: PTY, end |
//! | `model` | the screen beside the byte stream, fed afterwards |
//! | `listener` | the control socket: who is let in |
//! | `connection` | one connection, and the client that it may be |
//! | `clients` | who is there, what arrives, and when they are closed |
//! | `terminals` | people's terminals: bytes to and from them, given back whole |
//! | `repaint` | the picture for a terminal that comes late |
//! | `keys` | what was typed: where it goes, what is kept, what is typed again |
//! | `unread` | what was typed and a program did not read: it is the shell's |
//! | `rescue` | what makes a terminal whole whose host or client dies |
//! | `typing` | one client's input: labels, what went nowhere yet |
//! | `requests` | the control socket's lines |
//! | `shown` | what is on the screen, as facts; the line between two runs |
//! | `statusline` | the window, from Claude's own status line |
//! | `turn` | when a turn began and ended, where no hook tells |
//! | `limits` | usage limits, as Claude's files and its status line tell them |
//! | `log` | `host.log`: what failed and nobody waits for |
//! | `polling` | where nothing tells of changes |
//! | `watching`, `signal_file` | transcript, sessions file; `.restart-session` |
//! | `send` | what scripts type |
//! | `waits` | those who wait for a state, an end or a change of the screen |
//! | `perform` | every action of the supervisor |
//! | `notices` | what people are told while a program has the screen |
//! | `save` | the workers' jobs: handoffs and their transcripts |
//! | `views` | views of handoffs, and what is printed between two runs |
//! | `session_log` | `auto-session.log` |
//! | `report` | the session object of CONTRACT C3 |

#![deny(clippy::print_stderr, reason = "it panics where the disk of `host.log` is full")]

mod ask;
mod chunk;
mod clients;
mod command;
mod connection;
pub mod drift;
mod event_loop;
mod figure;
mod follower;
mod guard;
mod keys;
mod lacks;
mod limits;
mod listener;
mod log;
mod model;
mod notices;
mod orders;
mod perform;
mod picture;
mod polling;
mod repaint;
mod report;
mod requests;
mod rescue;
mod run;
mod save;
mod seen;
mod send;
mod session_log;
mod shown;
mod sight;
mod signal_file;
pub mod start;
mod statusline;
mod terminals;
mod turn;
mod typing;
mod unread;
mod views;
mod waits;
mod watching;

use std::cell::OnceCell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use nix::libc;

use crate::claude::plugin;
use crate::core::claude::args;
use crate::core::claude::offers::HookSet;
use crate::core::claude::view::Rules;
use crate::core::ids::{Channel, ConversationId, HandoffId, SessionName};
use crate::core::journal::Recorder;
use crate::core::process::ProcessEnd;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::Phase;
use crate::core::supervisor::{Agent, Policy};
use crate::core::time::{Stamp, WallTime};
use crate::fs::journal::Journal;
use crate::fs::paths::Paths;
use crate::fs::registry;
use crate::fs::session::{self, Claim};
use crate::io::clock::Clock;
use crate::io::process::start_time;
use crate::io::signals::Signals;
use crate::io::worker::Worker;
use crate::ipc::address;
use connection::Connection;
use keys::Kept;
use log::log;
use requests::HookCall;
use run::Run;
use save::{Done, Frame};
use send::Sends;
use start::{Launch, Lent, Ready};
use waits::Waits;
use watching::Watching;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Listener,
    Signals,
    Worker,
    Watcher,
    Master,
    Connection(u64),
    Terminal(u64),
}

/// A session's host.
#[derive(Debug)]
pub struct Host {
    clock: Clock,
    began: WallTime,
    /// The same in clock ticks since boot.
    since: u64,
    launch: Launch,
    args: Vec<OsString>,
    lent: Lent,
    own: args::Facts,
    dir: PathBuf,
    paths: Paths,
    claim: Claim,
    channel: Channel,
    listener: UnixListener,
    socket: PathBuf,
    signals: Signals,
    /// What a hand-over waits for, and small files.
    worker: Worker<Done>,
    /// What may take as long as it likes, so that nothing else waits behind it.
    copier: Worker<Done>,
    recorder: Recorder,
    journal: Option<Journal>,
    events: VecDeque<Event>,
    /// How to read Claude's screens, from the first look on.
    rules: OnceCell<Option<Rules>>,
    run: Option<Run>,
    /// By itself each: a map keeps room for eleven of what it holds, also when nobody is there.
    connections: BTreeMap<u64, Box<Connection>>,
    next_id: u64,
    next_client: u32,
    /// The connection of who started this host and has not attached yet.
    launcher: Option<u64>,
    leader: Option<u64>,
    seen: seen::Seen,
    /// What the next run takes from the clients' environment (`program.update_env`).
    lent_env: BTreeMap<String, String>,
    kept: Kept,
    hooks: BTreeMap<u64, HookCall>,
    /// Requests that the supervisor has not answered: connection and id there.
    asked: BTreeMap<u64, (u64, u64)>,
    waits: Waits,
    sends: Sends,
    watching: Watching,
    backups: views::Backups,
    runs: session_log::Runs,
    /// What the person is told before the program draws.
    told: Vec<String>,
    /// What stands above the first run.
    resuming: Option<String>,
    notices: notices::Notices,
    /// Claude's own words for the next handoff.
    words: save::Words,
    /// The handoff whose prompt is on its way, with the text that the new conversation is given.
    frame: Option<Frame>,
    /// The person's prompts that were queued in the old run.
    requeue: Vec<String>,
    /// Where that lies which a person typed and no run has got.
    unsent: Option<String>,
    /// The handoff that this conversation went on from.
    predecessor: Option<HandoffId>,
    plugin: Option<PathBuf>,
    /// The `--settings` of every launch: the person's own and hopty's status line.
    settings: Option<String>,
    first_conversation: Option<ConversationId>,
    full_screen: Option<bool>,
    why: String,
    /// Why the last restart was wanted: what its handoff gives as its reason.
    wish: String,
    exit: Option<report::Exit>,
    last_end: Option<ProcessEnd>,
    /// Nobody can be let in: when to try again.
    accept_at: Option<Stamp>,
    /// The socket's file is gone: when to bind it again.
    rebind_at: Option<Stamp>,
    /// The run whose start was tidied up after.
    settled: Option<u32>,
    /// Whether more than bytes was dealt with since the stack was last given back.
    reached_deep: bool,
    /// When the session's file is to be written.
    session_file_at: Option<Stamp>,
    /// The line of the journal at which the state that it tells of began.
    session_file_of: u64,
    goodbye: Option<Stamp>,
    /// When it was last looked at what is due by time.
    last_housekeeping: Stamp,
}

impl Host {
    fn begin(launch: Launch, args: Vec<OsString>, lent: Lent, paths: Paths, claim: Claim) -> Result<Box<Host>, Ready> {
        let internal = |what: &str, e: &dyn std::fmt::Display| Ready::failed(125, format!("{what}: {e}"), "");
        let socket = paths.socket(&claim.name);
        let listener = address::bind(&socket).map_err(|e| {
            let hint = e.hint();
            Ready::failed(125, format!("the control socket cannot be made: {e}"), hint)
        })?;
        let signals = Signals::catch(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGUSR1]).map_err(|e| internal("signals", &e))?;
        let dir = std::env::current_dir().map_err(|e| internal("the working directory is gone", &e))?;
        let words: Vec<String> = args.iter().map(|a| a.to_string_lossy().into_owned()).collect();
        let claude = launch.agent == Agent::Claude;
        let own = if claude { args::facts(&words) } else { args::Facts::default() };
        let plugin = match launch.offers.hooks {
            set if claude && set != HookSet::None => plugin::write(&claim.dir, &plugin::this_binary(), set, launch.config.hooks.ack)
                .map_err(|e| internal("the plugin directory cannot be written", &e))
                .map(Some)?,
            _ => None,
        };
        let hooks = plugin.is_some() && !launch.offers.off;
        let notes = hooks && launch.offers.hooks == HookSet::Full;
        let policy = Policy {
            agent: launch.agent,
            hooks,
            notes,
            submit_when_idle: launch.offers.submit_when_idle,
            config: launch.config.clone(),
        };
        let watching = Watching::new(&paths, &dir, &own, claude);
        let channel = registry::channel_of(&paths.claude, &dir).unwrap_or_else(|e| {
            log(format_args!("{e}; the channel is global"));
            Channel::global()
        });
        let settings = plugin.as_ref().and_then(|_| statusline::settings(&paths, &dir, &own, &claim.dir));
        // On the heap: the frames of a start stand on the stack for as long as the session lives.
        let mut host = Box::new(Host {
            clock: Clock::start(),
            began: Clock::wall(),
            since: start_time(i32::try_from(std::process::id()).unwrap_or(-1)).unwrap_or(0),
            launch,
            args,
            lent,
            own,
            dir,
            paths,
            claim,
            channel,
            listener,
            socket,
            signals,
            worker: Worker::new("hopty-worker"),
            copier: Worker::new(save::COPIER),
            recorder: Recorder::new(policy),
            journal: None,
            events: VecDeque::new(),
            rules: OnceCell::new(),
            run: None,
            connections: BTreeMap::new(),
            next_id: 1,
            next_client: 1,
            launcher: None,
            leader: None,
            seen: seen::Seen::default(),
            lent_env: BTreeMap::new(),
            kept: Kept::default(),
            hooks: BTreeMap::new(),
            asked: BTreeMap::new(),
            waits: Waits::default(),
            sends: Sends::default(),
            backups: views::Backups::default(),
            runs: session_log::Runs::default(),
            watching,
            frame: None,
            told: Vec::new(),
            resuming: None,
            notices: notices::Notices::default(),
            words: save::Words::default(),
            requeue: Vec::new(),
            unsent: None,
            predecessor: None,
            plugin,
            settings,
            first_conversation: None,
            full_screen: None,
            why: String::new(),
            wish: String::new(),
            exit: None,
            last_end: None,
            accept_at: None,
            rebind_at: None,
            settled: None,
            reached_deep: false,
            session_file_at: None,
            session_file_of: 0,
            goodbye: None,
            last_housekeeping: Stamp(0),
        });
        if let Err(failed) = host.first_event() {
            host.tidy();
            return Err(failed);
        }
        // Only now: what fails before leaves the journal of an ended session of that name where it was.
        let unwritten = host.begin_journal().err();
        host.settle();
        if let Some(e) = unwritten {
            // After the start, so that it is what `status` and `why` say.
            log(format_args!("the journal cannot be opened: {e}"));
            host.told.push(format!("the journal cannot be opened ({e}): what happens is not written down"));
            host.events.push_back(Event::Degraded { part: "journal".to_owned() });
        }
        // The first run is spawned within the first step: exec has succeeded or failed by now.
        match &host.exit {
            Some(exit) if host.run.is_none() => {
                let code = exit.code();
                let message = host.watching.failure.take().unwrap_or_else(|| host.why.clone());
                host.tidy();
                Err(Ready::failed(code, message, run::start_hint(code)))
            }
            _ => Ok(host),
        }
    }

    /// The session's name.
    #[must_use]
    pub fn name(&self) -> &SessionName {
        &self.claim.name
    }

    /// The loop, until the session is over and its last bytes are out.
    #[must_use]
    pub fn run(mut self: Box<Self>) -> i32 {
        loop {
            self.settle();
            self.answer_waits();
            if self.is_done() {
                break;
            }
            self.turn();
        }
        self.tidy();
        0
    }

    /// Gives every event that is waiting to the supervisor and performs what it wants.
    fn settle(&mut self) {
        loop {
            let now = self.clock.now();
            let Some(event) = self.events.pop_front() else {
                if self.recorder.supervisor.next_deadline().is_some_and(|at| at <= now) {
                    self.events.push_back(Event::Tick);
                    continue;
                }
                break;
            };
            let mut lines = String::new();
            let actions = self.recorder.step(now, Clock::wall(), &event, &mut lines);
            self.write_journal(&lines);
            for action in actions {
                self.perform(action);
            }
        }
        self.note_turn();
    }

    fn begin_journal(&mut self) -> std::io::Result<()> {
        let limits = &self.launch.config.journal;
        self.journal = Some(Journal::begin(&self.claim.dir.join("journal.jsonl"), limits.max_bytes, limits.files)?);
        let open = self.recorder.open_line(Stamp(0), self.began, env!("CARGO_PKG_VERSION"));
        self.write_journal(&open);
        Ok(())
    }

    fn write_journal(&mut self, lines: &str) {
        let Some(journal) = &mut self.journal else { return };
        let mut written = journal.write(lines);
        if written.is_ok() && journal.is_full() {
            written = journal.rotate();
            if written.is_ok() {
                let open = self.recorder.open_line(self.clock.now(), Clock::wall(), env!("CARGO_PKG_VERSION"));
                written = journal.write(&open);
            }
        }
        if let Err(e) = written {
            // A full disk must not end the session; what happens is simply no longer written down.
            log(format_args!("the journal is switched off: {e}"));
            self.journal = None;
            self.events.push_back(Event::Degraded { part: "journal".to_owned() });
        }
    }

    /// Leaves nothing behind but the journal and the session's last state, which was written when it was over. Whoever
    /// waits for the end of its connection finds the name and the socket gone.
    fn tidy(&mut self) {
        if let Some(run) = self.run.take() {
            run.abandon();
        }
        if let Some(plugin) = &self.plugin {
            let _ = std::fs::remove_dir_all(plugin);
        }
        if let Some(settings) = &self.settings {
            let _ = std::fs::remove_file(settings);
        }
        let _ = std::fs::remove_file(&self.socket);
        self.claim.give_back();
        self.connections.clear();
        session::sweep(&self.paths, self.launch.config.journal.keep_ended_days);
    }

    fn phase(&self) -> &Phase {
        self.recorder.supervisor.phase()
    }
}

/// A new conversation id.
fn fresh_id() -> ConversationId {
    let text = uuid::Uuid::new_v4().to_string();
    text.parse().unwrap_or_else(|_| unreachable!("a version 4 UUID is a conversation id"))
}
