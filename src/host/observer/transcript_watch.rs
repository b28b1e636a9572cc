//! The followed transcript: its facts, and what was reported to the supervisor.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::growing_file_reader::{TranscriptPart, TranscriptRead};
use crate::core::claude::carry_over::{CarryMethod, carry_method};
use crate::core::claude::line_splitter::LineSplitter;
use crate::core::claude::tasks::Tasks;
use crate::core::claude::transcript_facts::TranscriptFacts;
use crate::core::context_level::Fill;
use crate::core::context_usage::{ContextUsage, TokensFrom};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::supervisor::event::Event;

/// A queued prompt of at least this many bytes may have been cut.
const QUEUED_MAX: usize = 60_000;

/// A conversation's transcript.
#[derive(Debug)]
pub(in crate::host) struct TranscriptWatch {
    pub conversation: ConversationId,
    pub facts: TranscriptFacts,
    /// Its path, if known, and how many bytes were read.
    path: Option<PathBuf>,
    bytes: u64,
    splitter: LineSplitter,
    reported: Reported,
    /// Its file has not been read to its end yet.
    more: bool,
}

/// The last report to the supervisor.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reported {
    tokens: Option<(u64, u64)>,
    queued: (u32, Option<CarryMethod>),
    prompted: bool,
    answered: bool,
    /// The failures that were handled.
    failures: u64,
    turn_over: Option<bool>,
}

impl TranscriptWatch {
    pub fn new(conversation: ConversationId, tasks: &Tasks) -> Self {
        TranscriptWatch {
            conversation,
            facts: TranscriptFacts::after(tasks),
            path: None,
            bytes: 0,
            splitter: LineSplitter::new(),
            reported: Reported::default(),
            more: false,
        }
    }

    /// The transcript's path, if known.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// How many bytes were read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it has been read to its end. The middle of a long one is old.
    pub fn is_whole(&self) -> bool {
        !self.more
    }

    /// Adds newly read content. Returns whether the file was replaced.
    pub(super) fn take(&mut self, read: TranscriptRead, tasks: &Tasks) -> bool {
        let found = self.path.as_ref() != Some(&read.path);
        if found {
            self.path = Some(read.path);
            self.splitter = LineSplitter::new();
        }
        for part in read.parts {
            match part {
                TranscriptPart::Bytes(bytes) => {
                    let facts = &mut self.facts;
                    self.splitter.feed(&bytes, |line| facts.feed(line));
                }
                TranscriptPart::Anew => {
                    self.splitter.restart();
                    self.facts = TranscriptFacts::after(tasks);
                }
            }
        }
        (self.bytes, self.more) = (read.bytes, read.more);
        found
    }

    /// The changes for the supervisor. `handoff` is the one whose prompt is being delivered.
    pub(super) fn report(
        &mut self,
        usage: &ContextUsage,
        handoff: Option<&HandoffId>,
        events: &mut VecDeque<Event>,
    ) {
        let (conversation, facts, reported) = (&self.conversation, &self.facts, &mut self.reported);
        let Fill { tokens, window, bytes } = usage.fill;
        // Estimates do not count for decisions.
        let counted = matches!(usage.tokens_from, TokensFrom::Transcript | TokensFrom::Statusline);
        if counted && reported.tokens != Some((tokens, window)) {
            reported.tokens = Some((tokens, window));
            events.push_back(Event::Usage { conversation: conversation.clone(), tokens, window, bytes });
        }
        let queued = u32::try_from(facts.queue.iter().count()).unwrap_or(u32::MAX);
        let carries = queued_way(facts.queue.iter().next());
        if reported.queued != (queued, carries) {
            reported.queued = (queued, carries);
            events.push_back(Event::Queued { prompts: queued, carries });
        }
        let Some(id) = handoff else { return };
        if !reported.prompted && facts.proof.continued(id) {
            reported.prompted = true;
            events.push_back(Event::Prompted { conversation: conversation.clone() });
        }
        if !reported.answered && facts.proof.answered(id) {
            reported.answered = true;
            events.push_back(Event::Answered { conversation: conversation.clone() });
        }
    }

    /// Whether it has a failure that was not handled yet; marks it as handled.
    pub(super) fn take_failure(&mut self, is_limit: bool) -> bool {
        let count = self.facts.turn.failures();
        if self.facts.turn.failure().is_none() {
            self.reported.failures = count;
        }
        let new = is_limit && self.reported.failures < count;
        if new {
            self.reported.failures = count;
        }
        new
    }

    /// Whether the end of the turn was reported to the supervisor.
    pub(super) fn reported_turn_over(&self) -> Option<bool> {
        self.reported.turn_over
    }

    /// Records the turn state that is reported to the supervisor; returns whether it is new.
    pub fn report_turn(&mut self, over: bool) -> bool {
        self.reported.turn_over.replace(over) != Some(over)
    }
}

/// How to pass the first prompt of Claude's queue to a fresh conversation. The stored copy of a long one may
/// be cut.
fn queued_way(first: Option<&str>) -> Option<CarryMethod> {
    carry_method(first.filter(|prompt| prompt.len() < QUEUED_MAX)?)
}
