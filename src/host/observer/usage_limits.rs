//! Usage limits, from the transcript line that says when a limit resets and from the status line. Measured on
//! 2.1.329; the hook at the end of such a turn has no time.

use std::collections::VecDeque;

use serde_json::Value;

use super::Observer;
use crate::core::claude::statusline_payload::LimitUsed;
use crate::core::status_types::{LimitUse, LimitsStatus, ReachedLimit, Rfc3339};
use crate::core::supervisor::Supervisor;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::limit_and_error_wait::{LimitKind, UsageLimitWait};
use crate::core::time::{Stamp, WallTime};
use crate::sys::clock::Clock;

/// How much earlier than the loop's clock expects a limit must reset to be reported again, in ms: that clock
/// stops while the machine sleeps.
const SLEPT_MS: u64 = 5000;

/// The percentage from which a limit counts as used up.
const FULL: u64 = 100;

impl Observer {
    /// Reports the limit that the conversation has reached, once for each line about it.
    pub fn report_limit(&mut self, events: &mut VecDeque<Event>) {
        let reached = self.reached_limit();
        let Some(transcript) = &mut self.transcript else { return };
        let is_new = transcript.take_failure(reached.is_some());
        let Some((limit, resets)) = reached.filter(|_| is_new) else { return };
        let (conversation, left) = (transcript.conversation.clone(), time_left(resets));
        if left > 0 {
            events.push_back(Event::UsageLimit { conversation, limit, left, resets });
        }
    }

    fn reached_limit(&self) -> Option<(LimitKind, u64)> {
        let failure = self.whole_transcript()?.facts.failure_of_request();
        let failure = failure.filter(|failure| failure.error == "rate_limit")?;
        let named = |word: &str| serde_json::from_value(Value::from(word)).unwrap_or(LimitKind::Other);
        if let Some(resets) = failure.resets_at {
            return Some((failure.limit.as_deref().map_or(LimitKind::Other, named), resets));
        }
        // An API key has no such limits: its refusal is an ordinary error. Up to 2.1.197 the line has the
        // limit only in words.
        let kind = LimitKind::named_in(&failure.said);
        let meant = |used: &&LimitUsed| kind.map_or(used.percent >= FULL, |kind| used.kind == kind);
        self.used()
            .iter()
            .filter(meant)
            .map(|used| (used.kind, used.resets))
            .max_by_key(|(_, resets)| *resets)
    }

    fn used(&self) -> &[LimitUsed] {
        self.status_line.as_ref().map_or(&[], |(line, _)| &line.limits)
    }

    /// The `limits` part of the session status. `reached`: the limit that the supervisor waits for.
    pub fn limits(&self, reached: Option<UsageLimitWait>) -> LimitsStatus {
        let resets_at = |seconds: u64| Some(Rfc3339(WallTime::of_seconds(seconds)));
        LimitsStatus {
            reached: reached
                .map(|limit| ReachedLimit { kind: limit.kind.into(), resets_at: resets_at(limit.resets) }),
            five_hour: self.limit_use(LimitKind::FiveHour),
            seven_day: self.limit_use(LimitKind::SevenDay),
        }
    }

    /// The share of a limit that is used up.
    fn limit_use(&self, kind: LimitKind) -> Option<LimitUse> {
        let used = self.used().iter().find(|used| used.kind == kind)?;
        Some(LimitUse { percent: used.percent, resets_at: Some(Rfc3339(WallTime::of_seconds(used.resets))) })
    }
}

/// A limit event for the limit that the supervisor waits for, if it resets earlier than the loop's clock
/// expects: the machine may have slept, and the wall clock decides.
pub(in crate::host) fn earlier_limit_reset(supervisor: &Supervisor, now: Stamp) -> Option<Event> {
    let limit = supervisor.limit()?;
    let left = time_left(limit.resets);
    let conversation = supervisor.conversation()?.clone();
    (limit.reset.since(now) > left + SLEPT_MS).then_some(Event::UsageLimit {
        conversation,
        limit: limit.kind,
        left,
        resets: limit.resets,
    })
}

/// How long until then (seconds since 1970), in ms; 0 when it has passed.
fn time_left(resets: u64) -> u64 {
    u64::try_from(WallTime::of_seconds(resets).0.saturating_sub(Clock::wall().0)).unwrap_or(0)
}
