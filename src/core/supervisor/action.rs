//! Actions: what the supervisor asks of the host, and the decisions that it records.

use serde::{Deserialize, Serialize};

use super::handover_question::AskAnswer;
use super::limit_and_error_wait::ResumeAfter;
use super::phase::{EndCause, StartKind};
pub use super::reply::{Refusal, Reply, SendResult};
use crate::core::config::DurationMs;
use crate::core::context_level::Level;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::process_change::Signal;
use crate::core::supervisor::restart_signal::SignalFile;
use crate::core::time::Stamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalTarget {
    /// The child alone: it ends its own children in order.
    Child,
    /// The child's process group.
    Group,
}

/// What a hook's answer asks Claude to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookInstruction {
    /// Write down what the next conversation must know, in its own words, and do nothing else.
    Note,
    /// Write the note in the next message of a tool loop, and continue.
    NoteInLoop,
    /// Ask the person whether to hand over.
    Ask {
        /// How full the window is, in percent.
        percent: u8,
        /// How long the answer "Snooze" is for (`restart.snooze`).
        #[serde(default = "five_minutes")]
        snooze: DurationMs,
    },
}

/// The snooze in journals that were written before it became a configuration key.
fn five_minutes() -> DurationMs {
    DurationMs::from_secs(300)
}

/// The answer to a hook call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum HookAnswer {
    /// No output: Claude continues.
    Nothing,
    /// The brief, as additional context.
    #[serde(rename = "frame")]
    Brief { handoff: HandoffId },
    /// A message for the person, which Claude shows on its own screen; nothing for the model.
    Message { text: String },
    /// `decision: block`: Claude does not compact its context.
    Block {
        /// The message for the person.
        reason: String,
    },
    /// Text for the model, as additional context of the event; the turn continues.
    Tell { what: HookInstruction },
    /// `continue: false`: the turn ends here and no request follows.
    StopTurn {
        /// The message for the person.
        reason: String,
    },
}

/// Which lines of the transcript to wait for.
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
        handoff: HandoffId,
        /// The new conversation was given the brief; otherwise the prompt names the file to read.
        #[serde(rename = "frame")]
        has_brief: bool,
    },
    /// The prompt that the person submitted in the old conversation as a bracketed paste, without Enter.
    Carried {
        handoff: HandoffId,
    },
    /// The text of a `send --submit` as a bracketed paste, without Enter.
    Text {
        id: u64,
    },
    /// hopty's own prompt to continue after a usage limit or an API error, as a bracketed paste, without
    /// Enter.
    GoOn {
        after: ResumeAfter,
    },
    Enter,
    /// A Ctrl+C that was held back.
    Interrupt,
    /// The one key that answers a named dialog, as the user configured.
    DialogKey {
        /// The dialog's name in the rules.
        dialog: String,
    },
}

