//! One turn of the loop: wait until something is ready, handle it, and handle the deadlines that have passed.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use nix::libc;

use super::Host;
use super::observer::earlier_limit_reset;
use super::terminals::Terminals;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::{EndCause, Phase};
use crate::core::time::Stamp;
use crate::fs::session;
use crate::sys::clock::Clock;
use crate::sys::fault_injection;
use crate::sys::poll::{FdReadiness, Interest, PollSet};
use crate::sys::return_memory;
use crate::sys::worker::within;

/// How long the host stays after the session has ended to send the last bytes, in ms.
const FAREWELL_MS: u64 = 2000;

/// How long the end of a session waits for the last writes to reach the disk.
pub(super) const LAST_WRITES: Duration = Duration::from_secs(1);

/// A wait long enough to tidy up before it, in ms.
const LONG_MS: u64 = 1000;

/// What a turn waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PollToken {
    Listener,
    Signals,
    Worker,
    Notifier,
    Watcher,
    Master,
    Recording,
    Connection(u64),
    Terminal(u64),
}

/// What the loop remembers from one turn to the next.
#[derive(Debug, Default)]
pub(super) struct LoopState {
    /// How long the host stays after the session has ended.
    goodbye: Option<Stamp>,
    /// Whether the stack must be returned to the system again, because more than bytes was handled.
    used_stack: bool,
    /// When the deadlines were last checked.
    last_housekeeping: Stamp,
    /// Deadlines that passed and were not handled, and for how many turns.
    #[cfg(debug_assertions)]
    overdue: Option<(&'static str, u32)>,
}

#[cfg(debug_assertions)]
impl LoopState {
    /// Call when nothing was ready and this deadline, which had passed in the last turn, is still there. A
    /// few such turns are work in slices; without an end they are a busy loop.
    fn note_idle_turn(&mut self, due: Option<&'static str>) {
        /// More turns than the largest backlog of a connection or a transcript takes.
        const MOST: u32 = 20_000;
        self.overdue = match (due, self.overdue) {
            (Some(name), Some((known, turns))) if name == known => Some((name, turns + 1)),
            (due, _) => due.map(|name| (name, 1)),
        };
        assert!(
            self.overdue.is_none_or(|(_, turns)| turns < MOST),
            "nobody handles the deadline: {:?}",
            self.overdue
        );
    }
}

impl Host {
    /// Runs the loop until the session is over and its last bytes are written.
    #[must_use]
    pub fn run(mut self: Box<Self>) -> i32 {
        loop {
            self.settle();
            self.answer_waits();
            if self.is_done() {
                break;
            }
            self.turn();
        }
        self.tidy();
        0
    }

    /// Passes all waiting events to the supervisor and performs its actions.
    pub(super) fn settle(&mut self) {
        loop {
            let now = self.clock.now();
            let Some(event) = self.events.pop_front().map(Event::redacted) else {
                if self.recorder.supervisor.next_deadline().is_some_and(|at| at <= now) {
                    self.events.push_back(Event::Tick);
                    continue;
                }
                break;
            };
            let mut lines = String::new();
            let actions = self.recorder.step(now, Clock::wall(), &event, &mut lines);
            self.jobs.write_journal(&lines, &mut self.recorder, now);
            self.take_journal_events();
            for action in actions {
                self.perform(action);
            }
            if let Event::HookGone { id } = event {
                self.forget_call(id);
            }
            self.notifier.watch(&event, &self.recorder.supervisor.state(), self.clock.now());
        }
        self.note_turn();
    }

    /// Removes everything but the journal and the session's last state, which was written when it ended. A
    /// client that waits for its connection to close then finds the name and the socket gone.
    pub(super) fn tidy(&mut self) {
        self.jobs.journal.flush(LAST_WRITES);
        self.cast.finish(LAST_WRITES);
        if let Some(run) = self.child.run.take() {
            run.abandon();
        }
        let given = std::mem::take(&mut self.child.launching.given);
        let sockets: Vec<PathBuf> = self.control.sockets().cloned().collect();
        within(LAST_WRITES, move || {
            given.remove();
            for socket in sockets {
                let _ = std::fs::remove_file(socket);
            }
        });
        self.session.claim.release();
        self.control.clear();
        self.terminals.clear();
        let (private, paths, days) = (
            self.session.private.take(),
            self.session.paths.clone(),
            self.session.launch.config.journal.keep_ended_days,
        );
        within(LAST_WRITES, move || match private {
            Some(private) => drop(private),
            None => session::sweep(&paths, days),
        });
    }

