//! Connections to the socket: control lines, hook calls, clients. Who is there, what arrives, and when they are closed.
//!
//! What becomes of a client's terminal is in `terminals`.

use std::os::fd::AsFd;

use super::lacks::Kind;
use super::seen::Window;
use super::sight::Sight;
use super::terminals::{Goal, Via};
use super::typing::Typing;
use super::{Host, Token};
use crate::core::process::Signal;
use crate::core::supervisor::event::{Asker, Coming, Event};
use crate::core::terminal::{Modes, Size};
use crate::core::time::Stamp;
use crate::io::outbuf::OutBuf;
use crate::io::poll::{Interest, PollSet, Ready as Readiness};
use crate::io::process::StatFile;
use crate::ipc::frame::{Frame, tag};
use crate::ipc::message::{Attach, Code, Failure, error_line};
use crate::ipc::stream::{Life, Stream};

/// Bytes waiting for a relay, or for a client that is stopped, above which the child is not read: it is throttled, not the
/// keyboard. For a terminal that takes bytes, none may wait: what is queued before it makes its keys slow.
pub(super) const OUT_HIGH: usize = 1 << 18;
/// Bytes waiting for a peer that does not read its answers above which its requests are not read either.
const ANSWERS_HIGH: usize = 1 << 20;
/// Lines or frames of one connection that are taken before others have their turn.
const TURN: u32 = 64;
/// Until when the first line must have come, in ms (CONTRACT C12).
const HELLO_MS: u64 = 5000;
/// How long a session that is over stays for somebody who is about to ask, in ms.
pub(super) const ASKS_MS: u64 = 250;
/// How long a connection that is to be closed may take to read its last answer, in ms.
const CLOSING_MS: u64 = 1000;

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub number: u32,
    /// Whether its process runs and has the foreground.
    pub stat: Option<StatFile>,
    pub size: Size,
    pub read_only: bool,
    pub typing: Typing,
    pub tty: Option<String>,
    pub window: Option<Window>,
    /// What its terminal cannot do.
    pub kind: Kind,
    /// The modes of its terminal before it made it raw, and after.
    pub found: Option<Modes>,
    pub raw: Option<Modes>,
    pub via: Via,
    pub sight: Sight,
    /// When its person typed last.
    pub typed: Stamp,
    pub out: OutBuf,
    /// What the client was last told to write if the host dies.
    pub undo: Vec<u8>,
    /// The run, the screen's `undo_revision`, and whether the run was muted, when that was.
    pub undo_seen: Option<(u32, u64, bool)>,
    /// It is stopped or in the background: when to look again, and since when.
    pub paused: Option<(Stamp, Stamp)>,
    /// When it was last seen to run.
    pub checked: Stamp,
    /// The child asked its terminal something: until when to wait for the answer.
    pub asked: Option<Stamp>,
    /// What happens as soon as everything is written.
    pub goal: Option<Goal>,
    /// How many bytes waited, and since when it is that many.
    pub progress: (usize, Stamp),
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
    /// Who it is, where that was looked up already.
    pub asker: Option<Asker>,
    /// It has just come, or was shown a screen in which it looks for something: until when its next request is waited for at the
    /// session's end.
    pub asks: Option<Stamp>,
    pub client: Option<Client>,
    opened: Stamp,
    /// To be closed when everything is written, and at this time whatever happens.
    closing: Option<Stamp>,
    /// There is more to take in than one turn allows.
    more: bool,
    /// What it sent has to wait.
    held: bool,
    /// It was told to send no more of what is typed.
    told_to_wait: bool,
    /// A `restart --wait` whose end this connection wants to hear.
    pub waits: Option<u64>,
}

