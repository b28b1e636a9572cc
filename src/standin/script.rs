//! The answers of the stand-in Messages API: single replies, and scripts that choose the reply to each main
//! request.
//!
//! A script covers only main requests (those of the conversation itself). Titles, probes, summaries and
//! sub-agents get fixed answers from the server, so that their number and order, which differ between
//! versions, never shift a script.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::request::ApiRequest;

/// Token counts of one reply, in the API's `usage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplyUsage {
    /// Tokens of the request that were not cached.
    pub input: u64,
    /// Tokens of the request that were read from the cache.
    pub cache_read: u64,
    /// Tokens of the request that were written to a cache.
    pub cache_creation: u64,
    /// Tokens of the answer.
    pub output: u64,
}

impl ReplyUsage {
    /// A request of `tokens` in total, nearly all of it from the cache as in a long conversation, and an
    /// answer of 5.
    pub fn filled(tokens: u64) -> ReplyUsage {
        let input = tokens.min(10);
        ReplyUsage { input, cache_read: tokens - input, cache_creation: 0, output: 5 }
    }

    /// The `usage` object of the Messages API.
    #[must_use]
    pub fn to_json(self) -> Value {
        json!({
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.cache_creation,
            "cache_read_input_tokens": self.cache_read,
            "output_tokens": self.output,
            "service_tier": "standard",
            "cache_creation": {"ephemeral_5m_input_tokens": self.cache_creation,
            "ephemeral_1h_input_tokens": 0},
        })
    }
}

/// An answer that is an error instead of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status: 400, 401, 413, 429, 500, 529.
    pub status: u16,
    /// The `type` inside `error`: `overloaded_error`, `rate_limit_error`, ...
    pub kind: String,
    /// The `message` inside `error`.
    pub message: String,
}

/// One answer of the model: a text block (unless empty), then tool calls. With tools the turn continues,
/// else it ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedReply {
    /// The text block; empty for none.
    pub text: String,
    /// Tool calls: name and input object.
    pub tools: Vec<(String, Value)>,
    /// The reported token counts.
    pub usage: ReplyUsage,
    /// Milliseconds from the request to the first byte of the answer.
    pub delay_ms: u64,
    /// Milliseconds over which a streamed text is spread, so that a turn can be interrupted while it streams.
    pub stream_ms: u64,
    /// An error instead of the answer.
    pub error: Option<ApiError>,
    /// Further header fields of the answer (`retry-after`, `anthropic-ratelimit-unified-*`).
    pub headers: Vec<(String, String)>,
}

impl ScriptedReply {
    /// A text that ends the turn.
    pub fn text(text: impl Into<String>) -> ScriptedReply {
        ScriptedReply { text: text.into(), usage: ReplyUsage::filled(1000), ..ScriptedReply::default() }
    }

    /// One call of the tool `name`.
    pub fn tool(name: impl Into<String>, input: Value) -> ScriptedReply {
        ScriptedReply { usage: ReplyUsage::filled(1000), ..ScriptedReply::default() }.and_tool(name, input)
    }

    /// One Bash call.
    pub fn bash(command: impl Into<String>) -> ScriptedReply {
        ScriptedReply::tool("Bash", json!({"command": command.into(), "description": "scripted"}))
    }

    pub fn error(status: u16, kind: impl Into<String>, message: impl Into<String>) -> ScriptedReply {
        let error = ApiError { status, kind: kind.into(), message: message.into() };
        ScriptedReply { error: Some(error), ..ScriptedReply::default() }
    }

    /// Adds a tool call.
    #[must_use]
    pub fn and_tool(mut self, name: impl Into<String>, input: Value) -> ScriptedReply {
        self.tools.push((name.into(), input));
        self
    }

    /// Adds a text before the tool calls.
    #[must_use]
    pub fn saying(mut self, text: impl Into<String>) -> ScriptedReply {
        self.text = text.into();
        self
    }

    /// Reports that the request filled the window with `tokens`.
    #[must_use]
    pub fn filling(mut self, tokens: u64) -> ScriptedReply {
        self.usage = ReplyUsage::filled(tokens);
        self
    }

    /// Sends the first byte `ms` milliseconds after the request.
    #[must_use]
    pub fn after_ms(mut self, ms: u64) -> ScriptedReply {
        self.delay_ms = ms;
        self
    }

    /// Streams the text over `ms` milliseconds.
    #[must_use]
    pub fn streamed_over_ms(mut self, ms: u64) -> ScriptedReply {
        self.stream_ms = ms;
        self
    }

