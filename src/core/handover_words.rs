//! The next hand-over in one line for people.

use super::status_types::HandoverStatus;
use super::supervisor::next_handover::HandoverWhen;
use super::time::WallTime;

/// The next hand-over as of `now`.
pub fn handover_words(next: &HandoverStatus, now: WallTime) -> String {
    let why = &next.why;
    let at = next.at.map(|at| short(at.0.0.saturating_sub(now.0)));
    let or_at = |what: &str| at.as_ref().map(|at| format!(", {what} {at}")).unwrap_or_default();
    match next.when.known() {
        Some(HandoverWhen::Now) => format!("now ({why})"),
        Some(HandoverWhen::Tools) => format!("after the current tool calls ({why})"),
        Some(HandoverWhen::Turn) => format!("at the end of this turn ({why})"),
        Some(HandoverWhen::NextTurn) => format!("at the end of your next turn ({why})"),
        Some(HandoverWhen::Draft) => {
            format!("once you send or clear the draft in the prompt box{} ({why})", or_at("at the latest in"))
        }
        Some(HandoverWhen::Prompt) => match &at {
            Some(at) => format!("with your next prompt, or in {at} without a key press ({why})"),
            None => {
                format!("with your next prompt, or after a tool call if this turn goes on ({why})")
            }
        },
        Some(HandoverWhen::NextPrompt) => format!("with your next prompt ({why})"),
        Some(HandoverWhen::Asked) => {
            format!("hopty asks you first{} ({why})", or_at("and hands over without an answer in"))
        }
        Some(HandoverWhen::Snoozed) => format!("not yet{} ({why})", or_at("at the earliest in")),
        Some(HandoverWhen::Held) => format!("held{}: {why}", or_at("until a new attempt in")),
        Some(HandoverWhen::Off) => format!("off: {why}"),
        Some(HandoverWhen::Level) | None => why.clone(),
    }
}

/// A time until an event, in a few letters.
fn short(ms: i64) -> String {
    match ms.max(0).div_euclid(1000) {
        s @ 0..90 => format!("{s} s"),
        s @ 90..5400 => format!("{} min", (s + 30) / 60),
        s => format!("{} h", (s + 1800) / 3600),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_time_of_a_hand_over_has_a_line() {
        let now = WallTime::parse("2026-11-24T10:00:00.000Z").unwrap();
        let of = |when: &str, at: Value| {
            handover_words(
                &serde_json::from_value(
                    json!({"when": when, "why": "context 84 %, level handoff 80 %", "at": at}),
                )
                .unwrap(),
                now,
            )
        };
        let soon = || json!("2026-11-24T10:04:10.000Z");
        for (when, at, expected) in [
            (
                "prompt",
                soon(),
                "with your next prompt, or in 4 min without a key press (context 84 %, level handoff 80 %)",
            ),
            (
                "prompt",
                Value::Null,
                "with your next prompt, or after a tool call if this turn goes on (context 84 %, level handoff 80 %)",
            ),
            ("next_prompt", Value::Null, "with your next prompt (context 84 %, level handoff 80 %)"),
            ("turn", soon(), "at the end of this turn (context 84 %, level handoff 80 %)"),
            ("next_turn", Value::Null, "at the end of your next turn (context 84 %, level handoff 80 %)"),
            (
                "draft",
                json!("2026-11-24T10:00:58.000Z"),
                "once you send or clear the draft in the prompt box, at the latest in 58 s (context 84 %, level handoff 80 %)",
            ),
            ("snoozed", soon(), "not yet, at the earliest in 4 min (context 84 %, level handoff 80 %)"),
            ("held", soon(), "held, until a new attempt in 4 min: context 84 %, level handoff 80 %"),
            ("asked", Value::Null, "hopty asks you first (context 84 %, level handoff 80 %)"),
            ("off", Value::Null, "off: context 84 %, level handoff 80 %"),
            ("level", Value::Null, "context 84 %, level handoff 80 %"),
            ("a word of a newer host", Value::Null, "context 84 %, level handoff 80 %"),
        ] {
            assert_eq!(of(when, at), expected);
        }
    }
}
