//! Claude's conversations on the disk: where they are, what belongs to each, and what a list shows of them.
//!
//! [`Transcripts::all`] lists the transcripts below `C/projects`, [`find()`] finds the one that a person
//! names, [`ConversationFiles::of`] gathers everything that Claude keeps for it, and [`Summaries`] reads what
//! a list shows, from a cache where it can. A link, a FIFO or a device in `C/projects` is not followed and
//! not opened. Whether a conversation is open now is said by the caller, who can ask Claude and hopty.

mod agents;
mod cache;
pub(super) mod files;
mod find;
mod line_reading;
pub mod search_transcripts;
mod sources;
mod stored_links;
mod summaries;
mod transcripts;
mod usage_files;

pub use crate::core::conversation::file_role::FileRole;
pub use agents::AgentTranscript;
pub use files::{ConversationFile, ConversationFiles, OldAgents};
pub use find::{FindError, find};
pub use sources::{handoff_sources, live_sources};
pub use stored_links::handover_links;
pub use summaries::{CountedConversation, Summaries};
pub use transcripts::{FileState, TranscriptFile, Transcripts};
pub use usage_files::{UsageFiles, UsageOf};
