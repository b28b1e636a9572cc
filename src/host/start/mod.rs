//! The start of a host: forked by the client before that has read anything, it detaches from the terminal,
//! receives its launch, takes its name and its socket, starts the program and reports the result.

mod first_conversation;
mod host_process;
mod inherited_descriptors;
mod launch;
pub mod orphan;
pub(super) mod session_dir;

pub(in crate::host) use first_conversation::{first_conversation, first_handoff, fresh_id};
pub use host_process::main;
pub(in crate::host) use host_process::start_hint;
pub(in crate::host) use inherited_descriptors::InheritedDescriptors;
pub use launch::{BeginWith, Launch, StartReport, orders};
