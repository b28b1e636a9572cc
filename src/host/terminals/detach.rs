//! Clients' terminals: taken by descriptor or reached by frames, shown what the child writes, given back whole.
//!
//! The host never touches a terminal whose client is stopped or in the background: then it is the shell's. It never waits
//! for a slow one either: what has to come after the last byte (a release, a farewell) is a [`AfterFlush`] that is pursued when
//! the terminal has taken everything.

use super::client::{AfterFlush, Client, STUCK_END_MS, STUCK_LEAVE_MS, STUCK_STOP_MS, Transport, stuck_limit};
use super::repaint;
use super::viewport::Viewport;
use crate::core::process::Signal;
use crate::core::supervisor::event::Coming;
use crate::core::supervisor::phase::Cause;
use crate::host::child::ChildRun;
use crate::host::{Host, report};
use crate::ipc::frame::{Frame, MAX_PAYLOAD, tag};
use crate::screen::Screen;
use crate::sys::fd::read_some;
use crate::sys::poll::Ready as Readiness;
use crate::tty::handed::{Handed, Spare};

/// While writing, a client's state is looked at at most this often, in ms: when output begins, and in a burst. CONTRACT C12 allows
/// 20; a look costs some 3 us.
const LOOK_MS: (u64, u64) = (1, 5);
/// How long answers that the terminal owes the child are waited for before it is given back, in ms (CONTRACT C12).
pub(in crate::host) const ANSWER_MS: u64 = 100;
/// How long a farewell may wait to be read, in ms.
const BYE_MS: u64 = 60_000;

impl Host {
    pub(in crate::host) fn take_terminal(&mut self, id: u64) {
        self.settle_output();
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let fd = connection.stream.take_fd();
        let Some(client) = self.terminals.client_mut(id) else { return };
        if !matches!(client.via, Transport::Pending) || client.leaving {
            return;
        }
        let spare = fd.as_ref().and_then(|fd| fd.try_clone().ok());
        match fd.map(|fd| Handed::take(fd, client.found.clone(), client.raw.clone())) {
            Some(Ok(terminal)) => client.via = Transport::Borrowed(terminal),
            other => {
                client.via = Transport::Relayed(spare.and_then(|fd| Spare::keep(fd, client.found.clone())));
                let why = match other {
                    Some(Err(error)) => error.to_string(),
                    _ => "no descriptor came with the frame".to_owned(),
                };
                connection.frame(tag::RELAY, why.as_bytes());
            }
        }
        self.welcome(id);
        self.tell_missed(id);
        // After the picture: who is woken by it takes time from who waits to see it.
        if !self.terminals.is_relayed(id)
            && let Some(connection) = self.connections.get_mut(&id)
        {
            connection.frame(tag::TAKEN, &[]);
        }
        if self.run.as_ref().is_some_and(|run| run.end.is_none() && self.processes.is_stopped(run.pid)) {
            self.meets_stopped_program(id);
        }
        // The program ended before its first client was here.
        if self.exit.is_some() {
            self.keep_last_screen(true);
            let message = self.last_word();
            self.say_bye(id, "ended", message.as_deref());
        }
    }

    /// A client comes while the program is stopped. Who joins continues it; what it started, or came back to, stopped while the
    /// terminal was on its way, when nobody could be told.
    fn meets_stopped_program(&mut self, id: u64) {
        let comes = self.client_mut(id).map(|client| (client.how, client.returns));
        match comes {
            Some((Coming::Joins, false)) => self.signal_child(Signal(nix::libc::SIGCONT), true),
            Some((Coming::Watches, false)) | None => {}
            Some(_) => self.suspend_leader(),
        }
    }

    /// Shows a client what it has missed: the bytes as they came where all of them are still there, else the picture.
    fn welcome(&mut self, id: u64) {
        let Some(client) = self.client_mut(id) else { return };
        let (returns, redo) = (client.returns, client.redo.take());
        let first = client.how == Coming::Starts && client.number == 1 && !returns;
        if !self.admit(id) {
            return;
        }
        let Some(run) = &mut self.run else { return };
        let redo = redo.filter(|(number, _)| *number == run.number);
        let whole = !std::mem::take(&mut run.lost) && (first || (returns && redo.is_some()));
        let kept = std::mem::take(&mut run.buffered);
        if whole {
            self.put(id, &redo.unwrap_or_default().1);
            self.put(id, &kept);
            return;
        }
        let former = if returns { run.model.look_so_far(|screen| screen.former().clone()) } else { None };
        self.draw_bytes(id, former.unwrap_or_default());
    }

    /// What puts a terminal back that shows everything which the child has written.
    pub(in crate::host) fn undo(&mut self) -> Vec<u8> {
        self.run.as_mut().map(ChildRun::undo).unwrap_or_default()
    }

