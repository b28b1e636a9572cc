//! The loop of the dashboard: keys, signals, replies of hosts and changed files.

use std::collections::BTreeMap;
use std::io::{self, Stdout};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::libc;
use ratatui::Terminal;
use ratatui::layout::Size;

use super::dashboard_model::{DashAction, DashState, InputMode};
use super::host_queries::{HostQueries, HostQuery, HostReply};
use super::paint::{ColorOutput, Paint};
use super::preview::Preview;
use super::run_verb::AttachReturn;
use super::{dashboard_view, run_verb};
use crate::core::ids::SessionName;
use crate::core::input::plain_keys::PlainKey;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::fs::watch::Watcher;
use crate::sys::fault_injection;
use crate::sys::poll::{Interest, PollSet};
use crate::sys::signals::{END_SIGNALS, Signals};
use crate::tty::full_screen::{self, BEGIN_WITH_MOUSE, FullScreen, SIGNALS, UNDO_WITH_MOUSE};
use crate::tty::page_keys::PageKeys;

/// How often the selected session's screen is requested, and changed journals are checked.
const PREVIEW_INTERVAL: Duration = Duration::from_millis(250);
/// How often all sessions are asked, including those whose journals do not change because they are
/// unresponsive.
const LIST_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DashEnd {
    Quit,
    /// By a signal; a terminal that is gone counts as SIGHUP.
    Signal(i32),
}

/// Runs the dashboard in the terminal on standard input and output.
///
/// # Errors
/// When that is not a terminal, or is gone.
pub fn run(paths: &Paths, colors: ColorOutput) -> io::Result<DashEnd> {
    let signals = Signals::catch(&SIGNALS)?;
    let full_screen = FullScreen::enter(BEGIN_WITH_MOUSE, UNDO_WITH_MOUSE)?;
    let size: fn() -> Size = terminal_size;
    let terminal = Terminal::new(Paint::new(io::stdout(), size, colors))?;
    let mut dashboard = Dashboard {
        paths,
        signals,
        full_screen,
        terminal,
        queries: HostQueries::new(paths)?,
        watcher: Watcher::new(),
        model: DashState::default(),
        keys: PageKeys::new(),
        journals: BTreeMap::new(),
        changed: false,
        preview_at: Instant::now(),
        list_at: Instant::now(),
    };
    let left = dashboard.run_loop();
    let given_back = dashboard.full_screen.leave();
    let left = left?;
    if left == DashEnd::Quit {
        given_back?;
    }
    Ok(left)
}

/// The terminal's size, or the usual one if it does not know its own.
fn terminal_size() -> Size {
    let (cols, rows) = full_screen::size();
    Size::new(cols, rows)
}

struct Dashboard<'a> {
    paths: &'a Paths,
    signals: Signals,
    full_screen: FullScreen,
    terminal: Terminal<Paint<Stdout, fn() -> Size>>,
    queries: HostQueries,
    watcher: Watcher,
    model: DashState,
    keys: PageKeys,
    /// The length of each session's journal when its host was last asked, in bytes.
    journals: BTreeMap<SessionName, u64>,
    /// Whether files have changed since the sessions were listed.
    changed: bool,
    preview_at: Instant,
    list_at: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadySource {
    Keys,
    Signals,
    Answers,
    Files,
}

