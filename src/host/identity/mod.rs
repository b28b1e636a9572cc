//! The session's identity: name, directories, and the program with the person's own arguments.
//! The other parts ask it for paths and for what a thread needs to read or write there.
//!
//! | file | holds |
//! |---|---|
//! | `session_identity` | name, directories and arguments |
//! | `own_files` | the session's own directory: detecting its loss, and restoring it on a thread |
//! | `launch_inputs` | the inputs of the next run: settings that run code, directory, launch files |

mod launch_inputs;
mod own_files;
mod session_identity;

pub(super) use own_files::{RestoreOrder, RestoredFiles, not_renamed, wanted_name};
pub(super) use session_identity::SessionIdentity;
