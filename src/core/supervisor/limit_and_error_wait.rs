//! Waits after a usage limit, or after an API error that ended the turn.
//!
//! No hand-over begins meanwhile: a fresh conversation could do no more than this one. When the wait is over,
//! hopty types one prompt to continue, which is proven like any submission. Current versions of Claude
//! continue by themselves after a limit; hopty gives them time for that (`recovery.limit_wait`), and any
//! prompt of Claude's own ends the wait. A person's key press leaves the rest to them.
//!
//! The limit's own dialog is closed by its line "Stop and wait for limit to reset", which costs nothing,
//! unless a person is present or `delivery.answer_dialogs` does not name it.

use serde::{Deserialize, Serialize};

use super::Turn;
use super::action::{Action, DecisionKind, Typing};
use super::event::PromptOf;
use super::policy::Policy;
use super::run_state::{RunState, ScreenState};
use super::step::EventStep;
use crate::core::claude::api_error::api_error_words;
use crate::core::config::{AfterError, DurationMs, Recovery};
use crate::core::time::{Stamp, WallTime};

/// How long after a refused request its limit may become known, in ms: the transcript lags behind the hook by
/// up to 0.3 s.
const SETTLE_MS: u64 = 2000;
/// A person who typed within this time before an error counts as present, in ms.
const PRESENT_MS: u64 = 60_000;
/// The attempts that people are told of one by one, until Claude recovers or an hour passes without an
/// error. With pauses from one minute on they take half an hour.
const RETRIES: u32 = 5;
/// The most attempts: with the longest pause between them, two days of an outage.
const RETRIES_MOST: u32 = 100;
/// The longest pause after an error, in ms.
const LONGEST_PAUSE_MS: u64 = 1_800_000;
/// A turn that ends well sooner than this after an error does not end the count, in ms: errors that come
/// again and again get longer pauses, whoever reports them.
const RECOVERED_MS: u64 = 600_000;
/// Errors further apart than this are unrelated, in ms.
const FORGET_MS: u64 = 3_600_000;
/// A reset later than this is not believed, in ms: 32 days.
const LONGEST_LIMIT_MS: u64 = 32 * 86_400_000;
/// The name of the dialog in which Claude asks what to do about a limit.
const DIALOG: &str = "limit";
/// How long the dialog must be on the screen before hopty presses its key, in ms: Claude ignores keys in its
/// first second (measured on 2.1.329).
const DIALOG_SETTLE_MS: u64 = 1500;
/// The limit's dialog gets further keys while it stays: how many at most.
const ANSWERS_MAX: u8 = 4;
/// How long after the previous key, in ms.
const ANSWER_AGAIN_MS: u64 = 5000;

/// Which limit was reached, in Claude's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    FiveHour,
    SevenDay,
    #[serde(other)]
    Other,
}

/// The most attempts to continue after errors in a row.
pub(super) fn retries_most(policy: &Policy) -> u32 {
    if policy.is_previous_release() { RETRIES } else { RETRIES_MOST }
}

impl LimitKind {
    /// The limit that Claude's text on the screen names (`You've hit your session limit`, measured on
    /// 2.1.197; `5-hour` and `weekly` limit, on 2.1.329); `None` for any other text.
    pub fn named_in(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("You've hit your ")?;
        let name = rest.split_once(" limit").map_or(rest, |(name, _)| name);
        match name {
            "session" | "5-hour" => Some(LimitKind::FiveHour),
            "weekly" => Some(LimitKind::SevenDay),
            _ => None,
        }
    }

    /// Its name in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            LimitKind::FiveHour => "5-hour limit",
            LimitKind::SevenDay => "weekly limit",
            LimitKind::Other => "usage limit",
        }
    }
}

/// The prompts to continue of earlier releases, which transcripts may contain.
const EARLIER_PROMPTS: [&str; 2] = [
    "The usage limit is over. Go on where you stopped; what is done already stays done.",
    "Your last turn ended in an API error. Go on where it stopped; what is done already stays done.",
];

