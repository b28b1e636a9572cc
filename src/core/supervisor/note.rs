//! Claude's own words for the handoff: asked for once, where there is room and time, and never waited for
//! long.
//!
//! In a tool loop it is asked as soon as a level is reached, while the loop goes on: the answer is the text
//! of a later message. Otherwise the question rides on the answer of the hook at which Claude could have been
//! stopped. What it answers ends its next turn, so the end of that turn is the safe point; when it uses tools
//! instead, a tool boundary is, as soon as the time is over.

use super::action::{Action, HookAnswer, HookInstruction, RestartBy};
use super::phase::{Phase, RestartRequest};
use super::{HeldHook, Supervisor, Turn};
use crate::core::config::SummaryMode;
use crate::core::context::Level;
use crate::core::time::Stamp;

/// How long Claude's own words are waited for, in ms. Its turn goes on meanwhile.
const NOTE_MS: u64 = 90_000;

impl Supervisor {
    /// Whether Claude is to be asked before it is stopped: not twice, not for somebody who does not want to
    /// wait, and not over the hard level, where the answer might not fit any more.
    pub(super) fn may_ask_for_note(&self, request: &RestartRequest) -> bool {
        let c = &self.policy.config.handoff;
        c.summary == SummaryMode::Auto
            && self.policy.notes
            && request.handoff
            && request.note_until.is_none()
            && !request.now
            && !request.forced
            && self.run.queued == 0
            && self.level() < Level::Hard
    }

    /// Whether Claude is to be asked at a tool boundary that is no safe point yet.
    pub(super) fn asks_in_loop(&self, request: &RestartRequest) -> bool {
        self.policy.rules > 1 && request.by == RestartBy::Level && self.may_ask_for_note(request)
    }

    /// Asks Claude, which goes on with its work. Nothing is waited for.
    pub(super) fn ask_in_loop(&mut self, now: Stamp, held: &HeldHook, out: &mut Vec<Action>) {
        if let Phase::Waiting { request } = &mut self.phase {
            request.note_until = Some(now);
        }
        self.run.held = None;
        self.answer(held.id, HookAnswer::Tell { what: HookInstruction::NoteInLoop }, out);
    }

    /// Lets Claude go on with the question.
    pub(super) fn ask_for_note(&mut self, now: Stamp, held: &HeldHook, out: &mut Vec<Action>) {
        let until = now.after(NOTE_MS);
        if let Phase::Waiting { request } = &mut self.phase {
            request.note_until = Some(until);
        }
        self.run.held = None;
        self.set_turn(now, Turn::Busy);
        self.answer(held.id, HookAnswer::Tell { what: HookInstruction::Note }, out);
    }
}
