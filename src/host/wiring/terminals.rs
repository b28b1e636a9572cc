//! The host's calls to its terminals, and the consequences of their events.

use std::os::fd::OwnedFd;

use nix::libc::{SIGCONT, SIGWINCH};
use serde_json::json;

use crate::core::process::Signal;
use crate::core::supervisor::action::DecisionKind;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::child::ChildRun;
use crate::host::control::{Control, picture};
use crate::host::terminals::{ClientLinks, Scene, ShownRun, TerminalEvent, TerminalInput, Terminals};
use crate::ipc::farewell::Farewell;
use crate::sys::poll::FdReadiness;

impl ClientLinks for Control {
    fn frame(&mut self, id: u64, tag: u8, payload: &[u8]) {
        if let Some(connection) = self.connection_mut(id) {
            connection.frame(tag, payload);
        }
    }

    fn waiting(&self, id: u64) -> usize {
        self.connection(id).map_or(0, |connection| connection.stream.waiting())
    }

    fn written(&self, id: u64) -> u64 {
        self.connection(id).map_or(0, |connection| connection.stream.written())
    }

    fn has_input(&self, id: u64) -> bool {
        self.connection(id).is_some_and(|connection| connection.has_input())
    }

    fn take_fd(&mut self, id: u64) -> Option<OwnedFd> {
        self.connection_mut(id)?.stream.take_fd()
    }

    fn close(&mut self, id: u64, now: Stamp, limit_ms: u64) {
        if let Some(connection) = self.connection_mut(id) {
            connection.close(now, limit_ms);
        }
    }
}

impl ChildRun {
    /// What terminals show of it.
    fn shown(&mut self) -> ShownRun<'_> {
        ShownRun {
            number: self.number,
            model: &mut self.model,
            size: &mut self.size,
            capabilities: self.kind,
            muted: &mut self.muted,
            has_ended: self.end.is_some(),
        }
    }

    /// Input that is not a person's is typed.
    pub(in crate::host) fn mix_unread(&mut self) {
        self.unread.mix();
    }

    /// A person types. Whether all earlier input was read is only visible if no line waits for its end.
    pub(in crate::host) fn begin_unread(&mut self) {
        if self.input.is_empty() {
            self.unread.begin(&self.pty);
        }
    }
}

