//! Restores a client's terminal because the client stops or leaves.
//!
//! The host never touches a terminal whose client is stopped or in the background: then it belongs to the
//! shell. It never waits for a slow terminal either: whatever must follow the last byte (a release, a
//! farewell) is an [`AfterFlush`], done once the terminal has taken everything.

use super::client::{Client, STUCK_END_MS, STUCK_LEAVE_MS, STUCK_STOP_MS, send_output};
use super::client_terminal::{AfterFlush, Suspension};
use super::client_view::ClientView;
use super::repaint_on_attach;
use super::scene::Scene;
use super::{TerminalEvent, Terminals};
use crate::core::supervisor::phase::EndCause;
use crate::host::session_exit::HostExit;
use crate::ipc::farewell::Farewell;
use crate::ipc::frame::tag;
use crate::screen::Screen;

/// How long a farewell may wait to be read, in ms.
const BYE_MS: u64 = 60_000;

impl Terminals {
    /// The client is about to stop: its terminal is restored before the answer.
    pub fn release(&mut self, id: u64, scene: &mut Scene<'_>) {
        let bytes = self.client(id).is_some_and(Client::gets_bytes);
        let undo = self.take_off(id, scene);
        let redo = scene.run.as_mut().filter(|_| bytes).and_then(|run| repaint_on_attach::redo(run, &undo));
        let now = scene.now();
        let Some(client) = self.client_mut(id) else { return };
        client.view = ClientView::Direct;
        client.begin_flush(AfterFlush::Suspend(Suspension { redo }), now);
        self.finish_flush(id, scene);
    }

    /// The client is raw and in the foreground again. After a release it hands its terminal over again and
    /// the program continues; after a stop from outside it is repainted, because the shell has written on the
    /// screen.
    pub fn resume(&mut self, id: u64, scene: &mut Scene<'_>) {
        let in_charge = self.is_in_charge(id);
        let Some(client) = self.clients.get_mut(&id).filter(|client| !client.has_left()) else { return };
        if client.expect_reattach() {
            if in_charge {
                self.events.push_back(TerminalEvent::Continued);
            }
            return;
        }
        if client.is_pending() {
            return;
        }
        client.go_on();
        if !client.gets_bytes() {
            return self.redraw(id, scene);
        }
        let Some(run) = &mut scene.run else { return };
        let draw = |screen: &Screen| {
            if screen.alternate() {
                repaint_on_attach::again(screen)
            } else {
                repaint_on_attach::modes(screen)
            }
        };
        let picture = run.model.look(draw).unwrap_or_default();
        self.events.push_back(TerminalEvent::WantsRedraw);
        client.put(id, &picture, scene);
    }

    /// The program has stopped: asks the leader's client to stop, too.
    pub fn suspend_leader(&mut self, scene: &mut Scene<'_>) {
        if let Some(id) = self.leader.filter(|id| self.client(*id).is_some_and(Client::watches)) {
            scene.links.frame(id, tag::SUSPEND, &[]);
        }
    }

    /// Disconnects a client: writes everything, restores its terminal, then sends the last frame.
    pub fn disconnect(&mut self, id: u64, farewell: Farewell, scene: &mut Scene<'_>) {
        let ended = farewell.is_end();
        if ended {
            self.draw_last_lines(id, scene);
        } else {
            let bytes = self.client(id).is_some_and(Client::gets_bytes);
            let run = scene.run.as_mut().filter(|run| bytes && run.muted.is_none());
            let below = run.and_then(|run| run.model.look(repaint_on_attach::below));
            self.take_off(id, scene);
            if let Some(client) = self.clients.get_mut(&id) {
                client.put(id, &below.unwrap_or_default(), scene);
            }
        }
        let patience = match scene.exit.filter(|_| ended) {
            Some(exit) if exit.cause == EndCause::Stopped => STUCK_STOP_MS,
            Some(_) => STUCK_END_MS,
            None => STUCK_LEAVE_MS,
        };
        let Some(client) = self.clients.get_mut(&id).filter(|client| !client.has_left()) else { return };
        // It is about to hand over its terminal: first show it what was written before.
        if ended && client.is_pending() {
            return;
        }
        client.begin_flush(AfterFlush::Disconnect { farewell, patience }, scene.now());
        if ended && client.is_suspended() {
            // Output from the time of its suspension; the client shows it when it continues.
            send_output(id, &self.backlog.take_bytes(), scene);
        }
        self.finish_flush(id, scene);
    }

    /// Tells every client, after the last byte, that the session is over.
    pub fn disconnect_all(&mut self, message: Option<&str>, scene: &mut Scene<'_>) {
        let ids: Vec<u64> = self.clients.keys().copied().collect();
        for id in ids {
            self.disconnect(id, Farewell::ended(message), scene);
        }
    }

    /// Performs the [`AfterFlush`] if everything is written.
    pub(super) fn finish_flush(&mut self, id: u64, scene: &mut Scene<'_>) {
        let now = scene.now();
        let leads = self.leads(id);
        let Some(client) = self.clients.get_mut(&id) else { return };
        let ended = client.is_ending();
        if !client.is_flushed(id, scene) {
            return;
        }
        let farewell = client.give_back();
        scene.links.frame(id, tag::RELEASED, &[]);
        let Some(mut farewell) = farewell else { return };
        let number = client.number;
        if let Farewell::Ended { exit, unread, .. } = &mut farewell {
            *exit = scene.exit.map(HostExit::status);
            *unread = if leads { std::mem::take(&mut self.unread) } else { Vec::new() };
        }
        scene.links.frame(id, tag::BYE, &farewell.payload());
        scene.links.close(id, now, BYE_MS);
        self.unlead(id, scene);
        if !ended {
            self.events.push_back(TerminalEvent::Detached {
                client: number,
                why: "detached".to_owned(),
                in_charge: false,
            });
        }
    }

    /// A client's terminal went away, or the client got SIGHUP: the session continues without it.
    pub fn hang_up(&mut self, id: u64, scene: &mut Scene<'_>) {
        let (now, in_charge) = (scene.now(), self.is_in_charge(id));
        self.take_off(id, scene);
        let Some(client) = self.clients.get_mut(&id).filter(|client| !client.has_left()) else { return };
        client.hang_up();
        let number = client.number;
        scene.links.frame(id, tag::RELEASED, &[]);
        scene.links.frame(id, tag::BYE, &Farewell::HungUp.payload());
        scene.links.close(id, now, STUCK_LEAVE_MS);
        self.unlead(id, scene);
        self.events.push_back(TerminalEvent::Detached {
            client: number,
            why: "hangup".to_owned(),
            in_charge,
        });
    }

    /// A client's connection broke, with or without a farewell.
    pub fn lose(&mut self, id: u64, why: &str, scene: &mut Scene<'_>) {
        let in_charge = self.is_in_charge(id);
        let client = self.clients.remove(&id);
        self.unlead(id, scene);
        let Some(mut client) = client.filter(|client| !client.has_left()) else { return };
        // The client died without a farewell: the host restores its terminal.
        client.repair(scene);
        self.events.push_back(TerminalEvent::Detached {
            client: client.number,
            why: why.to_owned(),
            in_charge,
        });
    }
}
