//! A handoff: the record that carries work from one conversation to the next.
//!
//! [`capture`] is what a handoff is made from, [`document`] and [`state_json`] are the two files of its
//! record, and [`brief`] is the text for the next conversation. [`manifest`] has the status of each handoff,
//! [`channel_registry`] the channel of a directory. [`note`] is Claude's hand-over note, [`drift`] compares
//! the work tree with the record, [`work_progress`] finds hand-overs without progress, and
//! [`continuation_prompt`] is the prompt that hopty types. Nothing here does I/O: `fs::store` reads and
//! writes the files.

pub mod brief;
pub mod capture;
pub mod channel_registry;
pub mod checkpoint;
pub mod continuation_prompt;
pub mod current_request;
pub mod document;
pub mod drift;
pub mod handoff_answers;
pub mod handoff_selector;
pub mod handoff_tasks;
pub mod handoff_work;
pub mod manifest;
pub mod manifest_entry;
pub mod note;
mod open_question;
pub mod operation;
pub mod pasted_text;
pub mod prompt_sentences;
mod recent_activity;
pub(crate) mod repeated_lines;
pub mod reports;
pub mod safe_prompts;
pub mod sections;
pub mod state_json;
pub mod work_progress;

#[cfg(test)]
mod captured_tests;
#[cfg(test)]
mod thread_tests;
