//! Where a session stands: the phases with what each must remember.

use serde::{Deserialize, Serialize};

use super::action::RestartBy;
use super::submission::Submission;
use crate::core::claude::carried::Way;
use crate::core::context::Level;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::Stamp;

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// The program came to its own end.
    Finished,
    /// The person pressed Ctrl+C.
    UserInterrupt,
    /// Stopped for good, as asked.
    Stopped,
    /// Somebody else killed it.
    Killed,
    /// The host died.
    HostLost,
    /// exec failed.
    CouldNotStart,
    /// It died too often, too soon.
    CrashLoop,
    /// More restarts than allowed within the window.
    RestartLimit,
}

/// How a run is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartKind {
    /// The arguments as the person gave them.
    First,
    /// The same arguments without first prompt and resume options, a new conversation.
    Fresh,
    /// The same conversation goes on.
    Resume,
}

/// The next run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How it is started.
    pub start: StartKind,
    /// Its conversation.
    pub conversation: Option<ConversationId>,
    /// The handoff that it continues from.
    pub handoff: Option<HandoffId>,
    /// Another working directory.
    pub dir: Option<String>,
    /// The draft of the old prompt box is to be typed again.
    pub draft: bool,
    /// Its first prompt is the one that the person submitted in the conversation before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries: Option<Way>,
}

/// A restart that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartRequest {
    /// What asked.
    pub by: RestartBy,
    /// The level, when a level asked.
    pub level: Option<Level>,
    /// A person, a script or Claude itself asked in so many words: it stands when Ctrl+C is pressed.
    pub explicit: bool,
    /// A person asked on the command line: neither a changed settings file nor a draft holds it.
    #[serde(default)]
    pub person: bool,
    /// The next tool boundary will do.
    pub now: bool,
    /// A person wants it at once, in the middle of a turn if need be (`hopty restart --now`).
    #[serde(default)]
    pub forced: bool,
    /// Save and continue from a handoff.
    pub handoff: bool,
    /// The working directory to start again in.
    pub dir: Option<String>,
    /// The journal line that asked.
    pub seq: u64,
    /// From here on a tool boundary will do.
    pub turn_until: Stamp,
    /// From here on sub-agents and background shells are not waited for.
    pub work_until: Stamp,
    /// From here on a draft is not waited for; set when the first draft was met.
    pub draft_until: Option<Stamp>,
    /// Claude was asked for its own words; from here on they are not waited for.
    #[serde(default)]
    pub note_until: Option<Stamp>,
    /// The turn was over then and somebody was there: the hand-over comes with the next prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_prompt: Option<Stamp>,
}

/// The moment at which nothing is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum SafePoint {
    /// The turn is over; Claude waits for this hook.
    Stop {
        /// The call.
        hook: u64,
    },
    /// The tools have run; Claude waits for this hook.
    Batch {
        /// The call.
        hook: u64,
    },
    /// A person has submitted a prompt and Claude has not sent it: it goes to the fresh conversation.
    Prompt {
        /// The call.
        hook: u64,
        /// How it is given to the next run.
        way: Way,
    },
    /// Claude is idle.
    Idle,
    /// No safe point at all: a person did not want to wait for one.
    Now,
}

impl SafePoint {
    /// The hook call that is held at this point until the handoff is on disk.
    #[must_use]
    pub fn hook(self) -> Option<u64> {
        match self {
            SafePoint::Stop { hook } | SafePoint::Batch { hook } => Some(hook),
            SafePoint::Prompt { .. } | SafePoint::Idle | SafePoint::Now => None,
        }
    }
}

/// How far saving has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveStep {
    /// The settings files are compared.
    Settings,
    /// The tool results are waited for.
    Results,
    /// The line of the prompt is waited for, which Claude was told not to send.
    Prompt,
    /// The worker writes.
    Writing,
}

/// Why a child is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum StopFor {
    /// The next run follows.
    Restart {
        /// It.
        plan: Plan,
        /// The person pressed Ctrl+C meanwhile.
        interrupted: bool,
    },
    /// The session ends as somebody asked.
    Stop,
    /// The host ends.
    Shutdown,
    /// There have been too many restarts.
    Limit,
}

/// How far stopping has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum StopStep {
    /// The held hook was answered; Claude becomes idle.
    Settle {
        /// SIGTERM then, at the latest.
        until: Stamp,
    },
    /// SIGTERM was sent.
    Term {
        /// SIGKILL then.
        kill_at: Stamp,
    },
    /// SIGKILL was sent.
    Kill,
}

/// The phase of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Nothing was spawned yet.
    Cold,
    /// exec is under way.
    Spawning {
        /// What is started.
        plan: Plan,
    },
    /// The child runs.
    Running,
    /// A restart waits for a safe point.
    Waiting {
        /// It.
        request: RestartRequest,
    },
    /// The handoff is being saved.
    Saving {
        /// The restart.
        request: RestartRequest,
        /// Where Claude stands.
        point: SafePoint,
        /// How far.
        step: SaveStep,
    },
    /// The child is being stopped.
    Stopping {
        /// Why.
        why: StopFor,
        /// How far.
        step: StopStep,
    },
    /// A pause before the next run.
    Cooling {
        /// Until then.
        until: Stamp,
        /// What follows.
        plan: Plan,
        /// The code to exit with when the person does not want to wait.
        code: u8,
        /// What runs code and changed: until a person accepts it the pause has no end.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        held: Vec<String>,
    },
    /// The continuation prompt is being delivered.
    Delivering {
        /// What was started.
        plan: Plan,
        /// The handoff.
        handoff: HandoffId,
        /// The prompt on its way.
        #[serde(rename = "step")]
        submission: Submission,
        /// Enters sent so far.
        enters: u32,
        /// The dialog that is in the way.
        obstacle: Option<String>,
        /// Every dialog that was answered, or that somebody was told of: once each.
        met: Vec<String>,
    },
    /// Over.
    Closed {
        /// Why.
        cause: EndCause,
        /// The exit code.
        code: u8,
    },
}

impl Phase {
    /// The word in `status` and in the journal.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Phase::Cold => "cold",
            Phase::Spawning { .. } => "spawning",
            Phase::Running => "running",
            Phase::Waiting { .. } => "waiting",
            Phase::Saving { .. } => "saving",
            Phase::Stopping { .. } => "stopping",
            Phase::Cooling { held, .. } if !held.is_empty() => "held",
            Phase::Cooling { .. } => "cooling",
            Phase::Delivering { .. } => "delivering",
            Phase::Closed { .. } => "closed",
        }
    }
}
