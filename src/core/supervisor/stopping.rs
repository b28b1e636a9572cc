//! From SIGTERM to the end, and the meaning of the end.

use super::Supervisor;
use super::action::{Action, DecisionKind, Reply, SignalTarget};
use super::crash::QUICK_DEATH_MS;
use super::event::AgentStatus;
use super::exit_table::{CtrlC, ExitMeaning, ExitRow, INTERRUPT_WINDOW_MS, killed_by, meaning};
use super::phase::{EndCause, EndRequest, Phase, StopFor, StopStep};
use crate::core::process::{ProcessEnd, Signal};
use crate::core::time::Stamp;

/// A child that ignored SIGTERM for this long is killed whatever its age, in ms (`restart.young`).
const IGNORED_MS: u64 = 12_000;
/// The number of SIGCONT on this platform.
pub(super) const CONT: Signal =
    Signal(if cfg!(any(target_os = "macos", target_os = "freebsd")) { 19 } else { 18 });

impl Supervisor {
    /// The remaining processes of a run were ended.
    pub(super) fn reaped(&self, run: u32, processes: u32, out: &mut Vec<Action>) {
        let sentence = match processes {
            1 => format!("hopty ended 1 process that run {run} left behind."),
            n => format!("hopty ended {n} processes that run {run} left behind."),
        };
        self.decide(out, DecisionKind::TreeReaped, sentence, &[self.lines.event], |_| {});
    }

    pub(super) fn terminate(&mut self, now: Stamp, why: StopFor, out: &mut Vec<Action>) {
        let c = &self.policy.config.restart;
        let old_enough = self.run.started.after(c.young.ms()).min(now.after(IGNORED_MS));
        let kill_at = now.after(c.grace.ms().max(1)).max(old_enough);
        out.push(Action::CollectTree);
        out.push(Action::Signal { signal: Signal::TERM, to: SignalTarget::Child });
        if self.run.stopped {
            out.push(Action::Signal { signal: CONT, to: SignalTarget::Child });
        }
        let words = match &why {
            StopFor::Restart { .. } => "to start the next one",
            StopFor::Stop => "as requested",
            StopFor::Shutdown => "because the host is shutting down",
            StopFor::Limit => "because the restart limit is reached",
        };
        let text = format!("Stopping run {} {words}.", self.session.runs);
        self.decide(out, DecisionKind::StopSent, text, &[self.lines.event], |_| {});
        self.enter(now, Phase::Stopping { why, step: StopStep::Term { kill_at } });
    }

    fn kill(&mut self, now: Stamp, why: StopFor, words: &str, out: &mut Vec<Action>) {
        out.push(Action::CollectTree);
        out.push(Action::Signal { signal: Signal::KILL, to: SignalTarget::Group });
        // The child may have joined another process group since.
        out.push(Action::Signal { signal: Signal::KILL, to: SignalTarget::Child });
        let text = format!("Killed run {}: {words}.", self.session.runs);
        self.decide(out, DecisionKind::StopKilled, text, &[self.lines.event], |_| {});
        self.enter(now, Phase::Stopping { why, step: StopStep::Kill });
    }

    pub(super) fn stop(&mut self, now: Stamp, id: u64, kill: bool, out: &mut Vec<Action>) {
        out.push(Action::Reply { id, with: Reply::Accepted });
        self.end_for(now, StopFor::Stop, kill, out);
    }

    pub(super) fn end_for(&mut self, now: Stamp, why: StopFor, kill: bool, out: &mut Vec<Action>) {
        if let Phase::Spawning { end, .. } = &mut self.phase {
            *end = Some(EndRequest { why, kill });
            return;
        }
        if self.run.pid.is_none() {
            let text = match &self.phase {
                Phase::Cooling { .. } => "The session was stopped before the next run started.",
                _ => "The session was stopped before its first run started.",
            };
            self.close(
                now,
                EndCause::Stopped,
                self.session.last_code,
                text.to_owned(),
                &[self.lines.event],
                out,
            );
            return;
        }
        self.drop_request("the session is ending", out);
        match self.phase {
            Phase::Stopping { step: StopStep::Kill, .. } => {
                self.enter(now, Phase::Stopping { why, step: StopStep::Kill })
            }
            _ if kill => self.kill(now, why, "`hopty stop --kill`", out),
            Phase::Stopping { step: step @ StopStep::Term { .. }, .. } => {
                self.enter(now, Phase::Stopping { why, step })
            }
            _ => self.terminate(now, why, out),
        }
    }

    /// Claude is idle after the held hook was answered: nothing is lost now.
    pub(super) fn settle_on_status(&mut self, now: Stamp, out: &mut Vec<Action>) {
        if let Phase::Stopping { why, step: StopStep::Settle { .. } } = self.phase.clone()
            && self.run.file.status == Some(AgentStatus::Idle)
        {
            self.terminate(now, why, out);
        }
    }

