//! The control socket: accepts connections, and binds a socket file that vanished again.

use std::os::unix::net::UnixListener;
use std::time::Duration;

use crate::fs::session;
use crate::host::Host;
use crate::host::control::connection::Connection;
use crate::host::control::peer::Peer;
use crate::host::control::status::Restored;
use crate::host::jobs::handoffs::Done;
use crate::ipc::address;
use crate::ipc::message::{Code, Failure, error_line};
use crate::ipc::stream::FrameStream;
use crate::sys::poll::FdReadiness;

/// How long after its socket vanished a host binds it again by itself, in ms.
const REBIND_MS: u64 = 1000;
/// How long to accept no connections after running out of descriptors, in ms.
const ACCEPT_MS: u64 = 200;
/// How long checking its own socket may take.
const OWN_SOCKET: Duration = Duration::from_millis(50);
/// The most connections at once.
const MAX_CONNECTIONS: usize = 32;
/// The most from descendants of the session's own program: the rest is for people.
const MAX_INSIDE: usize = 16;
/// The most from the Claudes of other sessions; they do not count against the other two.
const MAX_OUTSIDE: usize = 8;
/// How many connections are accepted before others have their turn.
const TURN: u32 = 64;

impl Host {
    /// Binds a socket file that vanished again, a moment later, so as not to disturb whoever removes the
    /// directory.
    pub(in crate::host) fn rebind_soon(&mut self) {
        let at = self.clock.now().after(REBIND_MS);
        self.rebind_at.get_or_insert(at);
    }

    pub(in crate::host) fn rebind_when_due(&mut self) {
        if self.rebind_at.take_if(|at| *at <= self.clock.now()).is_some() {
            self.rebind();
        }
    }

    /// Has a thread check that the session can be reached, and restore what is missing for that.
    pub(in crate::host) fn rebind(&mut self) {
        let restore = self.restore();
        self.launch_writer.submit(move || {
            let unsafe_now = session::prepare(&restore.paths).is_err();
            let restored = restore.run();
            let socket = restore.paths.socket(&restored.name);
            let leave = unsafe_now || address::connect(&socket, OWN_SOCKET).is_ok();
            Done::Restored(Box::new(restored), if leave { None } else { address::bind(&socket).ok() })
        });
    }

    /// The session's directory is back, and its socket, if it had to be bound again.
    pub(in crate::host) fn rebound(&mut self, restored: Restored, listener: Option<UnixListener>) {
        self.restored(restored);
        if let Some(listener) = listener {
            self.listener = listener;
            // A new directory is not watched yet.
            self.observer.scan_all();
        }
    }

    pub(in crate::host) fn accept(&mut self) {
        for _ in 0..TURN {
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) => {
                    // A waiting connection stays readable: without a free descriptor this would spin.
                    let nobody = error.kind() == std::io::ErrorKind::WouldBlock;
                    self.accept_at = (!nobody).then(|| self.clock.now().after(ACCEPT_MS));
                    return;
                }
            };
            let Ok(mut stream) = FrameStream::new(socket) else { continue };
            let Ok((pid, uid)) = stream.peer() else { continue };
            // SAFETY: geteuid cannot fail.
            if uid != unsafe { nix::libc::geteuid() } {
                continue;
            }
            let (peer, began) = self.look_up(pid, stream.peer_process());
            if let Some(failure) = self.full_for(&peer) {
                stream.send(format!("{}{}", self.hello(), error_line(0, &failure)).as_bytes());
                continue;
            }
            let id = self.next_id;
            self.next_id += 1;
            let mut connection = Connection::new(stream, pid, self.clock.now());
            (connection.peer, connection.began) = (Some(peer), Some(began));
            self.connections.insert(id, Box::new(connection));
            self.connection_ready(id, FdReadiness { read: true, ..FdReadiness::default() });
        }
    }

    /// Whether there is no room for another connection of its kind. Some are reserved for people, which
    /// Claude and its tools cannot take, and some for these, which the Claude of another session cannot take.
    fn full_for(&self, peer: &Peer) -> Option<Failure> {
        let share = |peer: &Peer| match peer {
            Peer::Person => None,
            Peer::Inside => Some((MAX_INSIDE, "Claude and its tools")),
            Peer::Other(_) => Some((MAX_OUTSIDE, "other sessions")),
        };
        let of_kind = |most: usize, whose: &str| {
            let kind = |other: &Peer| share(other).is_some_and(|(_, other)| other == whose);
            let open = self
                .connections
                .values()
                .filter(|connection| kind(connection.peer.as_ref().unwrap_or(&Peer::Inside)))
                .count();
            (open >= most).then(|| format!("{most} connections of {whose} are already open"))
        };
        let what = if self.connections.len() >= MAX_CONNECTIONS {
            format!("{MAX_CONNECTIONS} connections are already open")
        } else {
            share(peer).and_then(|(most, whose)| of_kind(most, whose))?
        };
        Some(Failure::new(Code::Busy, what, "try again"))
    }
}
