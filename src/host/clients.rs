//! Connections to the socket: control lines, hook calls and clients; what arrives, and when connections
//! close.
//!
//! The clients' terminals are handled in `terminals`.

use super::Host;
use super::control::connection::HELLO_MS;

use super::terminals::{Client, Terminals};
use crate::core::process::Signal;
use crate::core::supervisor::event::Event;
use crate::core::terminal::Size;
use crate::ipc::frame::{Frame, tag};
use crate::ipc::message::{Attach, Code, Failure, error_line};
use crate::ipc::stream::Life;
use crate::sys::poll::FdReadiness;

/// The most lines or frames handled for one connection before the others have their turn.
const TURN: u32 = 64;
/// How long a connection that is being closed may take to read its last answer, in ms.
const CLOSING_MS: u64 = 1000;

impl Host {
    pub(super) fn connection_ready(&mut self, id: u64, ready: FdReadiness) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if ready.write {
            connection.stream.flush();
        }
        if connection.closing.is_some() {
            // Its input is ignored from now on, but hopty need not wait for a peer that is gone.
            if ready.gone {
                self.connection_gone(id, "hangup");
            }
            return;
        }
        let mut life = if ready.read || ready.gone { connection.stream.fill() } else { Life::Open };
        (connection.more, connection.held) = (false, false);
        for n in 0.. {
            let input_waits = self.input_waits(id);
            let Some(connection) = self.connections.get_mut(&id) else { return };
            connection.held = connection.is_deaf(input_waits);
            connection.more = n == TURN;
            let framed = connection.framed;
            if connection.closing.is_some() || (connection.held && !framed) || connection.more {
                break;
            }
            let taken = if framed {
                // Only typed bytes wait: a stop, a signal or a new size does not.
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
        // Do not wait for the turn of a peer that is gone: it may never come.
        let waits = self.connections.get(&id).is_some_and(|c| c.more || (c.held && !ready.gone));
        // The end of a full connection is not read.
        let gone = life == Life::Closed
            || (ready.gone && self.connections.get(&id).is_some_and(|c| c.stream.is_full()));
        if gone && !waits {
            self.connection_gone(id, "hangup");
        }
    }

    /// Lines or frames that have already arrived and had to wait.
    fn go_on(&mut self, id: u64) {
        let input_waits = self.input_waits(id);
        if self.connections.get(&id).is_some_and(|c| (c.more || c.held) && !c.is_deaf(input_waits)) {
            self.connection_ready(id, FdReadiness::default());
        }
    }

    /// Whether the child has enough unread or held input, so that the keyboard must wait.
    pub(super) fn typing_waits(&self) -> bool {
        self.keyboard.held.is_full()
            || self.child.run.as_ref().is_some_and(|run| run.input.len() > super::child::INPUT_HIGH)
    }

    /// Whether the keyboard waits on this connection: its client's bytes come in frames.
    pub(super) fn input_waits(&self, id: u64) -> bool {
        self.terminals.is_relayed(id) && self.typing_waits()
    }

    /// The error for a peer whose line was too long. A frame has no room for one.
    fn refuse_size(&mut self, id: u64, what: &str) {
        let framed = self.connections.get(&id).is_some_and(|c| c.framed);
        if !framed {
            let failure = Failure::new(Code::TooLarge, what, "send less");
            self.send(id, &error_line(0, &failure));
        }
    }

    /// Closes connections that never spoke or are due to close, and handles the clients' deadlines.
    pub(super) fn expire_connections(&mut self) {
        let now = self.clock.now();
        let ids: Vec<u64> = self.connections.keys().copied().collect();
        for id in ids {
            self.go_on(id);
            self.flush_typing(id);
        }
        self.on_terminals(Terminals::due);
        let ids: Vec<u64> = self.connections.keys().copied().collect();
        for id in ids {
            let input_waits = self.input_waits(id);
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            connection.tell_to_wait(input_waits);
            let silent = !connection.greeted && now >= connection.opened.after(HELLO_MS);
            let quiet = connection.is_quiet() && self.terminals.client(id).is_none_or(Client::is_quiet);
            let over = connection.closing.is_some_and(|until| quiet || now >= until);
            let idle = connection.idle_until().is_some_and(|until| now >= until);
            if over || silent || idle && !self.terminals.is_launcher(id) && !self.is_awaited(id) {
                self.connections.remove(&id);
                self.terminals.remove(id);
            } else if idle && let Some(connection) = self.connections.get_mut(&id) {
                connection.active = now;
            }
        }
    }

    pub(super) fn attach(&mut self, id: u64, attach: &Attach) -> u32 {
        let wanted = &self.launch.config.program.update_env;
        self.child.lent_env.extend(
            attach.env.iter().filter(|(name, _)| wanted.contains(name)).map(|(n, v)| (n.clone(), v.clone())),
        );
        let Some(connection) = self.connections.get_mut(&id) else { return 0 };
        connection.framed = true;
        let process = (connection.pid, connection.began);
        let (client, how) = self.terminals.attach(id, attach, process, self.clock.now());
        self.events.push_back(Event::Attached { client, how });
        client
    }

    fn take_frame(&mut self, id: u64, frame: &Frame) {
        match frame.tag {
            tag::TERMINAL => self.take_terminal(id),
            tag::INPUT => self.typed(id, &frame.payload),
            tag::RESIZE => self.client_resized(id, &frame.payload),
            tag::RELEASE => self.on_terminals(|terminals, scene| terminals.release(id, scene)),
            tag::RESUME => self.on_terminals(|terminals, scene| terminals.resume(id, scene)),
            tag::DETACH => self.detach(id),
            tag::HANGUP => self.on_terminals(|terminals, scene| terminals.hang_up(id, scene)),
            tag::SIGNAL => {
                if let Some(number) = frame.payload.first() {
                    self.pass_signal(id, Signal(i32::from(*number)));
                }
            }
            _ => {}
        }
    }

    fn client_resized(&mut self, id: u64, payload: &[u8]) {
        let Some(size) = read_size(payload) else { return };
        self.on_terminals(|terminals, scene| terminals.resize(id, size, scene));
    }

    /// A client received a signal that ends a process: it is passed on to the program. A client that only
    /// watches detaches instead.
    fn pass_signal(&mut self, id: u64, signal: Signal) {
        // Only these signals are passed on: a hostile client cannot make the host send any other.
        use nix::libc::{SIGCONT, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
        if ![SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2].contains(&signal.0) {
            return;
        }
        let ends = [SIGINT, SIGQUIT, SIGTERM].contains(&signal.0);
        if !self.terminals.is_in_charge(id) {
            if ends {
                self.detach(id);
            }
            return;
        }
        self.events.push_back(Event::Passed { signal });
        self.signal_child(signal, true);
        if ends {
            // Like a shell's `kill %1`: a stopped program must be continued to receive the signal.
            self.signal_child(Signal(SIGCONT), true);
        }
    }

    pub(super) fn client_mut(&mut self, id: u64) -> Option<&mut Client> {
        self.terminals.client_mut(id)
    }

    /// A connection broke, with or without a farewell.
    pub(super) fn connection_gone(&mut self, id: u64, why: &str) {
        if self.connections.remove(&id).is_none() {
            return;
        }
        if self.terminals.lose_launcher(id) && self.terminals.clients().next().is_none() {
            // The client ended before it attached: Ctrl+C while hopty was starting.
            self.events.push_back(Event::Stop { id: 0, kill: false });
        }
        self.hook_connection_gone(id);
        self.on_terminals(|terminals, scene| terminals.lose(id, why, scene));
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
