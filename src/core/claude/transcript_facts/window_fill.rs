//! The context usage and the model, as Claude's answers report them.

use super::bounded_memory::Recent;
use crate::core::claude::transcript_line::{Assistant, TokenUsage};

/// How many messages are remembered whose usage has counted.
const MESSAGE_CAP: usize = 64;

/// The context usage of the last answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageUsage {
    /// Tokens: input, cache read and cache creation.
    pub tokens: u64,
    /// The message that reported it; empty right after a compaction.
    pub message_id: String,
    /// When that message was written, RFC 3339.
    pub at: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct WindowFill {
    last: Option<MessageUsage>,
    model: Option<String>,
    counted: Recent<MESSAGE_CAP>,
    before_compaction: Recent<MESSAGE_CAP>,
}

impl WindowFill {
    /// The usage of the last main-chain answer; after a compaction, the number that Claude reports, or
    /// `None`.
    pub fn last(&self) -> Option<&MessageUsage> {
        self.last.as_ref()
    }

    /// The model of the last answer, without `[1m]`.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Whether its message was written after this time (RFC 3339).
    pub(super) fn is_after(&self, at: &Option<String>) -> bool {
        self.last.as_ref().is_some_and(|last| last.at > *at)
    }

    pub(super) fn take_message(&mut self, line: &Assistant) {
        let tokens = line.usage.map_or(0, TokenUsage::fill);
        if tokens > 0 && !self.before_compaction.has(&line.message_id) {
            self.counted.put(&line.message_id);
            self.last = Some(MessageUsage {
                tokens,
                message_id: line.message_id.clone(),
                at: line.timestamp.clone(),
            });
        }
        if !line.model.is_empty() {
            self.model = Some(line.model.clone());
        }
    }

    /// A summary replaces everything before it and leaves this many tokens. Claude then repeats the preserved
    /// tail, whose lines carry the old usage.
    pub(super) fn take_compaction(&mut self, tokens: Option<u64>) {
        self.before_compaction = std::mem::take(&mut self.counted);
        self.last = tokens.map(|tokens| MessageUsage { tokens, ..MessageUsage::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, input: u64) -> Assistant {
        let usage = Some(TokenUsage { input, output: 9, ..TokenUsage::default() });
        Assistant { message_id: id.into(), usage, model: "m".into(), ..Assistant::default() }
    }

    #[test]
    fn a_compaction_drops_it_and_the_repeated_tail_does_not_bring_it_back() {
        let mut window = WindowFill::default();
        window.take_message(&message("m1", 50));
        window.take_message(&message("m1", 900));
        window.take_message(&message("m1", 0));
        assert_eq!(window.last().map(|last| (last.tokens, &*last.message_id)), Some((900, "m1")));
        window.take_compaction(Some(800));
        window.take_message(&message("m1", 900));
        assert_eq!(window.last().map(|last| (last.tokens, &*last.message_id)), Some((800, "")));
        window.take_message(&message("m2", 950));
        assert_eq!((window.last().unwrap().tokens, window.model()), (950, Some("m")));
        window.take_compaction(None);
        assert_eq!((window.last(), window.model()), (None, Some("m")));
    }
}
