//! What the program writes and asks: to which terminals it goes, what is kept while none is there, and who is
//! too slow for it.
//!
//! A terminal that is slower than the program while others watch gets nothing until it has caught up, and
//! then a picture: it slows nobody. One that is alone slows the program, as it would without hopty, unless it
//! takes nothing at all: behind a connection that hangs, nobody may look for hours.

use super::client::{Client, OUT_HIGH};
use super::scene::{ClientLinks, Scene};
use super::viewport::{StaleUntil, Viewport};
use super::{TerminalEvent, Terminals};
use crate::screen::{Screen, TerminalIdentity};

/// Bytes that are kept for a client that is on its way, or is suspended.
const BACKLOG_MAX: usize = 1 << 18;
/// How long answers that the terminal owes the program are waited for before it is given back, in ms.
const ANSWER_MS: u64 = 100;
/// How long the only terminal may take nothing before the program goes on without it, in ms: longer than a
/// poor connection pauses, and nothing against the hours that a broken one can hang.
pub(super) const STALL_MS: u64 = 10_000;

/// Output for a client that is not there yet, or is suspended.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    bytes: Vec<u8>,
    /// Some of it was not kept, or its questions were answered: who comes is shown the picture instead.
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

    /// What was kept, and whether that is all there was.
    pub fn take(&mut self) -> (Vec<u8>, bool) {
        (std::mem::take(&mut self.bytes), !std::mem::take(&mut self.lost))
    }

    /// What was kept.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

impl Terminals {
    /// Sends what the program wrote to every client that gets its bytes; while there is none it is kept.
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

    /// Whether the program may be read. One that has a single terminal is no faster than it.
    pub fn have_room(&self, links: &dyn ClientLinks) -> bool {
        let must_wait = self.backlog.is_full() && self.expects_first();
        !must_wait
            && (self.in_use() > 1
                || self.clients.iter().all(|(id, client)| client.has_room(links.waiting(*id))))
    }

    /// Whether a person has typed what was not read yet.
    pub fn have_input(&self, links: &dyn ClientLinks) -> bool {
        self.clients
            .iter()
            .any(|(id, client)| client.has_typed() || client.is_relayed() && links.has_input(*id))
    }

    /// Somebody is about to come or to go: what the program has asked and said so far is for those who were
    /// there.
    pub fn settle_output(&mut self, scene: &mut Scene<'_>) {
        if let Some(run) = &mut scene.run {
            run.model.look(|_| ());
        }
        self.answer_queries(scene);
        self.keep_notifications(scene);
    }

    /// While no terminal is there to answer, the host answers for it, so that the program does not wait.
    pub fn answer_queries(&mut self, scene: &mut Scene<'_>) {
        let due = scene.now().after(ANSWER_MS);
        let Some(run) = &mut scene.run else { return };
        let Some(queries) = run.model.take_queries() else { return };
        let shown = self.clients.values().any(|client| client.watches() && client.gets_bytes());
        let watched = shown || self.expects_first();
        if watched && run.muted.is_none() {
            if let Some(client) = self.leader.and_then(|id| self.client_mut(id)) {
                client.asked = Some(due);
            }
            return;
        }
        // The bytes that asked must not reach a terminal later on as well.
        self.backlog.lost |= !watched;
        let identity = TerminalIdentity::new(env!("CARGO_PKG_VERSION"));
        self.events.push_back(TerminalEvent::Answers(run.model.answer(&queries, &identity)));
    }

    /// Sets a terminal aside that is slower than the program while others watch. What it has got, or waits
    /// for it, is all that was read so far; so this comes before more is read.
    pub fn set_slow_aside(&mut self, scene: &mut Scene<'_>) {
        if self.in_use() < 2 {
            return;
        }
        let waits = |id, client: &Client| {
            client.gets_bytes() && client.out.len() + scene.links.waiting(id) > OUT_HIGH
        };
        let slow: Vec<u64> =
            self.clients().filter(|(id, client)| waits(*id, client)).map(|(id, _)| id).collect();
        for id in slow {
            self.set_aside(id, scene);
        }
    }

    /// Sets the only terminal aside when it has taken nothing for long, or when its client is stopped and
    /// much waits for it.
    pub(super) fn set_stalled_aside(&mut self, scene: &mut Scene<'_>) {
        let now = scene.now();
        let alone = scene.exit.is_none() && self.in_use() == 1;
        let mut stuck = None;
        for (id, client) in &mut self.clients {
            let holds_up = alone && client.watches() && !client.has_room(scene.links.waiting(*id));
            let written = client.out.written() + scene.links.written(*id);
            let before = client.stalled.filter(|(taken, _)| *taken == written);
            client.stalled = holds_up.then(|| before.unwrap_or((written, now)));
            let over = client.stalled.is_some_and(|(_, since)| now >= since.after(STALL_MS));
            if over || holds_up && client.paused.is_some() {
                client.stalled = None;
                stuck = Some(*id);
            }
        }
        if let Some(id) = stuck {
            self.set_aside(id, scene);
        }
    }

    /// Shows a terminal nothing more until it has taken what waits for it.
    fn set_aside(&mut self, id: u64, scene: &mut Scene<'_>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let undo = scene.undo();
        let Some(run) = &mut scene.run else { return };
        if let Some(total) = run.model.look(Screen::history_total) {
            self.scrollback.saw(client.terminal_id.as_ref(), total);
        }
        client.viewport = Viewport::Stale { undo, until: StaleUntil::CaughtUp };
    }
}
