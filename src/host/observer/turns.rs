//! Turns according to the transcript and the screen, for when no hook reports them: hooks are disabled, or an
//! old Claude was told to end its turn after a tool, which runs no Stop hook.

use std::collections::VecDeque;

use super::Observer;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;

impl Observer {
    /// Whether the transcript reports turns from now on.
    pub fn set_turns_by_transcript(&mut self, wanted: bool) {
        self.turns_by_transcript = wanted;
    }

    /// Whether the turn is over; `None` while hooks report turns, and before the first prompt. `cut`: the
    /// turn was told to end after a tool.
    pub fn turn_is_over(&self, cut: bool) -> Option<bool> {
        if !self.turns_by_transcript {
            return None;
        }
        let facts = &self.whole_transcript()?.facts;
        facts.has_begun().then(|| facts.turn_ended() || (cut && facts.calls.open().is_empty()))
    }

    /// Whether the person stopped the last turn, or refused one of its tools, according to the transcript.
    pub fn turn_is_interrupted(&self) -> bool {
        self.facts().is_some_and(|facts| facts.turn.is_interrupted())
    }

    /// Reports the start or end of a turn to the supervisor.
    pub fn report_turn(&mut self, over: bool, events: &mut VecDeque<Event>) {
        let Some(transcript) = &mut self.transcript else { return };
        if transcript.report_turn(over) {
            let conversation = transcript.conversation.clone();
            events.push_back(if over {
                Event::TurnEnded { conversation }
            } else {
                Event::TurnBegan { conversation }
            });
        }
    }

    /// When to report the end of a turn: once the screen has been quiet until `quiet_from`.
    pub fn turn_deadline(&self, cut: bool, quiet_from: Stamp, now: Stamp) -> Option<Stamp> {
        let told = self.transcript.as_ref().and_then(|transcript| transcript.reported_turn_over());
        let waits = self.turn_is_over(cut) == Some(true) && told != Some(true);
        waits.then_some(quiet_from).filter(|at| *at > now)
    }
}