impl Host {
    /// Runs a call on the terminals, and handles the events that it returns.
    pub(in crate::host) fn on_terminals<T>(
        &mut self,
        act: impl FnOnce(&mut Terminals, &mut Scene<'_>) -> T,
    ) -> T {
        let run = self.child.run.as_mut().map(ChildRun::shown);
        let mut scene = Scene { clock: self.clock, run, links: &mut self.control, exit: self.exit };
        let done = act(&mut self.terminals, &mut scene);
        while let Some(event) = self.terminals.next_event() {
            self.take_terminal_event(event);
        }
        done
    }

    fn take_terminal_event(&mut self, event: TerminalEvent) {
        match event {
            TerminalEvent::Resized(size) => {
                if let Some(run) = &self.child.run {
                    let _ = run.pty.resize(size);
                }
                self.session.launch.size = size;
                self.cast.resized(size, &self.clock);
            }
            TerminalEvent::WantsRedraw => {
                if let Some(run) = &self.child.run {
                    let _ = run.pty.signal_foreground(Signal(SIGWINCH));
                }
            }
            TerminalEvent::Continued => self.signal_child(Signal(SIGCONT), true),
            TerminalEvent::Answers(answers) => {
                let Some(run) = &mut self.child.run else { return };
                run.mix_unread();
                for answer in answers {
                    if run.input.send(&run.pty, &answer).is_err() {
                        break;
                    }
                }
            }
            TerminalEvent::Detached { client, why, in_charge } => self.detached(client, why, in_charge),
        }
    }

    /// Handles a terminal that went away.
    fn detached(&mut self, client: u32, why: String, in_charge: bool) {
        // Output that no terminal can reach again ends with the last terminal.
        let unreachable = self.session.private.is_some() && self.terminals.clients().next().is_none();
        let ends_with_terminal =
            self.session.launch.config.terminal.on_hangup == crate::core::config::OnHangup::End;
        let ends = unreachable || in_charge && why == "hangup" && ends_with_terminal;
        self.events.push_back(Event::Detached { client, why });
        if ends && self.exit.is_none() {
            self.events.push_back(Event::Stop { id: 0, kill: false });
        }
    }

    /// A client hands its terminal over.
    pub(in crate::host) fn take_terminal(&mut self, id: u64) {
        if !self.on_terminals(|terminals, scene| terminals.take_terminal(id, scene)) {
            return;
        }
        if self.child.is_stopped() {
            self.on_terminals(|terminals, scene| terminals.meet_stopped_program(id, scene));
        }
        // The program ended before its first client attached.
        if self.exit.is_some() {
            self.keep_last_screen(true);
            let message = self.last_word();
            self.on_terminals(|terminals, scene| {
                terminals.disconnect(id, Farewell::ended(message.as_deref()), scene)
            });
        }
    }

    /// Keeps the last screen of a program that nobody was watching for `hopty screen`: it often shows why the
    /// program ended.
    pub(in crate::host) fn keep_last_screen(&mut self, seen: bool) {
        let path = self.session.paths.last_screen(&self.session.claim.name);
        if seen {
            self.jobs.journal.remove_file(path);
        } else {
            let model = self.child.run.as_mut().map(|run| &mut run.model);
            let picture = json!(picture::picture_of(model, 0)).to_string().into_bytes();
            self.jobs.journal.put_file(path, picture);
        }
    }

    /// Detaches a client; the session goes on.
    pub(in crate::host) fn detach(&mut self, id: u64) {
        self.on_terminals(|terminals, scene| terminals.disconnect(id, Farewell::Detached, scene));
    }

    /// At the session's end: input that a person typed and the program did not read goes to the leader's
    /// shell.
    pub(in crate::host) fn keep_undelivered(&mut self) {
        let Some(run) = self.child.run.as_mut().filter(|run| run.end.is_some()) else { return };
        if let Some(bytes) = run.unread.take(&run.pty, &mut run.input) {
            self.terminals.keep_undelivered(bytes);
        }
    }

    /// A borrowed terminal is ready.
    pub(in crate::host) fn terminal_ready(&mut self, id: u64, ready: FdReadiness) {
        let mut buf = [0; 4096];
        match self.terminals.read(id, ready, self.typing_waits(), self.clock.now(), &mut buf) {
            TerminalInput::Nothing => {}
            TerminalInput::Bytes(n) => self.typed(id, &buf[..n]),
            TerminalInput::HungUp => self.on_terminals(|terminals, scene| terminals.hang_up(id, scene)),
        }
    }

    /// Sends the program's output to every client that gets its bytes.
    pub(in crate::host) fn show(&mut self, bytes: &[u8]) {
        self.cast.output(bytes, &self.clock);
        self.on_terminals(|terminals, scene| terminals.show(bytes, scene));
    }

    /// Whether the child may be read.
    pub(in crate::host) fn has_room(&self) -> bool {
        self.terminals.have_room(&self.control)
    }

    /// Whether to read again at once: in a burst there is more by then, and only keys are polled in between.
    pub(in crate::host) fn goes_on(&self) -> bool {
        let bursts = self.child.run.as_ref().is_some_and(|run| run.model.is_bursting());
        bursts && self.has_room() && (self.typing_waits() || !self.terminals.have_input(&self.control))
    }

    /// The terminals' next deadline.
    pub(in crate::host) fn terminals_deadline(&self) -> Option<Stamp> {
        let run = self.child.run.as_ref().filter(|run| run.muted.is_none());
        self.terminals.deadline(run.map(|run| (run.number, run.model.revision())), &self.control)
    }

    /// Sends a notice to every attached client, and keeps it for the page.
    pub(in crate::host) fn notice(&mut self, about: DecisionKind, text: &str) {
        self.on_terminals(|terminals, scene| terminals.notice(about, text, scene));
        self.segment_may_differ();
    }
}
