//! Everything that can happen to a session, as facts. An event carries no typed text, no prompt and no tool
//! result, so that the journal of events can be shown to anybody.

use serde::{Deserialize, Serialize};

pub use super::agent_status::AgentStatus;
use super::compact::Compaction;
pub use super::key_class::KeyClass;
use super::limits::LimitKind;
use super::question::AskAnswer;
use super::screen_facts::ScreenFacts;
use crate::core::claude::carried::Way;
use crate::core::compat::signals::{NamedDir, RestartFile};
use crate::core::handoff::operation::Cut;
use crate::core::handoff::progress::Mark;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::process::{ProcessEnd, Signal};

/// Where a client comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachKind {
    /// Somebody joins a session that is there.
    #[default]
    Joins,
    /// It started the session, and stops with its program as without hopty.
    Starts,
    /// It only looks, and changes nothing.
    Watches,
}

/// Claude's hook events that hopty registers for, and what else may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookEvent {
    /// A conversation begins.
    SessionStart,
    /// A prompt was submitted, by a person or not.
    UserPromptSubmit,
    /// All tools of a response have run and the next request has not been sent.
    PostToolBatch,
    /// One tool has run; where there is no PostToolBatch.
    PostToolUse,
    /// One tool is about to run; where there is no PostToolBatch.
    PreToolUse,
    /// The turn is over.
    Stop,
    /// The turn ended with an API error.
    StopFailure,
    /// A compaction is about to begin.
    PreCompact,
    /// A compaction is done.
    PostCompact,
    /// A permission is asked for.
    PermissionRequest,
    /// Claude notifies.
    Notification,
    /// A sub-agent ended.
    SubagentStop,
    /// The conversation ends.
    SessionEnd,
    /// An event of a later Claude.
    #[serde(other)]
    Other,
}

/// Where a conversation came from (`source` of SessionStart).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartSource {
    /// A new one at the start of the program.
    Startup,
    /// An earlier one goes on.
    Resume,
    /// `/clear` made a new one.
    Clear,
    /// The same one after a compaction.
    Compact,
    /// Anything else.
    #[serde(other)]
    Other,
}

/// Whose prompt was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptOf {
    /// It equals the continuation prompt.
    Ours,
    /// It equals the prompt that `hopty send --submit` types.
    Sent,
    /// Claude's own: a task notification or an automatic continuation.
    Claude,
    /// Anything else: a person.
    Person,
}

/// The facts of one hook call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// Which event.
    pub event: HookEvent,
    /// The conversation that it names, when it names one.
    pub conversation: Option<ConversationId>,
    /// It comes from a sub-agent (`agent_id` present): counted, never decided on.
    #[serde(default)]
    pub agent: bool,
    /// SessionStart: where the conversation came from.
    #[serde(default)]
    pub source: Option<StartSource>,
    /// Path of the transcript, as the payload names it.
    #[serde(default)]
    pub transcript: Option<String>,
    /// UserPromptSubmit: whose prompt.
    #[serde(default)]
    pub prompt: Option<PromptOf>,
    /// UserPromptSubmit: how a fresh conversation can be given this prompt exactly as it was submitted;
    /// `None` when it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries: Option<Way>,
    /// Stop: how many background tasks are listed.
    #[serde(default)]
    pub background: u32,
    /// PostToolBatch: how many of its calls started something in the background.
    #[serde(default)]
    pub started: u32,
    /// PostToolBatch, Stop: there are lines of the transcript to wait for before anything is decided.
    #[serde(default)]
    pub lines: bool,
    /// The permission mode, when the payload has it. Nothing is decided on it: a program below Claude can say
    /// so, too.
    #[serde(default)]
    pub mode: Option<String>,
    /// PermissionRequest: what a person is asked for, by the name that the dialog has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// PostToolBatch: what the person answered to the question of mode `ask`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<AskAnswer>,
    /// PreCompact: Claude wants to by itself, not because a person asked for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto: bool,
    /// PreCompact: what was found out before this call was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
    /// StopFailure: Claude's word for the error, cut to 40 characters.
    #[serde(default)]
    pub error: Option<String>,
}

