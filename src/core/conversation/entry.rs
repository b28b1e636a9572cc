//! A transcript as a person reads it: messages, tool calls, and events of the conversation.

use std::collections::{HashMap, VecDeque};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::core::claude::lenient_json::{Flag, Object, Text};
use crate::core::claude::prompts::{is_foreign, mark_pastes};
use crate::core::claude::transcript_line::{TranscriptLine, UserKind};
use crate::core::handoff::continuation_prompt::handoff_of;
use crate::core::text::safe_text::cut_chars;
use crate::core::time::WallTime;

/// The most entries that wait for the result of a tool call; then the oldest is returned without one.
const WAITING: usize = 256;
/// The most bytes of lines that wait.
const WAITING_BYTES: usize = 64 << 20;
/// The longest part of a withdrawn prompt, in characters.
const WITHDRAWN_CAP: usize = 80;
/// The longest subject of a call, in characters.
const ABOUT: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    Person,
    Claude,
    Thinking,
    /// A prompt that no person wrote: hopty's, a sub-agent's report, a message of another session.
    Program,
}

impl Speaker {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Speaker::Person => "person",
            Speaker::Claude => "claude",
            Speaker::Thinking => "thinking",
            Speaker::Program => "program",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    Said {
        speaker: Speaker,
        at: Option<WallTime>,
        text: String,
        /// The number of its images.
        images: usize,
    },
    Tool(Box<ToolCall>),
    /// An event: a compaction, an interruption, an error, a slash command.
    Note {
        at: Option<WallTime>,
        /// A few words.
        text: String,
    },
}

/// A tool call, with its result if the transcript has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall {
    /// The id that the result refers to.
    pub id: String,
    pub at: Option<WallTime>,
    pub name: String,
    /// The input as Claude wrote it.
    pub input: Value,
    pub answer: Option<ToolAnswer>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolAnswer {
    pub text: String,
    pub is_error: bool,
    pub images: usize,
}

impl ToolCall {
    /// The subject on one line: the command, the file, the pattern.
    pub fn about(&self) -> String {
        const KEYS: [&str; 9] = [
            "command", "file_path", "notebook_path", "pattern", "query", "url", "subject", "description",
            "prompt",
        ];
        let text = |key: &&str| self.input[*key].as_str();
        let about = KEYS.iter().find_map(text).unwrap_or_default();
        cut_chars(&about.split_whitespace().collect::<Vec<_>>().join(" "), ABOUT)
    }

