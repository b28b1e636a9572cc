//! Restores a terminal whose host or client dies: the client is told beforehand what to write, and the host
//! writes it if a client is gone without a farewell.

use std::os::fd::AsFd;

use super::Terminals;
use super::client::{Client, Transport};
use super::repaint;
use super::scene::Scene;
use super::viewport::Viewport;
use crate::ipc::frame::tag;
use crate::sys::poll::{Interest, PollSet};
use crate::tty::raw;

/// How long restoring the terminal of a dead client may take, in ms.
const REPAIR_MS: u64 = 200;
/// How long a program may draw before the client is told where there is room below it, in ms: an update after
/// every piece would wake the client as often as the program writes.
const DRAWS_MS: u64 = 100;

impl Terminals {
    /// Sends the sequences that a client writes if the host dies, whenever they change. The client's own
    /// messages then appear below what the program has drawn.
    pub(super) fn tell_undo(&mut self, id: u64, scene: &mut Scene<'_>) {
        let now = scene.now();
        let Some(client) = self.clients.get_mut(&id) else { return };
        let run =
            scene.run.as_mut().filter(|_| !client.leaving && !matches!(client.via, Transport::Released));
        let Some(run) = run else {
            client.undo_at = None;
            return;
        };
        let (revision, drawn) = match &client.viewport {
            Viewport::Direct => {
                ((run.number, run.model.undo_revision(), run.muted.is_some()), run.model.revision())
            }
            Viewport::Mirror(painter) => ((u32::MAX, painter.undo_revision(), false), 0),
            Viewport::Stale { .. } => ((u32::MAX, u64::MAX, true), 0),
        };
        let same = client.undo_seen.replace(revision) == Some(revision);
        if same && (client.undo_drawn == drawn || now < *client.undo_at.get_or_insert(now.after(DRAWS_MS))) {
            return;
        }
        (client.undo_drawn, client.undo_at) = (drawn, None);
        let undo = match &mut client.viewport {
            Viewport::Direct => run.muted.clone().unwrap_or_else(|| {
                let step = run.model.look_so_far(repaint::step_below).unwrap_or_default();
                [run.model.undo_so_far(), step].concat()
            }),
            Viewport::Mirror(painter) => painter.undo(),
            Viewport::Stale { undo, .. } => undo.clone(),
        };
        if client.undo != undo {
            scene.links.frame(id, tag::UNDO, &undo);
            client.undo = undo;
        }
    }
}

impl Client {
    /// Restores the terminal of a client that died without a farewell.
    pub(super) fn repair(&mut self, scene: &mut Scene<'_>) {
        let undo = self.last_undo(scene);
        if let Transport::Relayed(spare) = &mut self.via
            && let Some(spare) = spare.take()
        {
            spare.mend([raw::END_OF_ANYTHING, &undo].concat());
        }
        let Transport::Borrowed(terminal) = &self.via else { return };
        // After its backlog: the undo is for a terminal that has received all of it.
        let _ = self.out.send(terminal, &undo);
        let until = scene.now().after(REPAIR_MS);
        while !self.out.is_empty() && scene.now() < until {
            let mut set = PollSet::default();
            set.add((), terminal.as_fd(), Interest::Write);
            if set.wait(Some(REPAIR_MS)).is_err() || self.out.flush(terminal).is_err() {
                break;
            }
        }
        terminal.restore_modes();
    }

    /// The sequences that undo everything on its terminal, with room below what the program has drawn.
    fn last_undo(&mut self, scene: &mut Scene<'_>) -> Vec<u8> {
        let undo = self.undo(scene);
        let run = scene.run.as_mut().filter(|run| self.gets_bytes() && run.muted.is_none());
        match run.and_then(|run| run.model.look(repaint::step_below)).filter(|step| !step.is_empty()) {
            Some(step) => [&undo, &step, b"\r\n" as &[u8]].concat(),
            None => undo,
        }
    }
}
