//! The phases of a session, each with its own data.

use serde::{Deserialize, Serialize};

use super::action::RestartBy;
use super::event::PromptOf;
use super::policy::Policy;
pub use super::prompt_delivery::PromptDelivery;
use super::step::EventStep;
use crate::core::claude::carry_over::CarryMethod;
use crate::core::context_level::Level;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::Stamp;

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// The program finished by itself.
    Finished,
    /// The person pressed Ctrl+C.
    UserInterrupt,
    /// Stopped for good, on request.
    Stopped,
    /// Another process killed it.
    Killed,
    /// The host died.
    HostLost,
    /// exec failed.
    CouldNotStart,
    /// It crashed too often in too short a time.
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
    /// Resumes the same conversation.
    Resume,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The kind of start.
    pub start: StartKind,
    pub conversation: Option<ConversationId>,
    /// The handoff that it continues from.
    pub handoff: Option<HandoffId>,
    /// The working directory, if it is not the session's first.
    pub dir: Option<String>,
    /// Type the draft of the old prompt box into it.
    pub draft: bool,
    /// Its first prompt is the carried prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries: Option<CarryMethod>,
    /// It gets the first prompt of the person's arguments, which no run has taken yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_prompt: bool,
}

impl RunPlan {
    /// Resumes this conversation unchanged.
    pub(super) fn resume(conversation: Option<ConversationId>) -> Self {
        RunPlan {
            start: StartKind::Resume,
            conversation,
            handoff: None,
            dir: None,
            // The transcript does not contain the draft.
            draft: true,
            carries: None,
            first_prompt: false,
        }
    }

    /// Begins this conversation in the place of one that Claude never wrote down.
    pub(super) fn begin_again(conversation: Option<ConversationId>) -> Self {
        RunPlan { start: StartKind::Fresh, ..RunPlan::resume(conversation) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartRequest {
    /// What requested it.
    pub by: RestartBy,
    /// The level, if a level requested it.
    pub level: Option<Level>,
    /// A person, a script or Claude itself requested it explicitly: Ctrl+C does not cancel it.
    pub explicit: bool,
    /// A person requested it on the command line: neither changed settings nor a draft delay it.
    #[serde(default)]
    pub person: bool,
    /// The next tool boundary suffices.
    pub now: bool,
    /// A person wants it at once, in the middle of a turn if necessary (`hopty restart --now`).
    #[serde(default)]
    pub forced: bool,
    /// Save and continue from a handoff.
    pub handoff: bool,
    /// The working directory of the next run.
    pub dir: Option<String>,
    /// The journal line of the request.
    pub seq: u64,
    /// When a tool boundary begins to suffice.
    pub turn_until: Stamp,
    /// When to stop waiting for sub-agents and background shells.
    pub work_until: Stamp,
    /// When to stop waiting for a draft; set at the first draft.
    pub draft_until: Option<Stamp>,
    /// When to stop waiting for Claude's hand-over note, if it was requested.
    #[serde(default)]
    pub note_until: Option<Stamp>,
    /// Set when the turn ended with a person present: the hand-over comes with the next prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_prompt: Option<Stamp>,
}

impl RestartRequest {
    pub(super) fn new(step: &EventStep<'_>, policy: &Policy, by: RestartBy) -> Self {
        let c = &policy.config.restart;
        RestartRequest {
            by,
            level: None,
            explicit: false,
            person: false,
            now: false,
            forced: false,
            handoff: true,
            dir: None,
            seq: step.line,
            turn_until: step.now.after(c.turn_wait.ms()),
            work_until: step.now.after(c.work_wait.ms()),
            draft_until: None,
            note_until: None,
            for_prompt: None,
        }
    }

    /// Whether only a context level requested it.
    pub(super) fn is_by_level(&self) -> bool {
        self.by == RestartBy::Level && !self.explicit
    }
}

/// A safe point: a moment at which Claude can be stopped without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum SafePoint {
    /// The turn is over; Claude waits for this hook.
    Stop { hook: u64 },
    /// The tools have run; Claude waits for this hook.
    Batch { hook: u64 },
    /// A person submitted a prompt and Claude has not sent it: it is carried to the fresh conversation.
    Prompt {
        hook: u64,
        /// How to pass it to the next run.
        way: CarryMethod,
    },
    /// Claude is idle.
    Idle,
    /// None: a person did not want to wait for a safe point.
    Now,
}

impl SafePoint {
    /// The hook call that is held until the handoff is on disk.
    #[must_use]
    pub fn hook(self) -> Option<u64> {
        match self {
            SafePoint::Stop { hook } | SafePoint::Batch { hook } => Some(hook),
            SafePoint::Prompt { .. } | SafePoint::Idle | SafePoint::Now => None,
        }
    }
}

/// The steps of saving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveStep {
    /// Comparing the settings files.
    Settings,
    /// Waiting for the tool results.
    Results,
    /// Waiting for the line of the prompt that Claude was told not to send.
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
        plan: RunPlan,
        /// The person pressed Ctrl+C meanwhile.
        interrupted: bool,
    },
    /// The session ends, as requested.
    Stop,
    /// The host ends.
    Shutdown,
    /// The restart limit is reached.
    Limit,
}

