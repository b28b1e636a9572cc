//! One connection to the socket: how much of it may be read, what waits to be written, and its deadlines.

use std::os::fd::AsFd;

use crate::host::event_loop::PollToken;

use crate::host::control::peer::Peer;

use crate::core::time::Stamp;
use crate::ipc::frame::{Frame, tag};
use crate::ipc::stream::FrameStream;
use crate::sys::poll::{Interest, PollSet, is_readable};
use crate::sys::process::ProcessStart;

/// Bytes of unread answers above which requests are not read either: a person's, and those of a descendant or
/// another Claude. A crowd of these that reads nothing must not keep the host busy.
const ANSWERS_HIGH: (usize, usize) = (1 << 20, 1 << 16);
/// How long the first line of a connection may take, in ms.
const HELLO_MS: u64 = 5000;
/// How long an idle connection is kept, in ms: a person's, and that of a descendant or another Claude.
const IDLE_MS: (u64, u64) = (60_000, 10_000);
/// How long a connection that is being closed may take to read its last answer, in ms.
pub(super) const CLOSING_MS: u64 = 1000;
/// How long a session that has ended waits for a client's next request, in ms.
pub(super) const NEXT_REQUEST_MS: u64 = 250;

/// What a connection carries.
#[derive(Debug)]
pub(in crate::host) enum ConnectionStage {
    /// Nothing yet; the time since which its first line is awaited.
    Greeting(Stamp),
    /// Requests and hook calls, one per line.
    Requests(RequestLines),
    /// A client's frames.
    Client {
        /// It was asked to stop sending typed bytes.
        is_paused: bool,
    },
}

/// What the host still expects from a peer that sends requests, and what the peer waits for.
#[derive(Debug)]
pub(in crate::host) struct RequestLines {
    /// When it last sent a request or got an answer.
    pub active: Stamp,
    /// It has just connected, or got a screen to search: how long to wait for its next request at the
    /// session's end.
    pub asks: Option<Stamp>,
    /// It asked to end the session and waits for that.
    pub stops: bool,
    /// The `restart --wait` whose outcome it waits for.
    pub restart: Option<u64>,
}

#[derive(Debug)]
pub(in crate::host) struct Connection {
    pub stream: FrameStream,
    pub peer: Peer,
    pub process: ProcessStart,
    /// The current run when it connected.
    pub run: u32,
    pub stage: ConnectionStage,
    /// Close it once everything is written, and at this time in any case.
    pub closing: Option<Stamp>,
    /// It has more input than one turn handles.
    pub more: bool,
    /// Its input must wait.
    pub held: bool,
}

impl Connection {
    pub fn new(stream: FrameStream, peer: Peer, process: ProcessStart, opened: Stamp) -> Self {
        let stage = ConnectionStage::Greeting(opened);
        Connection { stream, peer, process, run: 0, stage, closing: None, more: false, held: false }
    }

    /// The peer has sent its hello; requests follow.
    pub fn greeted(&mut self, now: Stamp) {
        if let ConnectionStage::Greeting(opened) = self.stage {
            let asks = Some(opened.after(NEXT_REQUEST_MS));
            self.stage =
                ConnectionStage::Requests(RequestLines { active: now, asks, stops: false, restart: None });
        }
    }

    /// The state of a peer that sends requests; `None` before its hello, and for a client.
    pub fn requests(&mut self) -> Option<&mut RequestLines> {
        if let ConnectionStage::Requests(requests) = &mut self.stage { Some(requests) } else { None }
    }

    /// Whether it belongs to a client.
    pub fn is_client(&self) -> bool {
        matches!(self.stage, ConnectionStage::Client { .. })
    }

    /// Whether its peer waits for the end of the session or of a restart.
    pub fn is_waiting(&self) -> bool {
        matches!(&self.stage, ConnectionStage::Requests(requests) if requests.stops || requests.restart.is_some())
    }

    /// How long to wait for its next request at the session's end.
    pub fn asks_until(&self) -> Option<Stamp> {
        match &self.stage {
            ConnectionStage::Greeting(opened) => Some(opened.after(NEXT_REQUEST_MS)),
            ConnectionStage::Requests(requests) => requests.asks,
            ConnectionStage::Client { .. } => None,
        }
    }

