//! From SIGTERM to the end of a run, the meaning of the end, and recovery from a crash.

use super::Supervisor;
use super::action::{Action, DecisionKind, SignalTarget};
use super::conversation_chain::naming_left;
use super::event::SessionsFileStatus;
use super::exit_table::{CtrlC, ExitMeaning, ExitRow, INTERRUPT_WINDOW_MS, killed_by, meaning};
use super::phase::{EndCause, EndRequest, Phase, RunPlan, StartKind, StopFor, StopStep};
use super::policy::ProgramKind;
use super::prompt_delivery::PromptDelivery;
use super::restart_limit::RestartLimit;
use super::run_state::RunState;
use super::step::EventStep;
use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::time::Stamp;

/// A run that ended within this time died quickly, in ms: one that worked for a minute can start here and is
/// worth resuming.
const QUICK_DEATH_MS: u64 = 60_000;
/// A child that ignored SIGTERM for this long is killed whatever its age, in ms (`restart.young`).
const IGNORED_MS: u64 = 12_000;
/// The last sentence of a session whose host was told to end.
const SHUTDOWN: &str = "The host was told to end (SIGTERM), as at a logout or a shutdown.";
/// SIGCONT.
pub(super) const CONT: Signal = Signal(18);

/// The remaining processes of a run were ended.
pub(super) fn reaped(step: &mut EventStep<'_>, run: u32, processes: u32) {
    let sentence = match processes {
        1 => format!("hopty ended 1 process that run {run} left behind."),
        n => format!("hopty ended {n} processes that run {run} left behind."),
    };
    step.decide(DecisionKind::TreeReaped, sentence);
}

impl Supervisor {
    pub(super) fn terminate(&mut self, step: &mut EventStep<'_>, why: StopFor) {
        let c = &self.policy.config.restart;
        let old_enough = self.run.started.after(c.young.ms()).min(step.now.after(IGNORED_MS));
        let kill_at = step.now.after(c.grace.ms().max(1)).max(old_enough);
        step.act(Action::CollectTree);
        step.act(Action::Signal { signal: Signal::TERM, to: SignalTarget::Child });
        if self.run.stopped {
            step.act(Action::Signal { signal: CONT, to: SignalTarget::Child });
        }
        let words = match &why {
            StopFor::Restart { .. } => "to start the next one",
            StopFor::Stop => "as requested",
            StopFor::Shutdown => "because the host is shutting down",
            StopFor::Limit => "because the restart limit is reached",
        };
        let text = format!("Stopping run {} {words}.", self.session.runs);
        step.decide(DecisionKind::StopSent, text);
        self.enter(step, Phase::Stopping { why, step: StopStep::Term { kill_at } });
    }

    fn kill(&mut self, step: &mut EventStep<'_>, why: StopFor, words: &str) {
        step.act(Action::CollectTree);
        step.act(Action::Signal { signal: Signal::KILL, to: SignalTarget::Group });
        // The child may have joined another process group.
        step.act(Action::Signal { signal: Signal::KILL, to: SignalTarget::Child });
        let text = format!("Killed run {}: {words}.", self.session.runs);
        step.decide(DecisionKind::StopKilled, text);
        self.enter(step, Phase::Stopping { why, step: StopStep::Kill });
    }

    pub(super) fn end_for(&mut self, step: &mut EventStep<'_>, why: StopFor, kill: bool) {
        if let Phase::Spawning { end, .. } = &mut self.phase {
            *end = Some(EndRequest { why, kill });
            return;
        }
        if self.run.pid.is_none() {
            let text = match &self.phase {
                _ if self.names_shutdown(&why) => SHUTDOWN,
                Phase::Cooling { .. } => "The session was stopped before the next run started.",
                _ => "The session was stopped before its first run started.",
            };
            self.close(step, EndCause::Stopped, self.session.last_code, text, None);
            return;
        }
        self.drop_request(step, "the session is ending");
        match self.phase {
            Phase::Stopping { step: StopStep::Kill, .. } => {
                self.enter(step, Phase::Stopping { why, step: StopStep::Kill })
            }
            _ if kill => self.kill(step, why, "`hopty stop --kill`"),
            Phase::Stopping { step: sent @ StopStep::Term { .. }, .. } => {
                self.enter(step, Phase::Stopping { why, step: sent })
            }
            _ => self.terminate(step, why),
        }
    }

    /// Claude is idle after the held hook was answered: nothing is lost now.
    pub(super) fn settle_on_status(&mut self, step: &mut EventStep<'_>) {
        if let Phase::Stopping { why, step: StopStep::Settle { .. } } = self.phase.clone()
            && self.run.file.status == Some(SessionsFileStatus::Idle)
        {
            self.terminate(step, why);
        }
    }

