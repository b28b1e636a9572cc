//! Choosing a session, and requests to its host.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::de::DeserializeOwned;
use strsim::osa_distance;

use super::error::{VerbError, visible};
use super::exit_codes::{FAILED, INTERNAL, NOT_FOUND, USAGE};
use super::poll_until::becomes_true;
use crate::core::ids::SessionName;
use crate::core::status_types::SessionStatus;
use crate::core::text::nearest_word::slips;
use crate::fs::paths::Paths;
use crate::fs::session::{self, ListedSession};
use crate::ipc::address;
use crate::ipc::control_client::{ControlClient, NoAnswer};
use crate::ipc::message::{Code, PROTOCOL, Request, RequestError};

/// How long a host may take to accept a connection.
pub(super) const CONNECT: Duration = Duration::from_secs(5);
/// How long a host may take to answer a simple request.
pub(super) const ANSWER: Duration = Duration::from_secs(5);
/// How long a host may take to recreate its socket.
const REBIND: Duration = Duration::from_millis(500);
/// How long a host may take to recreate its deleted directory.
const RECREATED: Duration = Duration::from_secs(2);
/// How often hopty checks for it.
const RECREATED_POLL: Duration = Duration::from_millis(50);

/// How to find the one session that a verb is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Any,
    /// Not just the only session there is: for verbs that cannot be undone.
    Careful,
}

pub(super) fn paths() -> Result<Paths, VerbError> {
    Paths::from_env(|name| std::env::var_os(name)).ok_or_else(|| {
        VerbError::new(INTERNAL, "not set to an absolute path")
            .about("HOME")
            .hint("set HOME: hopty keeps its sessions below it")
    })
}

/// The directory that a session runs in, from its file.
pub(super) fn dir_of(paths: &Paths, name: &SessionName) -> Option<PathBuf> {
    session::working_dir(&paths.session(name))
}

/// The live session that a verb is about.
pub(super) fn live_session(paths: &Paths, given: Option<&str>, rule: Rule) -> Result<SessionName, VerbError> {
    if let Some(text) = given {
        let name = parse_session_name(text)?;
        not_renamed(paths, &name)?;
        let is_there = has_dir(paths, &name);
        return if session::is_alive(&paths.session(&name)) {
            Ok(name)
        } else if is_there {
            let last = super::status::ended(paths, &name);
            let on = last.as_ref().and_then(|last| super::restore::restore_hint(&name, last));
            let on = on.map(|way| format!("; {way}")).unwrap_or_default();
            let left = paths.last_screen(&name).exists();
            let left =
                if left { format!(", `hopty screen {name}` shows its last screen") } else { String::new() };
            Err(VerbError::new(FAILED, "the session has ended")
                .called(Code::Ended)
                .about(&name)
                .hint(format!("`hopty why {name}` says how{left}{on}")))
        } else {
            Err(unknown_session(paths, &name))
        };
    }
    check_sessions_dir(paths)?;
    let all = session::list(paths);
    let alive: Vec<SessionName> =
        all.iter().filter(|session| session.is_alive).map(|session| session.name.clone()).collect();
    if let Some(name) = outer_session(paths)
        && alive.contains(&name)
    {
        return Ok(name);
    }
    let here = here();
    let nearest = nearest(paths, &alive);
    match (nearest.as_slice(), alive.as_slice(), rule) {
        ([one], _, _) => Ok(one.clone()),
        ([], [one], Rule::Any) => Ok(one.clone()),
        ([], [], _) => {
            let last = last_of(paths, all.iter().map(|session| &session.name), &here);
            let last = last.map_or_else(String::new, |name| {
                format!("; the last one here was {name}: `hopty why {name}`")
            });
            Err(VerbError::new(NOT_FOUND, "no session is running")
                .hint(no_session_hint(!all.is_empty()) + &last))
        }
        ([], several, Rule::Careful) => {
            let names: Vec<&str> = several.iter().map(SessionName::as_str).collect();
            Err(VerbError::new(NOT_FOUND, "no session is running in this directory")
                .hint(format!("give a name to use one from elsewhere: {}", names.join(", "))))
        }
        _ => {
            let several = if nearest.is_empty() { alive } else { nearest };
            let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
            Err(VerbError::new(NOT_FOUND, "which session?").about(names.join(", ")).hint("give its name"))
        }
    }
}

