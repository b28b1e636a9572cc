//! Notifications for a person who is not at the keyboard.
//!
//! [`NotificationQueue`] gets states, decisions and keys with their times. A notification is due after a
//! delay. A key drops it, because somebody is there; so does a change that makes it untrue. Each event is
//! notified once.

use crate::core::config::{DurationMs, NotifyEvent, QuietHours};
use crate::core::supervisor::action::{Decision, DecisionKind};
use crate::core::supervisor::phase::EndCause;
use crate::core::supervisor::reported_state::{KnownState, SessionState};
use crate::core::time::{Stamp, age};

/// The most pending notifications; the oldest is dropped first.
const WAITING_CAP: usize = 20;
/// A dialog that disappears unanswered and returns within this time, in ms, was there all the time: it was
/// redrawn, or one source of the state was faster than another.
const FLICKER_MS: u64 = 1000;
/// Reasons of a blocked session that are no dialogs: a limit and a held run have events of their own, and
/// after an API error hopty continues by itself.
const NO_DIALOG: [&str; 3] = ["usage_limit", "api_error", "settings"];
/// Claude's dialog about a limit, which adds nothing to the notification of the limit.
const LIMIT_DIALOG: &str = "limit";

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    pub event: NotifyEvent,
    /// One sentence without the session's name.
    pub text: String,
    /// What a blocked session waits for, such as `permission`.
    pub reason: Option<String>,
    pub at: Stamp,
}

/// Pending notifications.
#[derive(Debug)]
pub struct NotificationQueue {
    after_ms: u64,
    events: Vec<NotifyEvent>,
    waiting: Vec<(Stamp, Notification)>,
    state: (SessionState, Option<String>),
    /// The last dialog, until another one comes.
    last_dialog: Option<PastDialog>,
    /// There were keys since the last dialog appeared, which may have answered it.
    answered: bool,
    /// When Claude began the work that has not ended yet.
    busy_since: Option<Stamp>,
    typed: Option<Stamp>,
    /// When Claude reached the usage limit that it waits for.
    limit_since: Option<Stamp>,
    /// Why a hand-over of this run was held, as the last notification said, until somebody is there.
    held: Option<String>,
}

/// A dialog that has disappeared.
#[derive(Debug)]
struct PastDialog {
    reason: Option<String>,
    at: Stamp,
    /// The turn has ended since.
    was_idle: bool,
    /// Its notification with the time at which it is due, if it is still pending.
    untold: Option<(Stamp, Notification)>,
}

impl NotificationQueue {
    /// An empty queue for these events, each due `after` it happened.
    #[must_use]
    pub fn new(after: DurationMs, events: &[NotifyEvent]) -> Self {
        NotificationQueue {
            after_ms: after.ms(),
            events: events.to_vec(),
            waiting: Vec::new(),
            state: (SessionState::Starting, None),
            last_dialog: None,
            answered: false,
            busy_since: None,
            typed: None,
            limit_since: None,
            held: None,
        }
    }

    /// `hopty send` typed keys: they may have answered a dialog, but nobody has seen it.
    pub fn sent(&mut self) {
        self.answered = true;
    }

    /// A person pressed a key, so they see the screen.
    pub fn typed(&mut self, now: Stamp) {
        self.typed = Some(now);
        self.answered = true;
        self.held = None;
        self.waiting.clear();
    }

