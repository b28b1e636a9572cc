//! What Claude says of itself.

use serde::{Deserialize, Serialize};

/// What Claude says of itself in its sessions file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// Waits for a prompt.
    Idle,
    /// Works.
    Busy,
    /// Waits for a person: a permission, a dialog.
    Waiting,
    /// A background shell runs.
    Shell,
    /// A word of a later Claude.
    #[serde(other)]
    Other,
}
