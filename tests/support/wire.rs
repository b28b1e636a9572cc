//! A peer that speaks the socket's protocol itself, so that a test can say what no client of hopty would.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hopty::ipc::frame::Frame;
use serde_json::{Value, json};

use super::world::World;

/// The first line of a peer.
pub const HELLO: &str = "{\"hopty\":1,\"version\":\"0.1.0\",\"role\":\"control\"}\n";

/// A connection to a session's socket.
pub struct Wire {
    socket: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Wire {
    /// Connects and says nothing.
    pub fn connect(world: &World, session: &str) -> Wire {
        let socket =
            UnixStream::connect(world.state_dir().join("run").join(format!("{session}.sock"))).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let reader = BufReader::new(socket.try_clone().unwrap());
        Wire { socket, reader }
    }

    /// Connects and greets.
    pub fn greet(world: &World, session: &str) -> Wire {
        let mut wire = Wire::connect(world, session);
        wire.send(HELLO);
        let hello = wire.line();
        assert_eq!(hello["hopty"], 1, "{hello}");
        wire
    }

    /// Connects and becomes a client without a terminal of its own.
    pub fn attach(world: &World, session: &str, read_only: bool) -> Wire {
        let mut wire = Wire::greet(world, session);
        let attach = json!({"id": 1, "do": "attach", "cols": 80, "rows": 24, "xpixel": 0, "ypixel": 0,
            "read_only": read_only});
        wire.send(format!("{attach}\n"));
        let answer = wire.line();
        assert_eq!(answer["ok"]["frames"], true, "{answer}");
        wire
    }

    /// Writes; a host that has closed takes nothing.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.socket.write_all(bytes.as_ref());
    }

    /// Sends a frame.
    pub fn frame(&mut self, tag: u8, payload: &[u8]) {
        self.send(Frame::new(tag, payload).encode());
    }

    /// The next line, null when the host has closed.
    pub fn line(&mut self) -> Value {
        let mut line = String::new();
        let n = self.reader.read_line(&mut line).unwrap();
        if n == 0 {
            Value::Null
        } else {
            serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
        }
    }

    /// One request, and its answer.
    pub fn ask(&mut self, request: &Value) -> Value {
        self.send(format!("{request}\n"));
        self.line()
    }

    /// All that comes until the host closes, which may leave something of ours unread.
    pub fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        if let Err(e) = self.reader.read_to_end(&mut rest) {
            assert_eq!(e.kind(), std::io::ErrorKind::ConnectionReset, "{e}");
        }
        rest
    }
}
