//! Making a terminal whole whose host or client dies: the client is told beforehand what to write, and the host does it where
//! a client is gone without a word.

use crate::host::Host;
use crate::host::terminals::{Client, Transport, Viewport, repaint};

use crate::ipc::frame::{Frame, tag};
use crate::sys::poll::{Interest, PollSet};
use crate::tty::raw;

/// How long the terminal of a client that died may take to be mended, in ms.
const MEND_MS: u64 = 200;
/// How long a program may go on drawing before a client is told where below it there is room, in ms: to tell it after each
/// piece would wake the client as often as the program writes.
const DRAWS_MS: u64 = 100;

impl Host {
    /// The sequences that a client writes when the host dies, whenever they change. What it says next stands below what the
    /// program has drawn.
    pub(in crate::host) fn tell_undo(&mut self, id: u64) {
        let now = self.clock.now();
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(client) = self.terminals.client_mut(id) else { return };
        let run = self.run.as_mut().filter(|_| !client.leaving && !matches!(client.via, Transport::Released));
        let Some(run) = run else {
            client.undo_at = None;
            return;
        };
        let (revision, drawn) = match &client.viewport {
            Viewport::Direct => ((run.number, run.model.undo_revision(), run.muted.is_some()), run.model.revision()),
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
            connection.stream.send(&Frame::new(tag::UNDO, &undo).encode());
            client.undo = undo;
        }
    }

    /// The terminal of a client that died without a word.
    pub(in crate::host) fn mend(&mut self, client: &mut Client) {
        let undo = self.undo_of(client);
        if let Transport::Relayed(spare) = &mut client.via
            && let Some(spare) = spare.take()
        {
            spare.mend([raw::END_OF_ANYTHING, &undo].concat());
        }
        let Transport::Borrowed(terminal) = &client.via else { return };
        // Behind what still waits: the undo is for a terminal that has seen all of it.
        let _ = client.out.send(terminal, &undo);
        let until = self.clock.now().after(MEND_MS);
        while !client.out.is_empty() && self.clock.now() < until {
            let mut set = PollSet::default();
            set.add((), std::os::fd::AsFd::as_fd(terminal), Interest::Write);
            if set.wait(Some(MEND_MS)).is_err() || client.out.flush(terminal).is_err() {
                break;
            }
        }
        terminal.restore_modes();
    }
}
