//! Claude's last answer with its whole text, and the tools and tokens of its turn.
//!
//! [`LastAnswer`] reads a transcript from the beginning. A prompt of the person begins a new turn; the report
//! of a sub-agent does not.

use memchr::memmem;
use serde::Serialize;

use super::pasted_prompt::SentPrompt;
use super::transcript_line::{Assistant, TEXT_CAP, TokenUsage, TranscriptLine, UserKind};
use crate::core::handoff::continuation_prompt::unwrap_pasted;
use crate::core::handoff::note::{Note, QUESTION_BEGINS};
use crate::core::redact::redact;
use crate::core::supervisor::limit_and_error_wait::ResumeAfter;

/// How many tool calls of a turn are listed.
const TOOL_CAP: usize = 1000;

/// The last answer and its turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LastAnswer {
    /// The whole prompt that began the turn.
    pub prompt: String,
    /// The text of Claude's last message with a text, up to 1 MiB.
    pub text: String,
    /// The tool calls of the turn, oldest first, at most 1,000.
    pub tools: Vec<AnswerToolCall>,
    /// The tokens of all requests of the turn.
    pub tokens: TurnTokens,
    /// The model of the last message.
    pub model: Option<String>,
    /// When the last message was written, RFC 3339.
    pub at: Option<String>,
    /// Whether Claude has ended its turn.
    pub finished: bool,
    /// The person stopped Claude.
    pub interrupted: bool,
    /// The API error that ended the turn, by Claude's name for it (`rate_limit`, `server_error`).
    pub error: Option<String>,
    /// The prompts of the turn and their times: the first, and those that Claude took from its queue later.
    #[serde(skip)]
    prompts: Vec<(String, Option<String>)>,
    /// hopty has asked for a hand-over note in this turn. The note is no answer.
    #[serde(skip)]
    has_note: bool,
    /// hopty asked at the end of the turn, and no message has followed yet.
    #[serde(skip)]
    awaits_note: bool,
    /// The id of the message that replies.
    #[serde(skip)]
    note_reply: String,
    #[serde(skip)]
    text_of: String,
    #[serde(skip)]
    counted: (String, TokenUsage),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerToolCall {
    pub name: String,
    /// The purpose of the call, such as a path or a command; empty if unknown.
    pub about: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TurnTokens {
    /// Tokens of the requests that were in no cache.
    pub input: u64,
    pub cache_read: u64,
    pub cache_creation: u64,
    /// Tokens of the answers.
    pub output: u64,
}

impl LastAnswer {
    /// Takes one raw line of the transcript. Returns the turn that ends because this line begins another.
    pub fn feed(&mut self, line: &[u8]) -> Option<LastAnswer> {
        let (mut over, was_finished) = (None, self.finished);
        let asks_for_note = memmem::find(line, QUESTION_BEGINS.as_bytes()).is_some();
        self.has_note |= asks_for_note;
        TranscriptLine::parse_each(line, |line| over = self.line(line).or(over.take()));
        self.awaits_note |= asks_for_note && was_finished;
        over
    }

    /// Whether Claude has written anything since the last prompt.
    pub fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Whether this prompt began the turn, or was taken into it from the queue.
    pub fn is_of(&self, prompt: &SentPrompt) -> bool {
        self.prompts.iter().any(|(begun, at)| prompt.is_line(begun, at.as_deref()))
    }

    /// A copy with marks in place of secrets.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        for text in [&mut self.prompt, &mut self.text]
            .into_iter()
            .chain(self.tools.iter_mut().flat_map(|call| [&mut call.name, &mut call.about]))
        {
            *text = redact(text);
        }
        self
    }

    /// Whether an API error or the person ended the turn.
    pub fn is_broken_off(&self) -> bool {
        self.error.is_some() || self.interrupted
    }

    fn line(&mut self, line: TranscriptLine) -> Option<LastAnswer> {
        match line {
            TranscriptLine::Assistant(line) if !line.sidechain => self.assistant(*line),
            TranscriptLine::User(line) if !line.sidechain => match line.kind {
                UserKind::Prompt(prompt) => {
                    let prompt = unwrap_pasted(&prompt).into_owned();
                    if self.error.is_some() && ResumeAfter::is_prompt(&prompt) {
                        (self.finished, self.error) = (false, None);
                        return None;
                    }
                    // 2.1.197 writes a quick first answer before its prompt; their times tell the true order.
                    let prompts = vec![(prompt.clone(), line.timestamp.clone())];
                    if self.prompt.is_empty() && self.has_text() && self.at > line.timestamp {
                        (self.prompt, self.prompts) = (prompt, prompts);
                    } else {
                        let begun = LastAnswer { prompt, prompts, ..LastAnswer::default() };
                        return Some(std::mem::replace(self, begun));
                    }
                }
                UserKind::Interrupted => (self.finished, self.interrupted) = (true, true),
                UserKind::Notification(_) | UserKind::ToolResults { .. } => self.finished = false,
                UserKind::ShellCommand(_)
                | UserKind::ShellOutput(_)
                | UserKind::Memory(_)
                | UserKind::Compact(_)
                | UserKind::CommandText(_)
                | UserKind::Summary(_)
                | UserKind::Meta
                | UserKind::ImageFiles(_) => {}
            },
            TranscriptLine::Queue { operation, content: Some(prompt), timestamp }
                if operation == "remove" =>
            {
                self.prompts.push((prompt, timestamp));
            }
            _ => {}
        }
        None
    }

    /// Whether this line belongs to the reply to hopty's request for a note at the end of a turn. The turn
    /// already has its answer then, so the reply is not one, whatever its form.
    fn is_note_reply(&mut self, line: &Assistant) -> bool {
        if std::mem::take(&mut self.awaits_note) {
            self.note_reply.clone_from(&line.message_id);
            return true;
        }
        !line.message_id.is_empty() && line.message_id == self.note_reply
    }

    fn assistant(&mut self, line: Assistant) {
        let is_note_reply = self.is_note_reply(&line);
        if is_note_reply && line.tool_uses.is_empty() {
            self.finished = true;
        } else {
            // A reply that calls tools continues the work.
            self.finished = line.synthetic
                || matches!(line.stop_reason.as_deref(), Some("end_turn" | "stop_sequence" | "refusal"));
            self.error = line.failure.map(|failure| failure.error);
        }
        self.at = line.timestamp.or(self.at.take());
        if !line.synthetic && !line.model.is_empty() {
            self.model = Some(line.model);
        }
        if let Some(usage) = line.usage.filter(|_| !line.synthetic) {
            self.count(&line.message_id, usage);
        }
        let is_note = is_note_reply || self.has_note && self.has_text() && Note::read(&line.text).is_some();
        if !line.text.is_empty() && !is_note {
            if line.message_id != self.text_of || line.message_id.is_empty() {
                self.text_of.clone_from(&line.message_id);
                self.text.clear();
            } else if !self.text.is_empty() {
                self.text.push('\n');
            }
            if self.text.len() + line.text.len() <= TEXT_CAP + 1 {
                self.text.push_str(&line.text);
            }
        }
        for tool in line.tool_uses.into_iter().take(TOOL_CAP - self.tools.len().min(TOOL_CAP)) {
            let about = tool.input.path.or(tool.input.command).or(tool.input.about).unwrap_or_default();
            self.tools.push(AnswerToolCall { name: tool.name, about });
        }
    }

    /// Counts the usage of a message once: every line of the message repeats it.
    fn count(&mut self, message: &str, usage: TokenUsage) {
        let before = if message == self.counted.0 { self.counted.1 } else { TokenUsage::default() };
        let more = |total: &mut u64, now: u64, before: u64| {
            *total = total.saturating_add(now.saturating_sub(before));
        };
        more(&mut self.tokens.input, usage.input, before.input);
        more(&mut self.tokens.cache_read, usage.cache_read, before.cache_read);
        more(&mut self.tokens.cache_creation, usage.cache_creation, before.cache_creation);
        more(&mut self.tokens.output, usage.output, before.output);
        self.counted = (message.to_owned(), usage);
    }
}

