//! What the threads of one agent share: settings, files, the queue, and the channel to the loop.

use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::agent_files::AgentDirs;
use super::children::Children;
use super::hook_outcome::{self, HookPlace, HooksOutcome};
use super::hook_settings::Hooks;
use super::model_client::{Cancel, ModelClient};
use super::options::{AgentPermissionMode, Options, VERSION};
use super::presence::{AgentPresence, Presence};
use super::transcript::{Chain, TranscriptOutput};

/// The longest text that one hook may pass to the model, in UTF-16 units (measured: 10,000 passes, 10,001
/// does not).
const MAX_CONTEXT: usize = 10_000;

/// A prompt on its way to the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AgentPrompt {
    /// The text for hooks, transcript and model: long pastes are wrapped.
    pub(super) text: String,
    /// The text on the screen.
    pub(super) shown: String,
    /// Contexts of UserPromptSubmit hooks that have already run (for a queued prompt).
    pub(super) contexts: Vec<String>,
}

/// An item of the conversation on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConversationItem {
    Prompt(String),
    /// The model's text.
    Text(String),
    /// A tool call: `Bash(ls)`.
    Tool(String),
    /// The result of a tool, or a comment on the item above.
    Result(String),
    /// A message of the program.
    Notice(String),
}

/// The answer of a person or a hook to a permission question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PermissionAnswer {
    /// This once.
    Yes,
    /// This and everything else in this run.
    Always,
    No,
}

#[derive(Clone, Debug)]
pub(super) struct PermissionQuestion {
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) reply: Sender<PermissionAnswer>,
}

/// An event for the loop that owns the terminal.
pub(super) enum AgentEvent {
    Signal(i32),
    Show(ConversationItem),
    /// Ask this question; at most one is open.
    Ask(PermissionQuestion),
    /// A hook answered the open question.
    Answered,
    /// The queue of prompts has changed.
    Queue,
    /// A hook blocked this prompt: put it back into the box.
    PutBack(String),
    /// A new conversation: clear the screen.
    Cleared,
    /// The engine has carried out its command.
    Idle,
}

/// Sends events to the loop, and wakes its `poll` with a byte.
pub(super) struct EventSender {
    sender: Mutex<Sender<AgentEvent>>,
    wake: Mutex<UnixStream>,
}

impl EventSender {
    pub(super) fn new(sender: Sender<AgentEvent>, wake: UnixStream) -> EventSender {
        EventSender { sender: Mutex::new(sender), wake: Mutex::new(wake) }
    }

    /// Sends an event; it is lost if nobody receives events any more.
    pub(super) fn send(&self, event: AgentEvent) {
        let _ = lock(&self.sender).send(event);
        // Non-blocking: if the stream is full, the loop is awake anyway.
        let _ = lock(&self.wake).write(&[0]);
    }
}

/// State that changes while the agent runs.
pub(super) struct AgentState {
    /// The id of the conversation.
    pub(super) session: String,
    /// The id of the newest prompt.
    pub(super) prompt_id: Option<String>,
    /// The permission mode. `Always` sets `granted` instead.
    pub(super) mode: AgentPermissionMode,
    /// Whether a person has allowed everything in this run.
    pub(super) granted: bool,
    /// Whether Shift+Tab reaches the mode that asks nothing.
    pub(super) may_bypass: bool,
    /// The directory in which commands run and that hooks get: a `cd` in a command is kept, as in the real
    /// program.
    pub(super) place: PathBuf,
}

pub(super) struct AgentShared {
    pub(super) options: Options,
    pub(super) world: AgentDirs,
    pub(super) hooks: Hooks,
    pub(super) client: ModelClient,
    /// The running processes.
    pub(super) children: Children,
    /// Ends the current turn.
    pub(super) cancel: Cancel,
    pub(super) transcript: TranscriptOutput,
    pub(super) presence: Mutex<Presence>,
    /// Prompts that wait for the running turn to end.
    pub(super) queue: Mutex<VecDeque<AgentPrompt>>,
    pub(super) live: Mutex<AgentState>,
    pub(super) chain: Mutex<Chain>,
    pub(super) post: EventSender,
}

/// Whether a payload belongs to a turn, and so includes the permission mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PayloadScope {
    Turn,
    /// It does not (start, end, compaction).
    Session,
}

impl AgentShared {
    /// Runs the hooks of an event. `subject` is compared with the matchers. Contexts are cut to the limit.
    pub(super) fn fire(&self, event: &str, scope: PayloadScope, subject: &str, extra: Value) -> HooksOutcome {
        let hooks = self.hooks.matching(event, subject);
        if hooks.is_empty() {
            return HooksOutcome::default();
        }
        let payload = self.payload(event, scope, extra);
        let env = self.environment("harness", event);
        let limit = match event {
            "UserPromptSubmit" => Duration::from_secs(30),
            "SessionEnd" => session_end_limit(),
            _ => Duration::from_secs(600),
        };
        let place = HookPlace { children: &self.children, cwd: &self.world.cwd, env: &env, limit };
        let mut outcome = hook_outcome::run(&hooks, &payload, &place);
        outcome.contexts = outcome.contexts.into_iter().map(|text| self.fitted(event, text)).collect();
        let name = if subject.is_empty() { event.to_owned() } else { format!("{event}:{subject}") };
        for text in &outcome.messages {
            self.show(ConversationItem::Result(format!("{name} says: {text}")));
        }
        outcome
    }

