//! The control socket: accepts connections, and says when a socket file that vanished is to be bound again.

use std::os::unix::net::{UnixListener, UnixStream};

use super::Control;
use super::connection::Connection;
use super::peer::Peer;
use crate::core::time::Stamp;
use crate::ipc::message::{Code, Failure, error_line};
use crate::ipc::stream::FrameStream;
use crate::sys::poll::FdReadiness;
use crate::sys::process::ProcessStart;

/// How long after its socket vanished a host binds it again by itself, in ms.
const REBIND_MS: u64 = 1000;
/// How long to accept no connections after running out of descriptors, in ms.
const ACCEPT_MS: u64 = 200;
/// The most connections at once.
const MAX_CONNECTIONS: usize = 32;
/// The most from descendants of the session's own program: the rest is for people.
const MAX_INSIDE: usize = 16;
/// The most from the Claudes of other sessions; they do not count against the other two.
const MAX_OUTSIDE: usize = 8;
/// How many connections are accepted before others have their turn.
pub(in crate::host) const TURN: u32 = 64;

impl Control {
    /// The connection to the process that started this host: it is about to attach. The two already know each
    /// other, because the client existed before the child.
    pub fn admit_launcher(&mut self, socket: UnixStream, now: Stamp) -> Option<u64> {
        let stream = FrameStream::new(socket).ok()?;
        let (pid, _) = stream.peer().unwrap_or_default();
        let mut connection = Connection::new(stream, Peer::Person, ProcessStart { pid, ticks: None }, now);
        connection.greeted(now);
        Some(self.admit(connection))
    }

    /// Asks for a socket file that vanished to be bound again, a moment later, so as not to disturb whoever
    /// removes the directory.
    pub fn rebind_soon(&mut self, now: Stamp) {
        self.rebind_at.get_or_insert(now.after(REBIND_MS));
    }

    /// When to bind the socket again.
    pub fn rebind_deadline(&self) -> Option<Stamp> {
        self.rebind_at
    }

    /// Whether the socket is to be bound again now; true once.
    pub fn take_rebind(&mut self, now: Stamp) -> bool {
        self.rebind_at.take_if(|at| *at <= now).is_some()
    }

    /// The socket was bound again.
    pub fn rebound(&mut self, listener: UnixListener) {
        self.listener = listener;
    }

    /// Accepts the next connection, and reads what came on it. False if nobody else waits.
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

    /// Whether there is no room for another connection of its kind. Some are reserved for people, which
    /// Claude and its tools cannot take, and some for these, which the Claude of another session cannot take.
    fn full_for(&self, peer: &Peer) -> Option<Failure> {
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
        (open >= most).then(|| Failure::new(Code::Busy, what, "try again"))
    }
}