/// The turn that a given prompt began, or into which Claude took it from its queue. Reads a transcript from
/// the beginning.
#[derive(Debug)]
pub struct AskedTurn<'p> {
    prompt: &'p SentPrompt,
    last: LastAnswer,
    over: Option<LastAnswer>,
}

impl<'p> AskedTurn<'p> {
    /// The turn of `prompt`, which knows when its Enter was pressed.
    #[must_use]
    pub fn of(prompt: &'p SentPrompt) -> Self {
        AskedTurn { prompt, last: LastAnswer::default(), over: None }
    }

    /// Takes one raw line of the transcript.
    pub fn feed(&mut self, line: &[u8]) {
        let over = self.last.feed(line).filter(|turn| turn.is_of(self.prompt));
        self.over = self.over.take().or(over);
    }

    /// Whether another turn follows.
    pub fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Whether the turn ended early.
    pub fn is_cut(&self) -> bool {
        let turn = self.over.as_ref().unwrap_or(&self.last);
        !turn.finished || turn.interrupted
    }

    /// The turn; `None` before it has begun.
    #[must_use]
    pub fn turn(self) -> Option<LastAnswer> {
        self.over.or_else(|| Some(self.last).filter(|turn| turn.is_of(self.prompt)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(lines: &[Value]) -> LastAnswer {
        let mut answer = LastAnswer::default();
        lines.iter().for_each(|line| drop(answer.feed(line.to_string().as_bytes())));
        answer
    }

    fn prompt_at(text: &str, at: &str) -> Value {
        json!({"type": "user", "timestamp": at, "message": {"role": "user", "content": text}})
    }

    #[test]
    fn a_forged_usage_overflows_nothing() {
        let line = |id: &str| {
            json!({"type": "assistant", "message": {"id": id, "role": "assistant", "content": [],
                "usage": {"input_tokens": u64::MAX, "output_tokens": u64::MAX}}})
        };
        assert_eq!(read(&[prompt("x"), line("a"), line("b")]).tokens.input, u64::MAX);
    }

    fn prompt(text: &str) -> Value {
        json!({"type": "user", "message": {"role": "user", "content": text}})
    }

    fn said(id: &str, stop: &str, content: &Value) -> Value {
        json!({"type": "assistant", "message": {"id": id, "model": "opus", "stop_reason": stop,
            "content": content,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 5}}})
    }

    fn text(text: &str) -> Value {
        json!([{"type": "text", "text": text}])
    }

    fn bash(command: &str) -> Value {
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command,
            "description": "Run it"}}])
    }

    #[test]
    fn the_last_message_is_the_answer_and_the_whole_turn_is_counted() {
        let result = json!({"type": "user", "message": {"content": [{"type": "tool_result",
            "tool_use_id": "t1", "content": "ok"}]}});
        let answer = read(&[
            prompt("Earlier."),
            said("m0", "end_turn", &text("Old.")),
            prompt("Test it."),
            said("m1", "tool_use", &text("I run the tests.")),
            said("m1", "tool_use", &bash("cargo test")),
            result,
            said("m2", "end_turn", &text("All pass.")),
            said("m2", "end_turn", &text("Nothing is left.")),
        ]);
        assert_eq!(
            (answer.prompt.as_str(), answer.text.as_str()),
            ("Test it.", "All pass.\nNothing is left.")
        );
        assert_eq!(
            answer.tools,
            [AnswerToolCall { name: "Bash".to_owned(), about: "cargo test".to_owned() }]
        );
        assert_eq!(answer.tokens, TurnTokens { input: 20, cache_read: 200, cache_creation: 0, output: 10 });
        assert!(answer.finished && answer.error.is_none() && answer.model.as_deref() == Some("opus"));
    }

    #[test]
    fn a_turn_that_hopty_continues_after_an_error_is_the_same_turn() {
        let failed = json!({"type": "assistant", "isApiErrorMessage": true, "error": "server_error",
            "message": {"id": "m1", "model": "<synthetic>", "stop_reason": "stop_sequence",
                "content": text("API Error: 500")}});
        let cut = read(&[prompt("Test it."), failed.clone()]);
        assert!(cut.finished && cut.is_broken_off());
        let retried = [prompt("Test it."), failed, prompt(ResumeAfter::Error.prompt())];
        let begun = read(&retried);
        assert!(!begun.finished && !begun.is_broken_off(), "{begun:?}");
        let all: Vec<Value> =
            retried.into_iter().chain([said("m2", "end_turn", &text("All pass."))]).collect();
        let answer = read(&all);
        assert_eq!((answer.prompt.as_str(), answer.text.as_str()), ("Test it.", "All pass."));
        assert!(answer.finished && !answer.is_broken_off());
    }

    #[test]
    fn a_turn_is_of_the_prompt_that_began_it_and_of_those_taken_in_its_middle() {
        let queue = |operation: &str, content: &str| {
            json!({"type": "queue-operation", "operation": operation, "content": content,
                "timestamp": "2026-11-20T14:00:02.000Z"})
        };
        let sent = |text: &str| {
            let mut sent = SentPrompt::new(text).unwrap();
            sent.entered("2026-11-20T14:00:00.500Z".to_owned());
            sent
        };
        let answer = read(&[
            prompt_at("Earlier.", "2026-11-20T14:00:00.600Z"),
            prompt_at("Test it.", "2026-11-20T14:00:00.700Z"),
            queue("enqueue", "And lint it."),
            queue("enqueue", "Later."),
            queue("remove", "And lint it."),
            said("m1", "end_turn", &text("Both pass.")),
        ]);
        let is_of = |text: &str| answer.is_of(&sent(text));
        assert!(is_of("Test it.") && is_of("And  lint it.\n"));
        assert!(!is_of("Earlier.") && !is_of("Later."));
    }

    #[test]
    fn the_turn_that_was_asked_for_is_kept_while_others_follow() {
        let mut asked = SentPrompt::new("Go on.").unwrap();
        asked.entered("2026-11-20T14:00:00.500Z".to_owned());
        let lines = [
            prompt_at("Go on.", "2026-11-20T13:00:00.000Z"),
            said("m1", "end_turn", &text("An earlier answer.")),
            prompt_at("Go on.", "2026-11-20T14:00:01.000Z"),
            said("m2", "end_turn", &text("The answer.")),
            prompt_at("And another.", "2026-11-20T14:00:02.000Z"),
            said("m3", "end_turn", &text("Another answer.")),
        ];
        let of = |lines: &[Value]| {
            let mut turn = AskedTurn::of(&asked);
            lines.iter().for_each(|line| turn.feed(line.to_string().as_bytes()));
            turn.turn()
        };
        assert_eq!(of(&lines[..2]), None, "it has not begun");
        assert!(of(&lines[..3]).is_some_and(|turn| !turn.finished));
        for until in 4..=lines.len() {
            assert!(of(&lines[..until]).is_some_and(|turn| turn.finished && turn.text == "The answer."));
        }
    }

    /// At the end of a turn, hopty asks for a note by a hook that sends Claude back to work.
    #[test]
    fn the_note_for_a_hand_over_is_no_answer() {
        let note = said("m2", "end_turn", &text("Doing: the parser\nNext:\n- the printer"));
        let question = json!({"type": "attachment", "attachment": {"type": "hook_additional_context",
            "content": [format!("{QUESTION_BEGINS}Call no tool")]}});
        let mut lines = vec![prompt("Write it."), said("m1", "end_turn", &text("It is written."))];
        lines.push(note.clone());
        assert!(read(&lines).text.starts_with("Doing"), "nobody asked for one");
        lines.insert(2, question);
        assert_eq!(read(&lines).text, "It is written.");
        assert!(read(&lines).finished);
        lines.push(said("m3", "end_turn", &text("And printed.")));
        assert_eq!(read(&lines).text, "And printed.");
    }

    /// A model may answer the request for a note in any form, be interrupted, or fail.
    #[test]
    fn what_follows_the_request_for_a_note_at_the_end_of_a_turn_is_no_answer() {
        let question = json!({"type": "attachment", "attachment": {"type": "hook_additional_context",
            "content": [format!("{QUESTION_BEGINS}Call no tool")]}});
        let failed = json!({"type": "assistant", "error": "rate_limit", "isApiErrorMessage": true,
            "message": {"id": "e", "model": "<synthetic>", "content": [{"type": "text", "text": "Limit"}]}});
        let thinking = json!([{"type": "thinking", "thinking": "What is open?"}]);
        let asked = [prompt("Write it."), said("m1", "end_turn", &text("It is written.")), question.clone()];
        let replies = [
            vec![said("m2", "end_turn", &text("I was just finishing, nothing is open."))],
            vec![said("m2", "end_turn", &thinking), said("m2", "end_turn", &text("Nothing is open."))],
            vec![said("m2", "max_tokens", &text("I was just"))],
            vec![failed],
        ];
        // The form in which older versions of Claude record a hook's text.
        let reminder = json!({"type": "user", "isMeta": true, "message": {"role": "user", "content":
            format!("<system-reminder>\nStop hook additional context: {QUESTION_BEGINS}Call no tool")}});
        for reply in replies {
            for question in [&question, &reminder] {
                let asked = [asked[0].clone(), asked[1].clone(), question.clone()];
                let answer = read(&[&asked[..], &reply[..]].concat());
                assert_eq!((answer.text.as_str(), answer.finished), ("It is written.", true), "{reply:?}");
                assert!(!answer.is_broken_off(), "{reply:?}");
            }
        }
        let works = said("m2", "tool_use", &bash("make"));
        assert!(!read(&[&asked[..], &[works.clone()][..]].concat()).finished, "it went on working");
        let rest = [works, said("m3", "end_turn", &text("Now it is built."))];
        assert_eq!(read(&[&asked[..], &rest[..]].concat()).text, "Now it is built.");
        let in_loop = [prompt("Write it."), said("m1", "tool_use", &bash("make")), question];
        let answer = read(&[&in_loop[..], &[said("m2", "end_turn", &text("It is built."))][..]].concat());
        assert_eq!((answer.text.as_str(), answer.finished), ("It is built.", true), "the turn had no answer");
    }

    #[test]
    fn a_running_turn_is_not_finished() {
        let mut lines = vec![prompt("Test it."), said("m1", "tool_use", &bash("sleep 1"))];
        assert!(!read(&lines).finished && !read(&lines).has_text());
        lines.push(json!({"type": "user", "message": {"content": "[Request interrupted by user]"}}));
        assert!(read(&lines).finished && read(&lines).interrupted);
        lines.push(prompt("Go on."));
        let begun = LastAnswer {
            prompt: "Go on.".to_owned(),
            prompts: vec![("Go on.".to_owned(), None)],
            ..LastAnswer::default()
        };
        assert_eq!(read(&lines), begun);
    }

    #[test]
    fn an_error_is_named_and_sub_agents_are_not_read() {
        let failed = json!({"type": "assistant", "error": "rate_limit", "isApiErrorMessage": true,
            "message": {"id": "e", "model": "<synthetic>", "content": [{"type": "text",
            "text": "You've hit your limit"}]}});
        let aside =
            json!({"type": "assistant", "isSidechain": true, "message": {"id": "s", "content": "aside"}});
        let answer = read(&[prompt("Go."), failed, aside]);
        assert_eq!(
            (answer.error.as_deref(), answer.text.as_str()),
            (Some("rate_limit"), "You've hit your limit")
        );
        assert_eq!(answer.tokens, TurnTokens::default());
    }

    #[test]
    fn an_answer_without_secrets_has_placeholders_in_every_text() {
        let key = ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat();
        let lines = [
            prompt(&format!("Use {key}")),
            said("m1", "tool_use", &bash(&format!("push {key}"))),
            said("m2", "end_turn", &text(&format!("Pushed with {key}"))),
        ];
        let answer = read(&lines).redacted();
        let shown = json!(answer).to_string();
        assert!(!shown.contains(&key) && shown.matches("[redacted: GitHub token]").count() == 3, "{shown}");
    }

    #[test]
    fn a_long_answer_is_whole() {
        let long = "word ".repeat(40_000);
        let answer = read(&[prompt("Go."), said("m1", "end_turn", &text(&long))]);
        assert_eq!(answer.text, long);
    }
}
