//! From the safe point to a handoff on disk, and to the moment at which Claude may be ended.

use serde::{Deserialize, Serialize};

use super::action::{Action, DecisionKind, HookAnswer, Want};
use super::event::AgentStatus;
use super::hooks::{LINES_MARGIN_MS, LINES_MS};
use super::phase::{Phase, RestartRequest, RunPlan, SafePoint, SaveStep, StartKind, StopFor, StopStep};
use super::{Agent, Supervisor};
use crate::core::handoff::progress::Mark;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::Stamp;

/// How long Claude may take to become idle after the held hook was answered, before SIGTERM, in ms (measured:
/// 110 to 170).
const SETTLE_MS: u64 = 500;
/// How long the comparison of the settings files may take, in ms.
const SETTINGS_MS: u64 = 5000;
/// How long the worker may take to save a handoff, in ms: meanwhile keys are held and Claude waits.
const SAVE_MS: u64 = 20_000;

/// The state of the one job that saves a handoff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SaveJob {
    /// No job.
    #[default]
    None,
    /// The worker has a job.
    Asked,
    /// The worker has a job for a cancelled hand-over; the next one waits until it is done.
    Abandoned,
}

/// What is known of the session's handoffs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Handoffs {
    job: SaveJob,
    /// The handoff that is active and not consumed: named at exit.
    pub(super) active: Option<HandoffId>,
    /// The handoff that a conversation was given, until it answers.
    pub(super) consuming: Option<(HandoffId, ConversationId)>,
}

impl Supervisor {
    pub(super) fn begin_saving(
        &mut self,
        now: Stamp,
        request: RestartRequest,
        point: SafePoint,
        out: &mut Vec<Action>,
    ) {
        let words = match point {
            _ if self.policy.agent == Agent::Plain => "The program can be stopped at any time",
            SafePoint::Stop { .. } => "The turn is over: a safe point",
            SafePoint::Batch { .. } => {
                "The tools have run and the next request has not been sent: a safe point"
            }
            SafePoint::Prompt { .. } => {
                "You submitted a prompt, which goes to the fresh conversation: a safe point"
            }
            SafePoint::Idle => "Claude is idle: a safe point",
            SafePoint::Now => "hopty stops Claude right away, as requested",
        };
        self.decide(
            out,
            DecisionKind::SafePointReached,
            format!("{words}."),
            &[self.lines.event, request.seq],
            |_| {},
        );
        self.hold_keys(out);
        let check = !request.person && self.policy.agent == Agent::Claude;
        self.enter(now, Phase::Saving { request, point, step: SaveStep::Settings });
        if check {
            out.push(Action::CheckSettings);
        } else {
            self.await_results(now, out);
        }
    }

    pub(super) fn settings(&mut self, now: Stamp, changed: &[String], out: &mut Vec<Action>) {
        if !matches!(self.phase, Phase::Saving { step: SaveStep::Settings, .. }) {
            return self.start_held(now, changed, out);
        }
        if changed.is_empty() {
            self.await_results(now, out);
            return;
        }
        if let Phase::Saving { request, .. } = &self.phase {
            self.conversation.held_dir.clone_from(&request.dir);
        }
        let changed = changed.join(", ");
        let why = format!(
            "settings that run code have changed since launch ({changed}); accept them with `hopty restart`"
        );
        self.cancel_request(now, &why, out);
    }

    fn await_results(&mut self, now: Stamp, out: &mut Vec<Action>) {
        match self.phase {
            Phase::Saving { point: SafePoint::Batch { hook }, .. } => {
                self.enter_step(now, SaveStep::Results);
                out.push(Action::AwaitLines { id: hook, want: Want::Results, until: now.after(LINES_MS) });
            }
            Phase::Saving { point: SafePoint::Prompt { hook, .. }, .. } => self.stop_prompt(now, hook, out),
            _ => self.write_handoff(now, out),
        }
    }

    pub(super) fn enter_step(&mut self, now: Stamp, to: SaveStep) {
        if let Phase::Saving { step, .. } = &mut self.phase {
            *step = to;
            self.phase_began.at = now;
        }
    }

    pub(super) fn write_handoff(&mut self, now: Stamp, out: &mut Vec<Action>) {
        self.enter_step(now, SaveStep::Writing);
        match &self.phase {
            Phase::Saving { request, .. } if !request.handoff => self.stop_for_restart(now, None, out),
            _ => match self.handoffs.job {
                SaveJob::None => self.ask_save(now, out),
                SaveJob::Asked | SaveJob::Abandoned => self.handoffs.job = SaveJob::Abandoned,
            },
        }
    }

    fn ask_save(&mut self, now: Stamp, out: &mut Vec<Action>) {
        let Phase::Saving { request, .. } = &self.phase else { return };
        let by = request.by;
        match self.session.next.clone() {
            Some(claim_for) => {
                self.handoffs.job = SaveJob::Asked;
                out.push(Action::Save { by, claim_for });
            }
            None => self.cancel_request(now, "there is no conversation id for the next run", out),
        }
    }

