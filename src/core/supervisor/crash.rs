//! The crash rule: resume the same conversation, with growing pauses, up to a limit.

use serde::{Deserialize, Serialize};

use super::action::DecisionKind;
use super::exit_table::killed_by;
use super::phase::{EndCause, Phase, RunPlan, StartKind};
use super::run::{RunState, ends_programs};
use super::step::EventStep;
use super::{Agent, Supervisor};
use crate::core::process::{ProcessEnd, Signal};
use crate::core::time::Stamp;

/// A run that ended within this time died quickly, in ms: one that worked for a minute can start here and is
/// worth resuming again.
pub(super) const QUICK_DEATH_MS: u64 = 60_000;
/// How long a signal that a client passed on can explain an end, in ms.
const PASSED_MS: u64 = 10_000;
/// The longest pause before a resume, in ms.
const LONGEST_PAUSE_MS: u64 = 60_000;
/// This many ends during the delivery of a handoff stop the recovery.
const DELIVERY_DEATHS: u32 = 2;

/// How often a session's program has died.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CrashGuard {
    /// Crashes in quick succession: the pause grows with them.
    pub(super) in_a_row: u32,
    /// Ends soon after the start, in a row.
    pub(super) quick_deaths: u32,
    /// Ends during the delivery of a handoff since the last delivery that succeeded.
    pub(super) delivery_deaths: u32,
}

impl CrashGuard {
    fn count(&mut self, quick: bool, delivering: bool) {
        self.quick_deaths = if quick { self.quick_deaths + 1 } else { 0 };
        self.in_a_row = if quick { self.in_a_row + 1 } else { 1 };
        self.delivery_deaths += u32::from(delivering);
    }

    /// The pause before the next run, in ms.
    fn pause_ms(self) -> u64 {
        1000u64.saturating_mul(1 << self.in_a_row.saturating_sub(1).min(6)).min(LONGEST_PAUSE_MS)
    }
}

impl Supervisor {
    pub(super) fn crash(
        &mut self,
        step: &mut EventStep<'_>,
        end: ProcessEnd,
        run: &RunState,
        interrupt: Option<u64>,
    ) {
        let (code, killed) = (end.code(), killed_by(end));
        let delivering = match &self.phase {
            Phase::Delivering { plan, enters, .. } => Some((plan.clone(), *enters)),
            _ => None,
        };
        let asked = passed_explains(step.now, run, killed);
        let resumable = self.conversation.spoken && self.conversation.id.is_some();
        let recovers = self.policy.agent == Agent::Claude && self.policy.config.recovery.resume_after_crash;
        if !recovers || asked || (!resumable && delivering.is_none()) {
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
        self.crash_guard.count(quick, delivering.is_some());
        if self.crash_guard.delivery_deaths >= DELIVERY_DEATHS {
            let text = format!(
                "The program ended {} times during the delivery of a handoff; hopty gave up.",
                self.crash_guard.delivery_deaths
            );
            self.close(step, EndCause::CrashLoop, code, text, interrupt);
        } else if self.crash_guard.quick_deaths >= self.policy.config.recovery.quick_deaths {
            let text = format!(
                "The program ended {} times soon after its start; hopty gave up.",
                self.crash_guard.quick_deaths
            );
            self.close(step, EndCause::CrashLoop, code, text, interrupt);
        } else if self.over_limit(step.now) {
            self.close(step, EndCause::RestartLimit, code, self.limit_words(), interrupt);
        } else {
            self.cool(step, end, delivering);
        }
    }

    fn cool(&mut self, step: &mut EventStep<'_>, end: ProcessEnd, delivering: Option<(RunPlan, u32)>) {
        let pause = self.crash_guard.pause_ms();
        let mut text = format!("The program ended {}; hopty restarts it in {} s.", end.words(), pause / 1000);
        let plan = match delivering {
            // Nothing was submitted: repeat the same hand-over.
            Some((plan, 0)) if !self.conversation.spoken => {
                RunPlan { conversation: self.session.next.clone(), ..plan }
            }
            // After an Enter the prompt may have been submitted: deliver at most once.
            Some((plan, _)) if !self.conversation.spoken => {
                if let Some(id) = &plan.handoff {
                    text.push_str(&format!(
                        " The prompt for {id} may already have been submitted, so hopty does not type it \
                         again; the handoff stays active."
                    ));
                }
                RunPlan { conversation: self.session.next.clone(), handoff: None, carries: None, ..plan }
            }
            // No transcript has the text of the prompt box.
            _ => RunPlan {
                start: StartKind::Resume,
                conversation: self.conversation.id.clone(),
                handoff: None,
                dir: None,
                draft: true,
                carries: None,
            },
        };
        step.notice(DecisionKind::RunEnded, text);
        self.hold_keys(step);
        self.enter(
            step,
            Phase::Cooling { until: step.now.after(pause), plan, code: end.code(), held: Vec::new() },
        );
    }
}

/// A client received a signal to end and passed it on: not a crash. Other signals explain only a death by the
/// same signal.
fn passed_explains(now: Stamp, run: &RunState, killed: Option<Signal>) -> bool {
    run.passed.is_some_and(|(at, signal)| {
        now.since(at) <= PASSED_MS && (ends_programs(signal) || killed == Some(signal))
    })
}
