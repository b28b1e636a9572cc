//! The loop that owns the terminal: keys in, screen out, signals, and a clean exit.
//!
//! One `poll` over the terminal and a wake-up stream; the engine runs in its own thread and sends events.
//! The keys work as measured on 2.1.329.

mod agent_keys;

use std::env;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::json;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGWINCH};

use super::agent_draft::AgentDraft;
use super::agent_drawing::{self, BottomView};
use super::agent_input::Decoder;
use super::agent_screen::{AgentScreen, Block};
use super::agent_shared::lock;
use super::agent_shared::{AgentEvent, AgentShared, PayloadScope, PermissionQuestion};
use super::agent_terminal::AgentTerminal;
use super::engine::{Command, Engine};
use super::presence::AgentPresence;

/// How long a first Ctrl+C or Ctrl+D waits for a second (measured: 0.75 s exits, 0.9 s does not).
const TWICE: Duration = Duration::from_millis(800);
/// After this long without more bytes, ESC is the Escape key.
const ESCAPE: Duration = Duration::from_millis(50);
/// How long after the first frame the terminal is queried.
const ASK_AFTER: Duration = Duration::from_millis(140);
/// The durations of a busy frame and of a busy title (measured: about 0.96 s).
const FRAME: Duration = Duration::from_millis(120);
const TITLE: Duration = Duration::from_millis(960);

/// What a first press does when it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingSecondPress {
    Interrupt,
    EndOfInput,
}

pub(super) struct App {
    shared: Arc<AgentShared>,
    terminal: AgentTerminal,
    screen: AgentScreen,
    commands: Sender<Command>,
    /// Taken when the conversation begins, which needs a trusted directory.
    orders: Option<Receiver<Command>>,
    events: Receiver<AgentEvent>,
    wake: UnixStream,
    decoder: Decoder,
    draft: AgentDraft,
    /// How many commands the engine has not finished.
    running: usize,
    since: Instant,
    question: Option<PermissionQuestion>,
    /// The selected option of an open dialog.
    chosen: usize,
    twice: Option<(PendingSecondPress, Instant)>,
    ask_at: Option<Instant>,
    title_at: Option<Instant>,
    titles: usize,
    swallow: usize,
    suspended: bool,
    exit: Option<i32>,
}

pub(super) struct Parts {
    pub(super) shared: Arc<AgentShared>,
    /// The terminal, already in raw mode.
    pub(super) terminal: AgentTerminal,
    /// The screen, before anything is drawn.
    pub(super) screen: AgentScreen,
    /// Commands to the engine.
    pub(super) commands: Sender<Command>,
    /// The engine's end of that channel.
    pub(super) orders: Receiver<Command>,
    /// Events of the engine and signals.
    pub(super) events: Receiver<AgentEvent>,
    /// Readable when there are events.
    pub(super) wake: UnixStream,
}

impl App {
    pub(super) fn new(parts: Parts) -> App {
        App {
            shared: parts.shared,
            terminal: parts.terminal,
            screen: parts.screen,
            commands: parts.commands,
            orders: Some(parts.orders),
            events: parts.events,
            wake: parts.wake,
            decoder: Decoder::default(),
            draft: AgentDraft::default(),
            running: 0,
            since: Instant::now(),
            question: None,
            chosen: 0,
            twice: None,
            ask_at: Some(Instant::now() + ASK_AFTER),
            title_at: None,
            titles: 0,
            swallow: number("HOPTY_AGENT_SWALLOW_ENTERS").unwrap_or(0),
            suspended: false,
            exit: None,
        }
    }

    /// Runs to the end; returns the exit code.
    pub(super) fn run(mut self) -> i32 {
        self.screen.begin();
        if self.shared.world.is_trusted() {
            self.begin();
        }
        loop {
            self.draw();
            if let Some(code) = self.exit {
                return code;
            }
            self.wait();
            while let Ok(event) = self.events.try_recv() {
                self.event(event);
            }
            self.timers();
        }
    }

