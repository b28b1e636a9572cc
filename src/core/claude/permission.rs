//! Claude's permission modes, by how much they allow without asking.

use serde::{Deserialize, Serialize};

/// A permission mode. The order is from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Only reading and planning.
    Plan,
    /// Whatever is not allowed yet is refused without asking.
    DontAsk,
    /// Claude asks for whatever is not allowed yet.
    Default,
    /// Files are edited without asking.
    AcceptEdits,
    /// A model decides what Claude asks for.
    Auto,
    /// Claude never asks.
    BypassPermissions,
}

impl PermissionMode {
    /// The value of `--permission-mode`. Claude Code 2.1.330 lists `manual` and accepts `default`, which
    /// 2.1.197 needs.
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

    /// Whether hopty may pass it to a run. The two widest come only from the person's own arguments and
    /// settings.
    #[must_use]
    pub fn may_be_passed(self) -> bool {
        self <= PermissionMode::AcceptEdits
    }
}
