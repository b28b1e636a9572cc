//! Moves from outside of the terminals: requests, and disks that hang.

use serde_json::{Value, json};

use super::moves::Dice;
use super::{Asked, Caller, World};
use crate::core::supervisor::event::Asker;

impl World {
    /// A request from outside.
    pub(super) fn ask(&mut self, dice: Dice) {
        const AT_ONCE: u64 = 1000;
        let long = 40 * 60_000;
        let (request, bound) = match dice.with % 14 {
            0 => (json!({"do": "status"}), AT_ONCE),
            1 => (json!({"do": "screen"}), AT_ONCE),
            2 => (json!({"do": "context"}), AT_ONCE),
            3 | 4 => {
                self.scripted += 1;
                (json!({"do": "send", "text": format!("X{:04}.", self.scripted)}), long)
            }
            5 => (json!({"do": "send", "keys": ["up", "down"]}), long),
            6 => {
                self.scripted += 1;
                (json!({"do": "send", "text": format!("Y{:04}.", self.scripted), "submit": true}), long)
            }
            7 => (json!({"do": "wait", "for": "idle", "timeout_ms": 5000}), 7000),
            8 if dice.wild.is_multiple_of(2) => {
                (json!({"do": "wait", "for": "text", "timeout_ms": 3000}), 5000)
            }
            8 => {
                let screen = dice.wild.is_multiple_of(3);
                (json!({"do": "watch", "screen": screen, "entered": dice.wild, "timeout_ms": 3000}), 5000)
            }
            9 => (json!({"do": "wait", "for": "exit", "timeout_ms": 100_000}), 102_000),
            10 => (json!({"do": "restart"}), AT_ONCE),
            11 => (json!({"do": "restart", "now": true}), AT_ONCE),
            12 => (json!({"do": "restart", "no_handoff": dice.wild.is_multiple_of(4), "wait": true}), long),
            _ => (json!({"do": "nonsense"}), AT_ONCE),
        };
        self.request(request, bound);
    }

    /// Makes a request on a connection of its own.
    pub(super) fn request(&mut self, mut request: Value, bound: u64) {
        let (_, socket) = self.connect(Asker::Person);
        let mut caller = Caller::new(socket, false);
        self.requests += 1;
        let id = self.requests;
        request["id"] = json!(id);
        let hello = json!({"hopty": 1, "version": "0", "role": "control"});
        if caller.write(format!("{hello}\n{request}\n").as_bytes()) {
            caller.asked.push(Asked { id, what: request.to_string(), at: self.now(), bound, answers: 0 });
        }
        self.callers.push(caller);
        self.note("request");
    }

    /// A caller stops the session.
    pub(super) fn stop(&mut self, dice: Dice) {
        if dice.with.is_multiple_of(4) {
            self.request(json!({"do": "stop", "kill": dice.wild.is_multiple_of(3)}), 1000);
            self.note("stop");
        }
    }

    /// The disk with Claude's and the project's files hangs for a while.
    pub(super) fn hang(&mut self, dice: Dice) {
        let ms = 1000 + 19_000 * u64::from(dice.wild) / u64::from(u16::MAX);
        self.hangs_until.get_or_insert(self.now().after(ms));
        self.note("hanging disk");
    }

    /// Whether it hangs now.
    pub(super) fn disk_hangs(&mut self) -> bool {
        let now = self.now();
        self.hangs_until.take_if(|until| *until <= now);
        self.hangs_until.is_some()
    }

    /// Runs the jobs of disks that do not hang. Returns whether there were any.
    pub(super) fn read_disks(&mut self) -> bool {
        let hangs = self.disk_hangs();
        let jobs = &mut self.host.jobs;
        let read = (!hangs && jobs.do_next_read()) | jobs.do_next_launch();
        if read {
            self.host.take_jobs();
        }
        read
    }
}