    pub fn state(&mut self, now: Stamp, known: &KnownState) {
        let state = (known.state, known.waiting_for.clone());
        if state == self.state {
            return;
        }
        let before = std::mem::replace(&mut self.state, state);
        if before.0 == SessionState::Blocked {
            let is_its = |(_, waiting): &(Stamp, Notification)| waiting.event == NotifyEvent::Blocked;
            let untold = self.waiting.iter().find(|waiting| is_its(waiting)).cloned();
            self.last_dialog = Some(PastDialog { reason: before.1, at: now, was_idle: false, untold });
        }
        let is_no_dialog = known
            .waiting_for
            .as_deref()
            .is_some_and(|on| NO_DIALOG.contains(&on) || on == LIMIT_DIALOG && self.limit_since.is_some());
        match known.state {
            SessionState::Blocked if !is_no_dialog => {
                self.forget(&[NotifyEvent::Blocked, NotifyEvent::Idle]);
                let on = known.waiting_for.clone();
                let last = self.last_dialog.take().filter(|last| last.is_still(on.as_deref(), now));
                // Keys have answered it and the turn continues: it is another dialog, or the screen has not
                // been redrawn yet.
                let may_be_gone = last.as_ref().is_some_and(|last| !last.was_idle);
                if let Some(last) = last.filter(|_| !self.answered) {
                    self.waiting.extend(last.untold);
                    return;
                }
                self.answered = false;
                let dialog = on.as_deref().filter(|on| *on != "unknown").unwrap_or("a dialog");
                let text = match dialog {
                    "login" => "Claude's login or billing failed: fix it, then send your last prompt again"
                        .to_owned(),
                    dialog => format!("Claude waits for your answer ({dialog})"),
                };
                self.put(now, NotifyEvent::Blocked, text, on);
                if let Some((due, _)) = self
                    .waiting
                    .iter_mut()
                    .find(|(_, waiting)| may_be_gone && waiting.event == NotifyEvent::Blocked)
                {
                    *due = (*due).max(now.after(FLICKER_MS));
                }
            }
            SessionState::Busy => {
                self.busy_since.get_or_insert(now);
                self.forget(&[NotifyEvent::Blocked, NotifyEvent::Idle]);
            }
            SessionState::Idle => {
                self.forget(&[NotifyEvent::Blocked]);
                if let Some(last) = &mut self.last_dialog {
                    last.was_idle = true;
                }
                if let Some(since) = self.busy_since.take() {
                    let text = format!("Claude has finished, after {}", time_of(now.since(since)));
                    self.put(now, NotifyEvent::Idle, text, None);
                }
            }
            _ => {
                self.forget(&[NotifyEvent::Blocked, NotifyEvent::Idle]);
            }
        }
    }

    /// `cooling`: the run has ended and the session has not.
    pub fn decided(&mut self, now: Stamp, decision: &Decision, cooling: bool) {
        let event = match decision.kind {
            DecisionKind::LimitReached => {
                self.limit_since = Some(now);
                // The notification of the limit covers that Claude is idle or asks about it.
                self.busy_since = None;
                self.forget(&[NotifyEvent::Idle, NotifyEvent::Blocked]);
                Some(NotifyEvent::LimitReached)
            }
            // The second follows a limit or an API error.
            DecisionKind::LimitOver | DecisionKind::ContinueSubmitted => {
                let ended = self.limit_since.take().is_some();
                let untold = self.forget(&[NotifyEvent::LimitReached]);
                (ended && !untold).then_some(NotifyEvent::LimitOver)
            }
            // If nobody typed, hopty's prompt failed: the limit is over, and the work does not continue.
            DecisionKind::ContinueCancelled => {
                let alone = self.limit_since.is_some_and(|since| self.typed < Some(since));
                self.limit_since.take_if(|_| alone).map(|_| NotifyEvent::LimitOver)
            }
            _ if decision.is_held() => {
                // A higher level is held for the reason that was told at the lower one.
                let last = self.held.replace(decision.sentence.clone());
                (last.as_ref() != Some(&decision.sentence)).then_some(NotifyEvent::HandoverHeld)
            }
            DecisionKind::RestartCancelled | DecisionKind::DeliveryFailed => {
                Some(NotifyEvent::HandoverFailed)
            }
            DecisionKind::RunEnded => cooling.then(|| {
                // The crash cut the work off: Claude is idle without having finished it.
                self.busy_since = None;
                NotifyEvent::Crashed
            }),
            DecisionKind::RunSpawned => {
                (self.last_dialog, self.held) = (None, None);
                self.forget(&[NotifyEvent::HandoverHeld]);
                None
            }
            _ => None,
        };
        if let Some(event) = event {
            self.put(now, event, decision.sentence.clone(), None);
        }
    }

