//! Random input for everything that reads bytes from outside. Nothing may panic, hang or grow without bound,
//! however the bytes are cut, and no text for people may hold a control character.
//!
//! * `terminal`: the screen model and its dump, frames and requests, the keys of a terminal;
//! * `readers`: what reads files and messages of others, called directly with samples (`fixtures/samples`)
//!   that were changed as their grammar allows, and as it does not;
//! * `verbs`: the program itself, with such files in its home.
//!
//! By default they take a few seconds. `HOPTY_FUZZ_SECONDS=60` is the time of all targets together,
//! `HOPTY_FUZZ_INPUTS=1000000` so many inputs for each, and `HOPTY_FUZZ_SEED` another beginning; a failure
//! names the seed of its input.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod random;
mod readers;
mod terminal;
mod verbs;

/// A file of `fixtures/samples`.
macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../fixtures/samples/", $name))
    };
}
use sample;
