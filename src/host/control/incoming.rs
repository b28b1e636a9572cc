//! What arrives on a connection: lines, and frames once it is a client's. One connection gets a bounded turn,
//! and its input waits while its answers are unread, or the program does not read what its client types.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::connection::{CLOSING_MS, Connection, ConnectionStage};
use super::{ConnectionUse, Control, ControlEvent};
use crate::core::time::Stamp;
use crate::ipc::frame::{Frame, TooLarge, tag};
use crate::ipc::message::{
    ClientHello, Code, PROTOCOL, Request, RequestError, RequestId, error_line, parse_request,
};
use crate::ipc::stream::ConnectionState;
use crate::sys::poll::FdReadiness;

/// The most frames of a client handled before the other connections have their turn.
const FRAMES: u32 = 64;
/// The most requests in a turn, a person's and those of a descendant or another Claude: each can cost as much
/// as many frames. A peer that sends one at a time never reaches it. A hello counts.
const REQUESTS: (u32, u32) = (8, 2);

/// A connection's turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    id: u64,
    /// Lines and frames handled so far.
    taken: u32,
    life: ConnectionState,
    /// The peer has closed its end.
    gone: bool,
}

/// The next unit in a connection's stream.
enum Incoming {
    Line(Vec<u8>),
    Frame(Frame),
}

impl Connection {
    /// Reads from a connection and writes to it what it takes. `None`: its input is not handled.
    pub(super) fn read(&mut self, id: u64, ready: FdReadiness) -> Option<Reading> {
        if ready.write {
            self.stream.flush();
        }
        if self.closing.is_some() {
            // Its input is ignored from now on, but do not wait for a peer that is gone.
            return ready.gone.then_some(Reading { id, taken: 0, life: ConnectionState::Closed, gone: true });
        }
        let life = if ready.read || ready.gone { self.stream.fill() } else { ConnectionState::Open };
        (self.more, self.held) = (false, false);
        Some(Reading { id, taken: 0, life, gone: ready.gone })
    }

    /// The next line or frame of this turn. `None`: there is none, or it must wait.
    fn take(&mut self, turn: &Reading, input_waits: bool) -> Result<Option<Incoming>, TooLarge> {
        self.held = self.is_deaf(input_waits);
        self.more = turn.taken == if self.is_client() { FRAMES } else { self.of_peer(REQUESTS) };
        if self.closing.is_some() || self.more || (self.held && !self.is_client()) {
            return Ok(None);
        }
        if !self.is_client() {
            return self.stream.line().map(|line| line.map(Incoming::Line));
        }
        // Only typed bytes wait: a stop, a signal or a new size does not.
        let frame = if self.held { self.stream.frame_but(tag::INPUT) } else { self.stream.frame() };
        frame.map(|frame| frame.map(Incoming::Frame))
    }
}

impl Control {
    /// The next event of the connection being read; `None` if there is none.
    pub fn next_event(&mut self, now: Stamp, uses: &dyn ConnectionUse) -> Option<ControlEvent> {
        loop {
            let mut turn = self.reading?;
            let id = turn.id;
            let input_waits = uses.input_waits(id);
            let Some(connection) = self.connection_mut(id) else {
                self.reading = None;
                return None;
            };
            let taken = connection.take(&turn, input_waits);
            turn.taken += 1;
            self.reading = Some(turn);
            let event = match taken {
                Ok(Some(Incoming::Line(line))) => self.take_line(id, &line, now),
                Ok(Some(Incoming::Frame(frame))) => Some(ControlEvent::Frame { connection: id, frame }),
                Ok(None) => return self.end_turn(turn),
                Err(error) => {
                    self.refuse_size(id, &error.to_string(), now);
                    return self.end_turn(Reading { life: ConnectionState::Closed, ..turn });
                }
            };
            if event.is_some() {
                return event;
            }
        }
    }

    /// Ends the turn, and forgets a connection that has ended.
    fn end_turn(&mut self, turn: Reading) -> Option<ControlEvent> {
        self.reading = None;
        let connection = self.connection(turn.id)?;
        // A peer that is gone gets no further turn.
        let waits = connection.more || (connection.held && !turn.gone);
        // The end of a connection with a full buffer is not read.
        let gone = turn.life == ConnectionState::Closed || (turn.gone && connection.stream.is_full());
        if !gone || waits {
            return None;
        }
        let unread = connection.stream.left_unread();
        self.connections.remove(&turn.id);
        Some(ControlEvent::Closed { connection: turn.id, unread })
    }

    /// Handles lines or frames that have already arrived and had to wait.
    pub fn read_on(&mut self, id: u64, uses: &dyn ConnectionUse) {
        let input_waits = uses.input_waits(id);
        if self.connection(id).is_some_and(|c| (c.more || c.held) && !c.is_deaf(input_waits)) {
            self.ready(id, FdReadiness::default());
        }
    }

    fn take_line(&mut self, id: u64, line: &[u8], now: Stamp) -> Option<ControlEvent> {
        match &mut self.connection_mut(id)?.stage {
            ConnectionStage::Greeting(_) => {
                self.greet(id, line, now);
                return None;
            }
            ConnectionStage::Requests(requests) => (requests.asks, requests.active) = (None, now),
            ConnectionStage::Client { .. } => {}
        }
        match parse_request(line) {
            Ok((request, wanted)) => {
                let request_id = RequestId { connection: id, request };
                // A failure to identify the peer costs its request, not the session.
                let refusal = catch_unwind(AssertUnwindSafe(|| {
                    crate::sys::fault_injection::panic_at("refusal");
                    self.refusal(id, &wanted)
                }));
                match refusal {
                    Ok(None) => Some(event(request_id, wanted)),
                    Ok(Some(failure)) => {
                        self.send(id, &error_line(request, &failure), now);
                        None
                    }
                    Err(_) => Some(ControlEvent::Failed { request_id }),
                }
            }
            Err((request, failure)) => {
                self.send(id, &error_line(request, &failure), now);
                None
            }
        }
    }

    fn greet(&mut self, id: u64, line: &[u8], now: Stamp) {
        let hello: Result<ClientHello, _> = serde_json::from_slice(line);
        let known = matches!(&hello, Ok(hello) if hello.hopty == PROTOCOL);
        let answer = self.hello();
        self.send(id, &answer, now);
        if let Some(connection) = self.connection_mut(id) {
            connection.greeted(now);
        }
        if !known {
            self.close_after_answer(id, now);
            let failure = RequestError::new(
                Code::Version,
                format!("this host speaks protocol {PROTOCOL}"),
                "use the version of hopty that started the session, or restart the session",
            );
            self.send(id, &error_line(0, &failure), now);
        }
    }

    /// Closes a connection after its last answer.
    fn close_after_answer(&mut self, id: u64, now: Stamp) {
        if let Some(connection) = self.connection_mut(id) {
            connection.close(now, CLOSING_MS);
        }
    }

    /// The error for a peer whose line was too long. A client that sends frames gets none.
    fn refuse_size(&mut self, id: u64, what: &str, now: Stamp) {
        if self.connection(id).is_some_and(|c| !c.is_client()) {
            let failure = RequestError::new(Code::TooLarge, what, "send less");
            self.send(id, &error_line(0, &failure), now);
        }
    }
}

fn event(request_id: RequestId, wanted: Request) -> ControlEvent {
    match wanted {
        Request::Hook { run, event, payload, .. } => ControlEvent::Hook { request_id, run, event, payload },
        wanted => ControlEvent::Request { request_id, wanted },
    }
}