/// The cause after which hopty's prompt continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeAfter {
    Limit,
    Error,
}

impl ResumeAfter {
    /// Whether a text is one of hopty's own prompts to continue, not a person's.
    pub fn is_prompt(text: &str) -> bool {
        [ResumeAfter::Limit, ResumeAfter::Error].iter().any(|after| after.prompt() == text)
            || EARLIER_PROMPTS.contains(&text)
    }

    /// The prompt: fixed, and short enough for a paste that Claude treats as typed.
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
    pub kind: LimitKind,
    pub reset: Stamp,
    /// The reset in seconds since 1970, as Claude reported it.
    pub resets: u64,
}

/// Why Claude cannot work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
enum WaitCause {
    Limit {
        limit: UsageLimitWait,
    },
    /// A refused request. It may turn out to be a limit, so hopty waits a moment before it reports it
    /// (`said`: it was reported).
    Error {
        error: String,
        said: bool,
    },
    /// An error that only a person can fix.
    Person,
}

/// A wait in which Claude cannot work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LimitWait {
    cause: WaitCause,
    since: Stamp,
    seq: u64,
    /// When hopty continues by itself; `None`: it leaves that to Claude or to a person.
    due: Option<Stamp>,
    /// The limit's own dialog was answered, as configured.
    answered: bool,
    /// How often a key was typed into the dialog, and when last.
    #[serde(default)]
    answers: u8,
    #[serde(default)]
    answered_at: Stamp,
}

impl LimitWait {
    fn new(step: &EventStep<'_>, cause: WaitCause, due: Option<Stamp>) -> Self {
        LimitWait {
            cause,
            since: step.now,
            seq: step.line,
            due,
            answered: false,
            answers: 0,
            answered_at: Stamp(0),
        }
    }

    /// When the limit's dialog may get its next key; `None`: it has got all.
    fn next_answer(&self, policy: &Policy) -> Option<Stamp> {
        match self.answered {
            false => Some(Stamp(0)),
            true if !policy.is_previous_release() && self.answers < ANSWERS_MAX => {
                Some(self.answered_at.after(ANSWER_AGAIN_MS))
            }
            true => None,
        }
    }

    pub(super) fn limit(&self) -> Option<UsageLimitWait> {
        match &self.cause {
            WaitCause::Limit { limit } => Some(*limit),
            WaitCause::Error { .. } | WaitCause::Person => None,
        }
    }

    fn after(&self) -> ResumeAfter {
        if self.limit().is_some() { ResumeAfter::Limit } else { ResumeAfter::Error }
    }

    /// Whether the limit holds Claude back: until its reset, and where hopty lets Claude continue then, until
    /// that is due. Claude may continue by itself before.
    fn holds_back(&self, limit: &UsageLimitWait, now: Stamp) -> bool {
        now < self.due.map_or(limit.reset, |due| due.max(limit.reset))
    }