/// Who asks over the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// A person: the same user, outside the session.
    Person,
    /// A descendant of the session's child, such as Claude's Bash tool.
    Descendant,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// The session begins. Ids are made outside and given in.
    Start {
        /// The id for the first conversation, unless the person's arguments name one.
        conversation: Option<ConversationId>,
        /// The id for a conversation after that.
        next: ConversationId,
        /// A pending handoff to begin from (`--handoff`).
        handoff: Option<HandoffId>,
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
        /// 125, 126 or 127.
        code: u8,
    },
    /// The child ended, stopped or went on.
    Child {
        /// Number of the run.
        run: u32,
        /// What happened.
        end: ProcessEnd,
    },
    /// A client's bytes.
    Keys {
        /// Which client.
        client: u32,
        /// What they were.
        class: KeyClass,
        /// How many.
        bytes: u32,
    },
    /// A client's signal was passed on to the child's group.
    Passed {
        /// Which signal.
        signal: Signal,
    },
    /// Claude called a hook; it waits for an answer by this id.
    Hook {
        /// The call.
        id: u64,
        /// Its facts.
        hook: Hook,
    },
    /// The lines that a hook was to wait for are in the transcript, or the time for them is over.
    Lines {
        /// The call.
        id: u64,
        /// They were found.
        found: bool,
        /// Whether what Claude is doing, by these lines, may be cut in two.
        #[serde(default, skip_serializing_if = "Cut::is_free")]
        cut: Cut,
    },
    /// A hook call's connection is gone, answered or not.
    HookGone {
        /// The call.
        id: u64,
    },
    /// A new context figure.
    Usage {
        /// Of which conversation.
        conversation: ConversationId,
        /// Tokens.
        tokens: u64,
        /// Window in tokens.
        window: u64,
        /// Transcript size in bytes.
        #[serde(default)]
        bytes: u64,
    },
    /// A turn began, by the transcript; told where hooks do not tell.
    TurnBegan {
        /// Of which conversation.
        conversation: ConversationId,
    },
    /// The transcript's last main-chain message ended its turn, and the screen has been quiet (safe point 3).
    TurnEnded {
        /// Of which conversation.
        conversation: ConversationId,
    },
    /// The continuation prompt stands in the transcript as a user line.
    Prompted {
        /// Of which conversation.
        conversation: ConversationId,
    },
    /// After our prompt, an assistant line that is not synthetic.
    Answered {
        /// Of which conversation.
        conversation: ConversationId,
    },
    /// How many prompts are queued in Claude.
    Queued {
        /// Prompts.
        prompts: u32,
        /// How a fresh conversation can be given the first of them; `None` when it cannot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        carries: Option<Way>,
    },
    /// The live screen changed in what matters.
    Screen {
        /// What stands there now.
        facts: ScreenFacts,
    },
    /// Claude's sessions file changed.
    Status {
        /// Its status.
        status: AgentStatus,
        /// The conversation that it names.
        conversation: Option<ConversationId>,
        /// What it waits for a person to do: a name as of a dialog, or Claude's own words, cut to 40
        /// characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waiting_for: Option<String>,
    },
    /// A `.restart-session` file appeared or changed.
    Signal {
        /// What it says.
        file: RestartFile,
        /// It was written after this session began.
        fresh: bool,
        /// How many live sessions a bare directory means.
        sessions: u32,
        /// The directory exists, is the user's, and Claude trusts it.
        dir_ok: bool,
        /// What the directory is, where one is named. Journals of hopty 0.1.0 do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dir: Option<NamedDir>,
    },
    /// An orchestrator's `state.yaml` begins or ceases to say that its task is completed.
    Task {
        /// It says so.
        completed: bool,
    },
    /// `hopty restart`.
    Restart {
        /// The request to be answered.
        id: u64,
        /// Who asks.
        by: Asker,
        /// Do not wait for a turn's end.
        now: bool,
        /// Save and continue from a handoff.
        handoff: bool,
    },
    /// `hopty back`, which a person asks for.
    Back {
        /// The request to be answered.
        id: u64,
        /// Do not wait for a turn's end.
        now: bool,
    },
    /// `hopty handoff snooze` and `dismiss`: the answer of a person who was asked, or is not to be asked.
    Ask {
        /// It.
        answer: AskAnswer,
    },
    /// What was answered to an earlier host of the conversation that is followed now.
    AskWas {
        /// It.
        answer: AskAnswer,
        /// How long a snooze still lasts, in ms.
        left: u64,
    },
    /// Claude has hit a usage limit, by its transcript or its status line.
    UsageLimit {
        /// In which conversation.
        conversation: ConversationId,
        /// Which.
        limit: LimitKind,
        /// How long until it resets, in ms.
        left: u64,
        /// When it resets, in seconds since 1970: what tells one limit from the next.
        resets: u64,
    },
    /// `hopty send --submit`.
    Submit {
        /// The request to be answered.
        id: u64,
        /// It is a slash command, which nothing will prove.
        command: bool,
    },
    /// What it typed stands in the transcript.
    Taken {
        /// In Claude's queue, and not as a prompt.
        queued: bool,
    },
    /// `hopty stop`.
    Stop {
        /// The request to be answered.
        id: u64,
        /// SIGKILL at once.
        kill: bool,
    },
    /// The host was told to end.
    Shutdown,
    /// What runs code when Claude starts, compared with what a person last accepted: at the start, or by
    /// `hopty restart`. When a run was to start, it comes only where something changed, and nothing was
    /// started.
    Settings {
        /// What changed, empty when nothing did.
        changed: Vec<String>,
    },
    /// A handoff is on disk, active, and claimed for the next conversation.
    Saved {
        /// Its id.
        handoff: HandoffId,
        /// What it is compared by with the one before; none where no next step is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mark: Option<Mark>,
    },
    /// It could not be saved.
    SaveFailed {
        /// Why, in words.
        error: String,
    },
    /// What hung on a run that ended was sent SIGTERM; not told where there was nothing.
    Reaped {
        /// Which run.
        run: u32,
        /// How many processes.
        processes: u32,
    },
    /// A client attached.
    Attached {
        /// Which.
        client: u32,
        /// Where it comes from.
        #[serde(default)]
        how: AttachKind,
    },
    /// A client left.
    Detached {
        /// Which.
        client: u32,
        /// `asked`, `hangup`, `slow`, `ended`.
        why: String,
    },
    /// Claude offers less than hopty could use: known before its start, said once.
    Limited {
        /// What is missing and what follows from it, as a sentence without its full stop.
        what: String,
    },
    /// A part of the host failed and was switched off.
    Degraded {
        /// Which part.
        part: String,
    },
    /// A deadline passed.
    Tick,
}
