//! `hopty dash`: all sessions on one screen, with a live picture of the chosen one.
//!
//! It only looks and asks: what a key wants is asked of the session's host as any verb asks it, and a host's
//! refusal is shown. It holds no state of its own that a session could lose.
//!
//! | file | what |
//! |---|---|
//! | [`session_row`] [`preview`] [`dashboard_model`] [`dashboard_view`] | pure: an answer to a row, a dump to lines, a key to an action, all of it to cells |
//! | [`host_queries`] [`run_verb`] | questions to hosts in threads; hopty's own verbs as programs |
//! | [`paint`] | cells to bytes |
//!
//! Everything that comes from sessions (names, titles, pictures, reasons) is cleaned where it comes in
//! ([`session_row::clean`]) and looked at once more where it goes out ([`paint`]).

pub mod dashboard_model;
#[cfg(test)]
mod dashboard_model_tests;
pub mod dashboard_view;
#[cfg(test)]
mod dashboard_view_tests;
pub mod host_queries;
pub mod paint;
pub mod preview;
pub mod run_verb;
pub mod session_row;

use std::collections::BTreeMap;
use std::io::{self, Stdout};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::libc;
use ratatui::Terminal;
use ratatui::layout::Size;

use crate::core::ids::SessionName;
use crate::core::input::plain_keys::PlainKey;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::fs::watch::Watcher;
use crate::sys::fault_injection;
use crate::sys::poll::{Interest, PollSet};
use crate::sys::signals::Signals;
use crate::tty::full_screen::{self, FullScreen, SIGNALS};
use crate::tty::page_keys::PageKeys;
use dashboard_model::{DashAction, DashState, InputMode};
use host_queries::{Asks, DashQuestion, DashReply};
use paint::{ColorOutput, Paint};
use preview::Preview;
use run_verb::Back;

/// Signals that end it, in order.
const ENDS: [i32; 4] = [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT];
/// How often the chosen session's picture is asked for, and changed journals are looked at.
const OFTEN: Duration = Duration::from_millis(250);
/// How often all are asked whose journals say nothing: those that are unresponsive, for instance.
const SELDOM: Duration = Duration::from_secs(2);

