//! The start of a host: forked by the client before that has read anything, it detaches from the terminal,
//! receives its launch, takes its name and its socket, starts the program and reports the result.

pub mod orphan;
pub(super) mod session_dir;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nix::libc;
use serde::{Deserialize, Serialize};

use super::{Host, StartedHost};
use crate::core::claude::args::OwnArgs;
use crate::core::claude::version_features::ClaudeFeatures;
use crate::core::config::Config;
use crate::core::ids::{ConversationId, Label, SessionName};
use crate::core::inherited_state::{ErrorOutput, SignalState};
use crate::core::supervisor::Agent;
use crate::core::terminal::{Ahead, Modes, Size};
use crate::fs::paths::Paths;
use crate::fs::session::HOST_NAMES;
use crate::ipc::message::Record;
use crate::pty::spawn::{ChildProgram, ErrorStream};
use crate::sys::{fd, inherited, process, signals};

/// How long a session that starts detached waits for its file to be written.
const FIRST_WRITES: Duration = Duration::from_millis(500);

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
    pub agent: Agent,
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

#[cfg(test)]
impl Launch {
    /// A detached session with this name and all hooks.
    pub fn of_test(name: &str, agent: Agent, config: Config) -> Self {
        use crate::core::claude::version_features::HookSet;
        Launch {
            name: name.parse().unwrap(),
            numbered: false,
            agent,
            program: "/bin/claude".into(),
            called: "claude".to_owned(),
            version: None,
            title: None,
            labels: BTreeSet::new(),
            offers: ClaudeFeatures { hooks: HookSet::Full, ..ClaudeFeatures::default() },
            config,
            size: Size::cells(120, 40),
            termios: None,
            ahead: Ahead::default(),
            handoff: BeginWith::Fresh,
            detached: true,
            restored: false,
            signals: SignalState::default(),
            errors: ErrorOutput::Terminal,
            record: None,
            unplaced: None,
            messages: Vec::new(),
        }
    }
}

/// Inherited descriptors that every run gets and the host itself does not use. Kept only for a session with a
/// terminal: a process that starts one without a terminal may wait for the end of a pipe that would stay
/// open.
#[derive(Debug)]
pub(in crate::host) struct InheritedDescriptors {
    pub descriptors: Vec<RawFd>,
    pub errors: ErrorStream,
}

impl InheritedDescriptors {
    fn new(launch: &Launch, descriptors: Vec<RawFd>) -> Self {
        if launch.detached {
            fd::close_all(&descriptors);
            return InheritedDescriptors { descriptors: Vec::new(), errors: ErrorStream::Terminal };
        }
        fd::close_on_exec(&descriptors);
        let errors = match launch.errors {
            ErrorOutput::Terminal => ErrorStream::Terminal,
            ErrorOutput::Closed => ErrorStream::Closed,
            ErrorOutput::Redirected => std::io::stderr()
                .as_fd()
                .try_clone_to_owned()
                .map_or(ErrorStream::Terminal, |fd| ErrorStream::To(Arc::new(fd))),
        };
        InheritedDescriptors { descriptors, errors }
    }