    pub(super) fn tick_stop(&mut self, now: Stamp, out: &mut Vec<Action>) {
        match self.phase.clone() {
            Phase::Stopping { why, step: StopStep::Settle { until } } if now >= until => {
                self.terminate(now, why, out)
            }
            Phase::Stopping { why, step: StopStep::Term { kill_at } } if now >= kill_at => {
                self.kill(now, why, "it did not end after SIGTERM", out);
            }
            Phase::Cooling { until, plan, held, .. } if held.is_empty() && now >= until => {
                self.count_restart(now);
                self.spawn(now, plan, out);
            }
            _ => {}
        }
    }

    /// The row of the table, and whether a Ctrl+C counts in it.
    pub(super) fn row(&self, now: Stamp) -> (ExitRow, CtrlC) {
        let recent = |at: Stamp| now.since(at) <= INTERRUPT_WINDOW_MS;
        let running = |row| (row, self.session.interrupt.is_some_and(|(at, _)| recent(at)));
        let here = |row| (row, self.interrupted_here());
        let (row, ctrl_c) = match &self.phase {
            Phase::Cold | Phase::Closed { .. } => here(ExitRow::Cold),
            Phase::Spawning { .. } => here(ExitRow::Spawning),
            // The Ctrl+C ended the delivery, and soon after the child ended as well.
            Phase::Running if self.run.delivery.broken_off.is_some_and(recent) => (ExitRow::Delivering, true),
            Phase::Running => running(ExitRow::Running),
            Phase::Waiting { .. } => running(ExitRow::Waiting),
            Phase::Saving { .. } => running(ExitRow::Saving),
            Phase::Stopping { why: StopFor::Restart { interrupted, .. }, .. } => {
                (ExitRow::StoppingForRestart, *interrupted)
            }
            Phase::Stopping { why: StopFor::Stop | StopFor::Limit, .. } => here(ExitRow::StoppingForStop),
            Phase::Stopping { why: StopFor::Shutdown, .. } => here(ExitRow::StoppingForShutdown),
            Phase::Cooling { .. } => here(ExitRow::Cooling),
            Phase::Delivering { .. } => here(ExitRow::Delivering),
        };
        (row, if ctrl_c { CtrlC::Yes } else { CtrlC::No })
    }

    pub(super) fn ended(&mut self, now: Stamp, end: ProcessEnd, out: &mut Vec<Action>) {
        let (row, ctrl_c) = self.row(now);
        let because = self.session.interrupt.map_or(0, |(_, seq)| if ctrl_c == CtrlC::Yes { seq } else { 0 });
        let evidence = [because, self.lines.event];
        let found = meaning(row, ctrl_c, end);
        self.session.last_code = end.code();
        self.run.hooks.held = None;
        let number = self.session.runs;
        let words = match (found, killed_by(end)) {
            (ExitMeaning::NextRun | ExitMeaning::Stopped, _) => {
                format!("Run {number} ended {} after hopty stopped it.", end.words())
            }
            (ExitMeaning::UserInterrupt, _) => format!("Run {number} ended {} after Ctrl+C.", end.words()),
            (ExitMeaning::Crash, Some(signal)) => {
                format!("Run {number} was killed by {} from outside.", signal.name())
            }
            _ => format!("Run {number} ended {}.", end.words()),
        };
        self.decide(out, DecisionKind::RunEnded, words, &evidence, |_| {});
        out.push(Action::ReapTree);
        self.rearm_later();
        self.drop_request("the program ended first", out);
        let run = std::mem::take(&mut self.run);
        if now.since(run.started) >= QUICK_DEATH_MS {
            self.crash_guard.quick_deaths = 0;
        }
        let finished = "The program finished by itself.";
        match found {
            ExitMeaning::NextRun => {
                if let Phase::Stopping { why: StopFor::Restart { plan, .. }, .. } = self.phase.clone() {
                    self.count_restart(now);
                    self.crash_guard.in_a_row = 0;
                    self.spawn(now, plan, out);
                }
            }
            ExitMeaning::UserInterrupt => {
                let text = "You pressed Ctrl+C, and the program ended.";
                self.close(now, EndCause::UserInterrupt, end.code(), text.to_owned(), &evidence, out);
            }
            ExitMeaning::Finished => {
                self.close(now, EndCause::Finished, end.code(), finished.to_owned(), &evidence, out)
            }
            ExitMeaning::Stopped if matches!(&self.phase, Phase::Stopping { why: StopFor::Limit, .. }) => {
                self.close(now, EndCause::RestartLimit, end.code(), self.limit_words(), &evidence, out);
            }
            ExitMeaning::Stopped => {
                let text = "hopty stopped the program as requested.";
                self.close(now, EndCause::Stopped, end.code(), text.to_owned(), &evidence, out);
            }
            ExitMeaning::Crash => self.crash(now, end, &run, &evidence, out),
            // No child that is followed can end in these rows.
            ExitMeaning::CouldNotStart | ExitMeaning::JobControl => {
                self.close(now, EndCause::CouldNotStart, end.code(), finished.to_owned(), &evidence, out);
            }
        }
    }

    /// Whether Ctrl+C was pressed in this phase. Compares line numbers, since two events may share a
    /// millisecond.
    pub(super) fn interrupted_here(&self) -> bool {
        self.session.interrupt.is_some_and(|(_, seq)| seq > self.phase_began.seq)
    }
}
