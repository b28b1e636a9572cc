//! Queries to hosts, each in a thread of its own, so that a host that does not answer delays neither the
//! keys nor other queries. Replies arrive through a channel; a byte on a socket pair signals them.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use super::preview::Preview;
use super::run_verb;
use super::session_row::SessionRow;
use crate::core::ids::SessionName;
use crate::core::io_words::io_words;
use crate::core::status_types::SessionStatus;
use crate::core::supervisor::reported_state::SessionState;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::address;
use crate::ipc::answers::{AcceptAnswer, ScreenAnswer, SendAnswer};
use crate::ipc::control_client::{ControlClient, NoAnswer};
use crate::ipc::message::{Code, Request};
use crate::sys::clock::{ahead, elapsed};

/// How long a host gets for connecting and answering; after that it counts as `unresponsive`.
const HOST_QUERY_LIMIT: Duration = Duration::from_millis(200);
/// The same for queries that a key has started, which may wait for a disk.
const ACTION_LIMIT: Duration = Duration::from_secs(5);
/// The most queries at the same time; the others wait.
const AT_ONCE: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostQuery {
    /// The live sessions, and with `ended` also the others.
    List {
        ended: bool,
    },
    Log(SessionName),
    /// Start a session in a directory.
    New(String),
    Status(SessionName),
    Screen(SessionName),
    Restart(SessionName),
    Stop(SessionName),
    Send(SessionName, String),
    /// The key of an option, for the dialog of this name.
    Answer(SessionName, u8, String),
}

#[derive(Debug)]
pub enum HostReply {
    /// A session's log, newest first.
    Log(SessionName, Vec<String>),
    /// The live sessions.
    Listed(Vec<SessionName>),
    /// A session's current or last known status.
    Status(Box<SessionRow>),
    /// A session's screen, or why it is missing.
    Screen(SessionName, Preview),
    /// The result of an action, in words.
    Done(String),
    /// This session was started; with a message.
    Started(SessionName, String),
    /// Nothing to show, for example because the session is gone.
    Nothing,
    /// The thread panicked, and the panic restored the terminal.
    Panicked,
}

/// The running queries and their replies.
#[derive(Debug)]
pub struct HostQueries {
    paths: Arc<Paths>,
    running: BTreeSet<HostQuery>,
    waiting: VecDeque<HostQuery>,
    answers: Receiver<(HostQuery, HostReply)>,
    answer: Sender<(HostQuery, HostReply)>,
    bell: UnixStream,
    ring: Arc<UnixStream>,
}

impl HostQueries {
    /// Starts no query.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn new(paths: &Paths) -> io::Result<HostQueries> {
        let (bell, ring) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ring.set_nonblocking(true)?;
        let (answer, answers) = channel();
        let (paths, ring) = (Arc::new(paths.clone()), Arc::new(ring));
        Ok(HostQueries {
            paths,
            running: BTreeSet::new(),
            waiting: VecDeque::new(),
            answers,
            answer,
            bell,
            ring,
        })
    }

    /// Starts a query, unless the same one is already running.
    pub fn begin(&mut self, ask: HostQuery) {
        if self.running.contains(&ask) || self.waiting.contains(&ask) {
            return;
        }
        self.waiting.push_back(ask);
        self.start_queued();
    }

    fn start_queued(&mut self) {
        while self.running.len() < AT_ONCE {
            let Some(ask) = self.waiting.pop_front() else { return };
            let (paths, answer, ring) =
                (Arc::clone(&self.paths), self.answer.clone(), Arc::clone(&self.ring));
            let asked = ask.clone();
            let thread = std::thread::Builder::new().name("hopty-ask".to_owned()).spawn(move || {
                let reply = catch_unwind(AssertUnwindSafe(|| answer_to(&paths, &asked)))
                    .unwrap_or(HostReply::Panicked);
                let _ = answer.send((asked, reply));
                // If the pair is full, the loop will wake up anyway.
                let _ = (&*ring).write(&[0]);
            });
            // If no thread can be started, the query is repeated when it is due again.
            if thread.is_ok() {
                self.running.insert(ask);
            }
        }
    }

    /// The replies since the last call.
    pub fn take(&mut self) -> Vec<HostReply> {
        let mut rung = [0; 256];
        while (&self.bell).read(&mut rung).is_ok_and(|n| n > 0) {}
        let mut all = Vec::new();
        while let Ok((ask, reply)) = self.answers.try_recv() {
            self.running.remove(&ask);
            all.push(reply);
        }
        self.start_queued();
        all
    }
}

