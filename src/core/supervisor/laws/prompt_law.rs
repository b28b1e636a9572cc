//! The law of a person's prompt: it is answered once, by the old conversation or by the new one.

use std::collections::BTreeSet;

use super::super::action::{Action, DecisionKind, HookAnswer};
use super::super::event::{HookEvent, HookFacts, PromptOf};
use super::super::phase::Phase;

/// A prompt that a person submitted and the old conversation was told to leave.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Taken {
    /// hopty has it.
    Kept,
    /// A fresh Claude has it, in its box or as its argument, without proof yet.
    Given,
}

/// The state of people's prompts.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    /// Hook calls without an answer.
    open: BTreeSet<u64>,
    /// The prompt that was taken from a conversation.
    taken: Option<Taken>,
}

impl Prompts {
    pub fn asked(&mut self, id: u64, hook: &HookFacts) {
        if hook.event == HookEvent::UserPromptSubmit && hook.prompt == Some(PromptOf::Person) {
            self.open.insert(id);
        }
        if hook.prompt == Some(PromptOf::Ours) {
            self.came_by_itself();
        }
    }

    /// hopty's own prompt was submitted: it equals the carried prompt.
    pub fn came_by_itself(&mut self) {
        if self.taken == Some(Taken::Kept) {
            self.taken = Some(Taken::Given);
        }
    }

    /// Whether the answer tells the conversation to drop the prompt; those queued after it follow.
    pub fn answered(&mut self, id: u64, with: &HookAnswer) -> bool {
        let left = self.open.remove(&id) && matches!(with, HookAnswer::StopTurn { .. });
        if left {
            self.taken.get_or_insert(Taken::Kept);
        }
        left
    }

    pub fn given(&mut self) {
        assert!(self.taken.replace(Taken::Given).is_some(), "nobody's prompt");
    }

    pub fn moves(&mut self, action: &Action) {
        match action {
            Action::TakeQueued => {
                assert_eq!(self.taken.replace(Taken::Kept), None, "another one is on its way")
            }
            // The previous run may have received it, too.
            Action::TakeArgument => {
                assert_ne!(self.taken.replace(Taken::Kept), Some(Taken::Kept), "another one is kept")
            }
            _ => assert!(self.taken.take().is_some(), "there is none"),
        }
    }

    pub fn decided(&mut self, kind: DecisionKind) {
        if kind == DecisionKind::DeliverySubmitted && self.taken == Some(Taken::Given) {
            self.taken = None;
        }
    }

    pub fn check(&self, phase: &Phase) {
        if let Phase::Running | Phase::Waiting { .. } = phase {
            assert_ne!(self.taken, Some(Taken::Kept), "a prompt that nobody answers");
        }
    }
}
