//! What follows when the context usage crosses a level: a hand-over, or in mode `ask` a question that a
//! person answers first.

use super::action::{DecisionKind, RestartBy};
use super::handover_question::{AskAnswer, HandoverQuestion};
use super::phase::{Phase, RestartRequest};
use super::policy::ProgramKind;
use super::step::EventStep;
use super::{Supervisor, Turn};
use crate::core::config::{AskDefault, RestartMode};
use crate::core::context_level::{Fill, Level};
use crate::core::ids::ConversationId;

/// Since this version of the rules a person may snooze a hand-over without being asked.
const SNOOZES_SINCE: u32 = 2;

impl Supervisor {
    pub(super) fn usage(&mut self, step: &mut EventStep<'_>, conversation: &ConversationId, fill: Fill) {
        if !self.conversation.is(conversation) {
            return;
        }
        self.lines.usage = step.line;
        self.conversation.spoken |= fill.tokens > 0;
        if let Some(level) = self.conversation.usage.take(fill, &self.policy) {
            let sentence =
                format!("{} (level {}).", self.conversation.usage.sentence(&self.policy), level.word());
            step.decide(DecisionKind::LevelCrossed, sentence).level(level);
            self.level_crossed(step, level);
        }
        if self.conversation.usage.fired < Level::Ask {
            self.conversation.question.withdraw();
        }
    }

    fn level_crossed(&mut self, step: &mut EventStep<'_>, level: Level) {
        if self.policy.agent != ProgramKind::Claude || self.policy.no_handover.is_some() {
            return;
        }
        if level >= Level::Ask && self.conversation.usage.began_at(level, &self.policy) {
            let word = level.word();
            let text = if self.chain.is_back_in(self.conversation.id.as_ref()) {
                format!(
                    "No automatic hand-over: you went back to this conversation, which is at level {word}; \
                     `hopty restart` hands over anyway."
                )
            } else {
                format!(
                    "No automatic hand-over: this conversation started at level {word}, and the next one \
                     would too."
                )
            };
            step.tell(DecisionKind::RestartIgnored, text).by(RestartBy::Level).level(level);
            return;
        }
        match self.policy.config.restart.mode {
            RestartMode::Auto if level >= Level::Handoff => self.level_request(step, level),
            RestartMode::Ask if level == Level::Hard => self.ask_late(step),
            RestartMode::Ask if self.phase == Phase::Running => self.conversation.ask(step, &self.policy),
            RestartMode::Ask | RestartMode::Auto | RestartMode::Manual => {}
        }
    }

    /// A hand-over by level: requested, sped up, or kept for the end of the next turn.
    fn level_request(&mut self, step: &mut EventStep<'_>, level: Level) {
        if self.policy.no_handover.is_some()
            || self.conversation.progress.is_missing()
            || self.conversation.usage.began_at(level, &self.policy)
        {
            return;
        }
        let runs = self.phase == Phase::Running;
        if runs
            && (self.conversation.is_snoozed(&self.policy) || self.handoffs.pause(step.now, level).is_some())
            || runs
                && self.policy.rules > 0
                && self.restart_limit.refuses_level(step, &self.policy.config.restart)
        {
            self.conversation.usage.rearm_at_stop = true;
            return;
        }
        match &mut self.phase {
            Phase::Waiting { request } => {
                request.now |= level == Level::Hard;
                request.level = request.level.max(Some(level));
            }
            Phase::Running => {
                let sentence =
                    format!("{}; hand-over requested.", self.conversation.usage.sentence(&self.policy));
                let request = RestartRequest {
                    level: Some(level),
                    now: level == Level::Hard,
                    ..RestartRequest::new(step, &self.policy, RestartBy::Level)
                };
                self.wait_because(step, request, sentence, self.lines.usage);
            }
            _ => self.conversation.usage.rearm_at_stop = true,
        }
    }

    /// A turn is over: requests again what was cancelled before.
    pub(super) fn rearm(&mut self, step: &mut EventStep<'_>) {
        if self.conversation.usage.rearm_at_stop && self.phase == Phase::Running {
            self.conversation.usage.rearm_at_stop = false;
            if self.level() >= Level::Handoff {
                self.level_request(step, self.level());
            }
        }
    }

    /// An orchestrator's task is completed, or continues after all. While it is completed no context level
    /// hands over, because the loop ends; requests by a person or a signal still count.
    pub(super) fn task(&mut self, step: &mut EventStep<'_>, completed: bool) {
        if self.session.completed == completed {
            return;
        }
        self.session.completed = completed;
        if completed {
            step.tell(DecisionKind::TaskCompleted, "Task completed!");
        } else {
            // A hand-over that was cancelled meanwhile becomes due at the end of the next turn.
            self.conversation.usage.rearm_at_stop |= self.level() >= Level::Handoff;
        }
    }

