//! The loop: one `poll` over the inner terminal, the person's keys and the signals. It moves the story on,
//! notes what happened and has it shown.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::libc;

use super::demo_dirs::DemoDirs;
use super::demo_screen::{DemoKey, DemoScreen, Picture};
use super::demo_terminal::DemoTerminal;
use super::demo_text::visible;
use super::journal_reader::{DecisionLine, JournalReader};
use super::story::{self, Beat, Story, StoryStep};
use super::{DemoClock, DemoEvent, Pace, Who, plain_output, scripted_model};
use crate::core::time::WallTime;
use crate::standin::api::Api;
use crate::sys::poll::{Interest, PollSet};
use crate::sys::signals::{Signals, stop_self};

/// How often the person, the journal and the API's log are looked at, in ms.
const TICK_MS: u64 = 25;

/// Decisions that tell a newcomer nothing: they are in the journal, and not shown.
const QUIET: [&str; 7] = [
    "session.started", "client.attached", "client.detached", "conversation.changed", "handoff.claimed",
    "delivery.started", "tree.reaped",
];

/// How the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DemoEnd {
    /// hopty ended by itself.
    Over,
    /// A beat took too long.
    Stuck(Beat),
    /// A person pressed Ctrl+C, or a signal came (its number).
    Signal(i32),
    /// Nobody reads what is written any more.
    Unread,
}

/// How the run is shown.
pub(super) enum ShowMode {
    /// Live, on the person's terminal.
    Stage(Box<DemoScreen>),
    Lines,
}

/// What the loop works on.
pub(super) struct Show {
    pub(super) clock: DemoClock,
    pub(super) inner: DemoTerminal,
    pub(super) journal: JournalReader,
    story: Story,
    signals: Signals,
    pub(super) view: ShowMode,
    pub(super) entries: Vec<DemoEvent>,
    /// What is said about the run at the moment, then what is to be said next: some beats are over before
    /// they can be read.
    captions: VecDeque<&'static str>,
    caption_since: Duration,
    shown: ShownCounts,
}

/// How much has been shown.
#[derive(Default)]
struct ShownCounts {
    requests: usize,
    usages: usize,
    decisions: usize,
    lines: usize,
}

impl Show {
    pub(super) fn new(
        clock: DemoClock,
        inner: DemoTerminal,
        journal: JournalReader,
        story: Story,
        signals: Signals,
        view: ShowMode,
    ) -> Show {
        let captions = VecDeque::from([story.beat.caption()]);
        Show {
            clock,
            inner,
            journal,
            story,
            signals,
            view,
            entries: Vec::new(),
            captions,
            caption_since: Duration::ZERO,
            shown: ShownCounts::default(),
        }
    }

    /// Runs until something ends it.
    pub(super) fn run(&mut self, place: &DemoDirs, api: &Api) -> DemoEnd {
        if let ShowMode::Lines = self.view
            && plain_output::begin().is_err()
        {
            return DemoEnd::Unread;
        }
        self.note(Who::Demo, format!("A home directory and a project of its own: {}", place.base.display()));
        self.note(Who::Demo, self.story.beat.caption());
        loop {
            if self.show().is_err() {
                return DemoEnd::Unread;
            }
            if self.story.beat == Beat::Over {
                return DemoEnd::Over;
            }
            if let Some(end) = self.wait() {
                self.captions = VecDeque::from(["Ending hopty, the agent and their processes."]);
                let _ = self.show();
                return end;
            }
            self.inner.take();
            self.journal.read();
            match self.story.step(self.clock.now(), &mut self.inner, &self.journal) {
                StoryStep::Stuck => return DemoEnd::Stuck(self.story.beat),
                StoryStep::New => self.beat(),
                StoryStep::Same => {}
            }
            self.listen(api);
        }
    }

    /// Waits for something to do; the end, when it has come.
    fn wait(&mut self) -> Option<DemoEnd> {
        let stdin = io::stdin();
        let mut set = PollSet::default();
        set.add('p', self.inner.as_fd(), Interest::Read);
        set.add('s', self.signals.as_fd(), Interest::Read);
        if let ShowMode::Stage(_) = self.view {
            set.add('k', stdin.as_fd(), Interest::Read);
        }
        let ready = set.wait(Some(TICK_MS)).unwrap_or_default();
        let keys = ready.iter().any(|(token, _)| *token == 'k');
        for signal in self.signals.take() {
            match signal {
                libc::SIGWINCH => self.resized(),
                libc::SIGTSTP => self.pause(),
                libc::SIGCONT => self.resumed(),
                ends => return Some(DemoEnd::Signal(ends)),
            }
        }
        if keys && let ShowMode::Stage(stage) = &mut self.view {
            match stage.read_keys() {
                DemoKey::Interrupt => return Some(DemoEnd::Signal(libc::SIGINT)),
                DemoKey::Gone => return Some(DemoEnd::Signal(libc::SIGHUP)),
                DemoKey::Suspend => self.pause(),
                DemoKey::Other => {}
            }
        }
        None
    }

