//! The state of the turn: what began it, whether it is over, and the API error at its end.

use crate::core::claude::transcript_line::{ApiFailure, Assistant};

#[derive(Clone, Debug, Default)]
pub struct TurnState {
    over: bool,
    /// The person stopped it, and nothing has followed.
    interrupted: bool,
    /// The person's prompt began it, not a notification.
    is_prompted: bool,
    awaits_answer: bool,
    /// How many of the newest prompts came from the queue while Claude worked, and have no answer yet.
    queued_in: usize,
    /// A prompt was read.
    has_prompt: bool,
    failure: Option<ApiFailure>,
    failures: u64,
}

impl TurnState {
    /// Whether Claude has ended it.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the person stopped it before its end, or refused a tool, and Claude waits for a prompt.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Whether Claude has not begun to answer the newest prompt.
    pub fn awaits_answer(&self) -> bool {
        self.awaits_answer
    }

    /// Whether the conversation has a prompt.
    pub fn has_prompt(&self) -> bool {
        self.has_prompt
    }

    /// The API error or limit at which the conversation is; `None` as soon as an answer follows.
    pub fn failure(&self) -> Option<&ApiFailure> {
        self.failure.as_ref()
    }

    /// How many there were in all, to notice a repetition of the same one.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Whether a prompt began it. A turn that a notification began answers no prompt.
    pub(super) fn is_prompted(&self) -> bool {
        self.is_prompted
    }

    pub(super) fn take_message(&mut self, line: &Assistant) {
        self.interrupted = false;
        self.over = line.synthetic
            || matches!(line.stop_reason.as_deref(), Some("end_turn" | "stop_sequence" | "refusal"));
        if line.synthetic {
            self.failure = line.failure.clone();
            self.failures += 1;
            return;
        }
        self.failure = None;
        (self.awaits_answer, self.queued_in) = (false, 0);
    }

    /// Returns whether Claude takes a prompt into the running turn. After Esc Claude first writes the prompts
    /// of its queue, and only then that the call was cancelled (measured on 2.1.332).
    pub(super) fn joins_turn(&mut self, is_queued: bool) -> bool {
        let joins_turn =
            is_queued && self.has_prompt && !self.over && (self.queued_in > 0 || !self.awaits_answer);
        self.queued_in = if joins_turn { self.queued_in + 1 } else { 0 };
        joins_turn
    }

    /// The next turn begins, or this one continues with the results of tools.
    pub(super) fn resume(&mut self) {
        (self.over, self.interrupted) = (false, false);
    }

    pub(super) fn take_prompt(&mut self) {
        (self.has_prompt, self.is_prompted) = (true, true);
    }

    /// The prompt asks for an answer, unless it already has one.
    pub(super) fn await_answer(&mut self, is_answered: bool) {
        self.awaits_answer = !is_answered;
    }

    pub(super) fn take_notification(&mut self) {
        self.is_prompted = false;
    }

    /// The person stopped Claude. Returns which prompt is unfinished, as the number of waiting prompts after
    /// it; `None` if none is.
    pub(super) fn interrupt(&mut self, in_newest_message: bool) -> Option<usize> {
        // Claude stopped what it did before these prompts, and continues with them.
        let waiting = if in_newest_message && self.awaits_answer { self.queued_in } else { 0 };
        let stopped = (!self.over && self.is_prompted).then_some(waiting);
        self.interrupted |= !self.over && waiting == 0;
        self.over = waiting == 0;
        // The next stop is meant for them.
        self.queued_in = 0;
        stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(stop: &str, failure: Option<ApiFailure>) -> Assistant {
        let synthetic = failure.is_some();
        Assistant { stop_reason: Some(stop.into()), synthetic, failure, ..Assistant::default() }
    }

    fn prompt(turn: &mut TurnState, is_queued: bool) -> bool {
        let joins_turn = turn.joins_turn(is_queued);
        if !joins_turn {
            turn.resume();
        }
        turn.take_prompt();
        turn.await_answer(false);
        joins_turn
    }

    #[test]
    fn it_is_over_with_its_last_message_until_something_begins_the_next() {
        let mut turn = TurnState::default();
        prompt(&mut turn, false);
        assert!(turn.awaits_answer() && turn.has_prompt() && turn.is_prompted() && !turn.is_over());
        turn.take_message(&message("tool_use", None));
        assert!(!turn.awaits_answer() && !turn.is_over());
        turn.resume();
        turn.take_message(&message("end_turn", None));
        assert!(turn.is_over());
        turn.resume();
        turn.take_notification();
        assert!(!turn.is_over() && !turn.is_prompted());
    }

    #[test]
    fn a_finished_turn_is_not_interrupted() {
        let mut turn = TurnState::default();
        prompt(&mut turn, false);
        turn.take_message(&message("end_turn", None));
        turn.interrupt(false);
        assert!(turn.is_over() && !turn.is_interrupted());
        prompt(&mut turn, false);
        turn.interrupt(false);
        assert!(turn.is_interrupted());
        turn.take_message(&message("end_turn", None));
        assert!(!turn.is_interrupted(), "Claude answers a notification");
    }

    #[test]
    fn a_failure_ends_the_turn_and_stays_until_an_answer() {
        let mut turn = TurnState::default();
        prompt(&mut turn, false);
        let failure = || Some(ApiFailure { error: "rate_limit".into(), ..ApiFailure::default() });
        for count in [1, 2] {
            turn.take_message(&message("", failure()));
            assert_eq!((turn.failure().cloned(), turn.failures()), (failure(), count));
        }
        assert!(turn.is_over() && turn.awaits_answer(), "Claude Code wrote it, not the model");
        turn.take_message(&message("end_turn", None));
        assert_eq!((turn.failure(), turn.failures()), (None, 2));
    }

    #[test]
    fn an_interrupt_stops_what_was_before_the_queued_prompts() {
        let mut turn = TurnState::default();
        assert!(!prompt(&mut turn, true), "no turn runs yet");
        turn.take_message(&message("tool_use", None));
        assert!(prompt(&mut turn, true) && prompt(&mut turn, true));
        let mut elsewhere = turn.clone();
        assert_eq!(elsewhere.interrupt(false), Some(0));
        assert_eq!(turn.interrupt(true), Some(2));
        assert!(!turn.is_over() && !turn.is_interrupted());
        assert_eq!((turn.interrupt(true), turn.is_over()), (Some(0), true), "stopped again");
        assert_eq!(turn.interrupt(true), None, "it is over");
        assert!(turn.is_interrupted());
        turn.resume();
        assert!(!turn.is_interrupted());
        turn.take_notification();
        assert_eq!(turn.interrupt(true), None, "no prompt began it");
    }
}
