//! The peer of a connection. It is identified when the connection is accepted, because a pid may belong to
//! another process later.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Control;
use crate::core::ids::SessionName;
use crate::core::supervisor::event::Asker;
use crate::fs::session::{self, HOST_NAMES};
use crate::ipc::message::{Code, Request, RequestError};
use crate::sys::process::{NamedProcess, Process, environment, lineage, start_ticks};
use crate::sys::worker::within;

/// How long to look up the name of another session. Long enough for a loaded machine; a hanging disk costs
/// this once.
const NAME_LOOKUP_LIMIT: Duration = Duration::from_secs(1);

/// Whether such a lookup is under way.
static LOOKING: AtomicBool = AtomicBool::new(false);

/// The peer of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) enum Peer {
    /// A person: the same user, outside of every Claude that hopty runs, or the process that started this
    /// session.
    Person,
    /// A descendant of the session's own child.
    Inside,
    /// A descendant of the Claudes of these other sessions, whose names may be unknown.
    Other(Vec<Option<SessionName>>),
}

impl Control {
    /// Identifies a peer. `held`: the pidfd of the process that connected, an error if it was gone by then.
    /// Also returns its start time in clock ticks since boot; 0 if it is gone.
    pub(super) fn look_up(&self, pid: i32, held: std::io::Result<Option<OwnedFd>>) -> (Peer, u64) {
        // A process that has ended since it connected can no longer be identified: it does not count as a
        // person.
        let (Ok(held), Some(chain)) = (held, lineage(pid)) else { return (Peer::Inside, 0) };
        let (peer, began) = (self.of_chain(pid, &chain), chain[0].stat.start);
        let same = match held {
            Some(fd) => !Process::held(pid, fd).is_gone(),
            None => start_ticks(pid) == Some(began),
        };
        if same { (peer, began) } else { (Peer::Inside, 0) }
    }

    fn of_chain(&self, pid: i32, chain: &[NamedProcess]) -> Peer {
        let own = i32::try_from(std::process::id()).unwrap_or(-1);
        // The host's own child, and adopted orphans of its descendants.
        if chain.iter().any(|named| named.stat.parent == own) {
            return Peer::Inside;
        }
        let hosts = |chain: &[NamedProcess]| -> Vec<(i32, u64)> {
            let found = chain.iter().filter(|named| HOST_NAMES.0.to_str() == Ok(named.name.as_str()));
            found.map(|named| (named.stat.pid, named.stat.start)).filter(|(pid, _)| *pid != own).collect()
        };
        let mut others = hosts(chain);
        if !others.is_empty() {
            // Claude may control a session that it started.
            let above = lineage(own).map(|chain| hosts(&chain)).unwrap_or_default();
            others.retain(|host| !above.contains(host));
        }
        if others.is_empty() {
            return self.of_environment(pid);
        }
        Peer::Other(self.names_of(others))
    }

    /// The sessions of these hosts, according to their locks; one whose disk hangs gets no name here, so no
    /// rule can allow it.
    fn names_of(&self, hosts: Vec<(i32, u64)>) -> Vec<Option<SessionName>> {
        let unknown = vec![None; hosts.len()];
        // One lookup at a time: a peer that keeps connecting while a disk hangs does not get a thread each
        // time.
        if LOOKING.swap(true, Ordering::Relaxed) {
            return unknown;
        }
        let paths = self.paths.clone();
        let look = move || {
            let names = hosts.into_iter().map(|(pid, start)| session::of_host(&paths, pid, start)).collect();
            LOOKING.store(false, Ordering::Relaxed);
            names
        };
        within(NAME_LOOKUP_LIMIT, look).unwrap_or(unknown)
    }

    /// A descendant of Claude can be traced to its session even if another process (`at`, a host that was
    /// killed) started or adopted it.
    fn of_environment(&self, pid: i32) -> Peer {
        let environment = environment(pid);
        let value = |name: &str| {
            let found = environment
                .split(|byte| *byte == 0)
                .find_map(|entry| entry.strip_prefix(format!("{name}=").as_bytes()));
            found.map(|value| String::from_utf8_lossy(value).into_owned())
        };
        let (Some(_), Some(socket)) = (value("CLAUDECODE"), value("HOPTY_SOCKET")) else {
            return Peer::Person;
        };
        if self.sockets().any(|own| own.to_str() == Some(socket.as_str())) {
            return Peer::Inside;
        }
        if std::env::var("HOPTY_SOCKET").is_ok_and(|own| own == socket) {
            return Peer::Person;
        }
        let name = value("HOPTY_SESSION").and_then(|name| name.parse().ok());
        Peer::Other(vec![name.map(|name| session::current(&self.paths, &name))])
    }

    /// The peer of a connection.
    fn peer(&self, id: u64) -> Peer {
        self.connections.get(&id).map_or(Peer::Inside, |connection| connection.peer.clone())
    }

    /// The peer as the supervisor knows it: the Claude of another session is not a person, even if it may
    /// control this one.
    pub fn asker(&self, id: u64) -> Asker {
        if self.peer(id) == Peer::Person { Asker::Person } else { Asker::Descendant }
    }

    /// Why the peer may not make this request, if it may not: only a person may control or end the session.
    pub(super) fn refusal(&self, id: u64, wanted: &Request) -> Option<RequestError> {
        let peer = self.peer(id);
        let inside = peer == Peer::Inside;
        let (what, verb) = match wanted {
            Request::Send(_) | Request::Answer { .. } => ("type into it", "send"),
            Request::Stop { .. } => ("stop it", "stop"),
            Request::Back { .. } => ("leave its conversation", "back"),
            Request::Attach(_) => ("attach to it", "attach"),
            Request::Label { .. } => ("label it", "label"),
            Request::Rename { .. } => ("rename it", "rename"),
            Request::Record(_) => ("record it", "record"),
            Request::Mark { .. } if !inside => ("mark its recording", "mark"),
            Request::Detach { .. } => ("detach its clients", "detach"),
            Request::Restart { wait: true, .. } if inside => {
                let hint = "omit --wait: the restart happens at the next safe point";
                return Some(RequestError::new(
                    Code::Refused,
                    "a command inside the session cannot wait for its own end",
                    hint,
                ));
            }
            // Once a run has ended, what was requested in it no longer counts.
            Request::Restart { .. }
                if inside && self.connection(id).is_some_and(|open| open.run != self.run) =>
            {
                return Some(RequestError::new(
                    Code::Refused,
                    "the session has begun another run since this connection was made",
                    "connect again, if this run is to be handed over, too",
                ));
            }
            Request::Restart { .. } if !inside => ("restart it", "restart"),
            Request::Ask { .. } if !inside => ("answer for the person", "handoff"),
            Request::Hook { .. } if !inside => ("call its hooks", "status"),
            _ => return None,
        };
        let control = &self.config;
        let who = match peer {
            Peer::Person => return None,
            Peer::Inside => "a command inside the session".to_owned(),
            // All of them must be allowed by name.
            Peer::Other(names)
                if !control.allow_from.is_empty()
                    && names
                        .iter()
                        .all(|name| name.as_ref().is_some_and(|name| control.allows(name.as_str()))) =>
            {
                return None;
            }
            Peer::Other(names) => match names.iter().flatten().next() {
                Some(name) => format!("the Claude of session {name}"),
                None => "the Claude of another session".to_owned(),
            },
        };
        let mut hint = format!("use a terminal outside the session: hopty {verb} {}", self.name);
        if !inside {
            hint.push_str("; `control.allow_from` in your configuration allows other sessions");
        }
        Some(RequestError::new(Code::Refused, format!("{who} may not {what}"), hint))
    }
}
