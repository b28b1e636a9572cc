//! Connections to the socket: control lines, hook calls, and clients with a terminal.

use std::os::fd::AsFd;

use super::keys::Typing;
use super::{Host, STOPPED_LOOK_MS, Token, report};
use crate::core::process::Signal;
use crate::core::supervisor::event::Event;
use crate::core::terminal::{Modes, Size};
use crate::core::time::Stamp;
use crate::io::fd::read_some;
use crate::io::outbuf::OutBuf;
use crate::io::poll::{Interest, PollSet, Ready as Readiness};
use crate::io::process::Stat;
use crate::ipc::frame::{Frame, tag};
use crate::ipc::message::Attach;
use crate::ipc::stream::{Life, Stream};
use crate::tty::handed::Handed;

/// Bytes waiting for a client above which the child is not read: it is throttled, not the keyboard.
const OUT_HIGH: usize = 1 << 18;
/// Until when the first line must have come, in ms (CONTRACT C12).
const HELLO_MS: u64 = 5000;
/// Connections at once (CONTRACT C12).
const MAX_CONNECTIONS: usize = 32;

/// How bytes reach a client's terminal.
#[derive(Debug)]
enum Via {
    /// Not settled yet; output is kept.
    Waiting,
    /// The host reads and writes it.
    Terminal(Handed),
    /// The client does, frames carry the bytes.
    Relay,
    /// The client has its terminal back for a while (suspended), or is leaving.
    Released,
}

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub number: u32,
    pub size: Size,
    pub read_only: bool,
    pub typing: Typing,
    tty: Option<String>,
    found: Option<Modes>,
    via: Via,
    out: OutBuf,
    undo: Vec<u8>,
    look_again: Option<Stamp>,
    leaving: bool,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub stream: Stream,
    pub greeted: bool,
    pub pid: i32,
    pub client: Option<Client>,
    opened: Stamp,
    pub closing: bool,
    /// A `restart --wait` whose end this connection wants to hear.
    pub waits: Option<u64>,
}

impl Connection {
    /// Whether more output may be read for it.
    pub fn has_room(&self) -> bool {
        self.client.as_ref().is_none_or(|client| client.out.len() < OUT_HIGH && self.stream.waiting() < OUT_HIGH)
    }

    /// Whether everything for it is written, and a client has had its farewell.
    pub fn is_quiet(&self) -> bool {
        self.stream.waiting() == 0 && self.client.as_ref().is_none_or(|client| client.out.is_empty() && client.leaving)
    }

    /// Whether a terminal that can answer queries is behind it.
    pub fn has_terminal(&self) -> bool {
        self.client.as_ref().is_some_and(|client| !matches!(client.via, Via::Released))
    }

    pub fn deadline(&self, _now: Stamp) -> Option<Stamp> {
        let hello = (!self.greeted).then(|| self.opened.after(HELLO_MS));
        let client = self.client.as_ref().and_then(|c| [c.look_again, c.typing.deadline()].into_iter().flatten().min());
        [hello, client].into_iter().flatten().min()
    }

    pub fn watch<'fd>(&'fd self, set: &mut PollSet<'fd, Token>, id: u64, typing_waits: bool) {
        let interest = if self.stream.waiting() > 0 { Interest::Both } else { Interest::Read };
        set.add(Token::Connection(id), self.stream.as_fd(), interest);
        if let Some(client) = &self.client
            && let Via::Terminal(terminal) = &client.via
            && client.look_again.is_none()
        {
            match (typing_waits, client.out.is_empty()) {
                (false, true) => set.add(Token::Terminal(id), terminal.as_fd(), Interest::Read),
                (false, false) => set.add(Token::Terminal(id), terminal.as_fd(), Interest::Both),
                (true, false) => set.add(Token::Terminal(id), terminal.as_fd(), Interest::Write),
                (true, true) => {}
            }
        }
    }

    fn frame(&mut self, tag: u8, payload: &[u8]) {
        self.stream.send(&Frame::new(tag, payload).encode());
    }
}

