//! The control socket: who may connect, what arrives, and the requests without an answer.
//!
//! [`Control`] owns the listener, the connections and all open requests. What arrives comes
//! out as [`ControlEvent`]s, one at a time ([`Control::next_event`]), because what one request does decides
//! how the next bytes are read. `wiring/requests` answers them. What is due by time is done in
//! [`Control::due`], at [`Control::deadline`].
//!
//! | file | holds |
//! |---|---|
//! | `control_socket` | all connections, and what arrives on them |
//! | `listener` | accepting connections; binding a vanished socket file again |
//! | `peer` | who is at the other end, and what they may request |
//! | `connection` | one connection: its stream and its time limits |
//! | `client_links` | a client's connection, as its terminal uses it |
//! | `incoming` | what arrives on it, in turns |
//! | `owed_answers` | requests that the supervisor has not answered |
//! | `unanswered_hooks` | hook calls without an answer |
//! | `waits` | requests that wait for a state, an end or a change of the screen |
//! | `screen_answer` | the screen as `hopty screen` and the dashboard receive it |

mod client_links;
pub(super) mod connection;
mod control_socket;
mod incoming;
mod listener;
mod owed_answers;
pub(super) mod peer;
pub(super) mod screen_answer;
mod unanswered_hooks;
mod waits;

pub(super) use connection::Connection;
pub(super) use control_socket::{ConnectionUse, ControlEvent};
pub(super) use listener::TURN;
pub(super) use owed_answers::restart_outcome;
pub(super) use unanswered_hooks::{HookCalls, OpenHookCall};
pub(super) use waits::{Awaited, WaitOutcome, WaitScene};

use std::collections::BTreeMap;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use owed_answers::OwedAnswers;
use waits::Waits;

use crate::core::config;
use crate::core::ids::SessionName;
use crate::core::time::Stamp;
use crate::fs::paths::Paths;

/// The control socket and its connections.
#[derive(Debug)]
pub(super) struct Control {
    /// The session's name, as sent to peers.
    name: SessionName,
    paths: Paths,
    config: config::Control,
    listener: UnixListener,
    socket: PathBuf,
    /// The sockets of the session's earlier names; the running program knows one of them.
    earlier_sockets: Vec<PathBuf>,
    /// When to accept connections again, if that failed.
    accept_at: Option<Stamp>,
    /// The socket file is gone: when to bind it again.
    rebind_at: Option<Stamp>,
    /// The run's number, as sent to peers.
    run: u32,
    /// Each boxed: a map reserves space for eleven entries even when it is empty.
    connections: BTreeMap<u64, Box<Connection>>,
    /// The connection that is being read.
    reading: Option<incoming::Reading>,
    next_id: u64,
    pub hooks: HookCalls,
    pending_answers: OwedAnswers,
    pub waits: Waits,
}
