//! The clients that are attached, and the deadlines of their terminals.

use std::collections::{BTreeMap, VecDeque};

use super::Terminals;
use super::client::{Client, TerminalInput};
use super::notices::Notices;
use super::output::Backlog;
use super::scene::{ClientLinks, Scene, ScreenRevision, TerminalEvent};
use super::scrollback::ScrollbackPositions;
use crate::core::config;
use crate::core::status_types::ClientStatus;
use crate::core::supervisor::event::AttachKind;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::host::event_loop::PollToken;
use crate::ipc::message::Attach;
use crate::sys::poll::{FdReadiness, PollSet};
use crate::sys::process::ProcessStart;

impl Terminals {
    pub fn new(config: &config::Terminal) -> Self {
        Terminals {
            clients: BTreeMap::new(),
            launcher: None,
            leader: None,
            attached: 0,
            size_policy: config.size,
            detached_size: Size::cells(config.detached_size.cols, config.detached_size.rows),
            prefix: config.prefix.byte(),
            scrollback: ScrollbackPositions::default(),
            notices: Notices::default(),
            backlog: Backlog::default(),
            unread: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// Takes the events for the rest of the host, oldest first.
    pub fn next_event(&mut self) -> Option<TerminalEvent> {
        self.events.pop_front()
    }

    /// The client that started this host is about to attach on this connection.
    pub fn await_client(&mut self, connection: u64) {
        self.launcher = Some(connection);
    }

    /// Whether this is the connection of the client that started this host and has not attached yet.
    pub fn is_launcher(&self, connection: u64) -> bool {
        self.launcher == Some(connection)
    }

    /// Whether the client that started this host has yet to attach.
    pub fn awaits_launcher(&self) -> bool {
        self.launcher.is_some()
    }

    /// The connection of the client that started this host broke before it attached. False for another
    /// connection.
    pub fn lose_launcher(&mut self, connection: u64) -> bool {
        self.launcher.take_if(|launcher| *launcher == connection).is_some()
    }

    /// Whether the client that started this session has yet to attach: no byte of output may be dropped for
    /// it.
    pub fn expects_first(&self) -> bool {
        let pending = |client: &Client| client.is_pending() && client.attach_kind == AttachKind::Starts;
        self.launcher.is_some() || self.clients().any(|(_, client)| pending(client))
    }

    /// Registers a connection of `process` as a client. Returns its number and how it attached.
    pub fn attach(
        &mut self,
        connection: u64,
        attach: &Attach,
        process: ProcessStart,
        now: Stamp,
    ) -> (u32, AttachKind) {
        self.attached += 1;
        let how = match self.launcher.take_if(|launcher| *launcher == connection) {
            Some(_) => AttachKind::Starts,
            None if attach.read_only => AttachKind::Watches,
            None => AttachKind::Joins,
        };
        self.clients
            .insert(connection, Box::new(Client::new(self.attached, how, attach, process, self.prefix, now)));
        (self.attached, how)
    }

    /// Whether any client has attached so far.
    pub fn had_clients(&self) -> bool {
        self.attached > 0
    }

    pub fn client(&self, id: u64) -> Option<&Client> {
        self.clients.get(&id).map(Box::as_ref)
    }

    pub fn client_mut(&mut self, id: u64) -> Option<&mut Client> {
        self.clients.get_mut(&id).map(Box::as_mut)
    }

    /// All clients, with their connections.
    pub fn clients(&self) -> impl Iterator<Item = (u64, &Client)> {
        self.clients.iter().map(|(id, client)| (*id, client.as_ref()))
    }

    /// Removes a client that has been disconnected.
    pub fn remove(&mut self, id: u64) {
        self.clients.remove(&id);
    }

    pub fn clear(&mut self) {
        self.clients.clear();
    }

    #[cfg(test)]
    pub fn leader(&self) -> Option<u64> {
        self.leader
    }

    pub fn leads(&self, id: u64) -> bool {
        self.leader == Some(id)
    }

    /// Whether the program's queries go to this client's terminal.
    pub fn answers_queries(&self, id: u64) -> bool {
        self.leads(id) && self.client(id).is_some_and(Client::gets_bytes)
    }

    /// How many terminals are in use.
    pub fn in_use(&self) -> usize {
        self.clients.values().filter(|client| client.watches()).count()
    }

    /// The connections of the clients whose terminals are in use.
    pub(super) fn ids_in_use(&self) -> Vec<u64> {
        self.clients.iter().filter(|(_, client)| client.watches()).map(|(id, _)| *id).collect()
    }

    /// Reads what was typed on a client's borrowed terminal, at most `buf` at once.
    pub fn read(
        &mut self,
        id: u64,
        ready: FdReadiness,
        typing_waits: bool,
        now: Stamp,
        buf: &mut [u8],
    ) -> TerminalInput {
        self.client_mut(id)
            .map_or(TerminalInput::Nothing, |client| client.read(ready, typing_waits, now, buf))
    }

    /// Whether this client is relayed: its bytes travel over its connection.
    pub fn is_relayed(&self, id: u64) -> bool {
        self.client(id).is_some_and(Client::is_relayed)
    }

    /// Whether this client acts for the program: it leads, or it may type and no other client is attached.
    pub fn is_in_charge(&self, id: u64) -> bool {
        let clients = || self.clients.iter().filter(|(_, client)| !client.has_left());
        let may_type = clients().any(|(client, c)| *client == id && !c.read_only);
        may_type && (self.leads(id) || clients().count() == 1)
    }

    /// A new run begins: the terminals that get its bytes have seen all `total` lines of its scrollback, the
    /// others none.
    pub fn begin_run(&mut self, total: u64) {
        let shown = self.clients.values().filter(|client| client.gets_bytes());
        self.scrollback =
            ScrollbackPositions::by(shown.filter_map(|client| client.terminal_id.clone()), total);
        self.backlog = Backlog::default();
        self.unread = Vec::new();
    }

    /// Whether the child has read the first half of a sequence from a client other than `but`: anything typed
    /// now would land in the middle of it.
    pub fn is_in_a_sequence(&self, but: Option<u64>) -> bool {
        let mut others = self.clients.iter().filter(|(id, _)| Some(**id) != but).map(|(_, client)| client);
        others.any(|client| !client.has_left() && client.input.is_in_a_sequence())
    }

    /// Input that the program had not read when it ended; the leader's client passes it to its shell.
    pub fn keep_unread(&mut self, bytes: Vec<u8>) {
        self.unread = bytes;
    }

    /// Whether a terminal has not taken the program's last bytes.
    pub fn owe_bytes(&self) -> bool {
        self.clients.values().any(|client| client.is_ending())
    }

    /// Whether everything is written and every client has been disconnected.
    pub fn are_quiet(&self) -> bool {
        self.clients.values().all(|client| client.is_quiet())
    }

    pub fn list(&self) -> Vec<ClientStatus> {
        let there = self.clients().filter(|(_, client)| !client.has_left());
        there.map(|(id, client)| client.status(self.leads(id))).collect()
    }

    pub fn watch<'fd>(&'fd self, set: &mut PollSet<'fd, PollToken>, typing_waits: bool) {
        for (id, client) in &self.clients {
            client.watch(set, *id, typing_waits);
        }
    }

    /// The next deadline. `shown`: the current screen; `None` if there is none.
    pub fn deadline(&self, shown: Option<ScreenRevision>, links: &dyn ClientLinks) -> Option<Stamp> {
        let client = self.clients.values().filter_map(|client| client.deadline()).min();
        let picture = shown.and_then(|shown| self.picture_deadline(shown, links));
        [client, picture].into_iter().flatten().min()
    }

    /// Handles the deadlines that have passed.
    pub fn due(&mut self, scene: &mut Scene<'_>) {
        let ids: Vec<u64> = self.clients.keys().copied().collect();
        for id in ids {
            self.draw(id, scene);
            if let Some(client) = self.clients.get_mut(&id) {
                client.resume_flow(scene.now());
            }
            self.finish_flush(id, scene);
            self.send_undo(id, scene);
        }
        self.pause_stalled(scene);
    }
}

#[cfg(test)]
#[path = "attached_terminals_tests.rs"]
mod tests;
