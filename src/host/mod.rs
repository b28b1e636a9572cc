//! The host: owns one pseudo-terminal, supervises what runs in it, and outlives terminals. One process per
//! session: one loop around one `poll`, and threads for what may be slow.
//!
//! It turns readiness into events, gives them to the supervisor and performs what comes back; it decides
//! nothing itself.
//!
//! | file | holds |
//! |---|---|
//! | `host_start` | the parts of a host, and its first event |
//! | `start` | from the fork to the first run: name, directory and socket; ending the program of a host that died |
//! | `cast_recording` | the recording of the session, written by a thread |
//! | `identity` | the session's name and directories, and the start that the person asked for |
//! | `child` | the program: pseudo-terminal, screen model, end, next run |
//! | `keyboard` | what people, scripts and hopty type: held, queued, carried to the next run |
//! | `event_loop` | one turn: wait, take what is ready, do what is due |
//! | `control` | the control socket: who may connect, what arrives, requests without an answer |
//! | `jobs` | work of threads: handoffs, layouts, logs, the journal; settings that run code |
//! | `terminals` | people's terminals: attach, leader and size, mirrors, repaint, notices, unread input |
//! | `laws` | tests: the loop itself, driven with a fake child, fake clients and a fake clock |
//! | `observer` | reading Claude's files, its status line and signal files |
//! | `notifier` | notifications for a person who is away: by command, desktop and terminal |
//! | `wiring` | passing what one part reports to the others and to the supervisor |
//! | `session_exit` | how a session ended |
//! | `perform` | every action of the supervisor |

#![deny(clippy::print_stderr, reason = "it panics where the disk of `host.log` is full")]

mod cast_recording;
mod child;
mod control;
mod event_loop;
mod host_start;
mod identity;
mod jobs;
mod keyboard;
#[cfg(test)]
mod laws;
mod notifier;
mod observer;
mod perform;
mod session_exit;
pub mod start;
mod terminals;
mod wiring;

pub use jobs::drift_check;

use std::collections::VecDeque;

use cast_recording::SessionCast;
use child::Child;
use control::Control;
use event_loop::LoopState;
use identity::SessionIdentity;
use jobs::Jobs;
use jobs::log::log;
use keyboard::Keyboard;
use notifier::Notifier;
use observer::Observer;
use session_exit::HostExit;
use terminals::Terminals;

use crate::core::compat::SessionCompat;
use crate::core::explanation::Explanation;
use crate::core::journal::JournalRecorder;
use crate::core::status_types::MachineStatus;
use crate::core::supervisor::event::Event;
use crate::sys::{clock::Clock, signals::Signals};

#[derive(Debug)]
pub struct Host {
    clock: Clock,
    session: SessionIdentity,
    child: Child,
    signals: Signals,
    recorder: JournalRecorder,
    jobs: Jobs,
    cast: SessionCast,
    events: VecDeque<Event>,
    terminals: Terminals,
    keyboard: Keyboard,
    control: Control,
    observer: Observer,
    notifier: Notifier,
    /// The source documents' own forms.
    compat: SessionCompat,
    /// The data for `hopty why`.
    explanation: Explanation,
    exit: Option<HostExit>,
    /// The current boot of the machine.
    machine: MachineStatus,
    turns: LoopState,
}