    /// The person stopped the turn that has ended, so Claude has not finished.
    pub fn interrupted(&mut self) {
        self.forget(&[NotifyEvent::Idle]);
    }

    /// A turn is missing in Claude's transcript.
    pub fn transcript_is_behind(&mut self, now: Stamp, text: String) {
        self.put(now, NotifyEvent::Transcript, text, None);
    }

    /// The session has ended. Returns notifications to send at once; none if somebody ended it or was there a
    /// moment ago. `shutdown`: its host was told to end.
    pub fn ended(
        &mut self,
        now: Stamp,
        cause: EndCause,
        sentence: &str,
        shutdown: bool,
    ) -> Option<Notification> {
        self.waiting.clear();
        let there = self.typed.is_some_and(|at| now.since(at) < self.after_ms);
        let asked = matches!(cause, EndCause::UserInterrupt | EndCause::Stopped) && !shutdown;
        let wanted = self.events.contains(&NotifyEvent::Ended) && !there && !asked;
        let text = sentence.to_owned();
        wanted.then_some(Notification { event: NotifyEvent::Ended, text, reason: None, at: now })
    }

    /// The notifications that are due, oldest first. During quiet hours, of which `quiet_ms` are left, they
    /// wait.
    pub fn due(&mut self, now: Stamp, quiet_ms: Option<u64>) -> Vec<Notification> {
        if let Some(left) = quiet_ms {
            self.waiting.iter_mut().for_each(|(due, _)| *due = (*due).max(now.after(left)));
        }
        let (due, rest) = std::mem::take(&mut self.waiting).into_iter().partition(|(due, _)| *due <= now);
        self.waiting = rest;
        let due: Vec<(Stamp, Notification)> = due;
        due.into_iter().map(|(_, notification)| notification).collect()
    }

    pub fn deadline(&self) -> Option<Stamp> {
        self.waiting.iter().map(|(due, _)| *due).min()
    }

    fn put(&mut self, now: Stamp, event: NotifyEvent, text: String, reason: Option<String>) {
        if !self.events.contains(&event) {
            return;
        }
        if self.waiting.len() >= WAITING_CAP {
            self.waiting.remove(0);
        }
        self.waiting.push((now.after(self.after_ms), Notification { event, text, reason, at: now }));
    }

    /// Drops pending notifications of these events; `false` if there were none.
    fn forget(&mut self, events: &[NotifyEvent]) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|(_, waiting)| !events.contains(&waiting.event));
        before != self.waiting.len()
    }
}

impl PastDialog {
    /// Whether this is the dialog on the screen.
    fn is_still(&self, reason: Option<&str>, now: Stamp) -> bool {
        self.reason.as_deref() == reason && now.since(self.at) < FLICKER_MS
    }
}

fn time_of(ms: u64) -> String {
    age(i64::try_from(ms).unwrap_or(i64::MAX))
}

