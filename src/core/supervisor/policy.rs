//! What a supervisor may rely on: which program runs, what it offers, and by which rules it is judged.

use serde::{Deserialize, Serialize};

use crate::core::config::Config;

/// The number of today's rules ([`Policy::rules`]). From 1 on no level hands over a conversation that began
/// above it, and the restart limit leaves Claude running, a level by size is told by size, and a question is
/// put that nothing but an answer ends. From 2 on a hand-over by level waits for the prompt of somebody who
/// is there, Claude is asked for its own words in a tool loop as soon as the level is reached, and a
/// hand-over that is broken off names the old conversation.
pub const RULES: u32 = 2;

/// Which program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// Claude Code, with hooks, conversations and handoffs.
    Claude,
    /// Any other program.
    Plain,
}

/// What the supervisor may rely on, fixed when the session begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Which program runs.
    pub agent: Agent,
    /// hopty's hooks were given to Claude.
    pub hooks: bool,
    /// A text in the answer of Stop and PostToolBatch reaches the model, so that Claude can be asked for its
    /// own words.
    #[serde(default)]
    pub notes: bool,
    /// A prompt is submitted only while Claude is idle.
    #[serde(default)]
    pub submit_when_idle: bool,
    /// Claude writes a sessions file, which must agree with a hook that names another conversation.
    #[serde(default)]
    pub sessions_file: bool,
    /// By which rules the session is judged: 0 those of hopty 0.1.0, whose journals do not say, or [`RULES`].
    #[serde(default)]
    pub rules: u32,
    /// The configuration.
    pub config: Config,
}
