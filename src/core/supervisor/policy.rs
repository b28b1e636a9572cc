//! What a supervisor may rely on: the program, its features, and the version of the rules.

use serde::{Deserialize, Serialize};

use crate::core::config::{Config, Levels};

/// The current version of the rules ([`Policy::rules`]). It is raised only for the first change after a
/// release; a later one shares the gate `Policy::is_previous_release`.
pub const RULES: u32 = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramKind {
    /// Claude Code, with hooks, conversations and handoffs.
    Claude,
    /// Any other program.
    Plain,
}

/// What the supervisor may rely on; fixed when the session begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub agent: ProgramKind,
    /// hopty's hooks were given to Claude.
    pub hooks: bool,
    /// Text in the answers to Stop and PostToolBatch reaches the model, so that Claude can be asked for its
    /// hand-over note.
    #[serde(default)]
    pub notes: bool,
    /// A prompt is submitted only while Claude is idle.
    #[serde(default)]
    pub submit_when_idle: bool,
    /// Claude writes a sessions file, which must confirm a hook that names another conversation.
    #[serde(default)]
    pub sessions_file: bool,
    /// Why this session can hand over nothing, if that is known before it begins.
    #[serde(default)]
    pub no_handover: Option<String>,
    /// The version of the rules, at most [`RULES`]; 0 in earlier journals, which do not have it.
    #[serde(default)]
    pub rules: u32,
    pub config: Config,
}

impl Policy {
    /// Whether the rules are those of a release before this one, whose journals must replay as they were
    /// written.
    pub(super) const fn is_previous_release(&self) -> bool {
        self.rules < RULES
    }

    /// The levels of the configuration.
    pub fn levels(&self) -> Levels {
        self.config.context.levels()
    }
}
