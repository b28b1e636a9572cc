//! One connection to the socket: how much of it may be read, what waits for it, and when it is due. What is
//! done with what it says is in `clients`; the client that it may have become is one of `terminals`.

use std::os::fd::AsFd;

use crate::host::event_loop::Token;

use crate::host::control::peer::Peer;

use crate::core::time::Stamp;
use crate::ipc::frame::{Frame, tag};
use crate::ipc::stream::FrameStream;
use crate::sys::poll::{Interest, PollSet, is_readable};

/// Bytes waiting for a peer that does not read its answers above which its requests are not read either.
const ANSWERS_HIGH: usize = 1 << 20;
/// How long the first line of a connection may take, in ms.
pub(in crate::host) const HELLO_MS: u64 = 5000;
/// How long a connection that waits for nothing may say nothing, in ms: a person's, and one of a descendant
/// or another Claude.
const IDLE_MS: (u64, u64) = (60_000, 10_000);
/// How long a session that is over stays for somebody who is about to ask, in ms.
pub(in crate::host) const ASKS_MS: u64 = 250;

/// One connection.
#[derive(Debug)]
pub(in crate::host) struct Connection {
    pub stream: FrameStream,
    pub greeted: bool,
    pub pid: i32,
    /// Who it is, and when its process began, in clock ticks since boot.
    pub peer: Option<Peer>,
    pub began: Option<u64>,
    /// When it last asked for something, or was answered.
    pub active: Stamp,
    /// It asked for the session's end and waits for that.
    pub stops: bool,
    /// It has just come, or was shown a screen in which it looks for something: until when its next request
    /// is waited for at the session's end.
    pub asks: Option<Stamp>,
    /// It is a client's: what follows comes in frames.
    pub framed: bool,
    pub opened: Stamp,
    /// To be closed when everything is written, and at this time whatever happens.
    pub closing: Option<Stamp>,
    /// There is more to take in than one turn allows.
    pub more: bool,
    /// What it sent has to wait.
    pub held: bool,
    /// It was told to send no more of what is typed.
    pub told_to_wait: bool,
    /// A `restart --wait` whose end this connection wants to hear.
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

    /// To be closed as soon as everything is written, at the latest after `limit_ms`.
    pub fn close(&mut self, now: Stamp, limit_ms: u64) {
        self.closing.get_or_insert(now.after(limit_ms));
    }

    /// Whether what it sends must wait: its own answers, or the child (`input_waits`), have to be read first.
    pub fn is_deaf(&self, input_waits: bool) -> bool {
        if self.framed { input_waits } else { self.stream.waiting() > ANSWERS_HIGH }
    }

    /// Where its bytes are relayed, the keyboard waits at the other end: behind what is typed, nothing else
    /// would be heard.
    pub fn tell_to_wait(&mut self, input_waits: bool) {
        if input_waits != self.told_to_wait {
            self.told_to_wait = input_waits;
            self.frame(tag::HOLD, &[u8::from(input_waits)]);
        }
    }

    /// When it is closed if nothing is waited for or asked by then.
    pub fn idle_until(&self) -> Option<Stamp> {
        let limit = if self.peer == Some(Peer::Person) { IDLE_MS.0 } else { IDLE_MS.1 };
        (self.greeted && !self.framed).then(|| self.active.after(limit))
    }

    pub fn deadline(&self, input_waits: bool) -> Option<Stamp> {
        // More of who is not heard is not due before it is heard again.
        if self.more && !self.is_deaf(input_waits) {
            return Some(Stamp(0));
        }
        let hello = (!self.greeted).then(|| self.opened.after(HELLO_MS));
        [hello, self.idle_until(), self.closing].into_iter().flatten().min()
    }

    pub fn watch<'fd>(&'fd self, set: &mut PollSet<'fd, Token>, id: u64, input_waits: bool) {
        let waits = self.is_deaf(input_waits) && (!self.framed || self.stream.is_full());
        let deaf = self.closing.is_some() || self.more || waits;
        let interest = match (deaf, self.stream.waiting() > 0) {
            (true, true) => Interest::Write,
            (true, false) => Interest::Gone,
            (false, true) => Interest::Both,
            (false, false) => Interest::Read,
        };
        set.add(Token::Connection(id), self.stream.as_fd(), interest);
    }

    /// Whether something came that was not read yet.
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
        // What the socket does not take, waits.
        connection.stream.send(&vec![b'x'; 8 * ANSWERS_HIGH]);
        assert!(connection.is_deaf(false));
        assert_eq!(connection.deadline(false), connection.idle_until());
    }
}
