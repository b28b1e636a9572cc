//! What hopty knows about Claude Code: its arguments, environment, hooks, transcripts, screens and settings.
//! Pure.
//!
//! What changes between Claude's releases is data (`options.txt`, `screens.toml`) with fixtures, not code.

pub mod agent_file;
pub mod api_error;
pub mod args;
pub mod ask_mode_question;
pub mod box_placeholders;
pub mod carry_over;
pub mod checks;
pub mod command_files;
mod damaged_line;
pub mod environment;
pub mod hooks;
pub mod language_model;
pub mod last_answer;
pub(crate) mod lenient_json;
pub mod line_context;
pub mod line_splitter;
pub mod mcp_servers;
pub(crate) mod message_usage;
pub mod pasted_prompt;
pub mod permission;
pub mod permission_subject;
pub mod prompt_box;
pub mod prompts;
pub mod screen_reading;
pub mod screen_rules;
pub mod settings;
pub mod settings_code;
pub mod statusline_payload;
pub mod tasks;
pub mod transcript_facts;
pub mod transcript_line;
mod transcript_record;
pub mod trust;
pub mod version_features;

#[cfg(test)]
mod hostile_tests;
