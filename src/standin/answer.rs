//! A scripted [`ScriptedReply`] as bytes of the Messages API: server-sent events, one JSON object, or an
//! error.
//!
//! Pure: it creates the events with a delay for each; the server sends them.

use serde_json::{Value, json};

use super::script::ScriptedReply;

/// One server-sent event of a streamed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerChunk {
    /// Milliseconds to wait before it is sent.
    pub wait_ms: u64,
    /// The bytes: `event:` and `data:` lines and the empty line.
    pub bytes: Vec<u8>,
}

/// Makes the ids of an answer unique: the number of the request on this server, and the server's own tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerIds {
    /// Distinguishes servers whose conversations meet in one transcript (`--resume` in another test run).
    pub server: String,
    /// Number of the request, from 0.
    pub request: usize,
}

impl AnswerIds {
    fn message(&self) -> String {
        format!("msg_{}{:08}", self.server, self.request)
    }

    fn tool(&self, n: usize) -> String {
        format!("toolu_{}{:08}{n:02}", self.server, self.request)
    }

    /// The `request-id` header field.
    pub fn request_id(&self) -> String {
        format!("req_{}{:08}", self.server, self.request)
    }
}

/// The whole answer as one message object.
pub fn message(reply: &ScriptedReply, model: &str, stamp: &AnswerIds) -> Value {
    let mut content = Vec::new();
    if has_text(reply) {
        content.push(json!({"type": "text", "text": reply.text}));
    }
    for (n, (name, input)) in reply.tools.iter().enumerate() {
        content.push(json!({"type": "tool_use", "id": stamp.tool(n), "name": name, "input": input}));
    }
    json!({
        "id": stamp.message(), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": reply.stop_reason(), "stop_sequence": null, "usage": reply.usage.to_json(),
    })
}

/// The body of an error answer.
pub fn error(kind: &str, text: &str, stamp: &AnswerIds) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": text}, "request_id": stamp.request_id()})
}

/// The answer as a stream of events, from `message_start` to `message_stop`.
pub fn events(reply: &ScriptedReply, model: &str, stamp: &AnswerIds) -> Vec<AnswerChunk> {
    let mut usage = reply.usage.to_json();
    usage["output_tokens"] = json!(1); // the real API knows the final figure only at message_delta
    let mut out = vec![
        event(
            "message_start",
            json!({"message": {
                "id": stamp.message(), "type": "message", "role": "assistant", "model": model, "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": usage,
            }}),
        ),
        event("ping", json!({})),
    ];
    let mut index = 0;
    if has_text(reply) {
        out.push(event(
            "content_block_start",
            json!({"index": index, "content_block": {"type": "text", "text": ""}}),
        ));
        let pieces = pieces(&reply.text, if reply.stream_ms > 0 { 20 } else { 1 });
        let wait = reply.stream_ms / pieces.len().max(1) as u64;
        for piece in pieces {
            let mut delta = event(
                "content_block_delta",
                json!({"index": index, "delta": {"type": "text_delta", "text": piece}}),
            );
            delta.wait_ms = wait;
            out.push(delta);
        }
        out.push(event("content_block_stop", json!({"index": index})));
        index += 1;
    }
    for (n, (name, input)) in reply.tools.iter().enumerate() {
        let block = json!({"type": "tool_use", "id": stamp.tool(n), "name": name, "input": {}});
        out.push(event("content_block_start", json!({"index": index, "content_block": block})));
        for piece in pieces(&input.to_string(), 2) {
            let delta = json!({"type": "input_json_delta", "partial_json": piece});
            out.push(event("content_block_delta", json!({"index": index, "delta": delta})));
        }
        out.push(event("content_block_stop", json!({"index": index})));
        index += 1;
    }
    out.push(event(
        "message_delta",
        json!({"delta": {"stop_reason": reply.stop_reason(), "stop_sequence": null},
            "usage": reply.usage.to_json()}),
    ));
    out.push(event("message_stop", json!({})));
    out
}

/// An answer without tools needs a text block even if it is empty, else it has no content at all.
fn has_text(reply: &ScriptedReply) -> bool {
    !reply.text.is_empty() || reply.tools.is_empty()
}

fn event(name: &str, mut data: Value) -> AnswerChunk {
    data["type"] = json!(name);
    AnswerChunk { wait_ms: 0, bytes: format!("event: {name}\ndata: {data}\n\n").into_bytes() }
}

/// Cuts `text` into at most `count` pieces of about the same length, at least one, never inside a character.
fn pieces(text: &str, count: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let size = chars.len().div_ceil(count.max(1)).max(1);
    if chars.is_empty() {
        return vec![String::new()];
    }
    chars.chunks(size).map(|c| c.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp() -> AnswerIds {
        AnswerIds { server: "s".into(), request: 7 }
    }

    fn data(event: &AnswerChunk) -> Value {
        let text = String::from_utf8(event.bytes.clone()).unwrap();
        serde_json::from_str(text.split_once("data: ").unwrap().1.trim()).unwrap()
    }

    #[test]
    fn a_stream_has_all_events_in_order_and_the_input_in_pieces() {
        let reply = ScriptedReply::bash("echo žluťoučký").saying("go").filling(50);
        let events = events(&reply, "m", &stamp());
        let kinds: Vec<String> =
            events.iter().map(|e| data(e)["type"].as_str().unwrap().to_owned()).collect();
        assert_eq!(kinds.first().unwrap(), "message_start");
        assert_eq!(kinds.last().unwrap(), "message_stop");
        assert_eq!(data(&events[0])["message"]["usage"]["cache_read_input_tokens"], 40);
        let partial: String = events
            .iter()
            .filter_map(|e| data(e).pointer("/delta/partial_json")?.as_str().map(str::to_owned))
            .collect();
        assert_eq!(serde_json::from_str::<Value>(&partial).unwrap()["command"], "echo žluťoučký");
        let delta = events.iter().map(data).find(|d| d["type"] == "message_delta").unwrap();
        assert_eq!(
            (&delta["delta"]["stop_reason"], &delta["usage"]["output_tokens"]),
            (&json!("tool_use"), &json!(5))
        );
    }

    #[test]
    fn a_spread_text_waits_between_its_pieces_and_is_whole() {
        let reply = ScriptedReply::text("x".repeat(40)).streamed_over_ms(1000);
        let events = events(&reply, "m", &stamp());
        assert_eq!(events.iter().map(|e| e.wait_ms).sum::<u64>(), 1000);
        let text: String = events
            .iter()
            .filter_map(|e| data(e).pointer("/delta/text")?.as_str().map(str::to_owned))
            .collect();
        assert_eq!(text.len(), 40);
    }

    #[test]
    fn one_object_has_the_same_content_and_unique_ids() {
        let reply = ScriptedReply::bash("a").and_tool("Read", json!({}));
        let whole = message(&reply, "m", &stamp());
        assert_eq!(whole["content"].as_array().unwrap().len(), 2);
        assert_ne!(whole["content"][0]["id"], whole["content"][1]["id"]);
        assert_eq!(message(&ScriptedReply::text(""), "m", &stamp())["content"][0]["type"], "text");
    }
}