impl QuietHours {
    /// How many ms of quiet hours are left at `ms` milliseconds after local midnight; `None` outside of them.
    #[must_use]
    pub fn left(self, ms: u64) -> Option<u64> {
        const DAY: u64 = 24 * 60 * 60 * 1000;
        let (from, to) = self.bounds()?;
        let (from, to) = (u64::from(from) * 60_000, u64::from(to) * 60_000);
        let since = |at: u64| (ms + DAY - at) % DAY;
        let length = (to + DAY - from) % DAY;
        let passed = since(from);
        (passed < length).then(|| length - passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::supervisor::reported_state::StateSource;

    const AFTER: u64 = 30_000;

    fn queue() -> NotificationQueue {
        NotificationQueue::new(DurationMs::from_ms(AFTER), &NotifyEvent::ALL)
    }

    fn is(state: SessionState) -> KnownState {
        KnownState { state, from: StateSource::Hook, waiting_for: None }
    }

    fn blocked(on: &str) -> KnownState {
        KnownState { waiting_for: Some(on.to_owned()), ..is(SessionState::Blocked) }
    }

    fn decision(kind: DecisionKind) -> Decision {
        Decision {
            kind,
            run: 1,
            by: None,
            level: None,
            handoff: None,
            conversation: None,
            cause: None,
            held: false,
            sentence: format!("sentence of {kind:?}"),
            because: vec![],
        }
    }

    fn events(queue: &mut NotificationQueue, at: u64) -> Vec<NotifyEvent> {
        queue.due(Stamp(at), None).into_iter().map(|told| told.event).collect()
    }

    #[test]
    fn a_blocked_session_is_told_once_and_after_the_delay() {
        let mut queue = queue();
        queue.state(Stamp(1000), &is(SessionState::Busy));
        queue.state(Stamp(2000), &blocked("permission"));
        queue.state(Stamp(2500), &blocked("permission"));
        assert_eq!(queue.deadline(), Some(Stamp(2000 + AFTER)));
        assert!(queue.due(Stamp(1999 + AFTER), None).is_empty());
        let told = queue.due(Stamp(2000 + AFTER), None);
        assert_eq!((told.len(), told[0].reason.as_deref()), (1, Some("permission")));
        assert_eq!(told[0].text, "Claude waits for your answer (permission)");
        assert!(queue.due(Stamp(10 * AFTER), None).is_empty() && queue.deadline().is_none(), "told once");
        queue.state(Stamp(10 * AFTER), &blocked("question"));
        assert_eq!(events(&mut queue, 11 * AFTER), [NotifyEvent::Blocked], "another dialog");
        queue.state(Stamp(12 * AFTER), &blocked("login"));
        let told = queue.due(Stamp(13 * AFTER), None);
        assert!(told[0].text.starts_with("Claude's login or billing failed"), "no dialog: {told:?}");
    }

    #[test]
    fn a_key_or_an_answer_drops_it() {
        let mut queue = queue();
        queue.state(Stamp(0), &blocked("permission"));
        queue.typed(Stamp(5000));
        assert!(events(&mut queue, 10 * AFTER).is_empty());
        queue.state(Stamp(10 * AFTER), &blocked("trust"));
        queue.state(Stamp(10 * AFTER + 10), &is(SessionState::Busy));
        assert!(events(&mut queue, 20 * AFTER).is_empty());
    }

    #[test]
    fn a_dialog_that_flickers_is_told_once_at_its_first_deadline() {
        let mut queue = queue();
        queue.state(Stamp(0), &blocked("permission"));
        for at in [100, AFTER - 100] {
            queue.state(Stamp(at), &is(SessionState::Busy));
            assert_eq!(queue.deadline(), None, "there is no dialog at {at}");
            queue.state(Stamp(at + 50), &blocked("permission"));
            assert_eq!(queue.deadline(), Some(Stamp(AFTER)), "the delay goes on at {at}");
        }
        let told = queue.due(Stamp(AFTER), None);
        assert_eq!((told.len(), told[0].at), (1, Stamp(0)));
        for between in [SessionState::Busy, SessionState::Idle, SessionState::Unknown] {
            queue.state(Stamp(AFTER + 100), &is(between));
            queue.state(Stamp(AFTER + 150), &blocked("permission"));
            assert_eq!(queue.deadline(), None, "told already, before {between:?}");
        }
        // The deadline passes while the dialog is not on the screen.
        let mut queue = self::queue();
        queue.state(Stamp(0), &blocked("permission"));
        queue.state(Stamp(AFTER - 10), &is(SessionState::Busy));
        assert!(events(&mut queue, AFTER + 5).is_empty());
        queue.state(Stamp(AFTER + 10), &blocked("permission"));
        assert_eq!(events(&mut queue, AFTER + 10), [NotifyEvent::Blocked]);
    }

    /// For a moment the screen may show a dialog that `hopty send` has answered.
    #[test]
    fn an_answered_dialog_that_is_seen_once_more_is_not_told_at_once() {
        let mut queue = NotificationQueue::new(DurationMs::from_ms(0), &NotifyEvent::ALL);
        queue.state(Stamp(0), &blocked("permission"));
        assert_eq!(events(&mut queue, 0), [NotifyEvent::Blocked]);
        queue.sent();
        queue.state(Stamp(100), &is(SessionState::Busy));
        queue.state(Stamp(150), &blocked("permission"));
        assert_eq!(queue.deadline(), Some(Stamp(150 + FLICKER_MS)));
        queue.state(Stamp(200), &is(SessionState::Busy));
        assert_eq!(queue.deadline(), None);
        queue.state(Stamp(300), &is(SessionState::Idle));
        assert_eq!(events(&mut queue, 300), [NotifyEvent::Idle]);
        queue.sent();
        queue.state(Stamp(400), &is(SessionState::Busy));
        queue.state(Stamp(450), &blocked("permission"));
        assert_eq!(events(&mut queue, 450), [NotifyEvent::Blocked], "of the next turn");
    }

    #[test]
    fn the_next_dialog_of_the_same_kind_is_told() {
        let told_again = |between: &dyn Fn(&mut NotificationQueue), at: u64, on: &str| {
            let mut queue = queue();
            queue.state(Stamp(0), &blocked("permission"));
            assert_eq!(events(&mut queue, AFTER), [NotifyEvent::Blocked]);
            queue.state(Stamp(2 * AFTER), &is(SessionState::Busy));
            between(&mut queue);
            queue.state(Stamp(2 * AFTER + at), &blocked(on));
            queue.deadline() == Some(Stamp(3 * AFTER + at))
        };
        let nothing = |_: &mut NotificationQueue| {};
        assert!(told_again(&nothing, FLICKER_MS, "permission"), "Claude worked meanwhile");
        assert!(told_again(&nothing, 10, "question"), "another dialog");
        assert!(told_again(&|queue| queue.typed(Stamp(2 * AFTER)), 10, "permission"), "a key answered it");
        assert!(told_again(&NotificationQueue::sent, 10, "permission"), "`hopty send` answered it");
        let spawned = decision(DecisionKind::RunSpawned);
        let next_run = |queue: &mut NotificationQueue| queue.decided(Stamp(2 * AFTER), &spawned, false);
        assert!(told_again(&next_run, 10, "permission"), "of the next run");
        // The key came before the answer was seen, and then nothing is pending.
        let mut queue = queue();
        queue.state(Stamp(0), &blocked("permission"));
        queue.typed(Stamp(100));
        queue.state(Stamp(110), &is(SessionState::Busy));
        queue.state(Stamp(120), &blocked("permission"));
        assert_eq!(queue.deadline(), Some(Stamp(120 + AFTER)));
    }

    #[test]
    fn limits_and_held_runs_are_no_dialogs() {
        let mut queue = queue();
        queue.state(Stamp(0), &is(SessionState::Busy));
        queue.state(Stamp(10), &blocked("permission"));
        queue.state(Stamp(20), &blocked("api_error"));
        queue.state(Stamp(25), &blocked("limit"));
        queue.decided(Stamp(30), &decision(DecisionKind::LimitReached), false);
        queue.state(Stamp(30), &blocked("usage_limit"));
        queue.state(Stamp(40), &blocked("limit"));
        assert_eq!(events(&mut queue, AFTER + 30), [NotifyEvent::LimitReached]);
        queue.decided(Stamp(2 * AFTER), &decision(DecisionKind::RunHeld), true);
        queue.state(Stamp(2 * AFTER), &blocked("settings"));
        assert_eq!(events(&mut queue, 3 * AFTER), [NotifyEvent::HandoverHeld]);
    }

    #[test]
    fn idle_is_told_only_after_work() {
        let mut queue = queue();
        queue.state(Stamp(0), &is(SessionState::Idle));
        assert!(events(&mut queue, AFTER).is_empty(), "it has just started");
        queue.state(Stamp(AFTER), &is(SessionState::Busy));
        queue.state(Stamp(AFTER + 1000), &blocked("permission"));
        queue.state(Stamp(AFTER + 2000), &is(SessionState::Busy));
        queue.state(Stamp(AFTER + 180_000), &is(SessionState::Idle));
        let told = queue.due(Stamp(2 * AFTER + 180_000), None);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].text, "Claude has finished, after 3 min");
        queue.state(Stamp(20 * AFTER), &is(SessionState::Unknown));
        queue.state(Stamp(20 * AFTER), &is(SessionState::Idle));
        assert!(events(&mut queue, 30 * AFTER).is_empty());
    }

