//! Which conversation is followed: SessionStart by its source, `/clear`, `/compact`, `/resume`.

use serde::{Deserialize, Serialize};

use super::action::{Action, DecisionKind, HookAnswer, RestartBy};
use super::event::{HookEvent, HookFacts, StartSource};
use super::levels::StartLevel;
use super::limits::LimitWait;
use super::phase::{Phase, StartKind, StopFor, StopStep};
use super::progress::WorkProgress;
use super::question::HandoverQuestion;
use super::step::EventStep;
use super::{Supervisor, Turn};
use crate::core::context::{Fill, Level};
use crate::core::ids::ConversationId;
use crate::core::time::Stamp;

/// How long a hook's claim about another conversation waits for the sessions file, in ms: 2.1.197 writes it
/// up to a second later (measured with `--continue` and `/resume`), and a long conversation takes longer to
/// load.
const CLAIM_MS: u64 = 30_000;

/// State that lives as long as a conversation. It is replaced as a whole when another one begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ConversationState {
    /// The followed conversation.
    pub(super) id: Option<ConversationId>,
    /// A prompt was submitted in it, so it can be resumed.
    pub(super) spoken: bool,
    /// The context usage is newer than the last call that may wait for lines.
    pub(super) measured: bool,
    pub(super) fill: Fill,
    /// The highest level that was crossed and is not armed again.
    pub(super) fired: Level,
    pub(super) start_level: StartLevel,
    /// When the next turn ends, a hand-over by level is requested again.
    pub(super) rearm_at_stop: bool,
    /// How often Claude was kept from compacting.
    pub(super) held_off: u32,
    pub(super) question: HandoverQuestion,
    /// A message for the person, sent with the answer to the next hook.
    pub(super) word: Option<String>,
    /// People were told that the next prompt hands over.
    pub(super) told_of_prompt: bool,
    pub(super) progress: WorkProgress,
    pub(super) limit_wait: Option<LimitWait>,
    /// The destination of a hand-over that changed settings stopped: a person's restart goes there.
    pub(super) held_dir: Option<String>,
}

impl ConversationState {
    /// What a run that is started in this way keeps of the conversation before it.
    pub(super) fn in_next_run(&self, start: StartKind) -> Self {
        match start {
            StartKind::Fresh => self.handed_over(),
            StartKind::First => ConversationState { limit_wait: None, held_dir: None, ..self.clone() },
            StartKind::Resume => ConversationState { held_dir: None, ..self.clone() },
        }
    }

    /// A conversation that a hand-over begins. It inherits unread messages, the count of blocked compactions,
    /// and the progress, which is measured from handoff to handoff.
    fn handed_over(&self) -> Self {
        ConversationState {
            id: self.id.clone(),
            start_level: StartLevel::Unmeasured,
            measured: self.measured,
            held_off: self.held_off,
            word: self.word.clone(),
            progress: self.progress,
            ..ConversationState::default()
        }
    }

    /// An earlier one that a person goes back to. Its context usage counts from its first report.
    pub(super) fn gone_back(&self) -> Self {
        ConversationState {
            id: self.id.clone(),
            spoken: true,
            start_level: StartLevel::Unmeasured,
            told_of_prompt: self.told_of_prompt,
            ..ConversationState::default()
        }
    }
}

impl Supervisor {
    /// Whether a hook that names `named` may be believed now. Any program of this user can call a hook, so a
    /// hook alone is not believed: it is kept until the sessions file agrees.
    fn is_believed(&mut self, now: Stamp, hook: &HookFacts, named: &ConversationId) -> bool {
        let believed = !self.policy.sessions_file
            || self.is_current(named)
            || self.run.file.conversation.as_ref() == Some(named);
        // A SessionStart says more than a later hook.
        let of_start = self.run.hooks.claim.as_ref().is_some_and(|(kept, _)| {
            kept.event == HookEvent::SessionStart && kept.conversation == hook.conversation
        });
        if !believed && !of_start {
            self.run.hooks.claim = Some((hook.clone(), now));
        }
        believed
    }