    /// Adds a header field.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> ScriptedReply {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// `tool_use` if the turn continues, `end_turn` if it ends.
    pub fn stop_reason(&self) -> &'static str {
        if self.tools.is_empty() { "end_turn" } else { "tool_use" }
    }
}

type Choose = dyn Fn(&ApiRequest, usize) -> ScriptedReply + Send + Sync;

/// Chooses the reply to each main request.
pub struct Script {
    main: ScriptKind,
    subagent: ScriptedReply,
}

enum ScriptKind {
    List(Mutex<VecDeque<ScriptedReply>>),
    Each(Box<Choose>),
}

impl Script {
    /// These replies in order; afterwards every request is answered with the text `ok`.
    pub fn list(replies: impl IntoIterator<Item = ScriptedReply>) -> Script {
        Script::of(ScriptKind::List(Mutex::new(replies.into_iter().collect())))
    }

    /// Computes the reply from the request and its number among the main requests, from 0.
    pub fn each(choose: impl Fn(&ApiRequest, usize) -> ScriptedReply + Send + Sync + 'static) -> Script {
        Script::of(ScriptKind::Each(Box::new(choose)))
    }

    fn of(main: ScriptKind) -> Script {
        Script { main, subagent: ScriptedReply::text("The sub-agent is done.") }
    }

    /// Uses this reply for every request of a sub-agent.
    #[must_use]
    pub fn with_subagents(mut self, reply: ScriptedReply) -> Script {
        self.subagent = reply;
        self
    }

    /// The reply to a request of a sub-agent.
    pub fn subagent(&self) -> ScriptedReply {
        self.subagent.clone()
    }

    /// A long job: every reply is one Bash call, and the context usage rises by `step` tokens each time,
    /// endlessly. A conversation that starts with a continuation prompt does what the prompt asks and ends
    /// its turn.
    pub fn filling_loop(command: &str, step: u64) -> Script {
        let command = command.to_owned();
        Script::each(move |request, _| {
            if let Some(id) = request.continued_handoff() {
                return ScriptedReply::text(format!("Continuing from handoff {id}. The next step is done."))
                    .filling(step);
            }
            let steps = request.assistant_messages() as u64 + 1;
            ScriptedReply::bash(command.as_str()).filling(steps.saturating_mul(step))
        })
    }

    /// The reply to `request`, main request number `n`.
    pub fn reply(&self, request: &ApiRequest, n: usize) -> ScriptedReply {
        match &self.main {
            ScriptKind::List(list) => {
                let mut list = list.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                list.pop_front().unwrap_or_else(|| ScriptedReply::text("ok"))
            }
            ScriptKind::Each(choose) => choose(request, n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: Value) -> ApiRequest {
        ApiRequest::for_test("/v1/messages", &[], json!({"messages": messages, "tools": [{}]}))
    }

    #[test]
    fn a_list_is_used_in_order_and_then_says_ok() {
        let script = Script::list([ScriptedReply::bash("true"), ScriptedReply::text("done")]);
        let r = request(json!([]));
        assert_eq!(script.reply(&r, 0).stop_reason(), "tool_use");
        assert_eq!(script.reply(&r, 1).text, "done");
        assert_eq!(script.reply(&r, 2).text, "ok");
    }

    #[test]
    fn the_filling_loop_rises_until_the_prompt_is_a_continuation() {
        let script = Script::filling_loop("true", 20_000);
        let first = request(json!([{"role": "user", "content": "go"}]));
        assert_eq!(script.reply(&first, 0).usage.cache_read, 19_990);
        let third = request(json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": []},
            {"role": "user", "content": []}, {"role": "assistant", "content": []}]));
        assert_eq!(
            script.reply(&third, 2).usage,
            ReplyUsage { input: 10, cache_read: 59_990, cache_creation: 0, output: 5 }
        );
        let next = request(json!([{"role": "user", "content": [{"type": "text",
            "text": "Continue from handoff HO-20261120-142950-c74cc080.\nIts record"}]}]));
        let reply = script.reply(&next, 3);
        assert!(
            reply.text.starts_with("Continuing from handoff HO-20261120-142950-c74cc080."),
            "{}",
            reply.text
        );
        assert_eq!(reply.stop_reason(), "end_turn");
    }

    #[test]
    fn small_fills_do_not_underflow() {
        assert_eq!(
            ReplyUsage::filled(3),
            ReplyUsage { input: 3, cache_read: 0, cache_creation: 0, output: 5 }
        );
    }
}
