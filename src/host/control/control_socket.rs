//! The connections: accepted, watched, read, written and closed.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Control;
use super::connection::Connection;
use super::owed_answers::OwedAnswers;
use super::unanswered_hooks::HookCalls;
use super::waits::Waits;
use crate::core::config;
use crate::core::ids::SessionName;
use crate::core::time::Stamp;
use crate::fs::paths::Paths;
use crate::host::event_loop::PollToken;
use crate::ipc::frame::{Frame, MAX_PAYLOAD};
use crate::ipc::message::{HostHello, PROTOCOL, Request, RequestId};
use crate::sys::poll::{FdReadiness, Interest, PollSet};

/// What arrived on a connection.
#[derive(Debug)]
pub enum ControlEvent {
    /// A request that its peer may make.
    Request { request_id: RequestId, wanted: Request },
    /// Claude calls a hook. `run` is the run that it belongs to; 0 or `None`: unknown.
    Hook { request_id: RequestId, run: Option<u32>, event: String, payload: Value },
    /// A request whose peer could not be identified because of an error in the host.
    Failed { request_id: RequestId },
    /// A client's frame.
    Frame { connection: u64, frame: Frame },
    /// The connection broke, and was removed. `unread`: the peer did not read what was sent last.
    Closed { connection: u64, unread: bool },
}

/// What the connection needs to know of the rest of the host.
pub trait ConnectionUse {
    /// Whether it belongs to a client whose typed bytes come over it.
    fn is_relayed(&self, id: u64) -> bool;
    /// Whether the program has enough unread input, so that the keyboard must wait.
    fn typing_waits(&self) -> bool;
    /// Whether its client's terminal, if any, has taken all output.
    fn is_quiet(&self, id: u64) -> bool;
    /// Whether another part still answers on it, so that its silence means nothing.
    fn is_needed(&self, id: u64) -> bool;

    /// Whether to stop reading the keyboard on this connection.
    fn input_waits(&self, id: u64) -> bool {
        self.is_relayed(id) && self.typing_waits()
    }
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
            earlier_sockets: Vec::new(),
            accept_at: None,
            rebind_at: None,
            run: 0,
            connections: BTreeMap::new(),
            reading: None,
            next_id: 1,
            hooks: HookCalls::default(),
            pending_answers: OwedAnswers::default(),
            waits: Waits::default(),
        }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Gives the session this name and only this socket.
    pub fn rebind_as(&mut self, name: &SessionName, socket: PathBuf) {
        self.name = name.clone();
        self.socket = socket;
    }

    /// Gives the session another name; both sockets lead to it.
    pub fn add_name(&mut self, name: &SessionName, socket: PathBuf) {
        self.earlier_sockets.retain(|former| *former != socket);
        self.earlier_sockets.push(std::mem::replace(&mut self.socket, socket));
        self.name = name.clone();
    }

    /// The paths by which the socket can be reached.
    pub fn sockets(&self) -> impl Iterator<Item = &PathBuf> {
        self.earlier_sockets.iter().chain([&self.socket])
    }

    pub fn begin_run(&mut self, number: u32) {
        self.run = number;
    }

    /// The host's hello line.
    pub(super) fn hello(&self) -> String {
        let hello = HostHello {
            hopty: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            session: self.name.to_string(),
            run: self.run,
            max_frame: MAX_PAYLOAD,
        };
        format!("{}\n", json!(hello))
    }

    /// A number that is unique in this session: for connections, hook calls and requests.
    pub(super) fn number(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Adds an accepted connection.
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

    pub fn ids(&self) -> Vec<u64> {
        self.connections.keys().copied().collect()
    }

    /// Whether there are no connections.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Whether everything is written, and no peer is expected to send another request.
    pub fn is_quiet(&self, now: Stamp) -> bool {
        self.connections.values().all(|c| c.is_quiet() && c.asks_until().is_none_or(|until| now >= until))
    }

    /// Closes all connections at once.
    pub fn clear(&mut self) {
        self.connections.clear();
    }

    /// Watches the listener and the connections; during a burst of output only those of relayed clients.
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

    /// When to watch the listener again.
    pub fn accept_deadline(&self, now: Stamp) -> Option<Stamp> {
        self.accept_at.filter(|at| *at > now)
    }

    /// When to stop waiting for a peer's next request at the session's end.
    pub fn farewell_deadline(&self, now: Stamp) -> Option<Stamp> {
        self.connections.values().filter_map(|c| c.asks_until()).filter(|at| *at > now).min()
    }

    /// Closes connections that never spoke, were idle for too long, or have reached their closing time.
    /// Returns them.
    pub fn due(&mut self, now: Stamp, uses: &dyn ConnectionUse) -> Vec<u64> {
        let mut closed = Vec::new();
        for id in self.ids() {
            let input_waits = uses.input_waits(id);
            let needed = self.is_awaited(id) || uses.is_needed(id);
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            connection.pause_typing(input_waits);
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
        open || self.pending_answers.has(id)
            || self.hooks.has(id)
            || self.hooks.awaits_reading(id)
            || self.waits.has(id)
    }

    /// Writes to a connection.
    pub fn send(&mut self, id: u64, line: &str, now: Stamp) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.stream.send(line.as_bytes());
            connection.note_active(now);
        }
    }

    /// Reads from a connection and writes what it takes. [`Control::next_event`] returns what arrived.
    pub fn ready(&mut self, id: u64, ready: FdReadiness) {
        self.reading = self.connection_mut(id).and_then(|connection| connection.read(id, ready));
    }
}

#[cfg(test)]
#[path = "control_socket_tests.rs"]
mod tests;
