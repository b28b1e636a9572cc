//! Why the work stands still although Claude lives: a usage limit, or an API error that ended the turn.
//!
//! While it does no hand-over begins: a fresh conversation could do no more than this one. What may be typed
//! afterwards, and when, is said here; `proceed` types it. Nothing is typed against a person: a key that is
//! pressed leaves it to them.

mod resume;

use serde::{Deserialize, Serialize};

use super::Supervisor;
use super::Turn;
use super::action::{Action, DecisionKind};
use super::event::PromptOf;
use super::step::EventStep;
use crate::core::config::AfterError;
use crate::core::ids::ConversationId;
use crate::core::time::{Stamp, WallTime};

/// How long after a refused request its limit may become known, in ms: the transcript lags behind the hook by
/// up to 0.3 s.
const SETTLE_MS: u64 = 2000;
/// A person who typed within this time before an error counts as present, in ms.
const PRESENT_MS: u64 = 60_000;
/// The longest pause after an error, in ms.
const LONGEST_PAUSE_MS: u64 = 1_800_000;
/// Errors further apart than this are unrelated, in ms.
const FORGET_MS: u64 = 3_600_000;
/// A reset further away than this is not believed, in ms: 32 days.
const LONGEST_LIMIT_MS: u64 = 32 * 86_400_000;

/// Which limit was reached, in Claude's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// The five-hour limit.
    FiveHour,
    /// The weekly limit.
    SevenDay,
    /// Any other limit.
    #[serde(other)]
    Other,
}

impl LimitKind {
    /// The limit that Claude's text on the screen names (`You've hit your session limit`, measured on
    /// 2.1.197; `5-hour` and `weekly` limit, on 2.1.329); `None` for any other text.
    #[must_use]
    pub fn said(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("You've hit your ")?;
        let name = rest.split_once(" limit").map_or(rest, |(name, _)| name);
        match name {
            "session" | "5-hour" => Some(LimitKind::FiveHour),
            "weekly" => Some(LimitKind::SevenDay),
            _ => None,
        }
    }

    /// Its name in a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            LimitKind::FiveHour => "5-hour limit",
            LimitKind::SevenDay => "weekly limit",
            LimitKind::Other => "usage limit",
        }
    }
}

/// The prompts to continue of earlier releases, which may stand in the transcript of a conversation.
const EARLIER_PROMPTS: [&str; 2] = [
    "The usage limit is over. Go on where you stopped; what is done already stays done.",
    "Your last turn ended in an API error. Go on where it stopped; what is done already stays done.",
];

/// What hopty's prompt to continue follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeAfter {
    /// A usage limit.
    Limit,
    /// An API error.
    Error,
}

impl ResumeAfter {
    /// Whether a text is one of hopty's own prompts to continue, not a person's.
    #[must_use]
    pub fn is_prompt(text: &str) -> bool {
        [ResumeAfter::Limit, ResumeAfter::Error].iter().any(|after| after.prompt() == text)
            || EARLIER_PROMPTS.contains(&text)
    }

    /// The prompt: fixed, and short enough for a paste that Claude treats as typed.
    #[must_use]
    pub fn prompt(self) -> &'static str {
        match self {
            ResumeAfter::Limit => {
                "The usage limit has reset. Continue where you stopped; do not redo finished work."
            }
            ResumeAfter::Error => {
                "Your last turn ended in an API error. Continue where it stopped; do not redo finished work."
            }
        }
    }
}

/// A usage limit that hopty waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageLimitWait {
    /// Which limit.
    pub kind: LimitKind,
    /// When it resets.
    pub reset: Stamp,
    /// The same in seconds since 1970, as Claude reported it.
    pub resets: u64,
}

/// Why the work stands still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
enum WaitCause {
    Limit {
        limit: UsageLimitWait,
    },
    /// A refused request. It may turn out to be a limit, so hopty waits a moment before it tells people
    /// (`said`: they were told).
    Error {
        error: String,
        said: bool,
    },
    /// An error that only a person can fix.
    Person,
}

/// The work stands still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LimitWait {
    cause: WaitCause,
    since: Stamp,
    seq: u64,
    /// When hopty continues by itself; `None`: it leaves that to Claude or to a person.
    due: Option<Stamp>,
    /// The limit's own dialog was answered, as configured.
    pub(super) answered: bool,
}

impl LimitWait {
    pub(super) fn limit(&self) -> Option<UsageLimitWait> {
        match &self.cause {
            WaitCause::Limit { limit } => Some(*limit),
            WaitCause::Error { .. } | WaitCause::Person => None,
        }
    }

    pub(super) fn after(&self) -> ResumeAfter {
        if self.limit().is_some() { ResumeAfter::Limit } else { ResumeAfter::Error }
    }

    pub(super) fn due(&self) -> Option<Stamp> {
        self.due
    }
}