    #[test]
    fn an_interrupted_turn_is_not_told_as_finished() {
        let mut queue = queue();
        queue.state(Stamp(0), &is(SessionState::Busy));
        queue.state(Stamp(10), &is(SessionState::Idle));
        queue.interrupted();
        assert!(events(&mut queue, AFTER + 10).is_empty());
        queue.state(Stamp(2 * AFTER), &is(SessionState::Busy));
        queue.state(Stamp(3 * AFTER), &is(SessionState::Idle));
        assert_eq!(events(&mut queue, 4 * AFTER), [NotifyEvent::Idle], "the next turn");
    }

    #[test]
    fn a_limit_is_told_instead_of_idle_and_its_end_if_it_was_told() {
        let mut queue = queue();
        queue.state(Stamp(0), &is(SessionState::Busy));
        queue.decided(Stamp(10), &decision(DecisionKind::LimitReached), false);
        queue.state(Stamp(20), &is(SessionState::Idle));
        assert_eq!(events(&mut queue, AFTER + 20), [NotifyEvent::LimitReached]);
        queue.decided(Stamp(2 * AFTER), &decision(DecisionKind::LimitOver), false);
        assert_eq!(events(&mut queue, 3 * AFTER), [NotifyEvent::LimitOver]);
        queue.decided(Stamp(4 * AFTER), &decision(DecisionKind::LimitReached), false);
        queue.decided(Stamp(4 * AFTER + 1), &decision(DecisionKind::LimitOver), false);
        assert!(events(&mut queue, 6 * AFTER).is_empty(), "it was over before anybody was told");
    }

