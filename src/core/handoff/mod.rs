//! A handoff: the record that carries work from one conversation to the next.
//!
//! `capture` is what is known when it is made, `document` and `state` are its two files, `manifest` is where
//! it stands, `note` is what Claude itself adds, `brief` is what the next conversation gets of it, `drift`
//! what became of the work tree since, `work_progress` whether the work moves, and `continuation_prompt` is
//! the prompt that is typed. All of it is text in, text out: files are written by `fs::store`.

pub mod brief;
pub mod capture;
pub mod channel_registry;
pub mod checkpoint;
pub mod continuation_prompt;
pub mod document;
pub mod drift;
pub mod manifest_entry;
mod recent_activity;
pub(crate) mod repeated_lines;

pub mod current_request;
pub mod handoff_selector;
pub mod manifest;
pub mod note;
mod open_question;
pub mod operation;
pub mod pasted_text;
pub mod prompt_sentences;
pub mod reports;
pub mod sections;
pub mod state_json;
pub mod work_progress;

pub mod safe_prompts;

#[cfg(test)]
mod captured_tests;
#[cfg(test)]
mod thread_tests;
