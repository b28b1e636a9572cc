//! Why a session is as it is, in one sentence: the last decision that explains something; during a hand-over
//! where it stands, and after it what it led to.

use super::context::Fill;
use super::supervisor::action::{Decision, DecisionKind, RestartBy};
use super::supervisor::handover_step::HandoverStep;

/// The last decision in words, and what is known of the hand-over that it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    sentence: String,
    /// What requested the last hand-over, once it was requested.
    by: Option<RestartBy>,
    /// Context usage at the safe point, and who wanted the hand-over: `at 90 %, as requested`.
    occasion: Option<String>,
}

impl Explanation {
    /// Takes a decision, with the context usage at that moment. `restored`: the session goes on with the
    /// conversation of one that died.
    pub fn take(&mut self, decision: &Decision, fill: Fill, restored: bool) {
        match decision.kind {
            DecisionKind::RestartRequested => self.by = decision.by,
            DecisionKind::SafePointReached => self.occasion = Some(occasion(fill, self.by)),
            _ => {}
        }
        if !decision.kind.explains() {
            return;
        }
        self.sentence = match (decision.kind, &self.occasion, &decision.handoff) {
            (DecisionKind::SessionStarted, ..) if restored => {
                "The session died, and `hopty restore` resumed its conversation.".to_owned()
            }
            (DecisionKind::HandoffConsumed, Some(occasion), _) => {
                format!("Handed over {occasion}; the fresh conversation has answered.")
            }
            (DecisionKind::HandoffConsumed, None, Some(handoff)) => {
                format!("The conversation continued from handoff {handoff} and has answered.")
            }
            _ => decision.sentence.clone(),
        };
    }

    /// The last decision that explains something, as it was made or as it ended a hand-over.
    #[must_use]
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// The explanation now; `step` is where a hand-over stands.
    #[must_use]
    pub fn words(&self, step: Option<&HandoverStep>) -> String {
        match (step, &self.occasion) {
            (None, _) => self.sentence.clone(),
            (Some(step), None) => format!("Continuing from a handoff: {}.", step.words()),
            (Some(step), Some(occasion)) if step.is_done() => {
                format!("Handed over {occasion}; {}.", step.words())
            }
            (Some(step), Some(occasion)) => format!("Handing over {occasion}: {}.", step.words()),
        }
    }
}

fn occasion(fill: Fill, by: Option<RestartBy>) -> String {
    let usage = match fill.window {
        0 => format!("at {} KiB of transcript", fill.bytes / 1024),
        _ => format!("at {} %", fill.percent()),
    };
    let who = match by {
        Some(RestartBy::Command) => ", as requested",
        Some(RestartBy::Signal) => ", as a signal file requested",
        Some(RestartBy::Level) | None => "",
    };
    format!("{usage}{who}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Fill = Fill { tokens: 90_000, window: 100_000, bytes: 2048 };

    fn decision(kind: DecisionKind, by: Option<RestartBy>) -> Decision {
        Decision {
            kind,
            run: 1,
            by,
            level: None,
            handoff: Some("HO-20261120-142950-c74cc080".parse().unwrap()),
            conversation: None,
            cause: None,
            sentence: format!("Decided {kind:?}."),
            because: Vec::new(),
        }
    }

    fn after(steps: &[(DecisionKind, Option<RestartBy>)], fill: Fill) -> Explanation {
        let mut explanation = Explanation::default();
        for (kind, by) in steps {
            explanation.take(&decision(*kind, *by), fill, false);
        }
        explanation
    }

    #[test]
    fn a_hand_over_is_explained_from_its_safe_point_to_its_answer() {
        use DecisionKind as K;
        let level = Some(RestartBy::Level);
        let requested = after(&[(K::RestartRequested, level)], HALF);
        assert_eq!(requested.words(None), "Decided RestartRequested.");
        let saved = after(&[(K::RestartRequested, level), (K::SafePointReached, level)], HALF);
        assert_eq!(
            saved.words(Some(&HandoverStep::Saving)),
            "Handing over at 90 %: hopty saves the handoff."
        );
        let dialog = HandoverStep::Delivering { dialog: Some("trust".to_owned()) };
        assert_eq!(
            saved.words(Some(&dialog)),
            "Handing over at 90 %: Claude shows a dialog (trust), and hopty types the prompt once you answer it."
        );
        assert_eq!(
            saved.words(Some(&HandoverStep::Unanswered)),
            "Handed over at 90 %; the fresh conversation has its prompt and has not answered yet."
        );
        let steps = [(K::RestartRequested, level), (K::SafePointReached, level), (K::HandoffConsumed, None)];
        assert_eq!(
            after(&steps, HALF).words(None),
            "Handed over at 90 %; the fresh conversation has answered."
        );
    }

    #[test]
    fn who_wanted_it_is_told_and_a_size_where_no_window_is_known() {
        use DecisionKind as K;
        let told = |by, fill| {
            after(&[(K::RestartRequested, by), (K::SafePointReached, by), (K::HandoffConsumed, None)], fill)
                .words(None)
        };
        let answered = "; the fresh conversation has answered.";
        let command = told(Some(RestartBy::Command), HALF);
        assert_eq!(command, format!("Handed over at 90 %, as requested{answered}"));
        let signal = told(Some(RestartBy::Signal), Fill { window: 0, ..HALF });
        assert_eq!(
            signal,
            format!("Handed over at 2 KiB of transcript, as a signal file requested{answered}")
        );
        assert_eq!(
            after(&[(K::HandoffConsumed, None)], HALF).words(None),
            "The conversation continued from handoff HO-20261120-142950-c74cc080 and has answered."
        );
    }

    #[test]
    fn what_explains_nothing_changes_nothing_and_a_restored_session_says_so() {
        use DecisionKind as K;
        let steps = [(K::SessionStarted, None), (K::ClientAttached, None)];
        assert_eq!(after(&steps, HALF).words(None), "Decided SessionStarted.");
        let mut restored = Explanation::default();
        restored.take(&decision(K::SessionStarted, None), HALF, true);
        assert!(restored.sentence().contains("`hopty restore` resumed"), "{restored:?}");
    }
}
