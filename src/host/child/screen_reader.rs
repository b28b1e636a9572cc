//! Reads Claude's screen by the rules: as text, as a reading, and as facts for the supervisor.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Child, ChildRun};
use crate::core::claude::screen_reading::{BoxMode, ScreenReading, ScreenRuleSet, ScreenText, TitleState};
use crate::core::supervisor::event::Event;
use crate::core::supervisor::screen_facts::{PromptBox, ScreenFacts};
use crate::core::time::Stamp;
use crate::host::observer::topic_line;
use crate::screen::{Attr, Screen, TerminalMode};

/// How often to read the prompt box during a hand-over, in ms.
pub(in crate::host) const SCREEN_LOOK_MS: u64 = 10;

/// The rules for reading Claude's screens, loaded on first use. Rules that panic are not used again.
#[derive(Debug, Default)]
pub(super) struct ScreenRules(OnceCell<Option<ScreenRuleSet>>);

impl ScreenRules {
    fn get(&self) -> Option<&ScreenRuleSet> {
        self.0.get_or_init(|| ScreenRuleSet::builtin().ok()).as_ref()
    }
}

/// What is being typed while the screen is read.
#[derive(Debug, Default)]
pub(in crate::host) struct TypingNow<'a> {
    /// The text that hopty has typed or is about to type into the prompt box.
    pub expected: Option<&'a str>,
    /// A person is in the middle of a key.
    pub in_a_sequence: bool,
}

impl Child {
    /// The live screen, read by the rules. `None` without a screen or without rules.
    pub fn view(&mut self, events: &mut VecDeque<Event>) -> Option<ScreenReading> {
        let rules = self.rules.get()?;
        let text = self.run.as_mut()?.text()?;
        let view = catch_unwind(AssertUnwindSafe(|| {
            crate::sys::fault_injection::panic_at("rules");
            rules.read(&text)
        }));
        if view.is_err() {
            self.rules = ScreenRules(OnceCell::from(None));
            events.push_back(Event::Degraded { part: "reading of Claude's screen".to_owned() });
        }
        view.ok()
    }

    /// The text in the prompt box, if there is any.
    pub fn draft_text(&mut self, events: &mut VecDeque<Event>) -> Option<String> {
        self.view(events)?.prompt_box.map(|shown| shown.text).filter(|text| !text.is_empty())
    }

    /// The subject of a dialog that no rule names: its first line.
    pub fn dialog_subject(&self, dialog: Option<&str>) -> Option<String> {
        let run = self.run.as_ref().filter(|_| dialog == Some("unknown"))?;
        run.dialog_title.as_deref().map(topic_line)
    }

    /// What Claude waits for, in the words of the rules.
    pub fn waiting_for(&self, words: String) -> String {
        match self.rules.get() {
            Some(rules) => rules.waiting_for(&words),
            None => words,
        }
    }

    /// Reads the screen if it has changed, or if `unread` has; reports facts that changed. `unread`: not all
    /// typed input has been read.
    pub fn look(&mut self, now: Stamp, typing: &TypingNow<'_>, unread: bool, events: &mut VecDeque<Event>) {
        let Some(paste) = self.run.as_mut().and_then(|run| run.begin_look(now, unread)) else { return };
        // A screen that cannot be read proves nothing: a dialog on it may be gone.
        let view = self.view(events).unwrap_or_default();
        if let Some(run) = &mut self.run {
            run.dialog_title = view.dialog.as_ref().and_then(|dialog| dialog.title.clone());
        }
        let facts = ScreenFacts { paste, unread, ..facts(view, typing) };
        if let Some(run) = &mut self.run
            && facts != run.facts
        {
            run.facts = facts.clone();
            events.push_back(Event::Screen { facts });
        }
    }
}

impl ChildRun {
    /// The screen as the rules read it, if there is a screen.
    fn text(&mut self) -> Option<ScreenText> {
        self.model.look(text)
    }

    /// Whether to read the screen now; if so, returns whether the program accepts bracketed paste. The screen
    /// of a run that has ended says nothing about the next one.
    fn begin_look(&mut self, now: Stamp, unread: bool) -> Option<bool> {
        let changed = self.model.revision() != self.seen && now >= self.looked.after(SCREEN_LOOK_MS);
        if self.at_end || (!changed && unread == self.facts.unread) {
            return None;
        }
        let paste = self.model.look(|screen| screen.is_on(TerminalMode::BracketedPaste)).unwrap_or_default();
        self.seen = self.model.revision();
        self.looked = now;
        Some(paste)
    }

    pub(super) fn force_look(&mut self) {
        self.seen = u64::MAX;
        self.looked = Stamp(0);
    }
}

/// The facts of a reading, without those that the screen model and the pseudo-terminal add.
fn facts(view: ScreenReading, typing: &TypingNow<'_>) -> ScreenFacts {
    let prompt = match &view.prompt_box {
        None => PromptBox::None,
        Some(shown) if typing.expected.is_some_and(|text| shown.holds(text)) => PromptBox::Ours,
        Some(shown) if shown.text.is_empty() && shown.mode == BoxMode::Prompt && !typing.in_a_sequence => {
            PromptBox::Empty
        }
        Some(_) => PromptBox::Draft,
    };
    let title_busy = match view.title_state {
        TitleState::Busy => Some(true),
        TitleState::Idle => Some(false),
        TitleState::Unknown => None,
    };
    let dialog = view.dialog.map(|dialog| dialog.name);
    ScreenFacts {
        prompt,
        dialog,
        busy: view.busy_hint,
        title_busy,
        mode: view.mode,
        ..ScreenFacts::default()
    }
}

fn text(screen: &Screen) -> ScreenText {
    let (cols, rows) = screen.size();
    let cursor = screen.cursor();
    let mut text = ScreenText {
        cols: usize::from(cols),
        rows: screen.lines(),
        dim: Vec::with_capacity(usize::from(rows)),
        cursor: (usize::from(cursor.col), usize::from(cursor.row)),
        title: screen.title().to_owned(),
    };
    for row in 0..rows {
        let mut at = 0;
        let mut dim = Vec::new();
        for run in screen.row_runs(row) {
            let width = unicode_width::UnicodeWidthStr::width(run.text.as_str());
            if run.style.has(Attr::Dim) {
                dim.push((at, at + width));
            }
            at += width;
        }
        text.dim.push(dim);
    }
    text
}
