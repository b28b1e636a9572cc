//! The requests that reached the stand-in API, and the log that keeps them.
//!
//! A test asks the log what the model received, and when; it waits on the log instead of sleeping. Only
//! [`ApiRequest::kind`] decides which requests are main requests and which come from a helper.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::http;

/// How many requests are kept; later ones are answered and counted but not kept.
pub const MAX_KEPT: usize = 4_000;

/// Who sent a request, which decides the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskerKind {
    /// The conversation itself: it has tools.
    Main,
    /// A sub-agent's loop (header `x-claude-code-agent-id`).
    Subagent,
    /// The summary for `/compact` or auto-compaction.
    Compact,
    /// A helper without tools: title, quota probe, small side question.
    Auxiliary,
    /// `POST /v1/messages/count_tokens`.
    CountTokens,
    Other,
}

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    pub kind: AskerKind,
    /// When its last byte arrived.
    pub at: Instant,
    /// `POST`, `GET`, ...
    pub method: String,
    /// Path with its query: `/v1/messages?beta=true`.
    pub target: String,
    /// Header fields; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, parsed; null when it is empty or not JSON.
    pub body: Value,
}

impl ApiRequest {
    pub(crate) fn new(method: &str, target: &str, headers: Vec<(String, String)>, body: Value) -> ApiRequest {
        let kind = kind(method, target, &headers, &body);
        ApiRequest {
            kind,
            at: Instant::now(),
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body,
        }
    }

    #[cfg(test)]
    pub(crate) fn for_test(target: &str, headers: &[(&str, &str)], body: Value) -> ApiRequest {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        ApiRequest::new("POST", target, headers, body)
    }

    /// A header's first value; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        http::header(&self.headers, name)
    }

    /// The conversation: `x-claude-code-session-id`, or for versions without it (2.0.x, 1.x) the end of
    /// `metadata.user_id`.
    pub fn session_id(&self) -> Option<&str> {
        self.header("x-claude-code-session-id").or_else(|| {
            let user = self.body.pointer("/metadata/user_id")?.as_str()?;
            user.rsplit_once("session_").map(|(_, id)| id)
        })
    }

    /// Whether the answer should be streamed.
    pub fn wants_stream(&self) -> bool {
        self.body.get("stream").and_then(Value::as_bool).unwrap_or(false)
    }

    /// The requested model; empty if none is named.
    pub fn model(&self) -> &str {
        self.body.get("model").and_then(Value::as_str).unwrap_or("")
    }

    /// Role and text of every message part in order: plain contents, text blocks and tool results.
    pub fn texts(&self) -> Vec<(&str, String)> {
        let mut texts = Vec::new();
        for message in self.messages() {
            let role = message.get("role").and_then(Value::as_str).unwrap_or("");
            match message.get("content") {
                Some(Value::String(text)) => texts.push((role, text.clone())),
                Some(Value::Array(blocks)) => {
                    texts.extend(blocks.iter().filter_map(|b| Some((role, block_text(b)?))))
                }
                _ => {}
            }
        }
        texts
    }

    /// Whether any message part contains `needle`.
    pub fn contains(&self, needle: &str) -> bool {
        self.texts().iter().any(|(_, text)| text.contains(needle))
    }

    /// The person's first prompt: the last text block of the first user message that is not a reminder by
    /// Claude itself (measured on 2.1.329: about nine of them precede it).
    pub fn first_prompt(&self) -> Option<String> {
        let first = self.messages().find(|m| m.get("role").and_then(Value::as_str) == Some("user"))?;
        match first.get("content")? {
            Value::String(text) => Some(text.clone()),
            Value::Array(blocks) => {
                let texts = blocks.iter().rev().filter_map(|b| b.get("text")?.as_str());
                texts.map(str::to_owned).find(|text| !text.starts_with("<system-reminder>"))
            }
            _ => None,
        }
    }

    /// The handoff id that the first prompt continues from, if it is a continuation prompt.
    pub fn continued_handoff(&self) -> Option<String> {
        let prompt = self.first_prompt()?;
        let (_, rest) = prompt.split_once("Continue from handoff ")?;
        let id: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        (!id.is_empty()).then_some(id)
    }

    /// How many messages of the model the conversation has so far.
    pub fn assistant_messages(&self) -> usize {
        self.messages().filter(|m| m.get("role").and_then(Value::as_str) == Some("assistant")).count()
    }

    /// Every tool call in the conversation so far: id, name, input.
    pub fn tool_uses(&self) -> Vec<(&str, &str, &Value)> {
        let of = |b: &'_ Value| b.get("type").and_then(Value::as_str) == Some("tool_use");
        self.blocks()
            .filter(|b| of(b))
            .filter_map(|b| Some((b.get("id")?.as_str()?, b.get("name")?.as_str()?, b.get("input")?)))
            .collect()
    }

    /// Every tool result in the conversation so far: id, text, whether it is an error.
    pub fn tool_results(&self) -> Vec<(&str, String, bool)> {
        self.blocks()
            .filter(|b| b.get("type").and_then(Value::as_str) == Some("tool_result"))
            .filter_map(|b| {
                let failed = b.get("is_error").and_then(Value::as_bool).unwrap_or(false);
                Some((b.get("tool_use_id")?.as_str()?, block_text(b).unwrap_or_default(), failed))
            })
            .collect()
    }

    fn messages(&self) -> impl Iterator<Item = &Value> {
        self.body.get("messages").and_then(Value::as_array).into_iter().flatten()
    }

    fn blocks(&self) -> impl Iterator<Item = &Value> {
        self.messages().filter_map(|m| m.get("content")?.as_array()).flatten()
    }
}

