//! Who leads, how large the session is, and what each client sees of it.
//!
//! The leader, the client whose person typed last, sets the size and gets the child's bytes as they are; its terminal alone
//! is asked and heard when the child asks one. Every other client, and a leader whose terminal is of another size than the
//! session (`terminal.size`) or can do less than the child was started for, gets pictures drawn from the model. A terminal
//! that is slower than the child while others watch gets nothing until it has caught up, and then a picture: it slows nobody.
//! One that is alone slows the child, as it would without hopty, unless it takes nothing at all: behind a connection that
//! hangs, nobody may look for hours.

use super::capabilities::{Capabilities, Rendering};
use super::client::{Client, OUT_HIGH};
use super::diff_painter::DiffPainter;
use super::repaint;
use crate::core::process::Signal;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::screen::{Former, Screen};

/// How long the only terminal may take nothing before the child goes on without it, in ms: longer than a poor connection pauses,
/// and nothing against the hours that a broken one can hang.
pub(in crate::host) const STALL_MS: u64 = 10_000;

/// What stands on a terminal that would get pictures when there is no model to draw them from.
/// Short lines, for a small terminal.
const NOT_KNOWN: &str = "hopty: the screen model has failed and\r\nis switched off. The session goes on.\r\n\
    Who types sees what is drawn from then\r\non, and after a restart everybody does.";

/// What a client's terminal shows.
#[derive(Debug)]
pub(in crate::host) enum Viewport {
    /// The child's bytes.
    Direct,
    /// A picture drawn from the model.
    Mirror(Box<DiffPainter>),
    /// Nothing of what the child writes, until it is drawn anew.
    Stale {
        /// What turns off what is on.
        undo: Vec<u8>,
        /// StaleUntil when.
        until: StaleUntil,
    },
}

/// When a terminal that is left out is drawn again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum StaleUntil {
    /// It has taken what waits for it.
    CaughtUp,
    /// Its person has read the help and pressed a key.
    Key,
}

impl Host {
    /// Whether the child may be read. One that has a single terminal is no faster than it.
    pub(in crate::host) fn has_room(&self) -> bool {
        !self.is_kept_full() && (self.terminals.in_use() > 1 || self.terminals.clients().all(|(id, c)| c.has_room(self.relayed(id))))
    }

    /// Whether the next read follows at once: in a burst more is there when this is taken, and only a key is looked for between.
    pub(in crate::host) fn goes_on(&self) -> bool {
        let bursts = self.run.as_ref().is_some_and(|run| run.model.is_bursting());
        bursts && self.has_room() && (self.typing_waits() || !self.is_anything_typed())
    }

    /// Whether a person has typed what was not read yet.
    fn is_anything_typed(&self) -> bool {
        let relayed = |id: u64| self.connections.get(&id).is_some_and(|connection| connection.has_input());
        self.terminals.clients().any(|(id, client)| client.has_typed() || client.is_relayed() && relayed(id))
    }

    /// Bytes that wait in a client's connection.
    fn relayed(&self, id: u64) -> usize {
        self.connections.get(&id).map_or(0, |connection| connection.stream.waiting())
    }

    /// This client's person typed last.
    pub(in crate::host) fn lead(&mut self, id: u64) {
        if !self.terminals.leads(id) && self.client_mut(id).is_some_and(|client| !client.read_only) {
            self.terminals.leader = Some(id);
            self.fit();
        }
        let now = self.clock.now();
        if let Some(client) = self.client_mut(id) {
            client.typed = now;
        }
    }

    /// Takes everything off a client's terminal, and gives what that took. If it got the child's bytes it has seen all of them.
    pub(in crate::host) fn put_away(&mut self, id: u64) -> Vec<u8> {
        let client = self.terminals.clients.get(&id).filter(|client| client.gets_bytes());
        if let (Some(client), Some(run)) = (client, &mut self.run) {
            let total = run.model.look(Screen::history_total);
            total.into_iter().for_each(|total| self.terminals.scrollback.saw(client.window.as_ref(), total));
            self.settle_output();
        }
        let undo = self.undo_for(id);
        if self.client_mut(id).is_some_and(|client| client.gets_bytes()) {
            self.put(id, &undo);
        } else {
            self.put_picture(id, &undo);
        }
        undo
    }

