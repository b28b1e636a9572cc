//! The progress of a hand-over, for people.

use super::phase::{Phase, RunPlan, StopFor};
use super::prompt_delivery::PromptDelivery;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandoverStep {
    /// The handoff is being saved.
    Saving,
    /// Claude is being ended.
    Ending,
    /// The next run is being started.
    Starting,
    /// The continuation prompt is being delivered.
    Delivering {
        /// The dialog that prevents it from being typed.
        dialog: Option<String>,
    },
    /// The prompt was submitted, and Claude has not answered yet.
    Unanswered,
}

impl HandoverStep {
    /// The step of a session in `phase`; `unanswered`: a conversation was given a handoff and has not
    /// answered yet.
    pub(super) fn of(phase: &Phase, unanswered: bool) -> Option<Self> {
        let hands_over = |plan: &RunPlan| plan.handoff.is_some();
        match phase {
            Phase::Saving { request, .. } if request.handoff => Some(HandoverStep::Saving),
            Phase::Stopping { why: StopFor::Restart { plan, .. }, .. } if hands_over(plan) => {
                Some(HandoverStep::Ending)
            }
            Phase::Spawning { plan, end: None } if hands_over(plan) => Some(HandoverStep::Starting),
            Phase::Delivering(PromptDelivery { obstacle, .. }) => {
                Some(HandoverStep::Delivering { dialog: obstacle.clone() })
            }
            Phase::Running | Phase::Waiting { .. } if unanswered => Some(HandoverStep::Unanswered),
            _ => None,
        }
    }

    /// Whether the fresh conversation has received the work.
    pub fn is_done(&self) -> bool {
        *self == HandoverStep::Unanswered
    }

    /// The step in words, without a full stop.
    pub fn words(&self) -> String {
        match self {
            HandoverStep::Saving => "hopty saves the handoff".to_owned(),
            HandoverStep::Ending => "hopty ends Claude, and a fresh conversation starts next".to_owned(),
            HandoverStep::Starting => "the fresh conversation is starting".to_owned(),
            HandoverStep::Delivering { dialog: None } => {
                "the fresh conversation is about to get its prompt".to_owned()
            }
            HandoverStep::Delivering { dialog: Some(dialog) } => {
                format!("Claude shows a dialog ({dialog}), and hopty types the prompt once you answer it")
            }
            HandoverStep::Unanswered => {
                "the fresh conversation has its prompt and has not answered yet".to_owned()
            }
        }
    }
}
