//! What the terminals need from the rest of the host, and the events that they return.

use std::os::fd::OwnedFd;

use super::capabilities::Capabilities;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::host::child::ScreenModel;
use crate::host::session_exit::HostExit;
use crate::sys::clock::Clock;

/// What a call on the terminals needs from the rest of the host.
pub(in crate::host) struct Scene<'host> {
    pub clock: Clock,
    /// The run that the terminals show.
    pub run: Option<TerminalRun<'host>>,
    /// The connections of the clients' processes.
    pub links: &'host mut dyn ClientLinks,
    /// How the session ended.
    pub exit: Option<HostExit>,
}

impl Scene<'_> {
    pub fn now(&self) -> Stamp {
        self.clock.now()
    }

    /// Restores a terminal that shows the run's output.
    pub fn undo(&mut self) -> Vec<u8> {
        self.run.as_mut().map(TerminalRun::undo).unwrap_or_default()
    }
}

/// A run, as the terminals see it.
pub(in crate::host) struct TerminalRun<'host> {
    pub number: u32,
    pub model: &'host mut ScreenModel,
    pub size: &'host mut Size,
    /// The capabilities of the terminal that the program was started for.
    pub capabilities: Capabilities,
    /// Set while the program's output is muted: the bytes that undo the modes set at that time.
    pub muted: &'host mut Option<Vec<u8>>,
    pub has_ended: bool,
}

impl TerminalRun<'_> {
    /// Restores a terminal that shows this run's output.
    pub fn undo(&mut self) -> Vec<u8> {
        self.muted.clone().unwrap_or_else(|| self.model.undo())
    }

    /// Increases when another picture is due.
    pub fn revision(&self) -> ScreenRevision {
        ScreenRevision { run: self.number, revision: self.model.revision() }
    }
}

/// Identifies what a screen shows: it changes with the run, and when the run's screen does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) struct ScreenRevision {
    pub run: u32,
    /// The `revision` of the run's screen.
    pub revision: u64,
}

/// The connections of the clients' processes: frames to them, and descriptors from them.
pub(in crate::host) trait ClientLinks {
    fn frame(&mut self, id: u64, tag: u8, payload: &[u8]);
    /// Bytes that wait to be written there.
    fn waiting(&self, id: u64) -> usize;
    /// Bytes that the other end has taken.
    fn written(&self, id: u64) -> u64;
    /// Whether unread data has arrived.
    fn has_input(&self, id: u64) -> bool;
    /// A descriptor that came with a frame.
    fn take_fd(&mut self, id: u64) -> Option<OwnedFd>;
    /// Closes it once everything is written, at the latest after `limit_ms`.
    fn close(&mut self, id: u64, now: Stamp, limit_ms: u64);
}

/// Consequences of a terminal event for the rest of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) enum TerminalEvent {
    /// The session was resized; the model knows it, the program does not.
    Resized(Size),
    /// A picture was drawn: ask the program to redraw what the picture lacks (SIGWINCH).
    WantsRedraw,
    /// A client that acts for the program continues, so the program continues, too.
    Continued,
    /// The host's answer to a query of the program, in place of a terminal's.
    Answers(Vec<Vec<u8>>),
    /// A client left. `in_charge`: it acted for the program.
    Detached { client: u32, why: String, in_charge: bool },
}