fn kind(method: &str, target: &str, headers: &[(String, String)], body: &Value) -> AskerKind {
    let path = target.split('?').next().unwrap_or("");
    match (method, path) {
        ("POST", "/v1/messages/count_tokens") => return AskerKind::CountTokens,
        ("POST", "/v1/messages") => {}
        _ => return AskerKind::Other,
    }
    // A summary request has the main loop's tools (to use the cache) and differs only in its last words.
    let last = body.get("messages").and_then(Value::as_array).and_then(|m| m.last());
    let asks_summary = last.is_some_and(|m| {
        let text = m.get("content").map(|c| match c {
            Value::String(s) => s.clone(),
            Value::Array(blocks) => blocks.iter().filter_map(block_text).next_back().unwrap_or_default(),
            _ => String::new(),
        });
        text.is_some_and(|t| t.contains("create a detailed summary of"))
    });
    if asks_summary {
        AskerKind::Compact
    } else if http::header(headers, "x-claude-code-agent-id").is_some() {
        AskerKind::Subagent
    } else if body.get("tools").and_then(Value::as_array).is_some_and(|t| !t.is_empty()) {
        AskerKind::Main
    } else {
        AskerKind::Auxiliary
    }
}

fn block_text(block: &Value) -> Option<String> {
    if let Some(text) = block.get("text").and_then(Value::as_str) {
        return Some(text.to_owned());
    }
    match block.get("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|p| p.get("text")?.as_str()).collect();
            Some(texts.join("\n"))
        }
        _ => None,
    }
}

/// All requests so far, shared between the server's threads and the test.
#[derive(Debug, Default)]
pub struct Log {
    kept: Mutex<Vec<Arc<ApiRequest>>>,
    changed: Condvar,
}

