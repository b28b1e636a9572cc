//! Claude's own words for the handoff: requested once, if there is room and time, and never waited for long.
//!
//! In a tool loop hopty asks as soon as a level is reached, and the loop goes on: the answer is the text of a
//! later message. Otherwise the request is part of the answer to the hook at which Claude could have been
//! stopped. Claude's reply ends its next turn, so the end of that turn is the safe point; if Claude uses
//! tools instead, the first tool boundary after the time limit is.

use super::action::{HookAnswer, HookInstruction, RestartBy};
use super::hooks::HeldHook;
use super::phase::{Phase, RestartRequest};
use super::step::EventStep;
use super::{Supervisor, Turn};
use crate::core::config::SummaryMode;
use crate::core::context::Level;

/// How long to wait for Claude's own words, in ms. Its turn goes on meanwhile.
const NOTE_MS: u64 = 90_000;

impl Supervisor {
    /// Whether to ask Claude before it is stopped: not twice, not if the person does not want to wait, and
    /// not above the hard level, where the answer might no longer fit.
    pub(super) fn may_ask_for_note(&self, request: &RestartRequest) -> bool {
        let c = &self.policy.config.handoff;
        c.summary == SummaryMode::Auto
            && self.policy.notes
            && request.handoff
            && request.note_until.is_none()
            && !request.now
            && !request.forced
            && self.run.queue.prompts == 0
            && self.level() < Level::Hard
    }

    /// Whether to ask Claude at a tool boundary that is not a safe point yet.
    pub(super) fn asks_in_loop(&self, request: &RestartRequest) -> bool {
        self.policy.rules > 1 && request.by == RestartBy::Level && self.may_ask_for_note(request)
    }

    /// Asks Claude, which goes on with its work; hopty does not wait for the answer.
    pub(super) fn ask_in_loop(&mut self, step: &mut EventStep<'_>, held: &HeldHook) {
        if let Phase::Waiting { request } = &mut self.phase {
            request.note_until = Some(step.now);
        }
        self.run.hooks.held = None;
        step.answer(held.id, HookAnswer::Tell { what: HookInstruction::NoteInLoop });
    }

    /// Lets Claude continue with the request for its own words.
    pub(super) fn ask_for_note(&mut self, step: &mut EventStep<'_>, held: &HeldHook) {
        let until = step.now.after(NOTE_MS);
        if let Phase::Waiting { request } = &mut self.phase {
            request.note_until = Some(until);
        }
        self.run.hooks.held = None;
        self.set_turn(step.now, Turn::Busy);
        step.answer(held.id, HookAnswer::Tell { what: HookInstruction::Note });
    }
}
