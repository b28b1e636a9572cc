//! The laws of the host: its own loop over random histories. The child, the clients and the callers are
//! sockets (half of the clients have a terminal that the host takes), the worker runs its jobs when the test
//! says so, and the clock stops between two moves.
//!
//! - Nothing stays due: after each move the loop finishes without time passing.
//! - What a client types reaches the program complete, once in each run, and attributed to that client;
//!   a client that only watches types nothing.
//! - A key that was held is delivered, or kept in a file that a notice names.
//! - Every request is answered once, every hook call within its bound, even while a disk hangs.
//! - A client is told to stop only for a program that stopped while it was attached.
//! - A client that only watches ends nothing: not by a signal, a hang-up or a broken connection, whatever
//!   `on_hangup` says.
//! - A key that was held answers no dialog.
//!
//! `HOPTY_LAWS_SEED=n` uses another seed, `HOPTY_LAWS_CASES=n` more histories.

mod client_pty;
mod end;
mod host_laws;
mod late_hooks;
mod moves;
mod outside;
mod peers;
mod socket_claude;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use super::Host;
use crate::core::time::Stamp;
use crate::fs::paths::Paths;
use host_laws::config;
use peers::{Asked, Caller, Client, Key};
use socket_claude::{Claude, Stage};

/// A host with its clients, callers, program and disks.
struct World {
    host: Box<Host>,
    now: &'static AtomicU64,
    stage: Stage,
    claude: Claude,
    clients: Vec<Client>,
    callers: Vec<Caller>,
    keys: Vec<Key>,
    /// How many keys requests have typed.
    scripted: u32,
    requests: u64,
    stopped_at: Option<Stamp>,
    /// Until when a disk that the observer reads hangs.
    hangs_until: Option<Stamp>,
    over: bool,
    plain: bool,
    paths: Paths,
    project: PathBuf,
    /// How often each kind of move happened, so that a test can check what it reached.
    seen: BTreeMap<&'static str, u32>,
    /// The moves in order, for messages.
    trace: Vec<String>,
    root: tempfile::TempDir,
}
