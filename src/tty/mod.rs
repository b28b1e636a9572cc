//! The person's terminal: its modes, its size, and its hand-over to the host.

pub mod handed;
pub mod modes;
pub mod raw;
