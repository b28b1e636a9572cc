//! Everything that the supervisor can ask of the host, and the decisions that it writes down.

use serde::{Deserialize, Serialize};

pub use super::answer::{HookAnswer, HookInstruction};
use super::limits::ResumeAfter;
use super::phase::{EndCause, StartKind};
use super::question::AskAnswer;
pub use super::reply::{Reply, SendResult};
use crate::core::compat::signals::SignalFile;
use crate::core::context::Level;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::process::Signal;
use crate::core::time::Stamp;

/// Whom a signal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalTarget {
    /// The child alone: it ends its own children in order.
    Child,
    /// The child's process group.
    Group,
}

/// Which lines of the transcript are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// PostToolBatch: the assistant lines with the payload's tool-use ids. Stop: the last assistant message.
    Assistant,
    /// The results of these tool uses.
    Results,
    /// UserPromptSubmit: the line of the prompt.
    Prompt,
}

/// What is typed into the child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Typing {
    /// The continuation prompt as a bracketed paste, without Enter.
    Prompt {
        /// The handoff that it names.
        handoff: HandoffId,
        /// The new conversation was given the frame; else the prompt names the file to read.
        frame: bool,
    },
    /// The prompt that the person submitted in the old conversation as a bracketed paste, without Enter.
    Carried {
        /// The handoff that goes with it.
        handoff: HandoffId,
    },
    /// The text of a `send --submit` as a bracketed paste, without Enter.
    Text {
        /// The request.
        id: u64,
    },
    /// hopty's own prompt after a usage limit or an API error, as a bracketed paste, without Enter.
    GoOn {
        /// After which of them.
        after: ResumeAfter,
    },
    /// One Enter.
    Enter,
    /// The Ctrl+C that was held back.
    Interrupt,
    /// The one key that answers a named dialog, as the user configured.
    DialogKey {
        /// Its name in the rules.
        dialog: String,
    },
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Action {
    /// Start the program.
    Spawn {
        /// Number of the run.
        run: u32,
        /// How.
        start: StartKind,
        /// The conversation id to pass, when one is to be passed.
        conversation: Option<ConversationId>,
        /// Another working directory than the session's first.
        dir: Option<String>,
        /// The prompt that the person submitted in the old conversation is the first prompt, as an argument.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        prompt: bool,
    },
    /// Send a signal to the child, checked by pid and start time.
    Signal {
        /// Which.
        signal: Signal,
        /// To whom.
        to: SignalTarget,
    },
    /// Take hold of the child's descendants (a pidfd each), so that what is left of them can be ended.
    CollectTree,
    /// End those of the collected descendants that are left.
    ReapTree,
    /// Tell the hook to wait.
    HoldHook {
        /// The call.
        id: u64,
    },
    /// Answer the hook.
    AnswerHook {
        /// The call.
        id: u64,
        /// With what.
        with: HookAnswer,
    },
    /// Report `Lines` when the call's lines are in the transcript, at the latest at `until`.
    AwaitLines {
        /// The call.
        id: u64,
        /// Which lines.
        want: Want,
        /// When to give up.
        until: Stamp,
    },
    /// A restart waits for a safe point; shown in the journal with the time at which less will do.
    WaitSafePoint {
        /// When a tool boundary will do.
        until: Stamp,
    },
    /// Compare what runs code when Claude starts with what a person last accepted.
    CheckSettings,
    /// Save a handoff and claim it for the next conversation.
    Save {
        /// `auto`, `manual`, `signal` or `crash`.
        by: RestartBy,
        /// Who is going to consume it.
        claim_for: ConversationId,
    },
    /// Keep what clients type from here on. It stays so over the end of a run, until one of the next two.
    HoldKeys,
    /// What clients type from here on goes to the child at once; what was kept before stays kept. A dialog is
    /// on the screen that a person must be able to answer, and keys typed before it was there must not answer
    /// it.
    PassKeys,
    /// Give the child what was kept, and what is typed from here on at once. Nothing to do when nothing is
    /// kept.
    ReleaseKeys {
        /// Type the draft of the old run's prompt box first.
        draft: bool,
    },
    /// Type into the child.
    Type {
        /// What.
        typing: Typing,
    },
    /// The prompt that was kept for the fresh conversation does not begin one: whoever gets the kept keys
    /// gets it before them.
    ReturnPrompt {
        /// With Enter; else it is a draft again.
        submit: bool,
    },
    /// The first of the prompts that are queued in Claude begins the fresh conversation.
    TakeQueued,
    /// The prompt that was kept for the fresh conversation has been taken by the old one.
    DropPrompt,
    /// The conversation is this one from now on: follow its transcript.
    Follow {
        /// Which.
        conversation: ConversationId,
        /// Its file, when a hook named it.
        transcript: Option<String>,
        /// A person began other work with it (`/clear`, `/resume`): the goal of the conversations before is
        /// not its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        anew: bool,
    },
    /// Remove the signal file that was obeyed.
    ConsumeSignal {
        /// Which of them.
        #[serde(default)]
        file: SignalFile,
    },
    /// Mark the handoff consumed.
    Consume {
        /// Which.
        handoff: HandoffId,
        /// By whom.
        conversation: ConversationId,
    },
    /// Put the handoff aside, if it still waits: the session went back over it.
    Clear {
        /// Which.
        handoff: HandoffId,
    },
    /// Keep what a person answered for a later host of this conversation.
    KeepAsk {
        /// Which.
        conversation: ConversationId,
        /// What was answered.
        answer: AskAnswer,
        /// How long it stands, in ms; 0 is for good.
        left: u64,
    },
    /// While a usage limit is waited for no handoff of this channel expires: the time until its reset is
    /// added, once.
    KeepHandoffs {
        /// When it resets, in seconds since 1970.
        until: u64,
    },
    /// The child is stopped: give the leader's shell its terminal back.
    Suspend,
    /// Tell every client something.
    Notice {
        /// What happened, one of the decision kinds.
        about: DecisionKind,
        /// In words.
        text: String,
    },
    /// Answer a request of the socket.
    Reply {
        /// Which.
        id: u64,
        /// With what.
        with: Reply,
    },
    /// Write a decision into the journal.
    Decide {
        /// The decision.
        decision: Decision,
    },
    /// The session is over.
    Close {
        /// Why.
        cause: EndCause,
        /// The exit code for clients.
        code: u8,
    },
}

