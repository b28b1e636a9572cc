//! Questions to hosts, each in a thread of its own, so that a host that does not answer holds up neither the
//! keys nor the others. Answers come back through a channel, and a byte on a socket pair says that there is
//! one.

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
use crate::core::supervisor::state::SessionState;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::address;
use crate::ipc::answers::{AcceptAnswer, ScreenAnswer, SendAnswer};
use crate::ipc::control_client::{ControlClient, NoAnswer};
use crate::ipc::message::{Code, Request};
use crate::sys::clock::{ahead, elapsed};

/// How long a host gets for connection and answer together; after that it is `unresponsive`.
const HOST_QUERY_LIMIT: Duration = Duration::from_millis(200);
/// The same for what is asked for by a key, which may have to be written down first.
const PATIENCE_OF_A_PERSON: Duration = Duration::from_secs(5);
/// Questions under way at once; the others wait for their turn.
const AT_ONCE: usize = 64;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DashQuestion {
    /// Which sessions live, and with `ended` which others are known.
    List {
        ended: bool,
    },
    /// What it has done.
    Log(SessionName),
    /// A new session in a directory.
    New(String),
    Status(SessionName),
    Screen(SessionName),
    /// A hand-over.
    Restart(SessionName),
    Stop(SessionName),
    /// A line for the agent.
    Send(SessionName, String),
    /// The key of an option, for the dialog of this name.
    Answer(SessionName, u8, String),
}

/// What came back.
#[derive(Debug)]
pub enum DashReply {
    /// What a session has done, newest first.
    Log(SessionName, Vec<String>),
    /// These sessions live.
    Listed(Vec<SessionName>),
    /// A session as it is, or as it was last known.
    Status(Box<SessionRow>),
    /// A session's screen, or why there is none.
    Screen(SessionName, Preview),
    /// What became of a wish, in words.
    Done(String),
    /// This session was started; the same in words.
    Started(SessionName, String),
    /// There is nothing to tell: the session is gone, for instance.
    Nothing,
    /// The thread that asked panicked, and the terminal was put back for it.
    Failed,
}

/// Questions under way and answers that came.
#[derive(Debug)]
pub struct Asks {
    paths: Arc<Paths>,
    under_way: BTreeSet<DashQuestion>,
    waiting: VecDeque<DashQuestion>,
    answers: Receiver<(DashQuestion, DashReply)>,
    answer: Sender<(DashQuestion, DashReply)>,
    bell: UnixStream,
    ring: Arc<UnixStream>,
}

impl Asks {
    /// Nothing is asked yet.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn new(paths: &Paths) -> io::Result<Asks> {
        let (bell, ring) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ring.set_nonblocking(true)?;
        let (answer, answers) = channel();
        let (paths, ring) = (Arc::new(paths.clone()), Arc::new(ring));
        Ok(Asks { paths, under_way: BTreeSet::new(), waiting: VecDeque::new(), answers, answer, bell, ring })
    }

    /// Asks, unless the same is being asked already.
    pub fn begin(&mut self, ask: DashQuestion) {
        if self.under_way.contains(&ask) || self.waiting.contains(&ask) {
            return;
        }
        self.waiting.push_back(ask);
        self.start_waiting();
    }

    fn start_waiting(&mut self) {
        while self.under_way.len() < AT_ONCE {
            let Some(ask) = self.waiting.pop_front() else { return };
            let (paths, answer, ring) =
                (Arc::clone(&self.paths), self.answer.clone(), Arc::clone(&self.ring));
            let asked = ask.clone();
            let thread = std::thread::Builder::new().name("hopty-ask".to_owned()).spawn(move || {
                let told =
                    catch_unwind(AssertUnwindSafe(|| answer_to(&paths, &asked))).unwrap_or(DashReply::Failed);
                let _ = answer.send((asked, told));
                // A full pair has rung already.
                let _ = (&*ring).write(&[0]);
            });
            // Where no thread is to be had it is asked again when it is due.
            if thread.is_ok() {
                self.under_way.insert(ask);
            }
        }
    }

    /// The answers so far.
    pub fn take(&mut self) -> Vec<DashReply> {
        let mut rung = [0; 256];
        while (&self.bell).read(&mut rung).is_ok_and(|n| n > 0) {}
        let mut all = Vec::new();
        while let Ok((ask, told)) = self.answers.try_recv() {
            self.under_way.remove(&ask);
            all.push(told);
        }
        self.start_waiting();
        all
    }
}

