//! The control socket: who may connect, what arrives, and which answers are still owed.
//!
//! [`Control`] owns the listener, the connections and everything that was asked on them. What arrives comes
//! out as [`ControlEvent`]s, one at a time ([`Control::next_event`]), because what one request does decides
//! how the next bytes are read. `wiring/requests` answers them. What is due by time is done in
//! [`Control::due`], at [`Control::deadline`].
//!
//! | file | holds |
//! |---|---|
//! | `listener` | connections are accepted; when a socket file that vanished is bound again |
//! | `peer` | who is at the other end, and what they may ask for |
//! | `connection` | one connection: its stream and its time limits |
//! | `client_links` | a client's connection, as its terminal uses it |
//! | `incoming` | what arrives on it, in turns |
//! | `owed_answers` | requests whose answer is still owed |
//! | `unanswered_hooks` | hook calls that are held |
//! | `waits` | requests that wait for a state, an end or a change of the screen |
//! | `screen_answer` | the screen as `hopty screen` and the dashboard receive it |

mod client_links;
pub(super) mod connection;
mod incoming;
mod listener;
mod owed_answers;
pub(super) mod peer;
pub(super) mod screen_answer;
mod unanswered_hooks;
mod waits;

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::core::config;
use crate::core::ids::SessionName;
use crate::core::time::Stamp;
use crate::fs::paths::Paths;
use crate::host::event_loop::PollToken;
use crate::ipc::frame::{Frame, MAX_PAYLOAD};
use crate::ipc::message::{HostHello, PROTOCOL, Request, RequestId};
use crate::sys::poll::{FdReadiness, Interest, PollSet};
use owed_answers::OwedAnswers;
use waits::Waits;

pub(super) use connection::Connection;
pub(super) use listener::TURN;
pub(super) use owed_answers::restart_outcome;
pub(super) use unanswered_hooks::{HookCalls, OpenHookCall};
pub(super) use waits::{Awaited, WaitOutcome, WaitScene};

/// What arrived on a connection.
#[derive(Debug)]
pub(super) enum ControlEvent {
    /// A request that its peer may make.
    Request { asked: RequestId, wanted: Request },
    /// Claude calls a hook. `run` is the run that it belongs to; 0 or `None`: it does not say.
    Hook { asked: RequestId, run: Option<u32>, event: String, payload: Value },
    /// Whether its peer may make a request could not be found out: looking failed inside the host.
    Failed { asked: RequestId },
    /// A client's frame.
    Frame { connection: u64, frame: Frame },
    /// The connection broke, and is forgotten. `unread`: what was sent last has not been read.
    Closed { connection: u64, unread: bool },
}

/// What the rest of the host knows of a connection.
pub(super) trait ConnectionUse {
    /// Whether it belongs to a client whose typed bytes come over it.
    fn is_relayed(&self, id: u64) -> bool;
    /// Whether the program has enough unread input, so that the keyboard must wait.
    fn typing_waits(&self) -> bool;
    /// Whether its client's terminal, if any, has taken everything.
    fn is_quiet(&self, id: u64) -> bool;
    /// Whether somebody else answers on it, so that its silence means nothing.
    fn is_needed(&self, id: u64) -> bool;

    /// Whether the keyboard waits on this connection.
    fn input_waits(&self, id: u64) -> bool {
        self.is_relayed(id) && self.typing_waits()
    }
}

/// The control socket and everybody who is connected to it.
#[derive(Debug)]
pub(super) struct Control {
    /// The session's name, as peers are told it.
    name: SessionName,
    paths: Paths,
    config: config::Control,
    listener: UnixListener,
    socket: PathBuf,
    /// The sockets by the names that the session had before; the running program was told one of them.
    former: Vec<PathBuf>,
    /// Connections cannot be accepted: when to try again.
    accept_at: Option<Stamp>,
    /// The socket file is gone: when to bind it again.
    rebind_at: Option<Stamp>,
    /// The number of the run, as peers are told it.
    run: u32,
    /// Boxed one by one: a map reserves space for eleven entries even when it is empty.
    connections: BTreeMap<u64, Box<Connection>>,
    /// The connection whose bytes are handled now.
    reading: Option<incoming::Reading>,
    next_id: u64,
    pub hooks: HookCalls,
    owed: OwedAnswers,
    pub waits: Waits,
}

