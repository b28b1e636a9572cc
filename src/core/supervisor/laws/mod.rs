//! The laws of the supervisor, over random sequences of events that reach every phase and every cell of the
//! exit table.
//!
//! The seed is fixed, so that failures repeat and the asserted coverage does not depend on luck;
//! `HOPTY_LAWS_SEED=n` sets another one.

mod action_words;
mod histories;
mod history_coverage;
mod journal_law;
mod limit_laws;
mod machine_place;
mod next_event;
mod prompt_law;
mod world;

use history_coverage::{live, policies, runner};
