//! Mode `ask`: a person is asked before a hand-over.
//!
//! Above level `ask`, hopty tells Claude with the person's next prompt to ask the question, and reads the
//! answer from the hook that follows. The question blocks the turn until it is answered or
//! `restart.ask_timeout` ends; then hopty hands over, or with `restart.ask_default = "nothing"` goes on
//! asking. If no hook can carry the question, there is only a notice.

use serde::{Deserialize, Serialize};

use crate::core::config::Restart;
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

    /// Claude was told to ask, but did not read it.
    pub(super) fn put_again(&mut self) {
        if let HandoverQuestion::Put { until } = *self {
            *self = HandoverQuestion::Due { until };
        }
    }

    /// Restores the answer to an earlier host of this conversation; a snooze still lasts `left` ms.
    pub(super) fn restore(&mut self, now: Stamp, answer: AskAnswer, left: u64, restart: &Restart) {
        *self = match answer {
            AskAnswer::Yes => return,
            AskAnswer::Snooze => {
                HandoverQuestion::Snoozed { until: now.after(left.min(restart.snooze.ms())) }
            }
            AskAnswer::Dismiss => HandoverQuestion::Dismissed,
        };
    }

    /// When it is asked again, or the default answer applies.
    pub(super) fn deadline(self) -> Option<Stamp> {
        match self {
            HandoverQuestion::Due { until } | HandoverQuestion::Put { until } => until,
            HandoverQuestion::Snoozed { until } => Some(until),
            HandoverQuestion::Silent | HandoverQuestion::Dismissed => None,
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
