//! Which conversation is followed: SessionStart by its source, `/clear`, `/compact`, `/resume` (DESIGN 2, CONTRACT C13).

use super::action::{Action, DecisionKind, HookAnswer, RestartBy};
use super::ask::Ask;
use super::event::{Hook, Source};
use super::phase::{Phase, StopFor, StopStep};
use super::progress::Progress;
use super::{Supervisor, Turn};
use crate::core::context::{Fill, Level};
use crate::core::ids::ConversationId;
use crate::core::time::Stamp;

impl Supervisor {
    /// `anew`: a person began other work with it.
    pub(super) fn change_conversation(
        &mut self,
        id: ConversationId,
        transcript: Option<String>,
        why: &str,
        anew: bool,
        out: &mut Vec<Action>,
    ) {
        if !self.is_current(&id) {
            let sentence = format!("Conversation {id} is followed from now on: {why}.");
            let named = id.clone();
            self.decide(out, DecisionKind::ConversationChanged, sentence, &[self.event_seq], |d| d.conversation = Some(named));
            self.conversation = Some(id.clone());
            self.fill = Fill::default();
            self.fired = Level::Ok;
            self.ask = Ask::Silent;
            self.word = None;
            self.rearm_at_stop = false;
            self.held_off = 0;
            self.spoken = false;
            self.halts.forget();
            self.progress = Progress::default();
        }
        out.push(Action::Follow { conversation: id, transcript, anew });
    }

    pub(super) fn session_start(&mut self, now: Stamp, id: u64, hook: &Hook, out: &mut Vec<Action>) {
        let Some(named) = hook.conversation.clone() else {
            self.answer(id, HookAnswer::Nothing, out);
            return;
        };
        let why = match hook.source {
            Some(Source::Clear) => "`/clear` began it",
            Some(Source::Resume) => "it was resumed",
            Some(Source::Compact) => "it was compacted",
            _ => "Claude began it",
        };
        let other = !self.is_current(&named);
        // An old Claude that is resumed after a crash begins a conversation of its own, too; that is a run's first.
        let by_person = hook.source == Some(Source::Clear) || hook.source == Some(Source::Resume) && self.turn != Turn::Unknown;
        self.change_conversation(named, hook.transcript.clone(), why, other && by_person, out);
        self.spoken |= hook.source == Some(Source::Resume);
        if self.turn == Turn::Unknown || other {
            self.set_turn(now, Turn::Idle);
        }
        let frame = match &self.phase {
            // Only the first one of a run: what comes later is another conversation, by the person's own wish.
            Phase::Delivering { handoff, .. } if hook.source == Some(Source::Startup) && !self.frame_sent => Some(handoff.clone()),
            _ => None,
        };
        match frame {
            Some(handoff) => {
                self.frame_answered = true;
                self.frame_sent = true;
                self.answer(id, HookAnswer::Frame { handoff }, out);
            }
            None => {
                self.frame_answered &= !other;
                self.answer(id, HookAnswer::Nothing, out);
            }
        }
        if other || hook.source == Some(Source::Compact) {
            self.asked_by_another(now, other, out);
        }
    }

    /// The conversation whose fill or signal asked for a hand-over is gone, or is small again.
    fn asked_by_another(&mut self, now: Stamp, other: bool, out: &mut Vec<Action>) {
        let why = "the conversation that asked is no longer the one that runs";
        match &self.phase {
            Phase::Waiting { request } | Phase::Saving { request, .. } => match request.by {
                RestartBy::Level if !request.explicit => self.cancel_request(now, why, out),
                RestartBy::Signal if other => self.cancel_request(now, why, out),
                // A person meant the session, whatever runs in it: what is saved must be what runs now.
                _ => self.back_to_waiting(now, out),
            },
            Phase::Stopping { why: StopFor::Restart { interrupted: false, .. }, step: StopStep::Settle { .. } } if other => {
                let text = format!("The hand-over does not happen: {why}.");
                self.tell(out, DecisionKind::RestartCancelled, text, &[self.event_seq], |_| {});
                self.enter(now, Phase::Running);
                self.release_keys(false, out);
            }
            _ => {}
        }
    }
}
