//! One connection to the socket: how much of it may be read, what waits for it, and its deadlines.

use std::os::fd::AsFd;

use crate::host::event_loop::PollToken;

use crate::host::control::peer::Peer;

use crate::core::time::Stamp;
use crate::ipc::frame::{Frame, tag};
use crate::ipc::stream::FrameStream;
use crate::sys::poll::{Interest, PollSet, is_readable};

/// Bytes of unread answers above which a peer's requests are not read either.
const ANSWERS_HIGH: usize = 1 << 20;
/// How long the first line of a connection may take, in ms.
const HELLO_MS: u64 = 5000;
/// How long a connection that waits for nothing may be silent, in ms: a person's, and that of a descendant or
/// another Claude.
const IDLE_MS: (u64, u64) = (60_000, 10_000);
/// How long a connection that is being closed may take to read its last answer, in ms.
pub(super) const CLOSING_MS: u64 = 1000;
/// How long a session that is over stays for a client that is about to send a request, in ms.
pub(super) const ASKS_MS: u64 = 250;

/// One connection.
#[derive(Debug)]
pub(in crate::host) struct Connection {
    pub stream: FrameStream,
    pub greeted: bool,
    pub pid: i32,
    /// The peer, and when its process began, in clock ticks since boot.
    pub peer: Option<Peer>,
    pub began: Option<u64>,
    /// When it last sent a request or got an answer.
    pub active: Stamp,
    /// It asked to end the session and waits for that.
    pub stops: bool,
    /// It has just connected, or was shown a screen that it searches: at the session's end, how long to wait
    /// for its next request.
    pub asks: Option<Stamp>,
    /// It belongs to a client: frames follow.
    pub framed: bool,
    pub opened: Stamp,
    /// Close it once everything is written, and at this time in any case.
    pub closing: Option<Stamp>,
    /// It has more input than one turn handles.
    pub more: bool,
    /// Its input has to wait.
    pub held: bool,
    /// It was told to stop sending typed bytes.
    pub told_to_wait: bool,
    /// The `restart --wait` whose outcome this connection waits for.
    pub waits: Option<u64>,
}

impl Connection {
    pub fn new(stream: FrameStream, pid: i32, opened: Stamp) -> Self {
        Connection {
            stream,
            greeted: false,
            pid,
            peer: None,
            began: None,
            active: opened,
            stops: false,
            asks: Some(opened.after(ASKS_MS)),
            framed: false,
            opened,
            closing: None,
            more: false,
            held: false,
            told_to_wait: false,
            waits: None,
        }
    }

    /// Whether everything for it is written.
    pub fn is_quiet(&self) -> bool {
        self.stream.waiting() == 0
    }

    /// Closes it once everything is written, at the latest after `limit_ms`.
    pub fn close(&mut self, now: Stamp, limit_ms: u64) {
        self.closing.get_or_insert(now.after(limit_ms));
    }

    /// Whether its input must wait: its own answers, or the child (`input_waits`), have to be read first.
    pub fn is_deaf(&self, input_waits: bool) -> bool {
        if self.framed { input_waits } else { self.stream.waiting() > ANSWERS_HIGH }
    }

    /// A relayed client holds its keyboard back itself: no other frame could get past typed bytes.
    pub fn tell_to_wait(&mut self, input_waits: bool) {
        if input_waits != self.told_to_wait {
            self.told_to_wait = input_waits;
            self.frame(tag::HOLD, &[u8::from(input_waits)]);
        }
    }

    /// When it is closed if it neither waits nor sends a request by then.
    pub fn idle_until(&self) -> Option<Stamp> {
        let limit = if self.peer == Some(Peer::Person) { IDLE_MS.0 } else { IDLE_MS.1 };
        (self.greeted && !self.framed).then(|| self.active.after(limit))
    }

    /// Whether it is to be closed now: it never spoke, or its last answer is written or has taken too long.
    /// `client_quiet`: its client's terminal has taken everything.
    pub(super) fn is_over(&self, now: Stamp, client_quiet: bool) -> bool {
        let silent = !self.greeted && now >= self.opened.after(HELLO_MS);
        let quiet = self.is_quiet() && client_quiet;
        silent || self.closing.is_some_and(|until| quiet || now >= until)
    }

    pub fn deadline(&self, input_waits: bool) -> Option<Stamp> {
        // Do not poll paused connections: their backlog is not due.
        if self.more && !self.is_deaf(input_waits) {
            return Some(Stamp(0));
        }
        let hello = (!self.greeted).then(|| self.opened.after(HELLO_MS));
        [hello, self.idle_until(), self.closing].into_iter().flatten().min()
    }

    pub fn watch<'fd>(&'fd self, set: &mut PollSet<'fd, PollToken>, id: u64, input_waits: bool) {
        let waits = self.is_deaf(input_waits) && (!self.framed || self.stream.is_full());
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
        let mut connection = Connection::new(FrameStream::new(near).unwrap(), 1, Stamp(0));
        (connection.greeted, connection.more) = (true, true);
        assert_eq!(connection.deadline(false), Some(Stamp(0)));
        // The bytes that the socket does not take are queued.
        connection.stream.send(&vec![b'x'; 8 * ANSWERS_HIGH]);
        assert!(connection.is_deaf(false));
        assert_eq!(connection.deadline(false), connection.idle_until());
    }
}