impl Log {
    pub(crate) fn push(&self, request: Arc<ApiRequest>) {
        let mut kept = self.lock();
        if kept.len() < MAX_KEPT {
            kept.push(request);
        }
        drop(kept);
        self.changed.notify_all();
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<Arc<ApiRequest>> {
        self.lock().clone()
    }

    /// The main requests.
    pub fn main_requests(&self) -> Vec<Arc<ApiRequest>> {
        self.lock().iter().filter(|r| r.kind == AskerKind::Main).cloned().collect()
    }

    /// The main requests of one conversation.
    pub fn requests_of(&self, session_id: &str) -> Vec<Arc<ApiRequest>> {
        self.lock()
            .iter()
            .filter(|r| r.kind == AskerKind::Main && r.session_id() == Some(session_id))
            .cloned()
            .collect()
    }

    /// Waits until `done` returns true for all requests so far; false on a timeout.
    pub fn wait_for(&self, timeout: Duration, mut done: impl FnMut(&[Arc<ApiRequest>]) -> bool) -> bool {
        let until = Instant::now() + timeout;
        let mut kept = self.lock();
        loop {
            if done(&kept) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            kept = self.changed.wait_timeout(kept, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until there were `n` main requests; false on a timeout.
    pub fn wait_for_main(&self, n: usize, timeout: Duration) -> bool {
        self.wait_for(timeout, |all| all.iter().filter(|r| r.kind == AskerKind::Main).count() >= n)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ApiRequest>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kinds_are_distinguished() {
        let kind = |target: &str, headers: &[(&str, &str)], body: Value| {
            ApiRequest::for_test(target, headers, body).kind
        };
        let tools = json!({"tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "hi"}]});
        assert_eq!(kind("/v1/messages?beta=true", &[], tools.clone()), AskerKind::Main);
        assert_eq!(kind("/v1/messages", &[("x-claude-code-agent-id", "a1")], tools), AskerKind::Subagent);
        assert_eq!(kind("/v1/messages", &[], json!({"tools": [], "messages": []})), AskerKind::Auxiliary);
        assert_eq!(kind("/v1/messages/count_tokens", &[], json!({})), AskerKind::CountTokens);
        assert_eq!(kind("/api/hello", &[], json!({})), AskerKind::Other);
        let summary = json!({"tools": [{}], "messages": [{"role": "user", "content": [
            {"type": "text", "text": "Your task is to create a detailed summary of the conversation so \
                                      far"}]}]});
        assert_eq!(kind("/v1/messages", &[], summary), AskerKind::Compact);
    }

    #[test]
    fn the_first_prompt_is_the_last_text_block() {
        let r = ApiRequest::for_test(
            "/v1/messages",
            &[("x-claude-code-session-id", "u")],
            json!({"messages": [
            {"role": "user", "content": [{"type": "text", "text": "<system-reminder>"},
                {"type": "text", "text": "do it"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash",
                "input": {"command": "ls"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt",
                "is_error": false}]}]}),
        );
        assert_eq!(r.first_prompt().as_deref(), Some("do it"));
        assert_eq!(r.session_id(), Some("u"));
        assert_eq!(r.assistant_messages(), 1);
        assert_eq!(r.tool_uses()[0].1, "Bash");
        assert_eq!(r.tool_results(), vec![("t1", "a.txt".to_owned(), false)]);
        assert!(r.contains("a.txt") && !r.contains("b.txt"));
        assert_eq!(r.continued_handoff(), None);
    }

    #[test]
    fn invalid_bodies_do_not_panic() {
        for body in [
            json!(null),
            json!([]),
            json!({"messages": 5}),
            json!({"messages": [null, {"content": [1, {"text": 2}]}]}),
        ] {
            let r = ApiRequest::for_test("/v1/messages", &[], body);
            assert!(r.texts().is_empty() && r.first_prompt().is_none() && r.tool_results().is_empty());
        }
    }

    #[test]
    fn waiting_ends_with_the_request_or_the_time() {
        let log = Arc::new(Log::default());
        assert!(!log.wait_for_main(1, Duration::from_millis(10)));
        let other = Arc::clone(&log);
        let thread = std::thread::spawn(move || other.wait_for_main(1, Duration::from_secs(20)));
        log.push(Arc::new(ApiRequest::for_test("/v1/messages", &[], json!({"tools": [{}]}))));
        assert!(thread.join().unwrap());
    }
}
