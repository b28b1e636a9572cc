//! The supervisor: all of hopty's decisions as one deterministic function, `step(now, event) ->
//! actions`.
//!
//! It reads no clock, touches no file and owns no descriptor; its input is an [`event::Event`],
//! its output [`action::Action`]s. So every rule can be tested without a terminal, and a journal of
//! events gives the same actions again (`hopty replay`).
//!
//! | file | holds |
//! |---|---|
//! | `policy`, `event`, `key_class`, `screen_facts`, `sessions_file_status`, `action`, `reply`, `phase` | the vocabulary |
//! | `secrets` | removing secrets from an event before it is recorded |
//! | `supervisor_state` | `Supervisor`: its parts, which one each event goes to, the next deadline |
//! | `step` | the state of one step: time, journal line, actions and decisions so far |
//! | `exit_table` | why a child ended: one table |
//! | `session_facts`, `run_state`, `conversation_state` | the state of the session, of a run, of a conversation |
//! | `context_level_watch`, `handover_question`, `fruitless_handovers` | parts of the conversation: context usage and levels, the question of mode `ask`, hand-overs without progress |
//! | `conversation_chain`, `restart_limit`, `crash_count`, `permission_mode`, `person`, `key_hold_decision` | parts of the session: earlier conversations, restarts, deaths, the permission mode, people present, where keys go |
//! | `child_run` | one life of the child: spawn, start, keys, Ctrl+C, passed signals |
//! | `hook_decision`, `followed_conversation` | what a hook call means, and which conversation it is about |
//! | `context_level_crossing`, `compaction` | what follows when a level is crossed; Claude's own compaction |
//! | `restart_signal`, `restart_request`, `safe_point` | requests, also by signal file, and `hopty back`; the safe point, the hand-over note before it, a person who is present |
//! | `saving` | from the safe point to a handoff on disk |
//! | `stopping` | from SIGTERM to the end, and recovery from a crash |
//! | `paste_and_enter` | submitting a text to Claude: paste, echo, Enter, proof |
//! | `prompt_delivery`, `send_submit` | its two users: the continuation prompt, and what `hopty send --submit` or hopty itself sends |
//! | `limit_and_error_wait` | a usage limit or an API error that ended the turn: the wait, and resuming after it |
//! | `reported_state`, `next_handover`, `handover_step` | queries for the host |
//! | `recorded_state` | the state in journals of earlier releases |

pub mod action;
mod child_run;
pub mod compaction;
mod context_level_crossing;
mod context_level_watch;
mod conversation_chain;
mod conversation_state;
mod crash_count;
pub mod event;
pub mod exit_table;
mod followed_conversation;
mod fruitless_handovers;
pub mod handover_question;
pub mod handover_step;
mod hook_decision;
mod key_class;
mod key_hold_decision;
pub mod limit_and_error_wait;
pub mod next_handover;
pub mod paste_and_enter;
mod permission_mode;
mod person;
pub mod phase;
mod policy;
mod prompt_delivery;
pub(super) mod recorded_state;
mod reply;
pub mod reported_state;
mod restart_limit;
mod restart_request;
pub mod restart_signal;
mod run_state;
mod safe_point;
mod saving;
pub mod screen_facts;
mod secrets;
pub mod send_submit;
mod session_facts;
mod sessions_file_status;
mod step;
mod stopping;
mod supervisor_state;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

pub use policy::{Policy, ProgramKind, RULES};
use supervisor_state::Turn;
pub use supervisor_state::{CORE, Supervisor};
