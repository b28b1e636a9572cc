//! Facts of the live screen for decisions.

use serde::{Deserialize, Serialize};

use crate::core::claude::permission::PermissionMode;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenFacts {
    pub prompt: PromptBox,
    /// The name of the dialog on the screen; `unknown` if no rule matches it.
    pub dialog: Option<String>,
    /// The child has enabled bracketed paste.
    pub paste: bool,
    /// Typed bytes that the child has not read yet.
    pub unread: bool,
    /// Whether the lines around the prompt box show a running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<bool>,
    /// Whether the window title shows a running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title_busy: Option<bool>,
    /// The permission mode in the footer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<PermissionMode>,
}

impl ScreenFacts {
    /// Whether it shows a prompt box and no running turn.
    pub(super) fn shows_idle_prompt(&self) -> bool {
        self.dialog.is_none() && self.busy == Some(false) && self.title_busy != Some(true)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptBox {
    /// The screen has no prompt box.
    #[default]
    None,
    /// It is empty (a placeholder does not count).
    Empty,
    /// hopty's own text: the continuation prompt, a prompt that was sent, or the placeholder of a folded
    /// paste.
    Ours,
    /// Any other text: a person's draft.
    Draft,
}
