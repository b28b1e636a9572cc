//! Tool calls: which are open, and which were answered.

use super::bounded_memory::Recent;
use crate::core::claude::transcript_line::ToolUse;

/// How many calls can be open at a time; the oldest is forgotten.
const OPEN_CAP: usize = 512;
/// How many ids of calls are remembered.
const ID_CAP: usize = 4096;

#[derive(Clone, Debug, Default)]
pub struct ToolCalls {
    open: Vec<ToolUse>,
    called: Recent<ID_CAP>,
    answered: Recent<ID_CAP>,
    last_answered: Option<ToolUse>,
    /// Claude wrote something after that answer.
    has_text_since: bool,
}

impl ToolCalls {
    /// Calls without an answer, oldest first, at most 512.
    pub fn open(&self) -> &[ToolUse] {
        &self.open
    }

    /// The last call of this turn that was answered.
    pub fn last_answered(&self) -> Option<&ToolUse> {
        self.last_answered.as_ref()
    }

    /// Whether Claude wrote something after the last answer.
    pub fn has_text_since(&self) -> bool {
        self.has_text_since
    }

    /// Whether the results of all these calls were read; the last 4,096 are remembered.
    pub fn has_results<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> bool {
        ids.into_iter().all(|id| self.answered.has(id))
    }

    /// Whether the assistant lines of all these calls were read.
    pub fn has_assistant_with<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> bool {
        ids.into_iter().all(|id| self.called.has(id))
    }

    /// The open call with this id.
    pub(super) fn find(&self, id: &str) -> Option<&ToolUse> {
        self.open.iter().find(|call| call.id == id)
    }

    /// Takes a call. Its answer may come first, between the blocks of one message.
    pub(super) fn take_call(&mut self, call: ToolUse) {
        self.called.put(&call.id);
        if self.answered.has(&call.id) {
            return;
        }
        if self.open.len() >= OPEN_CAP {
            self.open.remove(0);
        }
        self.open.push(call);
    }

    pub(super) fn take_text(&mut self) {
        self.has_text_since = true;
    }

    /// Takes an answer. Returns its call if that was open.
    pub(super) fn take_answer(&mut self, id: &str) -> Option<ToolUse> {
        self.answered.put(id);
        let call = self.open.iter().position(|call| call.id == id).map(|at| self.open.remove(at))?;
        self.last_answered = Some(call.clone());
        self.has_text_since = false;
        Some(call)
    }

    /// The open calls will get no answer: the person stopped Claude, or the next turn begins. The last call
    /// is no longer in progress.
    pub(super) fn abandon(&mut self) {
        self.open.clear();
        self.last_answered = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ToolUse {
        ToolUse { id: id.into(), name: "Bash".into(), ..ToolUse::default() }
    }

    #[test]
    fn a_call_is_open_until_its_answer_comes() {
        let mut calls = ToolCalls::default();
        calls.take_call(call("t1"));
        assert!(calls.has_assistant_with(["t1"]) && !calls.has_assistant_with(["t1", "t2"]));
        assert!(!calls.has_results(["t1"]) && calls.find("t1").is_some());
        assert_eq!(calls.take_answer("t1"), Some(call("t1")));
        assert!(calls.has_results(["t1"]) && calls.open().is_empty());
        assert_eq!(calls.take_answer("t2"), None);
        calls.take_call(call("t2"));
        assert!(calls.open().is_empty(), "a result may be written between the blocks of its message");
        calls.take_call(call("t3"));
        calls.abandon();
        assert!(calls.open().is_empty() && !calls.has_results(["t3"]) && calls.last_answered().is_none());
    }

    #[test]
    fn calls_without_an_answer_are_bounded() {
        let mut calls = ToolCalls::default();
        for n in 0..2 * OPEN_CAP {
            calls.take_call(call(&n.to_string()));
        }
        assert_eq!((calls.open().len(), calls.open()[0].id.as_str()), (OPEN_CAP, "512"));
    }
}