    #[test]
    fn hoptys_own_prompt_ends_a_limit_too() {
        let reached = decision(DecisionKind::LimitReached);
        for (kind, typed, told) in [
            (
                DecisionKind::ContinueSubmitted,
                false,
                &[NotifyEvent::LimitReached, NotifyEvent::LimitOver][..],
            ),
            (DecisionKind::ContinueCancelled, false, &[NotifyEvent::LimitReached, NotifyEvent::LimitOver]),
            (DecisionKind::ContinueCancelled, true, &[NotifyEvent::LimitReached]),
        ] {
            let mut queue = queue();
            queue.typed(Stamp(1));
            queue.decided(Stamp(10), &reached, false);
            let mut all = events(&mut queue, AFTER + 10);
            if typed {
                queue.typed(Stamp(AFTER + 20));
            }
            queue.decided(Stamp(AFTER + 20), &decision(kind), false);
            queue.decided(Stamp(AFTER + 20), &decision(kind), false);
            all.extend(events(&mut queue, 3 * AFTER));
            assert_eq!(all, told, "{kind:?}, typed: {typed}");
        }
        let mut queue = queue();
        queue.decided(Stamp(10), &decision(DecisionKind::ContinueSubmitted), false);
        assert!(events(&mut queue, AFTER + 10).is_empty(), "after an API error");
    }