    pub(super) fn phase(&self) -> &Phase {
        self.recorder.supervisor.phase()
    }

    pub(super) fn is_done(&mut self) -> bool {
        if self.exit.is_none() {
            return false;
        }
        let now = self.clock.now();
        let until = *self.turns.goodbye.get_or_insert(now.after(FAREWELL_MS));
        let quiet = self.control.is_quiet(now) && self.terminals.are_quiet();
        // If the program ended at once, its client has yet to fetch the output and the exit code.
        let fetched = !self.terminals.awaits_launcher();
        // A slow terminal must still get the last bytes, unless the session was ended on request.
        let owed = self.terminals.owe_bytes() && self.exit.is_none_or(|exit| exit.cause != EndCause::Stopped);
        // Remaining processes of a run still have their time between SIGTERM and SIGKILL.
        let reaped = self.child.run.as_ref().is_none_or(|run| !run.has_leftovers());
        let told = !self.notifier.is_busy();
        (quiet && fetched && reaped && told && !self.jobs.are_busy()) || (now >= until && !owed)
    }

    /// One turn of the loop: wait, then take what is ready. Returns whether anything was ready.
    ///
    /// During a burst of output only its own descriptors are polled, and all others once a millisecond: the
    /// cost of `poll` grows with the number of descriptors.
    pub(super) fn turn(&mut self) -> bool {
        let now = self.clock.now();
        self.tidy_up(now);
        // A client that is about to hand its terminal over is on none of these descriptors, and waits for
        // every byte.
        let bursts = self.child.run.as_ref().is_some_and(|run| run.model.is_behind());
        let flows = bursts && self.turns.last_housekeeping == now && !self.terminals.expects_first();
        let ready = {
            let mut set = PollSet::default();
            set.add(PollToken::Signals, self.signals.as_fd(), Interest::Read);
            if !flows {
                self.jobs.register(&mut set);
                if let Some(fd) = self.notifier.fd() {
                    set.add(PollToken::Notifier, fd, Interest::Read);
                }
                if let Some(fd) = self.cast.fd() {
                    set.add(PollToken::Recording, fd, Interest::Read);
                }
                if let Some(fd) = self.observer.fd() {
                    set.add(PollToken::Watcher, fd, Interest::Read);
                }
            }
            let room = self.terminals.have_room(&self.control);
            self.child.register(&mut set, room);
            let typing_waits = self.typing_waits();
            self.terminals.watch(&mut set, typing_waits);
            let known = self.known_connections();
            self.control.register(&mut set, now, flows, &known);
            let until = if flows { self.child.burst_deadline(now) } else { self.deadline(now) };
            set.wait(self.clock.wait_until(until)).unwrap_or_default()
        };
        let idle = ready.is_empty();
        let only_bytes =
            ready.iter().all(|(token, _)| matches!(token, PollToken::Master | PollToken::Terminal(_)));
        self.turns.used_stack |= !only_bytes;
        for (token, readiness) in ready {
            self.take(token, readiness);
        }
        self.feed_model();
        let now = self.clock.now();
        if idle || !(only_bytes && self.child.flows() && self.turns.last_housekeeping == now) {
            self.turns.last_housekeeping = now;
            self.housekeeping();
            #[cfg(debug_assertions)]
            {
                let now = self.clock.now();
                let due = self.deadlines(now).into_iter().find(|(_, at)| at.is_some_and(|at| at <= now));
                self.turns.note_idle_turn(due.map(|(name, _)| name).filter(|_| idle));
            }
        }
        !idle
    }

    /// Before a long wait, once no peer is connected: returns the memory that only a run's start or a request
    /// needed. Without it 200 idle sessions need 120 KiB more each after `hopty ls` (`cargo bench --bench
    /// fleet`).
    fn tidy_up(&mut self, now: Stamp) {
        let began = self.child.needs_tidying();
        let left = self.turns.used_stack && self.control.is_empty();
        if !(began || left) || self.deadline(now).is_some_and(|at| at < now.after(LONG_MS)) {
            return;
        }
        if let Some(run) = &mut self.child.run {
            run.set_tidied();
        }
        return_memory::release_heap();
        return_memory::release_stack();
        self.turns.used_stack = false;
    }

    fn deadline(&self, now: Stamp) -> Option<Stamp> {
        self.deadlines(now).into_iter().filter_map(|(_, at)| at).min()
    }

