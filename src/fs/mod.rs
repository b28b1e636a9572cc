//! Files: where they are, how they are written so that no reader ever sees half of one, how they are
//! followed.

pub mod archive;
pub mod atomic;
pub mod backup;
pub mod cast_file;
pub mod conversation_transfer;
pub mod conversations;
mod digest;
pub mod edits;
pub mod file_error;
pub mod file_tail;
pub mod free_space;
pub mod handwritten_handoffs;
pub mod lock;
pub mod package;
pub mod paths;
pub mod project;
pub mod registry;
mod restore_target;
pub mod rotating_journal;
pub mod servers;
pub mod session;
pub mod store;
mod store_trace;
pub mod task_files;
pub mod trusted_dirs;
pub mod watch;
pub mod whole_transcript;