/// This process's directory as text, as in a session's file.
fn here() -> PathBuf {
    let here = std::env::current_dir().and_then(|dir| dir.canonicalize()).unwrap_or_default();
    PathBuf::from(here.to_string_lossy().into_owned())
}

/// The sessions that run in this directory, or in the nearest one above it that has any.
pub(super) fn nearest(paths: &Paths, sessions: &[SessionName]) -> Vec<SessionName> {
    let here = here();
    let above: Vec<(usize, &SessionName)> = sessions
        .iter()
        .filter_map(|name| {
            let dir = dir_of(paths, name)?;
            here.starts_with(&dir).then(|| (dir.components().count(), name))
        })
        .collect();
    let longest = above.iter().map(|(length, _)| *length).max();
    above.into_iter().filter(|(length, _)| Some(*length) == longest).map(|(_, name)| name.clone()).collect()
}

/// The session of this directory whose file is the newest.
pub(super) fn last_here(paths: &Paths) -> Option<SessionName> {
    let here = std::env::current_dir().and_then(|dir| dir.canonicalize()).ok()?;
    let all: Vec<SessionName> = session::list(paths).into_iter().map(|session| session.name).collect();
    last_of(paths, all.iter(), Path::new(&*here.to_string_lossy())).cloned()
}

/// The session of a directory whose file is the newest.
fn last_of<'a>(
    paths: &Paths,
    names: impl Iterator<Item = &'a SessionName>,
    dir: &Path,
) -> Option<&'a SessionName> {
    let written = |name: &SessionName| {
        std::fs::metadata(paths.session(name).join(session::STATUS)).and_then(|meta| meta.modified()).ok()
    };
    names.filter(|name| dir_of(paths, name).as_deref() == Some(dir)).max_by_key(|name| written(name))
}

/// What to do when no session is running; `ended`: one has ended, which `why` and other verbs can still
/// explain.
pub(super) fn no_session_hint(ended: bool) -> String {
    let more = if ended { "; `hopty ls --all` includes ended sessions" } else { "" };
    format!("run `hopty` to start one here{more}")
}

/// The session of this name.
///
/// # Errors
/// Exit code 2 if it is not a name. The hint has the session that was started with this text as its name.
pub(super) fn parse_session_name(text: &str) -> Result<SessionName, VerbError> {
    text.parse().map_err(|_| {
        let is_there = |name: &SessionName| paths().is_ok_and(|paths| paths.session(name).is_dir());
        match SessionName::for_title(text).filter(is_there) {
            Some(name) => {
                invalid_name(text).hint(format!("did you mean {name}? `hopty ls --all` lists sessions"))
            }
            None => invalid_name(text),
        }
    })
}

pub(super) fn invalid_name(text: &str) -> VerbError {
    let shown: String = text.chars().take(60).collect();
    VerbError::new(USAGE, "not a session name").about(shown).hint(
        "a name has 1 to 48 lower-case letters, digits, `.`, `_` and `-`, and begins with a letter or digit",
    )
}

/// Checks that the sessions' directory can be read.
pub(super) fn check_sessions_dir(paths: &Paths) -> Result<(), VerbError> {
    session::readable(paths).map_err(|e| {
        let failed = VerbError::new(INTERNAL, e.to_string()).about(paths.sessions().display());
        failed.hint("check its permissions; `hopty check` examines every directory that hopty needs")
    })
}

