//! Mode `ask`: a person is asked before a hand-over.
//!
//! Above level `ask`, hopty tells Claude with the person's next prompt to put the question, and reads the
//! answer from the hook that follows. The question blocks the turn until it is answered or
//! `restart.ask_timeout` hands over by itself; if the default answer is to do nothing
//! (`restart.ask_default`), it stays. If no hook can carry the question, there is only a notice.

use serde::{Deserialize, Serialize};

use super::action::{DecisionKind, RestartBy};
use super::phase::{Phase, RestartRequest};
use super::policy::Agent;
use super::step::EventStep;
use super::{Supervisor, Turn};
use crate::core::config::{AskDefault, Restart, RestartMode};
use crate::core::context::Level;
use crate::core::time::Stamp;

/// The first version of the rules in which a person may snooze a hand-over that nobody asks about.
const SNOOZES_SINCE: u32 = 2;

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskAnswer {
    /// Hand over now.
    Yes,
    /// Ask again later (`restart.snooze`).
    Snooze,
    /// Do not ask again in this conversation.
    Dismiss,
}

/// The state of the question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum HandoverQuestion {
    /// Nothing to ask.
    #[default]
    Silent,
    /// Ask with the person's next prompt.
    Due {
        /// When the hand-over happens by itself.
        until: Option<Stamp>,
    },
    /// Claude was told to ask.
    Put {
        /// When the hand-over happens by itself.
        until: Option<Stamp>,
    },
    /// Snoozed.
    Snoozed {
        /// When to ask again.
        until: Stamp,
    },
    /// Dismissed for this conversation.
    Dismissed,
}

impl HandoverQuestion {
    /// There is nothing to ask any more.
    pub(super) fn withdraw(&mut self) {
        if matches!(self, HandoverQuestion::Due { .. } | HandoverQuestion::Put { .. }) {
            *self = HandoverQuestion::Silent;
        }
    }

    /// The answer that an earlier host of this conversation got still holds; a snooze for `left` ms.
    pub(super) fn restore(&mut self, now: Stamp, answer: AskAnswer, left: u64, restart: &Restart) {
        *self = match answer {
            AskAnswer::Yes => return,
            AskAnswer::Snooze => {
                HandoverQuestion::Snoozed { until: now.after(left.min(restart.snooze.ms())) }
            }
            AskAnswer::Dismiss => HandoverQuestion::Dismissed,
        };
    }

    /// When it is asked again, or answers itself.
    pub(super) fn deadline(self) -> Option<Stamp> {
        match self {
            HandoverQuestion::Due { until } | HandoverQuestion::Put { until } => until,
            HandoverQuestion::Snoozed { until } => Some(until),
            HandoverQuestion::Silent | HandoverQuestion::Dismissed => None,
        }
    }
}

impl Supervisor {
    /// The window is almost full. In the middle of a turn Claude would compact before a question could be
    /// put, so the default applies now.
    pub(super) fn ask_late(&mut self, step: &mut EventStep<'_>) {
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

    /// The answer has come: from the question that Claude put, or from `hopty handoff snooze` and `dismiss`.
    pub(super) fn ask_answered(&mut self, step: &mut EventStep<'_>, answer: AskAnswer) {
        if self.policy.agent != Agent::Claude {
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

    /// A person agrees to a hand-over.
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

    /// `hopty handoff snooze` without a pending question: no context level hands over for a while. Only if
    /// Claude is about to compact in a tool loop, a hand-over still comes first.
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

    /// After every event: the question's time may be up.
    pub(super) fn tick_ask(&mut self, step: &mut EventStep<'_>) {
        let question = self.conversation.question;
        if self.phase != Phase::Running || question.deadline().is_none_or(|until| step.now < until) {
            return;
        }
        let snoozed = self.conversation.is_snoozed(&self.policy);
        self.conversation.question = HandoverQuestion::Silent;
        if !matches!(question, HandoverQuestion::Snoozed { .. }) {
            self.level_request(step, self.level());
            // The question itself blocks every other safe point; nothing else runs behind it.
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

#[cfg(test)]
mod tests {
    use super::super::tests::span;
    use super::*;

    #[test]
    fn a_snooze_of_an_earlier_host_lasts_no_longer_than_a_new_one() {
        let restart = Restart { snooze: span(100), ..Restart::default() };
        let mut question = HandoverQuestion::Silent;
        question.restore(Stamp(5), AskAnswer::Yes, 50, &restart);
        assert_eq!(question, HandoverQuestion::Silent);
        for (left, until) in [(50, 55), (5000, 105)] {
            question.restore(Stamp(5), AskAnswer::Snooze, left, &restart);
            assert_eq!(question.deadline(), Some(Stamp(until)));
            question.withdraw();
            assert_eq!(question.deadline(), Some(Stamp(until)), "only what is asked is withdrawn");
        }
        question = HandoverQuestion::Due { until: None };
        question.withdraw();
        assert_eq!(question, HandoverQuestion::Silent);
    }
}
