//! A client hands over its terminal, by descriptor if possible, and is shown what it missed.

use super::client_terminal::Suspension;
use super::scene::Scene;
use super::{TerminalEvent, Terminals};
use crate::core::supervisor::event::AttachKind;
use crate::ipc::frame::tag;

impl Terminals {
    /// Takes the terminal that a client hands over. `None` if none is expected; otherwise whether it returns
    /// from a suspension.
    pub fn take_terminal(&mut self, id: u64, scene: &mut Scene<'_>) -> Option<bool> {
        self.settle_output(scene);
        let fd = scene.links.take_fd(id);
        let (suspension, relays) = self.client_mut(id)?.take_over(fd)?;
        if let Some(why) = relays {
            scene.links.frame(id, tag::RELAY, why.as_bytes());
        }
        let returns = suspension.is_some();
        self.catch_up(id, suspension, scene);
        self.send_missed(id, scene);
        // Sent after the repaint: waking the client earlier would delay the first picture.
        if !self.is_relayed(id) {
            scene.links.frame(id, tag::TAKEN, &[]);
        }
        Some(returns)
    }

    /// Shows a client what it missed: the original bytes if all of them are still there, otherwise the
    /// picture.
    fn catch_up(&mut self, id: u64, suspension: Option<Suspension>, scene: &mut Scene<'_>) {
        let Some(client) = self.client_mut(id) else { return };
        let returns = suspension.is_some();
        let redo = suspension.and_then(|suspension| suspension.redo);
        let first = client.attach_kind == AttachKind::Starts && client.number == 1 && !returns;
        if !self.accept(id, scene) {
            return;
        }
        let Some(run) = &mut scene.run else { return };
        let redo = redo.filter(|(number, _)| *number == run.number);
        if let Some(kept) = self.backlog.take_whole()
            && (first || (returns && redo.is_some()))
        {
            if let Some(client) = self.clients.get_mut(&id) {
                client.put(id, &redo.unwrap_or_default().1, scene);
                client.put(id, &kept, scene);
            }
            return;
        }
        let former =
            if returns { run.model.look_so_far(|screen| screen.terminal_before().clone()) } else { None };
        self.draw_whole(id, former.unwrap_or_default(), scene);
    }

    /// Decides what a client's new terminal gets: the leader's gets bytes, so only what it missed must be
    /// shown (true); any other gets a mirror.
    fn accept(&mut self, id: u64, scene: &mut Scene<'_>) -> bool {
        let led = self.leader.and_then(|leader| self.client(leader)).is_some_and(|leader| !leader.has_left());
        if !led && self.client(id).is_some_and(|client| !client.read_only) {
            self.leader = Some(id);
        }
        self.fit_size(scene);
        let bytes = self.may_have_bytes(id, scene);
        if !bytes {
            self.draw_mirror(id, scene);
        }
        self.fit(scene);
        bytes
    }

    /// Handles a client that attaches while the program is stopped. A client that joins continues the
    /// program; the client that started it, or returned to it, stops: nothing could be sent to it while its
    /// terminal was being handed over.
    pub fn meet_stopped_program(&mut self, id: u64, returns: bool, scene: &mut Scene<'_>) {
        match self.client(id).map(|client| client.attach_kind) {
            Some(AttachKind::Joins) if !returns => self.events.push_back(TerminalEvent::Continued),
            Some(AttachKind::Watches) if !returns => {}
            None => {}
            Some(_) => self.suspend_leader(scene),
        }
    }
}
