//! The program's output and queries: which terminals get them, what is kept while there is none, and which
//! terminals are too slow.
//!
//! A terminal that is slower than the program while others watch gets nothing until it has caught up, and
//! then a picture, so that it does not slow the others. A single terminal slows the program, as it would
//! without hopty, unless it takes nothing at all: a hanging connection may go unnoticed for hours.

use super::client::{Client, OUT_HIGH};
use super::client_view::{ClientView, StaleUntil};
use super::scene::{ClientLinks, Scene};
use super::{TerminalEvent, Terminals};
use crate::screen::{Screen, TerminalIdentity};

/// Bytes that are kept for a client that is attaching or suspended.
const BACKLOG_MAX: usize = 1 << 18;
/// How long to wait for answers to the program's queries before a terminal is released, in ms.
const ANSWER_MS: u64 = 100;

#[derive(Debug, Default)]
pub(super) struct Backlog {
    bytes: Vec<u8>,
    /// Some output was dropped, or its queries were answered: the client gets the picture instead.
    lost: bool,
}

impl Backlog {
    fn lose(&mut self) {
        self.lost = true;
        self.bytes = Vec::new();
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= BACKLOG_MAX
    }

    /// The whole output since the client left; `None` if some is lost. Begins anew either way.
    pub fn take_whole(&mut self) -> Option<Vec<u8>> {
        let Backlog { bytes, lost } = std::mem::take(self);
        (!lost).then_some(bytes)
    }

    /// The kept bytes.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

impl Terminals {
    /// Sends the program's output to every client that gets its bytes; keeps it if there is none.
    pub fn show(&mut self, bytes: &[u8], scene: &mut Scene<'_>) {
        let mut shown = false;
        for (id, client) in &mut self.clients {
            shown |= client.show(*id, bytes, scene);
        }
        if shown || self.backlog.lost || scene.run.is_none() {
            return;
        }
        let expected = self.expects_first();
        if self.in_use() > 0 || !expected && self.backlog.bytes.len() + bytes.len() > BACKLOG_MAX {
            self.backlog.lose();
        } else {
            self.backlog.bytes.extend_from_slice(bytes);
        }
    }

    /// Whether the program may be read. A single terminal limits its speed.
    pub fn have_room(&self, links: &dyn ClientLinks) -> bool {
        let must_wait = self.backlog.is_full() && self.expects_first();
        !must_wait
            && (self.in_use() > 1
                || self.clients.iter().all(|(id, client)| client.has_room(links.waiting(*id))))
    }

    /// Whether there are typed bytes that were not read yet.
    pub fn have_input(&self, links: &dyn ClientLinks) -> bool {
        self.clients
            .iter()
            .any(|(id, client)| client.has_typed() || client.is_relayed() && links.has_input(*id))
    }

    /// Call before a client attaches or detaches: earlier queries and output were for those attached now.
    pub fn settle_output(&mut self, scene: &mut Scene<'_>) {
        if let Some(run) = &mut scene.run {
            run.model.look(|_| ());
        }
        self.answer_queries(scene);
        self.keep_notifications(scene);
    }

    /// Answers queries while no terminal is attached, so that the program does not wait.
    pub fn answer_queries(&mut self, scene: &mut Scene<'_>) {
        let due = scene.now().after(ANSWER_MS);
        let Some(run) = &mut scene.run else { return };
        let Some(queries) = run.model.take_queries() else { return };
        let shown = self.clients.values().any(|client| client.watches() && client.gets_bytes());
        let watched = shown || self.expects_first();
        if watched && run.muted.is_none() {
            if let Some(client) = self.leader.and_then(|id| self.client_mut(id)) {
                client.expect_answer(due);
            }
            return;
        }
        // The query's bytes must not reach a terminal later, too.
        self.backlog.lost |= !watched;
        let identity = TerminalIdentity::new(env!("CARGO_PKG_VERSION"));
        self.events.push_back(TerminalEvent::Answers(run.model.answer(&queries, &identity)));
    }

    /// Pauses a terminal that is slower than the program while others watch. All output read so far was sent
    /// to it or waits for it, so this must happen before more is read.
    pub fn pause_slow(&mut self, scene: &mut Scene<'_>) {
        if self.in_use() < 2 {
            return;
        }
        let waits = |id, client: &Client| {
            client.gets_bytes() && client.waiting() + scene.links.waiting(id) > OUT_HIGH
        };
        let slow: Vec<u64> =
            self.clients().filter(|(id, client)| waits(*id, client)).map(|(id, _)| id).collect();
        for id in slow {
            self.pause_until_drained(id, scene);
        }
    }

    /// Pauses a single terminal if it has taken nothing for long, or if its client is stopped and has a large
    /// backlog.
    pub(super) fn pause_stalled(&mut self, scene: &mut Scene<'_>) {
        let now = scene.now();
        let alone = scene.exit.is_none() && self.in_use() == 1;
        let mut stuck = None;
        for (id, client) in &mut self.clients {
            let (relayed, written) = (scene.links.waiting(*id), scene.links.written(*id));
            if client.stalls_program(alone, relayed, written, now) {
                stuck = Some(*id);
            }
        }
        if let Some(id) = stuck {
            self.pause_until_drained(id, scene);
        }
    }

    /// Shows a terminal nothing until it has taken its backlog.
    fn pause_until_drained(&mut self, id: u64, scene: &mut Scene<'_>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let undo = scene.undo();
        let Some(run) = &mut scene.run else { return };
        if let Some(total) = run.model.look(Screen::history_total) {
            self.scrollback.saw(client.terminal_id.as_ref(), total);
        }
        client.view = ClientView::Stale { undo, until: StaleUntil::CaughtUp };
    }
}
