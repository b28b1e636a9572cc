//! What stands on the live screen, as far as anything is decided on it.

use serde::{Deserialize, Serialize};

use crate::core::claude::permission::PermissionMode;

/// What stands on the live screen, as far as delivery needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenFacts {
    /// The prompt box.
    pub prompt: PromptBox,
    /// The name of the dialog that is shown, `unknown` for one that no rule knows.
    pub dialog: Option<String>,
    /// The child has asked for bracketed paste.
    pub paste: bool,
    /// Bytes that were typed and that the child has not read yet.
    pub unread: bool,
    /// Whether the lines round the prompt box say that a turn runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<bool>,
    /// Whether the window's title does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title_busy: Option<bool>,
    /// The permission mode that the footer shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<PermissionMode>,
}

/// What the prompt box holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptBox {
    /// There is none on the screen.
    #[default]
    None,
    /// It is empty (a placeholder does not count).
    Empty,
    /// What hopty types, the continuation prompt or one that was sent, or its fold sign.
    Ours,
    /// Something else: a person's draft.
    Draft,
}