/// Readable when there are answers.
impl AsFd for Asks {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

fn answer_to(paths: &Paths, asked: &DashQuestion) -> DashReply {
    let home = paths.home.display().to_string();
    match asked {
        DashQuestion::List { ended } => {
            let wanted = session::list(paths).into_iter().filter(|(_, alive)| *alive || *ended);
            DashReply::Listed(wanted.map(|(name, _)| name).collect())
        }
        DashQuestion::Log(name) => DashReply::Log(name.clone(), run_verb::log(name)),
        DashQuestion::New(dir) => match run_verb::start(&in_home(dir, &paths.home)) {
            Ok((name, words)) => DashReply::Started(name, words),
            Err(words) => DashReply::Done(words),
        },
        DashQuestion::Status(name) => match ask(paths, name, &Request::Status, HOST_QUERY_LIMIT) {
            Ok(object) => row_of(name, &SessionStatus::from_json(object).unwrap_or_default(), &home),
            Err(_) => {
                last_known(paths, name).map_or(DashReply::Nothing, |status| row_of(name, &status, &home))
            }
        },
        DashQuestion::Screen(name) => DashReply::Screen(name.clone(), screen(paths, name)),
        DashQuestion::Restart(name) => {
            let request = Request::Restart { now: false, no_handoff: false, wait: false };
            DashReply::Done(match ask(paths, name, &request, PATIENCE_OF_A_PERSON) {
                Ok(AcceptAnswer { .. }) => format!("restart of {name} requested: waiting for a safe point"),
                Err(why) => format!("restart: {name}: {why}"),
            })
        }
        DashQuestion::Stop(name) => {
            DashReply::Done(match ask(paths, name, &Request::Stop { kill: false }, PATIENCE_OF_A_PERSON) {
                Ok(AcceptAnswer { .. }) => format!("stopping {name}"),
                Err(why) => format!("stop: {name}: {why}"),
            })
        }
        DashQuestion::Send(name, text) => DashReply::Done(run_verb::send(name, text)),
        DashQuestion::Answer(name, option, dialog) => DashReply::Done(answer(paths, name, *option, dialog)),
    }
}

/// A session as it is shown, with the branch of its directory.
fn row_of(name: &SessionName, status: &SessionStatus, home: &str) -> DashReply {
    let branch = crate::git::ask_git::checkout(Path::new(&status.dir));
    let row = SessionRow::of(name, status, home, ahead, elapsed);
    DashReply::Status(Box::new(row.on_branch(branch.as_deref())))
}

/// Chooses an option of the dialog, if the session still waits in it.
fn answer(paths: &Paths, name: &SessionName, option: u8, dialog: &str) -> String {
    let request = Request::Answer { dialog: dialog.to_owned(), option };
    match ask(paths, name, &request, PATIENCE_OF_A_PERSON) {
        Ok(SendAnswer { .. }) => format!("{name}: answered with {option}"),
        Err(why) => format!("answer: {name}: {why}"),
    }
}

/// The session's file, of one whose host does not answer or is gone.
fn last_known(paths: &Paths, name: &SessionName) -> Option<SessionStatus> {
    let dir = paths.session(name);
    let last = session::status(&dir).ok().flatten().unwrap_or_default();
    let state = if session::is_alive(&dir) { SessionState::Unresponsive } else { SessionState::Ended }.into();
    Some(SessionStatus { state, clients: Vec::new(), ..last })
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
                None => return Preview::Missing("it has ended, and its last screen was seen".to_owned()),
            }
        }
    };
    let ScreenAnswer { cols, rows, dump, degraded } = answer;
    Preview::read(name, (cols, rows), &dump, degraded)
}

/// One question, whose answer comes in time or not at all.
fn ask<T: DeserializeOwned>(
    paths: &Paths,
    name: &SessionName,
    request: &Request,
    patience: Duration,
) -> Result<T, String> {
    let until = Instant::now() + patience;
    let socket = address::connect(&paths.socket(name), patience).map_err(|e| silent(&e))?;
    if !address::peer(&socket).is_ok_and(|pid| session::is_host(&paths.session(name), pid)) {
        return Err("another process listens in its host's place".to_owned());
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
        let mut asks = Asks::new(&paths).unwrap();
        (0..3).for_each(|_| asks.begin(DashQuestion::List { ended: false }));
        let bell = asks.bell.try_clone().unwrap();
        assert!(crate::sys::poll::wait_for(&bell, crate::sys::poll::Interest::Read, 5000).unwrap());
        let told = asks.take();
        assert!(matches!(told.as_slice(), [DashReply::Listed(names)] if names.is_empty()), "{told:?}");
        asks.begin(DashQuestion::List { ended: false });
        assert!(crate::sys::poll::wait_for(&bell, crate::sys::poll::Interest::Read, 5000).unwrap());
        assert_eq!(asks.take().len(), 1);
    }
}
