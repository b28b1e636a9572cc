//! Everything that can happen to a session, as facts. Events carry no typed text, prompts or tool results, so
//! the journal can be shown to others.

use serde::{Deserialize, Serialize};

use super::compaction::Compaction;
use super::handover_question::AskAnswer;
pub use super::key_class::KeyClass;
use super::limit_and_error_wait::LimitKind;
use super::screen_facts::ScreenFacts;
pub use super::sessions_file_status::SessionsFileStatus;
use crate::core::claude::carry_over::CarryMethod;
use crate::core::handoff::operation::Cut;
use crate::core::handoff::work_progress::Mark;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::supervisor::restart_signal::{NamedDir, RestartSignal};

/// How a client attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachKind {
    /// It joins an existing session.
    #[default]
    Joins,
    /// It started the session, and stops together with the program, as without hopty.
    Starts,
    Watches,
}

/// The hook events that hopty registers for, and a variant for any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookEvent {
    /// A conversation begins.
    SessionStart,
    /// A prompt was submitted, by a person or not.
    UserPromptSubmit,
    /// All tools of a response have run; the next request has not been sent.
    PostToolBatch,
    /// One tool has run, in a Claude without PostToolBatch.
    PostToolUse,
    /// One tool is about to run, in a Claude without PostToolBatch.
    PreToolUse,
    /// The turn is over.
    Stop,
    /// The turn ended with an API error.
    StopFailure,
    /// A compaction is about to begin.
    PreCompact,
    /// A compaction is done.
    PostCompact,
    /// Claude asks for a permission.
    PermissionRequest,
    /// Claude sends a notification.
    Notification,
    /// A sub-agent ended.
    SubagentStop,
    /// The conversation ends.
    SessionEnd,
    /// An event of a newer Claude.
    #[serde(other)]
    Other,
}

/// How a conversation began (`source` of SessionStart).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartSource {
    /// A new one at the start of the program.
    Startup,
    /// An earlier one was resumed.
    Resume,
    /// `/clear` made a new one.
    Clear,
    /// The same one after a compaction.
    Compact,
    /// Anything else.
    #[serde(other)]
    Other,
}

/// Who submitted a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptOf {
    /// hopty: it equals the continuation prompt.
    Ours,
    /// A script: it equals the prompt that `hopty send --submit` types.
    Sent,
    /// Claude itself: a task notification or an automatic continuation.
    Claude,
    /// Not a person at a terminal: for example a prompt that the model scheduled. It runs where it was
    /// submitted.
    Scheduled,
    /// A person: anything else.
    Person,
}

/// The facts of one hook call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookFacts {
    pub event: HookEvent,
    /// The conversation in the payload, if any.
    pub conversation: Option<ConversationId>,
    /// It comes from a sub-agent (`agent_id` present): such calls are counted, never decided on.
    #[serde(default)]
    pub agent: bool,
    /// SessionStart: how the conversation began.
    #[serde(default)]
    pub source: Option<StartSource>,
    /// Path of the transcript in the payload.
    #[serde(default)]
    pub transcript: Option<String>,
    /// UserPromptSubmit: the author of the prompt.
    #[serde(default)]
    pub prompt: Option<PromptOf>,
    /// UserPromptSubmit: how exactly this prompt can be passed to a fresh conversation; `None` if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries: Option<CarryMethod>,
    /// Stop: the number of listed background tasks.
    #[serde(default)]
    pub background: u32,
    /// PostToolBatch: how many of its calls started something in the background.
    #[serde(default)]
    pub started: u32,
    /// PostToolBatch, Stop: the decision must wait for lines of the transcript.
    #[serde(default)]
    pub lines: bool,
    /// The permission mode, if the payload has it. No decision relies on it: any program that Claude runs can
    /// send it.
    #[serde(default)]
    pub mode: Option<String>,
    /// PermissionRequest: the name of the dialog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// PostToolBatch: the person's answer to the question of mode `ask`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<AskAnswer>,
    /// PreCompact: Claude compacts by itself, not at a person's request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto: bool,
    /// PreCompact: what the host found out before it handled the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
    /// StopFailure: Claude's name for the error, cut to 40 characters.
    #[serde(default)]
    pub error: Option<String>,
}

/// How to restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartOrder {
    /// Do not wait for a turn's end.
    #[serde(rename = "now")]
    pub at_once: bool,
    /// Save and continue from a handoff.
    pub handoff: bool,
}

impl RestartOrder {
    /// At the end of the turn, with a handoff.
    pub const USUAL: RestartOrder = RestartOrder { at_once: false, handoff: true };
}

