//! Which conversation is followed: SessionStart by its source, `/clear`, `/compact`, `/resume`.

use super::action::{Action, DecisionKind, HookAnswer, RestartBy};
use super::context_level_watch::{LevelWatch, StartLevel};
use super::conversation_state::ConversationState;
use super::event::{HookFacts, SessionsFileStatus, StartSource};
use super::phase::{Phase, StopFor, StopStep};
use super::prompt_delivery::PromptDelivery;
use super::step::EventStep;
use super::{Supervisor, Turn};
use crate::core::ids::ConversationId;

/// How long a hook's claim about another conversation waits for the sessions file, in ms: 2.1.197 writes it
/// up to a second later (measured with `--continue` and `/resume`), and a long conversation takes longer to
/// load.
const CLAIM_MS: u64 = 30_000;

impl Supervisor {
    /// A hook other than SessionStart reports another conversation: with `--fork-session` 2.1.197 reports the
    /// new one only here.
    pub(super) fn follows_elsewhere(&mut self, step: &mut EventStep<'_>, hook: &HookFacts) -> bool {
        let Some(named) = hook.conversation.clone().filter(|_| self.policy.sessions_file) else {
            return false;
        };
        if !self.run.believes(step.now, hook, &named, self.conversation.id.as_ref()) {
            return false;
        }
        self.run.hooks.claim = None;
        self.change_conversation(step, named, hook.transcript.clone(), "Claude is working in it", false);
        true
    }

    /// The status in Claude's sessions file changed.
    pub(super) fn status(
        &mut self,
        step: &mut EventStep<'_>,
        status: SessionsFileStatus,
        named: Option<&ConversationId>,
        waiting_for: Option<&String>,
    ) {
        self.run.set_status(step.now, status, waiting_for);
        self.file_names(step, named);
        if !self.run.hooks.any_call
            && let Some(id) = named
            && !self.conversation.is(id)
            && self.run.pid.is_some()
        {
            self.change_conversation(step, id.clone(), None, "Claude's sessions file names it", false);
        }
        self.settle_on_status(step);
    }

    /// The sessions file reports a conversation.
    pub(super) fn file_names(&mut self, step: &mut EventStep<'_>, named: Option<&ConversationId>) {
        if !self.policy.sessions_file || self.run.pid.is_none() {
            return;
        }
        self.run.file.conversation = named.cloned();
        let Some((hook, at)) = self.run.hooks.claim.clone() else { return };
        if named.is_some() && hook.conversation.as_ref() == named && step.now.since(at) <= CLAIM_MS {
            self.run.hooks.claim = None;
            self.believe_late(step, &hook);
        }
    }

    /// `anew`: a person started other work in it.
    fn change_conversation(
        &mut self,
        step: &mut EventStep<'_>,
        id: ConversationId,
        transcript: Option<String>,
        why: &str,
        anew: bool,
    ) {
        if !self.conversation.is(&id) {
            let sentence = format!("hopty now follows conversation {id}: {why}.");
            let named = id.clone();
            step.decide(DecisionKind::ConversationChanged, sentence).conversation(named);
            let own = self.run.turn.state == Turn::Unknown
                && self.conversation.usage.start_level == StartLevel::Unmeasured
                && self.chain.renames(&id);
            let usage = if own { LevelWatch::of_own() } else { LevelWatch::default() };
            self.conversation =
                ConversationState { id: Some(id.clone()), usage, ..ConversationState::default() };
        }
        step.act(Action::Follow { conversation: id, transcript, anew });
    }

    pub(super) fn session_start(&mut self, step: &mut EventStep<'_>, id: u64, hook: &HookFacts) {
        let Some(named) = hook.conversation.clone() else {
            step.answer(id, HookAnswer::Nothing);
            return;
        };
        if self.policy.sessions_file
            && !self.run.believes(step.now, hook, &named, self.conversation.id.as_ref())
        {
            step.answer(id, HookAnswer::Nothing);
            return;
        }
        let other = self.follow_named(step, hook, named);
        let brief_of = match &self.phase {
            // Only the first conversation of a run counts: a person chose any later one.
            Phase::Delivering(PromptDelivery { handoff, .. })
                if hook.source == Some(StartSource::Startup) && !self.run.delivery.brief_sent =>
            {
                Some(handoff.clone())
            }
            _ => None,
        };
        match brief_of {
            Some(handoff) => {
                self.run.delivery.give_brief(id, &self.policy);
                step.answer(id, HookAnswer::Brief { handoff });
            }
            None => {
                self.run.delivery.brief_answered &= !other;
                step.answer(id, HookAnswer::Nothing);
            }
        }
        if other || hook.source == Some(StartSource::Compact) {
            self.asked_by_another(step, other);
        }
    }

    /// Believes a claim once the sessions file agrees, when no hook call waits for an answer.
    fn believe_late(&mut self, step: &mut EventStep<'_>, hook: &HookFacts) {
        let Some(named) = hook.conversation.clone() else { return };
        if self.follow_named(step, hook, named) {
            self.run.delivery.brief_answered = false;
            self.asked_by_another(step, true);
        }
    }

    /// Follows the conversation that a hook reports. Returns whether it differs from the previous one.
    fn follow_named(&mut self, step: &mut EventStep<'_>, hook: &HookFacts, named: ConversationId) -> bool {
        let why = match hook.source {
            Some(StartSource::Clear) => "`/clear` started it",
            Some(StartSource::Resume) => "it was resumed",
            Some(StartSource::Compact) => "it was compacted",
            _ => "Claude started it",
        };
        let other = !self.conversation.is(&named);
        // An old Claude that is resumed after a crash also starts a new conversation; that one is the run's
        // first.
        let by_person = hook.source == Some(StartSource::Clear)
            || hook.source == Some(StartSource::Resume) && self.run.turn.state != Turn::Unknown;
        self.change_conversation(step, named, hook.transcript.clone(), why, other && by_person);
        self.conversation.spoken |= hook.source == Some(StartSource::Resume);
        if matches!(hook.source, Some(StartSource::Startup | StartSource::Clear)) {
            self.conversation.begin_empty(&self.policy);
        }
        if self.run.turn.state == Turn::Unknown || other {
            self.run.set_turn(step.now, Turn::Idle);
        }
        other
    }

    /// The conversation whose context usage or signal requested a hand-over is gone, or has shrunk.
    fn asked_by_another(&mut self, step: &mut EventStep<'_>, other: bool) {
        let why = "the conversation that requested it is no longer the current one";
        match &self.phase {
            Phase::Waiting { request } | Phase::Saving { request, .. } => match request.by {
                RestartBy::Level if !request.explicit => self.cancel_request(step, why),
                RestartBy::Signal if other => self.cancel_request(step, why),
                // A person's request concerns the session, whatever runs in it: save the current
                // conversation.
                _ => self.back_to_waiting(step),
            },
            Phase::Stopping {
                why: StopFor::Restart { interrupted: false, plan },
                step: StopStep::Settle { .. },
            } if other => {
                let carries = plan.carries.is_some();
                let text = format!("Cancelled the hand-over: {why}.");
                step.tell(DecisionKind::RestartCancelled, text);
                if carries {
                    step.act(Action::ReturnPrompt { submit: true });
                }
                self.enter(step, Phase::Running);
                self.release_keys(step, carries);
            }
            _ => {}
        }
    }
}