impl Host {
    pub(super) fn accept(&mut self) {
        while let Ok((socket, _)) = self.listener.accept() {
            let Ok(stream) = Stream::new(socket) else { continue };
            let Ok((pid, uid)) = stream.peer() else { continue };
            // SAFETY: geteuid cannot fail.
            if uid != unsafe { nix::libc::geteuid() } || self.connections.len() >= MAX_CONNECTIONS {
                continue;
            }
            let id = self.next_id;
            self.next_id += 1;
            let connection =
                Connection { stream, greeted: false, pid, client: None, opened: self.clock.now(), closing: false, waits: None };
            self.connections.insert(id, connection);
            self.connection_ready(id, Readiness { read: true, ..Readiness::default() });
        }
    }

    pub(super) fn connection_ready(&mut self, id: u64, ready: Readiness) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if ready.write {
            connection.stream.flush();
        }
        let mut life = if ready.read { connection.stream.fill() } else { Life::Open };
        loop {
            let Some(connection) = self.connections.get_mut(&id) else { return };
            if connection.closing {
                break;
            }
            if connection.client.is_some() {
                match connection.stream.frame() {
                    Ok(Some(frame)) => self.take_frame(id, &frame),
                    Ok(None) => break,
                    Err(_) => {
                        life = Life::Closed;
                        break;
                    }
                }
            } else {
                match connection.stream.line() {
                    Ok(Some(line)) => self.take_line(id, &line),
                    Ok(None) => break,
                    Err(_) => {
                        life = Life::Closed;
                        break;
                    }
                }
            }
        }
        if life == Life::Closed {
            self.connection_gone(id, "hangup");
        }
    }

    /// Connections that never spoke, or that are to be closed once everything is written.
    pub(super) fn expire_connections(&mut self) {
        let now = self.clock.now();
        let ids: Vec<u64> = self.connections.keys().copied().collect();
        for id in ids {
            self.flush_typing(id);
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            let silent = !connection.greeted && now >= connection.opened.after(HELLO_MS);
            if silent || (connection.closing && connection.is_quiet()) {
                self.connections.remove(&id);
                continue;
            }
            let looked = connection.client.as_mut().and_then(|client| client.look_again.take_if(|at| *at <= now));
            if looked.is_some() {
                self.terminal_ready(id, Readiness { read: true, write: true, gone: false });
            }
            self.tell_undo(id);
        }
    }

    /// The sequences that a client writes when the host dies, whenever they change.
    fn tell_undo(&mut self, id: u64) {
        let Some(run) = &self.run else { return };
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(client) = &mut connection.client else { return };
        let undo = run.screen.undo();
        if client.undo != undo && !client.leaving {
            connection.stream.send(&Frame::new(tag::UNDO, &undo).encode());
            client.undo = undo;
        }
    }

    pub(super) fn attach(&mut self, id: u64, attach: &Attach) -> u32 {
        let number = self.next_client;
        self.next_client += 1;
        // One terminal at a time: who comes takes over.
        let others: Vec<u64> = self.connections.iter().filter(|(_, c)| c.client.is_some()).map(|(id, _)| *id).collect();
        for other in others {
            self.say_bye(other, "taken_over", None);
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.client = Some(Client {
                number,
                size: attach.size,
                read_only: attach.read_only,
                typing: Typing::default(),
                tty: attach.tty.clone(),
                found: attach.termios.clone(),
                via: Via::Waiting,
                out: OutBuf::default(),
                undo: Vec::new(),
                look_again: None,
                leaving: false,
            });
        }
        self.leader = Some(id);
        self.events.push_back(Event::Attached { client: number });
        number
    }

    fn take_frame(&mut self, id: u64, frame: &Frame) {
        match frame.tag {
            tag::TERMINAL => self.take_terminal(id),
            tag::INPUT => self.typed(id, &frame.payload),
            tag::RESIZE => {
                if let Some(size) = read_size(&frame.payload) {
                    if let Some(client) = self.client_mut(id) {
                        client.size = size;
                    }
                    if self.leader == Some(id) {
                        self.resize(size);
                    }
                }
            }
            tag::RELEASE => self.release(id),
            tag::RESUME => self.resume(id),
            tag::DETACH => self.say_bye(id, "detached", None),
            tag::SIGNAL => {
                if let Some(number) = frame.payload.first() {
                    let signal = Signal(i32::from(*number));
                    self.events.push_back(Event::Passed { signal });
                    self.signal_child(signal, true);
                }
            }
            _ => {}
        }
    }

    fn client_mut(&mut self, id: u64) -> Option<&mut Client> {
        self.connections.get_mut(&id)?.client.as_mut()
    }

    fn take_terminal(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let fd = connection.stream.take_fd();
        let Some(client) = &mut connection.client else { return };
        let taken = fd.map(|fd| Handed::take(fd, client.found.clone()));
        match taken {
            Some(Ok(terminal)) => {
                client.via = Via::Terminal(terminal);
                connection.frame(tag::TAKEN, &[]);
            }
            other => {
                client.via = Via::Relay;
                let why = match other {
                    Some(Err(error)) => error.to_string(),
                    _ => "no descriptor came with the frame".to_owned(),
                };
                connection.frame(tag::RELAY, why.as_bytes());
            }
        }
        let size = self.client_mut(id).map(|client| client.size);
        if let Some(size) = size {
            self.resize(size);
        }
        let waiting = self.take_buffered();
        self.show_to(id, &waiting);
        if self.exit.is_some() {
            let message = self.last_word();
            self.say_bye(id, "ended", message.as_deref());
        }
    }

    /// Gives bytes to one client. False when there is no terminal to show them on.
    pub(super) fn show_to(&mut self, id: u64, bytes: &[u8]) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        let Some(client) = &mut connection.client else { return false };
        match &client.via {
            Via::Terminal(terminal) => {
                // A stopped client has given its terminal to the shell: nothing is written over it.
                if client.look_again.is_some() {
                    client.out.push(bytes);
                } else if client.out.send(terminal, bytes).is_err() {
                    client.out.clear();
                }
                true
            }
            Via::Relay => {
                for part in bytes.chunks(crate::ipc::frame::MAX_PAYLOAD) {
                    connection.stream.send(&Frame::new(tag::OUTPUT, part).encode());
                }
                true
            }
            Via::Waiting | Via::Released => false,
        }
    }

    pub(super) fn terminal_ready(&mut self, id: u64, ready: Readiness) {
        let now = self.clock.now();
        let full = self.kept.is_full();
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let pid = connection.pid;
        let Some(client) = &mut connection.client else { return };
        let Via::Terminal(terminal) = &client.via else { return };
        if Stat::of(pid).is_some_and(|stat| stat.is_stopped()) || (full && ready.read) {
            client.look_again = Some(now.after(STOPPED_LOOK_MS));
            return;
        }
        if ready.write && client.out.flush(terminal).is_err() {
            client.out.clear();
        }
        if !ready.read {
            return;
        }
        let mut buf = [0; 16384];
        match read_some(terminal, &mut buf) {
            Ok(Some(0)) | Err(_) => self.connection_gone(id, "hangup"),
            Ok(None) => {}
            Ok(Some(n)) => self.typed(id, &buf[..n]),
        }
    }

    /// The client is about to stop: its terminal is whole again before the answer.
    fn release(&mut self, id: u64) {
        let undo = self.run.as_ref().map(|run| run.screen.undo()).unwrap_or_default();
        self.show_to(id, &undo);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if let Some(client) = &mut connection.client {
            if let Via::Terminal(terminal) = &client.via {
                let _ = client.out.flush(terminal);
            }
            client.via = Via::Released;
        }
        connection.frame(tag::RELEASED, &[]);
    }

    /// The client is back in the foreground: it hands its terminal over again, and the child goes on.
    fn resume(&mut self, id: u64) {
        if let Some(client) = self.client_mut(id) {
            client.via = Via::Waiting;
        }
        self.signal_child(Signal(nix::libc::SIGCONT), true);
    }

    pub(super) fn suspend_leader(&mut self) {
        let target = self.leader.filter(|id| self.connections.get(id).is_some_and(|c| c.client.is_some()));
        if let Some(id) = target {
            // What the program wrote before it stopped is shown before the shell takes over.
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.frame(tag::SUSPEND, &[]);
            }
        }
    }

    /// Ends a client: everything is written, its terminal is whole, then the last frame.
    pub(super) fn say_bye(&mut self, id: u64, why: &str, message: Option<&str>) {
        let leaves_run = why != "ended";
        if leaves_run {
            let undo = self.run.as_ref().map(|run| run.screen.undo()).unwrap_or_default();
            self.show_to(id, &undo);
        }
        let exit = self.exit.as_ref().map_or(serde_json::Value::Null, report::Exit::json);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(client) = &mut connection.client else { return };
        if client.leaving {
            return;
        }
        client.leaving = true;
        let number = client.number;
        if let Via::Terminal(terminal) = &client.via {
            let _ = client.out.flush(terminal);
            // A terminal that does not take the rest in time keeps its client waiting only for the farewell.
            let until = std::time::Duration::from_millis(500);
            let _ = drain(&mut client.out, terminal, until);
            client.via = Via::Released;
        }
        connection.frame(tag::RELEASED, &[]);
        let bye = serde_json::json!({"why": why, "exit": exit, "message": message});
        connection.frame(tag::BYE, bye.to_string().as_bytes());
        connection.closing = true;
        if self.leader == Some(id) {
            self.leader = None;
        }
        if leaves_run {
            self.events.push_back(Event::Detached { client: number, why: why.to_owned() });
        }
    }

    /// A connection that broke, with or without a word before.
    pub(super) fn connection_gone(&mut self, id: u64, why: &str) {
        let Some(mut connection) = self.connections.remove(&id) else { return };
        if self.leader == Some(id) {
            self.leader = None;
        }
        self.hook_connection_gone(id);
        let Some(client) = &mut connection.client else { return };
        if client.leaving {
            return;
        }
        // The client died without a word: its terminal is made whole from here.
        if let Via::Terminal(terminal) = &client.via {
            let undo = self.run.as_ref().map(|run| run.screen.undo()).unwrap_or_default();
            let _ = client.out.send(terminal, &undo);
            let _ = drain(&mut client.out, terminal, std::time::Duration::from_millis(200));
            terminal.restore_modes();
        }
        self.events.push_back(Event::Detached { client: client.number, why: why.to_owned() });
        if self.launch.config.terminal.on_hangup == crate::core::config::OnHangup::End && self.exit.is_none() {
            self.events.push_back(Event::Stop { id: 0, kill: false });
        }
    }

    /// Clients, for listings.
    pub(super) fn client_list(&self) -> serde_json::Value {
        let list = self.connections.iter().filter_map(|(id, connection)| {
            let client = connection.client.as_ref()?;
            let via = match client.via {
                Via::Terminal(_) => "fd",
                Via::Relay => "relay",
                Via::Waiting | Via::Released => "none",
            };
            Some(serde_json::json!({
                "id": client.number, "tty": client.tty, "cols": client.size.cols, "rows": client.size.rows,
                "leader": self.leader == Some(*id), "read_only": client.read_only, "via": via,
            }))
        });
        list.collect()
    }
}

fn drain(out: &mut OutBuf, terminal: &Handed, limit: std::time::Duration) -> std::io::Result<()> {
    let until = std::time::Instant::now() + limit;
    while !out.is_empty() && std::time::Instant::now() < until {
        let mut set = PollSet::default();
        set.add((), terminal.as_fd(), Interest::Write);
        set.wait(Some(20))?;
        out.flush(terminal)?;
    }
    Ok(())
}

fn read_size(payload: &[u8]) -> Option<Size> {
    let part = |n: usize| Some(u16::from_le_bytes([*payload.get(2 * n)?, *payload.get(2 * n + 1)?]));
    Some(Size { cols: part(0)?, rows: part(1)?, xpixel: part(2)?, ypixel: part(3)? })
}
