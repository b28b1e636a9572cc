//! The loop: it reads the inner terminal, the person's keys and the signals, advances the story, records
//! events and shows them.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::libc;

use super::demo_dirs::DemoDirs;
use super::demo_event::{DemoActor, DemoClock, DemoEvent, Pace};
use super::demo_screen::{DemoKey, DemoScreen, Picture};
use super::journal_reader::JournalReader;
use super::story::{self, Beat, Story, StoryStep};
use super::{plain_output, scripted_model};
use crate::core::context_level::Level;
use crate::core::supervisor::action::{Decision, DecisionKind};
use crate::core::text::visible::visible;
use crate::core::time::WallTime;
use crate::standin::api::Api;
use crate::sys::poll::is_readable;
use crate::sys::signals::{Signals, stop_self};
use crate::testing::test_terminal::TestTerminal;

/// How often the keys, the journal and the API's log are read.
const TICK: Duration = Duration::from_millis(25);

/// Decisions that mean nothing to a newcomer; they are in the journal but not shown.
const QUIET: [DecisionKind; 7] = [
    DecisionKind::SessionStarted,
    DecisionKind::ClientAttached,
    DecisionKind::ClientDetached,
    DecisionKind::ConversationChanged,
    DecisionKind::HandoffClaimed,
    DecisionKind::DeliveryStarted,
    DecisionKind::TreeReaped,
];

/// How the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DemoEnd {
    /// hopty ended by itself.
    Over,
    /// A beat took too long.
    Stuck(Beat),
    /// A person pressed Ctrl+C, or a signal arrived (its number).
    Signal(i32),
    /// Nobody reads the output any more.
    Unread,
}

/// How the run is shown.
pub(super) enum ShowMode {
    /// Live, on the person's terminal.
    Stage(Box<DemoScreen>),
    Lines,
}

pub(super) struct Show {
    pub(super) clock: DemoClock,
    pub(super) inner: TestTerminal,
    pub(super) journal: JournalReader,
    story: Story,
    signals: Signals,
    pub(super) view: ShowMode,
    pub(super) entries: Vec<DemoEvent>,
    /// The caption now, then those to show next: some beats end before their caption can be read.
    captions: VecDeque<&'static str>,
    caption_since: Duration,
    shown: ShownCounts,
}

/// How many items were shown so far.
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
        inner: TestTerminal,
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
        self.note(
            DemoActor::Demo,
            format!("A home directory and a project of its own: {}", place.base.display()),
        );
        self.note(DemoActor::Demo, self.story.beat.caption());
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
            self.journal.read();
            match self.story.step(self.clock.now(), &mut self.inner, &self.journal) {
                StoryStep::Stuck => return DemoEnd::Stuck(self.story.beat),
                StoryStep::New => self.beat(),
                StoryStep::Same => {}
            }
            self.listen(api);
        }
    }

    /// Waits for output, and reads keys and signals; returns the end, if it has come.
    fn wait(&mut self) -> Option<DemoEnd> {
        self.inner.pump(Some(Instant::now() + TICK));
        for signal in self.signals.take() {
            match signal {
                libc::SIGWINCH => self.resized(),
                libc::SIGTSTP => self.pause(),
                libc::SIGCONT => self.resumed(),
                ends => return Some(DemoEnd::Signal(ends)),
            }
        }
        if let ShowMode::Stage(stage) = &mut self.view
            && is_readable(io::stdin().as_fd())
        {
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
            let _ = self.inner.resize(cols, rows);
        }
    }

    fn resumed(&mut self) {
        if let ShowMode::Stage(stage) = &mut self.view {
            stage.resume();
        }
        self.resized();
    }

    /// Stops like any program after Ctrl+Z, with the terminal restored. In an orphaned process group the
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

    fn note(&mut self, who: DemoActor, text: impl Into<String>) {
        self.entries.push(DemoEvent { at: self.clock.now(), who, text: text.into() });
    }

    /// Starts a new beat: its caption, and what the person does in it.
    fn beat(&mut self) {
        match self.story.beat {
            Beat::Over => {}
            beat => {
                self.captions.push_back(beat.caption());
                self.note(DemoActor::Demo, beat.caption());
            }
        }
        match self.story.beat {
            Beat::Asking => self.note(DemoActor::Person, format!("types: {}", scripted_model::GOAL)),
            Beat::Leaving => self.note(DemoActor::Person, format!("types: {}", story::EXIT)),
            _ => {}
        }
    }

    /// Collects what agent and hopty did meanwhile, in chronological order.
    fn listen(&mut self, api: &Api) {
        let requests = api.main_requests();
        let (now, wall) = (self.clock.now(), crate::sys::clock::Clock::wall());
        let ago = |at: WallTime| Duration::from_millis(u64::try_from(wall.0 - at.0).unwrap_or(0));
        let entry = |ago: Duration, who: DemoActor, text: &str| DemoEvent {
            at: now.saturating_sub(ago),
            who,
            text: visible(text),
        };
        let answers = requests.iter().skip(self.shown.requests);
        let mut new: Vec<DemoEvent> = answers
            .map(|request| {
                entry(
                    request.at.elapsed(),
                    DemoActor::Agent,
                    &scripted_model::in_words(&scripted_model::reply(request, Pace::BRISK)),
                )
            })
            .collect();
        let usages = self.journal.usages.iter().skip(self.shown.usages);
        new.extend(usages.map(|usage| entry(ago(usage.at), DemoActor::Meter, &usage.in_words())));
        let decisions = self
            .journal
            .decisions
            .iter()
            .skip(self.shown.decisions)
            .filter(|(_, decision)| is_for_newcomers(decision));
        new.extend(decisions.map(|(at, decision)| entry(ago(*at), DemoActor::Hopty, &decision.sentence)));
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
                    screen: self.inner.screen(),
                    caption: self.captions.front().copied().unwrap_or_default(),
                    usage: self
                        .journal
                        .usages
                        .last()
                        .filter(|usage| conversations.last() == Some(&usage.conversation)),
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

/// Whether a decision means something to a newcomer. The others are in the journal.
fn is_for_newcomers(decision: &Decision) -> bool {
    match decision.kind {
        // The one level at which hopty waits no longer; `handoff` is followed by a request that says the
        // same.
        DecisionKind::LevelCrossed => decision.level == Some(Level::Hard),
        kind => !QUIET.contains(&kind),
    }
}