/// One thing for the host to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Action {
    Spawn {
        /// Number of the run.
        run: u32,
        start: StartKind,
        /// The conversation id to pass, if any.
        conversation: Option<ConversationId>,
        /// The working directory, if it is not the session's first.
        dir: Option<String>,
        /// Pass the prompt that the person submitted in the old conversation as an argument.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        prompt: bool,
        /// Keep the first prompt of the person's arguments: no run has taken it yet.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        first_prompt: bool,
    },
    /// Send a signal to the child, checked by pid and start time.
    Signal { signal: Signal, to: SignalTarget },
    /// Open a pidfd for each of the child's descendants, so that those that survive it can be ended.
    CollectTree,
    /// End the remaining descendants.
    ReapTree,
    /// Hold the hook call.
    HoldHook { id: u64 },
    /// Answer the hook call.
    AnswerHook { id: u64, with: HookAnswer },
    /// Report `Lines` when the call's lines are in the transcript, or when the time is up.
    AwaitLines {
        id: u64,
        want: Want,
        /// When to give up.
        until: Stamp,
    },
    /// A restart waits for a safe point. The journal records when a tool boundary will suffice.
    WaitSafePoint {
        /// When a tool boundary will suffice.
        until: Stamp,
    },
    /// Compare the settings that run code when Claude starts with those that a person last accepted.
    CheckSettings,
    /// Save a handoff and claim it for the next conversation.
    Save {
        /// `auto`, `manual`, `signal` or `crash`.
        by: RestartBy,
        /// The conversation that will consume it.
        claim_for: ConversationId,
    },
    /// Hold what clients type from now on. This outlasts the end of a run; only `PassKeys` and `ReleaseKeys`
    /// end it.
    HoldKeys,
    /// Pass what clients type from now on to the child, but keep held input. A person must be able to answer
    /// a dialog on the screen, and keys typed before it appeared must not answer it.
    PassKeys,
    /// Pass the held input to the child, and from now on what clients type. Does nothing if no input is held.
    ReleaseKeys {
        /// First type the draft that was in the old run's prompt box.
        draft: bool,
    },
    /// Type into the child.
    Type { typing: Typing },
    /// The carried prompt begins no fresh conversation: it goes first to whatever gets the held input.
    ReturnPrompt {
        /// Submit it; otherwise it becomes a draft again.
        submit: bool,
    },
    /// The first prompt in Claude's queue begins the fresh conversation.
    TakeQueued,
    /// The first prompt of the person's arguments, which no run has taken, begins the fresh conversation.
    TakeArgument,
    /// The old conversation has taken the carried prompt.
    DropPrompt,
    /// Follow this conversation and its transcript.
    Follow {
        conversation: ConversationId,
        /// Its transcript, if a hook reported its path.
        transcript: Option<String>,
        /// A person started other work in it (`/clear`, `/resume`): the goal of earlier conversations does
        /// not apply.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        anew: bool,
    },
    /// Remove the signal file that was obeyed.
    ConsumeSignal {
        #[serde(default)]
        file: SignalFile,
    },
    /// Mark the handoff consumed.
    Consume {
        handoff: HandoffId,
        /// The conversation that consumed it.
        conversation: ConversationId,
    },
    /// Discard the handoff if it is still pending: the session went back to the conversation before it.
    Clear { handoff: HandoffId },
    /// Store a person's answer for a later host of this conversation.
    KeepAsk {
        conversation: ConversationId,
        answer: AskAnswer,
        /// How long it is valid, in ms; 0: without a limit.
        left: u64,
    },
    /// During a usage limit, no handoff of this channel expires: each gets the time until the reset added,
    /// once.
    KeepHandoffs {
        /// When it resets, in seconds since 1970.
        until: u64,
    },
    /// The child is stopped: give the leader's shell its terminal back.
    Suspend,
    /// Send every client a notice.
    Notice {
        /// The kind of decision that it reports.
        about: DecisionKind,
        text: String,
    },
    /// Answer a request of the socket.
    Reply { id: u64, with: Reply },
    /// Write a decision into the journal.
    Decide { decision: Decision },
    /// The session is over.
    Close {
        cause: EndCause,
        /// The exit code of the clients.
        code: u8,
    },
}

/// The words with which a decision says that a hand-over or a run is held.
pub const SETTINGS_CHANGED: &str = "settings that run code have changed since launch";

