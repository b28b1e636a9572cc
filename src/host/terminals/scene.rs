//! What the terminals need of the rest of the host, and what they tell it.

use std::os::fd::OwnedFd;

use super::capabilities::Capabilities;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::host::child::ScreenModel;
use crate::host::control::status::Exit;
use crate::sys::clock::Clock;

/// What is there while the terminals are dealt with.
pub(in crate::host) struct Scene<'host> {
    pub clock: Clock,
    /// The run that the terminals show.
    pub run: Option<ShownRun<'host>>,
    /// The connections of the clients' processes.
    pub links: &'host mut dyn ClientLinks,
    /// How the session ended.
    pub exit: Option<Exit>,
}

impl Scene<'_> {
    pub fn now(&self) -> Stamp {
        self.clock.now()
    }

    /// What puts a terminal back that shows what the run has shown.
    pub fn undo(&mut self) -> Vec<u8> {
        self.run.as_mut().map(ShownRun::undo).unwrap_or_default()
    }
}

/// A run, as far as terminals show it.
pub(in crate::host) struct ShownRun<'host> {
    pub number: u32,
    pub model: &'host mut ScreenModel,
    pub size: &'host mut Size,
    /// Those of the terminal that the program was started for.
    pub capabilities: Capabilities,
    /// What the program writes is not shown any more; this undoes the modes that were on by then.
    pub muted: &'host mut Option<Vec<u8>>,
    pub has_ended: bool,
}

impl ShownRun<'_> {
    pub fn undo(&mut self) -> Vec<u8> {
        self.muted.clone().unwrap_or_else(|| self.model.undo())
    }

    /// Rises when another picture is due.
    pub fn revision(&self) -> (u32, u64) {
        (self.number, self.model.revision())
    }
}

/// The connections of the clients' processes: frames to them, and descriptors from them.
pub(in crate::host) trait ClientLinks {
    fn frame(&mut self, id: u64, tag: u8, payload: &[u8]);
    /// Bytes that wait to be written there.
    fn waiting(&self, id: u64) -> usize;
    /// Bytes that the other end has taken.
    fn written(&self, id: u64) -> u64;
    /// Whether something came that was not read yet.
    fn has_input(&self, id: u64) -> bool;
    /// A descriptor that came with a frame.
    fn take_fd(&mut self, id: u64) -> Option<OwnedFd>;
    /// Closes it when everything is written, at the latest after `limit_ms`.
    fn close(&mut self, id: u64, now: Stamp, limit_ms: u64);
}

/// What follows from what happened to the terminals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) enum TerminalEvent {
    /// The session has another size; the model knows it, the program does not.
    Resized(Size),
    /// A picture was drawn: the program is asked to draw anew what that does not show (SIGWINCH).
    WantsRedraw,
    /// A client goes on that is in charge, so the program goes on, too.
    Continued,
    /// What the program asked its terminal, answered in the place of one.
    Answers(Vec<Vec<u8>>),
    /// A client left. `in_charge`: what happened to it is meant for the program.
    Detached { client: u32, why: String, in_charge: bool },
}
