//! Requests that wait for something: a state, the end, a change of the screen (`hopty wait`).
//!
//! Nothing is polled: a waiting request is checked after each event and each time the screen was fed. Text is
//! not searched here. The rows of a changed screen go to the client, at most one answer in [`SCREEN_MS`], and
//! the client searches them: the process that forwards a person's keys never pays for an expensive pattern.

use serde_json::{Value, json};

use crate::core::supervisor::Agent;
use crate::core::supervisor::state::SessionState;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::control::connection::ASKS_MS;
use crate::ipc::message::{Code, Failure, Wait, WaitFor, error_line, ok_line};
use crate::screen::Screen;

/// How long after its request a changed screen is sent at the earliest, in ms.
const SCREEN_MS: u64 = 20;

/// A request that waits.
#[derive(Debug)]
struct Waiting {
    connection: u64,
    request: u64,
    wanted: Wait,
    /// When the screen may be sent.
    from: Stamp,
    /// When the request times out.
    until: Stamp,
}

/// All waiting requests: at most one on each connection.
#[derive(Debug, Default)]
pub(in crate::host) struct Waits(Vec<Waiting>);

impl Waits {
    /// Whether this connection waits.
    pub fn has(&self, connection: u64) -> bool {
        self.0.iter().any(|waiting| waiting.connection == connection)
    }

    /// Whether a request waits for Claude's state, so that the screen must be read.
    pub fn for_state(&self) -> bool {
        self.0.iter().any(|waiting| !matches!(waiting.wanted.wanted, WaitFor::Exit | WaitFor::Text))
    }
}

impl Host {
    pub(in crate::host) fn wait(&mut self, connection: u64, request: u64, wanted: Wait) {
        let refused = if self.waits.0.iter().any(|waiting| waiting.connection == connection) {
            Some(Failure::new(Code::Busy, "this connection already waits", "open another connection"))
        } else if self.launch.agent == Agent::Plain && !matches!(wanted.wanted, WaitFor::Exit | WaitFor::Text)
        {
            let message = format!(
                "hopty cannot tell what {} does: it is not an agent, so it is never {}",
                self.launch.called,
                wanted.wanted.word()
            );
            Some(Failure::new(
                Code::BadRequest,
                message,
                "wait for `text=REGEX` on its screen, or for `exit`",
            ))
        } else {
            None
        };
        if let Some(failure) = refused {
            self.send(connection, &error_line(request, &failure));
            return;
        }
        let now = self.clock.now();
        let from = if wanted.after.is_some() { now.after(SCREEN_MS) } else { now };
        self.waits.0.push(Waiting { connection, request, wanted, from, until: now.after(wanted.timeout_ms) });
    }

    /// Answers the requests whose condition holds or whose time is up.
    pub(in crate::host) fn answer_waits(&mut self) {
        if self.waits.0.is_empty() {
            return;
        }
        let now = self.clock.now();
        for waiting in std::mem::take(&mut self.waits.0) {
            if !self.connections.contains_key(&waiting.connection) {
                continue;
            }
            match self.look_for(&waiting, now) {
                Some(line) => {
                    self.send(waiting.connection, &line);
                    // The text may be in the program's last output, and the client may ask for it afterwards.
                    let looks_on = waiting.wanted.wanted == WaitFor::Text && self.exit.is_none();
                    if let Some(connection) =
                        self.connections.get_mut(&waiting.connection).filter(|_| looks_on)
                    {
                        connection.asks = Some(now.after(ASKS_MS));
                    }
                }
                None => self.waits.0.push(waiting),
            }
        }
    }

    /// The answer, if there is one.
    fn look_for(&mut self, waiting: &Waiting, now: Stamp) -> Option<String> {
        let Waiting { request, wanted, from, until, .. } = waiting;
        let ended = self.exit.is_some();
        let is = |state| {
            self.recorder.supervisor.state().state == state
                && self.recorder.supervisor.entered().1 > wanted.since
        };
        let met = match wanted.wanted {
            WaitFor::Idle => is(SessionState::Idle),
            WaitFor::Busy => is(SessionState::Busy),
            WaitFor::Blocked => is(SessionState::Blocked),
            WaitFor::Exit => ended,
            WaitFor::Text => {
                let changed = if now >= *from || ended { self.changed_screen(wanted.after) } else { None };
                if let Some(answer) = changed {
                    return Some(ok_line(*request, &answer));
                }
                false
            }
        };
        if met || now >= *until {
            return Some(ok_line(*request, &json!({"met": met, "session": self.status()})));
        }
        ended.then(|| {
            let message = format!("the session has ended and will never be {}", wanted.wanted.word());
            error_line(*request, &Failure::new(Code::Ended, message, "`hopty why` says how it ended"))
        })
    }

    /// The screen's rows if they differ from those of revision `known`, or the fact that there are none any
    /// more.
    fn changed_screen(&mut self, known: Option<u64>) -> Option<Value> {
        let ended = self.exit.is_some();
        let run = self.child.run.as_mut()?;
        // In a burst the model is fed when that is due, not for every request.
        let latest = known.is_none() || ended;
        // Another run has another screen, whose revisions start again.
        let revision = |screen: &Screen| screen.revision().wrapping_add(u64::from(run.number) << 40);
        let rows =
            |screen: &Screen| (known != Some(revision(screen))).then(|| (revision(screen), screen.lines()));
        let looked = if latest { run.model.look(rows) } else { run.model.look_so_far(rows) };
        match looked {
            Some(changed) => {
                changed.map(|(revision, rows)| json!({"met": true, "revision": revision, "rows": rows}))
            }
            None => Some(json!({"met": false, "degraded": true})),
        }
    }

    /// The next deadline.
    pub(in crate::host) fn waits_deadline(&self, now: Stamp) -> Option<Stamp> {
        let shows = |waiting: &Waiting| waiting.wanted.wanted == WaitFor::Text && waiting.from > now;
        self.waits.0.iter().map(|waiting| if shows(waiting) { waiting.from } else { waiting.until }).min()
    }
}