    pub(super) fn tick_stop(&mut self, step: &mut EventStep<'_>) {
        match self.phase.clone() {
            Phase::Stopping { why, step: StopStep::Settle { until } } if step.now >= until => {
                self.terminate(step, why)
            }
            Phase::Stopping { why, step: StopStep::Term { kill_at } } if step.now >= kill_at => {
                self.kill(step, why, "it did not end after SIGTERM");
            }
            Phase::Cooling { until, plan, held, .. } if held.is_empty() && step.now >= until => {
                self.restart_limit.count(step.now, &self.policy.config.restart);
                self.spawn(step, plan);
            }
            _ => {}
        }
    }

    /// The row of the exit table, and whether a Ctrl+C counts in it.
    pub(super) fn row(&self, now: Stamp) -> (ExitRow, CtrlC) {
        let recent = |at: Stamp| now.since(at) <= INTERRUPT_WINDOW_MS;
        let running = |row| (row, self.session.interrupt.is_some_and(|(at, _)| recent(at)));
        let here = |row| (row, self.session.interrupted_after(self.phase_began.seq));
        let (row, ctrl_c) = match &self.phase {
            Phase::Cold | Phase::Closed { .. } => here(ExitRow::Cold),
            Phase::Spawning { .. } => here(ExitRow::Spawning),
            // Ctrl+C ended the delivery, and soon after the child ended as well.
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

    pub(super) fn ended(&mut self, step: &mut EventStep<'_>, end: ProcessEnd) {
        let (row, ctrl_c) = self.row(step.now);
        let interrupt = self.session.interrupt.map(|(_, seq)| seq).filter(|_| ctrl_c == CtrlC::Yes);
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
        step.decide(DecisionKind::RunEnded, words).after(interrupt);
        step.act(Action::ReapTree);
        self.conversation.usage.rearm_later(&self.phase);
        self.drop_request(step, "the program ended first");
        let run = std::mem::take(&mut self.run);
        if step.now.since(run.started) >= QUICK_DEATH_MS {
            self.crash_count.quick_deaths = 0;
        }
        let finished = "The program finished by itself.";
        match found {
            ExitMeaning::NextRun => {
                if let Phase::Stopping { why: StopFor::Restart { plan, .. }, .. } = self.phase.clone() {
                    self.restart_limit.count(step.now, &self.policy.config.restart);
                    self.crash_count.in_a_row = 0;
                    self.spawn(step, plan);
                }
            }
            ExitMeaning::UserInterrupt => {
                let text = "You pressed Ctrl+C, and the program ended.";
                self.close(step, EndCause::UserInterrupt, end.code(), text, interrupt);
            }
            ExitMeaning::Finished => self.close(step, EndCause::Finished, end.code(), finished, interrupt),
            ExitMeaning::Stopped if matches!(&self.phase, Phase::Stopping { why: StopFor::Limit, .. }) => {
                let text = RestartLimit::last_sentence(&self.policy.config.restart);
                self.close(step, EndCause::RestartLimit, end.code(), text, interrupt);
            }
            ExitMeaning::Stopped => {
                let text = match &self.phase {
                    Phase::Stopping { why, .. } if self.names_shutdown(why) => SHUTDOWN,
                    _ => "hopty stopped the program as requested.",
                };
                self.close(step, EndCause::Stopped, end.code(), text, interrupt);
            }
            ExitMeaning::Crash => self.crash(step, end, &run, interrupt),
            // No followed child can end in these rows.
            ExitMeaning::CouldNotStart | ExitMeaning::JobControl => {
                self.close(step, EndCause::CouldNotStart, end.code(), finished, interrupt);
            }
        }
    }

    /// The crash rule: resumes the same conversation, with growing pauses, up to a limit.
    fn crash(&mut self, step: &mut EventStep<'_>, end: ProcessEnd, run: &RunState, interrupt: Option<u64>) {
        let (code, killed) = (end.code(), killed_by(end));
        let delivery = self.phase.delivery().cloned();
        let asked = run.passed_on(step.now, killed);
        let resumable = self.conversation.spoken && self.conversation.id.is_some();
        let recovers =
            self.policy.agent == ProgramKind::Claude && self.policy.config.recovery.resume_after_crash;
        if !recovers || asked || (!resumable && delivery.is_none()) {
            let text = match killed {
                Some(signal) if asked => {
                    format!("hopty passed {} on to the program, and the program ended.", signal.name())
                }
                Some(signal) => format!("The program was killed by {}.", signal.name()),
                None => format!("The program exited with code {code}."),
            };
            let cause = if killed.is_some() { EndCause::Killed } else { EndCause::Finished };
            self.close(step, cause, code, text, interrupt);
            return;
        }
        let quick = step.now.since(run.started) < QUICK_DEATH_MS;
        self.crash_count.count(quick, delivery.is_some());
        let c = &self.policy.config;
        if let Some(text) = self.crash_count.gives_up(&c.recovery) {
            self.close(step, EndCause::CrashLoop, code, text, interrupt);
        } else if self.restart_limit.is_used_up(step.now, &c.restart) {
            let text = RestartLimit::last_sentence(&c.restart);
            self.close(step, EndCause::RestartLimit, code, text, interrupt);
        } else {
            self.cool(step, end, delivery);
        }
    }

    fn cool(&mut self, step: &mut EventStep<'_>, end: ProcessEnd, delivery: Option<PromptDelivery>) {
        let pause = self.crash_count.pause_ms();
        let mut text = format!("The program ended {}; hopty restarts it in {} s.", end.words(), pause / 1000);
        let is_unwritten = self.is_unwritten();
        // Claude took the prompt and did not write it down, so it has not begun to work on it.
        let is_taken = is_unwritten && self.conversation.spoken;
        let plan = match delivery.filter(|_| !self.conversation.spoken || is_taken) {
            // Nothing was done: repeat the same hand-over.
            Some(PromptDelivery { plan, enters, .. }) if enters == 0 || is_taken => {
                RunPlan { conversation: self.session.next.clone(), ..plan }
            }
            // After an Enter the prompt may have been submitted: deliver at most once.
            Some(PromptDelivery { plan, .. }) => {
                if let Some(id) = &plan.handoff {
                    text.push_str(&format!(
                        " The prompt for {id} may already have been submitted, so hopty does not type it \
                         again; the handoff stays active."
                    ));
                }
                RunPlan { conversation: self.session.next.clone(), handoff: None, carries: None, ..plan }
            }
            // Claude has refused to resume it. If it was given a handoff, the next one is.
            None if is_unwritten && self.crash_count.in_a_row > 1 => RunPlan {
                handoff: self.handoffs.given_to(self.conversation.id.as_ref()).cloned(),
                ..RunPlan::begin_again(self.session.next.clone())
            },
            None => RunPlan::resume(self.conversation.id.clone()),
        };
        step.notice(DecisionKind::RunEnded, text);
        self.keys.hold(step);
        let until = step.now.after(pause);
        self.enter(step, Phase::Cooling { until, plan, code: end.code(), held: Vec::new() });
    }

    /// Whether the host was told to end, and the session's last sentence says so.
    fn names_shutdown(&self, why: &StopFor) -> bool {
        matches!(why, StopFor::Shutdown) && !self.policy.is_previous_release()
    }

    /// Whether Claude wrote nothing of the conversation to a transcript.
    pub(super) fn is_unwritten(&self) -> bool {
        !self.policy.is_previous_release() && self.conversation.is_unwritten()
    }

    pub(super) fn close(
        &mut self,
        step: &mut EventStep<'_>,
        cause: EndCause,
        code: u8,
        sentence: impl Into<String>,
        interrupt: Option<u64>,
    ) {
        if let Some(sending) = self.sending.take() {
            sending.close(step);
        }
        let mut sentence = sentence.into();
        if let Some(id) = &self.handoffs.active {
            sentence.push_str(&format!(" Handoff {id} is waiting: `hopty --handoff` continues it."));
        }
        let sentence = self.naming_unfinished(sentence);
        let handoff = self.handoffs.active.clone();
        step.decide(DecisionKind::SessionEnded, sentence).after(interrupt).cause(cause).handoff(handoff);
        step.act(Action::Close { cause, code });
        self.run = RunState::default();
        self.conversation.limit_wait = None;
        self.enter(step, Phase::Closed { cause, code });
    }

    /// The session's last sentence; it names the conversation that an unfinished hand-over was leaving.
    fn naming_unfinished(&self, sentence: String) -> String {
        let own = self.conversation.id.as_ref().filter(|_| self.conversation.spoken);
        let left = match &self.phase {
            Phase::Stopping { why: StopFor::Restart { plan, .. }, .. } if plan.start == StartKind::Fresh => {
                own
            }
            Phase::Stopping { why: StopFor::Limit, .. } => own,
            _ => self.chain.before_handover().filter(|_| !self.conversation.spoken),
        };
        naming_left(sentence, left, self.policy.rules)
    }
}
