//! People's terminals: who is attached, what each terminal shows, and how it is given back.
//!
//! | file | holds |
//! |---|---|
//! | `client` | one client: its terminal, how bytes reach it, what still has to be written there |
//! | `detach` | a terminal is taken, shown what the child writes, and given back whole |
//! | `viewport` | who leads, how large the session is, what each client sees of it |
//! | `diff_painter` | a mirror: pictures of the session, drawn by difference |
//! | `repaint` | the whole picture, for a terminal that comes late |
//! | `capabilities` | what a terminal cannot do |
//! | `rescue` | a terminal is put back whose host or client has died |
//! | `scrollback` | how much of the history each terminal has been shown |
//! | `notices` | what people are told while a program has the screen |
//! | `undelivered` | what was typed and the program did not read |

mod capabilities;
mod client;
mod detach;
mod diff_painter;
mod notices;
pub(super) mod repaint;
mod rescue;
mod scrollback;
mod undelivered;
mod viewport;

pub(super) use capabilities::{Capabilities, takes_window_names};
pub(super) use client::{Client, Transport};
pub(super) use detach::ANSWER_MS;
pub(super) use undelivered::Unread;
pub(super) use viewport::{StaleUntil, Viewport};

use std::collections::BTreeMap;

use crate::core::config::SizePolicy;
use crate::core::status::ClientStatus;
use crate::core::supervisor::event::Coming;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::host::event_loop::Token;
use crate::ipc::message::Attach;
use crate::sys::poll::PollSet;
use notices::Notices;
use scrollback::ScrollbackPositions;

/// The terminals of the people who are attached.
#[derive(Debug, Default)]
pub(super) struct Terminals {
    /// By their connections. By itself each: a map keeps room for eleven of what it holds, also when nobody is there.
    clients: BTreeMap<u64, Box<Client>>,
    /// The connection of who started this host and has not attached yet.
    launcher: Option<u64>,
    leader: Option<u64>,
    /// How many clients have attached so far.
    attached: u32,
    scrollback: ScrollbackPositions,
    notices: Notices,
}

impl Terminals {
    /// Whoever started this host is about to attach on this connection.
    pub fn expect(&mut self, connection: u64) {
        self.launcher = Some(connection);
    }

    /// Whether it has not attached yet, and this is its connection.
    pub fn is_launcher(&self, connection: u64) -> bool {
        self.launcher == Some(connection)
    }

    /// Whether whoever started this host is still on the way to attach.
    pub fn awaits_launcher(&self) -> bool {
        self.launcher.is_some()
    }

    /// That connection broke before it attached.
    pub fn lose_launcher(&mut self, connection: u64) -> bool {
        self.launcher.take_if(|launcher| *launcher == connection).is_some()
    }

    /// Whether the client that started this session is still on its way: it gets every byte.
    pub fn expects_first(&self) -> bool {
        let pending = |client: &&Box<Client>| matches!(client.via, Transport::Pending) && client.how == Coming::Starts;
        self.launcher.is_some() || self.clients.values().any(|client| pending(&client))
    }

    /// A connection becomes a client's. `pid` and `began`: its process, and when that began, in clock ticks since boot. Gives the
    /// client's number, and where it comes from.
    pub fn attach(
        &mut self,
        connection: u64,
        attach: &Attach,
        process: (i32, Option<u64>),
        prefix: Option<u8>,
        now: Stamp,
    ) -> (u32, Coming) {
        self.attached += 1;
        let how = match self.launcher.take_if(|launcher| *launcher == connection) {
            Some(_) => Coming::Starts,
            None if attach.read_only => Coming::Watches,
            None => Coming::Joins,
        };
        self.clients.insert(connection, Box::new(Client::new(self.attached, how, attach, process, prefix, now)));
        (self.attached, how)
    }

    /// Whether anybody has attached so far.
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

    /// The first client at or after this connection.
    pub fn next_from(&self, from: u64) -> Option<u64> {
        self.clients.range(from..).next().map(|(id, _)| *id)
    }

    /// Forgets a client whose connection is closed.
    pub fn remove(&mut self, id: u64) -> Option<Box<Client>> {
        self.clients.remove(&id)
    }

    /// Lets go of all of them.
    pub fn clear(&mut self) {
        self.clients.clear();
    }

    pub fn leader(&self) -> Option<u64> {
        self.leader
    }

    pub fn leads(&self, id: u64) -> bool {
        self.leader == Some(id)
    }