    pub(super) fn saved(
        &mut self,
        now: Stamp,
        handoff: &HandoffId,
        mark: Option<Mark>,
        out: &mut Vec<Action>,
    ) {
        let job = std::mem::take(&mut self.handoffs.job);
        self.decide(
            out,
            DecisionKind::HandoffSaved,
            format!("Saved handoff {handoff}."),
            &[self.lines.event],
            |d| {
                d.handoff = Some(handoff.clone());
            },
        );
        self.handoffs.active = Some(handoff.clone());
        if !matches!(self.phase, Phase::Saving { step: SaveStep::Writing, .. }) {
            return;
        }
        if job == SaveJob::Abandoned {
            // The handoff is outdated: Claude has gone on since.
            self.ask_save(now, out);
            return;
        }
        if self.brings_nothing(mark) {
            self.stop_handing_over(now, out);
            return;
        }
        let text = format!("Reserved handoff {handoff} for the next conversation.");
        let next = self.session.next.clone();
        self.decide(out, DecisionKind::HandoffClaimed, text, &[self.lines.event], |d| {
            d.handoff = Some(handoff.clone());
            d.conversation = next;
        });
        self.stop_for_restart(now, Some(handoff.clone()), out);
    }

    pub(super) fn save_failed(&mut self, now: Stamp, error: &str, out: &mut Vec<Action>) {
        let job = std::mem::take(&mut self.handoffs.job);
        if matches!(self.phase, Phase::Saving { step: SaveStep::Writing, .. }) {
            if job == SaveJob::Abandoned {
                self.ask_save(now, out);
            } else {
                self.give_up_saving(now, &format!("the handoff could not be saved ({error})"), out);
            }
        }
    }

    fn give_up_saving(&mut self, now: Stamp, why: &str, out: &mut Vec<Action>) {
        self.rearm_later();
        self.cancel_request(now, why, out);
    }

    pub(super) fn saving_deadline(&self, step: SaveStep) -> Stamp {
        self.phase_began.at.after(match step {
            SaveStep::Settings => SETTINGS_MS,
            SaveStep::Results | SaveStep::Prompt => LINES_MS + LINES_MARGIN_MS,
            SaveStep::Writing => SAVE_MS,
        })
    }

    /// A host or a disk that hangs must not hold a person's keys forever.
    pub(super) fn tick_save(&mut self, now: Stamp, out: &mut Vec<Action>) {
        let Phase::Saving { step, .. } = self.phase else { return };
        if now < self.saving_deadline(step) {
            return;
        }
        match step {
            SaveStep::Settings => self.give_up_saving(now, "comparing the settings files took too long", out),
            SaveStep::Results | SaveStep::Prompt => self.write_handoff(now, out),
            SaveStep::Writing => self.give_up_saving(now, "saving the handoff took too long", out),
        }
    }

    /// The handoff is on disk (or none is wanted): waits for Claude to become idle, then ends it.
    fn stop_for_restart(&mut self, now: Stamp, handoff: Option<HandoffId>, out: &mut Vec<Action>) {
        let Phase::Saving { request, point, .. } = self.phase.clone() else { return };
        if self.policy.rules > 0 && self.over_limit(now) {
            let why = self.limit_reason();
            self.cancel_request(now, &why, out);
            return;
        }
        let fresh = self.policy.agent == Agent::Claude;
        let carries = match point {
            SafePoint::Prompt { way, .. } => Some(way),
            _ if self.waits_for_prompt(now, &request) && handoff.is_some() => {
                self.run.queue.first.filter(|_| self.run.queue.prompts > 0)
            }
            _ => None,
        };
        if carries.is_some() && !matches!(point, SafePoint::Prompt { .. }) {
            out.push(Action::TakeQueued);
        }
        let why = if self.over_limit(now) {
            StopFor::Limit
        } else {
            StopFor::Restart {
                plan: RunPlan {
                    start: if fresh { StartKind::Fresh } else { StartKind::First },
                    conversation: if fresh { self.session.next.clone() } else { None },
                    handoff: handoff.clone(),
                    dir: request.dir,
                    draft: fresh,
                    carries,
                },
                interrupted: false,
            }
        };
        self.run.hooks.held = None;
        // A prompt in Claude's queue would become a request as soon as the hook is answered.
        if let (Some(hook), 0) = (point.hook(), self.run.queue.prompts) {
            let answer = match (point, &handoff) {
                (SafePoint::Batch { .. }, Some(id)) => {
                    HookAnswer::StopTurn { reason: format!("hopty hands over ({id})") }
                }
                (SafePoint::Batch { .. }, None) => {
                    HookAnswer::StopTurn { reason: "hopty restarts Claude without a handoff".to_owned() }
                }
                _ => HookAnswer::Nothing,
            };
            self.answer(hook, answer, out);
            self.enter(now, Phase::Stopping { why, step: StopStep::Settle { until: now.after(SETTLE_MS) } });
        } else if matches!(point, SafePoint::Prompt { .. }) && self.run.file.status == Some(AgentStatus::Busy)
        {
            self.enter(now, Phase::Stopping { why, step: StopStep::Settle { until: now.after(SETTLE_MS) } });
        } else {
            self.terminate(now, why, out);
        }
    }
}
