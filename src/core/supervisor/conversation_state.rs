//! The state of the followed conversation.

use serde::{Deserialize, Serialize};

use super::action::{Action, DecisionKind, HookAnswer, HookInstruction};
use super::context_level_watch::LevelWatch;
use super::fruitless_handovers::WorkProgress;
use super::handover_question::{AskAnswer, HandoverQuestion};
use super::limit_and_error_wait::LimitWait;
use super::phase::StartKind;
use super::policy::Policy;
use super::step::EventStep;
use crate::core::config::{AskDefault, RestartMode};
use crate::core::ids::ConversationId;
use crate::core::time::Stamp;

/// The state of a conversation, replaced as a whole when another one begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ConversationState {
    pub(super) id: Option<ConversationId>,
    /// A prompt was submitted in it, so it can be resumed.
    pub(super) spoken: bool,
    /// It began empty: hopty started it, or a person who resumed nothing, or SessionStart says so. Always
    /// false under the rules of the previous release.
    pub(super) began_empty: bool,
    #[serde(flatten)]
    pub(super) usage: LevelWatch,
    /// How often compaction was blocked.
    pub(super) held_off: u32,
    pub(super) question: HandoverQuestion,
    /// A message for the person, sent with the answer to the next hook.
    pub(super) word: Option<String>,
    /// People were told that the next prompt hands over.
    pub(super) told_of_prompt: bool,
    pub(super) progress: WorkProgress,
    pub(super) limit_wait: Option<LimitWait>,
    /// The directory of a hand-over that was stopped by changed settings: a person's restart goes there.
    pub(super) held_dir: Option<String>,
    /// Changed settings stopped a hand-over, and no person has accepted them since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) settings_held: bool,
}

impl ConversationState {
    /// The part of the previous conversation's state that a run started in this way keeps.
    pub(super) fn in_next_run(&self, start: StartKind) -> Self {
        match start {
            StartKind::Fresh => self.handed_over(),
            StartKind::First => ConversationState { limit_wait: None, ..self.in_next_run(StartKind::Resume) },
            StartKind::Resume => ConversationState { held_dir: None, settings_held: false, ..self.clone() },
        }
    }

    /// The state of the conversation that a hand-over starts. It inherits unread messages, the count of
    /// blocked compactions, and the progress, which is measured from handoff to handoff.
    fn handed_over(&self) -> Self {
        ConversationState {
            id: self.id.clone(),
            usage: LevelWatch { measured: self.usage.measured, ..LevelWatch::of_own() },
            held_off: self.held_off,
            word: self.word.clone(),
            progress: self.progress,
            ..ConversationState::default()
        }
    }

    /// The state of an earlier conversation that a person returns to. Its context usage counts from its first
    /// report.
    pub(super) fn for_return(&self) -> Self {
        ConversationState {
            id: self.id.clone(),
            spoken: true,
            usage: LevelWatch::of_own(),
            told_of_prompt: self.told_of_prompt,
            ..ConversationState::default()
        }
    }

    /// Whether it is empty: it has no prompt, and was not resumed with any messages.
    pub(super) fn is_empty(&self) -> bool {
        !self.spoken && self.is_unwritten()
    }

    /// Whether Claude has written nothing of it to a transcript, so that it cannot be resumed: Claude writes
    /// the first prompt when all hooks for it have answered (measured on 2.1.332).
    pub(super) fn is_unwritten(&self) -> bool {
        self.began_empty && self.usage.fill.tokens == 0 && self.usage.fill.bytes == 0
    }

    /// Notes that it began empty.
    pub(super) fn begin_empty(&mut self, policy: &Policy) {
        self.began_empty |= !policy.is_previous_release();
    }

    pub(super) fn is(&self, id: &ConversationId) -> bool {
        self.id.as_ref() == Some(id)
    }

    /// The message for the person to send with a hook's answer, once; or no output.
    pub(super) fn take_message(&mut self) -> HookAnswer {
        self.word.take().map_or(HookAnswer::Nothing, |text| HookAnswer::Message { text })
    }