    /// A client leaves: of those that stay, the one whose person typed last leads.
    pub(in crate::host) fn unlead(&mut self, id: u64) {
        if self.terminals.leads(id) {
            self.terminals.leader = self.terminals.next_leader(id);
        }
        self.fit();
    }

    /// Gives the session its size, and every client what it is to see.
    pub(in crate::host) fn fit(&mut self) {
        if self.exit.is_some() {
            return;
        }
        self.fit_size();
        for id in self.terminals.ids_in_use() {
            self.adjust(id);
        }
    }

    fn fit_size(&mut self) {
        let terminal = &self.launch.config.terminal;
        let fixed = Size::cells(terminal.detached_size.cols, terminal.detached_size.rows);
        if let Some(size) = self.terminals.wanted_size(terminal.size, fixed) {
            self.resize(size);
        }
    }

    fn may_have_bytes(&self, id: u64) -> bool {
        let client = self.terminals.client(id);
        // Without a model there are no pictures: then the leader gets bytes that were written for another terminal.
        let run = self.run.as_ref().filter(|run| !run.model.is_off());
        let fits = |c: &Client| run.is_none_or(|run| run.size == c.size && c.kind.shown(run.kind) != Rendering::Pictures);
        self.terminals.leads(id) && client.is_some_and(|c| !c.read_only && fits(c))
    }

    /// Draws a client's terminal anew where it is to see something else than it does.
    fn adjust(&mut self, id: u64) {
        let bytes = self.may_have_bytes(id);
        let Some(client) = self.client_mut(id) else { return };
        let right = match &client.viewport {
            Viewport::Direct => bytes,
            Viewport::Mirror(painter) => !bytes && painter.fits(client.size),
            Viewport::Stale { .. } => true,
        };
        if !right {
            self.redraw(id);
        }
    }

    /// A client that has just handed its terminal over: the leader's gets bytes, so that only what it missed is to be shown
    /// (true); any other gets its picture.
    pub(in crate::host) fn admit(&mut self, id: u64) -> bool {
        let led = self.terminals.leader.and_then(|leader| self.terminals.client(leader)).is_some_and(|leader| !leader.leaving);
        if !led && self.client_mut(id).is_some_and(|client| !client.read_only) {
            self.terminals.leader = Some(id);
        }
        self.fit_size();
        let bytes = self.may_have_bytes(id);
        if !bytes {
            self.draw_first(id);
        }
        self.fit();
        bytes
    }

    /// Takes everything off a terminal and draws what its client is to see.
    pub(in crate::host) fn redraw(&mut self, id: u64) {
        self.put_away(id);
        if !self.may_have_bytes(id) {
            self.draw_first(id);
            return;
        }
        self.draw_bytes(id, Former::default());
    }

    /// Draws the whole picture, after which the child's bytes can follow. `former`: how the terminal was before the child.
    pub(in crate::host) fn draw_bytes(&mut self, id: u64, former: Former) {
        let Some(run) = &mut self.run else { return };
        let client = self.terminals.clients.get(&id);
        let window = client.and_then(|client| client.window.as_ref());
        let text_only = client.is_some_and(|client| client.kind == Capabilities::Dumb);
        let picture = run.model.change(|screen| {
            screen.set_former(former);
            if text_only {
                return repaint::text(screen);
            }
            let unseen = self.terminals.scrollback.unseen(window, screen.history_total());
            repaint::whole(screen, usize::try_from(unseen).unwrap_or(usize::MAX))
        });
        let mut picture = picture.unwrap_or_else(|| repaint::blank(run.model.size()));
        if run.end.is_some() {
            // What it left on was turned off at its end.
            picture.extend(run.model.undo());
        }
        if run.muted.is_some() {
            // What follows is not shown any more.
            run.muted = Some(run.model.undo_so_far());
        }
        if let Some(client) = self.client_mut(id) {
            client.viewport = Viewport::Direct;
        }
        self.put_picture(id, &picture);
        // The person is shown what there is before the program is asked for more.
        if let Some(run) = &self.run {
            let _ = run.pty.signal_foreground(Signal(nix::libc::SIGWINCH));
        }
    }