    /// Writes to one client's terminal. False when there is none.
    pub(in crate::host) fn put(&mut self, id: u64, bytes: &[u8]) -> bool {
        let now = self.clock.now();
        let bursts = self.run.as_ref().is_some_and(|run| run.model.is_behind());
        let look = if bursts { LOOK_MS.1 } else { LOOK_MS.0 };
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        let Some(client) = self.terminals.client_mut(id) else { return false };
        if client.goal.is_some() || client.leaving {
            return false;
        }
        match &client.via {
            Transport::Borrowed(_) => {
                let looked = client.paused.is_none() && now.since(client.checked) < look;
                let usable = looked || (client.paused.is_none() && client.may_use_terminal(now));
                if let Transport::Borrowed(terminal) = &client.via
                    && usable
                {
                    if client.out.send(terminal, bytes).is_err() {
                        client.out.clear();
                    }
                } else {
                    client.out.push(bytes);
                }
                true
            }
            Transport::Relayed(_) => {
                for part in bytes.chunks(MAX_PAYLOAD) {
                    connection.frame(tag::OUTPUT, part);
                }
                true
            }
            Transport::Pending | Transport::Released => false,
        }
    }

    pub(in crate::host) fn terminal_ready(&mut self, id: u64, ready: Readiness) {
        let now = self.clock.now();
        let typing_waits = self.typing_waits();
        let Some(client) = self.terminals.client_mut(id) else { return };
        if !client.may_use_terminal(now) {
            return;
        }
        let Transport::Borrowed(terminal) = &client.via else { return };
        if ready.write && client.out.flush(terminal).is_err() {
            client.out.clear();
        }
        if !ready.gone && (!ready.read || typing_waits) {
            return;
        }
        // A terminal gives no more at once.
        let mut buf = [0; 4096];
        match read_some(terminal, &mut buf) {
            Ok(Some(0)) | Err(_) => self.hung_up(id),
            Ok(None) => {}
            Ok(Some(n)) => self.typed(id, &buf[..n]),
        }
    }

    /// A client that was stopped is looked at again.
    pub(in crate::host) fn look_again(&mut self, id: u64) {
        let now = self.clock.now();
        let due = self.client_mut(id).is_some_and(|client| client.paused.is_some_and(|(at, _)| at <= now));
        if due {
            self.terminal_ready(id, Readiness { read: true, write: true, gone: false });
        }
    }

    /// The client is about to stop: its terminal is whole again before the answer.
    pub(in crate::host) fn release(&mut self, id: u64) {
        let bytes = self.client_mut(id).is_some_and(|client| client.gets_bytes());
        let undo = self.put_away(id);
        let redo = self.run.as_mut().filter(|_| bytes).and_then(|run| repaint::redo(run, &undo));
        let now = self.clock.now();
        let Some(client) = self.client_mut(id) else { return };
        client.viewport = Viewport::Direct;
        if client.goal.is_none() && !client.leaving {
            client.redo = redo;
            client.goal = Some(AfterFlush::Release);
            client.progress = (client.out.len(), now);
        }
        self.pursue(id);
    }

    /// The client is raw and in the foreground again. After a release it hands its terminal over anew and the child goes
    /// on; after a stop from outside the shell has written on the screen, which is drawn again.
    pub(in crate::host) fn resume(&mut self, id: u64) {
        let in_charge = self.terminals.is_in_charge(id);
        let Some(client) = self.client_mut(id) else { return };
        if client.leaving {
            return;
        }
        match client.via {
            Transport::Released => {
                client.via = Transport::Pending;
                client.returns = true;
                if in_charge {
                    self.signal_child(Signal(nix::libc::SIGCONT), true);
                }
            }
            Transport::Borrowed(_) | Transport::Relayed(_) if !client.gets_bytes() => {
                client.paused = None;
                self.redraw(id);
            }
            Transport::Borrowed(_) | Transport::Relayed(_) => {
                client.paused = None;
                let Some(run) = &mut self.run else { return };
                let draw = |screen: &Screen| if screen.alternate() { repaint::again(screen) } else { repaint::modes(screen) };
                let picture = run.model.look(draw).unwrap_or_default();
                let _ = run.pty.signal_foreground(Signal(nix::libc::SIGWINCH));
                self.put(id, &picture);
            }
            Transport::Pending => {}
        }
    }

    pub(in crate::host) fn suspend_leader(&mut self) {
        let target = self.terminals.leader().filter(|id| self.terminals.client(*id).is_some_and(Client::watches));
        if let Some(connection) = target.and_then(|id| self.connections.get_mut(&id)) {
            connection.frame(tag::SUSPEND, &[]);
        }
    }

