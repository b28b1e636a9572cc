//! Claude's reports to its status line about the context window (measured on 2.0 to 2.1.329).

use serde_json::Value;

use crate::core::ids::ConversationId;
use crate::core::supervisor::limit_and_error_wait::LimitKind;
use crate::core::text::safe_text::cut_chars;

/// The longest title of a conversation, in characters.
const MAX_TITLE: usize = 100;
/// The longest name of a model, in bytes.
const MAX_MODEL: usize = 200;

/// The fields of one payload that hopty uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLine {
    pub conversation: ConversationId,
    /// Tokens of the last main-chain answer: input, cache read and cache creation. `None` before the first
    /// answer and after `/clear`; 0 right after a compaction.
    pub tokens: Option<u64>,
    /// The context window in tokens.
    pub window: Option<u64>,
    /// The model, without `[1m]`.
    pub model: Option<String>,
    /// The conversation's title, once Claude or the person set one.
    pub title: Option<String>,
    /// The cost of the process so far, in millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
    /// The usage limits of a subscription, as far as Claude reports them.
    pub limits: Vec<LimitUsed>,
}

/// How much of a usage limit is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitUsed {
    pub kind: LimitKind,
    pub percent: u64,
    /// When it resets, in seconds since 1970.
    pub resets: u64,
}

impl StatusLine {
    /// Reads a payload; `None` if it names no conversation.
    pub fn read(payload: &Value) -> Option<Self> {
        let window = &payload["context_window"];
        let usage = &window["current_usage"];
        let part = |name: &str| usage[name].as_u64().unwrap_or(0);
        let tokens = usage.is_object().then(|| {
            let cached = part("cache_creation_input_tokens").saturating_add(part("cache_read_input_tokens"));
            part("input_tokens").saturating_add(cached)
        });
        Some(StatusLine {
            conversation: payload["session_id"].as_str()?.parse().ok()?,
            tokens,
            window: window["context_window_size"].as_u64().filter(|window| *window > 0),
            model: payload["model"]["id"]
                .as_str()
                .filter(|id| !id.is_empty() && id.len() <= MAX_MODEL)
                .map(str::to_owned),
            title: payload["session_name"]
                .as_str()
                .filter(|name| !name.is_empty())
                .map(|name| cut_chars(name, MAX_TITLE)),
            cost_micro_usd: payload["cost"]["total_cost_usd"]
                .as_f64()
                .filter(|usd| (0.0..1e6).contains(usd))
                .map(|usd| (usd * 1e6).round() as u64),
            limits: limits(&payload["rate_limits"]),
        })
    }

    /// Keeps the limits of an earlier payload that this one does not report and that do not reset before
    /// `now`, in seconds since 1970. A process reports none before its first answer, and the refusal of an
    /// older Claude has no reset time.
    pub fn keep_limits(&mut self, earlier: &StatusLine, now: u64) {
        let kept = earlier
            .limits
            .iter()
            .filter(|old| old.resets > now && self.limits.iter().all(|new| new.kind != old.kind));
        let kept: Vec<LimitUsed> = kept.copied().collect();
        self.limits.extend(kept);
    }
}

fn limits(told: &Value) -> Vec<LimitUsed> {
    let used = |(name, kind): (&str, LimitKind)| {
        let percent = told[name]["used_percentage"].as_f64()?.clamp(0.0, 1000.0);
        Some(LimitUsed { kind, percent: percent.round() as u64, resets: told[name]["resets_at"].as_u64()? })
    };
    [("five_hour", LimitKind::FiveHour), ("seven_day", LimitKind::SevenDay)]
        .into_iter()
        .filter_map(used)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "0fecb9ce-931d-4a21-a015-578296e2e2f8";

    #[test]
    fn item_104_the_status_line_says_the_figure_by_claude_s_own_formula() {
        let usage = json!({"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 7,
            "cache_read_input_tokens": 1000});
        let of =
            |window: Value| StatusLine::read(&json!({"session_id": ID, "context_window": window})).unwrap();
        let read = of(json!({"context_window_size": 200_000, "current_usage": usage, "used_percentage": 1}));
        assert_eq!((read.tokens, read.window), (Some(1017), Some(200_000)));
        let named =
            |id: Value| StatusLine::read(&json!({"session_id": ID, "model": {"id": id}})).unwrap().model;
        assert_eq!(named(json!("claude-opus-4-8")).as_deref(), Some("claude-opus-4-8"));
        assert_eq!([named(json!("")), named(json!(7)), named(json!("x".repeat(201)))], [None, None, None]);
        let read = of(json!({"context_window_size": 0, "current_usage": null}));
        assert_eq!((read.tokens, read.window), (None, None));
        for odd in [
            json!(null),
            json!([]),
            json!({"context_window_size": "x", "current_usage": {"input_tokens": -1}}),
        ] {
            assert_eq!(of(odd).window, None);
        }
        assert_eq!(StatusLine::read(&json!({"session_id": "../x"})), None);
    }

    #[test]
    fn a_limit_is_known_until_its_reset_or_until_it_is_told_anew() {
        let of = |limits: Value| StatusLine::read(&json!({"session_id": ID, "rate_limits": limits})).unwrap();
        let used = |percent: u64, resets: u64| json!({"used_percentage": percent, "resets_at": resets});
        let earlier = of(json!({"five_hour": used(97, 1000), "seven_day": used(40, 9000)}));
        let kept = |mut line: StatusLine, now| {
            line.keep_limits(&earlier, now);
            line.limits.iter().map(|used| (used.kind, used.percent)).collect::<Vec<_>>()
        };
        let (five, seven) = (LimitKind::FiveHour, LimitKind::SevenDay);
        assert_eq!(kept(of(Value::Null), 999), [(five, 97), (seven, 40)], "a new process has had no answer");
        assert_eq!(kept(of(Value::Null), 1000), [(seven, 40)], "what is reset is no more");
        assert_eq!(kept(of(json!({"five_hour": used(2, 8000)})), 999), [(five, 2), (seven, 40)]);
    }

    #[test]
    fn the_limits_of_a_subscription() {
        let of = |limits: Value| {
            StatusLine::read(&json!({"session_id": ID, "rate_limits": limits})).unwrap().limits
        };
        let told = of(json!({"five_hour": {"used_percentage": 31.4, "resets_at": 1_795_204_344u64},
                "seven_day": {"used_percentage": 42}}));
        assert_eq!(told, [LimitUsed { kind: LimitKind::FiveHour, percent: 31, resets: 1_795_204_344 }]);
        for odd in [json!(null), json!([1]), json!({"five_hour": {"used_percentage": "x", "resets_at": -1}})]
        {
            assert_eq!(of(odd), []);
        }
    }
}
