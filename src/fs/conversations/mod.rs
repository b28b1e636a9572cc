//! Claude's conversations on the disk: where they are, which files belong to each, and their summaries.
//!
//! [`Transcripts::all`] lists the transcripts below `C/projects`, [`find()`] finds the one that a person
//! names, [`ConversationFiles::of`] lists everything that Claude keeps for it, and [`Summaries`] reads what
//! a list shows, from a cache where possible. Links, FIFOs and devices in `C/projects` are neither followed
//! nor opened. Whether a conversation is open is up to the caller, who can ask Claude and hopty.

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
pub use usage_files::{TranscriptUsage, UsageFiles};