    /// Draws on a client's terminal what that can show.
    fn put_picture(&mut self, id: u64, picture: &[u8]) {
        let kind = self.client_mut(id).map_or(Capabilities::Full, |client| client.kind);
        self.put(id, &kind.strip(picture));
    }

    fn draw_first(&mut self, id: u64) {
        let Some(client) = self.client_mut(id) else { return };
        let (painter, start) = DiffPainter::new(client.size);
        client.viewport = Viewport::Mirror(Box::new(painter));
        self.put_picture(id, &start);
        self.draw(id);
    }

    /// Draws what is due for one client.
    pub(in crate::host) fn draw(&mut self, id: u64) {
        let now = self.clock.now();
        let Some(run) = &mut self.run else { return };
        let waits = self.connections.get(&id).is_some_and(|connection| connection.stream.waiting() > 0);
        let Some(client) = self.terminals.client_mut(id).filter(|client| client.watches()) else { return };
        if waits || !client.out.is_empty() || client.paused.is_some() {
            return;
        }
        match &mut client.viewport {
            Viewport::Stale { until: StaleUntil::CaughtUp, .. } => self.redraw(id),
            Viewport::Mirror(painter) => {
                let due = painter.due((run.number, run.model.revision()));
                if due.is_some_and(|at| at <= now) && run.muted.is_none() {
                    let picture = run.model.look_so_far(|screen| painter.draw(screen, run.number, now)).flatten();
                    let picture = picture.unwrap_or_else(|| {
                        // What the picture cannot be made of is not good for anything else either.
                        run.model.give_up();
                        painter.tell(NOT_KNOWN, (run.number, run.model.revision()))
                    });
                    self.put_picture(id, &picture);
                }
            }
            Viewport::Direct | Viewport::Stale { .. } => {}
        }
    }

    /// When the next picture is due.
    pub(in crate::host) fn picture_deadline(&self) -> Option<Stamp> {
        let run = self.run.as_ref().filter(|run| run.muted.is_none())?;
        let screen = (run.number, run.model.revision());
        let clients = self.terminals.clients().filter(|(id, client)| client.watches() && self.relayed(*id) == 0);
        let ready = clients.filter(|(_, client)| client.out.is_empty() && client.paused.is_none());
        ready
            .filter_map(|(_, client)| match &client.viewport {
                Viewport::Mirror(painter) => painter.due(screen),
                Viewport::Stale { until: StaleUntil::CaughtUp, .. } => Some(Stamp(0)),
                _ => None,
            })
            .min()
    }

    /// Sets a terminal aside that is slower than the child while others watch. What it has got, or waits for it, is all that was
    /// read so far; so this comes before more is read.
    pub(in crate::host) fn set_slow_apart(&mut self) {
        if self.terminals.in_use() < 2 {
            return;
        }
        let waits = |id: u64, client: &Client| client.gets_bytes() && client.out.len() + self.relayed(id) > OUT_HIGH;
        let slow: Vec<u64> = self.terminals.clients().filter(|(id, client)| waits(*id, client)).map(|(id, _)| id).collect();
        for id in slow {
            self.set_apart(id);
        }
    }

