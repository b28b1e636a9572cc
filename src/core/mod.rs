//! Decisions without I/O: no clock, no environment, no globals.
//!
//! These modules get time, ids and file contents as arguments, and return the actions to perform. So all of
//! hopty's decisions can be tested without a terminal, and a journal of events replays to the same actions.

pub mod archive;
pub mod backup;
pub mod cast;
pub mod claude;
pub mod compat;
pub mod config;
pub mod context_level;
pub mod context_usage;
pub mod conversation;
pub mod conversation_transfer;
pub mod draft;
pub mod explanation;
pub mod file_edit;
pub mod handoff;
pub mod handover_words;
pub mod hex;
pub mod ids;
pub mod inherited_state;
pub mod input;
pub mod io_words;
pub mod journal;
#[cfg(test)]
mod journal_tests;
pub mod notification_queue;
pub mod package;
pub mod pattern_error;
pub mod process_change;
pub mod redact;
pub mod screen_mark;
pub mod status_segment;
pub mod status_types;
pub mod supervisor;
pub mod tape;
pub mod terminal;
pub mod text;
pub mod time;
pub mod token_usage;
