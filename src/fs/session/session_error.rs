//! Errors of hopty's own directories and of session names.

use std::path::PathBuf;

use thiserror::Error;

use crate::core::ids::SessionName;
use crate::sys::private_dir::DirError;

/// Why hopty's own directories cannot be used, or a name cannot be taken.
#[derive(Debug, Error)]
pub enum SessionError {
    /// A directory of hopty is not safe, or the system refused it.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// The home directory is missing; hopty does not create one.
    #[error("the home directory {0} does not exist")]
    NoHome(PathBuf),
    /// The disk is full.
    #[error("{0}")]
    Full(String),
    /// A living host holds the name.
    #[error("the name is taken")]
    Taken(SessionName),
    /// A running session had the name before, and its program still uses it.
    #[error("the name is taken: session {now} had it, and its program uses it until it ends")]
    Former { name: SessionName, now: SessionName },
    #[error("an ended session has that name")]
    Ended(SessionName),
}

impl SessionError {
    /// How a person can fix it.
    pub fn hint(&self) -> String {
        match self {
            SessionError::Dir(error) => error.hint().unwrap_or_else(|| {
                "hopty keeps its sessions below XDG_STATE_HOME, or ~/.local/state".to_owned()
            }),
            SessionError::NoHome(path) => {
                format!("create {}, or set HOME or XDG_STATE_HOME to a directory that exists", path.display())
            }
            SessionError::Full(_) => "free some space there".to_owned(),
            SessionError::Former { name, now } => {
                format!("use another name, or `hopty rename {now} {name}` to give it back")
            }
            SessionError::Ended(name) => {
                format!("`hopty rm {name}` removes that one, `hopty rename {name} NEW` gives it another name")
            }
            SessionError::Taken(name) => {
                format!("`hopty attach {name}` attaches to the session with that name; use another name")
            }
        }
    }
}
