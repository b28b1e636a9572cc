//! The agent's reaction to an API error: the message on the screen, the transcript line, the StopFailure
//! payload. All as measured on 2.1.329 (error table and usage limits).

use serde_json::{Value, json};
use uuid::Uuid;

use super::super::http::header;
use super::model_client::ModelFailure;

/// An API error in the agent's words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ApiErrorReport {
    /// The message on the screen.
    pub(super) text: String,
    /// The `error` field of hook and transcript.
    error: &'static str,
    status: Option<u16>,
    kind: String,
    limit: Option<Value>,
}

impl ApiErrorReport {
    /// Describes a failure. Usage limits exist only for subscriptions; with an API key their headers are
    /// ignored.
    pub(super) fn new(failure: &ModelFailure, subscription: bool) -> ApiErrorReport {
        let (status, kind, message, headers) = match failure {
            ModelFailure::Api { status, kind, message, headers } => {
                (*status, kind.clone(), message.as_str(), headers.as_slice())
            }
            ModelFailure::Connection(text) => {
                return ApiErrorReport::plain("server_error", format!("API Error: {text}"));
            }
            ModelFailure::Interrupted(_) => {
                return ApiErrorReport::plain("unknown", "Interrupted".to_owned());
            }
        };
        let rejected = header(headers, "anthropic-ratelimit-unified-status") == Some("rejected");
        if status == 429 && subscription && rejected {
            return ApiErrorReport::limit(kind, headers);
        }
        let (error, text) = match status {
            401 => ("authentication_failed", format!("Please run /login · API Error: 401 {message}")),
            413 => ("invalid_request", "Request too large (max 32MB).".to_owned()),
            429 => ("rate_limit", format!("API Error: Request rejected (429) · {message}")),
            500.. => (
                "server_error",
                format!(
                    "API Error: {status} {message}. This is a server-side issue, usually temporary — try \
                     again in a moment."
                ),
            ),
            _ if message.contains("prompt is too long") => {
                ("invalid_request", "Prompt is too long".to_owned())
            }
            _ => ("unknown", format!("API Error: {status} {message}")),
        };
        ApiErrorReport { text, error, status: Some(status), kind, limit: None }
    }

    fn plain(error: &'static str, text: String) -> ApiErrorReport {
        ApiErrorReport { text, error, status: None, kind: String::new(), limit: None }
    }

    fn limit(kind: String, headers: &[(String, String)]) -> ApiErrorReport {
        let claim =
            header(headers, "anthropic-ratelimit-unified-representative-claim").unwrap_or("five_hour");
        let resets = header(headers, "anthropic-ratelimit-unified-reset")
            .and_then(|v| v.parse::<i64>().ok())
            .unwrap_or(0);
        let at = chrono::DateTime::from_timestamp(resets, 0).map(|t| t.format("%-I:%M%P (UTC)").to_string());
        let name = if claim == "seven_day" { "weekly" } else { "5-hour" };
        let limit = json!({"status": "rejected", "resetsAt": resets, "rateLimitType": claim,
            "overageStatus": "rejected",
            "overageDisabledReason": "org_level_disabled", "isUsingOverage": false});
        let text = format!("You've hit your {name} limit · resets {}", at.unwrap_or_default());
        ApiErrorReport { text, error: "rate_limit", status: Some(429), kind, limit: Some(limit) }
    }

    /// The transcript line: an answer without a model and tokens.
    pub(super) fn line(&self) -> Value {
        let usage = json!({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0});
        let message = json!({"id": Uuid::new_v4().to_string(), "model": "<synthetic>", "role": "assistant",
            "type": "message",
            "stop_reason": "stop_sequence", "stop_sequence": "", "usage": usage,
            "content": [{"type": "text", "text": self.text}]});
        let mut line = json!({"message": message, "error": self.error, "isApiErrorMessage": true});
        if let Some(status) = self.status {
            line["apiErrorStatus"] = json!(status);
            line["apiErrorType"] = json!(self.kind);
        }
        if let Some(limit) = &self.limit {
            line["apiError"] = json!("usage_limit_reached");
            line["apiErrorParams"] = json!({"rate_limit_info": limit});
            line["quotaLimits"] = limit.clone();
        }
        line
    }

    /// The payload of StopFailure hooks.
    pub(super) fn payload(&self) -> Value {
        json!({"error": self.error, "last_assistant_message": self.text})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(status: u16, headers: &[(&str, &str)]) -> ModelFailure {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        ModelFailure::Api { status, kind: "k".into(), message: "msg".into(), headers }
    }

    #[test]
    fn errors_have_the_measured_words() {
        let of = |status| ApiErrorReport::new(&api(status, &[]), false);
        assert_eq!((of(400).error, of(400).text.as_str()), ("unknown", "API Error: 400 msg"));
        assert_eq!(
            (of(401).error, of(429).error, of(529).error),
            ("authentication_failed", "rate_limit", "server_error")
        );
        assert_eq!(of(529).line()["apiErrorStatus"], 529);
        assert_eq!(of(529).line()["message"]["model"], "<synthetic>");
    }

    #[test]
    fn a_usage_limit_names_its_reset_only_with_a_subscription() {
        let failure = api(
            429,
            &[
                ("anthropic-ratelimit-unified-status", "rejected"),
                ("anthropic-ratelimit-unified-reset", "1795204320"),
                ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
            ],
        );
        let report = ApiErrorReport::new(&failure, true);
        assert_eq!(report.text, "You've hit your 5-hour limit · resets 7:52pm (UTC)");
        assert_eq!(report.line()["quotaLimits"]["resetsAt"], 1_795_204_320);
        assert_eq!(ApiErrorReport::new(&failure, false).line().get("quotaLimits"), None);
    }
}
