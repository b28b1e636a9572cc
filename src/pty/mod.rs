//! The pseudo-terminal and the program in it.

pub mod ahead;
pub mod child;
pub mod open;
pub mod spawn;
