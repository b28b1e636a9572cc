//! What is known of Claude Code: its arguments, environment, hooks, transcripts, screens and settings. Pure.
//!
//! What may change between its releases is data (`options.txt`, `screens.toml`) with fixtures, not code.

pub mod agent;
pub mod answer;
pub mod args;
pub mod carried;
pub mod checks;
pub mod code;
pub mod environment;
pub mod facts;
pub mod hooks;
pub mod lines;
pub(crate) mod loose;
mod memory;
pub mod model;
pub mod offers;
pub mod permission;
pub mod place;
pub mod prompt_box;
pub mod prompts;
pub mod question;
pub mod reads;
mod record;
mod reduce;
mod salvage;
pub mod screens;
pub mod scripts;
pub mod sent;
pub mod servers;
pub mod settings;
pub mod stated;
pub mod statusline;
pub mod steps;
pub mod tasks;
pub mod transcript;
pub mod trust;
pub mod view;
pub mod work;

#[cfg(test)]
mod hostile_tests;