/// What asked for a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestartBy {
    /// A context level.
    Level,
    /// A signal file.
    Signal,
    /// `hopty restart`.
    Command,
}

/// The kinds of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DecisionKind {
    /// The session began.
    #[serde(rename = "session.started")]
    SessionStarted,
    /// A run began.
    #[serde(rename = "run.spawned")]
    RunSpawned,
    /// The next run does not start before a person accepts what changed.
    #[serde(rename = "run.held")]
    RunHeld,
    /// A run ended.
    #[serde(rename = "run.ended")]
    RunEnded,
    /// Another conversation is followed.
    #[serde(rename = "conversation.changed")]
    ConversationChanged,
    /// A context level was crossed upwards.
    #[serde(rename = "level.crossed")]
    LevelCrossed,
    /// A restart is wanted.
    #[serde(rename = "restart.requested")]
    RestartRequested,
    /// A signal was not obeyed.
    #[serde(rename = "restart.ignored")]
    RestartIgnored,
    /// A restart that was wanted does not happen.
    #[serde(rename = "restart.cancelled")]
    RestartCancelled,
    /// Somebody reads what Claude said last: the hand-over comes with their next prompt.
    #[serde(rename = "restart.waits")]
    RestartWaits,
    /// Nothing is lost when Claude is stopped now.
    #[serde(rename = "safe_point.reached")]
    SafePointReached,
    /// A handoff is on disk.
    #[serde(rename = "handoff.saved")]
    HandoffSaved,
    /// It has its one reader.
    #[serde(rename = "handoff.claimed")]
    HandoffClaimed,
    /// The reader has answered.
    #[serde(rename = "handoff.consumed")]
    HandoffConsumed,
    /// SIGTERM was sent.
    #[serde(rename = "stop.sent")]
    StopSent,
    /// SIGKILL was sent.
    #[serde(rename = "stop.killed")]
    StopKilled,
    /// Leftovers of a run were ended.
    #[serde(rename = "tree.reaped")]
    TreeReaped,
    /// The continuation prompt is on its way.
    #[serde(rename = "delivery.started")]
    DeliveryStarted,
    /// It was submitted, with proof.
    #[serde(rename = "delivery.submitted")]
    DeliverySubmitted,
    /// It was not submitted by hopty.
    #[serde(rename = "delivery.failed")]
    DeliveryFailed,
    /// A client came.
    #[serde(rename = "client.attached")]
    ClientAttached,
    /// A client went.
    #[serde(rename = "client.detached")]
    ClientDetached,
    /// The session is over.
    #[serde(rename = "session.ended")]
    SessionEnded,
    /// An orchestrator's file says that its task is completed.
    #[serde(rename = "task.completed")]
    TaskCompleted,
    /// Claude has hit a usage limit.
    #[serde(rename = "limit.reached")]
    LimitReached,
    /// It is over, or nobody waits for it any more.
    #[serde(rename = "limit.over")]
    LimitOver,
    /// An API error ended the turn.
    #[serde(rename = "turn.failed")]
    TurnFailed,
    /// hopty's prompt to go on was submitted, with proof.
    #[serde(rename = "continue.submitted")]
    ContinueSubmitted,
    /// hopty does not go on by itself.
    #[serde(rename = "continue.cancelled")]
    ContinueCancelled,
    /// Two handoffs in a row, and the work has not moved between them.
    #[serde(rename = "progress.missing")]
    ProgressMissing,
    /// A part of the host is switched off.
    #[serde(rename = "degraded")]
    Degraded,
}

impl DecisionKind {
    /// Whether it says why the session is as it is, for `status` and `why`: what merely happens beside that
    /// does not.
    #[must_use]
    pub fn explains(self) -> bool {
        !matches!(self, Self::ClientAttached | Self::ClientDetached | Self::RunSpawned | Self::TreeReaped)
    }
}

/// A decision with its reason, for people and scripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Which kind.
    pub kind: DecisionKind,
    /// The run it is about.
    pub run: u32,
    /// What asked, for restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<RestartBy>,
    /// The level, for levels and restarts by level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The handoff concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<HandoffId>,
    /// The conversation concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The cause, when a session ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<EndCause>,
    /// One whole sentence.
    pub sentence: String,
    /// The numbers of the journal lines that it rests on.
    pub because: Vec<u64>,
}
