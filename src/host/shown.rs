//! The screen as facts for the supervisor, and hopty's own changes to it between two runs.

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Host;
use super::child::ChildRun;
use super::terminals::repaint;
use crate::core::claude::view::{BoxMode, Rules, ScreenText, TitleState, View};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::supervisor::Agent;
use crate::core::supervisor::action::RestartBy;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::{Phase, StartKind, StopFor, StopStep};
use crate::core::supervisor::screen_facts::{PromptBox, ScreenFacts};
use crate::core::time::Stamp;
use crate::screen::{Attr, Screen, TerminalMode};

/// How often to read the prompt box during a hand-over, in ms.
pub(super) const LOOK_MS: u64 = 10;

impl ChildRun {
    /// The screen as the rules read it, if there is a screen.
    pub fn text(&mut self) -> Option<ScreenText> {
        self.model.look(text)
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

impl Host {
    /// hopty's own line between two runs.
    pub(super) fn going_on(&self) -> String {
        let supervisor = &self.recorder.supervisor;
        let fill = supervisor.fill();
        // A person who requested the restart knows the reason.
        let full = match self.jobs.reason.by {
            Some(RestartBy::Level) if fill.is_by_size(&supervisor.levels()) => {
                format!("transcript of {} KiB, ", fill.bytes / 1024)
            }
            Some(RestartBy::Level) if fill.tokens > 0 => format!("context {} % full, ", fill.percent()),
            _ => String::new(),
        };
        let into = match (self.next_handoff(), self.phase()) {
            (Some(id), _) => format!("handing over as {id}"),
            (None, Phase::Stopping { why: StopFor::Restart { plan, .. }, .. })
                if plan.start == StartKind::Resume =>
            {
                let id = |id: Option<&ConversationId>| id.map(ToString::to_string).unwrap_or_default();
                let (back, newer) = (id(plan.conversation.as_ref()), id(supervisor.conversation()));
                format!("back in conversation {back}; to return to the newer one: claude --resume {newer}")
            }
            (None, _) => "starting a fresh conversation".to_owned(),
        };
        format!("\r\x1b[2mhopty: {full}{into}\x1b[0m\r\n\r\n{}", self.printed_between())
    }

    /// The handoff from which the next run continues.
    pub(super) fn next_handoff(&self) -> Option<&HandoffId> {
        match self.phase() {
            Phase::Stopping { why: StopFor::Restart { plan, .. }, .. } => plan.handoff.as_ref(),
            _ => None,
        }
    }

    /// Erases Claude's prompt box and everything below it on the primary screen, so that the next run begins
    /// there. The cursor moves are relative, because the program may have begun further down on the person's
    /// terminal than in the model.
    pub(super) fn without_the_box(&mut self) -> Vec<u8> {
        let shown = self.view().and_then(|view| view.prompt_box);
        let Some(run) = &mut self.child.run else { return Vec::new() };
        let moves = run.model.look(|screen| {
            let cursor = usize::from(screen.cursor().row);
            match &shown {
                _ if screen.alternate() => Vec::new(),
                Some(shown) => match cursor.saturating_sub(shown.rows.start.saturating_sub(1)) {
                    0 => b"\r\x1b[J".to_vec(),
                    up => format!("\x1b[{up}A\r\x1b[J").into_bytes(),
                },
                None => {
                    let last = screen.lines().iter().rposition(|line| !line.is_empty()).unwrap_or(0);
                    match last.saturating_sub(cursor) {
                        0 => b"\r\n".to_vec(),
                        down => format!("\x1b[{down}B\r\n").into_bytes(),
                    }
                }
            }
        });
        // Without a model: at least start on a new line.
        moves.unwrap_or_else(|| b"\r\n".to_vec())
    }

    /// Copies the text above the prompt box from the alternate screen to the primary one: no terminal has it
    /// in its history.
    pub(super) fn last_lines(&mut self) -> Vec<u8> {
        self.above_the_box(|screen, lines| if screen.alternate() { lines } else { Vec::new() })
            .unwrap_or_default()
    }

    /// The same for the history that a later terminal gets: it matches that of the terminals that saw the old
    /// run end.
    pub(super) fn left_above(&mut self) -> Option<Vec<u8>> {
        self.above_the_box(|screen, lines| [repaint::history(screen, usize::MAX).as_bytes(), &lines].concat())
    }

    fn above_the_box(&mut self, of: impl FnOnce(&Screen, Vec<u8>) -> Vec<u8>) -> Option<Vec<u8>> {
        let shown = self.view().and_then(|view| view.prompt_box);
        self.child.run.as_mut()?.model.look(|screen| {
            let end = shown.map_or(usize::from(screen.size().1), |shown| shown.rows.start.saturating_sub(1));
            let lines = screen.lines();
            let above = &lines[..end.min(lines.len())];
            let rows = match (
                above.iter().position(|line| !line.is_empty()),
                above.iter().rposition(|line| !line.is_empty()),
            ) {
                (Some(first), Some(last)) => repaint::rows(screen, first..last + 1),
                _ => Vec::new(),
            };
            of(screen, rows)
        })
    }

    /// The live screen, read by the rules.
    pub(super) fn view(&mut self) -> Option<View> {
        let rules = self.rules.get_or_init(|| Rules::builtin().ok()).as_ref()?;
        let text = self.child.run.as_mut()?.text()?;
        let view = catch_unwind(AssertUnwindSafe(|| {
            #[cfg(debug_assertions)]
            super::event_loop::panic_when_asked("rules");
            rules.read(&text)
        }));
        if view.is_err() {
            self.rules = OnceCell::from(None);
            self.events.push_back(Event::Degraded { part: "reading of Claude's screen".to_owned() });
        }
        view.ok()
    }

    /// The rules for reading Claude's screen.
    pub(super) fn rules(&self) -> Option<&Rules> {
        self.rules.get_or_init(|| Rules::builtin().ok()).as_ref()
    }

    /// Only the screen shows when the child has read what was typed, and an Enter may wait for that.
    pub(super) fn unread_deadline(&self, now: Stamp) -> Option<Stamp> {
        let types = matches!(self.phase(), Phase::Delivering { .. }) || self.keyboard.queue.is_submitting();
        let waits = types && self.child.run.as_ref().is_some_and(|run| run.facts.unread);
        waits.then(|| now.after(LOOK_MS))
    }

    /// Reports changes of the screen to the supervisor while they matter.
    pub(super) fn tell_screen(&mut self) {
        let phase = self.phase();
        let delivering = matches!(phase, Phase::Delivering { .. });
        let settling = matches!(phase, Phase::Stopping { step: StopStep::Settle { .. }, .. });
        // A hook call may lead to a stop, which a draft postpones; and whoever was told of a dialog must be
        // told of its end.
        let matters = delivering
            || settling
            || matches!(phase, Phase::Waiting { .. })
            || !self.control.hooks.is_empty()
            || self.control.waits.for_state()
            || self.keyboard.queue.is_submitting()
            || self.recorder.supervisor.stands_still()
            || self.recorder.supervisor.watches_mode(self.clock.now());
        let told = self.child.run.as_ref().is_some_and(|run| run.facts.dialog.is_some());
        if matters || told {
            self.look_at_screen();
        }
    }

    /// Reports the screen to the supervisor if it has changed.
    pub(super) fn look_at_screen(&mut self) {
        if self.launch.agent == Agent::Plain {
            return;
        }
        let delivering = matches!(self.phase(), Phase::Delivering { .. });
        let types = delivering || self.keyboard.queue.is_submitting();
        // Never paste into the middle of a key.
        let in_a_sequence = self.terminals.is_in_a_sequence(None);
        let now = self.clock.now();
        // The screen of a run that has ended says nothing about the next one.
        let Some(run) = self.child.run.as_mut().filter(|run| !run.at_end) else { return };
        let unread = types
            && (in_a_sequence
                || !run.input.is_empty()
                || run.pty.unread()
                || (!delivering && self.keyboard.held.deadline().is_some()));
        let changed = run.model.revision() != run.seen && now >= run.looked.after(LOOK_MS);
        if !changed && unread == run.facts.unread {
            return;
        }
        let paste = run.model.look(|screen| screen.is_on(TerminalMode::BracketedPaste)).unwrap_or_default();
        run.seen = run.model.revision();
        run.looked = now;
        // A screen that cannot be read any more proves nothing: a dialog that was there may be gone.
        let view = self.view().unwrap_or_default();
        let sent = self.keyboard.queue.text().filter(|_| !delivering).map(str::to_owned);
        let expected = sent.or_else(|| self.jobs.brief.as_ref().and_then(|frame| frame.typed.clone()));
        let prompt = match &view.prompt_box {
            None => PromptBox::None,
            Some(shown) if expected.as_ref().is_some_and(|text| shown.holds(text)) => PromptBox::Ours,
            Some(shown) if shown.text.is_empty() && shown.mode == BoxMode::Prompt && !in_a_sequence => {
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
        let facts =
            ScreenFacts { prompt, dialog, paste, unread, busy: view.busy_hint, title_busy, mode: view.mode };
        let Some(run) = &mut self.child.run else { return };
        if facts != run.facts {
            run.facts = facts.clone();
            self.events.push_back(Event::Screen { facts });
        }
    }
}
