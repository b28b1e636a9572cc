//! Recording decisions, each as a complete sentence with the journal lines that it is based on.

use super::Supervisor;
use super::action::{Action, Decision, DecisionKind};
use super::phase::{EndCause, Phase};
use super::run::RunState;
use crate::core::handoff::redact::redact;
use crate::core::time::Stamp;

impl Supervisor {
    pub(super) fn decide(
        &self,
        out: &mut Vec<Action>,
        kind: DecisionKind,
        sentence: String,
        because: &[u64],
        more: impl FnOnce(&mut Decision),
    ) {
        let mut decision = Decision {
            kind,
            run: self.session.runs,
            by: None,
            level: None,
            handoff: None,
            conversation: None,
            cause: None,
            // Reasons and error messages come from outside.
            sentence: redact(&sentence),
            because: because.iter().copied().filter(|seq| *seq > 0).collect(),
        };
        more(&mut decision);
        out.push(Action::Decide { decision });
    }

    /// A decision that is also sent to the clients.
    pub(super) fn tell(
        &self,
        out: &mut Vec<Action>,
        about: DecisionKind,
        text: String,
        because: &[u64],
        more: impl FnOnce(&mut Decision),
    ) {
        self.decide(out, about, text.clone(), because, more);
        out.push(Action::Notice { about, text });
    }

    pub(super) fn close(
        &mut self,
        now: Stamp,
        cause: EndCause,
        code: u8,
        mut sentence: String,
        because: &[u64],
        out: &mut Vec<Action>,
    ) {
        self.submit_closes(out);
        if let Some(id) = &self.handoffs.active {
            sentence.push_str(&format!(" Handoff {id} is waiting: `hopty --handoff` continues it."));
        }
        let sentence = self.naming_unfinished(sentence);
        let handoff = self.handoffs.active.clone();
        self.decide(out, DecisionKind::SessionEnded, sentence, because, |d| {
            d.cause = Some(cause);
            d.handoff = handoff;
        });
        out.push(Action::Close { cause, code });
        self.run = RunState::default();
        self.conversation.limit_wait = None;
        self.enter(now, Phase::Closed { cause, code });
    }
}