/// The error for a name that no session has, with the names that may be meant.
pub(super) fn unknown_session(paths: &Paths, name: &SessionName) -> VerbError {
    if let Err(failed) = check_sessions_dir(paths) {
        return failed;
    }
    let failed = VerbError::new(NOT_FOUND, "there is no such session").about(name);
    // Claude's own names for its background sessions.
    let claudes = name.as_str().len() == 8 && name.as_str().bytes().all(|byte| byte.is_ascii_hexdigit());
    if claudes {
        return failed.hint("`hopty ls` lists sessions; for Claude's own use `hopty -- attach`");
    }
    let slip = slips(name.as_str());
    let near = session::list(paths).into_iter().map(|ListedSession { name: known, is_alive }| {
        // The beginning of a name is as near as a misspelled name, and a live session is nearer than an ended
        // one.
        let begins = name.as_str().len() > 1 && known.as_str().starts_with(name.as_str());
        let edits = osa_distance(known.as_str(), name.as_str());
        (if begins { edits.min(slip) } else { edits }, !is_alive, known)
    });
    match near.min().filter(|(edits, ..)| *edits <= slip) {
        Some((.., near)) => failed.hint(format!("did you mean {near}? `hopty ls --all` lists sessions")),
        None => failed.hint("`hopty ls --all` lists sessions"),
    }
}

/// The session that this command runs in, by its present name.
pub(super) fn outer_session(paths: &Paths) -> Option<SessionName> {
    let name = std::env::var("HOPTY_SESSION").ok()?.parse().ok()?;
    Some(session::current(paths, &name))
}

/// Checks that a name is not the former name of a session.
///
/// # Errors
/// Exit code 3 if it is; the hint has the present name.
pub(super) fn not_renamed(paths: &Paths, name: &SessionName) -> Result<(), VerbError> {
    match session::new_name_of(paths, name) {
        None => Ok(()),
        Some(now) => Err(VerbError::new(NOT_FOUND, "there is no such session")
            .about(name)
            .hint(format!("it was renamed to {now}"))),
    }
}

/// Whether there is a session of this name. A host whose directory was deleted still listens, and recreates
/// it.
fn has_dir(paths: &Paths, name: &SessionName) -> bool {
    let dir = paths.session(name);
    let is_alive = || session::is_alive(&dir);
    if !dir.is_dir() && address::connect(&paths.socket(name), RECREATED).is_ok() {
        becomes_true(Instant::now() + RECREATED, RECREATED_POLL, is_alive);
    }
    dir.is_dir()
}

/// The session that a verb is about; an ended one only by its name.
pub(super) fn any_session(paths: &Paths, given: Option<&str>) -> Result<SessionName, VerbError> {
    let Some(text) = given else { return live_session(paths, None, Rule::Any) };
    let name = parse_session_name(text)?;
    not_renamed(paths, &name)?;
    if has_dir(paths, &name) { Ok(name) } else { Err(unknown_session(paths, &name)) }
}

/// A connection to one host; its failures are errors for a person.
pub(super) struct HostControl {
    client: ControlClient,
    /// How long an answer may take; `None`: no limit.
    limit: Option<Duration>,
    name: SessionName,
    paths: Paths,
}

impl HostControl {
    /// Connects and greets. `limit` applies to each answer; `None`: no limit after the handshake.
    ///
    /// # Errors
    /// When the host does not answer in time, has ended, or speaks another protocol.
    pub fn connect(paths: &Paths, name: &SessionName, limit: Option<Duration>) -> Result<Self, VerbError> {
        let unreachable = |e: &std::io::Error| unanswered(paths, name, e);
        let socket = dial(paths, name, limit.unwrap_or(CONNECT)).map_err(|e| unreachable(&e))?;
        let mut client = ControlClient::new(socket, "control", within(limit.or(Some(CONNECT))));
        match client.greet() {
            Ok(()) => Ok(HostControl { client, limit, name: name.clone(), paths: paths.clone() }),
            Err(NoAnswer::Protocol(theirs)) => {
                let what = format!(
                    "its host speaks protocol {}, this hopty speaks {PROTOCOL}",
                    visible(&theirs.to_string())
                );
                let hint = "another version of hopty started it: use that version, or end the session";
                Err(VerbError::from(RequestError::new(Code::Version, what, hint)).about(name))
            }
            Err(NoAnswer::Io(error)) => Err(unreachable(&error)),
            Err(other) => Err(VerbError::new(INTERNAL, other.to_string()).about(name)),
        }
    }

    /// Sets how long an answer may take from now on.
    pub fn limit(&mut self, limit: Duration) {
        self.limit = Some(limit);
    }

