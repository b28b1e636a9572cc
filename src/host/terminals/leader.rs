//! The leader, and the size of the session.
//!
//! The leader is the client that typed last. It sets the size and gets the program's bytes unchanged; only
//! its terminal receives the program's queries and may answer them.

use super::capabilities::Rendering;
use super::client::Client;
use super::client_view::ClientView;
use super::scene::Scene;
use super::{TerminalEvent, Terminals};
use crate::core::config::SizePolicy;
use crate::core::terminal::Size;

impl Terminals {
    /// Makes the client that just typed the leader.
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

    /// A client leaves: the remaining client that typed last becomes the leader.
    pub(super) fn unlead(&mut self, id: u64, scene: &mut Scene<'_>) {
        if self.leads(id) {
            self.leader = self.next_leader(id);
        }
        self.fit(scene);
    }

    /// The next leader: of the remaining clients, the one that typed last.
    fn next_leader(&self, id: u64) -> Option<u64> {
        let typed = |id: &u64| self.client(*id).map(|client| (!client.read_only, client.typed));
        let next = self.ids_in_use().into_iter().filter(|other| *other != id).max_by_key(typed);
        next.filter(|id| typed(id).is_some_and(|(may, _)| may))
    }

    /// A client's terminal was resized. A page of hopty's own, laid out for the old size, closes.
    pub fn resize(&mut self, id: u64, size: Size, scene: &mut Scene<'_>) {
        let Some(client) = self.client_mut(id) else { return };
        let closes = client.size != size && client.shows_page();
        client.size = size;
        if closes {
            client.page_answer = None;
        }
        self.fit(scene);
        if closes {
            self.redraw(id, scene);
        }
    }

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

    /// The size that the session should have; `None`: unchanged.
    fn wanted_size(&self) -> Option<Size> {
        match self.size_policy {
            SizePolicy::Fixed => Some(self.detached_size),
            SizePolicy::Leader => self.leader.and_then(|id| self.client(id)).map(|leader| leader.size),
            SizePolicy::Smallest => {
                let sizes: Vec<_> =
                    self.clients.values().filter(|c| !c.read_only && !c.has_left()).map(|c| c.size).collect();
                let least = |of: fn(&Size) -> u16| sizes.iter().map(of).min();
                let (cols, rows) = (least(|size| size.drawn().0)?, least(|size| size.drawn().1)?);
                let same = sizes.iter().find(|size| size.drawn() == (cols, rows));
                Some(same.copied().unwrap_or(Size::cells(cols, rows)))
            }
        }
    }

    /// Whether this client gets the program's bytes unchanged.
    pub(super) fn may_have_bytes(&self, id: u64, scene: &Scene<'_>) -> bool {
        // Without a model there are no pictures: the leader then gets bytes that were written for another
        // terminal.
        let run = scene.run.as_ref().filter(|run| !run.model.is_off());
        let fits = |client: &Client| {
            run.is_none_or(|run| {
                *run.size == client.size
                    && client.capabilities.rendering(run.capabilities) != Rendering::Pictures
            })
        };
        self.leads(id) && self.client(id).is_some_and(|client| !client.read_only && fits(client))
    }

    /// Repaints a client's terminal if its view must change.
    fn adjust(&mut self, id: u64, scene: &mut Scene<'_>) {
        let bytes = self.may_have_bytes(id, scene);
        let Some(client) = self.client(id) else { return };
        let right = match &client.view {
            ClientView::Direct => bytes,
            ClientView::Mirror(painter) => !bytes && painter.fits(client.size),
            ClientView::Stale { .. } => true,
        };
        if !right {
            self.redraw(id, scene);
        }
    }
}
