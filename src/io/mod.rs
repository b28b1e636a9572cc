//! Descriptors, signals, clocks, processes: what the loops of host and client are made of.

pub mod clock;
pub mod fd;
pub mod inherited;
pub mod large_page;
pub mod memory;
pub mod outbuf;
pub mod poll;
pub mod process;
pub mod signals;
pub mod worker;
