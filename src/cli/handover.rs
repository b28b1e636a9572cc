//! When the next hand-over comes, in one line for people.

use serde_json::Value;

use super::error::visible;
use crate::core::time::WallTime;

/// The line of `next_handover` in a session object at the time `now`; `None` where the host says nothing of it.
pub(super) fn line(next: &Value, now: WallTime) -> Option<String> {
    let (when, why) = (next["when"].as_str()?, visible(next["why"].as_str().unwrap_or_default()));
    let at = next["at"].as_str().and_then(WallTime::parse).map(|at| short(at.0.saturating_sub(now.0)));
    let or_at = |what: &str| at.as_ref().map(|at| format!(", {what} {at}")).unwrap_or_default();
    Some(match when {
        "now" => format!("now ({why})"),
        "tools" => format!("after the tools that run now ({why})"),
        "turn" => format!("at the end of this turn ({why})"),
        "prompt" => match &at {
            Some(at) => format!("with your next prompt, or in {at} if nobody types ({why})"),
            None => format!("with your next prompt after this turn ({why})"),
        },
        "asked" => format!("Claude asks you first{} ({why})", or_at("and it comes by itself in")),
        "level" => why,
        "snoozed" => format!("not yet{} ({why})", or_at("at the earliest in")),
        "off" => format!("off: {why}"),
        _ => why,
    })
}

/// A time to come in a few letters.
fn short(ms: i64) -> String {
    match ms.max(0).div_euclid(1000) {
        s @ 0..90 => format!("{s} s"),
        s @ 90..5400 => format!("{} min", (s + 30) / 60),
        s => format!("{} h", (s + 1800) / 3600),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_word_is_a_line() {
        let now = WallTime::parse("2026-11-24T10:00:00.000Z").unwrap();
        let of =
            |when: &str, at: Value| line(&json!({"when": when, "why": "context 84 %, level handoff 80 %", "at": at}), now).unwrap();
        let soon = || json!("2026-11-24T10:04:10.000Z");
        for (when, at, expected) in [
            ("prompt", soon(), "with your next prompt, or in 4 min if nobody types (context 84 %, level handoff 80 %)"),
            ("prompt", Value::Null, "with your next prompt after this turn (context 84 %, level handoff 80 %)"),
            ("turn", soon(), "at the end of this turn (context 84 %, level handoff 80 %)"),
            ("snoozed", soon(), "not yet, at the earliest in 4 min (context 84 %, level handoff 80 %)"),
            ("asked", Value::Null, "Claude asks you first (context 84 %, level handoff 80 %)"),
            ("off", Value::Null, "off: context 84 %, level handoff 80 %"),
            ("level", Value::Null, "context 84 %, level handoff 80 %"),
        ] {
            assert_eq!(of(when, at), expected);
        }
        assert_eq!(line(&Value::Null, now), None, "a host of an older version");
    }
}
