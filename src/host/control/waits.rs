//! Requests that wait for something: a state, the end, a change of the state or the screen (`hopty wait`).
//!
//! Nothing is polled: a waiting request is checked after each event and each time the screen was fed
//! (`wiring/waits`). Text is not searched here. The rows of a changed screen go to the client, at most one
//! answer in [`SCREEN_MS`], and the client searches them: the process that forwards a person's keys never
//! pays for an expensive pattern.

use crate::core::screen_mark::ScreenMark;
use crate::core::time::Stamp;
use crate::ipc::message::{Code, Failure, Wait, WaitFor, Watch};

/// How long after its request a changed screen is sent at the earliest, in ms.
const SCREEN_MS: u64 = 20;

/// What a request waits for.
#[derive(Clone, Copy, Debug)]
pub(in crate::host) enum Awaited {
    Condition(Wait),
    Change(Watch),
}

impl Awaited {
    /// Whether it depends on what Claude does.
    pub fn needs_agent(&self) -> bool {
        match self {
            Awaited::Condition(wait) => !matches!(wait.wanted, WaitFor::Exit | WaitFor::Text),
            Awaited::Change(watch) => watch.state,
        }
    }

    /// Whether a change of the screen is an answer.
    pub fn shows_screen(&self) -> bool {
        match self {
            Awaited::Condition(wait) => wait.wanted == WaitFor::Text,
            Awaited::Change(watch) => watch.screen,
        }
    }

    /// The mark since which parts of the screen are new.
    pub fn mark(&self) -> Option<ScreenMark> {
        match self {
            Awaited::Condition(wait) => wait.mark,
            Awaited::Change(watch) => watch.mark,
        }
    }

    /// The revision of the screen that the client has.
    pub fn after(&self) -> Option<u64> {
        match self {
            Awaited::Condition(wait) => wait.after,
            Awaited::Change(watch) => watch.after,
        }
    }

    fn timeout_ms(&self) -> u64 {
        match self {
            Awaited::Condition(wait) => wait.timeout_ms,
            Awaited::Change(watch) => watch.timeout_ms,
        }
    }

    /// What a program that is no agent never is.
    pub fn words(&self) -> &'static str {
        match self {
            Awaited::Condition(wait) => wait.wanted.word(),
            Awaited::Change(_) => "idle, busy or blocked",
        }
    }
}

/// A request that waits.
#[derive(Debug)]
pub(in crate::host) struct WaitingRequest {
    pub connection: u64,
    pub request: u64,
    pub wanted: Awaited,
    /// When the screen may be sent.
    from: Stamp,
    /// When the request times out.
    until: Stamp,
}

impl WaitingRequest {
    /// Whether a changed screen may be sent.
    pub fn may_show(&self, now: Stamp) -> bool {
        now >= self.from
    }

    /// Whether its time is up.
    pub fn is_late(&self, now: Stamp) -> bool {
        now >= self.until
    }
}

/// All waiting requests: at most one on each connection.
#[derive(Debug, Default)]
pub(in crate::host) struct Waits(Vec<WaitingRequest>);

impl Waits {
    /// Whether this connection waits.
    pub fn has(&self, connection: u64) -> bool {
        self.0.iter().any(|waiting| waiting.connection == connection)
    }

    /// Whether a request waits for Claude's state, so that the screen must be read.
    pub fn for_state(&self) -> bool {
        self.0.iter().any(|waiting| waiting.wanted.needs_agent())
    }

    /// A request waits from now on.
    pub fn add(&mut self, connection: u64, request: u64, wanted: Awaited, now: Stamp) -> Result<(), Failure> {
        if self.has(connection) {
            let hint = "open another connection";
            return Err(Failure::new(Code::Busy, "this connection already waits", hint));
        }
        let limit = wanted.timeout_ms();
        let from = if wanted.after().is_some() { now.after(SCREEN_MS.min(limit)) } else { now };
        self.put_back(WaitingRequest { connection, request, wanted, from, until: now.after(limit) });
        Ok(())
    }

    /// All of them, to be answered or put back.
    pub fn take(&mut self) -> Vec<WaitingRequest> {
        std::mem::take(&mut self.0)
    }

    /// There is no answer for it yet.
    pub fn put_back(&mut self, waiting: WaitingRequest) {
        self.0.push(waiting);
    }

    /// The next deadline.
    pub fn deadline(&self, now: Stamp) -> Option<Stamp> {
        let shows = |waiting: &WaitingRequest| waiting.wanted.shows_screen() && waiting.from > now;
        self.0.iter().map(|waiting| if shows(waiting) { waiting.from } else { waiting.until }).min()
    }
}
