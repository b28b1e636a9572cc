//! The context usage, from all sources.

use super::{Observer, TranscriptWatch};
use crate::core::context_usage::{ContextUsage, SourceReport, TokenCount, UsageSources};
use crate::core::time::{Stamp, WallTime};
use crate::sys::clock::Clock;

impl Observer {
    /// The context usage of the conversation.
    pub fn context_usage(&self, now: Stamp) -> ContextUsage {
        ContextUsage::of(&self.sources(now))
    }

    /// The sources that were tried, and the result of each.
    pub fn tried_sources(&self, now: Stamp) -> Vec<SourceReport> {
        self.context_usage(now).tried(&self.sources(now))
    }

    fn sources(&self, now: Stamp) -> UsageSources {
        let transcript = self.transcript.as_ref();
        let facts = transcript.map(|transcript| &transcript.facts);
        let line = self.status_line.as_ref();
        let age =
            |written: &str| u64::try_from(Clock::wall().0.saturating_sub(WallTime::parse(written)?.0)).ok();
        // A report about another conversation is no source for this one.
        let same = line.filter(|(line, _)| {
            transcript.is_some_and(|transcript| transcript.conversation == line.conversation)
        });
        let fill = facts.and_then(|facts| facts.window.last());
        let names = self.model.names(self.own.model.as_deref(), self.answered_model());
        UsageSources {
            statusline: same.and_then(|(line, at)| {
                Some(TokenCount { tokens: line.tokens?, age_ms: Some(now.since(*at)) })
            }),
            statusline_window: line.and_then(|(line, _)| line.window),
            transcript: fill
                .map(|fill| TokenCount { tokens: fill.tokens, age_ms: fill.at.as_deref().and_then(age) }),
            compacted: fill.is_some_and(|fill| fill.message_id.is_empty()),
            answered: facts.is_some_and(|facts| facts.window.model().is_some()),
            bytes: transcript.map_or(0, TranscriptWatch::bytes),
            models: names.map(str::to_owned).collect(),
            configured: self.configured_window,
        }
    }
}