    /// Ends a client: everything is written, its terminal is whole, then the last frame.
    pub(in crate::host) fn say_bye(&mut self, id: u64, why: &'static str, message: Option<&str>) {
        let ended = why == "ended";
        if ended {
            self.last_picture(id);
        } else {
            let bytes = self.client_mut(id).is_some_and(|client| client.gets_bytes());
            let below = self.run.as_mut().filter(|run| bytes && run.muted.is_none()).and_then(|run| run.model.look(repaint::below));
            self.put_away(id);
            self.put(id, &below.unwrap_or_default());
        }
        let now = self.clock.now();
        let patience = match self.exit.as_ref().filter(|_| ended) {
            Some(exit) if exit.cause == Cause::Stopped => STUCK_STOP_MS,
            Some(_) => STUCK_END_MS,
            None => STUCK_LEAVE_MS,
        };
        let Some(client) = self.client_mut(id) else { return };
        if client.leaving {
            return;
        }
        // On its way to hand its terminal over: what was written before it came is shown first.
        if ended && matches!(client.via, Transport::Pending) {
            return;
        }
        client.goal = Some(AfterFlush::Disconnect { why, message: message.map(str::to_owned), patience });
        client.progress = (client.out.len(), now);
        if ended && matches!(client.via, Transport::Released) {
            self.show_late(id);
        }
        self.pursue(id);
    }

    /// What the child wrote while its client was stopped; it will see it when it goes on.
    fn show_late(&mut self, id: u64) {
        let kept = self.take_buffered();
        if let Some(connection) = self.connections.get_mut(&id) {
            for part in kept.chunks(MAX_PAYLOAD) {
                connection.frame(tag::OUTPUT, part);
            }
        }
    }

    /// Does what was to be done when everything is written, if it is.
    pub(in crate::host) fn pursue(&mut self, id: u64) {
        let now = self.clock.now();
        let exit = self.exit.map(report::Exit::status);
        let leads = self.terminals.leads(id);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(client) = self.terminals.client_mut(id) else { return };
        let Some(goal) = client.goal.clone() else { return };
        let ended = client.is_ending();
        if !ended && client.asked.is_some_and(|until| now < until) {
            return;
        }
        client.asked = None;
        let usable = client.may_use_terminal(now);
        if let Transport::Borrowed(terminal) = &client.via {
            if usable && client.out.flush(terminal).is_err() {
                client.out.clear();
            }
            let stuck = now >= client.progress.1.after(stuck_limit(&goal));
            if client.out.len() != client.progress.0 {
                client.progress = (client.out.len(), now);
            }
            if usable && !client.out.is_empty() && !stuck {
                return;
            }
            // It is not ours to touch: the client writes the rest itself when it goes on.
            let rest = client.out.take();
            if !usable {
                for part in rest.chunks(MAX_PAYLOAD) {
                    connection.stream.send(&Frame::new(tag::OUTPUT, part).encode());
                }
            }
        }
        client.goal = None;
        client.paused = None;
        client.via = Transport::Released;
        let number = client.number;
        let AfterFlush::Disconnect { why, message, .. } = goal else {
            connection.frame(tag::RELEASED, &[]);
            return;
        };
        client.leaving = true;
        connection.frame(tag::RELEASED, &[]);
        let unread = self.run.as_mut().filter(|_| ended && leads).map(|run| std::mem::take(&mut run.unread.typed));
        let bye = serde_json::json!({"why": why, "exit": exit, "message": message, "unread": unread.unwrap_or_default()});
        connection.frame(tag::BYE, bye.to_string().as_bytes());
        connection.close(now, BYE_MS);
        self.unlead(id);
        if !ended {
            self.detached(number, why, false);
        }
    }

    /// A client's terminal went away, or the client was told so by SIGHUP: the session goes on without it.
    pub(in crate::host) fn hung_up(&mut self, id: u64) {
        let (now, in_charge) = (self.clock.now(), self.terminals.is_in_charge(id));
        self.put_away(id);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(client) = self.terminals.client_mut(id) else { return };
        if client.leaving {
            return;
        }
        if let Transport::Borrowed(terminal) = &client.via {
            // Perhaps only the client was told so and the terminal is there: one try to leave it whole.
            let _ = client.out.flush(terminal);
        }
        client.out.clear();
        client.via = Transport::Released;
        client.goal = None;
        client.leaving = true;
        let number = client.number;
        connection.frame(tag::RELEASED, &[]);
        connection.frame(tag::BYE, br#"{"why":"detached","exit":null,"message":"hangup"}"#);
        connection.close(now, STUCK_LEAVE_MS);
        self.unlead(id);
        self.detached(number, "hangup", in_charge);
    }
}
