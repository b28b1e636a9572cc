use serde::{Deserialize, Serialize};

use super::action::DecisionKind;
use super::restart_request::SignalReport;
use super::step::EventStep;
use crate::core::claude::carry_over::CarryMethod;
use crate::core::ids::ConversationId;
use crate::core::time::Stamp;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SessionFacts {
    /// The number of the run, 0 before the first.
    pub(super) runs: u32,
    /// Another working directory than the session's first, if a restart was requested there.
    pub(super) dir: Option<String>,
    /// An unused id for the next conversation.
    pub(super) next: Option<ConversationId>,
    /// People were told that no hook runs.
    hooks_missed: bool,
    /// An orchestrator's file says that the task is completed.
    pub(super) completed: bool,
    /// A prompt was submitted in some conversation, so the prompt in the person's arguments is no longer the
    /// first.
    pub(super) prompted: bool,
    /// How the first prompt in the person's arguments can be carried to a fresh conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) argument: Option<CarryMethod>,
    /// It cannot be carried: it is a slash command, or cannot be repeated exactly.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) command: bool,
    /// The person's last Ctrl+C, and the journal line.
    pub(super) interrupt: Option<(Stamp, u64)>,
    /// The exit code of the last run.
    pub(super) last_code: u8,
    /// A signal file that arrived while Claude did not run, and the conversation at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) late_signal: Option<(Option<ConversationId>, SignalReport)>,
}

impl SessionFacts {
    pub(super) fn begin_run(&mut self, step: &mut EventStep<'_>) {
        self.runs += 1;
        step.run = self.runs;
    }

    /// The run that was about to start is held: takes it back.
    pub(super) fn take_run_back(&mut self, step: &mut EventStep<'_>) {
        self.runs -= 1;
        step.run = self.runs;
    }

    /// Whether Ctrl+C was pressed after this journal line. Times do not decide it: two events may share a
    /// millisecond.
    pub(super) fn interrupted_after(&self, line: u64) -> bool {
        self.interrupt.is_some_and(|(_, seq)| seq > line)
    }

    /// Whether the event of this journal line is a Ctrl+C.
    pub(super) fn interrupted_at(&self, line: u64) -> bool {
        self.interrupt.is_some_and(|(_, seq)| seq == line)
    }

    /// A turn runs and no hook has run although hopty gave Claude its hooks: something disables them that
    /// could not be detected before the start. Reports it once.
    pub(super) fn miss_hooks(&mut self, step: &mut EventStep<'_>) {
        if !self.hooks_missed {
            self.hooks_missed = true;
            let text = "Claude calls none of hopty's hooks, so hopty follows its files, and a hand-over \
                        waits for the end of a turn.";
            step.tell(DecisionKind::Degraded, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_name_the_run_that_has_begun_and_missing_hooks_are_told_once() {
        let (mut session, mut out) = (SessionFacts::default(), Vec::new());
        let mut step = EventStep::new(Stamp(0), 1, session.runs, &mut out);
        session.begin_run(&mut step);
        session.begin_run(&mut step);
        session.take_run_back(&mut step);
        assert_eq!((session.runs, step.run), (1, 1));
        session.miss_hooks(&mut step);
        session.miss_hooks(&mut step);
        assert_eq!(out.len(), 2, "a decision and its notice: {out:?}");
    }

    #[test]
    fn a_ctrl_c_is_told_from_an_earlier_one_by_its_line() {
        let session = SessionFacts { interrupt: Some((Stamp(5), 9)), ..SessionFacts::default() };
        assert!(session.interrupted_after(8) && !session.interrupted_after(9));
        assert!(session.interrupted_at(9) && !session.interrupted_at(8));
    }
}