    /// Sets the only terminal aside when it has taken nothing for long, or when its client is stopped and much waits for it.
    pub(in crate::host) fn set_stalled_apart(&mut self) {
        let now = self.clock.now();
        let alone = self.exit.is_none() && self.terminals.in_use() == 1;
        let mut stuck = None;
        for (id, client) in &mut self.terminals.clients {
            let Some(connection) = self.connections.get(id) else { continue };
            let holds_up = alone && client.watches() && !client.has_room(connection.stream.waiting());
            let stream = connection.stream.written();
            let written = client.out.written() + stream;
            let before = client.stalled.filter(|(taken, _)| *taken == written);
            client.stalled = holds_up.then(|| before.unwrap_or((written, now)));
            let over = client.stalled.is_some_and(|(_, since)| now >= since.after(STALL_MS));
            if over || holds_up && client.paused.is_some() {
                client.stalled = None;
                stuck = Some(*id);
            }
        }
        if let Some(id) = stuck {
            self.set_apart(id);
        }
    }

    /// Shows a terminal nothing more until it has taken what waits for it.
    fn set_apart(&mut self, id: u64) {
        let window = self.client_mut(id).and_then(|client| client.window.clone());
        let undo = self.undo();
        let Some(run) = &mut self.run else { return };
        if let Some(total) = run.model.look(Screen::history_total) {
            self.terminals.scrollback.saw(window.as_ref(), total);
        }
        if let Some(client) = self.client_mut(id) {
            client.viewport = Viewport::Stale { undo, until: StaleUntil::CaughtUp };
        }
    }

    /// Gives the child's bytes to one client. False when there is no terminal that shows them.
    pub(in crate::host) fn show_to(&mut self, id: u64, bytes: &[u8]) -> bool {
        let child = self.run.as_ref().map_or(Capabilities::Full, |run| run.kind);
        let Some(client) = self.client_mut(id).filter(|client| client.gets_bytes()) else { return false };
        if client.kind.shown(child) == Rendering::Text {
            let text = client.text.text(bytes);
            return self.put(id, &text);
        }
        self.put(id, bytes)
    }

    /// Sets a client's terminal aside for a text of hopty's own, until its person presses a key.
    pub(in crate::host) fn show_text(&mut self, id: u64, text: &[u8]) {
        self.put_away(id);
        self.put(id, &[b"\x1b[?1049h\x1b[m\x1b[H\x1b[2J", text].concat());
        if let Some(client) = self.client_mut(id) {
            client.viewport = Viewport::Stale { undo: b"\x1b[?1049l".to_vec(), until: StaleUntil::Key };
        }
    }

    /// What takes everything off a client's terminal again.
    fn undo_for(&mut self, id: u64) -> Vec<u8> {
        match self.client_mut(id).map(|client| &mut client.viewport) {
            Some(Viewport::Mirror(painter)) => painter.undo(),
            Some(Viewport::Stale { undo, .. }) => undo.clone(),
            Some(Viewport::Direct) | None => self.undo(),
        }
    }

    /// The same for a client that is no longer listed.
    pub(in crate::host) fn undo_of(&mut self, client: &mut Client) -> Vec<u8> {
        match &mut client.viewport {
            Viewport::Mirror(painter) => painter.undo(),
            Viewport::Stale { undo, .. } => undo.clone(),
            Viewport::Direct => {
                let undo = self.undo();
                let below = self.run.as_mut().filter(|run| run.muted.is_none()).and_then(|run| run.model.look(repaint::step_below));
                match below.filter(|step| !step.is_empty()) {
                    Some(step) => [&undo, &step, b"\r\n" as &[u8]].concat(),
                    None => undo,
                }
            }
        }
    }

    /// At the session's end, for a terminal that did not get the child's last bytes: what the screen shows, as lines.
    pub(in crate::host) fn last_picture(&mut self, id: u64) {
        if self.client_mut(id).is_none_or(|client| client.gets_bytes()) {
            return;
        }
        let undo = self.undo_for(id);
        let lines = self.run.as_mut().and_then(|run| run.model.look(repaint::last_lines)).unwrap_or_default();
        self.put_picture(id, &[undo, lines].concat());
        if let Some(client) = self.client_mut(id) {
            client.viewport = Viewport::Direct;
        }
    }
}
