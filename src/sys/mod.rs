//! The operating system as every edge and every loop uses it: processes, safe files, descriptors and queues
//! for them, `poll`, signals, clocks, the worker thread. One way to do each.

pub mod boot;
pub mod clock;
pub mod fault_injection;
pub mod fd;
pub mod inherited;
pub mod outbuf;
#[cfg(test)]
pub mod own_process;
pub mod poll;
pub mod private_dir;
pub mod process;
pub mod process_activity;
pub mod program_search;
pub mod return_memory;
pub mod safe_file;
pub mod signals;
pub mod worker;
