//! How the turn stands: who began it, whether it is over, and the API error that it stands at.

use crate::core::claude::transcript_line::{ApiFailure, Assistant};

/// How the turn stands.
#[derive(Clone, Debug, Default)]
pub struct TurnState {
    over: bool,
    /// A prompt of the person began it, not a notification.
    is_prompted: bool,
    awaits_answer: bool,
    /// So many of the newest prompts came out of the queue while Claude worked, and have no answer yet.
    cut_in: usize,
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

    /// Whether Claude has not begun to answer the newest prompt.
    pub fn awaits_answer(&self) -> bool {
        self.awaits_answer
    }

    /// Whether the conversation has any prompt.
    pub fn has_prompt(&self) -> bool {
        self.has_prompt
    }

    /// The API error or limit that the conversation stands at; `None` as soon as an answer came after it.
    pub fn failure(&self) -> Option<&ApiFailure> {
        self.failure.as_ref()
    }

    /// How many there were in all, so that the same one twice is seen.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Whether a prompt began it. A turn that a notification began answers no prompt.
    pub(super) fn is_prompted(&self) -> bool {
        self.is_prompted
    }

    /// Claude wrote a line.
    pub(super) fn take_message(&mut self, line: &Assistant) {
        self.over = line.synthetic
            || matches!(line.stop_reason.as_deref(), Some("end_turn" | "stop_sequence" | "refusal"));
        if line.synthetic {
            self.failure = line.failure.clone();
            self.failures += 1;
            return;
        }
        self.failure = None;
        (self.awaits_answer, self.cut_in) = (false, 0);
    }

    /// A prompt comes: whether Claude takes it into the turn that runs. After Esc Claude writes the prompts
    /// of its queue first, and only then that the call was cut (measured on 2.1.332).
    pub(super) fn cuts_in(&mut self, is_queued: bool) -> bool {
        let cuts_in = is_queued && self.has_prompt && !self.over && (self.cut_in > 0 || !self.awaits_answer);
        self.cut_in = if cuts_in { self.cut_in + 1 } else { 0 };
        cuts_in
    }

    /// The next turn begins, or this one goes on with results of tools.
    pub(super) fn go_on(&mut self) {
        self.over = false;
    }

    /// It goes on with a prompt.
    pub(super) fn take_prompt(&mut self) {
        (self.has_prompt, self.is_prompted) = (true, true);
    }

    /// The prompt says something that Claude is to answer, unless it has already.
    pub(super) fn await_answer(&mut self, is_answered: bool) {
        self.awaits_answer = !is_answered;
    }

    /// It goes on with a notification.
    pub(super) fn take_notification(&mut self) {
        self.is_prompted = false;
    }

    /// The person stopped Claude, in its newest message or before that. Says which prompt is not finished, as
    /// the number of those after it that wait; `None`: none.
    pub(super) fn interrupt(&mut self, in_newest_message: bool) -> Option<usize> {
        // What was stopped is what Claude did before these prompts, and it goes on with them.
        let waiting = if in_newest_message && self.awaits_answer { self.cut_in } else { 0 };
        let stopped = (!self.over && self.is_prompted).then_some(waiting);
        self.over = waiting == 0;
        // Stopped again, it is them.
        self.cut_in = 0;
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
        let cuts_in = turn.cuts_in(is_queued);
        if !cuts_in {
            turn.go_on();
        }
        turn.take_prompt();
        turn.await_answer(false);
        cuts_in
    }

    #[test]
    fn it_is_over_with_its_last_message_until_something_begins_the_next() {
        let mut turn = TurnState::default();
        prompt(&mut turn, false);
        assert!(turn.awaits_answer() && turn.has_prompt() && turn.is_prompted() && !turn.is_over());
        turn.take_message(&message("tool_use", None));
        assert!(!turn.awaits_answer() && !turn.is_over());
        turn.go_on();
        turn.take_message(&message("end_turn", None));
        assert!(turn.is_over());
        turn.go_on();
        turn.take_notification();
        assert!(!turn.is_over() && !turn.is_prompted());
    }

    #[test]
    fn a_failure_ends_it_and_stands_until_an_answer() {
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
        assert!(!turn.is_over());
        assert_eq!((turn.interrupt(true), turn.is_over()), (Some(0), true), "stopped again");
        assert_eq!(turn.interrupt(true), None, "it is over");
        turn.go_on();
        turn.take_notification();
        assert_eq!(turn.interrupt(true), None, "no prompt began it");
    }
}