    #[test]
    fn a_hand_over_that_is_held_or_failed_and_a_crash_are_told() {
        let mut queue = queue();
        queue.decided(Stamp(0), &decision(DecisionKind::RunHeld), true);
        queue.decided(Stamp(1), &decision(DecisionKind::DeliveryFailed), false);
        queue.decided(Stamp(2), &decision(DecisionKind::RunEnded), true);
        queue.decided(Stamp(3), &decision(DecisionKind::RunEnded), false);
        let told = events(&mut queue, AFTER + 3);
        assert_eq!(told, [NotifyEvent::HandoverHeld, NotifyEvent::HandoverFailed, NotifyEvent::Crashed]);
        let stopped = "Held the hand-over requested by a context level.".to_owned();
        let stopped = Decision { sentence: stopped, held: true, ..decision(DecisionKind::RestartCancelled) };
        queue.decided(Stamp(0), &stopped, false);
        queue.decided(Stamp(1), &decision(DecisionKind::RestartCancelled), false);
        let told = events(&mut queue, AFTER + 3);
        assert_eq!(told, [NotifyEvent::HandoverHeld, NotifyEvent::HandoverFailed]);
        queue.decided(Stamp(AFTER + 4), &stopped, false);
        assert!(events(&mut queue, 2 * AFTER + 4).is_empty(), "the next level, held for the same reason");
        queue.decided(Stamp(0), &decision(DecisionKind::RunHeld), true);
        queue.decided(Stamp(1), &decision(DecisionKind::RunSpawned), false);
        assert!(events(&mut queue, 2 * AFTER).is_empty(), "somebody agreed");
        queue.decided(Stamp(0), &stopped, false);
        assert_eq!(events(&mut queue, AFTER), [NotifyEvent::HandoverHeld], "of the next run");
    }

    #[test]
    fn a_crash_in_a_turn_is_no_finished_turn() {
        let mut queue = queue();
        queue.state(Stamp(0), &is(SessionState::Busy));
        queue.state(Stamp(10), &blocked("question"));
        queue.decided(Stamp(20), &decision(DecisionKind::RunEnded), true);
        queue.state(Stamp(30), &is(SessionState::Starting));
        queue.state(Stamp(40), &is(SessionState::Idle));
        assert_eq!(events(&mut queue, AFTER + 40), [NotifyEvent::Crashed]);
    }

    #[test]
    fn an_end_is_told_at_once_unless_somebody_is_there_or_asked_for_it() {
        let mut queue = queue();
        assert!(queue.ended(Stamp(0), EndCause::CrashLoop, "It crashed.", false).is_some());
        assert!(queue.ended(Stamp(0), EndCause::Stopped, "Stopped.", false).is_none());
        let shutdown = queue.ended(Stamp(0), EndCause::Stopped, "Told to end.", true);
        assert_eq!(shutdown.unwrap().text, "Told to end.", "nobody asked for it in this session");
        queue.typed(Stamp(100));
        assert!(queue.ended(Stamp(200), EndCause::Finished, "Done.", false).is_none());
        assert!(queue.ended(Stamp(100 + AFTER), EndCause::Finished, "Done.", false).is_some());
    }

    #[test]
    fn quiet_hours_postpone_what_stays_true() {
        let mut queue = queue();
        queue.state(Stamp(0), &blocked("permission"));
        assert!(queue.due(Stamp(AFTER), Some(3_600_000)).is_empty());
        assert_eq!(queue.deadline(), Some(Stamp(AFTER + 3_600_000)));
        assert_eq!(events(&mut queue, AFTER + 3_600_000), [NotifyEvent::Blocked]);
    }

    #[test]
    fn quiet_hours_may_pass_midnight() {
        let at = |hours: u64, minutes: u64| (hours * 60 + minutes) * 60_000;
        let night: QuietHours = "22:00-07:30".parse().unwrap();
        assert_eq!(night.left(at(23, 0)), Some(at(8, 30)));
        assert_eq!(night.left(at(7, 29)), Some(at(0, 1)));
        assert_eq!((night.left(at(7, 30)), night.left(at(21, 59))), (None, None));
        let noon: QuietHours = "12:00-13:00".parse().unwrap();
        assert_eq!((noon.left(at(12, 0)), noon.left(at(13, 0))), (Some(at(1, 0)), None));
        assert_eq!(QuietHours::default().left(at(3, 0)), None);
    }

    #[test]
    fn events_that_are_off_are_not_queued() {
        let mut queue = NotificationQueue::new(DurationMs::from_ms(0), &[NotifyEvent::Idle]);
        queue.state(Stamp(0), &blocked("permission"));
        queue.decided(Stamp(0), &decision(DecisionKind::LimitReached), false);
        assert!(
            queue.deadline().is_none() && queue.ended(Stamp(0), EndCause::CrashLoop, "", false).is_none()
        );
    }
}
