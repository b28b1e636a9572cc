//! The control socket: accepts connections, and decides when to bind a vanished socket file again.

use std::os::unix::net::{UnixListener, UnixStream};

use super::Control;
use super::connection::Connection;
use super::peer::Peer;
use crate::core::time::Stamp;
use crate::ipc::message::{Code, RequestError, error_line};
use crate::ipc::stream::FrameStream;
use crate::sys::poll::FdReadiness;
use crate::sys::process::ProcessStart;

/// How long a host waits before it binds a vanished socket file again, in ms.
const REBIND_MS: u64 = 1000;
/// How long to accept no connections after running out of descriptors, in ms.
const ACCEPT_MS: u64 = 200;
/// The most connections at once.
const MAX_CONNECTIONS: usize = 32;
/// The most from descendants of the session's own program: the rest is reserved for people.
const MAX_INSIDE: usize = 16;
/// The most from the Claudes of other sessions; they do not count against the other two.
const MAX_OUTSIDE: usize = 8;
/// How many connections are accepted in one turn.
pub(in crate::host) const TURN: u32 = 64;

impl Control {
    /// Takes the connection to the process that started this host, which is about to attach. They need no
    /// handshake, because the client existed before the child.
    pub fn admit_launcher(&mut self, socket: UnixStream, now: Stamp) -> Option<u64> {
        let stream = FrameStream::new(socket).ok()?;
        let (pid, _) = stream.peer().unwrap_or_default();
        let mut connection = Connection::new(stream, Peer::Person, ProcessStart { pid, ticks: None }, now);
        connection.greeted(now);
        Some(self.admit(connection))
    }

    /// Plans to bind a vanished socket file again, a moment later, so as not to disturb a removal of the
    /// directory.
    pub fn rebind_soon(&mut self, now: Stamp) {
        self.rebind_at.get_or_insert(now.after(REBIND_MS));
    }

    /// When to bind the socket again.
    pub fn rebind_deadline(&self) -> Option<Stamp> {
        self.rebind_at
    }

    /// Whether to bind the socket again now; true once.
    pub fn take_rebind(&mut self, now: Stamp) -> bool {
        self.rebind_at.take_if(|at| *at <= now).is_some()
    }

    pub fn rebound(&mut self, listener: UnixListener) {
        self.listener = listener;
    }

    /// Accepts the next connection and reads from it. False if none is waiting.
    pub fn accept(&mut self, now: Stamp) -> bool {
        let socket = match self.listener.accept() {
            Ok((socket, _)) => socket,
            Err(error) => {
                // A waiting connection stays readable: without a free descriptor this would spin.
                let nobody = error.kind() == std::io::ErrorKind::WouldBlock;
                self.accept_at = (!nobody).then(|| now.after(ACCEPT_MS));
                return false;
            }
        };
        let Ok(mut stream) = FrameStream::new(socket) else { return true };
        let Ok((pid, uid)) = stream.peer() else { return true };
        if uid != nix::unistd::geteuid().as_raw() {
            return true;
        }
        let (peer, began) = self.look_up(pid, stream.peer_process());
        if let Some(failure) = self.full_for(&peer) {
            stream.send(format!("{}{}", self.hello(), error_line(0, &failure)).as_bytes());
            return true;
        }
        let id = self.admit(Connection::new(stream, peer, ProcessStart { pid, ticks: Some(began) }, now));
        self.ready(id, FdReadiness { read: true, ..FdReadiness::default() });
        true
    }

    /// Whether there is no room for another connection of its kind. Some places are reserved for people,
    /// against Claude and its tools, and some for these, against the Claudes of other sessions.
    fn full_for(&self, peer: &Peer) -> Option<RequestError> {
        let open_of = |is_of_kind: fn(&Peer) -> bool| {
            self.connections.values().filter(|connection| is_of_kind(&connection.peer)).count()
        };
        let (open, most, whose) = match peer {
            _ if self.connections.len() >= MAX_CONNECTIONS => (MAX_CONNECTIONS, MAX_CONNECTIONS, ""),
            Peer::Person => return None,
            Peer::Inside => (open_of(|other| *other == Peer::Inside), MAX_INSIDE, " of Claude and its tools"),
            Peer::Other(_) => {
                (open_of(|other| matches!(other, Peer::Other(_))), MAX_OUTSIDE, " of other sessions")
            }
        };
        let what = format!("{most} connections{whose} are already open");
        (open >= most).then(|| RequestError::new(Code::Busy, what, "try again"))
    }
}