    /// What the session waits for while Claude cannot work.
    pub(super) fn waits_for(&self, now: Stamp) -> Option<&'static str> {
        match &self.cause {
            WaitCause::Limit { limit } => self.holds_back(limit, now).then_some("usage_limit"),
            WaitCause::Error { .. } => Some("api_error"),
            WaitCause::Person => Some("login"),
        }
    }

    /// Why a prompt from outside is not typed now: Claude would refuse it and stop waiting. A slash command
    /// is still allowed.
    pub(super) fn hinders(&self, now: Stamp) -> Option<String> {
        let limit = self.limit().filter(|limit| self.holds_back(limit, now))?;
        Some(if now < limit.reset {
            format!("Claude is waiting for its {} to reset", limit.kind.words())
        } else {
            format!("the {} has reset, and Claude is about to continue", limit.kind.words())
        })
    }

    pub(super) fn end(self, step: &mut EventStep<'_>, how: &str) {
        let Some(limit) = self.limit() else { return };
        let text = format!("The wait for the {} is over: {how}.", limit.kind.words());
        step.decide(DecisionKind::LimitOver, text).also(self.seq);
    }

    /// A prompt was submitted: Claude works again, or will report the limit or the error again.
    pub(super) fn end_by_prompt(self, step: &mut EventStep<'_>, prompt: Option<PromptOf>) {
        let by_itself = prompt == Some(PromptOf::Claude);
        self.end(step, if by_itself { "Claude continued by itself" } else { "a prompt was submitted" });
    }

    /// hopty's own prompt to continue was submitted, with proof.
    pub(super) fn was_resumed(self, step: &mut EventStep<'_>) {
        let text = match self.after() {
            ResumeAfter::Limit => {
                "The usage limit has reset and Claude did not continue by itself, so hopty submitted a \
                 prompt to continue."
            }
            ResumeAfter::Error => "hopty submitted a prompt to continue after the API error.",
        };
        step.decide(DecisionKind::ContinueSubmitted, text);
    }

    /// When hopty continues by itself, and after what.
    pub(super) fn resumes(&self) -> Option<(Stamp, ResumeAfter)> {
        self.due.map(|due| (due, self.after()))
    }
}

/// The session's history of limits and errors. The wait itself ends with its conversation, which owns it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LimitHistory {
    /// How often hopty continued after errors since Claude last recovered, and when the last error was.
    tries: u32,
    failed: Option<Stamp>,
    /// How often hopty continued after errors since a person last pressed a key.
    continued: u32,
    /// When a person last pressed a key.
    keyed: Option<Stamp>,
    /// The limit that people were last told about, by kind and reset.
    #[serde(rename = "told")]
    last_notice: Option<(LimitKind, u64)>,
}

impl LimitHistory {
    /// Claude has reached a limit that resets in `left` ms, at `resets` (seconds since 1970).
    pub(super) fn usage_limit(
        &mut self,
        step: &mut EventStep<'_>,
        wait: &mut Option<LimitWait>,
        recovery: &Recovery,
        kind: LimitKind,
        left: u64,
        resets: u64,
    ) {
        if left > LONGEST_LIMIT_MS {
            return;
        }
        let reset = step.now.after(left);
        let due = reset.after(recovery.limit_wait.ms());
        match wait {
            Some(LimitWait { cause: WaitCause::Limit { limit }, due: old, .. })
                if (limit.kind, limit.resets) == (kind, resets) =>
            {
                // The same limit, reported again because this machine slept.
                limit.reset = reset;
                *old = old.map(|_| due);
                return;
            }
            Some(LimitWait { cause: WaitCause::Error { .. }, due: Some(_), .. }) => {
                self.tries = self.tries.saturating_sub(1);
                self.continued = self.continued.saturating_sub(1);
            }
            _ => {}
        }
        let cause = WaitCause::Limit { limit: UsageLimitWait { kind, reset, resets } };
        *wait = Some(LimitWait::new(step, cause, recovery.after_limit.then_some(due)));
        let at = WallTime(i64::try_from(resets.saturating_mul(1000)).unwrap_or(i64::MAX)).plain();
        let text = format!(
            "Claude has hit its {}, which resets at {at} UTC. Until then hopty types nothing and hands over \
             nothing.",
            kind.words()
        );
        step.decide(DecisionKind::LimitReached, text.clone());
        if self.last_notice.replace((kind, resets)) != Some((kind, resets)) {
            step.notice(DecisionKind::LimitReached, text);
            step.act(Action::KeepHandoffs { until: resets });
        }
    }