impl Dashboard<'_> {
    fn run_loop(&mut self) -> io::Result<DashEnd> {
        loop {
            self.send_due_queries();
            let model = &self.model;
            self.terminal.draw(|frame| dashboard_view::draw(model, frame))?;
            let ready = self.wait()?;
            if ready.contains(&ReadySource::Answers) {
                self.take_replies()?;
            }
            if ready.contains(&ReadySource::Files) && self.watcher.drain() {
                self.changed = true;
            }
            if ready.contains(&ReadySource::Signals) {
                for signal in self.signals.take() {
                    if END_SIGNALS.contains(&signal) {
                        return Ok(DashEnd::Signal(signal));
                    }
                    if signal == libc::SIGCONT {
                        self.resume()?;
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

    /// Waits for something to be ready, at most until the next query is due.
    fn wait(&mut self) -> io::Result<Vec<ReadySource>> {
        let mut set = PollSet::default();
        self.keys.register(&mut set, ReadySource::Keys);
        set.add(ReadySource::Signals, self.signals.as_fd(), Interest::Read);
        set.add(ReadySource::Answers, self.queries.as_fd(), Interest::Read);
        if let Some(fd) = self.watcher.fd() {
            set.add(ReadySource::Files, fd, Interest::Read);
        }
        let due = self.preview_at.min(self.list_at).saturating_duration_since(Instant::now());
        let timeout = u64::try_from(due.as_millis()).unwrap_or(u64::MAX).max(1);
        Ok(set.wait(self.keys.timeout(Some(timeout)))?.into_iter().map(|(source, _)| source).collect())
    }

    fn send_due_queries(&mut self) {
        let now = Instant::now();
        if now >= self.list_at {
            self.list_at = now + LIST_INTERVAL;
            self.journals.clear();
            self.queries.begin(HostQuery::List { ended: self.model.ended });
        }
        if now >= self.preview_at {
            self.preview_at = now + PREVIEW_INTERVAL;
            if std::mem::take(&mut self.changed) {
                self.queries.begin(HostQuery::List { ended: self.model.ended });
            }
            if let Some((_, row)) = self.model.chosen() {
                self.queries.begin(HostQuery::Screen(row.name.clone()));
            }
        }
    }

    fn take_replies(&mut self) -> io::Result<()> {
        for reply in self.queries.take() {
            match reply {
                HostReply::Listed(names) => self.listed(&names),
                HostReply::Log(of, lines) => self.model.show_log(of, lines),
                HostReply::Status(row) => self.model.update_row(*row),
                HostReply::Screen(of, preview) => {
                    let chosen = self.model.chosen().is_some_and(|(_, row)| row.name == of);
                    // A single late reply does not clear the preview.
                    let keeps = matches!((&preview, &self.model.preview), (Preview::Missing(_),
                        Preview::Shown { of: shown, .. }) if *shown == of);
                    if chosen && !keeps {
                        self.model.preview = preview;
                    }
                }
                HostReply::Done(words) => {
                    self.model.show_notice(&words);
                    self.list_at = Instant::now();
                }
                HostReply::Started(name, words) => {
                    self.model.started(name);
                    self.model.show_notice(&words);
                    self.list_at = Instant::now();
                }
                HostReply::Nothing => {}
                HostReply::Panicked => return Err(io::Error::other("a request to a host failed")),
            }
        }
        Ok(())
    }

    /// Updates the list of live sessions, and asks those whose journals have grown.
    fn listed(&mut self, names: &[SessionName]) {
        let before = self.chosen();
        self.model.listed(names);
        self.refresh_preview_unless(before.as_ref());
        self.watcher.add(&self.paths.sessions());
        self.journals.retain(|name, _| names.contains(name));
        for name in names {
            let dir = self.paths.session(name);
            self.watcher.add(&dir);
            let length = std::fs::metadata(dir.join(session::JOURNAL)).map_or(0, |meta| meta.len());
            if self.journals.insert(name.clone(), length) != Some(length) {
                self.queries.begin(HostQuery::Status(name.clone()));
            }
        }
    }

    fn chosen(&self) -> Option<SessionName> {
        self.model.chosen().map(|(_, row)| row.name.clone())
    }

    /// Requests the preview of a newly selected session at once.
    fn refresh_preview_unless(&mut self, before: Option<&SessionName>) {
        if self.chosen().as_ref() != before {
            self.preview_at = Instant::now();
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
        self.refresh_preview_unless(before.as_ref());
        match action {
            None => {}
            Some(DashAction::Quit) => return Ok(Some(DashEnd::Quit)),
            Some(DashAction::Redraw) => {
                fault_injection::panic_at("dashboard");
                self.terminal.clear()?;
            }
            Some(DashAction::Suspend) => {
                self.full_screen.stop()?;
                // SIGCONT also arrives as a signal; it must be handled only once.
                if let Some(signal) =
                    self.signals.take().into_iter().find(|signal| END_SIGNALS.contains(signal))
                {
                    return Ok(Some(DashEnd::Signal(signal)));
                }
                self.resume()?;
            }
            Some(DashAction::Attach(name)) => return self.attach(&name),
            Some(DashAction::New(dir)) => self.send_action(HostQuery::New(dir), "starting it"),
            Some(DashAction::Log(name)) => self.queries.begin(HostQuery::Log(name)),
            Some(DashAction::Ended) => self.list_at = Instant::now(),
            Some(DashAction::Restart(name)) => {
                self.send_action(HostQuery::Restart(name), "requesting a restart")
            }
            Some(DashAction::Stop(name)) => self.send_action(HostQuery::Stop(name), "stopping it"),
            Some(DashAction::Answer(name, option, dialog)) => {
                self.send_action(HostQuery::Answer(name, option, dialog), "answering");
            }
            Some(DashAction::Send(name, text)) => self.send_action(HostQuery::Send(name, text), "sending it"),
        }
        Ok(None)
    }

    fn send_action(&mut self, ask: HostQuery, words: &str) {
        self.queries.begin(ask);
        self.model.show_notice(words);
    }

    fn attach(&mut self, name: &SessionName) -> io::Result<Option<DashEnd>> {
        self.full_screen.leave()?;
        match run_verb::attach(name, &mut self.signals) {
            Ok(AttachReturn::Ended(words)) => self.model.show_notice(&words),
            Ok(AttachReturn::Signal(signal)) => return Ok(Some(DashEnd::Signal(signal))),
            Err(e) => self.model.show_notice(&format!("attach: {name}: {e}")),
        }
        self.resume()?;
        Ok(None)
    }

    /// Another program had the terminal: draws and asks everything again.
    fn resume(&mut self) -> io::Result<()> {
        self.full_screen.resume()?;
        self.terminal.clear()?;
        (self.preview_at, self.list_at) = (Instant::now(), Instant::now());
        Ok(())
    }
}
