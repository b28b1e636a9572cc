//! People's terminals: who is attached, who leads, what each terminal shows, and how it is restored.
//!
//! [`Terminals`] owns all of it. It reads neither sockets nor the program's pseudo-terminal: what it needs of
//! them comes with each call ([`Scene`]); consequences for the rest of the host are
//! [`TerminalEvent`]s (`wiring/terminals`). What is due by time is done in [`Terminals::due`], at
//! [`Terminals::deadline`].
//!
//! | file | holds |
//! |---|---|
//! | `attached_terminals` | the clients as the rest of the host uses them |
//! | `scene` | what the terminals need from the host, and their events |
//! | `client` | one client: its terminal, view and notices |
//! | `client_terminal` | whether its terminal is not yet here, in use, being given back, or gone |
//! | `flow` | whether its terminal may be written to, and takes what is written |
//! | `undo_notice` | what it writes if the host dies |
//! | `attach` | a terminal is handed over and shown what it missed |
//! | `detach` | restoring it because the client stops or leaves |
//! | `leader` | who leads, and how large the session is |
//! | `output` | the program's output and queries: who gets them, what is kept, who is too slow |
//! | `client_view` | what a terminal shows: the program's bytes, a mirror, or nothing until it is repainted |
//! | `mirror_painter` | a mirror: pictures of the session, of which only changes are drawn |
//! | `repaint_on_attach` | the whole picture, for a terminal that attaches later |
//! | `repair` | restoring a terminal whose host or client dies |
//! | `capabilities` | what a terminal supports |
//! | `scrollback` | how much of the history each terminal has been shown |
//! | `out_of_band` | sequences of hopty's own: notifications and bells |
//! | `notices` | messages for people while a program has the screen |
//! | `unread_input_of_program` | what a person typed and the program did not read |

mod attach;
mod attached_terminals;
mod capabilities;
mod client;
mod client_terminal;
mod client_view;
mod detach;
mod flow;
mod leader;
mod mirror_painter;
mod notices;
mod out_of_band;
mod output;
pub(super) mod repaint_on_attach;
mod repair;
mod scene;
mod scrollback;
mod undo_notice;
mod unread_input_of_program;

pub(super) use capabilities::{Capabilities, takes_window_names};
pub(super) use client::{Client, PageAnswer, TerminalInput};
pub(super) use scene::{ClientLinks, Scene, ScreenRevision, TerminalEvent, TerminalRun};
pub(super) use unread_input_of_program::UnreadInput;

use std::collections::{BTreeMap, VecDeque};

use notices::Notices;
use output::Backlog;
use scrollback::ScrollbackPositions;

use crate::core::config::SizePolicy;
use crate::core::terminal::Size;

/// The terminals of the attached clients.
#[derive(Debug)]
pub(super) struct Terminals {
    /// By connection. Each boxed: a map reserves space for eleven entries even when it is empty.
    clients: BTreeMap<u64, Box<Client>>,
    /// The connection of the client that started this host and has not attached yet.
    launcher: Option<u64>,
    leader: Option<u64>,
    /// How many clients have attached so far.
    attached: u32,
    size_policy: SizePolicy,
    /// The size while no client is attached, or always.
    detached_size: Size,
    prefix: Option<u8>,
    scrollback: ScrollbackPositions,
    notices: Notices,
    backlog: Backlog,
    /// Input that the program had not read when it ended: it goes to the clients' shells.
    unread: Vec<u8>,
    events: VecDeque<TerminalEvent>,
}
