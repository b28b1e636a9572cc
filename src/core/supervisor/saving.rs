//! From the safe point to a handoff on disk, and to the moment at which Claude may be ended.

use serde::{Deserialize, Serialize};

use super::action::{Action, DecisionKind, HookAnswer, RestartBy, Want};
use super::event::SessionsFileStatus;
use super::hook_decision::{LINES_MARGIN_MS, LINES_MS};
use super::phase::{Phase, RestartRequest, RunPlan, SafePoint, SaveStep, StartKind, StopFor, StopStep};
use super::step::EventStep;
use super::{ProgramKind, Supervisor};
use crate::core::claude::carry_over::CarryMethod;
use crate::core::context_level::Level;
use crate::core::handoff::work_progress::Mark;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::Stamp;

/// How long Claude may take to become idle after the held hook was answered, before SIGTERM, in ms (measured:
/// 110 to 170).
const SETTLE_MS: u64 = 500;
/// How long the comparison of the settings files may take, in ms.
const SETTINGS_MS: u64 = 5000;
/// How long the worker may take to save a handoff, in ms: meanwhile keys are held and Claude waits.
const SAVE_MS: u64 = 20_000;
/// The decision about a conversation in which nothing was said.
const NOTHING_SAID: &str =
    "Nothing has been said in this conversation: Claude starts afresh without a handoff.";

/// The state of the one job that saves a handoff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SaveJob {
    #[default]
    None,
    /// The worker has a job.
    Asked,
    /// The worker has a job for a cancelled hand-over; the next one waits until it is done.
    Abandoned,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Handoffs {
    job: SaveJob,
    /// The handoff that is active and not consumed: named at exit.
    pub(super) active: Option<HandoffId>,
    /// The handoff that a conversation received, until it answers.
    pub(super) consuming: Option<(HandoffId, ConversationId)>,
    /// The last failure to save one, until one is saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<FailedSave>,
}

/// A handoff that was not saved. Meanwhile prompts run where they are submitted: another attempt would stop
/// each one only to return it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FailedSave {
    pub(super) why: String,
    /// The level at that time. Above it, another attempt is worth stopping a prompt.
    level: Level,
    /// Until when no hand-over by level is attempted.
    pub(super) until: Stamp,
}

impl Handoffs {
    /// A conversation has answered, which consumes its handoff, if it has one.
    pub(super) fn answered(&mut self, step: &mut EventStep<'_>, conversation: &ConversationId) {
        let Some((handoff, of)) = self.consuming.take_if(|(_, of)| of == conversation) else { return };
        self.active.take_if(|active| *active == handoff);
        step.act(Action::Consume { handoff: handoff.clone(), conversation: of.clone() });
        let text = format!("Conversation {of} answered; handoff {handoff} is consumed.");
        step.decide(DecisionKind::HandoffConsumed, text).handoff(handoff).conversation(of);
    }

    /// The handoff that this conversation received and has not answered.
    pub(super) fn given_to(&self, conversation: Option<&ConversationId>) -> Option<&HandoffId> {
        self.consuming.as_ref().filter(|(_, of)| Some(of) == conversation).map(|(handoff, _)| handoff)
    }

    /// The failed save because of which no hand-over is attempted at this level now.
    pub(super) fn pause(&self, now: Stamp, level: Level) -> Option<&FailedSave> {
        self.failed.as_ref().filter(|failed| now < failed.until && level <= failed.level)
    }

    /// A handoff is on disk: ends the pause.
    pub(super) fn end_pause(&mut self) {
        self.failed = None;
    }

    /// The session returned to the conversation before this handoff.
    pub(super) fn clear(&mut self, step: &mut EventStep<'_>, handoff: HandoffId) {
        self.active.take_if(|active| *active == handoff);
        self.consuming.take_if(|(of, _)| *of == handoff);
        step.act(Action::Clear { handoff });
    }
}

impl SaveStep {
    /// How long it may take, in ms: a host or a disk that hangs must not hold a person's keys forever.
    pub(super) fn limit_ms(self) -> u64 {
        match self {
            SaveStep::Settings => SETTINGS_MS,
            SaveStep::Results | SaveStep::Prompt => LINES_MS + LINES_MARGIN_MS,
            SaveStep::Writing => SAVE_MS,
        }
    }
}

