//! Why a session is in its state, in a sentence or two: the state, the last decision if it is still relevant,
//! and the step of a hand-over.

use super::context_level::Fill;
use super::handover_words::handover_words;
use super::status_types::SessionStatus;
use super::supervisor::action::{Decision, DecisionKind, RestartBy};
use super::supervisor::handover_step::HandoverStep;
use super::supervisor::next_handover::HandoverWhen;
use super::supervisor::reported_state::SessionState;
use super::time::{WallTime, age};

/// How long a session must be idle before that comes first, in ms.
const IDLE_MS: i64 = 60_000;
/// How long the conversation after a hand-over is new, in ms.
const NEW_MS: i64 = 300_000;

/// The last decision, and the hand-over that it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    sentence: String,
    /// Who requested the last hand-over.
    by: Option<RestartBy>,
    /// The context usage at the safe point and the requester, such as ` at 90 %, as requested`; empty if
    /// neither is known.
    occasion: Option<String>,
    /// When the fresh conversation answered; cleared when its run ends.
    handed_over: Option<WallTime>,
    /// Why the next run gets no handoff; cleared when the run before it has ended.
    skipped: Option<String>,
    /// The decision only says that the session started.
    begins: bool,
    /// The decision only requests a hand-over.
    requests: bool,
    /// The decision ends a hand-over.
    ends_handover: bool,
    /// A turn has begun since.
    is_old: bool,
    /// Whether Claude was working at the last note; `None` if it has never worked.
    works: bool,
    has_worked: bool,
}

impl Explanation {
    /// Takes a decision with the context usage at that moment. `restored`: the session continues the
    /// conversation of one that died.
    pub fn take(&mut self, decision: &Decision, fill: Fill, restored: bool, now: WallTime) {
        match decision.kind {
            DecisionKind::HandoffConsumed => self.handed_over = self.occasion.as_ref().map(|_| now),
            DecisionKind::RunEnded => self.handed_over = None,
            DecisionKind::RestartRequested => self.by = decision.by,
            DecisionKind::SafePointReached => self.occasion = Some(occasion(fill, self.by)),
            DecisionKind::HandoffSkipped => self.skipped = Some(decision.sentence.clone()),
            _ => {}
        }
        if !decision.kind.explains() {
            return;
        }
        self.is_old = false;
        self.begins = decision.kind == DecisionKind::SessionStarted && !restored;
        self.requests = decision.kind == DecisionKind::RestartRequested;
        self.ends_handover = decision.kind == DecisionKind::HandoffConsumed && self.occasion.is_some();
        self.sentence = match (decision.kind, &self.occasion, &decision.handoff) {
            (DecisionKind::SessionStarted, ..) if restored => {
                "The session died, and `hopty restore` resumed its conversation.".to_owned()
            }
            (DecisionKind::HandoffConsumed, Some(occasion), handoff) => {
                let handoff = handoff.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
                format!("Handed over{occasion}{handoff}; the fresh conversation has answered.")
            }
            (DecisionKind::HandoffConsumed, None, Some(handoff)) => {
                format!("The conversation continued from handoff {handoff} and has answered.")
            }
            // The end of the run says less than why the next one begins without a handoff.
            (DecisionKind::RunEnded, ..) => self.skipped.take().unwrap_or_else(|| decision.sentence.clone()),
            _ => decision.sentence.clone(),
        };
    }

    /// The last decision that explains something, in its own words or as the end of a hand-over.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Whether a hand-over has begun this conversation, in the last minutes. `step`: the step of a hand-over.
    pub fn is_new_conversation(&self, step: Option<&HandoverStep>, now: WallTime) -> bool {
        let is_recent = |at: WallTime| now.0.saturating_sub(at.0) < NEW_MS;
        self.occasion.is_some() && step.is_some_and(HandoverStep::is_done)
            || self.handed_over.is_some_and(is_recent)
    }

    /// Takes the session's state: when a turn begins, the last decision is no longer relevant.
    pub fn note(&mut self, state: SessionState) {
        let works = match state {
            SessionState::Busy => true,
            // A dialog in the middle of a turn.
            SessionState::Blocked => self.works,
            _ => false,
        };
        self.is_old |= works && !self.works;
        self.works = works;
        self.has_worked |= works;
    }