/// The steps of stopping a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum StopStep {
    /// The held hook was answered; waiting for Claude to become idle.
    Settle {
        /// When to send SIGTERM at the latest.
        until: Stamp,
    },
    /// SIGTERM was sent.
    Term {
        /// When to send SIGKILL.
        kill_at: Stamp,
    },
    /// SIGKILL was sent.
    Kill,
}

/// A request to end the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRequest {
    pub why: StopFor,
    /// By SIGKILL at once.
    pub kill: bool,
}

/// The phase of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Nothing was spawned yet.
    Cold,
    /// exec is under way.
    Spawning {
        /// The run that is being started.
        plan: RunPlan,
        /// An end was requested meanwhile: the new process must be ended, not forgotten.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<EndRequest>,
    },
    /// The child runs.
    Running,
    /// A restart waits for a safe point.
    Waiting {
        request: RestartRequest,
    },
    /// The handoff is being saved.
    Saving {
        request: RestartRequest,
        point: SafePoint,
        step: SaveStep,
    },
    /// The child is being stopped.
    Stopping {
        why: StopFor,
        step: StopStep,
    },
    /// A pause before the next run.
    Cooling {
        /// When it ends.
        until: Stamp,
        plan: RunPlan,
        /// The exit code if the person does not want to wait.
        code: u8,
        /// The changed settings that run code; the pause does not end until a person accepts them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        held: Vec<String>,
    },
    /// The continuation prompt is being delivered.
    Delivering(PromptDelivery),
    Closed {
        cause: EndCause,
        code: u8,
    },
}

impl Phase {
    /// Its name in `status` and in the journal.
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

    /// The next run, while the last one is being stopped for it.
    pub fn next_run(&self) -> Option<&RunPlan> {
        match self {
            Phase::Stopping { why: StopFor::Restart { plan, .. }, .. } => Some(plan),
            _ => None,
        }
    }

    pub fn is_delivering(&self) -> bool {
        matches!(self, Phase::Delivering { .. })
    }

    pub(super) fn delivery(&self) -> Option<&PromptDelivery> {
        match self {
            Phase::Delivering(delivery) => Some(delivery),
            _ => None,
        }
    }

    /// Whether a run is being started or running.
    pub(super) fn has_run(&self) -> bool {
        !matches!(self, Phase::Cold | Phase::Cooling { .. } | Phase::Closed { .. })
    }

    /// The restart that waits or is being saved.
    pub(super) fn request(&self) -> Option<&RestartRequest> {
        match self {
            Phase::Waiting { request } | Phase::Saving { request, .. } => Some(request),
            _ => None,
        }
    }

    /// Whether Claude was told to drop a prompt that no fresh conversation has yet.
    pub(super) fn has_taken_prompt(&self) -> bool {
        match self {
            Phase::Saving { point: SafePoint::Prompt { .. }, step, .. } => *step != SaveStep::Settings,
            _ => false,
        }
    }

    /// A prompt runs in the conversation to be handed over: hopty waits for its end and may ask Claude again.
    pub(super) fn prompt_runs_here(&mut self, of: Option<PromptOf>) {
        if let Phase::Waiting { request } = self {
            request.for_prompt = None;
            if matches!(of, Some(PromptOf::Person | PromptOf::Sent)) {
                request.note_until = None;
            }
        }
    }
}
