//! Usage limits, as Claude tells them: the line of its transcript that says when one resets, and the figures of its status
//! line. Measured on 2.1.329; the hook that ends such a turn names no time.

use serde_json::Value;

use super::Host;
use super::save::Done;
use crate::core::claude::statusline::Used;
use crate::core::status::{LimitUse, LimitsStatus, ReachedLimit, Rfc3339};
use crate::core::supervisor::event::Event;
use crate::core::supervisor::halt::LimitKind;
use crate::core::time::WallTime;
use crate::fs::store::Store;
use crate::sys::clock::Clock;

/// How much earlier than the loop's clock thinks a limit must reset to be told again, in ms: that clock stands still while the
/// machine sleeps.
const SLEPT_MS: u64 = 5000;
/// From this much on a limit is used up, in percent.
const FULL: u64 = 100;

impl Host {
    /// Tells the supervisor of a limit that the conversation stands at, once for each line that says so.
    pub(super) fn tell_limit(&mut self) {
        let reached = self.reached();
        let Some(following) = &mut self.watching.following else { return };
        let count = following.facts.failures();
        if following.facts.failure().is_none() {
            following.reported.failures = count;
        }
        let Some((limit, resets)) = reached.filter(|_| following.reported.failures < count) else { return };
        following.reported.failures = count;
        let conversation = following.conversation.clone();
        let left = left(resets);
        if left > 0 {
            self.events.push_back(Event::UsageLimit { conversation, limit, left, resets });
        }
    }

    /// The limit at which the transcript stands, and when it resets.
    fn reached(&self) -> Option<(LimitKind, u64)> {
        let following = self.watching.following.as_ref().filter(|following| !following.more)?;
        let failure = following.facts.failure().filter(|failure| failure.error == "rate_limit")?;
        let named = |word: &str| serde_json::from_value(Value::from(word)).unwrap_or(LimitKind::Other);
        if let Some(resets) = failure.resets_at {
            return Some((failure.limit.as_deref().map_or(LimitKind::Other, named), resets));
        }
        // An API key has no such limits, and its refusal is an error like others. Up to 2.1.197 the line says it in words only.
        let kind = LimitKind::said(&failure.said);
        let meant = |used: &&Used| kind.map_or(used.percent >= FULL, |kind| used.kind == kind);
        self.used().iter().filter(meant).map(|used| (used.kind, used.resets)).max_by_key(|(_, resets)| *resets)
    }

    fn used(&self) -> &[Used] {
        self.watching.status_line.as_ref().map_or(&[], |(line, _)| &line.limits)
    }

    /// The machine may have slept: the wall clock says when a limit is over.
    pub(super) fn tell_limit_anew(&mut self) {
        let supervisor = &self.recorder.supervisor;
        let (Some(limit), Some(conversation)) = (supervisor.limit(), supervisor.conversation()) else { return };
        let left = left(limit.resets);
        if limit.reset.since(self.clock.now()) > left + SLEPT_MS {
            let conversation = conversation.clone();
            self.events.push_back(Event::UsageLimit { conversation, limit: limit.kind, left, resets: limit.resets });
        }
    }

    /// The `limits` part of the session object.
    pub(super) fn limits(&self) -> LimitsStatus {
        let resets_at = |seconds: u64| Some(Rfc3339(wall(seconds)));
        let used = |kind| {
            let used = self.used().iter().find(|used| used.kind == kind)?;
            Some(LimitUse { percent: used.percent, resets_at: resets_at(used.resets) })
        };
        let reached = self.recorder.supervisor.limit();
        LimitsStatus {
            reached: reached.map(|limit| ReachedLimit { kind: limit.kind.into(), resets_at: resets_at(limit.resets) }),
            five_hour: used(LimitKind::FiveHour),
            seven_day: used(LimitKind::SevenDay),
        }
    }

    /// What waits here must not expire while nobody can load it.
    pub(super) fn keep_handoffs(&mut self, until: u64) {
        let (store, channel) = (self.paths.claude.clone(), self.channel.clone());
        self.do_quietly(move || {
            let done = Store::open(&store).and_then(|store| store.postpone_expiry(&channel, Clock::wall(), wall(until)));
            done.map_or_else(|e| Done::Failed(format!("handoffs may expire during a usage limit: {e}")), |_| Done::Quiet)
        });
    }
}

fn wall(seconds: u64) -> WallTime {
    WallTime(i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX))
}

/// Until then, in ms; 0 when it is over.
fn left(resets: u64) -> u64 {
    u64::try_from(wall(resets).0.saturating_sub(Clock::wall().0)).unwrap_or(0)
}
