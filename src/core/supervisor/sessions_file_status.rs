use serde::{Deserialize, Serialize};

/// Claude's status in its sessions file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionsFileStatus {
    /// Waits for a prompt.
    Idle,
    Busy,
    /// Waits for a person: a permission, a dialog.
    Waiting,
    /// A background shell runs.
    Shell,
    /// A status that hopty does not know.
    #[serde(other)]
    Other,
}