    /// Explains the state. `step`: the step of a hand-over; `continues`: when hopty submits a prompt after a
    /// limit that has reset; `interrupted`: the person stopped the last turn; `moment` formats a time.
    pub fn of(
        &self,
        status: &SessionStatus,
        step: Option<&HandoverStep>,
        continues: Option<WallTime>,
        interrupted: bool,
        now: WallTime,
        moment: impl Fn(WallTime) -> String,
    ) -> String {
        let lasts = status.state_since.map_or(0, |at| now.0.saturating_sub(at.0.0));
        let state = match (step, status.state.known()) {
            (_, Some(SessionState::Blocked)) => blocked(status, lasts, &moment),
            (_, Some(SessionState::Stopped)) => {
                status.continue_hint().map(|way| format!("Suspended for {}: {way}.", age(lasts)))
            }
            (Some(_), _) => None,
            (None, Some(SessionState::Idle)) if self.is_old || lasts >= IDLE_MS => {
                let why = match self.has_worked {
                    true if interrupted => "you interrupted Claude",
                    true => "Claude finished its turn",
                    false => "Claude waits for a prompt",
                };
                Some(format!("Idle for {}: {why}.", age(lasts)))
            }
            (None, Some(SessionState::Busy)) if self.is_old => {
                Some(format!("Busy for {}: Claude works on a prompt.", age(lasts)))
            }
            _ => None,
        };
        let last = match continues.filter(|_| status.waiting_for.as_deref() == Some("usage_limit")) {
            Some(at) => format!(
                "The limit has reset; Claude continues by itself, or hopty submits a prompt at {}.",
                moment(at)
            ),
            None => self.words(step),
        };
        let mut parts = match state {
            None => vec![last],
            Some(state) if step.is_none() && (self.is_old || self.begins) => vec![state],
            Some(state) if continues.is_some() => vec![state, last],
            Some(state) => vec![state, format!("The last decision: {last}")],
        };
        let next = status.next_handover.as_ref().filter(|next| match next.when.known() {
            None | Some(HandoverWhen::Level | HandoverWhen::Now) => false,
            Some(HandoverWhen::Asked) => true,
            Some(_) => self.is_old || self.requests,
        });
        parts.extend(next.map(|next| format!("Hand-over: {}.", handover_words(next, now))));
        parts.extend(status.draft.iter().map(|draft| format!("The prompt box holds a draft: \"{draft}\".")));
        parts.join(" ")
    }

    /// The last decision with the step of a hand-over.
    fn words(&self, step: Option<&HandoverStep>) -> String {
        match (step, &self.occasion) {
            (None, _) if self.ends_handover && self.handed_over.is_some() => {
                format!("{} `hopty back` returns to the conversation before.", self.sentence)
            }
            (None, _) => self.sentence.clone(),
            (Some(step), None) => format!("Continuing from a handoff: {}.", step.words()),
            (Some(step), Some(occasion)) if step.is_done() => {
                format!("Handed over{occasion}; {}.", step.words())
            }
            (Some(step), Some(occasion)) => format!("Handing over{occasion}: {}.", step.words()),
        }
    }
}

/// What a blocked session waits for, how long it has waited, and how to answer.
fn blocked(status: &SessionStatus, lasts: i64, moment: impl Fn(WallTime) -> String) -> Option<String> {
    let what = status.blocked_on(moment)?;
    let answer = status.unblock_hint().map(|hint| format!(" {hint}.")).unwrap_or_default();
    Some(format!("Blocked on {what} for {}.{answer}", age(lasts)))
}