/// The session's history of limits and errors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LimitHistory {
    /// How often hopty continued after errors since a turn last ended well, and when the last error was.
    tries: u32,
    failed: Option<Stamp>,
    /// When a person last pressed a key.
    keyed: Option<Stamp>,
    /// The limit that people were last told of, by kind and reset.
    told: Option<(LimitKind, u64)>,
}

impl Supervisor {
    /// The usage limit that the session waits for.
    #[must_use]
    pub fn limit(&self) -> Option<UsageLimitWait> {
        self.conversation.limit_wait.as_ref().and_then(LimitWait::limit)
    }

    /// Whether the work stands still: then the screen matters, and a hand-over would not help.
    #[must_use]
    pub fn stands_still(&self) -> bool {
        self.conversation.limit_wait.is_some()
    }

    pub(super) fn usage_limit(
        &mut self,
        step: &mut EventStep<'_>,
        conversation: &ConversationId,
        kind: LimitKind,
        left: u64,
        resets: u64,
    ) {
        if !self.is_current(conversation) || self.run.pid.is_none() || left > LONGEST_LIMIT_MS {
            return;
        }
        let reset = step.now.after(left);
        let c = &self.policy.config.recovery;
        let due = reset.after(c.limit_wait.ms());
        if let Some(LimitWait { cause: WaitCause::Limit { limit }, due: old, .. }) =
            &mut self.conversation.limit_wait
            && (limit.kind, limit.resets) == (kind, resets)
        {
            // The same limit, reported again because this machine slept.
            limit.reset = reset;
            *old = old.map(|_| due);
            return;
        }
        if matches!(
            &self.conversation.limit_wait,
            Some(LimitWait { cause: WaitCause::Error { .. }, due: Some(_), .. })
        ) {
            self.limits.tries = self.limits.tries.saturating_sub(1);
        }
        let due = c.after_limit.then_some(due);
        let limit = UsageLimitWait { kind, reset, resets };
        self.conversation.limit_wait = Some(LimitWait {
            cause: WaitCause::Limit { limit },
            since: step.now,
            seq: step.line,
            due,
            answered: false,
        });
        let at = WallTime(i64::try_from(resets.saturating_mul(1000)).unwrap_or(i64::MAX)).plain();
        let text = format!(
            "Claude has hit its {}, which resets at {at} UTC. Until then hopty types nothing and hands over \
             nothing.",
            kind.words()
        );
        step.decide(DecisionKind::LimitReached, text.clone());
        if self.limits.told.replace((kind, resets)) != Some((kind, resets)) {
            step.notice(DecisionKind::LimitReached, text);
            step.act(Action::KeepHandoffs { until: resets });
        }
    }

    /// StopFailure: an API error ended the turn.
    pub(super) fn turn_failed(&mut self, step: &mut EventStep<'_>, error: Option<&str>) {
        if self.limit().is_some_and(|limit| step.now < limit.reset) {
            return;
        }
        let error = error.unwrap_or("unknown");
        let (now, line) = (step.now, step.line);
        let halt = |cause, due| Some(LimitWait { cause, since: now, seq: line, due, answered: false });
        self.conversation.limit_wait = None;
        match error {
            "authentication_failed" | "oauth_org_not_allowed" | "billing_error" => {
                let text = format!(
                    "An API error ended the turn ({error}). Check your login and billing; hopty does not \
                     retry."
                );
                step.tell(DecisionKind::TurnFailed, text);
                self.conversation.limit_wait = halt(WaitCause::Person, None);
            }
            "server_error" | "rate_limit" | "overloaded" | "unknown" => {
                let due = self.next_try(step.now);
                let cause = WaitCause::Error { error: error.to_owned(), said: false };
                self.conversation.limit_wait = halt(cause, due);
                if error != "rate_limit" {
                    self.say_failed(step);
                }
            }
            _ => {
                let text = format!("An API error ended the turn ({error}).");
                step.decide(DecisionKind::TurnFailed, text);
            }
        }
    }

    /// When to continue a turn that failed; `None`: never.
    fn next_try(&mut self, now: Stamp) -> Option<Stamp> {
        let c = &self.policy.config.recovery;
        let limits = &mut self.limits;
        if limits.failed.replace(now).is_none_or(|last| now.since(last) > FORGET_MS) {
            limits.tries = 0;
        }
        let present = limits.keyed.is_some_and(|at| now.since(at) < PRESENT_MS);
        let may = match c.after_error {
            AfterError::Unattended => !present,
            AfterError::Always => true,
            AfterError::Never => false,
        };
        if !may || limits.tries >= c.retries {
            return None;
        }
        limits.tries += 1;
        let pause = c
            .retry_pause
            .ms()
            .saturating_mul(1 << (limits.tries - 1).min(20))
            .min(LONGEST_PAUSE_MS.max(c.retry_pause.ms()));
        Some(now.after(pause))
    }