impl Connection {
    pub fn new(stream: Stream, pid: i32, opened: Stamp) -> Self {
        Connection {
            stream,
            greeted: false,
            pid,
            asker: None,
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
            let limit = if client.paused.is_some() { OUT_HIGH } else { 1 };
            client.leaving || !client.gets_bytes() || (client.out.len() < limit && self.stream.waiting() < OUT_HIGH)
        })
    }

    /// Whether everything for it is written, and a client has had its farewell.
    pub fn is_quiet(&self) -> bool {
        self.stream.waiting() == 0 && self.client.as_ref().is_none_or(|client| client.out.is_empty() && client.leaving)
    }

    /// Whether this client's terminal is in use.
    pub fn watches(&self) -> bool {
        self.client.as_ref().is_some_and(|c| matches!(c.via, Via::Terminal(_) | Via::Relay(_)) && c.goal.is_none() && !c.leaving)
    }

    /// Whether a client's bytes come and go by this connection.
    pub fn is_relayed(&self) -> bool {
        self.client.as_ref().is_some_and(|client| matches!(client.via, Via::Relay(_)))
    }

    /// To be closed as soon as everything is written, at the latest after `limit_ms`.
    pub fn close(&mut self, now: Stamp, limit_ms: u64) {
        self.closing.get_or_insert(now.after(limit_ms));
    }

    /// Whether what it sends must wait: its own answers, or the child, have to be read first.
    fn is_deaf(&self, typing_waits: bool) -> bool {
        match &self.client {
            Some(client) => typing_waits && matches!(client.via, Via::Relay(_)),
            None => self.stream.waiting() > ANSWERS_HIGH,
        }
    }

    /// Where its bytes are relayed, the keyboard waits at the other end: behind what is typed, nothing else would be heard.
    fn tell_to_wait(&mut self, typing_waits: bool) {
        let waits = typing_waits && self.is_relayed();
        if waits != self.told_to_wait {
            self.told_to_wait = waits;
            self.frame(tag::HOLD, &[u8::from(waits)]);
        }
    }

    pub fn deadline(&self) -> Option<Stamp> {
        if self.more {
            return Some(Stamp(0));
        }
        let hello = (!self.greeted).then(|| self.opened.after(HELLO_MS));
        let client = self.client.as_ref().and_then(|c| c.deadline());
        [hello, self.closing, client].into_iter().flatten().min()
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
            && let Via::Terminal(terminal) = &client.via
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

    pub fn frame(&mut self, tag: u8, payload: &[u8]) {
        self.stream.send(&Frame::new(tag, payload).encode());
    }
}

