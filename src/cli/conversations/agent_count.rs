//! How many sub-agents conversations have, and what these used.

use std::collections::{HashMap, HashSet};

use crate::core::conversation::summary::TokenTotals;
use crate::core::ids::ConversationId;
use crate::fs::conversations::{AgentTranscript, Summaries, SummaryDepth, TranscriptFile};

/// The sub-agents of one conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AgentCount {
    /// Their transcripts.
    pub files: usize,
    /// The tokens of their answers; 0 where nobody asked for them.
    pub tokens: TokenTotals,
}

impl AgentCount {
    /// Those of several conversations. Only for those in `counted` their transcripts are read, as far as they
    /// are new.
    pub(super) fn of<'a>(
        summaries: &mut Summaries,
        transcripts: impl Iterator<Item = &'a TranscriptFile>,
        counted: &HashSet<ConversationId>,
    ) -> HashMap<ConversationId, AgentCount> {
        let mut counts: HashMap<ConversationId, AgentCount> = HashMap::new();
        let agents = AgentTranscript::of(transcripts).into_iter().filter_map(AgentTranscript::into_file);
        let mut files: Vec<TranscriptFile> = agents.collect();
        for file in &files {
            counts.entry(file.id.clone()).or_default().files += 1;
        }
        files.retain(|file| counted.contains(&file.id));
        for (file, read) in files.iter().zip(summaries.read(&files, SummaryDepth::Whole)) {
            let count = counts.entry(file.id.clone()).or_default();
            count.tokens.add(read.counted.unwrap_or_default());
        }
        counts
    }
}