    /// How many terminals are in use.
    pub fn in_use(&self) -> usize {
        self.clients.values().filter(|client| client.watches()).count()
    }

    /// The connections of those clients.
    fn ids_in_use(&self) -> Vec<u64> {
        self.clients.iter().filter(|(_, client)| client.watches()).map(|(id, _)| *id).collect()
    }

    /// Whether the bytes of this client come and go by its connection.
    pub fn is_relayed(&self, id: u64) -> bool {
        self.client(id).is_some_and(Client::is_relayed)
    }

    /// Whether what happens to this client is meant for the program: it leads, or it may type and nobody else is there. Any other
    /// only watches.
    pub fn is_in_charge(&self, id: u64) -> bool {
        let clients = || self.clients.iter().filter(|(_, client)| !client.leaving);
        let may_type = clients().any(|(client, c)| *client == id && !c.read_only);
        may_type && (self.leads(id) || clients().count() == 1)
    }

    /// Who leads when this one does no longer: of those that stay, the one whose person typed last.
    fn next_leader(&self, id: u64) -> Option<u64> {
        let typed = |id: &u64| self.client(*id).map(|client| (!client.read_only, client.typed));
        let next = self.ids_in_use().into_iter().filter(|other| *other != id).max_by_key(typed);
        next.filter(|id| typed(id).is_some_and(|(may, _)| may))
    }

    /// The size that the session is to have; `None`: the one it has.
    fn wanted_size(&self, policy: SizePolicy, fixed: Size) -> Option<Size> {
        match policy {
            SizePolicy::Fixed => Some(fixed),
            SizePolicy::Leader => self.leader.and_then(|id| self.client(id)).map(|leader| leader.size),
            SizePolicy::Smallest => {
                let sizes: Vec<_> = self.clients.values().filter(|c| !c.read_only && !c.leaving).map(|c| c.size).collect();
                let least = |of: fn(&Size) -> u16| sizes.iter().map(of).min();
                let (cols, rows) = (least(|size| size.drawn().0)?, least(|size| size.drawn().1)?);
                let same = sizes.iter().find(|size| size.drawn() == (cols, rows));
                Some(same.copied().unwrap_or(Size::cells(cols, rows)))
            }
        }
    }

    /// A new run begins on the terminals that get its bytes: they have seen all of its `total` lines of history, and no other any.
    pub fn begin_run(&mut self, total: u64) {
        let shown = self.clients.values().filter(|client| client.gets_bytes());
        self.scrollback = ScrollbackPositions::by(shown.filter_map(|client| client.window.clone()), total);
    }

    /// Whether a client other than `but` has typed the first half of a sequence that the child has: whatever else was typed now
    /// would land in the middle of it.
    pub fn is_in_a_sequence(&self, but: Option<u64>) -> bool {
        let mut others = self.clients.iter().filter(|(id, _)| Some(**id) != but).map(|(_, client)| client);
        others.any(|client| !client.leaving && client.typing.unflushed.is_some() && client.typing.head.is_some())
    }

    /// Whether a terminal is still taking the program's last bytes, which are owed to it.
    pub fn owe_bytes(&self) -> bool {
        self.clients.values().any(|client| client.is_ending())
    }

    /// Whether everything is written, and every client has had its farewell.
    pub fn are_quiet(&self) -> bool {
        self.clients.values().all(|client| client.is_quiet())
    }

    /// The last notices, for a terminal of this size.
    pub fn notices_page(&self, now: Stamp, size: Size) -> String {
        self.notices.page(now, size)
    }

    /// For listings.
    pub fn list(&self) -> Vec<ClientStatus> {
        let there = self.clients.iter().filter(|(_, client)| !client.leaving);
        let status = |(id, client): (&u64, &Box<Client>)| ClientStatus {
            id: client.number,
            tty: client.tty.clone(),
            cols: client.size.cols,
            rows: client.size.rows,
            leader: self.leads(*id),
            read_only: client.read_only,
            via: client.via.word().to_owned(),
        };
        there.map(status).collect()
    }

    pub fn watch<'fd>(&'fd self, set: &mut PollSet<'fd, Token>, typing_waits: bool) {
        for (id, client) in &self.clients {
            client.watch(set, *id, typing_waits);
        }
    }

    pub fn deadline(&self) -> Option<Stamp> {
        self.clients.values().filter_map(|client| client.deadline()).min()
    }
}
