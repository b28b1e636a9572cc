//! The control socket and the terminals: whose connection it is, what its frames mean, and what happens when
//! it breaks.

use std::os::unix::net::UnixStream;

use crate::core::process::Signal;
use crate::core::supervisor::event::Event;
use crate::core::terminal::Size;
use crate::host::Host;
use crate::host::child::{Child, INPUT_HIGH};
use crate::host::control::peer::Peer;
use crate::host::control::{self, Connection, ConnectionUse, ControlEvent};
use crate::host::keyboard::Keyboard;
use crate::host::terminals::{Client, Terminals};
use crate::ipc::frame::{Frame, tag};
use crate::ipc::message::Attach;
use crate::ipc::stream::FrameStream;
use crate::sys::poll::FdReadiness;

/// What the other parts know of the connections.
pub(in crate::host) struct KnownConnections<'host> {
    terminals: &'host Terminals,
    keyboard: &'host Keyboard,
    child: &'host Child,
}

impl<'host> KnownConnections<'host> {
    pub fn of(terminals: &'host Terminals, keyboard: &'host Keyboard, child: &'host Child) -> Self {
        KnownConnections { terminals, keyboard, child }
    }
}

impl ConnectionUse for KnownConnections<'_> {
    fn is_relayed(&self, id: u64) -> bool {
        self.terminals.is_relayed(id)
    }

    fn typing_waits(&self) -> bool {
        let unread = self.child.run.as_ref().is_some_and(|run| run.input.len() > INPUT_HIGH);
        self.keyboard.held.is_full() || unread
    }

    fn is_quiet(&self, id: u64) -> bool {
        self.terminals.client(id).is_none_or(Client::is_quiet)
    }

    fn is_needed(&self, id: u64) -> bool {
        self.terminals.is_launcher(id) || self.keyboard.queue.has(id)
    }
}

impl Host {
    /// The process that started this host is about to attach on `socket`.
    pub(in crate::host) fn expect(&mut self, socket: UnixStream) {
        let Ok(stream) = FrameStream::new(socket) else { return };
        let (pid, _) = stream.peer().unwrap_or_default();
        let mut connection = Connection::new(stream, pid, self.clock.now());
        // The two already know each other: the client existed before the child.
        (connection.greeted, connection.peer) = (true, Some(Peer::Person));
        self.terminals.expect(self.control.admit(connection));
    }

    /// Connections wait to be accepted.
    pub(in crate::host) fn accept(&mut self) {
        for _ in 0..control::TURN {
            if !self.control.accept(self.clock.now()) {
                return;
            }
            self.take_control_events();
        }
    }

    pub(in crate::host) fn connection_ready(&mut self, id: u64, ready: FdReadiness) {
        self.control.ready(id, ready);
        self.take_control_events();
    }

    /// What the other parts know of the connections.
    pub(in crate::host) fn known_connections(&self) -> KnownConnections<'_> {
        KnownConnections::of(&self.terminals, &self.keyboard, &self.child)
    }

    /// Whether the child has enough unread or held input, so that the keyboard must wait.
    pub(in crate::host) fn typing_waits(&self) -> bool {
        self.known_connections().typing_waits()
    }

    fn next_control_event(&mut self) -> Option<ControlEvent> {
        let known = KnownConnections::of(&self.terminals, &self.keyboard, &self.child);
        self.control.next_event(self.clock.now(), &known)
    }

    /// Handles what came on the connection that was read last.
    fn take_control_events(&mut self) {
        while let Some(event) = self.next_control_event() {
            match event {
                ControlEvent::Request { connection, request, .. }
                | ControlEvent::Hook { connection, request, .. } => {
                    self.take_request(connection, request, event)
                }
                ControlEvent::Failed { connection, request } => self.request_failed(connection, request),
                ControlEvent::Frame { connection, frame } => self.take_frame(connection, &frame),
                ControlEvent::Closed { connection } => self.connection_gone(connection),
            }
        }
    }

    pub(super) fn attach(&mut self, id: u64, attach: &Attach) -> u32 {
        let wanted = &self.session.launch.config.program.update_env;
        self.child.lent_env.extend(
            attach.env.iter().filter(|(name, _)| wanted.contains(name)).map(|(n, v)| (n.clone(), v.clone())),
        );
        let Some(process) = self.control.becomes_client(id) else { return 0 };
        let (client, how) = self.terminals.attach(id, attach, process, self.clock.now());
        self.events.push_back(Event::Attached { client, how });
        client
    }

    pub(super) fn take_frame(&mut self, id: u64, frame: &Frame) {
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

    pub(in crate::host) fn client_mut(&mut self, id: u64) -> Option<&mut Client> {
        self.terminals.client_mut(id)
    }

    /// A connection broke, with or without a farewell.
    fn connection_gone(&mut self, id: u64) {
        if self.terminals.lose_launcher(id) && self.terminals.clients().next().is_none() {
            // The client ended before it attached: Ctrl+C while hopty was starting.
            self.events.push_back(Event::Stop { id: 0, kill: false });
        }
        self.observer.forget_connection(id);
        let calls = self.control.drop_calls_of(id);
        self.events.extend(calls.into_iter().map(|id| Event::HookGone { id }));
        self.on_terminals(|terminals, scene| terminals.lose(id, "hangup", scene));
    }

    /// Goes on with input that had to wait, closes connections that are due to close, and handles the
    /// clients' deadlines.
    pub(in crate::host) fn expire_connections(&mut self) {
        for id in self.control.ids() {
            let known = KnownConnections::of(&self.terminals, &self.keyboard, &self.child);
            self.control.read_on(id, &known);
            self.take_control_events();
            self.flush_typing(id);
        }
        self.on_terminals(Terminals::due);
        let known = KnownConnections::of(&self.terminals, &self.keyboard, &self.child);
        for id in self.control.due(self.clock.now(), &known) {
            self.terminals.remove(id);
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
