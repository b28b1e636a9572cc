//! Claude's permission modes, in the order of what they allow without a question.

use serde::{Deserialize, Serialize};

/// A permission mode, the narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Reading and planning only.
    Plan,
    /// What is not allowed already is refused without a question.
    DontAsk,
    /// What is not allowed already is asked for.
    Default,
    /// Files are edited without a question.
    AcceptEdits,
    /// A model decides what is asked for.
    Auto,
    /// Nothing is asked for.
    BypassPermissions,
}

impl PermissionMode {
    /// The value of `--permission-mode`. Claude Code 2.1.330 lists `manual` and takes `default`, which
    /// 2.1.197 wants.
    pub fn word(self) -> &'static str {
        match self {
            PermissionMode::Plan => "plan",
            PermissionMode::DontAsk => "dontAsk",
            PermissionMode::Default => "default",
            PermissionMode::AcceptEdits => "acceptEdits",
            PermissionMode::Auto => "auto",
            PermissionMode::BypassPermissions => "bypassPermissions",
        }
    }

    /// Whether hopty may name it to a run: the two widest come from a person's own arguments and settings
    /// only.
    #[must_use]
    pub fn may_be_passed(self) -> bool {
        self <= PermissionMode::AcceptEdits
    }
}
