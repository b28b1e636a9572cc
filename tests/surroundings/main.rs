//! Poor surroundings: something is missing that is always there. Where `claude` runs, `hopty` runs.
//!
//! Every row is asked the same: does Claude (the stand-in agent) run and answer a prompt, is said what is
//! missing in exactly one line, is a draft kept where the agent is killed, and is nothing left behind. Rows
//! that need root, a namespace or a second user are named when they are left out.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod hangs;
mod later;
mod limits;
mod places;
mod poor;
mod real;
mod verbs;