    /// Waits for an answer, as long as [`HostControl::limit`] allows.
    ///
    /// # Errors
    /// When it does not arrive in time, the session ends, or the host refuses the request.
    pub fn answer<T: DeserializeOwned>(&mut self) -> Result<T, VerbError> {
        self.client.wait_until(within(self.limit));
        self.client.answer().map_err(|no| match no {
            no if no.is_end() => {
                let hint = format!("`hopty why {}` says how it ended", self.name);
                VerbError::from(RequestError::new(Code::Ended, "the session ended", hint)).about(&self.name)
            }
            NoAnswer::Io(error) => unanswered(&self.paths, &self.name, &error),
            NoAnswer::Failed(failure) if failure.code == Code::UnknownRequest => {
                let hint = "its host is an older version: you can list, attach and stop it";
                VerbError::from(failure).about(&self.name).hint(hint)
            }
            NoAnswer::Failed(failure) => VerbError::from(failure).about(&self.name),
            other => VerbError::new(INTERNAL, other.to_string()).about(&self.name),
        })
    }

    /// Sends a request and waits for its answer, whose type is in `ipc::answers`.
    ///
    /// # Errors
    /// As [`HostControl::answer`].
    pub fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T, VerbError> {
        self.client.wait_until(within(self.limit.or(Some(CONNECT))));
        self.client.request(request);
        self.answer()
    }

    /// Asks for the session object.
    ///
    /// # Errors
    /// As [`HostControl::answer`], and when it cannot be read.
    pub fn status(&mut self) -> Result<SessionStatus, VerbError> {
        let object = self.ask(&Request::Status)?;
        SessionStatus::from_json(object)
            .ok_or_else(|| VerbError::new(INTERNAL, "hopty cannot read its answer").about(&self.name))
    }

    /// Reads until the host closes the connection.
    pub fn wait_for_end(&mut self) {
        self.client.wait_until(within(self.limit));
        self.client.wait_for_end();
    }
}

fn within(limit: Option<Duration>) -> Option<Instant> {
    limit.and_then(|limit| Instant::now().checked_add(limit))
}

/// Continues the session's host if it is stopped.
pub(super) fn continue_host(paths: &Paths, name: &SessionName) {
    // The lock and the start time prove that this is the session's host.
    if let Some(pid) = session::stopped_host(&paths.session(name)) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGCONT);
    }
}

/// The error for a host that does not answer, with the cause.
pub(super) fn unanswered(paths: &Paths, name: &SessionName, error: &std::io::Error) -> VerbError {
    if let Some(pid) = session::stopped_host(&paths.session(name)) {
        let failed = VerbError::new(INTERNAL, format!("its host, process {pid}, is stopped"));
        return failed.about(name).hint(format!("`kill -CONT {pid}` continues it"));
    }
    let how = match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
            "its host does not answer in time".to_owned()
        }
        _ => format!("its host does not answer: {error}"),
    };
    VerbError::new(INTERNAL, how)
        .about(name)
        .hint("the host may be busy; `hopty ls` shows whether it is alive")
}

/// Connects to a live session's socket, and to no other process that listens at its path. SIGUSR1 makes the
/// host recreate a socket that was deleted or replaced.
pub(super) fn dial(paths: &Paths, name: &SessionName, patience: Duration) -> std::io::Result<UnixStream> {
    let (path, dir) = (paths.socket(name), paths.session(name));
    let reach = || {
        let socket = address::connect(&path, patience)?;
        match session::is_host(&dir, address::peer(&socket)?) {
            true => Ok(socket),
            false => Err(std::io::Error::new(
                std::io::ErrorKind::ConnectionRefused,
                "another process listens in its place",
            )),
        }
    };
    let first = match reach() {
        Err(e)
            if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused) =>
        {
            e
        }
        other => return other,
    };
    // The lock and the start time prove that this is the session's host.
    let Some(pid) = session::host_of(&dir) else { return Err(first) };
    let _ = kill(Pid::from_raw(pid), Signal::SIGUSR1);
    let until = Instant::now() + REBIND;
    loop {
        match reach() {
            Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            other => return other,
        }
    }
}
