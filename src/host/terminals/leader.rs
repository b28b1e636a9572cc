//! Who leads, and how large the session is.
//!
//! The leader, the client whose person typed last, sets the size and gets the program's bytes as they are;
//! its terminal alone is asked and heard when the program asks one.

use super::capabilities::Rendering;
use super::client::Client;
use super::scene::Scene;
use super::viewport::Viewport;
use super::{TerminalEvent, Terminals};
use crate::core::config::SizePolicy;
use crate::core::terminal::Size;

impl Terminals {
    /// This client's person typed last.
    pub fn lead(&mut self, id: u64, scene: &mut Scene<'_>) {
        if !self.leads(id) && self.client(id).is_some_and(|client| !client.read_only) {
            self.leader = Some(id);
            self.fit(scene);
        }
        let now = scene.now();
        if let Some(client) = self.client_mut(id) {
            client.typed = now;
        }
    }

    /// A client leaves: of those that stay, the one whose person typed last leads.
    pub(super) fn unlead(&mut self, id: u64, scene: &mut Scene<'_>) {
        if self.leads(id) {
            self.leader = self.next_leader(id);
        }
        self.fit(scene);
    }

    /// Who leads when this one does no longer: of those that stay, the one whose person typed last.
    fn next_leader(&self, id: u64) -> Option<u64> {
        let typed = |id: &u64| self.client(*id).map(|client| (!client.read_only, client.typed));
        let next = self.ids_in_use().into_iter().filter(|other| *other != id).max_by_key(typed);
        next.filter(|id| typed(id).is_some_and(|(may, _)| may))
    }

    /// A client's terminal has another size.
    pub fn resize(&mut self, id: u64, size: Size, scene: &mut Scene<'_>) {
        if let Some(client) = self.client_mut(id) {
            client.size = size;
            self.fit(scene);
        }
    }

    /// Gives the session its size, and every client what it is to see.
    pub fn fit(&mut self, scene: &mut Scene<'_>) {
        if scene.exit.is_some() {
            return;
        }
        self.fit_size(scene);
        for id in self.ids_in_use() {
            self.adjust(id, scene);
        }
    }

    pub(super) fn fit_size(&mut self, scene: &mut Scene<'_>) {
        let Some(size) = self.wanted_size() else { return };
        if let Some(run) = &mut scene.run {
            if *run.size == size {
                return;
            }
            *run.size = size;
            run.model.resize(size);
        }
        self.events.push_back(TerminalEvent::Resized(size));
    }

    /// The size that the session is to have; `None`: the one it has.
    fn wanted_size(&self) -> Option<Size> {
        match self.size_policy {
            SizePolicy::Fixed => Some(self.detached_size),
            SizePolicy::Leader => self.leader.and_then(|id| self.client(id)).map(|leader| leader.size),
            SizePolicy::Smallest => {
                let sizes: Vec<_> =
                    self.clients.values().filter(|c| !c.read_only && !c.leaving).map(|c| c.size).collect();
                let least = |of: fn(&Size) -> u16| sizes.iter().map(of).min();
                let (cols, rows) = (least(|size| size.drawn().0)?, least(|size| size.drawn().1)?);
                let same = sizes.iter().find(|size| size.drawn() == (cols, rows));
                Some(same.copied().unwrap_or(Size::cells(cols, rows)))
            }
        }
    }

    /// Whether this client gets the program's bytes as they are.
    pub(super) fn may_have_bytes(&self, id: u64, scene: &Scene<'_>) -> bool {
        // Without a model there are no pictures: then the leader gets bytes that were written for another
        // terminal.
        let run = scene.run.as_ref().filter(|run| !run.model.is_off());
        let fits = |client: &Client| {
            run.is_none_or(|run| {
                *run.size == client.size && client.capabilities.shown(run.capabilities) != Rendering::Pictures
            })
        };
        self.leads(id) && self.client(id).is_some_and(|client| !client.read_only && fits(client))
    }

    /// Draws a client's terminal anew where it is to see something else than it does.
    fn adjust(&mut self, id: u64, scene: &mut Scene<'_>) {
        let bytes = self.may_have_bytes(id, scene);
        let Some(client) = self.client(id) else { return };
        let right = match &client.viewport {
            Viewport::Direct => bytes,
            Viewport::Mirror(painter) => !bytes && painter.fits(client.size),
            Viewport::Stale { .. } => true,
        };
        if !right {
            self.redraw(id, scene);
        }
    }
}