/// Alternate screen, no cursor, pastes in brackets, buttons and wheel of the mouse.
pub const BEGIN: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1000h\x1b[?1006h\x1b[0m\x1b[2J";
/// The reverse, and the end of an update that a panic cut short.
pub const UNDO: &[u8] = b"\x1b[?2026l\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DashEnd {
    /// By a key.
    Quit,
    /// By a signal; a terminal that is gone counts as SIGHUP.
    Signal(i32),
}

/// Runs the dashboard in the terminal on standard input and output.
///
/// # Errors
/// When that is no terminal, or is gone.
pub fn run(paths: &Paths, colors: ColorOutput) -> io::Result<DashEnd> {
    let signals = Signals::catch(&SIGNALS)?;
    let stage = FullScreen::enter(BEGIN, UNDO)?;
    let size: fn() -> Size = terminal_size;
    let terminal = Terminal::new(Paint::new(io::stdout(), size, colors))?;
    let mut dashboard = Dashboard {
        paths,
        signals,
        stage,
        terminal,
        asks: Asks::new(paths)?,
        watcher: Watcher::new(),
        model: DashState::default(),
        keys: PageKeys::new(),
        journals: BTreeMap::new(),
        changed: false,
        often: Instant::now(),
        seldom: Instant::now(),
    };
    let left = dashboard.turn_until_left();
    let given_back = dashboard.stage.leave();
    let left = left?;
    if left == DashEnd::Quit {
        given_back?;
    }
    Ok(left)
}

/// The terminal's size; one that does not know its own is taken for the usual one.
fn terminal_size() -> Size {
    let (cols, rows) = full_screen::size();
    Size::new(cols, rows)
}

struct Dashboard<'a> {
    paths: &'a Paths,
    signals: Signals,
    stage: FullScreen,
    terminal: Terminal<Paint<Stdout, fn() -> Size>>,
    asks: Asks,
    watcher: Watcher,
    model: DashState,
    keys: PageKeys,
    /// Length of each session's journal when its host was asked last, in bytes.
    journals: BTreeMap<SessionName, u64>,
    /// Whether files have changed since the sessions were listed.
    changed: bool,
    /// When the next look is due.
    often: Instant,
    seldom: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadySource {
    Keys,
    Signals,
    Answers,
    Files,
}

impl Dashboard<'_> {
    fn turn_until_left(&mut self) -> io::Result<DashEnd> {
        loop {
            self.ask_what_is_due();
            let model = &self.model;
            self.terminal.draw(|frame| dashboard_view::draw(model, frame))?;
            let ready = self.wait()?;
            if ready.contains(&ReadySource::Answers) {
                self.take_answers()?;
            }
            if ready.contains(&ReadySource::Files) && self.watcher.drain() {
                self.changed = true;
            }
            if ready.contains(&ReadySource::Signals) {
                for signal in self.signals.take() {
                    if ENDS.contains(&signal) {
                        return Ok(DashEnd::Signal(signal));
                    }
                    if signal == libc::SIGCONT {
                        self.come_back()?;
                    }
                }
            }
            let keys = match self.keys.read(ready.contains(&ReadySource::Keys))? {
                Some(keys) => keys,
                None => return Ok(DashEnd::Signal(libc::SIGHUP)),
            };
            for key in keys {
                if let Some(left) = self.take_key(key)? {
                    return Ok(left);
                }
            }
        }
    }

    /// What is ready within the time until something is due.
    fn wait(&mut self) -> io::Result<Vec<ReadySource>> {
        let mut set = PollSet::default();
        self.keys.register(&mut set, ReadySource::Keys);
        set.add(ReadySource::Signals, self.signals.as_fd(), Interest::Read);
        set.add(ReadySource::Answers, self.asks.as_fd(), Interest::Read);
        if let Some(fd) = self.watcher.fd() {
            set.add(ReadySource::Files, fd, Interest::Read);
        }
        let due = self.often.min(self.seldom).saturating_duration_since(Instant::now());
        let timeout = u64::try_from(due.as_millis()).unwrap_or(u64::MAX).max(1);
        Ok(set.wait(self.keys.timeout(Some(timeout)))?.into_iter().map(|(source, _)| source).collect())
    }

    fn ask_what_is_due(&mut self) {
        let now = Instant::now();
        if now >= self.seldom {
            self.seldom = now + SELDOM;
            self.journals.clear();
            self.asks.begin(DashQuestion::List { ended: self.model.ended });
        }
        if now >= self.often {
            self.often = now + OFTEN;
            if std::mem::take(&mut self.changed) {
                self.asks.begin(DashQuestion::List { ended: self.model.ended });
            }
            if let Some((_, row)) = self.model.chosen() {
                self.asks.begin(DashQuestion::Screen(row.name.clone()));
            }
        }
    }

    fn take_answers(&mut self) -> io::Result<()> {
        for told in self.asks.take() {
            match told {
                DashReply::Listed(names) => self.listed(&names),
                DashReply::Log(of, lines) => self.model.show_log(of, lines),
                DashReply::Status(row) => self.model.told(*row),
                DashReply::Screen(of, preview) => {
                    let chosen = self.model.chosen().is_some_and(|(_, row)| row.name == of);
                    // One answer that is late is no reason to take the picture away.
                    let keeps = matches!((&preview, &self.model.preview), (Preview::Missing(_),
                        Preview::Shown { of: shown, .. }) if *shown == of);
                    if chosen && !keeps {
                        self.model.preview = preview;
                    }
                }
                DashReply::Done(words) => {
                    self.model.say(&words);
                    self.seldom = Instant::now();
                }
                DashReply::Started(name, words) => {
                    self.model.started(name);
                    self.model.say(&words);
                    self.seldom = Instant::now();
                }
                DashReply::Nothing => {}
                DashReply::Failed => return Err(io::Error::other("a request to a host failed")),
            }
        }
        Ok(())
    }

    /// These sessions live: those are asked whose journals have grown.
    fn listed(&mut self, names: &[SessionName]) {
        let before = self.chosen();
        self.model.listed(names);
        self.look_soon_if_not(before.as_ref());
        self.watcher.add(&self.paths.sessions());
        self.journals.retain(|name, _| names.contains(name));
        for name in names {
            let dir = self.paths.session(name);
            self.watcher.add(&dir);
            let length = std::fs::metadata(dir.join(session::JOURNAL)).map_or(0, |meta| meta.len());
            if self.journals.insert(name.clone(), length) != Some(length) {
                self.asks.begin(DashQuestion::Status(name.clone()));
            }
        }
    }

    fn chosen(&self) -> Option<SessionName> {
        self.model.chosen().map(|(_, row)| row.name.clone())
    }

    /// The picture of one that has just been chosen need not wait for the next turn.
    fn look_soon_if_not(&mut self, before: Option<&SessionName>) {
        if self.chosen().as_ref() != before {
            self.often = Instant::now();
        }
    }

    fn take_key(&mut self, key: PlainKey) -> io::Result<Option<DashEnd>> {
        let before = self.chosen();
        if let (PlainKey::Click(row), InputMode::List) = (&key, &self.model.mode)
            && let Some(at) = dashboard_view::row_at(&self.model, terminal_size(), *row)
        {
            self.model.choose(at);
        }
        let action = self.model.key(key);
        self.look_soon_if_not(before.as_ref());
        match action {
            None => {}
            Some(DashAction::Quit) => return Ok(Some(DashEnd::Quit)),
            Some(DashAction::Redraw) => {
                fault_injection::panic_at("dashboard");
                self.terminal.clear()?;
            }
            Some(DashAction::Suspend) => {
                self.stage.stop()?;
                // Having been continued is told as a signal, too: once is enough.
                if let Some(signal) = self.signals.take().into_iter().find(|signal| ENDS.contains(signal)) {
                    return Ok(Some(DashEnd::Signal(signal)));
                }
                self.come_back()?;
            }
            Some(DashAction::Attach(name)) => return self.attach(&name),
            Some(DashAction::New(dir)) => self.wish(DashQuestion::New(dir), "starting it"),
            Some(DashAction::Log(name)) => self.asks.begin(DashQuestion::Log(name)),
            Some(DashAction::Ended) => self.seldom = Instant::now(),
            Some(DashAction::Restart(name)) => self.wish(DashQuestion::Restart(name), "requesting a restart"),
            Some(DashAction::Stop(name)) => self.wish(DashQuestion::Stop(name), "stopping it"),
            Some(DashAction::Answer(name, option, dialog)) => {
                self.wish(DashQuestion::Answer(name, option, dialog), "answering");
            }
            Some(DashAction::Send(name, text)) => self.wish(DashQuestion::Send(name, text), "sending it"),
        }
        Ok(None)
    }

    fn wish(&mut self, ask: DashQuestion, words: &str) {
        self.asks.begin(ask);
        self.model.say(words);
    }

    fn attach(&mut self, name: &SessionName) -> io::Result<Option<DashEnd>> {
        self.stage.leave()?;
        match run_verb::attach(name, &mut self.signals) {
            Ok(Back::Said(words)) => self.model.say(&words),
            Ok(Back::DashReply(signal)) => return Ok(Some(DashEnd::Signal(signal))),
            Err(e) => self.model.say(&format!("attach: {name}: {e}")),
        }
        self.come_back()?;
        Ok(None)
    }

    /// The terminal was somebody else's: everything is drawn and asked again.
    fn come_back(&mut self) -> io::Result<()> {
        self.stage.resume()?;
        self.terminal.clear()?;
        (self.often, self.seldom) = (Instant::now(), Instant::now());
        Ok(())
    }
}
