//! The person's terminal: its modes, its size, its hand-over to the host, and what goes back into it.

pub mod back;
pub mod handed;
pub mod modes;
pub mod passphrase;
pub mod raw;