    /// All deadlines, by name. A deadline that stays after it has passed keeps the loop busy forever, so each
    /// is handled in `housekeeping` or in `settle`; debug builds and the laws check that.
    pub(super) fn deadlines(
        &self,
        now: Stamp,
    ) -> impl IntoIterator<Item = (&'static str, Option<Stamp>)> + use<> {
        let supervisor = &self.recorder.supervisor;
        [
            ("supervisor", supervisor.next_deadline()),
            ("held keys", self.keyboard.held.deadline()),
            ("observer", self.observer_deadline(now)),
            ("answers", self.jobs.have_answers().then_some(now)),
            ("resting reader", self.jobs.reader_stops_at(self.observer.scan_began())),
            ("record", self.control.hooks.record_deadline()),
            ("turn", self.observer.turn_deadline(supervisor.turn_is_cut(), self.child.quiet_from(), now)),
            ("unread input", self.child.unread_deadline(now).filter(|_| self.is_typing())),
            ("waits", self.control.waits.deadline(now)),
            ("sends", self.keyboard.sends_deadline(now)),
            ("run", self.child.deadline(now)),
            ("connection", self.control.deadline(&self.known_connections())),
            ("terminals", self.terminals.deadline(self.child.terminal_revision(), &self.control)),
            ("segment", self.child.segment_deadline()),
            ("goodbye", self.turns.goodbye.filter(|at| *at > now)),
            ("asks", self.turns.goodbye.and_then(|_| self.control.farewell_deadline(now))),
            ("socket", self.control.rebind_deadline()),
            ("session file", self.jobs.session_file.deadline()),
            ("journal", self.jobs.journal.deadline(now)),
            ("notification", self.notifier.deadline(now)),
            ("accept", self.control.accept_deadline(now)),
            ("next run", self.child.launching.deadline(now)),
            ("check", self.jobs.code.deadline()),
        ]
    }

    fn take(&mut self, token: PollToken, ready: FdReadiness) {
        match token {
            PollToken::Listener => self.accept(),
            PollToken::Signals => self.take_signals(),
            PollToken::Worker => self.take_jobs(),
            PollToken::Notifier => self.notifier.take_done(),
            PollToken::Watcher => self.observer.scan_all(),
            PollToken::Master => self.master_ready(ready),
            PollToken::Recording => self.recording_ended(),
            PollToken::Connection(id) => {
                self.control.ready(id, ready);
                self.take_control_events();
            }
            PollToken::Terminal(id) => self.terminal_ready(id, ready),
        }
    }

    fn take_signals(&mut self) {
        for signal in self.signals.take() {
            match signal {
                libc::SIGCHLD => self.child.take_changes(self.clock.now(), &mut self.events),
                libc::SIGTERM => {
                    self.machine.shutdown = true;
                    self.events.push_back(Event::Shutdown);
                }
                libc::SIGUSR1 => {
                    fault_injection::panic_at("loop");
                    self.jobs.restore_socket(self.session.restore_order(self.jobs.journal.journal_id()));
                }
                _ => {}
            }
        }
    }

    /// Handles the deadlines that have passed.
    fn housekeeping(&mut self) {
        if self.jobs.have_answers() {
            self.take_jobs();
        }
        self.session.keep_time(self.clock.now(), Clock::wall());
        self.scan_when_due();
        self.events.extend(earlier_limit_reset(&self.recorder.supervisor, self.clock.now()));
        self.report_turn_change();
        // A process may have opened the terminal again after the child closed it.
        if self.child.may_be_open_again(self.clock.now()) {
            self.read_output();
        }
        self.finish_run();
        self.type_held();
        self.child.kill_late_descendants(self.clock.now());
        self.go_on_launching();
        let changed = self.jobs.code.due(self.clock.now());
        self.events.extend(changed.map(|changed| Event::Settings { changed }));
        for id in self.control.hooks.late_records(self.clock.now()) {
            let late = Err("it took too long".to_owned());
            self.events.extend(self.jobs.settle_record(&mut self.control.hooks, id, late, None));
        }
        self.expire_connections();
        self.type_after_sequence();
        self.type_sends();
        if self.control.take_rebind(self.clock.now()) {
            self.jobs.restore_socket(self.session.restore_order(self.jobs.journal.journal_id()));
        }
        if self.jobs.session_file.deadline().is_some_and(|at| at <= self.clock.now()) {
            self.write_session_file();
        }
        self.tend_notifications();
        self.jobs.tend_journal(&mut self.recorder, self.clock.now());
        self.take_journal_events();
        self.on_terminals(Terminals::answer_queries);
        self.report_screen();
        self.refresh_segment();
    }
}