impl Supervisor {
    pub(super) fn begin_saving(
        &mut self,
        step: &mut EventStep<'_>,
        request: RestartRequest,
        point: SafePoint,
    ) {
        let words = match point {
            _ if self.policy.agent == ProgramKind::Plain => "The program can be stopped at any time",
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
        step.decide(DecisionKind::SafePointReached, format!("{words}.")).also(request.seq);
        self.keys.hold(step);
        let check = !request.person && self.policy.agent == ProgramKind::Claude;
        self.enter(step, Phase::Saving { request, point, step: SaveStep::Settings });
        if check {
            step.act(Action::CheckSettings);
        } else {
            self.await_results(step);
        }
    }

    pub(super) fn settings(&mut self, step: &mut EventStep<'_>, changed: &[String]) {
        if !matches!(self.phase, Phase::Saving { step: SaveStep::Settings, .. }) {
            return self.start_held(step, changed);
        }
        if changed.is_empty() {
            self.await_results(step);
            return;
        }
        if let Phase::Saving { request, .. } = &self.phase {
            self.conversation.held_dir.clone_from(&request.dir);
        }
        self.hold_request(step, &changed.join(", "));
    }

    /// The next run could not start: Claude goes on, and compacts its context when it is full.
    pub(super) fn directory_gone(&mut self, step: &mut EventStep<'_>, dir: &str) {
        if matches!(self.phase, Phase::Saving { step: SaveStep::Settings, .. }) {
            self.give_up_saving(step, &format!("{dir} is gone, where the next Claude would start"));
        }
    }

    fn await_results(&mut self, step: &mut EventStep<'_>) {
        match self.phase {
            Phase::Saving { point: SafePoint::Batch { hook }, .. } => {
                self.enter_step(step.now, SaveStep::Results);
                step.act(Action::AwaitLines {
                    id: hook,
                    want: Want::Results,
                    until: step.now.after(LINES_MS),
                });
            }
            Phase::Saving { point: SafePoint::Prompt { hook, .. }, .. } => self.stop_prompt(step, hook),
            _ => self.write_handoff(step),
        }
    }

    pub(super) fn enter_step(&mut self, now: Stamp, to: SaveStep) {
        if let Phase::Saving { step, .. } = &mut self.phase {
            *step = to;
            self.phase_began.at = now;
        }
    }

    pub(super) fn write_handoff(&mut self, step: &mut EventStep<'_>) {
        self.enter_step(step.now, SaveStep::Writing);
        match &self.phase {
            Phase::Saving { request, .. } if !request.handoff => self.stop_for_restart(step, None),
            Phase::Saving { request, .. } if self.has_nothing_to_hand_over() => {
                let (by, line) = (request.by, request.seq);
                step.decide(DecisionKind::HandoffSkipped, NOTHING_SAID).also(line).by(by);
                self.stop_for_restart(step, None);
            }
            _ => match self.handoffs.job {
                SaveJob::None => self.ask_save(step),
                SaveJob::Asked | SaveJob::Abandoned => self.handoffs.job = SaveJob::Abandoned,
            },
        }
    }

    /// Whether nothing was said in the conversation. If it was to continue from a handoff and has not
    /// answered yet, it still has that to hand over.
    fn has_nothing_to_hand_over(&self) -> bool {
        self.conversation.is_empty() && self.handoffs.active.is_none()
    }

    fn ask_save(&mut self, step: &mut EventStep<'_>) {
        let Phase::Saving { request, .. } = &self.phase else { return };
        let by = request.by;
        match self.session.next.clone() {
            Some(claim_for) => {
                self.handoffs.job = SaveJob::Asked;
                step.act(Action::Save { by, claim_for });
            }
            None => self.cancel_request(step, "there is no conversation id for the next run"),
        }
    }

    pub(super) fn saved(&mut self, step: &mut EventStep<'_>, handoff: &HandoffId, mark: Option<Mark>) {
        let job = std::mem::take(&mut self.handoffs.job);
        step.decide(DecisionKind::HandoffSaved, format!("Saved handoff {handoff}.")).handoff(handoff.clone());
        self.handoffs.active = Some(handoff.clone());
        self.handoffs.end_pause();
        if !matches!(self.phase, Phase::Saving { step: SaveStep::Writing, .. }) {
            return;
        }
        if job == SaveJob::Abandoned {
            // The handoff is outdated: Claude has worked since.
            self.ask_save(step);
            return;
        }
        let asked = self.phase.request().is_some_and(|request| request.explicit || request.person);
        if self.conversation.progress.note(mark) && !asked {
            self.conversation.progress.stop(step);
            self.cancel_request(step, "the work made no progress");
            return;
        }
        let text = format!("Reserved handoff {handoff} for the next conversation.");
        let next = self.session.next.clone();
        step.decide(DecisionKind::HandoffClaimed, text).handoff(handoff.clone()).conversation(next);
        self.stop_for_restart(step, Some(handoff.clone()));
    }

    pub(super) fn save_failed(&mut self, step: &mut EventStep<'_>, error: &str) {
        let job = std::mem::take(&mut self.handoffs.job);
        if matches!(self.phase, Phase::Saving { step: SaveStep::Writing, .. }) {
            if job == SaveJob::Abandoned {
                self.ask_save(step);
            } else {
                self.give_up_saving(step, &format!("the handoff could not be saved ({error})"));
            }
        }
    }

    /// Reports a failed save once if it prevents hand-overs by level.
    fn give_up_saving(&mut self, step: &mut EventStep<'_>, why: &str) {
        self.conversation.usage.rearm_later(&self.phase);
        let by_level = self.phase.request().is_some_and(|request| request.by == RestartBy::Level);
        let known = self.handoffs.failed.as_ref().is_some_and(|failed| failed.why == why);
        if !self.policy.is_previous_release() {
            let until = step.now.after(self.policy.config.restart.snooze.ms());
            let level = self.level();
            self.handoffs.failed = Some(FailedSave { why: why.to_owned(), level, until });
        }
        match by_level && known {
            true => self.cancel_quietly(step, why),
            false => self.cancel_request(step, why),
        }
    }

    /// A host or a disk that hangs must not hold a person's keys forever.
    pub(super) fn tick_save(&mut self, step: &mut EventStep<'_>) {
        let Phase::Saving { step: save, .. } = self.phase else { return };
        if step.now < self.phase_began.at.after(save.limit_ms()) {
            return;
        }
        match save {
            SaveStep::Settings => self.give_up_saving(step, "comparing the settings files took too long"),
            SaveStep::Results | SaveStep::Prompt => self.write_handoff(step),
            SaveStep::Writing => self.give_up_saving(step, "saving the handoff took too long"),
        }
    }

    /// The run that follows a restart.
    fn restart_plan(
        &self,
        handoff: Option<HandoffId>,
        dir: Option<String>,
        carries: Option<CarryMethod>,
    ) -> RunPlan {
        let fresh = self.policy.agent == ProgramKind::Claude;
        RunPlan {
            start: if fresh { StartKind::Fresh } else { StartKind::First },
            conversation: if fresh { self.session.next.clone() } else { None },
            first_prompt: fresh
                && handoff.is_none()
                && !self.session.prompted
                && !self.conversation.spoken
                && !self.policy.is_previous_release(),
            handoff,
            dir,
            draft: fresh,
            carries,
        }
    }

    /// The handoff is on disk (or not needed): waits for Claude to become idle, then ends it.
    fn stop_for_restart(&mut self, step: &mut EventStep<'_>, handoff: Option<HandoffId>) {
        let Phase::Saving { request, point, .. } = self.phase.clone() else { return };
        let refusal = self.restart_limit.refusal(step.now, &self.policy.config.restart);
        if let Some(why) = refusal.as_ref().filter(|_| self.policy.rules > 0) {
            self.cancel_request(step, why);
            return;
        }
        let carries = match point {
            SafePoint::Prompt { way, .. } => Some(way),
            _ if self.waits_for_prompt(step.now, &request) && handoff.is_some() => {
                self.run.queue.first.filter(|_| self.run.queue.prompts > 0)
            }
            _ => None,
        };
        // No run has taken the first prompt, and the handoff does not contain it.
        let argument = self.session.argument.filter(|_| {
            handoff.is_some() && carries.is_none() && self.run.queue.argument && !self.session.prompted
        });
        if argument.is_some() {
            step.act(Action::TakeArgument);
        } else if carries.is_some() && !matches!(point, SafePoint::Prompt { .. }) {
            step.act(Action::TakeQueued);
        }
        let carries = carries.or(argument);
        let why = match refusal {
            Some(_) => StopFor::Limit,
            None => StopFor::Restart {
                plan: self.restart_plan(handoff.clone(), request.dir, carries),
                interrupted: false,
            },
        };
        self.run.hooks.held = None;
        // A prompt in Claude's queue would become a request as soon as the hook is answered.
        let answers = point.hook().filter(|_| self.run.queue.prompts == 0);
        if let Some(hook) = answers {
            let answer = match (point, &handoff) {
                (SafePoint::Batch { .. }, Some(id)) => {
                    HookAnswer::StopTurn { reason: format!("hopty hands over ({id})") }
                }
                (SafePoint::Batch { .. }, None) => {
                    HookAnswer::StopTurn { reason: "hopty restarts Claude without a handoff".to_owned() }
                }
                _ => HookAnswer::Nothing,
            };
            step.answer(hook, answer);
        }
        let is_busy = self.run.file.status == Some(SessionsFileStatus::Busy);
        if answers.is_some() || matches!(point, SafePoint::Prompt { .. }) && is_busy {
            let until = step.now.after(SETTLE_MS);
            self.enter(step, Phase::Stopping { why, step: StopStep::Settle { until } });
        } else {
            self.terminate(step, why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{conversation, handoff, word};
    use super::*;

    #[test]
    fn a_handoff_is_consumed_by_the_answer_of_its_own_conversation() {
        let mut out = Vec::new();
        let mut step = EventStep::new(Stamp(0), 1, 1, &mut out);
        let given = Handoffs {
            active: Some(handoff(1)),
            consuming: Some((handoff(1), conversation(2))),
            ..Handoffs::default()
        };
        let mut handoffs = given.clone();
        handoffs.answered(&mut step, &conversation(3));
        assert_eq!(handoffs, given);
        handoffs.answered(&mut step, &conversation(2));
        assert_eq!(handoffs, Handoffs::default());
        let mut newer = Handoffs { active: Some(handoff(2)), ..given };
        newer.clear(&mut step, handoff(1));
        assert_eq!(newer, Handoffs { active: Some(handoff(2)), ..Handoffs::default() });
        let words: Vec<String> = out.iter().map(word).collect();
        assert_eq!(words.join(", "), "consume, handoff.consumed, clear");
    }
}
