//! One step of the supervisor: its time, the event's journal line, and the actions so far. Decisions are
//! recorded here, each as a complete sentence with the journal lines that it is based on.

use super::action::{Action, Decision, DecisionKind, HookAnswer, Refusal, Reply, RestartBy, Typing};
use super::phase::EndCause;
use crate::core::context_level::Level;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::redact::redact;
use crate::core::time::Stamp;

/// One step, passed to every part that handles the event.
#[derive(Debug)]
pub(super) struct EventStep<'a> {
    pub(super) now: Stamp,
    /// The journal line of the event.
    pub(super) line: u64,
    /// The number of the run that decisions are about.
    pub(super) run: u32,
    out: &'a mut Vec<Action>,
}

impl<'a> EventStep<'a> {
    pub(super) fn new(now: Stamp, line: u64, run: u32, out: &'a mut Vec<Action>) -> Self {
        EventStep { now, line, run, out }
    }

    pub(super) fn act(&mut self, action: Action) {
        self.out.push(action);
    }

    /// Records a decision that the event caused.
    pub(super) fn decide(&mut self, kind: DecisionKind, sentence: impl Into<String>) -> NewDecision<'_> {
        let decision = Decision {
            kind,
            run: self.run,
            by: None,
            level: None,
            handoff: None,
            conversation: None,
            cause: None,
            held: false,
            // Reasons and error messages come from outside.
            sentence: redact(&sentence.into()),
            because: vec![self.line],
        };
        let at = self.out.len();
        self.out.push(Action::Decide { decision });
        NewDecision { action: &mut self.out[at] }
    }

    /// Records a decision and sends it to the clients.
    pub(super) fn tell(&mut self, about: DecisionKind, text: impl Into<String>) -> NewDecision<'_> {
        let text = text.into();
        let at = self.out.len();
        self.decide(about, text.clone());
        self.notice(about, text);
        NewDecision { action: &mut self.out[at] }
    }

    /// Sends every client a notice.
    pub(super) fn notice(&mut self, about: DecisionKind, text: impl Into<String>) {
        self.act(Action::Notice { about, text: text.into() });
    }

    /// Answers a hook call.
    pub(super) fn answer(&mut self, id: u64, with: HookAnswer) {
        self.act(Action::AnswerHook { id, with });
    }

    /// Answers a request of the socket.
    pub(super) fn reply(&mut self, id: u64, with: Reply) {
        self.act(Action::Reply { id, with });
    }

    /// Refuses a request of the socket.
    pub(super) fn refuse(&mut self, id: u64, refusal: impl Into<Refusal>) {
        self.reply(id, Reply::Refused(refusal.into()));
    }

    pub(super) fn type_in(&mut self, typing: Typing) {
        self.act(Action::Type { typing });
    }
}

/// A decision that was just recorded and can be completed.
pub(super) struct NewDecision<'a> {
    action: &'a mut Action,
}

impl NewDecision<'_> {
    fn complete(self, more: impl FnOnce(&mut Decision)) -> Self {
        if let Action::Decide { decision } = &mut *self.action {
            more(decision);
        }
        self
    }

    pub(super) fn by(self, by: RestartBy) -> Self {
        self.complete(|decision| decision.by = Some(by))
    }

    pub(super) fn level(self, level: impl Into<Option<Level>>) -> Self {
        self.complete(|decision| decision.level = level.into())
    }

    pub(super) fn handoff(self, handoff: impl Into<Option<HandoffId>>) -> Self {
        self.complete(|decision| decision.handoff = handoff.into())
    }

    pub(super) fn conversation(self, conversation: impl Into<Option<ConversationId>>) -> Self {
        self.complete(|decision| decision.conversation = conversation.into())
    }

    pub(super) fn cause(self, cause: EndCause) -> Self {
        self.complete(|decision| decision.cause = Some(cause))
    }

    pub(super) fn held(self, held: bool) -> Self {
        self.complete(|decision| decision.held = held)
    }

    /// Adds a journal line to its reasons.
    pub(super) fn also(self, line: u64) -> Self {
        self.complete(|decision| decision.because.push(line))
    }

    /// Adds a person's Ctrl+C to its reasons.
    pub(super) fn after(self, interrupt: Option<u64>) -> Self {
        self.complete(|decision| drop(decision.because.splice(..0, interrupt)))
    }

    /// Replaces its reasons with these journal lines; 0 means none.
    pub(super) fn because(self, lines: &[u64]) -> Self {
        let lines = lines.iter().copied().filter(|line| *line > 0);
        self.complete(|decision| decision.because = lines.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_names_its_lines_and_is_recorded_before_its_notice() {
        let mut out = vec![Action::HoldKeys];
        let mut step = EventStep::new(Stamp(5), 7, 2, &mut out);
        step.tell(DecisionKind::RestartIgnored, "Snoozed.").by(RestartBy::Level).also(3);
        step.decide(DecisionKind::RunEnded, "Run 2 ended.").after(Some(4));
        let [Action::HoldKeys, Action::Decide { decision }, Action::Notice { text, .. }, last] = &out[..]
        else {
            panic!("{out:?}")
        };
        assert_eq!(
            (decision.run, decision.by, &decision.because[..]),
            (2, Some(RestartBy::Level), &[7, 3][..])
        );
        assert_eq!((&decision.sentence, text), (&"Snoozed.".to_owned(), text));
        assert!(matches!(last, Action::Decide { decision } if decision.because == [4, 7]), "{last:?}");
    }
}