impl Control {
    pub fn new(
        name: SessionName,
        paths: Paths,
        config: config::Control,
        (listener, socket): (UnixListener, PathBuf),
    ) -> Self {
        Control {
            name,
            paths,
            config,
            listener,
            socket,
            former: Vec::new(),
            accept_at: None,
            rebind_at: None,
            run: 0,
            connections: BTreeMap::new(),
            reading: None,
            next_id: 1,
            hooks: HookCalls::default(),
            owed: OwedAnswers::default(),
            waits: Waits::default(),
        }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The session has this name and only this socket from now on.
    pub fn rebind_as(&mut self, name: &SessionName, socket: PathBuf) {
        self.name = name.clone();
        self.socket = socket;
    }

    /// The session was given another name, and its socket can be reached by both.
    pub fn add_name(&mut self, name: &SessionName, socket: PathBuf) {
        self.former.retain(|former| *former != socket);
        self.former.push(std::mem::replace(&mut self.socket, socket));
        self.name = name.clone();
    }

    /// The paths by which the socket can be reached.
    pub fn sockets(&self) -> impl Iterator<Item = &PathBuf> {
        self.former.iter().chain([&self.socket])
    }

    pub fn begin_run(&mut self, number: u32) {
        self.run = number;
    }

    /// The host's first line.
    fn hello(&self) -> String {
        let hello = HostHello {
            hopty: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            session: self.name.to_string(),
            run: self.run,
            max_frame: MAX_PAYLOAD,
        };
        format!("{}\n", json!(hello))
    }

    /// A number that nothing else of this session has: for connections, hook calls and requests.
    fn number(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Takes a connection that was let in.
    pub fn admit(&mut self, mut connection: Connection) -> u64 {
        let id = self.number();
        connection.run = self.run;
        self.connections.insert(id, Box::new(connection));
        id
    }

    pub fn connection(&self, id: u64) -> Option<&Connection> {
        self.connections.get(&id).map(Box::as_ref)
    }

    pub fn connection_mut(&mut self, id: u64) -> Option<&mut Connection> {
        self.connections.get_mut(&id).map(Box::as_mut)
    }

    /// The connections there are.
    pub fn ids(&self) -> Vec<u64> {
        self.connections.keys().copied().collect()
    }

    /// Whether nobody is connected.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Whether everything is written, and nobody is about to ask something else.
    pub fn is_quiet(&self, now: Stamp) -> bool {
        self.connections.values().all(|c| c.is_quiet() && c.asks_until().is_none_or(|until| now >= until))
    }

    /// Closes all connections at once.
    pub fn clear(&mut self) {
        self.connections.clear();
    }

    /// Watches the listener and the connections; only those of relayed clients during a burst of output.
    pub fn register<'fd>(
        &'fd self,
        set: &mut PollSet<'fd, PollToken>,
        now: Stamp,
        burst: bool,
        uses: &dyn ConnectionUse,
    ) {
        if !burst && self.accept_at.is_none_or(|at| at <= now) {
            set.add(PollToken::Listener, self.listener.as_fd(), Interest::Read);
        }
        let typing_waits = uses.typing_waits();
        for (id, connection) in &self.connections {
            let relayed = uses.is_relayed(*id);
            if !burst || relayed {
                connection.watch(set, *id, typing_waits && relayed);
            }
        }
    }

    /// The next deadline of all that [`Control::due`] does.
    pub fn deadline(&self, uses: &dyn ConnectionUse) -> Option<Stamp> {
        let typing_waits = uses.typing_waits();
        let relayed = |id: u64| typing_waits && uses.is_relayed(id);
        self.connections.iter().filter_map(|(id, connection)| connection.deadline(relayed(*id))).min()
    }

    /// When the listener is watched again.
    pub fn accept_deadline(&self, now: Stamp) -> Option<Stamp> {
        self.accept_at.filter(|at| *at > now)
    }

    /// When the session's end stops waiting for the next request of a peer.
    pub fn farewell_deadline(&self, now: Stamp) -> Option<Stamp> {
        self.connections.values().filter_map(|c| c.asks_until()).filter(|at| *at > now).min()
    }

    /// Closes connections that never spoke, are silent for too long or were to be closed. Returns them.
    pub fn due(&mut self, now: Stamp, uses: &dyn ConnectionUse) -> Vec<u64> {
        let mut closed = Vec::new();
        for id in self.ids() {
            let input_waits = uses.input_waits(id);
            let needed = self.is_awaited(id) || uses.is_needed(id);
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            connection.tell_to_wait(input_waits);
            let idle = connection.idle_until().is_some_and(|until| now >= until);
            if connection.is_over(now, uses.is_quiet(id)) || idle && !needed {
                self.connections.remove(&id);
                closed.push(id);
            } else if idle {
                connection.note_active(now);
            }
        }
        closed
    }

    /// Whether the connection waits for an answer, so that its silence means nothing.
    fn is_awaited(&self, id: u64) -> bool {
        let open = self.connections.get(&id).is_some_and(|c| c.is_waiting());
        open || self.owed.has(id) || self.hooks.has(id) || self.hooks.awaits_reading(id) || self.waits.has(id)
    }

    /// Writes to a connection.
    pub fn send(&mut self, id: u64, line: &str, now: Stamp) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.stream.send(line.as_bytes());
            connection.note_active(now);
        }
    }

    /// Reads what came on a connection, and writes what it takes. Then [`Control::next_event`] has what came.
    pub fn ready(&mut self, id: u64, ready: FdReadiness) {
        self.reading = self.connection_mut(id).and_then(|connection| connection.read(id, ready));
    }
}

#[cfg(test)]
mod tests;
