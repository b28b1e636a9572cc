//! Who talks to the host in a history: clients with a keyboard, and callers with requests and hook calls.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use serde_json::Value;

use super::client_pty::Terminal;
use crate::core::time::Stamp;
use crate::ipc::frame::{Frame, tag};

/// A key that a client pressed, in a form that is unique to the client and found again in any stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub client: usize,
    pub bytes: Vec<u8>,
    /// It was typed while keys waited.
    pub held: bool,
    /// How many of its bytes were typed first; the rest later, or never.
    pub at: usize,
    pub cut: bool,
}

impl Key {
    /// The bytes that were typed first.
    pub fn half(&self) -> Vec<u8> {
        self.bytes[..self.at].to_vec()
    }
}

/// One end of a socket, read without blocking.
#[derive(Debug)]
struct Line {
    socket: Option<UnixStream>,
    input: Vec<u8>,
}

impl Line {
    fn new(socket: UnixStream) -> Self {
        socket.set_nonblocking(true).unwrap();
        Line { socket: Some(socket), input: Vec::new() }
    }

    /// Returns whether anything new arrived.
    fn fill(&mut self) -> bool {
        let Some(socket) = &mut self.socket else { return false };
        let (mut buf, mut any) = ([0; 1 << 14], false);
        loop {
            match socket.read(&mut buf) {
                Ok(0) => {
                    self.socket = None;
                    return true;
                }
                Ok(n) => {
                    self.input.extend_from_slice(&buf[..n]);
                    any = true;
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return any,
                Err(_) => {
                    self.socket = None;
                    return true;
                }
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> bool {
        // Bytes that do not fit are lost: the histories write little.
        self.socket.as_mut().is_some_and(|socket| socket.write_all(bytes).is_ok())
    }

    fn line(&mut self) -> Option<Value> {
        let end = self.input.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.input.drain(..=end).collect();
        Some(
            serde_json::from_slice(&line)
                .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&line))),
        )
    }
}

/// A client with its terminal: every other client hands it over, the others relay.
#[derive(Debug)]
pub(super) struct Client {
    pub connection: u64,
    /// Its number among all clients, from 0.
    pub index: usize,
    line: Line,
    /// Borrowed by the host; without one the client relays.
    terminal: Option<Terminal>,
    pub read_only: bool,
    /// Its request to attach was answered.
    pub attached: bool,
    pub since: Stamp,
    /// It reads nothing.
    pub stalled: bool,
    pub was_stalled: bool,
    /// The second half of a key, and when the first was typed.
    pub rest: Option<(Stamp, Vec<u8>)>,
    /// SUSPEND frames that it has not handled.
    pub suspends: u32,
    /// It has given its terminal back and not taken it again.
    pub released: bool,
    /// It has said that it leaves: nothing more is typed there.
    pub leaves: bool,
    pub bye: Option<Value>,
    pub keys: u32,
}

impl Client {
    pub fn new(connection: u64, index: usize, socket: UnixStream, read_only: bool, since: Stamp) -> Self {
        Client {
            connection,
            index,
            line: Line::new(socket),
            terminal: (index % 2 == 1).then(Terminal::open),
            read_only,
            attached: false,
            since,
            stalled: false,
            was_stalled: false,
            rest: None,
            suspends: 0,
            released: false,
            leaves: false,
            bye: None,
            keys: 0,
        }
    }

    pub fn is_there(&self) -> bool {
        self.line.socket.is_some() && self.bye.is_none()
    }

    pub fn line_is_open(&self) -> bool {
        self.is_there() && !self.released && !self.leaves
    }

    pub fn write(&mut self, bytes: &[u8]) -> bool {
        self.line.write(bytes)
    }

    pub fn frame(&mut self, tag: u8, payload: &[u8]) -> bool {
        self.write(&Frame::new(tag, payload).encode())
    }

