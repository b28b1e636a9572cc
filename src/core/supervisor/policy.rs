//! What a supervisor may rely on: the program, its features, and the version of the rules.

use serde::{Deserialize, Serialize};

use crate::core::config::{Config, Levels};

/// The current version of the rules ([`Policy::rules`]). Since 1, no level hands over a conversation that
/// began above it, and the restart limit leaves Claude running; a level by size is reported by size, and a
/// question is put even if only an answer can end it. Since 2, a hand-over by level waits for the prompt of a
/// person who is present, Claude is asked for its own words in a tool loop as soon as the level is reached,
/// and a hand-over that is broken off names the old conversation. Since 3, the dialog of a usage limit is
/// left to a person who is present. Since 4, a prompt that was sent begins a turn even if no hook reports it.
/// Since 5, a conversation in which nothing was said is restarted without a handoff, a hand-over that changed
/// settings stop is called held, and the dialog of a usage limit gets another key while it stands. Since 6,
/// the state has the API error that ended a turn, and a fresh run gets the first prompt that no run has
/// taken. Since 7, a brief that no hook could take is given with the prompt, and one that was lost after the
/// prompt is told; a turn that no hook has told of is not ended as an idle Claude, an answer that nobody read
/// counts as not given, a prompt that comes while hopty stops Claude right away is held, a first prompt that
/// Claude has answered is given to no other run, a handoff takes along a first prompt that no run has taken,
/// a draft does not postpone a hand-over that a person asked for, the prompt of `hopty --handoff` begins the
/// work on the handoff, hopty types nothing by itself while hooks or the sessions file say that Claude asks
/// for a permission, a signal file that comes while Claude does not run is obeyed once it does, a
/// delivery waits for a program that is stopped, and a level pauses after a save that failed.
pub const RULES: u32 = 7;
/// The first version of the rules whose state has the error of a turn, and whether a prompt was submitted.
pub(super) const REMEMBERS_SINCE: u32 = 6;
/// The first version of the rules that knows which hook call was to take the brief.
pub(super) const BRIEF_CALL_SINCE: u32 = 7;
/// The first version of the rules that loses nothing where an answer reached nobody, or a hook was late.
pub(super) const HEARS_SINCE: u32 = 7;
/// The first version of the rules that takes a sessions file which reports busy for a turn that no hook told
/// of.
pub(super) const WHOLE_TURNS_SINCE: u32 = 7;
/// The first version of the rules that types nothing by itself while a permission or a question may stand,
/// whatever the screen shows.
pub(super) const ASKED_SINCE: u32 = 7;
/// The first version of the rules whose delivery waits for a program that job control has stopped.
pub(super) const STOPPED_WAITS_SINCE: u32 = 7;
/// The first version of the rules that remembers a signal file which came while Claude did not run.
pub(super) const LATE_SIGNALS_SINCE: u32 = 7;

/// The first version of the rules under which no level hands over for a while after a save that failed.
pub(super) const PAUSES_SINCE: u32 = 7;
/// The first version of the rules under which a Claude that has a prompt to begin is not idle.
pub(super) const AWAITS_PROMPT_SINCE: u32 = 7;
/// The first version of the rules under which a draft does not postpone what a person asked for.
pub(super) const DRAFTS_SINCE: u32 = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// Claude Code, with hooks, conversations and handoffs.
    Claude,
    /// Any other program.
    Plain,
}

/// What the supervisor may rely on; fixed when the session begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub agent: Agent,
    /// hopty's hooks were given to Claude.
    pub hooks: bool,
    /// Text in the answers to Stop and PostToolBatch reaches the model, so that Claude can be asked for its
    /// own words.
    #[serde(default)]
    pub notes: bool,
    /// A prompt is submitted only while Claude is idle.
    #[serde(default)]
    pub submit_when_idle: bool,
    /// Claude writes a sessions file, which must confirm a hook that names another conversation.
    #[serde(default)]
    pub sessions_file: bool,
    /// Why this session can hand nothing over, where that is known before it begins.
    #[serde(default)]
    pub no_handover: Option<String>,
    /// The version of the rules: 0 for hopty 0.1.0, whose journals do not have it, or [`RULES`].
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