impl Host {
    pub(super) fn connection_ready(&mut self, id: u64, ready: Readiness) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if ready.write {
            connection.stream.flush();
        }
        if connection.closing.is_some() {
            // Nothing is heard from it any more, but it need not wait for one that is gone.
            if ready.gone {
                self.connection_gone(id, "hangup");
            }
            return;
        }
        let mut life = if ready.read || ready.gone { connection.stream.fill() } else { Life::Open };
        (connection.more, connection.held) = (false, false);
        for n in 0.. {
            let typing_waits = self.typing_waits();
            let Some(connection) = self.connections.get_mut(&id) else { return };
            connection.held = connection.is_deaf(typing_waits);
            connection.more = n == TURN;
            let framed = connection.client.is_some();
            if connection.closing.is_some() || (connection.held && !framed) || connection.more {
                break;
            }
            let taken = if framed {
                // Only what was typed waits: a stop, a signal, a size do not.
                let stream = &mut connection.stream;
                let frame = if connection.held { stream.frame_but(tag::INPUT) } else { stream.frame() };
                frame.map(|frame| frame.map(|frame| self.take_frame(id, &frame)))
            } else {
                connection.stream.line().map(|line| line.map(|line| self.take_line(id, &line)))
            };
            match taken {
                Ok(Some(())) => {}
                Ok(None) => break,
                Err(error) => {
                    self.refuse_size(id, &error.to_string());
                    life = Life::Closed;
                    break;
                }
            }
        }
        // Who is gone altogether is not waited for until its turn comes: that may be never.
        let waits = self.connections.get(&id).is_some_and(|c| c.more || (c.held && !ready.gone));
        // Of one that is full no end is read.
        let gone = life == Life::Closed || (ready.gone && self.connections.get(&id).is_some_and(|c| c.stream.is_full()));
        if gone && !waits {
            self.connection_gone(id, "hangup");
        }
    }

    /// Lines or frames that are here already and had to wait.
    fn go_on(&mut self, id: u64) {
        let typing_waits = self.typing_waits();
        if self.connections.get(&id).is_some_and(|c| (c.more || c.held) && !c.is_deaf(typing_waits)) {
            self.connection_ready(id, Readiness::default());
        }
    }

    /// Whether the child has enough to read, or enough is kept for it, so that the keyboard waits.
    pub(super) fn typing_waits(&self) -> bool {
        self.kept.is_full() || self.run.as_ref().is_some_and(|run| run.input.len() > super::run::INPUT_HIGH)
    }

    /// A last word to a peer whose line was too long. Frames have no room for one.
    fn refuse_size(&mut self, id: u64, what: &str) {
        let framed = self.connections.get(&id).is_some_and(|c| c.client.is_some());
        if !framed {
            let failure = Failure::new(Code::TooLarge, what, "send less");
            self.send(id, &error_line(0, &failure));
        }
    }

    /// Connections that never spoke, or that are to be closed, and what is due for clients.
    pub(super) fn expire_connections(&mut self) {
        let now = self.clock.now();
        let ids: Vec<u64> = self.connections.keys().copied().collect();
        for id in ids {
            self.go_on(id);
            self.flush_typing(id);
            self.draw(id);
            self.look_again(id);
            self.pursue(id);
            self.tell_undo(id);
            let typing_waits = self.typing_waits();
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            connection.tell_to_wait(typing_waits);
            let silent = !connection.greeted && now >= connection.opened.after(HELLO_MS);
            let over = connection.closing.is_some_and(|until| connection.is_quiet() || now >= until);
            if silent || over {
                self.connections.remove(&id);
            }
        }
    }

    pub(super) fn attach(&mut self, id: u64, attach: &Attach) -> u32 {
        let number = self.next_client;
        self.next_client += 1;
        let how = if self.launcher.take() == Some(id) { Coming::Starts } else { Coming::Joins };
        let now = self.clock.now();
        let wanted = &self.launch.config.program.update_env;
        self.lent_env.extend(attach.env.iter().filter(|(name, _)| wanted.contains(name)).map(|(n, v)| (n.clone(), v.clone())));
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.client = Some(Client {
                number,
                stat: StatFile::open(connection.pid).ok(),
                size: attach.size,
                read_only: attach.read_only,
                typing: Typing::new(self.launch.config.terminal.prefix.byte()),
                tty: attach.tty.clone(),
                kind: Kind::of(&attach.term),
                window: Window::of(attach.tty.as_deref(), connection.pid),
                found: attach.termios.clone(),
                raw: attach.raw.clone(),
                via: Via::Waiting,
                sight: Sight::Bytes,
                typed: Stamp(0),
                out: OutBuf::default(),
                undo: Vec::new(),
                undo_seen: None,
                paused: None,
                checked: now,
                asked: None,
                goal: None,
                progress: (0, now),
                redo: None,
                returns: false,
                leaving: false,
            });
        }
        self.events.push_back(Event::Attached { client: number, how });
        number
    }

    fn take_frame(&mut self, id: u64, frame: &Frame) {
        match frame.tag {
            tag::TERMINAL => self.take_terminal(id),
            tag::INPUT => self.typed(id, &frame.payload),
            tag::RESIZE => self.client_resized(id, &frame.payload),
            tag::RELEASE => self.release(id),
            tag::RESUME => self.resume(id),
            tag::DETACH => self.say_bye(id, "detached", None),
            tag::HANGUP => self.hung_up(id),
            tag::SIGNAL => {
                if let Some(number) = frame.payload.first() {
                    self.pass_signal(Signal(i32::from(*number)));
                }
            }
            _ => {}
        }
    }

    fn client_resized(&mut self, id: u64, payload: &[u8]) {
        let Some(size) = read_size(payload) else { return };
        let Some(client) = self.client_mut(id) else { return };
        client.size = size;
        self.fit();
    }

    /// A client was told to end: its program is told instead (CONTRACT C2).
    fn pass_signal(&mut self, signal: Signal) {
        // Only these are passed on; a hostile client cannot make the host send anything else.
        use nix::libc::{SIGCONT, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
        if ![SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2].contains(&signal.0) {
            return;
        }
        self.events.push_back(Event::Passed { signal });
        self.signal_child(signal, true);
        if [SIGINT, SIGQUIT, SIGTERM].contains(&signal.0) {
            // Like a shell's `kill %1`: a stopped program must go on to hear it.
            self.signal_child(Signal(SIGCONT), true);
        }
    }

    pub(super) fn client_mut(&mut self, id: u64) -> Option<&mut Client> {
        self.connections.get_mut(&id)?.client.as_mut()
    }

    /// A connection that broke, with or without a word before.
    pub(super) fn connection_gone(&mut self, id: u64, why: &str) {
        let Some(mut connection) = self.connections.remove(&id) else { return };
        if self.launcher.take_if(|launcher| *launcher == id).is_some() {
            // It ended before it attached: Ctrl+C while hopty was starting.
            self.events.push_back(Event::Stop { id: 0, kill: false });
        }
        self.unlead(id);
        self.hook_connection_gone(id);
        let Some(mut client) = connection.client.take() else { return };
        if client.leaving {
            return;
        }
        // The client died without a word: its terminal is made whole from here.
        self.mend(&mut client);
        self.detached(client.number, why);
    }

    /// What follows from a terminal that went away.
    pub(super) fn detached(&mut self, number: u32, why: &str) {
        self.events.push_back(Event::Detached { client: number, why: why.to_owned() });
        let ends = why == "hangup" && self.launch.config.terminal.on_hangup == crate::core::config::OnHangup::End;
        if ends && self.exit.is_none() {
            self.events.push_back(Event::Stop { id: 0, kill: false });
        }
    }

    /// Clients, for listings.
    pub(super) fn client_list(&self) -> serde_json::Value {
        let list = self.connections.iter().filter_map(|(id, connection)| {
            let client = connection.client.as_ref().filter(|client| !client.leaving)?;
            Some(serde_json::json!({
                "id": client.number, "tty": client.tty, "cols": client.size.cols, "rows": client.size.rows,
                "leader": self.leader == Some(*id), "read_only": client.read_only, "via": client.via.word(),
            }))
        });
        list.collect()
    }

    /// Whether a terminal is still taking the program's last bytes, which are owed to it.
    pub(super) fn owes_bytes(&self) -> bool {
        self.connections.values().any(|c| c.client.as_ref().is_some_and(Client::is_ending))
    }

    /// Closes a control connection after its last answer.
    pub(super) fn close_connection(&mut self, id: u64) {
        let now = self.clock.now();
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.close(now, CLOSING_MS);
        }
    }
}

fn read_size(payload: &[u8]) -> Option<Size> {
    let part = |n: usize| Some(u16::from_le_bytes([*payload.get(2 * n)?, *payload.get(2 * n + 1)?]));
    Some(Size { cols: part(0)?, rows: part(1)?, xpixel: part(2)?, ypixel: part(3)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_frame_must_be_whole() {
        let size = Size { cols: 80, rows: 24, xpixel: 1, ypixel: 258 };
        assert_eq!(read_size(&[80, 0, 24, 0, 1, 0, 2, 1]), Some(size));
        assert_eq!(read_size(&[80, 0, 24, 0, 1, 0, 2]), None);
    }
}