fn occasion(fill: Fill, by: Option<RestartBy>) -> String {
    let usage = match (fill.window, fill.bytes) {
        (0, 0) => None,
        (0, bytes) => Some(format!("at {} KiB of transcript", bytes.div_ceil(1024))),
        _ => Some(format!("at {} %", fill.percent())),
    };
    let who = match by {
        Some(RestartBy::Command) => Some("as requested".to_owned()),
        Some(RestartBy::Signal) => Some("as a signal file requested".to_owned()),
        Some(RestartBy::Level) | None => None,
    };
    let words: Vec<String> = usage.into_iter().chain(who).collect();
    if words.is_empty() { String::new() } else { format!(" {}", words.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Fill = Fill { tokens: 90_000, window: 100_000, bytes: 2048 };

    fn decision(kind: DecisionKind, by: Option<RestartBy>) -> Decision {
        Decision {
            kind,
            run: 1,
            by,
            level: None,
            handoff: Some("HO-20261120-142950-c74cc080".parse().unwrap()),
            conversation: None,
            cause: None,
            held: false,
            sentence: format!("Decided {kind:?}."),
            because: Vec::new(),
        }
    }

    fn after(steps: &[(DecisionKind, Option<RestartBy>)], fill: Fill) -> Explanation {
        let mut explanation = Explanation::default();
        for (kind, by) in steps {
            explanation.take(&decision(*kind, *by), fill, false, WallTime(1_000));
        }
        explanation
    }

    #[test]
    fn a_hand_over_is_explained_from_its_safe_point_to_its_answer() {
        use DecisionKind as K;
        let level = Some(RestartBy::Level);
        let requested = after(&[(K::RestartRequested, level)], HALF);
        assert_eq!(requested.words(None), "Decided RestartRequested.");
        let saved = after(&[(K::RestartRequested, level), (K::SafePointReached, level)], HALF);
        assert_eq!(
            saved.words(Some(&HandoverStep::Saving)),
            "Handing over at 90 %: hopty saves the handoff."
        );
        let dialog = HandoverStep::Delivering { dialog: Some("trust".to_owned()) };
        assert_eq!(
            saved.words(Some(&dialog)),
            "Handing over at 90 %: Claude shows a dialog (trust), and hopty types the prompt once you answer it."
        );
        assert_eq!(
            saved.words(Some(&HandoverStep::Unanswered)),
            "Handed over at 90 %; the fresh conversation has its prompt and has not answered yet."
        );
        let fresh = [(K::RestartRequested, None), (K::HandoffSkipped, None), (K::RunEnded, None)];
        assert_eq!(after(&fresh, HALF).words(None), "Decided HandoffSkipped.");
        let again = [&fresh[..], &[(K::RunEnded, None)]].concat();
        assert_eq!(after(&again, HALF).words(None), "Decided RunEnded.");
        let steps = [(K::RestartRequested, level), (K::SafePointReached, level), (K::HandoffConsumed, None)];
        let mut fresh = after(&steps, HALF);
        assert_eq!(
            fresh.words(None),
            "Handed over at 90 % (HO-20261120-142950-c74cc080); the fresh conversation has answered. \
             `hopty back` returns to the conversation before."
        );
        assert!(!fresh.sentence().contains("hopty back"), "a session that has ended cannot go back");
        let is_new = |session: &Explanation, ms| session.is_new_conversation(None, WallTime(ms));
        assert!(is_new(&fresh, 300_000) && !is_new(&fresh, 301_000));
        assert!(saved.is_new_conversation(Some(&HandoverStep::Unanswered), WallTime(0)));
        assert!(!saved.is_new_conversation(Some(&HandoverStep::Saving), WallTime(0)));
        fresh.take(&decision(K::RunEnded, None), HALF, false, WallTime(2_000));
        assert!(!is_new(&fresh, 2_000), "`hopty back`");
        assert!(!is_new(&after(&[(K::HandoffConsumed, None)], HALF), 1_000), "a handoff that was loaded");
    }

    #[test]
    fn who_wanted_it_is_told_and_a_size_where_no_window_is_known() {
        use DecisionKind as K;
        let told = |by, fill| {
            after(&[(K::RestartRequested, by), (K::SafePointReached, by), (K::HandoffConsumed, None)], fill)
                .sentence()
                .to_owned()
        };
        let answered = " (HO-20261120-142950-c74cc080); the fresh conversation has answered.";
        let command = told(Some(RestartBy::Command), HALF);
        assert_eq!(command, format!("Handed over at 90 %, as requested{answered}"));
        let signal = told(Some(RestartBy::Signal), Fill { window: 0, ..HALF });
        assert_eq!(
            signal,
            format!("Handed over at 2 KiB of transcript, as a signal file requested{answered}")
        );
        let unknown = Fill { tokens: 0, window: 0, bytes: 0 };
        assert_eq!(told(Some(RestartBy::Command), unknown), format!("Handed over as requested{answered}"));
        assert_eq!(told(Some(RestartBy::Level), unknown), format!("Handed over{answered}"));
        assert_eq!(
            after(&[(K::HandoffConsumed, None)], HALF).words(None),
            "The conversation continued from handoff HO-20261120-142950-c74cc080 and has answered."
        );
    }

    fn told(explanation: &Explanation, object: serde_json::Value) -> String {
        let mut status = SessionStatus::from_json(object).unwrap();
        status.name = "rocket".to_owned();
        status.state_since = Some(crate::core::status_types::Rfc3339(WallTime(1_000)));
        explanation.of(&status, None, None, false, WallTime(15_000), WallTime::plain)
    }

    #[test]
    fn a_decision_is_outdated_after_the_next_turn_begins() {
        use SessionState::{Blocked, Busy, Idle};
        use serde_json::json;
        let mut session = after(&[(DecisionKind::SessionStarted, None)], HALF);
        let idle = json!({"state": "idle"});
        session.note(Idle);
        assert_eq!(told(&session, idle.clone()), "Decided SessionStarted.");
        session.note(Busy);
        assert_eq!(told(&session, json!({"state": "busy"})), "Busy for 14 s: Claude works on a prompt.");
        // An answer on the dashboard, in the middle of a turn.
        session.note(Blocked);
        session.take(&decision(DecisionKind::DialogAnswered, None), HALF, false, WallTime(0));
        session.note(Busy);
        session.note(Idle);
        assert_eq!(told(&session, idle.clone()), "Decided DialogAnswered.");
        session.note(Busy);
        session.note(Idle);
        assert_eq!(told(&session, idle.clone()), "Idle for 14 s: Claude finished its turn.");
        let interrupted = SessionStatus::from_json(idle).unwrap();
        let why = session.of(&interrupted, None, None, true, WallTime(15_000), WallTime::plain);
        assert!(why.starts_with("Idle for ") && why.ends_with(": you interrupted Claude."), "{why}");
        let snoozed = json!({"state": "idle", "draft": "half a thought", "next_handover":
            {"when": "snoozed", "why": "you snoozed it", "at": "1970-01-01T00:05:00.000Z"}});
        assert_eq!(
            told(&session, snoozed),
            "Idle for 14 s: Claude finished its turn. Hand-over: not yet, at the earliest in 5 min (you snoozed \
             it). The prompt box holds a draft: \"half a thought\"."
        );
    }

    #[test]
    fn a_suspended_session_says_how_it_continues() {
        use serde_json::json;
        let mut session = after(&[(DecisionKind::SessionStarted, None)], HALF);
        let mut stopped = json!({"state": "stopped", "clients": [
            {"id": 1, "tty": "/dev/pts/9", "via": "fd"},
            {"id": 2, "tty": "/dev/pts/8", "via": "none", "leader": true}]});
        let suspended = "Suspended for 14 s: `fg` in /dev/pts/8 or `hopty attach rocket` continues it.";
        assert_eq!(told(&session, stopped.clone()), suspended);
        stopped["clients"][1]["via"] = json!("fd");
        session.take(&decision(DecisionKind::RestartCancelled, None), HALF, false, WallTime(0));
        assert_eq!(
            told(&session, stopped),
            "Suspended for 14 s: `hopty attach rocket` continues it. The last decision: Decided RestartCancelled."
        );
    }

    #[test]
    fn a_requested_hand_over_says_when_it_comes() {
        let mut session = after(&[(DecisionKind::RestartRequested, Some(RestartBy::Command))], HALF);
        let busy = serde_json::json!({"state": "busy", "next_handover": {"when": "turn", "why": "as requested", "at": null}});
        assert_eq!(
            told(&session, busy.clone()),
            "Decided RestartRequested. Hand-over: at the end of this turn (as requested)."
        );
        session.take(&decision(DecisionKind::RestartCancelled, None), HALF, false, WallTime(0));
        assert_eq!(told(&session, busy), "Decided RestartCancelled.");
    }

    #[test]
    fn a_blocked_session_says_on_what_and_how_it_is_answered() {
        use serde_json::json;
        let session = after(&[(DecisionKind::SessionStarted, None)], HALF);
        assert_eq!(
            told(&session, json!({"state": "blocked", "waiting_for": "trust"})),
            "Blocked on trust dialog for 14 s. `hopty attach rocket` answers it."
        );
        assert_eq!(
            told(
                &session,
                json!({"state": "blocked", "waiting_for": "unknown", "waiting_subject": "Surprise?"})
            ),
            "Blocked on a dialog (Surprise?) for 14 s. `hopty attach rocket` answers it."
        );
        let limit = after(&[(DecisionKind::LimitReached, None)], HALF);
        assert_eq!(
            told(&limit, json!({"state": "blocked", "waiting_for": "usage_limit"})),
            "Blocked on usage limit for 14 s. The last decision: Decided LimitReached.",
            "which nobody answers"
        );
        let status = json!({"state": "blocked", "waiting_for": "usage_limit"});
        let status = SessionStatus::from_json(status).unwrap();
        let why = limit.of(&status, None, Some(WallTime(60_000)), false, WallTime(15_000), WallTime::plain);
        assert!(
            why.ends_with(
                ". The limit has reset; Claude continues by itself, or hopty submits a prompt at \
                 1970-01-01 00:01:00."
            ),
            "{why}"
        );
    }

    #[test]
    fn what_explains_nothing_changes_nothing_and_a_restored_session_says_so() {
        use DecisionKind as K;
        let steps = [(K::SessionStarted, None), (K::ClientAttached, None)];
        assert_eq!(after(&steps, HALF).words(None), "Decided SessionStarted.");
        let mut restored = Explanation::default();
        restored.take(&decision(K::SessionStarted, None), HALF, true, WallTime(0));
        assert!(restored.sentence().contains("`hopty restore` resumed"), "{restored:?}");
    }
}
