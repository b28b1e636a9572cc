//! The stand-in agent: a small program that behaves like Claude Code where hopty looks at it.
//!
//! It uses the Messages API at `ANTHROPIC_BASE_URL` (normally the stand-in's), runs tools and hooks, writes
//! transcript, session and task files, draws the prompt box and the dialogs, and exits as Claude Code does.
//! So the demo and most tests need no account, no network and no Claude; the same script can then drive the
//! real program. Its behaviour is that of version 2.1.329 as measured, where it matters to a supervisor. It
//! has no sub-agents, no background shells, no automatic compaction, no status line, no pickers and no
//! first-run setup except the trust question.
//!
//! For tests it can misbehave: `HOPTY_AGENT_START_MS` (sleep at the start), `HOPTY_AGENT_SWALLOW_ENTERS`
//! (ignore this many Enters), `HOPTY_AGENT_EXIT_MS` (sleep on SIGTERM), `HOPTY_AGENT_IGNORE_TERM`,
//! `HOPTY_AGENT_CRASH_AFTER` (exit silently instead of sending another request).

mod agent_draft;
mod agent_drawing;
mod agent_files;
mod agent_input;
mod agent_main;
mod agent_screen;
mod agent_shared;
mod agent_terminal;
mod app;
mod batch;
mod children;
mod engine;
mod fault;
mod hook_outcome;
mod hook_settings;
mod model_client;
mod options;
mod presence;
mod resumed_history;
mod task_tools;
mod tools;
mod transcript;
mod turn;

pub use agent_main::main;