    /// StopFailure: an API error ended the turn.
    pub(super) fn turn_failed(
        &mut self,
        step: &mut EventStep<'_>,
        wait: &mut Option<LimitWait>,
        policy: &Policy,
        error: Option<&str>,
    ) {
        if wait.as_ref().and_then(LimitWait::limit).is_some_and(|limit| step.now < limit.reset) {
            return;
        }
        let error = error.unwrap_or("unknown");
        let words = api_error_words(error);
        *wait = None;
        match error {
            "authentication_failed" | "oauth_org_not_allowed" | "billing_error" => {
                let text = format!(
                    "An API error ended the turn ({words}). Check your login and billing; hopty does not \
                     retry."
                );
                step.tell(DecisionKind::TurnFailed, text);
                *wait = Some(LimitWait::new(step, WaitCause::Person, None));
            }
            "server_error" | "rate_limit" | "overloaded" | "unknown" => {
                let due = self.next_try(step.now, policy);
                let cause = WaitCause::Error { error: error.to_owned(), said: false };
                *wait = Some(LimitWait::new(step, cause, due));
                if error != "rate_limit" {
                    self.say_failed(step, wait, policy);
                }
            }
            _ => {
                let text = format!("An API error ended the turn ({words}).");
                step.decide(DecisionKind::TurnFailed, text);
            }
        }
    }

    /// When to continue a turn that failed; `None`: never.
    fn next_try(&mut self, now: Stamp, policy: &Policy) -> Option<Stamp> {
        let recovery = &policy.config.recovery;
        if self.failed.replace(now).is_none_or(|last| now.since(last) > FORGET_MS) {
            self.tries = 0;
        }
        let present = self.keyed.is_some_and(|at| now.since(at) < PRESENT_MS);
        let may = match recovery.after_error {
            AfterError::Unattended => !present,
            AfterError::Always => true,
            AfterError::Never => false,
        };
        if !may || self.tries.max(self.continued) >= retries_most(policy) {
            return None;
        }
        self.tries += 1;
        self.continued += u32::from(!policy.is_previous_release());
        let first = recovery.retry_pause.ms();
        let pause = first.saturating_mul(1 << (self.tries - 1).min(20)).min(LONGEST_PAUSE_MS.max(first));
        Some(now.after(pause))
    }

    /// Reports what follows an error. If nothing follows, requests are no longer held back.
    fn say_failed(&self, step: &mut EventStep<'_>, wait: &mut Option<LimitWait>, policy: &Policy) {
        let Some(LimitWait { cause: WaitCause::Error { error, said }, due, seq, .. }) = wait else { return };
        *said = true;
        let (because, words) = ([*seq], api_error_words(error));
        let (most, tries) = (retries_most(policy), self.tries);
        let text = match due {
            Some(due) if tries > RETRIES => {
                let pause = DurationMs::from_secs(due.since(step.now).div_ceil(1000)).words();
                format!(
                    "An API error ended the turn ({words}) after {RETRIES} retries. hopty goes on trying, \
                     next in {pause}, unless you type."
                )
            }
            Some(due) => {
                let seconds = due.since(step.now).div_ceil(1000);
                format!(
                    "An API error ended the turn ({words}). hopty retries in {seconds} s unless you type \
                     (attempt {tries} of {RETRIES})."
                )
            }
            None if tries.max(self.continued) >= most => {
                format!("An API error ended the turn ({words}) after {most} retries; hopty gave up.")
            }
            None => format!("An API error ended the turn ({words}). hopty leaves the retry to you."),
        };
        if due.is_none() {
            *wait = None;
        }
        let failed = match tries > RETRIES + 1 && wait.is_some() {
            true => step.decide(DecisionKind::TurnFailed, text),
            false => step.tell(DecisionKind::TurnFailed, text),
        };
        failed.because(&because);
    }

    /// A person has pressed a key: hopty leaves the rest to them, unless it is submitting its own prompt.
    /// Keys are held while hopty types, and its prompt is either proven or not.
    pub(super) fn person_types(
        &mut self,
        step: &mut EventStep<'_>,
        wait: &mut Option<LimitWait>,
        sends_own: bool,
    ) {
        self.keyed = Some(step.now);
        self.continued = 0;
        let Some(halt) = wait.as_mut().filter(|_| !sends_own) else { return };
        let (error, seq) = (halt.limit().is_none(), halt.seq);
        if halt.due.take().is_some() {
            let text = "You typed, so hopty does not continue by itself.";
            step.decide(DecisionKind::ContinueCancelled, text).also(seq);
            if error {
                *wait = None;
            }
        }
    }

