//! The events of the demo: who did what, when, and how fast.

use std::time::{Duration, Instant};

/// How fast person and model are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// Between two keys, in ms.
    pub key_ms: u64,
    /// From a request to its answer, in ms.
    pub think_ms: u64,
    /// How long something stays visible, in ms.
    pub look_ms: u64,
}

impl Pace {
    /// Slow enough for a person to follow.
    pub const WATCHED: Pace = Pace { key_ms: 40, think_ms: 1200, look_ms: 1800 };
    /// For a log.
    pub const BRISK: Pace = Pace { key_ms: 5, think_ms: 250, look_ms: 50 };

    pub fn look(self) -> Duration {
        Duration::from_millis(self.look_ms)
    }
}

/// Who did or said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DemoActor {
    /// The demo itself.
    Demo,
    /// The scripted person.
    Person,
    Agent,
    /// hopty, reporting the context usage.
    Meter,
    /// hopty, reporting a decision in its own words from the journal.
    Hopty,
}

impl DemoActor {
    pub fn word(self) -> &'static str {
        match self {
            DemoActor::Demo => "demo",
            DemoActor::Person => "person",
            DemoActor::Agent => "agent",
            DemoActor::Meter | DemoActor::Hopty => "hopty",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct DemoEvent {
    /// Since the demo began.
    pub at: Duration,
    pub who: DemoActor,
    pub text: String,
}

/// The time since the demo began, without the time in which it was stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct DemoClock {
    pub begun: Instant,
}

impl DemoClock {
    pub fn start() -> DemoClock {
        DemoClock { begun: Instant::now() }
    }

    pub fn now(self) -> Duration {
        self.begun.elapsed()
    }

    /// Does not count a pause.
    pub fn skip(&mut self, pause: Duration) {
        self.begun += pause;
    }
}