    /// Asks a person whether to hand over, if nothing was asked yet. Clients get a notice, and Claude shows
    /// the question with the answer to the next hook.
    pub(super) fn ask(&mut self, step: &mut EventStep<'_>, policy: &Policy) {
        if self.question != HandoverQuestion::Silent {
            return;
        }
        let c = &policy.config.restart;
        let until = (c.ask_default == AskDefault::Handoff).then(|| step.now.after(c.ask_timeout.ms()));
        let after = match until {
            Some(_) => format!("; without an answer, hopty does it in {}", c.ask_timeout),
            None => String::new(),
        };
        let ways = match policy.config.terminal.prefix {
            prefix if prefix.byte().is_some() => {
                format!("{prefix} r does it now, {prefix} s asks you again later")
            }
            _ => "`hopty restart` does it now, `hopty handoff snooze` asks you again later".to_owned(),
        };
        self.question = HandoverQuestion::Due { until };
        let text =
            format!("{}. Hand over to a fresh conversation? {ways}{after}.", self.usage.sentence(policy));
        self.word = Some(text.clone());
        step.notice(DecisionKind::LevelCrossed, text);
    }

    /// A person has submitted a prompt, so they are present: the answer to this hook may carry the question.
    pub(super) fn put_question(&mut self, now: Stamp, policy: &Policy) -> Option<HookAnswer> {
        let HandoverQuestion::Due { until } = self.question else { return None };
        // Before rules had versions, the question was not asked if only an answer could end it.
        if until.is_none() && policy.rules == 0 || !policy.notes {
            return None;
        }
        let c = &policy.config.restart;
        self.question = HandoverQuestion::Put { until: until.map(|_| now.after(c.ask_timeout.ms())) };
        self.word = None;
        let what = HookInstruction::Ask { percent: self.usage.fill.percent(), snooze: c.snooze };
        Some(HookAnswer::Tell { what })
    }

    /// The answer to the hook of a prompt that no longer belongs to this conversation.
    pub(super) fn refuse_prompt(&self, policy: &Policy) -> HookAnswer {
        let fill = self.usage.few_words(policy);
        HookAnswer::StopTurn { reason: format!("hopty: {fill}; your prompt goes to a fresh conversation.") }
    }

    /// Keeps a person's answer for a later host of this conversation.
    pub(super) fn keep_answer(&self, step: &mut EventStep<'_>) {
        let Some(conversation) = self.id.clone() else { return };
        let (answer, left) = match self.question {
            HandoverQuestion::Snoozed { until } => (AskAnswer::Snooze, until.since(step.now)),
            HandoverQuestion::Dismissed => (AskAnswer::Dismiss, 0),
            _ => return,
        };
        step.act(Action::KeepAsk { conversation, answer, left });
    }

    /// Whether a person has snoozed hand-overs by level.
    pub(super) fn is_snoozed(&self, policy: &Policy) -> bool {
        policy.config.restart.mode != RestartMode::Ask
            && matches!(self.question, HandoverQuestion::Snoozed { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{claude, conversation, word};
    use super::*;
    use crate::core::context_level::Fill;

    fn full() -> ConversationState {
        let mut state = ConversationState { id: Some(conversation(1)), ..ConversationState::default() };
        state.usage.take(Fill { tokens: 150_000, window: 200_000, bytes: 0 }, &claude());
        state
    }

    #[test]
    fn a_question_is_asked_once_and_its_answer_is_kept() {
        let (policy, mut state, mut out) = (Policy { notes: true, ..claude() }, full(), Vec::new());
        let mut step = EventStep::new(Stamp(0), 1, 1, &mut out);
        assert_eq!(state.put_question(Stamp(0), &policy), None, "nothing was asked");
        state.ask(&mut step, &policy);
        state.ask(&mut step, &policy);
        assert!(state.word.is_some());
        let Some(HookAnswer::Tell { what: HookInstruction::Ask { percent: 75, .. } }) =
            state.put_question(Stamp(5), &policy)
        else {
            panic!("{state:?}")
        };
        assert_eq!(state.take_message(), HookAnswer::Nothing, "the question says it");
        state.question = HandoverQuestion::Snoozed { until: Stamp(9) };
        state.keep_answer(&mut step);
        assert_eq!(out.iter().map(word).collect::<Vec<_>>(), ["notice", "keep Snooze"]);
    }

    /// Nothing of the previous conversation is left, whatever starts the next one.
    #[test]
    fn the_next_conversation_starts_without_the_context_usage_of_the_one_before() {
        let mut state = full();
        (state.spoken, state.held_off, state.word) = (true, 3, Some("unread".to_owned()));
        state.question = HandoverQuestion::Dismissed;
        for next in [state.in_next_run(StartKind::Fresh), state.for_return()] {
            assert_eq!((next.usage.fill, next.question), (Fill::default(), HandoverQuestion::Silent));
        }
        let fresh = state.in_next_run(StartKind::Fresh);
        assert_eq!((fresh.spoken, fresh.held_off, fresh.word), (false, 3, Some("unread".to_owned())));
        assert_eq!(state.in_next_run(StartKind::Resume).usage, state.usage, "it is the same one");
    }
}
