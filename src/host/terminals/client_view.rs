//! What each terminal shows of the session.
//!
//! The leader's terminal gets the program's bytes. All other clients get a mirror, pictures drawn from the
//! model; and so does a leader whose terminal differs in size from the session (`terminal.size`) or fewer
//! capabilities than the program was started with.

use super::TerminalEvent;
use super::Terminals;
use super::capabilities::Capabilities;
use super::client::PageAnswer;
use super::mirror_painter::MirrorPainter;
use super::repaint_on_attach;
use super::scene::{ClientLinks, Scene, ScreenRevision};
use crate::core::time::Stamp;
use crate::screen::{Screen, TerminalBefore};

/// Shown instead of pictures if there is no model to draw them from.
const NOT_KNOWN: &str = "hopty: the screen model has failed and is switched off. The session continues.\n\
                         Until the next restart, only the leader sees new output.";

/// What a client's terminal shows.
#[derive(Debug)]
pub(in crate::host) enum ClientView {
    /// The program's bytes.
    Direct,
    /// A picture drawn from the model.
    Mirror(Box<MirrorPainter>),
    /// Nothing of the program's output, until it is repainted.
    Stale {
        /// The sequences that undo what is set.
        undo: Vec<u8>,
        until: StaleUntil,
    },
}

/// When a paused terminal is repainted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum StaleUntil {
    /// Once it has taken its backlog.
    CaughtUp,
    /// Once its person has read the help and pressed a key.
    Key,
}

impl Terminals {
    /// Undoes everything on a client's terminal, and returns the bytes that do it. A terminal that got the
    /// program's bytes has seen all of them.
    pub(super) fn take_off(&mut self, id: u64, scene: &mut Scene<'_>) -> Vec<u8> {
        let Some(client) = self.clients.get(&id) else { return Vec::new() };
        if let Some(run) = scene.run.as_mut().filter(|_| client.gets_bytes()) {
            if let Some(total) = run.model.look(Screen::history_total) {
                self.scrollback.saw(client.terminal_id.as_ref(), total);
            }
            self.settle_output(scene);
        }
        let Some(client) = self.clients.get_mut(&id) else { return Vec::new() };
        let undo = client.undo(scene);
        if client.gets_bytes() {
            client.put(id, &undo, scene);
        } else {
            client.put_picture(id, &undo, scene);
        }
        undo
    }

    /// Undoes everything on a terminal and repaints it with its client's view.
    pub fn redraw(&mut self, id: u64, scene: &mut Scene<'_>) {
        self.take_off(id, scene);
        if self.may_have_bytes(id, scene) {
            self.draw_whole(id, TerminalBefore::default(), scene);
        } else {
            self.draw_mirror(id, scene);
        }
    }

    /// Repaints a terminal so that the program's bytes can follow. `former`: its state before the program.
    pub(super) fn draw_whole(&mut self, id: u64, former: TerminalBefore, scene: &mut Scene<'_>) {
        let Some(run) = &mut scene.run else { return };
        let client = self.clients.get(&id);
        let terminal_id = client.and_then(|client| client.terminal_id.as_ref());
        let text_only = client.is_some_and(|client| client.capabilities == Capabilities::Dumb);
        let picture = run.model.change(|screen| {
            screen.set_terminal_before(former);
            if text_only {
                return repaint_on_attach::text(screen);
            }
            let unseen = self.scrollback.unseen(terminal_id, screen.history_total());
            repaint_on_attach::whole(screen, usize::try_from(unseen).unwrap_or(usize::MAX))
        });
        let mut picture = picture.unwrap_or_else(|| repaint_on_attach::blank(run.model.size()));
        // Of output with much work in few bytes the picture may lack the last part.
        if run.muted.is_none() && !text_only {
            picture.extend(run.model.backlog());
        }
        if run.has_ended {
            // The modes that the program left set were undone at its end.
            picture.extend(run.model.undo());
        }
        if run.muted.is_some() {
            // Later output is muted.
            *run.muted = Some(run.model.undo_so_far());
        }
        if let Some(client) = self.clients.get_mut(&id) {
            client.view = ClientView::Direct;
            client.put_picture(id, &picture, scene);
        }
        // The person sees the current picture before the program is asked to redraw.
        self.events.push_back(TerminalEvent::WantsRedraw);
    }

