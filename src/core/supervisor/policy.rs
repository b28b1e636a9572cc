//! What a supervisor may rely on: the program, its features, and the version of the rules.

use serde::{Deserialize, Serialize};

use crate::core::config::{Config, Levels};

/// The current version of the rules ([`Policy::rules`]). The `..._SINCE` constants say which rules a version
/// introduced.
pub const RULES: u32 = 7;
/// Since this version the state has the API error of a turn, and whether a prompt was submitted.
pub(super) const REMEMBERS_SINCE: u32 = 6;
/// Since this version the state has the hook call whose answer was the brief.
pub(super) const BRIEF_CALL_SINCE: u32 = 7;
/// Since this version nothing is lost if Claude did not read an answer or a hook was late.
pub(super) const KEEPS_UNREAD_ANSWERS_SINCE: u32 = 7;
/// Since this version a sessions file that reports busy counts as a turn that no hook reported.
pub(super) const WHOLE_TURNS_SINCE: u32 = 7;
/// Since this version hopty types nothing by itself while Claude may be asking for a permission or an answer,
/// whatever the screen shows.
pub(super) const ASKED_SINCE: u32 = 7;
/// Since this version a delivery waits for a program that job control has stopped.
pub(super) const STOPPED_WAITS_SINCE: u32 = 7;
/// Since this version a signal file that arrives while Claude does not run is remembered.
pub(super) const LATE_SIGNALS_SINCE: u32 = 7;

/// Since this version levels pause after a failed save.
pub(super) const PAUSES_SINCE: u32 = 7;
/// Since this version, Claude does not count as idle while it has a prompt that it has not started.
pub(super) const AWAITS_PROMPT_SINCE: u32 = 7;
/// Since this version a conversation that Claude never wrote down is begun again and not resumed.
pub(super) const UNWRITTEN_SINCE: u32 = 7;
/// Since this version no level hands over a conversation that a person resumed before they see it.
pub(super) const RESUMED_SINCE: u32 = 7;
/// Since this version a draft does not postpone a hand-over that a person requested.
pub(super) const DRAFTS_SINCE: u32 = 7;

/// Since this version the end of a session says that its host was told to end.
pub(super) const SHUTDOWN_SINCE: u32 = 7;

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
    /// The levels of the configuration.
    pub fn levels(&self) -> Levels {
        self.config.context.levels()
    }
}