    /// Tells people what follows an error. If nothing follows, requests are no longer held back.
    fn say_failed(&mut self, step: &mut EventStep<'_>) {
        let c = &self.policy.config.recovery;
        let Some(LimitWait { cause: WaitCause::Error { error, said }, due, seq, .. }) =
            &mut self.conversation.limit_wait
        else {
            return;
        };
        *said = true;
        let because = [*seq];
        let text = match due {
            Some(due) => {
                let (seconds, tries) = (due.since(step.now).div_ceil(1000), self.limits.tries);
                format!(
                    "An API error ended the turn ({error}). hopty retries in {seconds} s unless you type \
                     (attempt {tries} of {}).",
                    c.retries
                )
            }
            None if self.limits.tries >= c.retries && c.retries > 0 => {
                format!("An API error ended the turn ({error}) after {} retries; hopty gave up.", c.retries)
            }
            None => format!("An API error ended the turn ({error}). hopty leaves the retry to you."),
        };
        if due.is_none() {
            self.conversation.limit_wait = None;
        }
        step.tell(DecisionKind::TurnFailed, text).because(&because);
    }

    /// A person has pressed a key: hopty leaves the rest to them.
    pub(super) fn somebody_is_there(&mut self, step: &mut EventStep<'_>) {
        self.limits.keyed = Some(step.now);
        // Keys are held while hopty types; its prompt is either proven or not.
        if self.submits_own() {
            return;
        }
        let Some(halt) = &mut self.conversation.limit_wait else { return };
        let (error, seq) = (halt.limit().is_none(), halt.seq);
        if halt.due.take().is_some() {
            let text = "You typed, so hopty does not continue by itself.".to_owned();
            step.decide(DecisionKind::ContinueCancelled, text).also(seq);
            if error {
                self.conversation.limit_wait = None;
            }
        }
    }

    /// Somebody submitted a prompt: Claude works again, or will report the limit or the error once more.
    pub(super) fn work_goes_on(&mut self, step: &mut EventStep<'_>, prompt: Option<PromptOf>) {
        let Some(halt) = self.conversation.limit_wait.take() else { return };
        if halt.limit().is_some() {
            let who = if prompt == Some(PromptOf::Claude) {
                "Claude continued by itself"
            } else {
                "a prompt was submitted"
            };
            self.limit_over(step, &halt, who);
        }
    }

    pub(super) fn limit_over(&self, step: &mut EventStep<'_>, halt: &LimitWait, how: &str) {
        let Some(limit) = halt.limit() else { return };
        let text = format!("The wait for the {} is over: {how}.", limit.kind.words());
        step.decide(DecisionKind::LimitOver, text).also(halt.seq);
    }

    /// A turn ended normally.
    pub(super) fn turn_ended_well(&mut self, step: &mut EventStep<'_>) {
        self.limits.tries = 0;
        self.work_goes_on(step, None);
    }

    /// What the session waits for while nobody works.
    pub(super) fn waits_on(&self) -> Option<&'static str> {
        let halt = self.conversation.limit_wait.as_ref().filter(|_| self.run.turn.state != Turn::Busy)?;
        match &halt.cause {
            WaitCause::Limit { limit } => (self.ticked < limit.reset).then_some("usage_limit"),
            WaitCause::Error { .. } => Some("api_error"),
            WaitCause::Person => Some("login"),
        }
    }

    /// Why a prompt from outside is not typed now: Claude would refuse it and stop waiting. A slash command
    /// is still allowed.
    pub(super) fn limit_hinders(&self, command: bool) -> Option<String> {
        let limit =
            self.limit().filter(|limit| !command && !self.submits_own() && self.ticked < limit.reset)?;
        Some(format!("Claude is waiting for its {} to reset", limit.kind.words()))
    }

    /// Reports or drops what has reached its time.
    pub(super) fn tick_limit_wait(&mut self, step: &mut EventStep<'_>) {
        let Some(halt) = &self.conversation.limit_wait else { return };
        match &halt.cause {
            WaitCause::Error { said: false, .. } if step.now >= halt.since.after(SETTLE_MS) => {
                self.say_failed(step)
            }
            WaitCause::Limit { limit } if halt.due.is_none() && step.now >= limit.reset => {
                let halt = self.conversation.limit_wait.take();
                if let Some(halt) = halt {
                    self.limit_over(step, &halt, "it has reset, and hopty leaves it to you to continue");
                }
            }
            _ => {}
        }
    }

    pub(super) fn limit_deadlines(&self, due: &mut Vec<Stamp>) {
        let Some(halt) = self.conversation.limit_wait.as_ref().filter(|_| self.run.pid.is_some()) else {
            return;
        };
        match &halt.cause {
            WaitCause::Error { said: false, .. } => due.push(halt.since.after(SETTLE_MS)),
            WaitCause::Limit { limit } => due.push(limit.reset),
            _ => {}
        }
        self.resume_deadlines(halt, due);
    }
}