    /// A turn ended normally.
    pub(super) fn turn_ended_well(
        &mut self,
        step: &mut EventStep<'_>,
        wait: &mut Option<LimitWait>,
        policy: &Policy,
    ) {
        let recovered = self.failed.is_none_or(|at| step.now.since(at) >= RECOVERED_MS);
        if recovered || policy.is_previous_release() {
            self.tries = 0;
        }
        if let Some(wait) = wait.take() {
            wait.end_by_prompt(step, None);
        }
    }

    /// Handles deadlines that have passed.
    pub(super) fn tick(&self, step: &mut EventStep<'_>, wait: &mut Option<LimitWait>, policy: &Policy) {
        let Some(halt) = &*wait else { return };
        match &halt.cause {
            WaitCause::Error { said: false, .. } if step.now >= halt.since.after(SETTLE_MS) => {
                self.say_failed(step, wait, policy)
            }
            WaitCause::Limit { limit } if halt.due.is_none() && step.now >= limit.reset => {
                if let Some(halt) = wait.take() {
                    halt.end(step, "it has reset, and hopty leaves it to you to continue");
                }
            }
            _ => {}
        }
    }

    /// Answers the limit's own dialog, if the configuration allows it and no person is present. A dialog that
    /// stays has ignored the key or has only moved closer to the answer, and gets another key. The screen may
    /// hide a permission prompt: no key while a turn runs or another source says that Claude asks.
    pub(super) fn answer_dialog(
        &self,
        step: &mut EventStep<'_>,
        wait: &mut LimitWait,
        run: &RunState,
        policy: &Policy,
    ) {
        let asks = run.turn.state == Turn::Busy || run.may_be_asking();
        let may = (!asks || policy.is_previous_release())
            && policy.config.delivery.answer_dialogs.iter().any(|name| name == DIALOG)
            && wait.limit().is_some()
            && wait.next_answer(policy).is_some_and(|at| step.now >= at);
        let left_until = self.dialog_is_left_until(wait, policy);
        let is_left = left_until.is_some_and(|until| until.is_none_or(|until| step.now < until));
        let stands = dialog_settled_at(&run.screen).is_some_and(|at| step.now >= at);
        if may && stands && !is_left {
            wait.answered = true;
            wait.answers += 1;
            wait.answered_at = step.now;
            step.type_in(Typing::DialogKey { dialog: DIALOG.to_owned() });
        }
    }

    /// Until when the limit's dialog is left to a person; `Some(None)`: forever, because they have typed
    /// since the limit was reached.
    fn dialog_is_left_until(&self, wait: &LimitWait, policy: &Policy) -> Option<Option<Stamp>> {
        let keyed = self.keyed.filter(|_| !policy.is_previous_release())?;
        let until = keyed.after(policy.config.restart.wait_for_person.ms());
        Some(Some(until).filter(|_| keyed <= wait.since))
    }

    /// When there is something to report, or the dialog may be answered.
    pub(super) fn deadlines(
        &self,
        wait: &LimitWait,
        screen: &ScreenState,
        policy: &Policy,
        due: &mut Vec<Stamp>,
    ) {
        match &wait.cause {
            WaitCause::Error { said: false, .. } => due.push(wait.since.after(SETTLE_MS)),
            WaitCause::Limit { limit } => {
                due.push(limit.reset);
                if let Some(at) = dialog_settled_at(screen) {
                    due.push(at);
                    due.extend(self.dialog_is_left_until(wait, policy).flatten());
                    due.extend(wait.next_answer(policy).filter(|_| wait.answered));
                }
            }
            WaitCause::Error { .. } | WaitCause::Person => {}
        }
    }
}