/// Readable when there are replies.
impl AsFd for HostQueries {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

fn answer_to(paths: &Paths, asked: &HostQuery) -> HostReply {
    let home = paths.home.display().to_string();
    match asked {
        HostQuery::List { ended } => {
            let wanted = session::list(paths).into_iter().filter(|session| session.is_alive || *ended);
            HostReply::Listed(wanted.map(|session| session.name).collect())
        }
        HostQuery::Log(name) => HostReply::Log(name.clone(), run_verb::log(name)),
        HostQuery::New(dir) => match run_verb::start(&in_home(dir, &paths.home)) {
            Ok((name, words)) => HostReply::Started(name, words),
            Err(words) => HostReply::Done(words),
        },
        HostQuery::Status(name) => match ask(paths, name, &Request::Status, HOST_QUERY_LIMIT) {
            Ok(object) => row_of(name, &SessionStatus::from_json(object).unwrap_or_default(), &home),
            Err(_) => {
                last_known(paths, name).map_or(HostReply::Nothing, |status| row_of(name, &status, &home))
            }
        },
        HostQuery::Screen(name) => HostReply::Screen(name.clone(), screen(paths, name)),
        HostQuery::Restart(name) => {
            let request = Request::Restart { now: false, no_handoff: false, wait: false };
            HostReply::Done(match ask(paths, name, &request, ACTION_LIMIT) {
                Ok(AcceptAnswer { .. }) => format!("restart of {name} requested: waiting for a safe point"),
                Err(why) => format!("restart: {name}: {why}"),
            })
        }
        HostQuery::Stop(name) => {
            HostReply::Done(match ask(paths, name, &Request::Stop { kill: false }, ACTION_LIMIT) {
                Ok(AcceptAnswer { .. }) => format!("stopping {name}"),
                Err(why) => format!("stop: {name}: {why}"),
            })
        }
        HostQuery::Send(name, text) => HostReply::Done(run_verb::send(name, text)),
        HostQuery::Answer(name, option, dialog) => HostReply::Done(answer(paths, name, *option, dialog)),
    }
}

/// The row of a session, with the branch of its directory.
fn row_of(name: &SessionName, status: &SessionStatus, home: &str) -> HostReply {
    let branch = crate::git::ask_git::checkout(Path::new(&status.dir));
    let row = SessionRow::of(name, status, home, ahead, elapsed);
    HostReply::Status(Box::new(row.on_branch(branch.as_deref())))
}

/// Chooses an option of the dialog, if the session still waits in it.
fn answer(paths: &Paths, name: &SessionName, option: u8, dialog: &str) -> String {
    let request = Request::Answer { dialog: dialog.to_owned(), option };
    match ask(paths, name, &request, ACTION_LIMIT) {
        Ok(SendAnswer { .. }) => format!("{name}: answered with {option}"),
        Err(why) => format!("answer: {name}: {why}"),
    }
}

/// The status file of a session whose host does not answer or is gone.
fn last_known(paths: &Paths, name: &SessionName) -> Option<SessionStatus> {
    let dir = paths.session(name);
    let last = session::status(&dir).ok().flatten().unwrap_or_default();
    let last = SessionStatus { clients: Vec::new(), ..last };
    Some(match session::is_alive(&dir) {
        true => session::unresponsive(&dir, last),
        false => SessionStatus { state: SessionState::Ended.into(), ..last },
    })
}

/// A directory as a person writes it: `~` is the home directory.
fn in_home(dir: &str, home: &Path) -> PathBuf {
    match dir.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(dir),
    }
}

fn screen(paths: &Paths, name: &SessionName) -> Preview {
    let answer = match ask(paths, name, &Request::Screen { history: false }, HOST_QUERY_LIMIT) {
        Ok(answer) => answer,
        Err(why) if session::is_alive(&paths.session(name)) => return Preview::Missing(why),
        Err(_) => {
            match session::last_screen(paths, name).and_then(|last| serde_json::from_value(last).ok()) {
                Some(last) => last,
                None => {
                    return Preview::Missing("it has ended, and its last screen was already seen".to_owned());
                }
            }
        }
    };
    let ScreenAnswer { cols, rows, dump, degraded } = answer;
    Preview::read(name, (cols, rows), &dump, degraded)
}

/// Sends one request; the answer arrives in time or not at all.
fn ask<T: DeserializeOwned>(
    paths: &Paths,
    name: &SessionName,
    request: &Request,
    patience: Duration,
) -> Result<T, String> {
    let until = Instant::now() + patience;
    let socket = address::connect(&paths.socket(name), patience).map_err(|e| silent(&e))?;
    if !address::peer(&socket).is_ok_and(|pid| session::is_host(&paths.session(name), pid)) {
        return Err("another process listens on its socket".to_owned());
    }
    ControlClient::new(socket, "control", Some(until)).ask(request).map_err(|no| match no {
        NoAnswer::Io(error) => silent(&error),
        NoAnswer::Protocol(_) => "its host was started by another version of hopty".to_owned(),
        NoAnswer::Unreadable(_) => "its host's answer cannot be read".to_owned(),
        NoAnswer::Failed(failure) if failure.code == Code::UnknownRequest => {
            "its host is an older version of hopty: attach to it".to_owned()
        }
        NoAnswer::Failed(failure) => failure.message,
    })
}

fn silent(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "its host does not answer".to_owned(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::UnexpectedEof => {
            "its host is gone".to_owned()
        }
        _ => format!("its host does not answer: {}", io_words(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_asked_once_at_a_time() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::from_env(|name| (name == "HOME").then(|| home.path().into())).unwrap();
        let mut asks = HostQueries::new(&paths).unwrap();
        (0..3).for_each(|_| asks.begin(HostQuery::List { ended: false }));
        let bell = asks.bell.try_clone().unwrap();
        assert!(crate::sys::poll::wait_for(&bell, crate::sys::poll::Interest::Read, 5000).unwrap());
        let told = asks.take();
        assert!(matches!(told.as_slice(), [HostReply::Listed(names)] if names.is_empty()), "{told:?}");
        asks.begin(HostQuery::List { ended: false });
        assert!(crate::sys::poll::wait_for(&bell, crate::sys::poll::Interest::Read, 5000).unwrap());
        assert_eq!(asks.take().len(), 1);
    }
}