    /// The window is almost full. In the middle of a turn Claude would compact before it could ask, so the
    /// default answer applies now.
    fn ask_late(&mut self, step: &mut EventStep<'_>) {
        if self.phase != Phase::Running {
            return;
        }
        let unasked =
            matches!(self.conversation.question, HandoverQuestion::Silent | HandoverQuestion::Due { .. });
        if unasked
            && self.run.turn.state == Turn::Busy
            && self.policy.config.restart.ask_default == AskDefault::Handoff
        {
            self.conversation.question = HandoverQuestion::Silent;
            self.level_request(step, Level::Hard);
        } else {
            self.conversation.ask(step, &self.policy);
        }
    }

    /// A person answered: Claude's question, or with `hopty handoff snooze` and `dismiss`.
    pub(super) fn ask_answered(&mut self, step: &mut EventStep<'_>, answer: AskAnswer) {
        if self.policy.agent != ProgramKind::Claude {
            return;
        }
        if self.policy.config.restart.mode != RestartMode::Ask {
            if answer == AskAnswer::Snooze {
                self.snooze(step);
            }
            return;
        }
        self.conversation.word = None;
        let words = match answer {
            AskAnswer::Yes => {
                self.conversation.question = HandoverQuestion::Silent;
                self.agreed(step);
                return;
            }
            AskAnswer::Snooze => {
                let snooze = self.policy.config.restart.snooze;
                self.conversation.question = HandoverQuestion::Snoozed { until: step.now.after(snooze.ms()) };
                format!("You snoozed the hand-over; hopty asks again in {}.", snooze.words())
            }
            AskAnswer::Dismiss => {
                self.conversation.question = HandoverQuestion::Dismissed;
                "You dismissed the hand-over; hopty does not ask again in this conversation.".to_owned()
            }
        };
        step.decide(DecisionKind::RestartIgnored, words).by(RestartBy::Level);
        self.conversation.keep_answer(step);
    }

    fn agreed(&mut self, step: &mut EventStep<'_>) {
        if self.phase == Phase::Running {
            let request = RestartRequest {
                level: Some(self.level()),
                explicit: true,
                person: true,
                now: true,
                ..RestartRequest::new(step, &self.policy, RestartBy::Level)
            };
            self.wait(step, request, "You agreed to a hand-over.");
        }
    }

    /// `hopty handoff snooze` without a pending question: no context level hands over for a while. Only a
    /// compaction in a tool loop still leads to a hand-over.
    fn snooze(&mut self, step: &mut EventStep<'_>) {
        if self.policy.rules < SNOOZES_SINCE {
            return;
        }
        let snooze = self.policy.config.restart.snooze;
        self.conversation.question = HandoverQuestion::Snoozed { until: step.now.after(snooze.ms()) };
        if matches!(&self.phase, Phase::Waiting { request } if request.is_by_level()) {
            self.conversation.usage.rearm_later(&self.phase);
            self.cancel_request(step, &format!("you snoozed it for {}", snooze.words()));
        } else {
            let text = format!("No automatic hand-over for {}: you snoozed it.", snooze.words());
            step.tell(DecisionKind::RestartIgnored, text).by(RestartBy::Level);
        }
        self.conversation.keep_answer(step);
    }

    /// After every event: handles the question's time limit.
    pub(super) fn tick_ask(&mut self, step: &mut EventStep<'_>) {
        let question = self.conversation.question;
        if self.phase != Phase::Running || question.deadline().is_none_or(|until| step.now < until) {
            return;
        }
        let snoozed = self.conversation.is_snoozed(&self.policy);
        self.conversation.question = HandoverQuestion::Silent;
        if !matches!(question, HandoverQuestion::Snoozed { .. }) {
            self.level_request(step, self.level());
            // The question blocks every other safe point; nothing else runs meanwhile.
            let stands = matches!(question, HandoverQuestion::Put { .. })
                && self.run.hooks.asking.as_deref() == Some("question");
            if let Phase::Waiting { request } = &mut self.phase {
                request.forced |= stands;
            }
        } else if !snoozed && self.level() >= Level::Ask {
            self.conversation.ask(step, &self.policy);
        } else if self.policy.config.restart.mode == RestartMode::Auto && self.level() >= Level::Handoff {
            self.level_request(step, self.level());
        }
    }
}
