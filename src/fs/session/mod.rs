//! A session's directory. The name is taken as long as the host holds the lock: whether a session is alive
//! is decided by the lock, never by a pid file.

mod name_lock;
mod session_dirs;
mod session_error;
mod session_json;
mod session_list;
mod session_rename;
#[cfg(test)]
mod tests;

pub use name_lock::{
    NameKeeper, NameLock, claim, host_of, is_alive, is_host, of_host, remove_stale_socket, stopped_host,
};
pub use session_dirs::{open_log, prepare, prepare_with_room};
pub use session_error::SessionError;
pub use session_json::{
    damaged, is_damaged, is_of_another_boot, last_screen, other_session_with, resumable, status,
    unresponsive, waits_for_restore, was_killed, working_dir,
};
pub use session_list::{
    ListedSession, Removal, ended_names, list, live_names, readable, recordings, remove, sweep,
};
pub use session_rename::{current, edit_ended, forget_former_names, former_names, new_name_of, rename_ended};

/// The names of the files in a session's directory: the lock that its host holds, what `hopty status` says,
/// the journal, the host's log, and the directory of its recordings.
pub const LOCK: &str = "lock";
pub const STATUS: &str = "session.json";
pub const JOURNAL: &str = "journal.jsonl";
pub const LOG: &str = "host.log";
pub const RECORDINGS: &str = "recordings";

/// The process names (`comm`) of a host that runs Claude, and of one that runs any other program. Older hosts
/// have the first name, whatever they run.
pub const HOST_NAMES: (&std::ffi::CStr, &std::ffi::CStr) = (c"hopty-host", c"hopty-plain");