    /// The outcome in a few words, such as `ok, 3 lines` and `failed: no such file`.
    pub fn outcome(&self) -> String {
        let Some(answer) = &self.answer else { return "no answer".to_owned() };
        let lines = answer.text.lines().count();
        if answer.is_error {
            let first = answer.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
            return format!("failed: {}", cut_chars(first, 80));
        }
        match (lines, answer.images) {
            (0, 0) => "ok".to_owned(),
            (0, images) => format!("ok, {images} images"),
            (1, _) => "ok, 1 line".to_owned(),
            (lines, _) => format!("ok, {lines} lines"),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawEntry {
    r#type: Text<64>,
    subtype: Text<64>,
    uuid: Text<64>,
    parent_uuid: Text<64>,
    timestamp: Text<64>,
    is_sidechain: Flag,
    message: Object<RawEntryMessage>,
    attachment: Object<RawAttachment>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawEntryMessage {
    model: Text<200>,
    content: Value,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawAttachment {
    r#type: Text<64>,
    command_mode: Text<64>,
    prompt: Value,
}

/// Parses a transcript line by line, and joins tool calls with their results.
#[derive(Debug, Default)]
pub struct EntryReader {
    /// In order; the first is a tool call without a result.
    waiting: VecDeque<Entry>,
    /// The bytes of the lines since nothing waited.
    waiting_bytes: usize,
    turns: Turns,
    /// Whether lines of sub-agents count: in a sub-agent's own transcript, all of them are.
    with_sidechains: bool,
}

impl EntryReader {
    /// For the transcript of a conversation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// For the transcript of a sub-agent.
    #[must_use]
    pub fn of_agent() -> Self {
        EntryReader { with_sidechains: true, ..Self::default() }
    }

    /// Parses a line, and passes complete entries to `each`, in order. A line that is unreadable or has
    /// nothing for a person has no entry.
    pub fn line(&mut self, line: &[u8], mut each: impl FnMut(Entry)) {
        self.take(line);
        self.waiting_bytes = self.waiting_bytes.saturating_add(line.len());
        let most = if self.waiting_bytes > WAITING_BYTES { 0 } else { WAITING };
        self.release(&mut each, most);
        if self.waiting.is_empty() {
            self.waiting_bytes = 0;
        }
    }

    /// Passes on the entries that still wait for a result.
    pub fn finish(&mut self, each: impl FnMut(Entry)) {
        self.waiting.drain(..).for_each(each);
    }

    fn release(&mut self, each: &mut impl FnMut(Entry), most: usize) {
        let is_open = |entry: &Entry| matches!(entry, Entry::Tool(call) if call.answer.is_none());
        while self.waiting.len() > most || self.waiting.front().is_some_and(|entry| !is_open(entry)) {
            if let Some(entry) = self.waiting.pop_front() {
                each(entry);
            }
        }
    }

    fn take(&mut self, line: &[u8]) {
        if line.starts_with(b"{\"type\":\"api-request") {
            return;
        }
        let Ok(raw) = serde_json::from_slice::<RawEntry>(line) else {
            // Damaged lines are reported elsewhere; only their messages are kept.
            TranscriptLine::parse_each(line, |line| self.salvaged(line));
            return;
        };
        if raw.is_sidechain.0 && !self.with_sidechains {
            return;
        }
        let at = raw.timestamp.0.as_deref().and_then(WallTime::parse);
        self.turns.add(raw.uuid.0.as_deref());
        match raw.r#type.0.as_deref() {
            Some("user") => self.user(line, raw, at),
            Some("assistant") => self.assistant(raw.message.0.unwrap_or_default(), at),
            Some("system") if raw.subtype.0.as_deref() == Some("compact_boundary") => {
                self.note(at, "the conversation was compacted");
            }
            Some("attachment") => {
                let attachment = raw.attachment.0.unwrap_or_default();
                if attachment.r#type.0.as_deref() == Some("queued_command")
                    && attachment.command_mode.0.as_deref().is_none_or(|mode| mode == "prompt")
                {
                    let text = text_of(&attachment.prompt);
                    let speaker = if is_foreign(&text) { Speaker::Program } else { Speaker::Person };
                    self.said(speaker, at, mark_pastes(&text), 0);
                }
            }
            _ => {}
        }
    }

    fn salvaged(&mut self, line: TranscriptLine) {
        match line {
            TranscriptLine::User(user) if !user.sidechain || self.with_sidechains => {
                let at = user.timestamp.as_deref().and_then(WallTime::parse);
                if let UserKind::Prompt(text) = user.kind {
                    self.said(Speaker::Person, at, mark_pastes(&text), user.images);
                }
            }
            TranscriptLine::Assistant(answer) if !answer.sidechain || self.with_sidechains => {
                let at = answer.timestamp.as_deref().and_then(WallTime::parse);
                self.said(Speaker::Claude, at, answer.text, 0);
            }
            _ => {}
        }
    }

    fn said(&mut self, speaker: Speaker, at: Option<WallTime>, text: String, images: usize) {
        if !text.trim().is_empty() || images > 0 {
            self.waiting.push_back(Entry::Said { speaker, at, text, images });
        }
    }

    fn note(&mut self, at: Option<WallTime>, text: impl Into<String>) {
        self.waiting.push_back(Entry::Note { at, text: text.into() });
    }

    fn user(&mut self, line: &[u8], raw: RawEntry, at: Option<WallTime>) {
        let Some(TranscriptLine::User(user)) = TranscriptLine::parse(line) else { return };
        match user.kind {
            UserKind::Prompt(text) => {
                let speaker = if handoff_of(&text).is_some() { Speaker::Program } else { Speaker::Person };
                let (id, parent) = (raw.uuid.0.as_deref(), raw.parent_uuid.0.as_deref());
                if let Some(prompt) = self.turns.begin(id, parent, &text) {
                    self.note(at, format!("went back to before: {prompt}"));
                }
                self.said(speaker, at, mark_pastes(&text), user.images);
            }
            UserKind::Notification(text) => self.said(Speaker::Program, at, text, 0),
            UserKind::Interrupted => self.note(at, "interrupted"),
            UserKind::ShellCommand(command) => self.note(at, format!("! {command}")),
            UserKind::ShellOutput(_) => {}
            UserKind::Compact(text) => self.note(at, text),
            UserKind::Memory(text) => self.note(at, format!("# {text}")),
            UserKind::ToolResults { .. } => {
                let Some(Value::Array(blocks)) = raw.message.0.map(|message| message.content) else { return };
                for block in blocks.iter().filter(|block| block["type"] == "tool_result") {
                    self.answered(block, at);
                }
            }
            UserKind::Summary(_) | UserKind::Meta | UserKind::ImageFiles(_) | UserKind::CommandText(_) => {
                let text = raw.message.0.map(|message| text_of(&message.content)).unwrap_or_default();
                if let Some(command) = between(&text, "<command-name>", "</command-name>") {
                    let args = between(&text, "<command-args>", "</command-args>").unwrap_or_default();
                    self.note(at, format!("{} {}", command.trim(), args.trim()).trim().to_owned());
                }
            }
        }
    }

    fn answered(&mut self, block: &Value, at: Option<WallTime>) {
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        let parts = block["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let answer = ToolAnswer {
            text: text_of(&block["content"]),
            is_error: block["is_error"] == true,
            images: parts.iter().filter(|part| part["type"] == "image").count(),
        };
        let call = self.waiting.iter_mut().find_map(|entry| match entry {
            Entry::Tool(call) if call.id == id && call.answer.is_none() => Some(call),
            _ => None,
        });
        match call {
            Some(call) => call.answer = Some(answer),
            None => self.waiting.push_back(Entry::Tool(Box::new(ToolCall {
                id: id.to_owned(),
                at,
                name: "(unknown tool)".to_owned(),
                input: Value::Object(Map::new()),
                answer: Some(answer),
            }))),
        }
    }

    fn assistant(&mut self, message: RawEntryMessage, at: Option<WallTime>) {
        let synthetic = message.model.0.as_deref() == Some("<synthetic>");
        let blocks = match message.content {
            Value::String(text) => return self.said(Speaker::Claude, at, text, 0),
            Value::Array(blocks) => blocks,
            _ => return,
        };
        for mut block in blocks {
            let text = |block: &Value, key: &str| block[key].as_str().unwrap_or_default().to_owned();
            match block["type"].as_str() {
                Some("text") if synthetic => self.note(at, text(&block, "text")),
                Some("text") => self.said(Speaker::Claude, at, text(&block, "text"), 0),
                Some("thinking") => self.said(Speaker::Thinking, at, text(&block, "thinking"), 0),
                Some("tool_use" | "server_tool_use") => {
                    let call = ToolCall {
                        id: text(&block, "id"),
                        at,
                        name: text(&block, "name"),
                        input: block["input"].take(),
                        answer: None,
                    };
                    self.waiting.push_back(Entry::Tool(Box::new(call)));
                }
                _ => {}
            }
        }
    }
}

/// The turn of each message, to recognize a prompt that goes back to an earlier one (`/rewind`).
#[derive(Debug, Default)]
struct Turns {
    /// By the message's id: the number of prompts up to it.
    of: HashMap<u128, usize>,
    /// The beginning of each prompt.
    prompts: Vec<String>,
}

impl Turns {
    fn add(&mut self, id: Option<&str>) {
        if let Some(id) = id.and_then(message_id) {
            self.of.entry(id).or_insert(self.prompts.len());
        }
    }

    /// Begins a turn with a prompt. Returns the prompt that it replaces, if it goes back.
    fn begin(&mut self, id: Option<&str>, parent: Option<&str>, prompt: &str) -> Option<String> {
        let last = self.prompts.len();
        let turn = parent.and_then(message_id).and_then(|parent| self.of.get(&parent)).copied();
        let taken_back = turn.filter(|turn| *turn < last).map(|turn| self.prompts[turn].clone());
        self.prompts.push(cut_chars(&prompt.split_whitespace().collect::<Vec<_>>().join(" "), WITHDRAWN_CAP));
        if let Some(id) = id.and_then(message_id) {
            self.of.insert(id, self.prompts.len());
        }
        taken_back
    }
}

/// A UUID as a number.
fn message_id(text: &str) -> Option<u128> {
    u128::from_str_radix(&text.replace('-', ""), 16).ok()
}

/// The text of a content: a string, or the text blocks of a list.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    text.split_once(open)?.1.split_once(close).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Vec<Entry> {
        let mut reader = EntryReader::new();
        let mut entries = Vec::new();
        lines.iter().for_each(|line| reader.line(line.as_bytes(), |entry| entries.push(entry)));
        reader.finish(|entry| entries.push(entry));
        entries
    }

    fn words(lines: &[&str]) -> Vec<String> {
        let word = |entry: Entry| match entry {
            Entry::Said { speaker, text, .. } => format!("{}: {text}", speaker.word()),
            Entry::Tool(call) => format!("{} {} ({})", call.name, call.about(), call.outcome()),
            Entry::Note { text, .. } => format!("- {text}"),
        };
        read(lines).into_iter().map(word).collect()
    }

    #[test]
    fn a_conversation_is_read_as_it_was_held() {
        let lines = [
            r#"{"type":"user","message":{"content":"list the files"},"timestamp":"2026-11-20T14:00:00Z"}"#,
            r#"{"type":"assistant","message":{"model":"m","content":[{"type":"thinking","thinking":"hm"}]}}"#,
            r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"I look."}]}}"#,
            r#"{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls\n-l"}}]}}"#,
            r#"{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/x"}}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"no such file\nx","is_error":true}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a\nb"}]}]}}"#,
            r#"{"type":"api-request-blob","message":{"role":"user","content":"list the files"}}"#,
            r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"also hidden ones","commandMode":"prompt"}}"#,
            r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"<task-notification>","commandMode":"task-notification"}}"#,
            r#"{"type":"user","isSidechain":true,"message":{"content":"a sub-agent's"}}"#,
            r#"{"type":"user","message":{"content":"<command-name>/compact</command-name><command-args>now</command-args>"}}"#,
            r#"{"type":"system","subtype":"compact_boundary"}"#,
            r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#,
            r#"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 500"}]}}"#,
            r#"{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"t3","name":"Task","input":7}]}}"#,
        ];
        assert_eq!(
            words(&lines),
            [
                "person: list the files",
                "thinking: hm",
                "claude: I look.",
                "Bash ls -l (ok, 2 lines)",
                "Read /x (failed: no such file)",
                "person: also hidden ones",
                "- /compact now",
                "- the conversation was compacted",
                "- interrupted",
                "- API Error: 500",
                "Task  (no answer)",
            ]
        );
    }

    #[test]
    fn going_back_is_told_with_the_prompt_that_was_taken_back() {
        let line = |kind: &str, id: u32, parent: u32, text: &str| {
            format!(
                r#"{{"type":"{kind}","uuid":"{id:08x}-0000-4000-8000-000000000000","parentUuid":"{parent:08x}-0000-4000-8000-000000000000","message":{{"model":"m","content":"{text}"}}}}"#
            )
        };
        let lines = [
            line("user", 1, 0, "one"),
            line("assistant", 2, 1, "first"),
            line("user", 3, 2, "two"),
            line("assistant", 4, 3, "second"),
            line("user", 5, 2, "two, another way"),
            line("assistant", 6, 5, "third"),
            line("user", 7, 6, "three"),
            // A cycle, a repeated id, and one that is no id.
            line("user", 8, 8, "four"),
            line("user", 7, 8, "five"),
            line("user", 9, 7, "six").replace("00000009-", "x"),
        ];
        let said = words(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let notes: Vec<&String> = said.iter().filter(|word| word.starts_with("- ")).collect();
        assert_eq!(notes, ["- went back to before: two"], "{said:?}");
        assert_eq!(said[4..6], ["- went back to before: two", "person: two, another way"]);
    }

    #[test]
    fn calls_without_answers_take_a_bounded_amount_of_memory() {
        let input = "x".repeat(9 << 20);
        let call = format!(
            r#"{{"type":"assistant","message":{{"model":"m","content":[{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":"{input}"}}}}]}}}}"#
        );
        let mut reader = EntryReader::new();
        let mut given = 0;
        (0..8).for_each(|_| reader.line(call.as_bytes(), |_| given += 1));
        assert_eq!(given, 8);
    }

    #[test]
    fn torn_and_foreign_lines_cost_only_themselves() {
        let said = r#"{"type":"user","message":{"content":"hi"}}"#;
        let torn = format!("{}{{\"parentUuid\":null,{}", &said[..30], &said[1..]);
        let deep =
            format!(r#"{{"type":"user","message":{{"content":{}1{}}}}}"#, "[".repeat(500), "]".repeat(500));
        let lines = [
            "",
            "null",
            "[1]",
            "{",
            r#"{"type":"user","message":7}"#,
            r#"{"type":"assistant","message":{"content":[1,{"type":"tool_use"}]}}"#,
            &deep,
            &torn,
            said,
        ];
        assert_eq!(words(&lines), ["  (no answer)", "person: hi", "person: hi"]);
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t9","content":"x"}]}}"#;
        assert_eq!(words(&[result]), ["(unknown tool)  (ok, 1 line)"]);
    }

    #[test]
    fn a_call_that_is_never_answered_does_not_hold_up_the_rest() {
        let call = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash"}]}}"#;
        let mut reader = EntryReader::new();
        let mut given = 0;
        (0..1000).for_each(|_| reader.line(call.as_bytes(), |_| given += 1));
        assert_eq!(given, 1000 - WAITING);
    }
}
