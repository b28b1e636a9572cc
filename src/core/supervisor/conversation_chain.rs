//! The session's conversations, in order: a hand-over adds one, `hopty back` returns to the previous one.
//! Messages about a failed hand-over name the previous conversation, too.

use serde::{Deserialize, Serialize};

use super::action::DecisionKind;
use super::step::EventStep;
use crate::core::ids::{ConversationId, HandoffId};

/// How many conversations back one can go.
const CHAIN_CAP: usize = 100;
/// Since this version of the rules messages about a failed hand-over name the old conversation.
const NAMED_SINCE: u32 = 2;

/// A conversation that was handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PastConversation {
    pub(super) conversation: ConversationId,
    /// Its working directory, if it differs from the session's first: it can only be resumed there.
    pub(super) dir: Option<String>,
    /// The handoff of that hand-over.
    pub(super) handoff: Option<HandoffId>,
}

/// The session's conversations, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ConversationChain {
    /// Those before the current one, oldest first.
    before: Vec<PastConversation>,
    /// The conversation that the next run resumes.
    to: Option<PastConversation>,
    /// The conversation that `to` replaces, until the run has started.
    newer: Option<ConversationId>,
    /// The last conversation that a person returned to.
    back_in: Option<ConversationId>,
    /// The conversation before the last hand-over.
    #[serde(rename = "left")]
    before_handover: Option<ConversationId>,
}

impl ConversationChain {
    /// The previous conversation, if it can be resumed.
    pub(super) fn before(&self) -> Option<&ConversationId> {
        self.before.last().map(|past| &past.conversation)
    }

    pub(super) fn leave(&mut self, past: PastConversation) {
        if self.before.len() >= CHAIN_CAP {
            self.before.remove(0);
        }
        self.before_handover = Some(past.conversation.clone());
        self.before.push(past);
    }

    /// A restored session begins: `before` is the conversation to which it could return.
    pub(super) fn restore(&mut self, before: Option<ConversationId>) {
        let past = |conversation| PastConversation { conversation, dir: None, handoff: None };
        self.before.extend(before.map(past));
    }

    /// Makes the next run resume the previous conversation.
    pub(super) fn go_back(&mut self) {
        self.to = self.before.pop();
    }

    /// A run resumes a conversation: the one that a person returns to from `newer`, if they do.
    pub(super) fn resume(&mut self, newer: Option<ConversationId>) -> Option<PastConversation> {
        let past = self.to.take()?;
        self.newer = newer;
        self.back_in = Some(past.conversation.clone());
        self.before_handover = None;
        Some(past)
    }

    /// Whether the run that has just started returns to an earlier conversation; reports it if so.
    pub(super) fn has_returned(&mut self, step: &mut EventStep<'_>) -> bool {
        let Some((newer, back)) = self.newer.take().zip(self.back_in.clone()) else {
            return false;
        };
        let text =
            format!("Back in conversation {back}; to return to the newer one: `hopty --resume {newer}`");
        step.tell(DecisionKind::ConversationChanged, text).conversation(back);
        true
    }

    /// An old Claude resumes a conversation under a new id. Returns whether it is one that a person returned
    /// to.
    pub(super) fn renames(&mut self, id: &ConversationId) -> bool {
        self.back_in.as_mut().is_some_and(|back| {
            back.clone_from(id);
            true
        })
    }

    /// Whether a person returned to this conversation.
    pub(super) fn is_back_in(&self, id: Option<&ConversationId>) -> bool {
        self.back_in.is_some() && self.back_in.as_ref() == id
    }

    /// The conversation before the last hand-over.
    pub(super) fn before_handover(&self) -> Option<&ConversationId> {
        self.before_handover.as_ref()
    }
}

/// A sentence about a failed hand-over, with the conversation that it left.
pub(super) fn naming_left(sentence: String, left: Option<&ConversationId>, rules: u32) -> String {
    match left {
        Some(left) if rules >= NAMED_SINCE => format!(
            "{}; to resume the old conversation: `hopty --resume {left}`",
            sentence.trim_end_matches('.')
        ),
        _ => sentence,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;
    use crate::core::time::Stamp;

    fn past(n: u32) -> PastConversation {
        PastConversation { conversation: conversation(n), dir: None, handoff: None }
    }

    #[test]
    fn one_goes_back_as_far_as_the_chain_reaches() {
        let (mut chain, mut out) = (ConversationChain::default(), Vec::new());
        let mut step = EventStep::new(Stamp(0), 1, 1, &mut out);
        (0..u32::try_from(CHAIN_CAP).unwrap() + 2).for_each(|n| chain.leave(past(n)));
        assert_eq!(chain.before_handover(), Some(&conversation(101)));
        let mut steps = 0;
        while chain.before().is_some() {
            chain.go_back();
            assert!(chain.resume(Some(conversation(500))).is_some() && chain.has_returned(&mut step));
            steps += 1;
        }
        assert_eq!((steps, chain.before_handover()), (CHAIN_CAP, None));
        assert!(chain.is_back_in(Some(&conversation(2))), "{chain:?}");
        assert!(chain.resume(None).is_none() && !chain.has_returned(&mut step), "no further back");
        assert!(chain.renames(&conversation(7)) && chain.is_back_in(Some(&conversation(7))));
    }

    #[test]
    fn a_restored_session_returns_to_the_conversation_before() {
        let (mut chain, mut out) = (ConversationChain::default(), Vec::new());
        chain.restore(None);
        assert_eq!(chain, ConversationChain::default());
        chain.restore(Some(conversation(1)));
        assert_eq!(
            (chain.before(), chain.before_handover()),
            (Some(&conversation(1)), None),
            "nothing was left here"
        );
        chain.go_back();
        assert_eq!(chain.resume(Some(conversation(2))), Some(past(1)));
        assert!(chain.has_returned(&mut EventStep::new(Stamp(0), 1, 1, &mut out)));
    }

    #[test]
    fn an_old_conversation_is_named_since_these_rules() {
        let named = |rules| naming_left("It failed.".to_owned(), Some(&conversation(1)), rules);
        assert_eq!(named(1), "It failed.");
        let end = format!("`hopty --resume {}`", conversation(1));
        assert_eq!(named(2), format!("It failed; to resume the old conversation: {end}"));
    }
}