    /// Restarts its idle time.
    pub fn note_active(&mut self, now: Stamp) {
        if let Some(requests) = self.requests() {
            requests.active = now;
        }
    }

    /// Whether everything for it has been written.
    pub fn is_quiet(&self) -> bool {
        self.stream.waiting() == 0
    }

    /// Closes it once everything is written, at the latest after `limit_ms`.
    pub fn close(&mut self, now: Stamp, limit_ms: u64) {
        self.closing.get_or_insert(now.after(limit_ms));
    }

    /// Whether its input must wait: its own answers, or the child (`input_waits`), have to be read first.
    pub fn is_deaf(&self, input_waits: bool) -> bool {
        if self.is_client() { input_waits } else { self.stream.waiting() > self.of_peer(ANSWERS_HIGH) }
    }

    /// Asks a relayed client to pause its keyboard: typed bytes in the socket would block every frame after
    /// them.
    pub fn pause_typing(&mut self, input_waits: bool) {
        if let ConnectionStage::Client { is_paused } = &mut self.stage
            && *is_paused != input_waits
        {
            *is_paused = input_waits;
            self.frame(tag::HOLD, &[u8::from(input_waits)]);
        }
    }

    /// When it is closed for being idle.
    pub fn idle_until(&self) -> Option<Stamp> {
        let ConnectionStage::Requests(requests) = &self.stage else { return None };
        Some(requests.active.after(self.of_peer(IDLE_MS)))
    }

    /// The limit that applies to its peer: a person's, or that of everybody else.
    pub(super) fn of_peer<T>(&self, (person, other): (T, T)) -> T {
        if self.peer == Peer::Person { person } else { other }
    }

    /// When it is closed for not having sent a hello.
    fn greeting_until(&self) -> Option<Stamp> {
        if let ConnectionStage::Greeting(opened) = self.stage { Some(opened.after(HELLO_MS)) } else { None }
    }

    /// Whether to close it now: it never spoke, or its last answer was written or took too long.
    /// `client_quiet`: its client's terminal has taken everything.
    pub(super) fn is_over(&self, now: Stamp, client_quiet: bool) -> bool {
        let silent = self.greeting_until().is_some_and(|until| now >= until);
        let quiet = self.is_quiet() && client_quiet;
        silent || self.closing.is_some_and(|until| quiet || now >= until)
    }

    pub fn deadline(&self, input_waits: bool) -> Option<Stamp> {
        // Do not poll paused connections: their backlog is not due.
        if self.more && !self.is_deaf(input_waits) {
            return Some(Stamp(0));
        }
        [self.greeting_until(), self.idle_until(), self.closing].into_iter().flatten().min()
    }

    pub fn watch<'fd>(&'fd self, set: &mut PollSet<'fd, PollToken>, id: u64, input_waits: bool) {
        let waits = self.is_deaf(input_waits) && (!self.is_client() || self.stream.is_full());
        let deaf = self.closing.is_some() || self.more || waits;
        let interest = match (deaf, self.stream.waiting() > 0) {
            (true, true) => Interest::Write,
            (true, false) => Interest::Gone,
            (false, true) => Interest::Both,
            (false, false) => Interest::Read,
        };
        set.add(PollToken::Connection(id), self.stream.as_fd(), interest);
    }

    /// Whether unread data has arrived.
    pub fn has_input(&self) -> bool {
        is_readable(self.stream.as_fd())
    }

    pub fn frame(&mut self, tag: u8, payload: &[u8]) {
        self.stream.send(&Frame::new(tag, payload).encode());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn more_of_who_reads_no_answers_is_not_due() {
        let (_far, near) = UnixStream::pair().unwrap();
        let mut connection = Connection::new(
            FrameStream::new(near).unwrap(),
            Peer::Person,
            ProcessStart { pid: 1, ticks: None },
            Stamp(0),
        );
        connection.greeted(Stamp(0));
        connection.more = true;
        assert_eq!(connection.deadline(false), Some(Stamp(0)));
        // Bytes that the socket does not take are queued.
        connection.stream.send(&vec![b'x'; 8 * ANSWERS_HIGH.0]);
        assert!(connection.is_deaf(false));
        assert_eq!(connection.deadline(false), connection.idle_until());
    }
}