/// Who sent a request over the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// A person: the same user, outside the session.
    Person,
    /// A descendant of the session's child, such as Claude's Bash tool.
    Descendant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// The session begins. All ids are made by the host.
    Start {
        /// The id for the first conversation, unless the person's arguments name one.
        conversation: Option<ConversationId>,
        next: ConversationId,
        /// A pending handoff to start from (`--handoff`).
        handoff: Option<HandoffId>,
        /// The person's arguments contain no prompt and continue no conversation.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fresh: bool,
        /// How the first prompt in the person's arguments can be passed to a fresh conversation; `None` if
        /// there is none, or it cannot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<CarryMethod>,
        /// There is a first prompt that cannot be passed on, such as a slash command.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        command: bool,
        /// The conversation before this one, of a session that was restored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<ConversationId>,
    },
    /// exec succeeded.
    Started {
        /// Number of the run, from 1.
        run: u32,
        /// Process id.
        pid: i32,
        /// An unused conversation id for the next run.
        #[serde(default)]
        next: Option<ConversationId>,
    },
    /// exec failed.
    CouldNotStart {
        /// Number of the run.
        run: u32,
        /// The exit code: 125, 126 or 127.
        code: u8,
        /// The directory, if that is what is gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gone: Option<String>,
    },
    /// The child ended, stopped or continued.
    Child {
        /// Number of the run.
        run: u32,
        end: ProcessEnd,
    },
    /// A client typed bytes.
    Keys { client: u32, class: KeyClass, bytes: u32 },
    /// A client's signal was passed on to the child's process group.
    Passed { signal: Signal },
    /// Claude called a hook; the call waits for an answer by this id.
    Hook { id: u64, hook: HookFacts },
    /// The lines that a hook call waits for are in the transcript, or its time is up.
    Lines {
        id: u64,
        /// Whether they were found.
        found: bool,
        /// Whether Claude's work, according to these lines, can be interrupted here.
        #[serde(default, skip_serializing_if = "Cut::is_free")]
        cut: Cut,
    },
    /// A hook call's connection has closed, answered or not.
    HookGone { id: u64 },
    /// A new context usage.
    Usage {
        conversation: ConversationId,
        tokens: u64,
        /// The window, in tokens.
        window: u64,
        /// The transcript's size, in bytes.
        #[serde(default)]
        bytes: u64,
    },
    /// A turn began, according to the transcript; reported if hooks do not report turns.
    TurnBegan { conversation: ConversationId },
    /// The transcript's last message of the main conversation ended its turn, and the screen has been quiet
    /// (safe point 3).
    TurnEnded { conversation: ConversationId },
    /// The transcript has the continuation prompt as a user line.
    Prompted { conversation: ConversationId },
    /// An assistant line that is not synthetic follows hopty's prompt.
    Answered { conversation: ConversationId },
    /// The number of prompts in Claude's queue changed.
    Queued {
        prompts: u32,
        /// How the first of them can be passed to a fresh conversation; `None` if it cannot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        carries: Option<CarryMethod>,
    },
    /// The live screen changed in a way that matters.
    Screen { facts: ScreenFacts },
    /// Claude's sessions file changed.
    Status {
        status: SessionsFileStatus,
        /// The conversation that it names.
        conversation: Option<ConversationId>,
        /// What Claude waits for a person to do: the name of a dialog, or Claude's own words, cut to 40
        /// characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waiting_for: Option<String>,
    },
    /// A `.restart-session` file appeared or changed.
    Signal {
        /// Its content.
        file: RestartSignal,
        /// It was written after this session began.
        fresh: bool,
        /// How many live sessions a bare directory refers to.
        sessions: u32,
        /// The directory exists, belongs to the user, and Claude trusts it.
        dir_ok: bool,
        /// What kind of directory it names, if any. Earlier journals do not have this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dir: Option<NamedDir>,
    },
    /// An orchestrator's `state.yaml` starts or stops saying that its task is completed.
    Task { completed: bool },
    /// `hopty restart`.
    Restart {
        /// The request to answer.
        id: u64,
        by: Asker,
        #[serde(flatten)]
        order: RestartOrder,
    },
    /// `hopty back`, requested by a person.
    Back {
        /// The request to answer.
        id: u64,
        /// Do not wait for a turn's end.
        now: bool,
    },
    /// `hopty handoff snooze` and `dismiss`: a person's answer to the question, or in advance of it.
    Ask { answer: AskAnswer },
    /// A person's answer to an earlier host of the followed conversation.
    AskWas {
        answer: AskAnswer,
        /// How long a snooze still lasts, in ms.
        left: u64,
    },
    /// Claude reached a usage limit, according to its transcript or its status line.
    UsageLimit {
        conversation: ConversationId,
        limit: LimitKind,
        /// How long until it resets, in ms.
        left: u64,
        /// When it resets, in seconds since 1970; this distinguishes one limit from the next.
        resets: u64,
    },
    /// `hopty send --submit`.
    Submit {
        /// The request to answer.
        id: u64,
        /// It is a slash command, whose submission cannot be proven.
        command: bool,
    },
    /// A person chose an option of Claude's dialog without being attached: on the dashboard.
    Choice {
        /// The dialog, as `waiting_for` names it.
        dialog: String,
        /// The option's number, 1 to 9.
        option: u8,
    },
    /// The transcript has the text that was typed.
    Taken {
        /// It is in Claude's queue, not submitted as a prompt.
        queued: bool,
    },
    /// `hopty stop`.
    Stop {
        /// The request to answer.
        id: u64,
        /// SIGKILL at once.
        kill: bool,
    },
    /// The host received a signal to end.
    Shutdown,
    /// The settings that run code when Claude starts were compared with what a person last accepted: at the
    /// start, or for `hopty restart`. At the start only changes are reported; then nothing was started.
    Settings {
        /// What changed; empty if nothing did.
        changed: Vec<String>,
    },
    /// Instead of a comparison: the directory of the next run is gone.
    DirectoryGone { dir: String },
    /// A handoff is on disk, active, and claimed for the next conversation.
    Saved {
        handoff: HandoffId,
        /// A fingerprint to compare with the previous handoff; `None` if no next step is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mark: Option<Mark>,
    },
    /// The handoff could not be saved.
    SaveFailed { error: String },
    /// The remaining processes of a run were sent SIGTERM; not reported if there were none.
    Reaped { run: u32, processes: u32 },
    /// A client attached.
    Attached {
        client: u32,
        #[serde(default)]
        how: AttachKind,
    },
    /// A client detached.
    Detached {
        client: u32,
        /// `asked`, `hangup`, `slow`, `ended`.
        why: String,
    },
    /// Claude lacks features that hopty could use: detected before its start, and reported once.
    Limited {
        /// What is missing and its consequence, as a sentence without its full stop.
        what: String,
    },
    /// A part of the host failed and was switched off.
    Degraded { part: String },
    /// A deadline passed.
    Tick,
}
