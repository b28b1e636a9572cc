//! The other layouts and habits, through the real host with the stand-in agent: views of handoffs, an
//! orchestrator's loop, raw copies, the log, and what a wrapper script did before.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod layouts;
mod memory;
mod orchestrator;
mod refused;
mod secrets;
mod steps;
mod wrapper;
