//! The supervisor's state as a short name.

use super::super::paste_and_enter::SubmissionStep;
use super::super::phase::Phase;
use super::super::prompt_delivery::PromptDelivery;
use super::world::World;

impl World {
    /// A name for the supervisor's state, finer than the phase.
    pub fn place(&self) -> String {
        match self.sup.phase() {
            Phase::Saving { point, step, .. } => {
                let point = format!("{point:?}");
                format!("saving {} {step:?}", point.split(' ').next().unwrap_or_default())
            }
            Phase::Stopping { why, step } => {
                let (why, step) = (format!("{why:?}"), format!("{step:?}"));
                let first = |text: &str| text.split([' ', '{']).next().unwrap_or_default().to_owned();
                format!("stopping {} {}", first(&why), first(&step))
            }
            Phase::Delivering(PromptDelivery { submission, .. }) => match submission.step {
                SubmissionStep::Ready { .. } => "delivering Ready".to_owned(),
                SubmissionStep::Echo => "delivering Echo".to_owned(),
                SubmissionStep::Enter { .. } => "delivering Enter".to_owned(),
            },
            Phase::Closed { cause, .. } => format!("closed {cause:?}"),
            phase => phase.word().to_owned(),
        }
    }
}