    /// Hands its terminal to the host, or asks to relay.
    pub fn hand_over(&mut self) {
        match (&self.terminal, &self.line.socket) {
            (Some(terminal), Some(socket)) => _ = terminal.hand_over(socket),
            _ => _ = self.frame(tag::TERMINAL, &[]),
        }
    }

    /// Presses keys. Returns whether they were sent.
    pub fn press(&mut self, bytes: &[u8]) -> bool {
        let there = self.is_there();
        match &mut self.terminal {
            Some(terminal) => there && terminal.press(bytes),
            None => self.frame(tag::INPUT, bytes),
        }
    }

    /// Whether the host has its terminal.
    pub fn has_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// Breaks its connection and closes its terminal.
    pub fn cut(&mut self) {
        self.line.socket = None;
        self.terminal = None;
    }

    /// A key that is unique to this client: alternately a word and a sequence.
    pub fn next_key(&mut self, held: bool) -> Key {
        self.keys += 1;
        let n = self.keys;
        let letter = char::from(b'A' + u8::try_from(self.index % 20).unwrap());
        let bytes = match n % 2 {
            0 => format!("{letter}{n:04}."),
            _ => format!("\x1b[{};{}~", 1000 + self.index, 1000 + n),
        };
        Key { client: self.index, bytes: bytes.into_bytes(), held, at: 0, cut: false }
    }

    /// Reads what the host sends. Returns whether there was anything.
    pub fn read(&mut self) -> bool {
        if self.stalled {
            return false;
        }
        let shown = self.terminal.as_mut().is_some_and(Terminal::show);
        if !self.line.fill() {
            return shown;
        }
        while !self.attached {
            let Some(line) = self.line.line() else { return true };
            // The hello comes first.
            if line.get("hopty").is_none() {
                assert!(line["error"].is_null(), "nobody is refused here: {line}");
                self.attached = true;
            }
        }
        while let Some((frame, length)) = Frame::decode(&self.line.input).unwrap() {
            self.line.input.drain(..length);
            match frame.tag {
                tag::RELAY => assert!(!self.has_terminal(), "its terminal is not taken"),
                tag::SUSPEND => self.suspends += 1,
                tag::RELEASED => self.released = true,
                tag::BYE => self.bye = Some(serde_json::from_slice(&frame.payload).unwrap()),
                _ => {}
            }
        }
        true
    }
}

/// A request that was made.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub id: u64,
    pub what: String,
    pub at: Stamp,
    /// How long the answer may take, in ms; `None`: no time may pass.
    pub bound: u64,
    pub answers: u32,
}

/// A verb or a hook that sends requests.
#[derive(Debug)]
pub(super) struct Caller {
    line: Line,
    pub hook: bool,
    /// For Claude: the hook that was called.
    pub event: Option<&'static str>,
    pub asked: Vec<Asked>,
    /// Answers that have not been checked.
    pub heard: Vec<Value>,
}

impl Caller {
    pub fn new(socket: UnixStream, hook: bool) -> Self {
        Caller { line: Line::new(socket), hook, event: None, asked: Vec::new(), heard: Vec::new() }
    }

    pub fn is_there(&self) -> bool {
        self.line.socket.is_some()
    }

    pub fn write(&mut self, bytes: &[u8]) -> bool {
        self.line.write(bytes)
    }

    pub fn read(&mut self) -> bool {
        if !self.line.fill() {
            return false;
        }
        while let Some(line) = self.line.line() {
            if line.get("hopty").is_some() || line["ok"]["hold"] == true {
                continue;
            }
            let id = line["id"].as_u64().unwrap();
            if let Some(asked) = self.asked.iter_mut().find(|asked| asked.id == id) {
                // `restart --wait` first gets the answer that the restart was accepted.
                if line["ok"]["state"] == "accepted" && asked.what.contains("\"wait\":true") {
                    continue;
                }
                asked.answers += 1;
                assert!(asked.answers == 1, "answered twice: {asked:?}, {line}");
            } else {
                assert!(id == 0, "nobody asked: {line}");
            }
            self.heard.push(line);
        }
        true
    }
}
