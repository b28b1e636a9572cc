//! Who leads, how large the session is, and what each client sees of it.
//!
//! The leader, the client whose person typed last, sets the size and gets the child's bytes as they are; its terminal alone
//! is asked and heard when the child asks one. Every other client, and a leader whose terminal is of another size than the
//! session (`terminal.size`) or can do less than the child was started for, gets pictures drawn from the model. A terminal
//! that is slower than the child while others watch gets nothing until it has caught up, and then a picture: it slows nobody.
//! One that is alone slows the child, as it would without hopty, unless it takes nothing at all: behind a connection that
//! hangs, nobody may look for hours.

use super::capabilities::{Capabilities, Rendering};
use super::diff_painter::DiffPainter;
use super::repaint;
use crate::core::config::SizePolicy;
use crate::core::process::Signal;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::connection::{Client, Connection, OUT_HIGH};
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

impl Client {
    /// Whether it gets the child's bytes.
    pub fn gets_bytes(&self) -> bool {
        matches!(self.viewport, Viewport::Direct)
    }
}

impl Host {
    fn watching_clients(&self) -> Vec<u64> {
        self.connections.iter().filter(|(_, c)| c.watches()).map(|(id, _)| *id).collect()
    }

    /// How many terminals are in use.
    pub(in crate::host) fn watchers(&self) -> usize {
        self.connections.values().filter(|c| c.watches()).count()
    }

    /// Whether the child may be read. One that has a single terminal is no faster than it.
    pub(in crate::host) fn has_room(&self) -> bool {
        !self.is_kept_full() && (self.watchers() > 1 || self.connections.values().all(|connection| connection.has_room()))
    }

    /// Whether the next read follows at once: in a burst more is there when this is taken, and only a key is looked for between.
    pub(in crate::host) fn goes_on(&self) -> bool {
        let bursts = self.run.as_ref().is_some_and(|run| run.model.is_bursting());
        bursts && self.has_room() && (self.typing_waits() || !self.connections.values().any(|c| c.has_typed()))
    }

    /// This client's person typed last.
    pub(in crate::host) fn lead(&mut self, id: u64) {
        if self.leader != Some(id) && self.client_mut(id).is_some_and(|client| !client.read_only) {
            self.leader = Some(id);
            self.fit();
        }
        let now = self.clock.now();
        if let Some(client) = self.client_mut(id) {
            client.typed = now;
        }
    }

    /// Whether what happens to this client is meant for the program: it leads, or it may type and nobody else is there. Any other
    /// only watches.
    pub(in crate::host) fn is_in_charge(&self, id: u64) -> bool {
        let clients = || self.connections.iter().filter_map(|(id, c)| Some((*id, c.client.as_ref().filter(|c| !c.leaving)?)));
        let may_type = clients().any(|(client, c)| client == id && !c.read_only);
        may_type && (self.leader == Some(id) || clients().count() == 1)
    }

