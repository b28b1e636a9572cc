//! What the threads of one agent share: its settings, its files, its queue, and the way to the screen.

use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process;
use std::sync::Mutex;
use std::sync::mpsc::Sender;
use std::time::Duration;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::agent_files::World;
use super::children::Children;
use super::hook_outcome::{self, HookPlace, HooksOutcome};
use super::hook_settings::Hooks;
use super::lock;
use super::model_client::{Cancel, ModelClient};
use super::options::{AgentPermissionMode, Options, VERSION};
use super::presence::{AgentPresence, Presence};
use super::transcript::{Chain, TranscriptOutput};

/// Longest text that one hook may give to the model, in UTF-16 units (measured: 10,000 whole, 10,001 not).
const MAX_CONTEXT: usize = 10_000;

/// A prompt on its way to the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AgentPrompt {
    /// What hooks, transcript and model get: long pastes are wrapped.
    pub(super) text: String,
    /// What the screen shows.
    pub(super) shown: String,
    /// What UserPromptSubmit hooks added, when they have run already (a queued prompt).
    pub(super) contexts: Vec<String>,
}

/// Something to stand in the conversation on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Prompt(String),
    /// Words of the model.
    Text(String),
    /// A tool call: `Bash(ls)`.
    Tool(String),
    /// What came of it, or a remark that belongs to what stands above.
    Result(String),
    /// A line of the program's own.
    Notice(String),
}

/// How a person or a hook answered a permission question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PermissionAnswer {
    /// This once.
    Yes,
    /// From now on without asking.
    Always,
    No,
}

#[derive(Clone, Debug)]
pub(super) struct PermissionQuestion {
    pub(super) tool: String,
    pub(super) input: Value,
    /// Where the answer goes.
    pub(super) reply: Sender<PermissionAnswer>,
}

/// What reaches the loop that owns the terminal.
pub(super) enum AgentEvent {
    Signal(i32),
    Show(Shown),
    /// Ask this; at most one question is open.
    Ask(PermissionQuestion),
    /// The open question was answered elsewhere (by a hook).
    Answered,
    /// The queue of prompts changed.
    Queue,
    /// Put this back into the prompt box: a hook blocked it.
    PutBack(String),
    /// A new conversation: the screen is cleared.
    Cleared,
    /// The engine has done what it was told.
    Idle,
}

/// The way to the loop: an event, and a byte that ends its `poll`.
pub(super) struct Post {
    sender: Mutex<Sender<AgentEvent>>,
    wake: Mutex<UnixStream>,
}

impl Post {
    /// `wake` is written to after each event.
    pub(super) fn new(sender: Sender<AgentEvent>, wake: UnixStream) -> Post {
        Post { sender: Mutex::new(sender), wake: Mutex::new(wake) }
    }

    /// Sends an event. When nobody listens any more it is lost, which is right.
    pub(super) fn send(&self, event: AgentEvent) {
        let _ = lock(&self.sender).send(event);
        // The stream does not block: when it is full the loop is awake anyway.
        let _ = lock(&self.wake).write(&[0]);
    }
}

/// What changes while the agent runs.
pub(super) struct Live {
    /// Id of the conversation.
    pub(super) session: String,
    /// The newest prompt.
    pub(super) prompt_id: Option<String>,
    /// The permission mode; `Always` switches asking off by `granted`.
    pub(super) mode: AgentPermissionMode,
    /// A person said yes to everything of this run.
    pub(super) granted: bool,
    /// Whether Shift+Tab comes by the widest mode.
    pub(super) may_bypass: bool,
    /// Where commands run and hooks say that it works: a `cd` in a command stays, as in the real program.
    pub(super) place: PathBuf,
}

/// Everything that the threads share.
pub(super) struct AgentShared {
    /// The command line.
    pub(super) options: Options,
    /// Where files are.
    pub(super) world: World,
    /// Which hooks there are.
    pub(super) hooks: Hooks,
    /// How to reach the model.
    pub(super) client: ModelClient,
    /// Processes that are alive.
    pub(super) children: Children,
    /// Ends what the turn is doing.
    pub(super) cancel: Cancel,
    /// The transcript file.
    pub(super) transcript: TranscriptOutput,
    /// The sessions file.
    pub(super) presence: Mutex<Presence>,
    /// Prompts that wait for the running turn.
    pub(super) queue: Mutex<VecDeque<AgentPrompt>>,
    pub(super) live: Mutex<Live>,
    /// Makes transcript lines.
    pub(super) chain: Mutex<Chain>,
    /// The way to the loop.
    pub(super) post: Post,
}

/// Whether a payload belongs to a turn, and so names the permission mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PayloadScope {
    Turn,
    /// It does not (start, end, compaction).
    Session,
}

impl AgentShared {
    /// Runs the hooks of an event. `subject` is what matchers look at. Contexts come back cut to the limit.
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
            self.show(Shown::Result(format!("{name} says: {text}")));
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

    /// What children see besides the inherited environment. `who` is `harness` for hooks, `agent` for tools.
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

    /// A text over the limit is kept in a file, and the model gets its beginning and the file's name
    /// (measured).
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

    /// Says what the agent is doing.
    pub(super) fn status(&self, status: AgentPresence) {
        lock(&self.presence).status(status);
    }

    pub(super) fn show(&self, shown: Shown) {
        self.post.send(AgentEvent::Show(shown));
    }

    /// A person presses Ctrl+C or Esc, or the agent ends: whatever runs is ended.
    pub(super) fn interrupt(&self) {
        self.cancel.trip();
        self.children.kill_all();
    }
}

fn session_end_limit() -> Duration {
    let ms = std::env::var("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS").ok().and_then(|v| v.parse().ok());
    Duration::from_millis(ms.unwrap_or(3000))
}
