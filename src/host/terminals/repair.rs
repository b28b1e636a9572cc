//! Restores a terminal whose host or client dies: the client knows beforehand what to write, and the host
//! writes it if a client dies without a farewell.

use super::Terminals;
use super::client::Client;
use super::client_view::ClientView;
use super::repaint_on_attach;
use super::scene::Scene;
use crate::ipc::frame::tag;

/// How long restoring the terminal of a dead client may take, in ms.
const REPAIR_MS: u64 = 200;

impl Terminals {
    /// Sends the sequences that a client writes if the host dies, whenever they change. The client's own
    /// messages then appear below what the program has drawn.
    pub(super) fn send_undo(&mut self, id: u64, scene: &mut Scene<'_>) {
        let now = scene.now();
        let Some(client) = self.clients.get_mut(&id) else { return };
        let Some(run) = scene.run.as_mut().filter(|_| client.takes_undo_notice()) else {
            return client.undo_notice.rest();
        };
        let (revision, drawn) = match &client.view {
            ClientView::Direct => {
                ((run.number, run.model.undo_revision(), run.muted.is_some()), run.model.revision())
            }
            ClientView::Mirror(painter) => ((u32::MAX, painter.undo_revision(), false), 0),
            ClientView::Stale { .. } => ((u32::MAX, u64::MAX, true), 0),
        };
        if !client.undo_notice.is_due(revision, drawn, now) {
            return;
        }
        let undo = match &mut client.view {
            ClientView::Direct => run.muted.clone().unwrap_or_else(|| {
                let step = run.model.look_so_far(repaint_on_attach::step_below).unwrap_or_default();
                [run.model.undo_so_far(), step].concat()
            }),
            ClientView::Mirror(painter) => painter.undo(),
            ClientView::Stale { undo, .. } => undo.clone(),
        };
        if client.undo_notice.is_new(&undo) {
            scene.links.frame(id, tag::UNDO, &undo);
        }
    }
}

impl Client {
    /// Restores the terminal of a client that died without a farewell.
    pub(super) fn repair(&mut self, scene: &mut Scene<'_>) {
        let undo = self.last_undo(scene);
        self.restore(&undo, scene, REPAIR_MS);
    }

    /// The bytes that undo everything on its terminal and make room below what the program has drawn.
    fn last_undo(&mut self, scene: &mut Scene<'_>) -> Vec<u8> {
        let undo = self.undo(scene);
        let run = scene.run.as_mut().filter(|run| self.gets_bytes() && run.muted.is_none());
        match run
            .and_then(|run| run.model.look(repaint_on_attach::step_below))
            .filter(|step| !step.is_empty())
        {
            Some(step) => [&undo, &step, b"\r\n" as &[u8]].concat(),
            None => undo,
        }
    }
}
