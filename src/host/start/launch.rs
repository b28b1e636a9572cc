//! What the client sends to the host that it forks, and what the host reports back.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, BufRead};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::core::claude::version_features::ClaudeFeatures;
use crate::core::config::Config;
use crate::core::ids::{ConversationId, Label, SessionName};
use crate::core::inherited_state::{ErrorOutput, SignalState};
use crate::core::supervisor::ProgramKind;
use crate::core::terminal::{Ahead, Modes, Size};
use crate::ipc::message::Record;

/// What the first conversation begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BeginWith {
    /// A fresh conversation, or the one that the person's arguments name.
    #[default]
    Fresh,
    /// The pending handoff of this directory's channel (`--handoff`).
    Pending,
    /// The handoff with this id (`--handoff=ID`).
    From(String),
}

/// What the client sends to the host that it forks, besides the program's arguments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Launch {
    /// The name to take.
    pub name: SessionName,
    /// If the name is taken, add a number to it.
    pub numbered: bool,
    /// The name that the person gave the conversation (`--name`).
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub labels: BTreeSet<Label>,
    /// The kind of program.
    pub agent: ProgramKind,
    /// Its path. Sent with the arguments, not as JSON, because it need not be UTF-8.
    #[serde(skip)]
    pub program: PathBuf,
    /// The command as a person would type it, for listings: `claude`, `vim`.
    pub called: String,
    /// Its version, if known.
    pub version: Option<String>,
    /// Its features, which decide the hooks that it gets.
    pub offers: ClaudeFeatures,
    pub config: Config,
    pub size: Size,
    /// The modes of the person's terminal before the client made it raw.
    pub termios: Option<Modes>,
    /// Keys typed before the program started.
    #[serde(default)]
    pub ahead: Ahead,
    /// Start from a pending handoff.
    pub handoff: BeginWith,
    pub detached: bool,
    /// The session resumes the conversation of one that died (`hopty restore`).
    #[serde(default)]
    pub restored: bool,
    /// The conversation to which `hopty back` returned in that session.
    #[serde(default)]
    pub before: Option<ConversationId>,
    /// The signal dispositions that hopty inherited.
    pub signals: SignalState,
    /// Where the program's errors go.
    pub errors: ErrorOutput,
    /// Record the session from the start.
    #[serde(default)]
    pub record: Option<Record>,
    /// Why the person's state directory cannot be used, if the client knows that.
    #[serde(default)]
    pub unplaced: Option<String>,
    /// Messages that were printed before the program drew over them: kept among the notices.
    #[serde(default)]
    pub messages: Vec<String>,
}

impl Launch {
    /// The start of a session with this name, attached to a terminal of no size.
    pub fn new(name: SessionName, agent: ProgramKind, config: Config) -> Self {
        Launch {
            name,
            numbered: false,
            title: None,
            labels: BTreeSet::new(),
            agent,
            program: PathBuf::new(),
            called: "claude".to_owned(),
            version: None,
            offers: ClaudeFeatures::default(),
            config,
            size: Size::cells(0, 0),
            termios: None,
            ahead: Ahead::default(),
            handoff: BeginWith::Fresh,
            detached: false,
            restored: false,
            before: None,
            signals: SignalState::default(),
            errors: ErrorOutput::Terminal,
            record: None,
            unplaced: None,
            messages: Vec::new(),
        }
    }
}

#[cfg(test)]
impl Launch {
    /// A detached session with this name and all hooks.
    pub fn of_test(name: &str, agent: ProgramKind, config: Config) -> Self {
        use crate::core::claude::version_features::HookSet;
        Launch {
            program: "/bin/claude".into(),
            offers: ClaudeFeatures { hooks: HookSet::Full, ..ClaudeFeatures::default() },
            size: Size::cells(120, 40),
            detached: true,
            ..Launch::new(name.parse().unwrap(), agent, config)
        }
    }
}

/// The host's report that the program runs, or why it does not.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartReport {
    Up {
        /// The name that the session took.
        name: SessionName,
        /// Messages for the person, shown before the program draws, one per line.
        #[serde(default)]
        told: Vec<String>,
        /// The state directory, if the session has one of its own.
        #[serde(default)]
        state: Option<String>,
    },
    Failed {
        code: u8,
        message: String,
        /// How to fix it.
        hint: String,
    },
}

impl StartReport {
    /// An internal failure of hopty.
    #[must_use]
    pub fn failed(code: u8, message: impl Into<String>, hint: impl Into<String>) -> Self {
        StartReport::Failed { code, message: message.into(), hint: hint.into() }
    }
}

/// The first line of a launch on the socket, and how many words follow it.
#[derive(Serialize, Deserialize)]
struct Orders<L> {
    launch: L,
    words: usize,
}

/// The launch that a host reads from its socket: the launch as a line of JSON, then the program and its
/// arguments, which may hold any bytes but NUL, each terminated by NUL.
pub fn orders(launch: &Launch, args: &[OsString]) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(&Orders { launch, words: 1 + args.len() })?;
    bytes.push(b'\n');
    for word in std::iter::once(launch.program.as_os_str()).chain(args.iter().map(OsString::as_os_str)) {
        bytes.extend_from_slice(word.as_bytes());
        bytes.push(0);
    }
    Ok(bytes)
}

/// Reads what [`orders`] wrote; `None` if it is cut short.
pub(super) fn read_orders(mut from: impl BufRead) -> Option<(Launch, Vec<OsString>)> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).ok()?;
    let Orders::<Launch> { mut launch, words } = serde_json::from_slice(&line).ok()?;
    let mut word = || {
        let mut bytes = Vec::new();
        from.read_until(0, &mut bytes).ok()?;
        (bytes.pop() == Some(0)).then(|| OsString::from_vec(bytes))
    };
    launch.program = word()?.into();
    let args = (1..words).map(|_| word()).collect::<Option<Vec<_>>>()?;
    Some((launch, args))
}
