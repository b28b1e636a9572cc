//! A client of the Messages API: one request, its streamed answer, retries.

use std::io::{BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::http::{self, HttpError, HttpHead};
use super::agent_shared::lock;
use super::options::VERSION;

/// Lets another thread end the current turn: a request, or a pause between retries.
#[derive(Default)]
pub(super) struct Cancel {
    tripped: AtomicBool,
    closed: AtomicBool,
    stream: Mutex<Option<TcpStream>>,
    waiting: Mutex<()>,
    changed: Condvar,
}

impl Cancel {
    pub(super) fn trip(&self) {
        self.tripped.store(true, Ordering::SeqCst);
        if let Some(stream) = lock(&self.stream).as_ref() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(lock(&self.waiting));
        self.changed.notify_all();
    }

    /// Ends it permanently: no further turn can start.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.trip();
    }

    /// Whether it was ended permanently.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Starts a new turn.
    pub(super) fn reset(&self) {
        self.tripped.store(false, Ordering::SeqCst);
    }

    /// Whether the current turn was ended.
    pub(super) fn is_tripped(&self) -> bool {
        self.tripped.load(Ordering::SeqCst) || self.is_closed()
    }

    fn pause(&self, length: Duration) {
        let until = Instant::now() + length;
        let mut guard = lock(&self.waiting);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.is_tripped() || left.is_zero() {
                return;
            }
            guard = self.changed.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelMessage {
    /// `msg_...`.
    pub(super) id: String,
    /// The model that answered.
    pub(super) model: String,
    /// Text and tool_use blocks.
    pub(super) content: Vec<Value>,
    /// `end_turn`, `tool_use`, ...
    pub(super) stop_reason: Value,
    pub(super) usage: Value,
    /// The `request-id` header of the answer.
    pub(super) request_id: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ModelFailure {
    /// The turn was interrupted; these text blocks had arrived.
    Interrupted(Vec<Value>),
    /// The API returned an error.
    Api {
        status: u16,
        /// `error.type`.
        kind: String,
        /// `error.message`.
        message: String,
        /// The headers of the answer.
        headers: Vec<(String, String)>,
    },
    /// The API could not be reached.
    Connection(String),
}

#[derive(Clone, Debug)]
pub(super) struct ModelClient {
    address: String,
    credential: (String, String),
    retries: u32,
}

impl ModelClient {
    /// Reads `ANTHROPIC_BASE_URL`, the credential and `CLAUDE_CODE_MAX_RETRIES`.
    pub(super) fn from_env() -> ModelClient {
        let var = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let url = var("ANTHROPIC_BASE_URL").unwrap_or_default();
        let address = url.strip_prefix("http://").unwrap_or("").split('/').next().unwrap_or("").to_owned();
        let credential = match var("CLAUDE_CODE_OAUTH_TOKEN") {
            Some(token) => ("authorization".to_owned(), format!("Bearer {token}")),
            None => ("x-api-key".to_owned(), var("ANTHROPIC_API_KEY").unwrap_or_default()),
        };
        let retries = var("CLAUDE_CODE_MAX_RETRIES").and_then(|n| n.parse().ok()).unwrap_or(10);
        ModelClient { address, credential, retries }
    }

    /// Whether a subscription is used, which has usage limits.
    pub(super) fn has_subscription(&self) -> bool {
        self.credential.0 == "authorization"
    }

    /// Sends a request, with retries after 0.5, 1, 2, ... 32 s if the failure may be temporary (measured:
    /// 0.5, 1.1, 2.3 s).
    pub(super) fn ask(
        &self,
        body: &Value,
        session: &str,
        cancel: &Cancel,
    ) -> Result<ModelMessage, ModelFailure> {
        let mut tried = 0;
        loop {
            let failure = match self.ask_once(body, session, cancel) {
                Err(failure) if !cancel.is_tripped() => failure,
                Err(ModelFailure::Interrupted(blocks)) => return Err(ModelFailure::Interrupted(blocks)),
                Err(_) => return Err(ModelFailure::Interrupted(Vec::new())),
                Ok(message) => return Ok(message),
            };
            if tried >= self.retries || !self.may_pass(&failure) {
                return Err(failure);
            }
            cancel.pause(Duration::from_millis(500 << tried.min(6)));
            tried += 1;
        }
    }

    fn may_pass(&self, failure: &ModelFailure) -> bool {
        match failure {
            ModelFailure::Interrupted(_) => false,
            ModelFailure::Connection(_) => true,
            ModelFailure::Api { status: 429, headers, .. } => {
                let wait =
                    http::header(headers, "retry-after").and_then(|v| v.parse::<u64>().ok()).unwrap_or(0);
                let limit = http::header(headers, "anthropic-ratelimit-unified-status") == Some("rejected");
                wait < 60 && !(limit && self.has_subscription())
            }
            ModelFailure::Api { status, .. } => matches!(status, 401 | 408 | 500..),
        }
    }

    fn ask_once(&self, body: &Value, session: &str, cancel: &Cancel) -> Result<ModelMessage, ModelFailure> {
        let failed = |e: HttpError| ModelFailure::Connection(e.to_string());
        let io = |e: std::io::Error| ModelFailure::Connection(e.to_string());
        if cancel.is_tripped() {
            return Err(ModelFailure::Interrupted(Vec::new()));
        }
        let mut stream = TcpStream::connect(&self.address).map_err(io)?;
        *lock(&cancel.stream) = stream.try_clone().ok();
        if cancel.is_tripped() {
            return Err(ModelFailure::Interrupted(Vec::new()));
        }
        let body = body.to_string();
        let head = format!(
            "POST /v1/messages?beta=true HTTP/1.1\r\nhost: {}\r\n{}: {}\r\nuser-agent: claude-cli/{VERSION} \
             (stand-in)\r\n\
             accept: application/json\r\ncontent-type: application/json\r\nanthropic-version: \
             2023-06-01\r\nx-app: cli\r\n\
             x-claude-code-session-id: {session}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            self.address,
            self.credential.0,
            self.credential.1,
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).map_err(io)?;
        let mut input = BufReader::new(stream);
        let head = http::read_head(&mut input)
            .map_err(failed)?
            .ok_or_else(|| ModelFailure::Connection("no answer".into()))?;
        let chunked = head.header("transfer-encoding").is_some();
        if head.word(1) != "200" || !chunked {
            let body = http::read_body(&mut input, &head).map_err(failed)?;
            return whole(&head, &serde_json::from_slice(&body).unwrap_or(Value::Null));
        }
        let mut answer = Assembly::default();
        let mut text = Vec::new();
        loop {
            match http::read_chunk(&mut input) {
                Ok(Some(part)) => text.extend_from_slice(&part),
                Ok(None) => break,
                Err(_) if cancel.is_tripped() => return Err(ModelFailure::Interrupted(answer.texts())),
                Err(e) => return Err(failed(e)),
            }
            while let Some(end) = text.windows(2).position(|w| w == b"\n\n") {
                let event: Vec<u8> = text.drain(..end + 2).collect();
                answer.event(&String::from_utf8_lossy(&event));
            }
        }
        if cancel.is_tripped() {
            return Err(ModelFailure::Interrupted(answer.texts()));
        }
        answer.finish(head.header("request-id").unwrap_or(""))
    }
}

fn whole(head: &HttpHead, body: &Value) -> Result<ModelMessage, ModelFailure> {
    let status = head.word(1).parse().unwrap_or(0);
    if status != 200 {
        let text = |key: &str| body["error"][key].as_str().unwrap_or("").to_owned();
        return Err(ModelFailure::Api {
            status,
            kind: text("type"),
            message: text("message"),
            headers: head.headers.clone(),
        });
    }
    let text = |key: &str| body[key].as_str().unwrap_or("").to_owned();
    Ok(ModelMessage {
        id: text("id"),
        model: text("model"),
        content: body["content"].as_array().cloned().unwrap_or_default(),
        stop_reason: body["stop_reason"].clone(),
        usage: body["usage"].clone(),
        request_id: head.header("request-id").unwrap_or("").to_owned(),
    })
}

/// A streamed answer, as far as it has arrived.
#[derive(Default)]
struct Assembly {
    start: Value,
    content: Vec<Value>,
    partial: String,
    stop_reason: Value,
    usage: Value,
    done: bool,
}

impl Assembly {
    fn event(&mut self, text: &str) {
        let data: String = text.lines().filter_map(|l| l.strip_prefix("data:")).collect();
        let Ok(data) = serde_json::from_str::<Value>(&data) else { return };
        match data["type"].as_str() {
            Some("message_start") => {
                self.start = data["message"].clone();
                self.usage = self.start["usage"].clone();
            }
            Some("content_block_start") => {
                self.content.push(data["content_block"].clone());
                self.partial.clear();
            }
            Some("content_block_delta") => self.delta(&data["delta"]),
            Some("content_block_stop") => {
                if let Some(block) = self.content.last_mut().filter(|b| b["type"] == "tool_use") {
                    block["input"] = serde_json::from_str(&self.partial).unwrap_or_else(|_| json!({}));
                }
            }
            Some("message_delta") => {
                self.stop_reason = data["delta"]["stop_reason"].clone();
                if let (Some(all), Some(new)) = (self.usage.as_object_mut(), data["usage"].as_object()) {
                    all.extend(new.clone());
                }
            }
            Some("message_stop") => self.done = true,
            _ => {}
        }
    }

    fn delta(&mut self, delta: &Value) {
        let Some(block) = self.content.last_mut() else { return };
        if let Some(text) = delta["text"].as_str() {
            block["text"] = json!(format!("{}{text}", block["text"].as_str().unwrap_or("")));
        }
        self.partial.push_str(delta["partial_json"].as_str().unwrap_or(""));
    }

    fn texts(self) -> Vec<Value> {
        self.content.into_iter().filter(|b| b["text"].as_str().is_some_and(|t| !t.is_empty())).collect()
    }

    fn finish(self, request_id: &str) -> Result<ModelMessage, ModelFailure> {
        if !self.done {
            return Err(ModelFailure::Connection("the answer was cut off".into()));
        }
        let text = |key: &str| self.start[key].as_str().unwrap_or("").to_owned();
        Ok(ModelMessage {
            id: text("id"),
            model: text("model"),
            content: self.content,
            stop_reason: self.stop_reason,
            usage: self.usage,
            request_id: request_id.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::api::Api;
    use super::super::super::script::{Script, ScriptedReply};
    use super::*;
    use std::sync::Arc;
    use std::thread;

    fn client(api: &Api) -> ModelClient {
        let address = api.url().trim_start_matches("http://").to_owned();
        ModelClient { address, credential: ("x-api-key".into(), "k".into()), retries: 1 }
    }

    fn body() -> Value {
        json!({"model": "m", "stream": true, "tools": [{}], "messages": [{"role": "user", "content": "x"}]})
    }

    #[test]
    fn a_streamed_answer_is_put_together() {
        let api =
            Api::start(Script::list([ScriptedReply::bash("echo ž").saying("go").filling(500)])).unwrap();
        let message = client(&api).ask(&body(), "u1", &Cancel::default()).unwrap();
        assert_eq!(message.content[0], json!({"type": "text", "text": "go"}));
        assert_eq!(message.content[1]["input"]["command"], "echo ž");
        assert_eq!(
            (&message.usage["cache_read_input_tokens"], &message.stop_reason),
            (&json!(490), &json!("tool_use"))
        );
        assert_eq!(api.main_requests()[0].session_id(), Some("u1"));
        assert!(!message.request_id.is_empty());
    }

    #[test]
    fn temporary_failures_are_retried_and_others_are_not() {
        let api = Api::start(Script::list([
            ScriptedReply::error(529, "overloaded_error", "busy"),
            ScriptedReply::text("fine"),
            ScriptedReply::error(400, "invalid_request_error", "no"),
        ]))
        .unwrap();
        let client = client(&api);
        assert!(client.ask(&body(), "u", &Cancel::default()).is_ok());
        let failure = client.ask(&body(), "u", &Cancel::default()).unwrap_err();
        assert!(
            matches!(failure, ModelFailure::Api { status: 400, ref message, .. } if message == "no"),
            "{failure:?}"
        );
        assert_eq!(api.main_requests().len(), 3);
    }

    #[test]
    fn an_interrupt_keeps_the_text_that_had_arrived() {
        let api = Api::start(Script::each(|_, _| {
            ScriptedReply::text("word ".repeat(100)).streamed_over_ms(600_000)
        }))
        .unwrap();
        let cancel = Arc::new(Cancel::default());
        let (client, for_thread) = (client(&api), Arc::clone(&cancel));
        let asking = thread::spawn(move || client.ask(&body(), "u", &for_thread));
        assert!(api.wait_for_main(1, Duration::from_secs(20)));
        cancel.trip();
        assert!(matches!(asking.join().unwrap(), Err(ModelFailure::Interrupted(_))));
    }

    #[test]
    fn an_unreachable_api_is_a_connection_failure() {
        let client =
            ModelClient { address: "127.0.0.1:1".into(), credential: ("a".into(), "b".into()), retries: 0 };
        assert!(matches!(client.ask(&body(), "u", &Cancel::default()), Err(ModelFailure::Connection(_))));
    }
}
