//! The laws of usage limits and API errors: nothing is typed or handed over too early, too often, or against
//! a person.

use super::super::Supervisor;
use super::super::action::{Action, DecisionKind};
use super::super::event::{Event, HookEvent, KeyClass};
use super::super::limit_and_error_wait::{ResumeAfter, retries_most};
use super::super::phase::Phase;
use super::super::policy::Policy;
use crate::core::ids::ConversationId;
use crate::core::time::Stamp;

/// What the laws need to know about limits and errors.
#[derive(Clone, Debug, Default)]
pub(super) struct LimitLaws {
    reset: Stamp,
    failed: Stamp,
    /// Attempts to continue after errors since a turn last ended well or an hour passed quietly, and since a
    /// person last typed.
    tries: u32,
    continued: u32,
    /// A person has typed since.
    typed: bool,
}

impl LimitLaws {
    pub fn witness(&mut self, event: &Event, now: Stamp, current: Option<&ConversationId>) {
        match event {
            Event::UsageLimit { conversation, left, .. } if Some(conversation) == current => {
                self.reset = now.after(*left);
                self.typed = false;
            }
            Event::Keys { class, .. } if *class != KeyClass::Report => {
                (self.typed, self.continued) = (true, 0)
            }
            Event::Hook { hook, .. } if !hook.agent && hook.conversation.as_ref() == current => {
                match hook.event {
                    HookEvent::StopFailure => {
                        if now.since(self.failed) > 3_600_000 {
                            self.tries = 0;
                        }
                        (self.failed, self.typed) = (now, false);
                    }
                    HookEvent::Stop => self.tries = 0,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// hopty types its prompt.
    pub fn types_resume_prompt(&mut self, after: ResumeAfter, now: Stamp, policy: &Policy) {
        let c = &policy.config.recovery;
        assert!(!self.typed, "a person was there");
        match after {
            ResumeAfter::Limit => {
                assert!(now >= self.reset.after(c.limit_wait.ms()), "before the limit is over")
            }
            ResumeAfter::Error => {
                assert!(now >= self.failed.after(c.retry_pause.ms()), "without a pause");
                (self.tries, self.continued) = (self.tries + 1, self.continued + 1);
                let most = if policy.is_previous_release() { self.tries } else { self.continued };
                assert!(most <= retries_most(policy), "for ever");
            }
        }
    }

    /// No hand-over begins during a limit wait, unless a person wants it at once.
    pub fn check(sup: &Supervisor, before: &Phase, out: &[Action]) {
        let began = out.iter().any(
            |a| matches!(a, Action::Decide { decision } if decision.kind == DecisionKind::SafePointReached),
        );
        let forced = match (sup.phase(), before) {
            (Phase::Saving { request, .. }, _) | (_, Phase::Waiting { request }) => request.forced,
            _ => true,
        };
        assert!(
            !began || forced || sup.limit().is_none(),
            "a hand-over begins while {:?} is waited for",
            sup.limit()
        );
    }
}
