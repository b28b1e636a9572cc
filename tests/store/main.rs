//! The store of handoffs under what it must survive: writers that are killed, consumers that race, stores
//! that are not as they should be. What a power cut leaves is tested beside the code
//! (`src/fs/store/power_tests.rs`).

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod bad;
mod keeping;
mod kills;
mod races;
mod room;
mod steps;
