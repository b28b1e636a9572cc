//! Turns according to the transcript and the screen, where no hook reports them: hooks are disabled, or an
//! old Claude was told to end its turn after a tool, which calls no Stop.

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

    /// When an end that was not reported yet may be: once the screen has been quiet until `quiet_from`.
    pub fn turn_deadline(&self, cut: bool, quiet_from: Stamp, now: Stamp) -> Option<Stamp> {
        let told = self.transcript.as_ref().and_then(|transcript| transcript.reported_turn_over());
        let waits = self.turn_is_over(cut) == Some(true) && told != Some(true);
        waits.then_some(quiet_from).filter(|at| *at > now)
    }
}