    /// The program of a run.
    pub fn program(
        &self,
        launch: &Launch,
        args: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
        dir: PathBuf,
    ) -> ChildProgram {
        let path = launch.program.clone();
        let name = match launch.agent {
            Agent::Plain => launch.called.clone().into(),
            Agent::Claude => path.clone().into(),
        };
        let (descriptors, errors) = (self.descriptors.clone(), self.errors.clone());
        ChildProgram {
            path,
            name,
            args,
            env,
            dir,
            signals: launch.signals,
            descriptors,
            errors,
            umask: inherited::umask(),
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
fn read_orders(mut from: impl BufRead) -> Option<(Launch, Vec<OsString>)> {
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

/// The host process, from the fork to its exit code. `socket` connects it to the process that forked it.
pub fn main(socket: UnixStream) -> i32 {
    match up(socket) {
        Ok(host) => host.run(),
        Err(code) => code,
    }
}

/// Starts the session; returns the exit code if it fails. Not inlined: its frame would stay on the stack as
/// long as the session lives.
#[inline(never)]
fn up(socket: UnixStream) -> Result<Box<Host>, i32> {
    crate::sys::fault_injection::let_disks_hang();
    process::call_oneself(HOST_NAMES.0);
    // The host will hold the terminal that Claude reads from, and people's terminals.
    process::close_to_others();
    let descriptors = inherited::descriptors();
    // It fails only for a group leader, which a forked process is not.
    let _ = nix::unistd::setsid();
    signals::unblock_all();
    // Catch SIGUSR1 early: a client that finds the name taken but no socket sends it.
    for signal in [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGTTOU,
        libc::SIGTTIN,
        libc::SIGTSTP,
        libc::SIGPIPE,
        libc::SIGXFSZ,
        libc::SIGQUIT,
        libc::SIGUSR1,
    ] {
        signals::ignore(signal);
    }
    process::become_subreaper();
    let Some((launch, args)) = read_orders(BufReader::new(&socket)) else {
        // The client decided against a session, or reports the failure itself.
        return Err(0);
    };
    let inherited = InheritedDescriptors::new(&launch, descriptors);
    if let Ok(null) = fd::dev_null() {
        let _ = nix::unistd::dup2_stdin(&null);
        let _ = nix::unistd::dup2_stdout(&null);
        let _ = nix::unistd::dup2_stderr(&null);
    }
    if launch.agent == Agent::Plain {
        process::call_oneself(HOST_NAMES.1);
    }
    let detached = launch.detached;
    match begin(launch, args, inherited) {
        Ok(StartedHost { mut host, notices }) => {
            if detached {
                // The caller may look up the session by its directory at once.
                host.jobs.journal.flush(FIRST_WRITES);
            }
            let state = host
                .session
                .private
                .as_ref()
                .map(|_| host.session.paths.state.to_string_lossy().into_owned());
            // Claude draws over the messages at once, so they are kept among the notices.
            let messages = std::mem::take(&mut host.session.launch.messages);
            host.terminals
                .keep_notices(host.clock.now(), messages.iter().chain(&notices).map(String::as_str));
            send_report(
                &socket,
                &StartReport::Up { name: host.session.name().clone(), told: notices, state },
            );
            if !detached && let Some(id) = host.control.admit_launcher(socket, host.clock.now()) {
                host.terminals.expect(id);
            }
            Ok(host)
        }
        Err(failed) => {
            send_report(&socket, &failed);
            Err(1)
        }
    }
}

fn send_report(mut socket: &UnixStream, ready: &StartReport) {
    let mut line = serde_json::to_string(ready).unwrap_or_default();
    line.push('\n');
    let _ = socket.write_all(line.as_bytes());
}

#[inline(never)]
fn begin(
    launch: Launch,
    args: Vec<OsString>,
    inherited: InheritedDescriptors,
) -> Result<StartedHost, StartReport> {
    let paths = Paths::from_env(|name| std::env::var_os(name))
        .unwrap_or_else(|| Paths::nowhere(|name| std::env::var_os(name)));
    let place = session_dir::find(&paths, &launch)?;
    super::jobs::log::to(&place.claim.dir);
    Host::begin(launch, args, inherited, place)
}

/// How to fix a start that failed with this exit code.
pub(in crate::host) fn start_hint(code: u8) -> &'static str {
    match code {
        127 => "check the name and PATH",
        126 => "check that the file is executable (chmod +x) and that its interpreter exists",
        _ => "",
    }
}

/// The first conversation; `None` if Claude picks it, or the program is not Claude.
pub(in crate::host) fn first_conversation(agent: Agent, own: &OwnArgs) -> Option<ConversationId> {
    let named = own.session_id.as_deref().and_then(|id| id.parse().ok());
    let resumed = own.resume.clone().flatten().and_then(|id| id.parse().ok());
    match (named, resumed) {
        _ if agent != Agent::Claude => None,
        (Some(id), _) => Some(id),
        (None, Some(id)) if !own.forks => Some(id),
        _ if own.picks_conversation => None,
        _ => Some(fresh_id()),
    }
}

/// The handoff with which the first conversation begins: `Some(None)` is the pending one.
///
/// Fails when the person's arguments continue a conversation, which cannot begin with a handoff.
pub(in crate::host) fn first_handoff(
    agent: Agent,
    begin: &BeginWith,
    own: &OwnArgs,
) -> Result<Option<Option<String>>, StartReport> {
    let id = match begin {
        BeginWith::From(id) if agent == Agent::Claude => Some(id.clone()),
        BeginWith::Pending if agent == Agent::Claude => None,
        _ => return Ok(None),
    };
    if own.resume.is_some() || own.continues || own.picks_conversation && own.session_id.is_none() {
        let hint =
            "remove options that continue an old one, such as --resume or --continue; or remove --handoff";
        return Err(StartReport::failed(2, "--handoff starts a new conversation", hint));
    }
    Ok(Some(id))
}

pub(in crate::host) fn fresh_id() -> ConversationId {
    let text = uuid::Uuid::new_v4().to_string();
    text.parse().unwrap_or_else(|_| unreachable!("a conversation id is a version 4 UUID"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::claude::args::OwnArgs;

    fn own(words: &[&str]) -> OwnArgs {
        OwnArgs::of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    const ID: &str = "0196f8a2-7c1e-4d3a-9b60-5f2d8e4c1a7b";

    #[test]
    fn the_first_conversation_is_the_one_that_the_arguments_name() {
        let first = |words: &[&str]| first_conversation(Agent::Claude, &own(words));
        assert_eq!(first(&["--session-id", ID]), ID.parse().ok());
        assert_eq!(first(&["--resume", ID]), ID.parse().ok());
        assert_eq!(first(&["--resume", ID, "--fork-session"]), None);
        assert_eq!(first(&["--continue"]), None);
        assert!(first(&["a prompt"]).is_some());
        assert_eq!(first_conversation(Agent::Plain, &own(&["--session-id", ID])), None);
    }

    #[test]
    fn a_handoff_begins_a_conversation_and_continues_none() {
        let first = |begin: &BeginWith, words: &[&str]| first_handoff(Agent::Claude, begin, &own(words)).ok();
        assert_eq!(first(&BeginWith::Fresh, &["--continue"]), Some(None));
        assert_eq!(first(&BeginWith::Pending, &[]), Some(Some(None)));
        assert_eq!(first(&BeginWith::From("h1".to_owned()), &["go"]), Some(Some(Some("h1".to_owned()))));
        assert_eq!(first(&BeginWith::Pending, &["--session-id", ID]), Some(Some(None)));
        for words in [&["--continue"][..], &["--resume"], &["--resume", ID]] {
            assert_eq!(first(&BeginWith::Pending, words), None, "{words:?}");
        }
    }
}
