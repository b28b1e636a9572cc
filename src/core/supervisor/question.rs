//! Mode `ask`: a person is asked before a hand-over.
//!
//! Above level `ask`, hopty tells Claude with the person's next prompt to put the question, and reads the
//! answer from the hook that follows. The question blocks the turn until it is answered or
//! `restart.ask_timeout` hands over by itself; if the default answer is to do nothing
//! (`restart.ask_default`), it stays. If no hook can carry the question, there is only a notice.

use serde::{Deserialize, Serialize};

use super::action::{Action, DecisionKind, HookAnswer, HookInstruction, RestartBy};
use super::phase::{Phase, RestartRequest};
use super::step::EventStep;
use super::{Agent, Supervisor, Turn};
use crate::core::config::{AskDefault, RestartMode};
use crate::core::context::Level;
use crate::core::time::Stamp;

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

impl Supervisor {
    /// The context usage is above level `ask`.
    pub(super) fn ask_is_due(&mut self, step: &mut EventStep<'_>) {
        if self.conversation.question != HandoverQuestion::Silent || self.phase != Phase::Running {
            return;
        }
        let c = &self.policy.config.restart;
        let until = (c.ask_default == AskDefault::Handoff).then(|| step.now.after(c.ask_timeout.ms()));
        let after = match until {
            Some(_) => format!("; without an answer, hopty does it in {}", c.ask_timeout),
            None => String::new(),
        };
        let ways = match self.policy.config.terminal.prefix {
            prefix if prefix.byte().is_some() => {
                format!("{prefix} r does it now, {prefix} s asks you again later")
            }
            _ => "`hopty restart` does it now, `hopty handoff snooze` asks you again later".to_owned(),
        };
        self.conversation.question = HandoverQuestion::Due { until };
        let text = format!("{}. Hand over to a fresh conversation? {ways}{after}.", self.fill_words());
        // Clients get a notice, and Claude shows it with the answer to the next hook.
        self.conversation.word = Some(text.clone());
        step.notice(DecisionKind::LevelCrossed, text);
    }

    /// The window is almost full. In the middle of a turn Claude would compact before a question could be
    /// put, so the default applies now.
    pub(super) fn ask_late(&mut self, step: &mut EventStep<'_>) {
        let unasked =
            matches!(self.conversation.question, HandoverQuestion::Silent | HandoverQuestion::Due { .. })
                && self.phase == Phase::Running;
        if unasked
            && self.run.turn.state == Turn::Busy
            && self.policy.config.restart.ask_default == AskDefault::Handoff
        {
            self.conversation.question = HandoverQuestion::Silent;
            self.level_request(step, Level::Hard);
        } else {
            self.ask_is_due(step);
        }
    }

    /// A person has typed a prompt, so they are present: the answer to this hook may carry the question.
    pub(super) fn put_question(&mut self, now: Stamp) -> Option<HookAnswer> {
        let HandoverQuestion::Due { until } = self.conversation.question else { return None };
        // Before rules had versions, the question was not put if only an answer could end it.
        if until.is_none() && self.policy.rules == 0 {
            return None;
        }
        if !self.policy.notes || self.phase != Phase::Running {
            return None;
        }
        self.conversation.question = HandoverQuestion::Put {
            until: until.map(|_| now.after(self.policy.config.restart.ask_timeout.ms())),
        };
        self.conversation.word = None;
        Some(HookAnswer::Tell {
            what: HookInstruction::Ask {
                percent: self.conversation.fill.percent(),
                snooze: self.policy.config.restart.snooze,
            },
        })
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
                self.wanted_by_person(step);
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
        self.keep_ask(step);
    }

    fn wanted_by_person(&mut self, step: &mut EventStep<'_>) {
        if self.phase == Phase::Running {
            let request = self.new_request(step.now, RestartBy::Level);
            let request = RestartRequest {
                level: Some(self.level()),
                explicit: true,
                person: true,
                now: true,
                ..request
            };
            self.wait(step, request, "You agreed to a hand-over.");
        }
    }

    /// The answer that an earlier host of this conversation got still holds.
    pub(super) fn ask_was(&mut self, now: Stamp, answer: AskAnswer, left: u64) {
        self.conversation.question = match answer {
            AskAnswer::Yes => return,
            AskAnswer::Snooze => HandoverQuestion::Snoozed {
                until: now.after(left.min(self.policy.config.restart.snooze.ms())),
            },
            AskAnswer::Dismiss => HandoverQuestion::Dismissed,
        };
    }

    pub(super) fn keep_ask(&self, step: &mut EventStep<'_>) {
        let Some(conversation) = self.conversation.id.clone() else { return };
        let (answer, left) = match self.conversation.question {
            HandoverQuestion::Snoozed { until } => (AskAnswer::Snooze, until.since(step.now)),
            HandoverQuestion::Dismissed => (AskAnswer::Dismiss, 0),
            _ => return,
        };
        step.act(Action::KeepAsk { conversation, answer, left });
    }

    /// After every event: the question's time may be up.
    pub(super) fn tick_ask(&mut self, step: &mut EventStep<'_>) {
        if self.phase != Phase::Running {
            return;
        }
        match self.conversation.question {
            HandoverQuestion::Due { until: Some(until) } | HandoverQuestion::Put { until: Some(until) }
                if step.now >= until =>
            {
                let put = matches!(self.conversation.question, HandoverQuestion::Put { .. });
                self.conversation.question = HandoverQuestion::Silent;
                self.level_request(step, self.level());
                // The question itself blocks every other safe point; nothing else runs behind it.
                let stands = put && self.run.hooks.asking.as_deref() == Some("question");
                if let Phase::Waiting { request } = &mut self.phase {
                    request.forced |= stands;
                }
            }
            HandoverQuestion::Snoozed { until } if step.now >= until => {
                let snoozed = self.is_snoozed();
                self.conversation.question = HandoverQuestion::Silent;
                if !snoozed && self.level() >= Level::Ask {
                    self.ask_is_due(step);
                } else if self.policy.config.restart.mode == RestartMode::Auto
                    && self.level() >= Level::Handoff
                {
                    self.level_request(step, self.level());
                }
            }
            _ => {}
        }
    }

    /// When [`Supervisor::tick_ask`] has something to do.
    pub(super) fn ask_deadline(&self) -> Option<Stamp> {
        match self.conversation.question {
            HandoverQuestion::Due { until } | HandoverQuestion::Put { until } => until,
            HandoverQuestion::Snoozed { until } => Some(until),
            HandoverQuestion::Silent | HandoverQuestion::Dismissed => None,
        }
    }
}