    /// Starts the conversation.
    fn begin(&mut self) {
        let Some(orders) = self.orders.take() else { return };
        let session = lock(&self.shared.live).session.clone();
        lock(&self.shared.presence).appear(&session, &self.shared.world.cwd);
        self.screen.title("✳ Claude Code");
        self.screen.enter();
        let cwd = self.shared.world.cwd.to_string_lossy();
        let rows = agent_drawing::welcome(&self.shared.options.model, &cwd, self.screen.cols());
        self.screen.print(rows);
        let engine = Engine::new(Arc::clone(&self.shared));
        thread::spawn(move || engine.run(&orders));
        if let Some(prompt) = self.shared.options.prompt.clone() {
            self.submit(prompt.clone(), prompt);
        } else {
            self.shared.status(AgentPresence::Idle);
        }
    }

    fn wait(&mut self) {
        let now = Instant::now();
        let escape = self.decoder.has_escape().then(|| now + ESCAPE);
        let frame = (self.running > 0 && self.question.is_none() && !self.suspended).then(|| now + FRAME);
        let twice = self.twice.map(|(_, since)| since + TWICE);
        let next = [escape, frame, twice, self.ask_at].into_iter().flatten().min();
        let ms = next.map(|at| at.saturating_duration_since(now).as_millis().saturating_add(1));
        let timeout =
            ms.map_or(PollTimeout::NONE, |ms| PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX));
        let stdin = io::stdin();
        let mut fds = [
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.wake.as_fd(), PollFlags::POLLIN),
        ];
        let polled = poll(&mut fds, timeout);
        let ready =
            |fd: &PollFd<'_>| polled.is_ok_and(|n| n > 0) && fd.revents().is_some_and(|r| !r.is_empty());
        let (typed, woken) = (ready(&fds[0]), ready(&fds[1]));
        if woken {
            let _ = self.wake.read(&mut [0; 512]);
        }
        if typed && !self.suspended {
            match self.terminal.read() {
                Some(bytes) => {
                    let keys = self.decoder.feed(&bytes);
                    self.keys(keys);
                }
                // The other side of the terminal was closed, which ends the agent normally (measured: code
                // 0).
                None => self.finish("other", 0),
            }
        } else if escape.is_some() && polled == Ok(0) {
            let keys = self.decoder.settle();
            self.keys(keys);
        }
    }

    fn timers(&mut self) {
        let now = Instant::now();
        if self.ask_at.is_some_and(|at| now >= at) {
            self.ask_at = None;
            self.screen.ask();
        }
        if self.twice.is_some_and(|(_, since)| now >= since + TWICE) {
            self.twice = None;
        }
        // In tmux only the first idle title is written (measured).
        if self.title_at.is_some_and(|at| now >= at)
            && self.question.is_none()
            && env::var_os("TMUX").is_none()
        {
            self.title_at = Some(now + TITLE);
            self.titles += 1;
            self.screen.title(if self.titles.is_multiple_of(2) {
                "◑ Claude Code"
            } else {
                "◐ Claude Code"
            });
        }
    }

    fn event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Signal(signal) => self.signal(signal),
            AgentEvent::Show(shown) => {
                let rows = agent_drawing::shown(&shown, self.screen.cols());
                self.screen.print(rows);
            }
            AgentEvent::Ask(question) => {
                self.chosen = 0;
                self.question = Some(question);
                self.screen.title("✳ Claude Code");
            }
            AgentEvent::Answered => self.question = None,
            AgentEvent::PutBack(text) => self.draft.insert(&text),
            AgentEvent::Cleared => {
                self.screen.clear();
                self.screen.put("\x1b[H\x1b[2J");
                let size = self.terminal.size();
                self.screen.resized(size);
            }
            AgentEvent::Queue => self.drain(),
            AgentEvent::Idle => {
                self.running = self.running.saturating_sub(1);
                if self.running == 0 {
                    self.title_at = None;
                    if env::var_os("TMUX").is_none() {
                        self.screen.title("✳ Claude Code");
                    }
                    self.drain();
                }
            }
        }
    }

    /// Queued prompts that no turn took get turns of their own.
    fn drain(&mut self) {
        if self.running == 0 && !lock(&self.shared.queue).is_empty() {
            self.order(Command::Drain);
        }
    }

    fn order(&mut self, command: Command) {
        if self.running == 0 {
            self.since = Instant::now();
            self.title_at = Some(self.since);
        }
        self.running += 1;
        let _ = self.commands.send(command);
    }

    fn signal(&mut self, signal: i32) {
        match signal {
            SIGTERM if env::var_os("HOPTY_AGENT_IGNORE_TERM").is_some() => {}
            SIGTERM => {
                thread::sleep(Duration::from_millis(number("HOPTY_AGENT_EXIT_MS").unwrap_or(0) as u64));
                self.finish("other", 143);
            }
            SIGHUP => self.finish("other", 129),
            SIGINT => self.finish("other", 0),
            SIGWINCH if !self.suspended => self.screen.resized(self.terminal.size()),
            SIGCONT => {
                self.suspended = false;
                self.terminal.raw_again();
                self.screen.resume(self.terminal.size());
                self.ask_at = Some(Instant::now());
            }
            _ => {}
        }
    }

    fn draw(&mut self) {
        if self.suspended || self.exit.is_some() {
            return;
        }
        let cwd = self.shared.world.cwd.to_string_lossy().into_owned();
        let cols = self.screen.cols();
        let block = if self.orders.is_some() {
            agent_drawing::trust(&cwd, self.chosen, cols)
        } else if let Some(question) = &self.question {
            agent_drawing::permission(question, &cwd, self.chosen, cols)
        } else {
            let queued: Vec<String> = lock(&self.shared.queue).iter().map(|p| p.shown.clone()).collect();
            let hint = self.twice.map(|(which, _)| match which {
                PendingSecondPress::Interrupt => "Press Ctrl-C again to exit",
                PendingSecondPress::EndOfInput => "Press Ctrl-D again to exit",
            });
            let spent = self.since.elapsed();
            let frame = usize::try_from(spent.as_millis() / FRAME.as_millis()).unwrap_or(0);
            agent_drawing::bottom(&BottomView {
                cols,
                draft: &self.draft,
                mode: lock(&self.shared.live).mode,
                busy: (self.running > 0).then_some((spent.as_secs(), frame)),
                queued: &queued,
                hint,
            })
        };
        self.draw_block(block);
    }

    fn draw_block(&mut self, block: Block) {
        self.screen.draw(block);
        let bytes = self.screen.take();
        if !bytes.is_empty() {
            self.terminal.write(&bytes);
        }
    }

    /// A clean exit: children, hooks, transcript, screen, terminal, files.
    fn finish(&mut self, reason: &str, code: i32) {
        if self.exit.is_some() {
            return;
        }
        self.exit = Some(code);
        let started = self.orders.is_none();
        self.shared.cancel.close();
        self.shared.interrupt();
        self.shared.transcript.end();
        if started {
            self.shared.fire("SessionEnd", PayloadScope::Session, reason, json!({"reason": reason}));
        }
        self.screen.end();
        if lock(&self.shared.live).prompt_id.is_some() && self.shared.transcript.path().exists() {
            let session = lock(&self.shared.live).session.clone();
            self.screen.put(&format!(
                "\x1b[2m\x1b[22m\r\n\x1b[2mResume this session with:\x1b[22m\r\n\x1b[2mclaude --resume \
                 {session}\x1b[22m\r\n"
            ));
        }
        self.terminal.write(&self.screen.take());
        self.terminal.restore();
        lock(&self.shared.presence).vanish();
    }
}

/// A number from the environment.
pub(super) fn number(name: &str) -> Option<usize> {
    env::var(name).ok()?.parse().ok()
}