    /// Turns a terminal into a mirror and draws the first picture.
    pub(super) fn draw_mirror(&mut self, id: u64, scene: &mut Scene<'_>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let (painter, start) = MirrorPainter::new(client.size);
        client.view = ClientView::Mirror(Box::new(painter));
        client.put_picture(id, &start, scene);
        self.draw(id, scene);
    }

    /// Draws the next picture for one client, if it is due.
    pub(super) fn draw(&mut self, id: u64, scene: &mut Scene<'_>) {
        let now = scene.now();
        let waits = scene.links.waiting(id) > 0;
        let Some(run) = &mut scene.run else { return };
        let Some(client) = self.clients.get_mut(&id).filter(|client| client.takes_pictures()) else { return };
        if waits {
            return;
        }
        match &mut client.view {
            ClientView::Stale { until: StaleUntil::CaughtUp, .. } => self.redraw(id, scene),
            ClientView::Mirror(painter) => {
                let due = painter.due(run.revision());
                if due.is_some_and(|at| at <= now) && run.muted.is_none() {
                    let picture =
                        run.model.look_so_far(|screen| painter.draw(screen, run.number, now)).flatten();
                    let picture = picture.unwrap_or_else(|| {
                        // A model that cannot produce the picture cannot be used for anything else.
                        run.model.give_up();
                        painter.draw_text(NOT_KNOWN, run.revision())
                    });
                    client.put_picture(id, &picture, scene);
                }
            }
            ClientView::Direct | ClientView::Stale { .. } => {}
        }
    }

    /// When the next picture is due; `shown` is the current screen.
    pub(super) fn picture_deadline(&self, shown: ScreenRevision, links: &dyn ClientLinks) -> Option<Stamp> {
        let ready =
            self.clients.iter().filter(|(id, client)| client.takes_pictures() && links.waiting(**id) == 0);
        let ready = ready.map(|(_, client)| client);
        let due = ready.filter_map(|client| match &client.view {
            ClientView::Mirror(painter) => painter.due(shown),
            ClientView::Stale { until: StaleUntil::CaughtUp, .. } => Some(Stamp(0)),
            _ => None,
        });
        due.min()
    }

    /// Shows a text of hopty's own on a client's terminal until its person presses a key.
    pub fn show_page(&mut self, id: u64, text: &str, scene: &mut Scene<'_>) {
        self.take_off(id, scene);
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.page_answer = None;
        let text = text.replace('\n', "\r\n");
        client.put(id, format!("\x1b[?1049h\x1b[m\x1b[H\x1b[2J{text}").as_bytes(), scene);
        client.view = ClientView::Stale { undo: b"\x1b[?1049l".to_vec(), until: StaleUntil::Key };
    }

    /// Shows a page on which `r` restarts the program.
    pub fn ask_restart(&mut self, id: u64, page: &str, scene: &mut Scene<'_>) {
        self.show_page(id, page, scene);
        if let Some(client) = self.clients.get_mut(&id) {
            client.page_answer = Some(PageAnswer::Restart);
        }
    }

    /// At the session's end, for a terminal that did not get the program's last bytes: the content of the
    /// screen, as lines.
    pub(super) fn draw_last_lines(&mut self, id: u64, scene: &mut Scene<'_>) {
        let Some(client) = self.clients.get_mut(&id).filter(|client| !client.gets_bytes()) else { return };
        let undo = client.undo(scene);
        let lines = scene
            .run
            .as_mut()
            .and_then(|run| run.model.look(repaint_on_attach::last_lines))
            .unwrap_or_default();
        client.put_picture(id, &[undo, lines].concat(), scene);
        client.view = ClientView::Direct;
    }
}
