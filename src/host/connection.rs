//! One connection to the socket, and the client that it may have become: how much of it may be read, what waits for it, and
//! when it is due. What is done with what it says is in `clients`.

use std::os::fd::AsFd;

use super::event_loop::Token;

use super::peer::Peer;

use super::keyboard::ClientInput;
use super::terminals::{AfterFlush, Capabilities, TerminalId, Transport, Viewport};
use crate::core::supervisor::event::Coming;
use crate::core::terminal::{Modes, Size};
use crate::core::time::Stamp;
use crate::ipc::frame::{Frame, tag};
use crate::ipc::stream::Stream;
use crate::screen::Open;
use crate::sys::outbuf::OutBuf;
use crate::sys::poll::{Interest, PollSet, is_readable};
use crate::sys::process::StatFile;

/// Bytes waiting for a relay, or for a client that is stopped, above which the child is not read: it is throttled, not the
/// keyboard.
pub(super) const OUT_HIGH: usize = 1 << 18;
/// The same for a terminal that takes bytes: enough for the child to go on while somebody else has that one's processor, and little to
/// wait for behind Ctrl+C.
const AHEAD: usize = 1 << 14;
/// Bytes waiting for a peer that does not read its answers above which its requests are not read either.
const ANSWERS_HIGH: usize = 1 << 20;
/// Until when the first line must have come, in ms (CONTRACT C12).
pub(super) const HELLO_MS: u64 = 5000;
/// How long a connection that waits for nothing may say nothing, in ms: a person's, and one of a descendant or another Claude.
const IDLE_MS: (u64, u64) = (60_000, 10_000);
/// How long a session that is over stays for somebody who is about to ask, in ms.
pub(super) const ASKS_MS: u64 = 250;

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub number: u32,
    /// Where it comes from.
    pub how: Coming,
    /// Whether its process runs and has the foreground.
    pub stat: Option<StatFile>,
    pub size: Size,
    pub read_only: bool,
    pub typing: ClientInput,
    pub tty: Option<String>,
    pub window: Option<TerminalId>,
    /// What its terminal cannot do.
    pub kind: Capabilities,
    /// Where in the child's bytes a terminal is that gets only their text.
    pub text: Open,
    /// The modes of its terminal before it made it raw, and after.
    pub found: Option<Modes>,
    pub raw: Option<Modes>,
    pub via: Transport,
    pub viewport: Viewport,
    /// When its person typed last.
    pub typed: Stamp,
    pub out: OutBuf,
    /// What the client was last told to write if the host dies.
    pub undo: Vec<u8>,
    /// The run, the screen's `undo_revision`, and whether the run was muted, when that was.
    pub undo_seen: Option<(u32, u64, bool)>,
    /// The screen's `revision` then.
    pub undo_drawn: u64,
    /// The program has drawn since: when the client is told anew.
    pub undo_at: Option<Stamp>,
    /// It is stopped or in the background: when to look again, and since when.
    pub paused: Option<(Stamp, Stamp)>,
    /// When it was last seen to run.
    pub checked: Stamp,
    /// The child asked its terminal something: until when to wait for the answer.
    pub asked: Option<Stamp>,
    /// What happens as soon as everything is written.
    pub goal: Option<AfterFlush>,
    /// How many bytes waited, and since when it is that many.
    pub progress: (usize, Stamp),
    /// It takes nothing and holds the program up: the bytes that it had taken by then, and since when.
    pub stalled: Option<(u64, Stamp)>,
    /// The run that it was suspended from, and what turns on again what was turned off; none where only a picture can.
    pub redo: Option<(u32, Vec<u8>)>,
    /// It was here before and comes back from a suspension.
    pub returns: bool,
    pub leaving: bool,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub stream: Stream,
    pub greeted: bool,
    pub pid: i32,
    /// Who it is, and when its process began, in clock ticks since boot.
    pub peer: Option<Peer>,
    pub began: Option<u64>,
    /// When it last asked for something, or was answered.
    pub active: Stamp,
    /// It asked for the session's end and waits for that.
    pub stops: bool,
    /// It has just come, or was shown a screen in which it looks for something: until when its next request is waited for at the
    /// session's end.
    pub asks: Option<Stamp>,
    pub client: Option<Client>,
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
    pub fn new(stream: Stream, pid: i32, opened: Stamp) -> Self {
        Connection {
            stream,
            greeted: false,
            pid,
            peer: None,
            began: None,
            active: opened,
            stops: false,
            asks: Some(opened.after(ASKS_MS)),
            client: None,
            opened,
            closing: None,
            more: false,
            held: false,
            told_to_wait: false,
            waits: None,
        }
    }

    /// Whether more output may be read for it.
    pub fn has_room(&self) -> bool {
        self.client.as_ref().is_none_or(|client| {
            let limit = if client.paused.is_some() { OUT_HIGH } else { AHEAD };
            client.leaving || !client.gets_bytes() || (client.out.len() < limit && self.stream.waiting() < OUT_HIGH)
        })
    }

    /// Whether everything for it is written, and a client has had its farewell.
    pub fn is_quiet(&self) -> bool {
        self.stream.waiting() == 0 && self.client.as_ref().is_none_or(|client| client.out.is_empty() && client.leaving)
    }

    /// Whether this client's terminal is in use.
    pub fn watches(&self) -> bool {
        self.client
            .as_ref()
            .is_some_and(|c| matches!(c.via, Transport::Borrowed(_) | Transport::Relayed(_)) && c.goal.is_none() && !c.leaving)
    }

    /// Whether a client's bytes come and go by this connection.
    pub fn is_relayed(&self) -> bool {
        self.client.as_ref().is_some_and(|client| matches!(client.via, Transport::Relayed(_)))
    }

    /// To be closed as soon as everything is written, at the latest after `limit_ms`.
    pub fn close(&mut self, now: Stamp, limit_ms: u64) {
        self.closing.get_or_insert(now.after(limit_ms));
    }

    /// Whether what it sends must wait: its own answers, or the child, have to be read first.
    pub fn is_deaf(&self, typing_waits: bool) -> bool {
        match &self.client {
            Some(client) => typing_waits && matches!(client.via, Transport::Relayed(_)),
            None => self.stream.waiting() > ANSWERS_HIGH,
        }
    }

    /// Where its bytes are relayed, the keyboard waits at the other end: behind what is typed, nothing else would be heard.
    pub fn tell_to_wait(&mut self, typing_waits: bool) {
        let waits = typing_waits && self.is_relayed();
        if waits != self.told_to_wait {
            self.told_to_wait = waits;
            self.frame(tag::HOLD, &[u8::from(waits)]);
        }
    }

    /// When it is closed if nothing is waited for or asked by then.
    pub fn idle_until(&self) -> Option<Stamp> {
        let limit = if self.peer == Some(Peer::Person) { IDLE_MS.0 } else { IDLE_MS.1 };
        (self.greeted && self.client.is_none()).then(|| self.active.after(limit))
    }

    pub fn deadline(&self, typing_waits: bool) -> Option<Stamp> {
        // More of who is not heard is not due before it is heard again.
        if self.more && !self.is_deaf(typing_waits) {
            return Some(Stamp(0));
        }
        let hello = (!self.greeted).then(|| self.opened.after(HELLO_MS));
        let client = self.client.as_ref().and_then(|c| c.deadline());
        [hello, self.idle_until(), self.closing, client].into_iter().flatten().min()
    }

    pub fn watch<'fd>(&'fd self, set: &mut PollSet<'fd, Token>, id: u64, typing_waits: bool) {
        let waits = self.is_deaf(typing_waits) && (self.client.is_none() || self.stream.is_full());
        let deaf = self.closing.is_some() || self.more || waits;
        let interest = match (deaf, self.stream.waiting() > 0) {
            (true, true) => Interest::Write,
            (true, false) => Interest::Gone,
            (false, true) => Interest::Both,
            (false, false) => Interest::Read,
        };
        set.add(Token::Connection(id), self.stream.as_fd(), interest);
    }

    pub fn watch_terminal<'fd>(&'fd self, set: &mut PollSet<'fd, Token>, id: u64, typing_waits: bool) {
        if let Some(client) = &self.client
            && let Transport::Borrowed(terminal) = &client.via
            && client.paused.is_none()
        {
            // What is typed after the program's end is for the shell.
            match (typing_waits || client.is_ending(), client.out.is_empty()) {
                (false, true) => set.add(Token::Terminal(id), terminal.as_fd(), Interest::Read),
                (false, false) => set.add(Token::Terminal(id), terminal.as_fd(), Interest::Both),
                (true, false) => set.add(Token::Terminal(id), terminal.as_fd(), Interest::Write),
                (true, true) => set.add(Token::Terminal(id), terminal.as_fd(), Interest::Gone),
            }
        }
    }

    /// Whether its person has typed what was not read yet.
    pub fn has_typed(&self) -> bool {
        self.client.as_ref().is_some_and(|client| match &client.via {
            Transport::Borrowed(terminal) => client.paused.is_none() && is_readable(terminal.as_fd()),
            Transport::Relayed(_) => is_readable(self.stream.as_fd()),
            Transport::Pending | Transport::Released => false,
        })
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
        let mut connection = Connection::new(Stream::new(near).unwrap(), 1, Stamp(0));
        (connection.greeted, connection.more) = (true, true);
        assert_eq!(connection.deadline(false), Some(Stamp(0)));
        // What the socket does not take, waits.
        connection.stream.send(&vec![b'x'; 8 * ANSWERS_HIGH]);
        assert!(connection.is_deaf(false));
        assert_eq!(connection.deadline(false), connection.idle_until());
    }
}
