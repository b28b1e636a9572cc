//! Loads a conversation from its transcript, for `--resume` and `--continue`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Value, json};

/// The longest transcript that is read, in bytes.
const MAX: u64 = 256 * 1024 * 1024;

/// The messages of a transcript, in the form of the API.
pub(super) fn load(path: &Path) -> Vec<Value> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let mut messages = Messages::default();
    for line in BufReader::new(file.take(MAX)).split(b'\n').map_while(Result::ok) {
        // A torn or foreign line is skipped: a kill may have cut off the file.
        if let Ok(line) = serde_json::from_slice::<Value>(&line) {
            messages.add(&line);
        }
    }
    messages.list
}

/// Adds a message. Joins it with the previous one if both have the same role, because the API wants the
/// roles to alternate.
pub(super) fn push(messages: &mut Vec<Value>, role: &str, blocks: Vec<Value>) {
    if let Some(last) = messages.last_mut().filter(|m| m["role"] == role)
        && let Some(content) = last["content"].as_array_mut()
    {
        content.extend(blocks);
        return;
    }
    messages.push(json!({"role": role, "content": blocks}));
}

#[derive(Default)]
struct Messages {
    list: Vec<Value>,
    /// Contexts of hooks, which precede the next prompt.
    contexts: Vec<Value>,
}

impl Messages {
    fn add(&mut self, line: &Value) {
        if line["isSidechain"] == true || line["isApiErrorMessage"] == true {
            return;
        }
        match line["type"].as_str() {
            Some("system") if line["subtype"] == "compact_boundary" => self.list.clear(),
            Some("attachment") if line["attachment"]["type"] == "hook_additional_context" => {
                self.context(&line["attachment"])
            }
            Some("user") if line["isMeta"] != true => {
                let mut blocks = std::mem::take(&mut self.contexts);
                blocks.extend(blocks_of(&line["message"]["content"]));
                push(&mut self.list, "user", blocks);
            }
            Some("assistant") => push(&mut self.list, "assistant", blocks_of(&line["message"]["content"])),
            _ => {}
        }
    }

    fn context(&mut self, attachment: &Value) {
        let texts: Vec<&str> =
            attachment["content"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let name = attachment["hookName"].as_str().unwrap_or("");
        let block = reminder(&format!("{name} hook additional context: {}", texts.join("\n")));
        match name {
            "SessionStart" => self.contexts.push(block),
            // This one is written after its prompt, but precedes it in the messages.
            "UserPromptSubmit" => {
                if let Some(content) = self.list.last_mut().and_then(|m| m["content"].as_array_mut()) {
                    content.insert(content.len().saturating_sub(1), block);
                }
            }
            _ => {}
        }
    }
}

/// A text block that the model takes as a reminder by the program, not as the user's words.
pub(super) fn reminder(text: &str) -> Value {
    json!({"type": "text", "text": format!("<system-reminder>\n{text}\n</system-reminder>")})
}

fn blocks_of(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_one_message_are_joined_and_helpers_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let lines = [
            r#"{"type":"mode","mode":"normal"}"#,
            r#"{"type":"attachment","attachment":{"type":"hook_additional_context","hookName":"SessionStart","content":["HAND"]}}"#,
            r#"{"type":"user","message":{"role":"user","content":"go"}}"#,
            r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"a"}]}}"#,
            r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t"}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}"#,
            r#"{"type":"user","isMeta":true,"message":{"content":"caveat"}}"#,
            r#"{"type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"API Error"}]}}"#,
            r#"{"torn"#,
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        let messages = load(&path);
        assert_eq!(
            messages.iter().map(|m| m["role"].as_str().unwrap()).collect::<Vec<_>>(),
            ["user", "assistant", "user"]
        );
        assert!(messages[0]["content"][0]["text"].as_str().unwrap().contains("HAND"));
        assert_eq!(messages[0]["content"][1]["text"], "go");
        assert_eq!(messages[1]["content"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn compacted_messages_are_forgotten() {
        let mut m = Messages::default();
        m.add(&json!({"type": "user", "message": {"content": "old"}}));
        m.add(&json!({"type": "system", "subtype": "compact_boundary"}));
        m.add(&json!({"type": "user", "message": {"content": "summary"}}));
        assert_eq!(m.list.len(), 1);
        assert!(load(Path::new("/nonexistent/x")).is_empty());
    }
}