    /// A hook other than SessionStart names another conversation: with `--fork-session` 2.1.197 names the new
    /// one only here.
    pub(super) fn goes_on_elsewhere(&mut self, step: &mut EventStep<'_>, hook: &HookFacts) -> bool {
        let Some(named) = hook.conversation.clone().filter(|_| self.policy.sessions_file) else {
            return false;
        };
        if !self.is_believed(step.now, hook, &named) {
            return false;
        }
        self.run.hooks.claim = None;
        self.change_conversation(step, named, hook.transcript.clone(), "Claude is working in it", false);
        true
    }

    /// The sessions file names a conversation.
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

    /// `anew`: a person began other work with it.
    pub(super) fn change_conversation(
        &mut self,
        step: &mut EventStep<'_>,
        id: ConversationId,
        transcript: Option<String>,
        why: &str,
        anew: bool,
    ) {
        if !self.is_current(&id) {
            let sentence = format!("hopty now follows conversation {id}: {why}.");
            let named = id.clone();
            step.decide(DecisionKind::ConversationChanged, sentence).conversation(named);
            let start_level = self.chain_changed(&id);
            self.conversation =
                ConversationState { id: Some(id.clone()), start_level, ..ConversationState::default() };
        }
        step.act(Action::Follow { conversation: id, transcript, anew });
    }

    pub(super) fn session_start(&mut self, step: &mut EventStep<'_>, id: u64, hook: &HookFacts) {
        let Some(named) = hook.conversation.clone() else {
            step.answer(id, HookAnswer::Nothing);
            return;
        };
        if !self.is_believed(step.now, hook, &named) {
            step.answer(id, HookAnswer::Nothing);
            return;
        }
        let other = self.follow_named(step, hook, named);
        let brief_of = match &self.phase {
            // Only the first conversation of a run counts: a person chose any later one.
            Phase::Delivering { handoff, .. }
                if hook.source == Some(StartSource::Startup) && !self.run.delivery.brief_sent =>
            {
                Some(handoff.clone())
            }
            _ => None,
        };
        match brief_of {
            Some(handoff) => {
                self.run.delivery.brief_answered = true;
                self.run.delivery.brief_sent = true;
                step.answer(id, HookAnswer::Frame { handoff });
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

    /// The same without a call that waits for an answer: the sessions file agrees later.
    fn believe_late(&mut self, step: &mut EventStep<'_>, hook: &HookFacts) {
        let Some(named) = hook.conversation.clone() else { return };
        if self.follow_named(step, hook, named) {
            self.run.delivery.brief_answered = false;
            self.asked_by_another(step, true);
        }
    }

    /// Follows the conversation that a hook names. Returns whether it differs from the one before.
    fn follow_named(&mut self, step: &mut EventStep<'_>, hook: &HookFacts, named: ConversationId) -> bool {
        let why = match hook.source {
            Some(StartSource::Clear) => "`/clear` started it",
            Some(StartSource::Resume) => "it was resumed",
            Some(StartSource::Compact) => "it was compacted",
            _ => "Claude started it",
        };
        let other = !self.is_current(&named);
        // An old Claude that is resumed after a crash also begins a new conversation; that one is the run's
        // first.
        let by_person = hook.source == Some(StartSource::Clear)
            || hook.source == Some(StartSource::Resume) && self.run.turn.state != Turn::Unknown;
        self.change_conversation(step, named, hook.transcript.clone(), why, other && by_person);
        self.conversation.spoken |= hook.source == Some(StartSource::Resume);
        if self.run.turn.state == Turn::Unknown || other {
            self.set_turn(step.now, Turn::Idle);
        }
        other
    }

    /// The conversation whose context usage or signal requested a hand-over is gone, or is small again.
    fn asked_by_another(&mut self, step: &mut EventStep<'_>, other: bool) {
        let why = "the conversation that requested it is no longer the current one";
        match &self.phase {
            Phase::Waiting { request } | Phase::Saving { request, .. } => match request.by {
                RestartBy::Level if !request.explicit => self.cancel_request(step, why),
                RestartBy::Signal if other => self.cancel_request(step, why),
                // A person asked for the session, whatever runs in it: the current conversation must be
                // saved.
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
                    self.return_prompt(step, false);
                }
                self.enter(step, Phase::Running);
                self.release_keys(step, carries);
            }
            _ => {}
        }
    }
}