    /// Takes everything off a client's terminal, and gives what that took. If it got the child's bytes it has seen all of them.
    pub(in crate::host) fn put_away(&mut self, id: u64) -> Vec<u8> {
        let client = self.connections.get(&id).and_then(|c| c.client.as_ref());
        if let (Some(client), Some(run)) = (client.filter(|client| client.gets_bytes()), &mut self.run) {
            let total = run.model.look(Screen::history_total);
            total.into_iter().for_each(|total| self.seen.saw(client.window.as_ref(), total));
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
        if self.leader == Some(id) {
            self.leader = self.next_leader(id);
        }
        self.fit();
    }

    fn next_leader(&self, id: u64) -> Option<u64> {
        let typed = |id: &u64| self.connections.get(id).and_then(|c| c.client.as_ref()).map(|c| (!c.read_only, c.typed));
        let next = self.watching_clients().into_iter().filter(|other| *other != id).max_by_key(typed);
        next.filter(|id| typed(id).is_some_and(|(may, _)| may))
    }

    /// Gives the session its size, and every client what it is to see.
    pub(in crate::host) fn fit(&mut self) {
        if self.exit.is_some() {
            return;
        }
        self.fit_size();
        for id in self.watching_clients() {
            self.adjust(id);
        }
    }

    fn fit_size(&mut self) {
        let size = match self.launch.config.terminal.size {
            SizePolicy::Fixed => {
                let fixed = self.launch.config.terminal.detached_size;
                Some(Size::cells(fixed.cols, fixed.rows))
            }
            SizePolicy::Leader => self.leader.and_then(|id| self.client_mut(id)).map(|leader| leader.size),
            SizePolicy::Smallest => {
                let clients = self.connections.values().filter_map(|c| c.client.as_ref());
                let sizes: Vec<_> = clients.filter(|c| !c.read_only && !c.leaving).map(|c| c.size).collect();
                let least = |of: fn(&Size) -> u16| sizes.iter().map(of).min();
                match (least(|size| size.drawn().0), least(|size| size.drawn().1)) {
                    (Some(cols), Some(rows)) => {
                        let same = sizes.iter().find(|size| size.drawn() == (cols, rows));
                        Some(same.copied().unwrap_or(Size::cells(cols, rows)))
                    }
                    _ => None,
                }
            }
        };
        if let Some(size) = size {
            self.resize(size);
        }
    }

    fn may_have_bytes(&self, id: u64) -> bool {
        let client = self.connections.get(&id).and_then(|c| c.client.as_ref());
        // Without a model there are no pictures: then the leader gets bytes that were written for another terminal.
        let run = self.run.as_ref().filter(|run| !run.model.is_off());
        let fits = |c: &Client| run.is_none_or(|run| run.size == c.size && c.kind.shown(run.kind) != Rendering::Pictures);
        self.leader == Some(id) && client.is_some_and(|c| !c.read_only && fits(c))
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
        let led = self.leader.is_some_and(|leader| self.client_mut(leader).is_some_and(|leader| !leader.leaving));
        if !led && self.client_mut(id).is_some_and(|client| !client.read_only) {
            self.leader = Some(id);
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
        let client = self.connections.get(&id).and_then(|c| c.client.as_ref());
        let window = client.and_then(|client| client.window.as_ref());
        let text_only = client.is_some_and(|client| client.kind == Capabilities::Dumb);
        let picture = run.model.change(|screen| {
            screen.set_former(former);
            if text_only {
                return repaint::text(screen);
            }
            let unseen = self.seen.unseen(window, screen.history_total());
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
        let Some(connection) = self.connections.get_mut(&id).filter(|c| c.watches()) else { return };
        let waits = connection.stream.waiting() > 0;
        let Some(client) = &mut connection.client else { return };
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
        let clients = self.connections.values().filter(|c| c.watches() && c.stream.waiting() == 0).filter_map(|c| c.client.as_ref());
        let ready = clients.filter(|client| client.out.is_empty() && client.paused.is_none());
        ready
            .filter_map(|client| match &client.viewport {
                Viewport::Mirror(painter) => painter.due(screen),
                Viewport::Stale { until: StaleUntil::CaughtUp, .. } => Some(Stamp(0)),
                _ => None,
            })
            .min()
    }

    /// Sets a terminal aside that is slower than the child while others watch. What it has got, or waits for it, is all that was
    /// read so far; so this comes before more is read.
    pub(in crate::host) fn set_slow_apart(&mut self) {
        if self.watchers() < 2 {
            return;
        }
        let waits = |c: &Connection| {
            let client = c.client.as_ref().filter(|client| client.gets_bytes());
            client.is_some_and(|client| client.out.len() + c.stream.waiting() > OUT_HIGH)
        };
        let slow: Vec<u64> = self.connections.iter().filter(|(_, c)| waits(c)).map(|(id, _)| *id).collect();
        for id in slow {
            self.set_apart(id);
        }
    }

    /// Sets the only terminal aside when it has taken nothing for long, or when its client is stopped and much waits for it.
    pub(in crate::host) fn set_stalled_apart(&mut self) {
        let now = self.clock.now();
        let alone = self.exit.is_none() && self.watchers() == 1;
        let mut stuck = None;
        for (id, connection) in &mut self.connections {
            let holds_up = alone && connection.watches() && !connection.has_room();
            let stream = connection.stream.written();
            let Some(client) = &mut connection.client else { continue };
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
            self.seen.saw(window.as_ref(), total);
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