/// What requested a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestartBy {
    Level,
    Signal,
    /// `hopty restart`.
    Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DecisionKind {
    #[serde(rename = "session.started")]
    SessionStarted,
    /// A run began.
    #[serde(rename = "run.spawned")]
    RunSpawned,
    /// The next run waits until a person accepts the changes.
    #[serde(rename = "run.held")]
    RunHeld,
    #[serde(rename = "run.ended")]
    RunEnded,
    /// hopty follows another conversation.
    #[serde(rename = "conversation.changed")]
    ConversationChanged,
    /// The context usage rose above a level.
    #[serde(rename = "level.crossed")]
    LevelCrossed,
    #[serde(rename = "restart.requested")]
    RestartRequested,
    /// A signal was ignored.
    #[serde(rename = "restart.ignored")]
    RestartIgnored,
    /// A requested restart was cancelled.
    #[serde(rename = "restart.cancelled")]
    RestartCancelled,
    /// A person is reading Claude's last answer: the hand-over comes with their next prompt.
    #[serde(rename = "restart.waits")]
    RestartWaits,
    /// Claude can be stopped now without losing anything.
    #[serde(rename = "safe_point.reached")]
    SafePointReached,
    /// A handoff is on disk.
    #[serde(rename = "handoff.saved")]
    HandoffSaved,
    /// The conversation is empty, so the next one starts without a handoff.
    #[serde(rename = "handoff.skipped")]
    HandoffSkipped,
    /// The new conversation has claimed the handoff.
    #[serde(rename = "handoff.claimed")]
    HandoffClaimed,
    /// The new conversation has answered: the handoff is consumed.
    #[serde(rename = "handoff.consumed")]
    HandoffConsumed,
    /// SIGTERM was sent.
    #[serde(rename = "stop.sent")]
    StopSent,
    /// SIGKILL was sent.
    #[serde(rename = "stop.killed")]
    StopKilled,
    /// Remaining processes of a run were ended.
    #[serde(rename = "tree.reaped")]
    TreeReaped,
    /// Delivery of the continuation prompt began.
    #[serde(rename = "delivery.started")]
    DeliveryStarted,
    /// The prompt was submitted, with proof.
    #[serde(rename = "delivery.submitted")]
    DeliverySubmitted,
    /// hopty did not submit the prompt.
    #[serde(rename = "delivery.failed")]
    DeliveryFailed,
    #[serde(rename = "client.attached")]
    ClientAttached,
    #[serde(rename = "client.detached")]
    ClientDetached,
    /// A person answered a dialog on the dashboard.
    #[serde(rename = "dialog.answered")]
    DialogAnswered,
    /// The session is over.
    #[serde(rename = "session.ended")]
    SessionEnded,
    /// An orchestrator's file says that its task is completed.
    #[serde(rename = "task.completed")]
    TaskCompleted,
    /// Claude reached a usage limit.
    #[serde(rename = "limit.reached")]
    LimitReached,
    /// The usage limit is over, or nothing waits for it any more.
    #[serde(rename = "limit.over")]
    LimitOver,
    /// An API error ended the turn.
    #[serde(rename = "turn.failed")]
    TurnFailed,
    /// hopty's prompt to continue was submitted, with proof.
    #[serde(rename = "continue.submitted")]
    ContinueSubmitted,
    /// hopty does not continue by itself.
    #[serde(rename = "continue.cancelled")]
    ContinueCancelled,
    /// There was no progress between two hand-overs in a row.
    #[serde(rename = "progress.missing")]
    ProgressMissing,
    /// A part of the host was switched off.
    #[serde(rename = "degraded")]
    Degraded,
}

impl DecisionKind {
    /// Whether it explains the session's state, for `status` and `why`; incidental events do not.
    #[must_use]
    pub fn explains(self) -> bool {
        !matches!(self, Self::ClientAttached | Self::ClientDetached | Self::RunSpawned | Self::TreeReaped)
    }
}

/// A decision with its reason, for people and scripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub kind: DecisionKind,
    pub run: u32,
    /// What requested it, for restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<RestartBy>,
    /// The level, for levels and restarts by level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<HandoffId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The cause, when a session ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<EndCause>,
    /// Changed settings hold this hand-over, which is recorded as cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// One complete sentence.
    pub sentence: String,
    /// The journal lines that it is based on.
    pub because: Vec<u64>,
}

impl Decision {
    /// Whether a hand-over or a run waits until a person agrees to changed settings.
    pub fn is_held(&self) -> bool {
        self.held || self.kind == DecisionKind::RunHeld
    }
}