    fn resized(&mut self) {
        if let ShowMode::Stage(stage) = &mut self.view {
            stage.resized();
            let (cols, rows) = stage.inner_size();
            self.inner.resize(cols, rows);
        }
    }

    fn resumed(&mut self) {
        if let ShowMode::Stage(stage) = &mut self.view {
            stage.resume();
        }
        self.resized();
    }

    /// Stops like any program after Ctrl+Z: the shell gets a whole terminal. In an orphaned process group the
    /// kernel discards the signal; then the demo continues.
    fn pause(&mut self) {
        let at = Instant::now();
        if let ShowMode::Stage(stage) = &mut self.view {
            stage.suspend();
        }
        stop_self();
        self.clock.skip(at.elapsed());
        self.resumed();
    }

    fn note(&mut self, who: Who, text: impl Into<String>) {
        self.entries.push(DemoEvent { at: self.clock.now(), who, text: text.into() });
    }

    /// A new beat: what it is about, and what the person does in it.
    fn beat(&mut self) {
        match self.story.beat {
            Beat::Over => {}
            beat => {
                self.captions.push_back(beat.caption());
                self.note(Who::Demo, beat.caption());
            }
        }
        match self.story.beat {
            Beat::Asking => self.note(Who::Person, format!("types: {}", scripted_model::GOAL)),
            Beat::Leaving => self.note(Who::Person, format!("types: {}", story::EXIT)),
            _ => {}
        }
    }

    /// What agent and hopty did meanwhile, in the order in which it happened.
    fn listen(&mut self, api: &Api) {
        let requests = api.main_requests();
        let (now, wall) = (self.clock.now(), crate::sys::clock::Clock::wall());
        let ago = |at: WallTime| Duration::from_millis(u64::try_from(wall.0 - at.0).unwrap_or(0));
        let entry = |ago: Duration, who: Who, text: &str| DemoEvent {
            at: now.saturating_sub(ago),
            who,
            text: visible(text),
        };
        let answers = requests.iter().skip(self.shown.requests);
        let mut new: Vec<DemoEvent> = answers
            .map(|request| {
                entry(
                    request.at.elapsed(),
                    Who::Agent,
                    &scripted_model::in_words(&scripted_model::reply(request, Pace::BRISK)),
                )
            })
            .collect();
        let usages = self.journal.usages.iter().skip(self.shown.usages);
        new.extend(usages.map(|usage| entry(ago(usage.at), Who::Meter, &usage.in_words())));
        let decisions = self
            .journal
            .decisions
            .iter()
            .skip(self.shown.decisions)
            .filter(|decision| is_for_newcomers(decision));
        new.extend(decisions.map(|decision| entry(ago(decision.at), Who::Hopty, &decision.sentence)));
        self.shown.requests = requests.len();
        self.shown.usages = self.journal.usages.len();
        self.shown.decisions = self.journal.decisions.len();
        new.sort_by_key(|entry| entry.at);
        self.entries.extend(new);
    }

    fn show(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        if self.captions.len() > 1 && now >= self.caption_since + self.story.pace.look() {
            self.captions.pop_front();
            self.caption_since = now;
        }
        match &mut self.view {
            ShowMode::Stage(stage) => {
                let conversations = self.journal.conversations();
                stage.draw(&Picture {
                    screen: &self.inner.screen,
                    caption: self.captions.front().copied().unwrap_or_default(),
                    usage: self
                        .journal
                        .usages
                        .last()
                        .filter(|usage| conversations.last() == Some(&usage.conversation.as_str())),
                    conversation: conversations.len(),
                    entries: &self.entries,
                    now,
                })
            }
            ShowMode::Lines => {
                for entry in self.entries.iter().skip(self.shown.lines) {
                    plain_output::entry(entry)?;
                }
                self.shown.lines = self.entries.len();
                Ok(())
            }
        }
    }
}

/// Whether a decision tells a newcomer something. The others are in the journal.
fn is_for_newcomers(decision: &DecisionLine) -> bool {
    match decision.kind.as_str() {
        // The one level at which hopty waits no longer; `handoff` is followed by a request that says the
        // same.
        "level.crossed" => decision.level == "hard",
        kind => !QUIET.contains(&kind),
    }
}