/// When the limit's dialog, if it is shown, has been on the screen for long enough.
fn dialog_settled_at(screen: &ScreenState) -> Option<Stamp> {
    let is_shown = screen.facts.dialog.as_deref() == Some(DIALOG);
    screen.dialog_since.filter(|_| is_shown).map(|since| since.after(DIALOG_SETTLE_MS))
}

/// hopty's own prompt to continue failed. It is not repeated, because it may have been submitted.
pub(super) fn resume_failed(step: &mut EventStep<'_>, why: &str) {
    let text = format!("hopty could not submit its prompt to continue: {why}.");
    step.tell(DecisionKind::ContinueCancelled, text);
}

#[cfg(test)]
mod tests {
    use super::super::screen_facts::ScreenFacts;
    use super::super::tests::{claude, word};
    use super::*;

    /// The actions of `does` at `now`, as text.
    fn at(now: u64, does: impl FnOnce(&mut EventStep<'_>)) -> String {
        let mut out = Vec::new();
        does(&mut EventStep::new(Stamp(now), 1, 1, &mut out));
        out.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_pause_after_errors_grows_until_hopty_gives_up() {
        let (mut history, mut wait) = (LimitHistory::default(), None);
        let policy = claude();
        let (mut pauses, mut notices) = (Vec::new(), 0);
        for n in 0..=u64::from(RETRIES_MOST) {
            let now = 100 * n;
            let error = Some("overloaded");
            let words = at(now, |step| history.turn_failed(step, &mut wait, &policy, error));
            notices += u32::from(words == "turn.failed, notice");
            pauses.push(wait.as_ref().and_then(|wait| wait.due).map(|due| due.since(Stamp(now))));
        }
        let first = policy.config.recovery.retry_pause.ms();
        assert_eq!(pauses[..6], [1, 2, 4, 8, 16, 30].map(|times| Some(times * first)));
        assert_eq!(pauses.last(), Some(&None), "two days are enough");
        assert!(pauses.iter().flatten().sum::<u64>() > 86_400_000, "a day is not");
        assert_eq!(notices, RETRIES + 2, "people hear of the first ones, of the outage, and of its end");
        assert_eq!(wait, None, "nothing follows, so nothing is held back");
        let well = 100 * u64::from(RETRIES_MOST) + RECOVERED_MS;
        at(well, |step| history.turn_ended_well(step, &mut wait, &policy));
        at(well, |step| history.turn_failed(step, &mut wait, &policy, None));
        assert_eq!(wait, None, "nobody was there meanwhile");
        at(well, |step| history.person_types(step, &mut wait, false));
        let again = well + PRESENT_MS;
        at(again, |step| history.turn_failed(step, &mut wait, &policy, None));
        assert_eq!(wait.as_ref().and_then(|wait| wait.due), Some(Stamp(again).after(first)), "counted anew");
        let words = at(again + 1, |step| history.person_types(step, &mut wait, false));
        assert_eq!((words.as_str(), wait), ("continue.cancelled", None));
    }

    /// A process that Claude started can report errors that never were.
    #[test]
    fn errors_behind_turns_that_end_well_are_not_continued_without_end() {
        let (mut history, mut wait) = (LimitHistory::default(), None);
        let policy = claude();
        let (mut now, mut pauses) = (0, Vec::new());
        for _ in 0..RETRIES_MOST {
            at(now, |step| history.turn_failed(step, &mut wait, &policy, Some("server_error")));
            let due = wait.as_ref().and_then(|wait| wait.due).unwrap();
            pauses.push(due.since(Stamp(now)));
            now = due.0 + 1000;
            at(now, |step| history.turn_ended_well(step, &mut wait, &policy));
        }
        let first = policy.config.recovery.retry_pause.ms();
        assert_eq!(pauses[..5], [1, 2, 4, 8, 16].map(|times| times * first));
        at(now, |step| history.turn_failed(step, &mut wait, &policy, Some("server_error")));
        assert_eq!(wait, None, "hopty gives up until a person is there");
    }

    #[test]
    fn a_limit_is_told_once_and_waited_for_until_its_reset() {
        let (mut history, mut wait) = (LimitHistory::default(), None);
        let recovery = Recovery { after_limit: false, ..Recovery::default() };
        let kind = LimitKind::FiveHour;
        let words = at(0, |step| history.usage_limit(step, &mut wait, &recovery, kind, 500, 9));
        assert_eq!(words, "limit.reached, notice, keep handoffs");
        let words = at(100, |step| history.usage_limit(step, &mut wait, &recovery, kind, 600, 9));
        assert_eq!(words, "", "the same limit again");
        let halt = wait.as_ref().unwrap();
        assert_eq!((halt.waits_for(Stamp(699)), halt.waits_for(Stamp(700))), (Some("usage_limit"), None));
        assert!(halt.hinders(Stamp(699)).is_some() && halt.hinders(Stamp(700)).is_none());
        assert_eq!(at(699, |step| history.tick(step, &mut wait, &claude())), "");
        assert_eq!(at(700, |step| history.tick(step, &mut wait, &claude())), "limit.over");
        assert_eq!(wait, None);
    }

    #[test]
    fn a_limit_that_hopty_lets_claude_continue_after_holds_it_back_until_then() {
        let (mut history, mut wait) = (LimitHistory::default(), None);
        let recovery = Recovery { after_limit: true, ..Recovery::default() };
        at(0, |step| history.usage_limit(step, &mut wait, &recovery, LimitKind::FiveHour, 500, 9));
        let wait = wait.unwrap();
        let (reset, due) = (wait.limit().unwrap().reset, wait.due.unwrap());
        assert!(reset < due);
        assert_eq!((wait.waits_for(reset), wait.waits_for(due)), (Some("usage_limit"), None));
        assert!(wait.hinders(reset).unwrap().contains("has reset") && wait.hinders(due).is_none());
    }

    #[test]
    fn the_dialog_of_a_limit_is_answered_until_it_goes_unless_a_person_may_want_to() {
        let policy = claude();
        let (mut history, mut wait) = (LimitHistory::default(), None);
        at(0, |step| {
            history.usage_limit(step, &mut wait, &policy.config.recovery, LimitKind::SevenDay, 500_000, 9)
        });
        let mut wait = wait.unwrap();
        let mut run = RunState::default();
        run.screen.look(
            Stamp(0),
            &ScreenFacts { dialog: Some(DIALOG.to_owned()), ..ScreenFacts::default() },
            &policy,
        );
        history.keyed = Some(Stamp(0));
        let left = policy.config.restart.wait_for_person.ms();
        let mut due = Vec::new();
        history.deadlines(&wait, &run.screen, &policy, &mut due);
        assert_eq!(due, [Stamp(500_000), Stamp(DIALOG_SETTLE_MS), Stamp(left)]);
        let mut answers = |history: &LimitHistory, now| {
            at(now, |step| history.answer_dialog(step, &mut wait, &run, &policy))
        };
        assert_eq!(answers(&history, left - 1), "");
        assert_eq!(
            answers(&LimitHistory { keyed: Some(Stamp(1)), ..history }, left + 1),
            "",
            "they typed since"
        );
        assert_eq!(answers(&history, left), "key for limit");
        assert_eq!(answers(&history, left), "");
        let again = |n: u64| left + n * ANSWER_AGAIN_MS;
        assert_eq!(answers(&history, again(1) - 1), "");
        let keys: Vec<String> = (1..6).map(|n| answers(&history, again(n))).collect();
        assert_eq!(
            keys,
            ["key for limit", "key for limit", "key for limit", "", ""],
            "it does not take them"
        );
    }
}