    fn payload(&self, event: &str, scope: PayloadScope, extra: Value) -> Value {
        let live = lock(&self.live);
        let mut payload = Map::new();
        payload.insert("session_id".into(), json!(live.session));
        payload.insert("transcript_path".into(), json!(self.transcript.path().to_string_lossy()));
        payload.insert("cwd".into(), json!(live.place.to_string_lossy()));
        if let Some(id) = live.prompt_id.as_ref().filter(|_| extra["source"] != "clear") {
            payload.insert("prompt_id".into(), json!(id));
        }
        if scope == PayloadScope::Turn {
            payload.insert("permission_mode".into(), json!(live.mode.name()));
        }
        payload.insert("hook_event_name".into(), json!(event));
        if let Value::Object(extra) = extra {
            payload.extend(extra);
        }
        Value::Object(payload)
    }

    /// The variables that children get besides the inherited environment. `who` is `harness` for hooks,
    /// `agent` for tools.
    pub(super) fn environment(&self, who: &str, event: &str) -> Vec<(String, String)> {
        let session = lock(&self.live).session.clone();
        let pid = process::id().to_string();
        let temporary = std::env::temp_dir();
        let mut env = vec![
            ("CLAUDECODE", "1".to_owned()),
            ("CLAUDE_CODE_ENTRYPOINT", "cli".to_owned()),
            ("CLAUDE_CODE_CHILD_SESSION", "1".to_owned()),
            ("CLAUDE_CODE_SESSION_ATTENDED", "1".to_owned()),
            (
                "CLAUDE_CODE_MESSAGING_SOCKET",
                temporary.join(format!("cc-socks/{pid}.sock")).to_string_lossy().into_owned(),
            ),
            ("CLAUDE_PID", pid),
            (
                "CLAUDE_CODE_CHILD_NOTES_DIR",
                temporary.join("claude-notes").join(&session).to_string_lossy().into_owned(),
            ),
            ("AI_AGENT", format!("claude-code_{}_{who}", VERSION.replace('.', "-"))),
            ("CLAUDE_CODE_SESSION_ID", session.clone()),
        ];
        if who == "agent" {
            env.push(("GIT_EDITOR", "true".to_owned()));
            let program =
                std::env::current_exe().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
            env.push(("CLAUDE_CODE_EXECPATH", program));
        } else {
            env.push(("CLAUDE_PROJECT_DIR", self.world.cwd.to_string_lossy().into_owned()));
        }
        if event == "SessionStart" {
            let file = self.world.config.join("session-env").join(session).join("sessionstart-hook-0.sh");
            env.push(("CLAUDE_ENV_FILE", file.to_string_lossy().into_owned()));
        }
        env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Saves a text over the limit to a file; the model gets its start and the file's name (measured).
    fn fitted(&self, event: &str, text: String) -> String {
        if text.encode_utf16().count() <= MAX_CONTEXT {
            return text;
        }
        let session = lock(&self.live).session.clone();
        let dir = self.world.project_dir().join(session).join("tool-results");
        let file = dir.join(format!("hook-{}-{event}-additionalContext.txt", Uuid::new_v4()));
        let _ = std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(&file, &text));
        let preview: String = text.chars().take(2000).collect();
        let size = text.len() as f64 / 1024.0;
        format!(
            "<persisted-output>\nOutput too large ({size:.1}KB). Full output saved to: {}\n\nPreview (first \
             2KB):\n{preview}\n...\n</persisted-output>",
            file.display()
        )
    }

    /// Adds a line of the conversation; returns its id.
    pub(super) fn link(&self, kind: &str, fields: Value) -> String {
        let (line, id) = lock(&self.chain).link(kind, fields);
        self.transcript.line(&line);
        id
    }

    /// Adds a line about the conversation.
    pub(super) fn note(&self, kind: &str, fields: Value) {
        let line = lock(&self.chain).note(kind, fields);
        self.transcript.line(&line);
    }

    /// Adds an attachment line.
    pub(super) fn attach(&self, attachment: Value) {
        self.link("attachment", json!({"attachment": attachment}));
    }

    /// Adds the line for what hooks told the model.
    pub(super) fn attach_contexts(&self, event: &str, contexts: &[String]) {
        if !contexts.is_empty() {
            self.attach(json!({"type": "hook_additional_context", "content": contexts, "hookName": event,
                "toolUseID": format!("hook-{}", Uuid::new_v4()), "hookEvent": event}));
        }
    }

    /// Publishes the agent's status.
    pub(super) fn status(&self, status: AgentPresence) {
        lock(&self.presence).status(status);
    }

    pub(super) fn show(&self, shown: ConversationItem) {
        self.post.send(AgentEvent::Show(shown));
    }

    /// Ends whatever runs, because a person pressed Ctrl+C or Esc, or the agent ends.
    pub(super) fn interrupt(&self) {
        self.cancel.trip();
        self.children.kill_all();
    }
}

fn session_end_limit() -> Duration {
    let ms = std::env::var("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS").ok().and_then(|v| v.parse().ok());
    Duration::from_millis(ms.unwrap_or(3000))
}

/// Locks, even if a thread panicked while it held the lock: the content is still usable.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
