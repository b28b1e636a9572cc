//! The pseudo-terminal, and the program that runs in it.

pub mod child;
pub mod open;
pub mod spawn;
pub mod typeahead_feed;
