//! One line of Claude's transcript, read with tolerance.
//!
//! Only the top-level `type` decides what a line is: since 2.1.300 a transcript also repeats whole requests,
//! so that it contains the text of a tool result twice (measured on 2.1.329; `api-request*`,
//! `prompt_snapshot`, `tools-used`). Unknown types, unknown fields and fields of another type are ignored by
//! themselves. A broken line is skipped and counted; records that were glued onto one line or follow a torn
//! one are recovered. `transcript_facts` adds the lines up.

use memchr::memmem;

use super::damaged_line::{STARTS, repair, salvage};
use super::transcript_record::RawRecord;

/// The longest prompt or answer that is kept, in bytes.
pub const TEXT_CAP: usize = 1 << 20;
/// How much of the beginning of a tool result is kept, in bytes: enough for its first lines.
pub const RESULT_HEAD: usize = 2048;
/// How much of its end is kept, in bytes: a test runner's summary is there.
pub const RESULT_TAIL: usize = 6144;
/// The line between the two if something is left out.
pub const GAP: &str = "[... left out here ...]";
/// The most that is kept of a tool result, in bytes.
pub const RESULT_CAP: usize = RESULT_HEAD + RESULT_TAIL + GAP.len() + 2;
/// The most that is kept of a plan, in bytes.
pub const PLAN_CAP: usize = 16 << 10;
/// The most todos or tasks that are kept of one line.
pub const TASK_CAP: usize = 2000;
/// The types that are read.
const KNOWN: [&[u8]; 6] =
    [b"assistant", b"user", b"system", b"queue-operation", b"permission-mode", b"custom-title"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TranscriptLine {
    /// A block of an answer. Claude writes one line per block, all with the same message id and the same
    /// final usage.
    Assistant(Box<Assistant>),
    /// A prompt, tool results, or a note of Claude's in the person's name.
    User(Box<User>),
    /// A change of the queue of prompts that the person typed while Claude was busy.
    Queue {
        /// `enqueue`, `dequeue`, `remove` or `popAll`.
        operation: String,
        /// The prompt; `dequeue` has none.
        content: Option<String>,
        /// When it was written (RFC 3339).
        timestamp: Option<String>,
    },
    /// The permission mode from here on, as Claude spells it (`bypassPermissions`).
    PermissionMode(String),
    /// The title that the person gave the conversation; empty if they removed it.
    Title(String),
    /// A summary replaced everything above.
    CompactBoundary {
        /// The tokens in the window afterwards, if Claude reports them.
        post_tokens: Option<u64>,
    },
    /// The selection in the person's editor when they sent the prompt before this line.
    Selection(SelectedLines),
    Other,
}

/// A selection in an editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedLines {
    /// The file, as Claude shows it.
    pub file: String,
    /// The first and the last line, from 1.
    pub lines: Option<(u64, u64)>,
}

/// The meaning of an option of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenMeaning {
    pub question: String,
    pub label: String,
    /// The option's description, at most 300 bytes.
    pub meaning: String,
}

/// One block of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assistant {
    /// The API's message id; the lines of one message share it.
    pub message_id: String,
    /// The model without `[1m]`, so that it does not tell the window.
    pub model: String,
    /// Whether Claude wrote this line itself, for an API error: model `<synthetic>`.
    pub synthetic: bool,
    /// The token counts of the whole message.
    pub usage: Option<TokenUsage>,
    /// `end_turn`, `tool_use` and others; `null` on some lines of 1.x.
    pub stop_reason: Option<String>,
    /// The tool calls in this line.
    pub tool_uses: Vec<ToolUse>,
    /// Text for the person, at most [`TEXT_CAP`] bytes.
    pub text: String,
    /// Whether it belongs to a sub-agent.
    pub sidechain: bool,
    /// When it was written, RFC 3339.
    pub timestamp: Option<String>,
    /// The error, on a synthetic line.
    pub failure: Option<ApiFailure>,
}

/// An API error or usage limit, as the transcript records it (measured on 2.1.329).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiFailure {
    /// `rate_limit`, `server_error`, `authentication_failed`, `invalid_request` or another word.
    pub error: String,
    /// The HTTP status.
    pub status: Option<u64>,
    /// When a usage limit resets, in seconds since the epoch.
    pub resets_at: Option<u64>,
    /// `five_hour`, `seven_day`.
    pub limit: Option<String>,
    /// The text on the screen, at most 200 bytes.
    pub said: String,
}

/// The token counts of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Tokens of the request that no cache had.
    pub input: u64,
    pub cache_read: u64,
    pub cache_creation: u64,
    /// Tokens of the answer, which do not count for the context usage.
    pub output: u64,
}

impl TokenUsage {
    /// The context usage after the message: input, cache read and cache creation, which is the status line's
    /// own formula.
    #[must_use]
    pub fn fill(self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_creation)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUse {
    /// The id that its result repeats.
    pub id: String,
    pub name: String,
    pub input: ToolInput,
}

impl ToolUse {
    /// Whether the tool asks the person: a question, or to approve a plan.
    pub fn asks_person(&self) -> bool {
        matches!(self.name.as_str(), "AskUserQuestion" | "ExitPlanMode")
    }

    /// Whether the tool writes a file.
    pub fn writes_file(&self) -> bool {
        matches!(self.name.as_str(), "Write" | "Edit" | "MultiEdit" | "NotebookEdit")
    }
}

/// The fields of a tool's input that hopty uses; absent ones are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolInput {
    /// `file_path` or `notebook_path`.
    pub path: Option<String>,
    /// `subject` of a task.
    pub subject: Option<String>,
    /// `taskId` of a task.
    pub task_id: Option<String>,
    /// `addBlockedBy`: the tasks that come before this one.
    pub comes_after: Vec<String>,
    /// `status` of a task.
    pub status: Option<String>,
    /// The purpose of the call in a few words: `description`, or if there is none the beginning of `command`,
    /// `pattern`, `query`, `url`, `skill` with its `args`, or `name`.
    pub about: Option<String>,
    /// `todos` of the old TodoWrite.
    pub todos: Option<Vec<TaskRow>>,
    /// `questions` of AskUserQuestion.
    pub questions: Vec<String>,
    /// Each of these questions with its options, on one line.
    pub asked: Vec<String>,
    /// All options of these questions, in order.
    pub options: Vec<String>,
    /// The beginning of Bash's `command`, at most 4,096 bytes.
    pub command: Option<String>,
    /// `run_in_background` of Bash and of agents.
    pub background: bool,
    /// `plan` of ExitPlanMode, at most [`PLAN_CAP`] bytes. Newer versions keep the plan in a file.
    pub plan: Option<String>,
    /// `planFilePath` of ExitPlanMode: Claude's own file with the plan.
    pub plan_file: Option<String>,
    /// The beginning of `prompt` of CronCreate and ScheduleWakeup, at most 4,096 bytes.
    pub schedules: Option<String>,
    /// `offset` and `limit` of Read: the first line, and the number of lines.
    pub lines: (Option<u64>, Option<u64>),
    /// The descriptions of the questions' options, if Claude gives them beside the labels.
    pub meanings: Vec<ChosenMeaning>,
    /// `cron` of CronCreate: when it runs.
    pub schedule: Option<String>,
    /// `id` of CronDelete.
    pub job: Option<String>,
    /// The other fields of a call to a server's tool as one line of JSON, redacted and cut: they are the only
    /// record of its arguments.
    pub rest: Option<String>,
}

/// One row of a task or todo list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskRow {
    /// The number of a task; todos have none.
    pub id: Option<String>,
    /// The work, in one line.
    pub subject: String,
    /// `pending`, `in_progress`, `completed`.
    pub status: String,
}

/// A line in the person's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub kind: UserKind,
    /// `human`, `task-notification`, `auto-continuation`; absent before 2.1.
    pub origin: Option<String>,
    /// `typed`, `system`; absent before 2.1.
    pub source: Option<String>,
    /// Whether it belongs to a sub-agent.
    pub sidechain: bool,
    /// The line's own id.
    pub uuid: Option<String>,
    /// The id of the line before it in the conversation.
    pub parent: Option<String>,
    /// When it was written, RFC 3339.
    pub timestamp: Option<String>,
    /// The permission mode of this prompt, if the line has it.
    pub permission_mode: Option<String>,
    /// The number of images that came with a prompt.
    pub images: usize,
    /// The API's id of the message in which the person stopped Claude, on a line that reports it (2.1.332).
    pub interrupted_message: Option<String>,
}

/// The kinds of lines in the person's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UserKind {
    /// A prompt as Claude recorded it, still wrapped in `<pasted_content>` if it was a long paste. A command
    /// that Claude expands into a prompt is here as it was typed.
    Prompt(String),
    /// A prompt that no person wrote but that begins a turn: an ended sub-agent, a reset usage limit.
    Notification(String),
    /// Answers of tools.
    ToolResults {
        results: Vec<ToolResult>,
        /// Claude's structured form of a single answer.
        detail: Box<ResultDetail>,
    },
    Interrupted,
    /// A command that the person ran themselves (`!`).
    ShellCommand(String),
    /// The output of such a command.
    ShellOutput(String),
    /// A text that the person gave to Claude's memory (`#`).
    Memory(String),
    /// The person's instruction for a compaction: `/compact keep the ports`.
    Compact(String),
    /// The text of the custom command or skill above.
    CommandText(String),
    /// The files of the images of the prompt above.
    ImageFiles(Vec<String>),
    /// Claude's summary of the messages before a compaction.
    Summary(String),
    /// Claude's own slash commands, their output, caveats: no turn of a person.
    #[default]
    Meta,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    pub is_error: bool,
    /// The beginning and the end of its text, at most [`RESULT_CAP`] bytes, with [`GAP`] between them if it
    /// is longer.
    pub text: String,
}

/// The fields of Claude's structured form of an answer (`toolUseResult`) that hopty uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultDetail {
    /// TaskCreate: the new task.
    pub created: Option<TaskRow>,
    /// TaskUpdate: the current status.
    pub status_now: Option<String>,
    /// TaskList: the whole list.
    pub tasks: Option<Vec<TaskRow>>,
    /// AskUserQuestion: question and answer.
    pub answers: Vec<(String, String)>,
    /// AskUserQuestion: what the person wrote instead of an answer.
    pub response: Option<String>,
    /// AskUserQuestion: question, and what the person wrote beside the answer.
    pub notes: Vec<(String, String)>,
    /// Write: `create` or `update`.
    pub wrote: Option<String>,
    /// The id of a shell or an agent that still runs after this answer.
    pub running: Option<String>,
    /// The file with the output of that.
    pub output: Option<String>,
    /// ExitPlanMode: the approved plan, at most [`PLAN_CAP`] bytes.
    pub plan: Option<String>,
    /// ExitPlanMode: Claude's own file with the plan.
    pub plan_file: Option<String>,
    /// The person refused the call, in Claude's own words, which no tool can write here.
    pub refused: bool,
    /// The person's comment when they allowed or refused the call.
    pub said: Option<String>,
    /// Monitor: the id of its task. Task tools have one, too.
    pub task: Option<String>,
    /// CronCreate: the id of the job.
    pub job: Option<String>,
    /// CronCreate: when it runs, in words.
    pub schedule: Option<String>,
}

/// How many records a line contained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCount {
    pub read: u32,
    /// Pieces that could not be read.
    pub bad: u32,
}

impl TranscriptLine {
    /// Reads a line that contains one record. `None` if it is empty or not a JSON object.
    pub fn parse(bytes: &[u8]) -> Option<TranscriptLine> {
        let mut first = None;
        TranscriptLine::parse_each(bytes, |line| {
            first.get_or_insert(line);
        });
        first
    }

    /// Reads every record of a line, in order: more than one if records were glued together or follow a torn
    /// one.
    pub fn parse_each(bytes: &[u8], mut each: impl FnMut(TranscriptLine)) -> RecordCount {
        let bytes = trim(bytes);
        if bytes.is_empty() {
            return RecordCount::default();
        }
        if is_irrelevant(bytes) {
            each(TranscriptLine::Other);
            return RecordCount { read: 1, bad: 0 };
        }
        // serde also reads a struct from a list, so check for the brace first.
        if bytes[0] == b'{'
            && let Ok(raw) = serde_json::from_slice::<RawRecord>(bytes)
        {
            each(raw.into_line());
            return RecordCount { read: 1, bad: 0 };
        }
        salvage(&repair(bytes), &mut each)
    }
}

/// The record without a byte-order mark and without the NULs, spaces and carriage returns around it.
pub(super) fn trim(bytes: &[u8]) -> &[u8] {
    let blank = |b: &u8| matches!(b, 0 | b' ' | b'\t' | b'\r' | b'\n');
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let from = bytes.iter().position(|b| !blank(b)).unwrap_or(bytes.len());
    let to = bytes.iter().rposition(|b| !blank(b)).map_or(from, |last| last + 1);
    &bytes[from..to]
}

/// Whether the line begins with a type that hopty does not use. These lines are the big ones, and reading
/// them would be most of the work. A quote inside a JSON string is escaped, so `}{"` can only separate two
/// records, and a record that matters can only begin behind a torn one.
fn is_irrelevant(bytes: &[u8]) -> bool {
    let Some(rest) = bytes.strip_prefix(b"{\"type\":\"") else { return false };
    let Some(end) = rest.iter().take(64).position(|b| *b == b'"') else { return false };
    let matters = |word: &[u8]| {
        KNOWN.iter().any(|known| word.strip_prefix(*known).is_some_and(|rest| rest.first() == Some(&b'"')))
    };
    let has = |what: &[u8]| memmem::find(&bytes[1..], what).is_some();
    !KNOWN.contains(&&rest[..end])
        && bytes.ends_with(b"}")
        && !has(b"}{\"")
        && !has(STARTS[0])
        && !has(STARTS[2])
        && !memmem::find_iter(rest, STARTS[1]).any(|at| matters(&rest[at + STARTS[1].len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(line: &str) -> Option<String> {
        match TranscriptLine::parse(line.as_bytes())? {
            TranscriptLine::User(user) => match user.kind {
                UserKind::Prompt(text) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    const HI: &str = r#"{"type":"user","message":{"role":"user","content":"hi"}}"#;

    #[test]
    fn a_repeated_request_is_not_a_tool_result() {
        let blob = br#"{"type":"api-request-blob","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#;
        assert_eq!(TranscriptLine::parse(blob), Some(TranscriptLine::Other));
        let late = br#"{"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"}]},"type":"api-request-blob"}"#;
        assert_eq!(TranscriptLine::parse(late), Some(TranscriptLine::Other));
    }

    #[test]
    fn dirt_round_a_record_is_tolerated() {
        for line in
            [format!("\u{feff}{HI}\r"), format!("\0\0\0{HI}"), format!("{HI}\0\0"), format!("  {HI}  ")]
        {
            assert_eq!(prompt(&line).as_deref(), Some("hi"), "{line:?}");
        }
        for line in ["", "\0\0", "   ", "nonsense", "[1]", "7", "{", "{\"type\":\"user\""] {
            assert_eq!(TranscriptLine::parse(line.as_bytes()), None, "{line:?}");
        }
    }

    #[test]
    fn invalid_utf8_and_half_an_emoji_cost_no_line() {
        let mut line = br#"{"type":"user","message":{"content":"a"#.to_vec();
        line.extend_from_slice(b"\xff\xfe");
        line.extend_from_slice(br#"b \ud83d c \\ud83d \ud83d\ude00"}}"#);
        let text = prompt(&String::from_utf8_lossy(&line)).unwrap();
        assert_eq!(text, "a\u{fffd}\u{fffd}b \u{fffd} c \\ud83d \u{1f600}");
        assert!(matches!(TranscriptLine::parse(&line), Some(TranscriptLine::User(_))));
    }

    fn read(line: &str) -> (RecordCount, Vec<TranscriptLine>) {
        let mut lines = Vec::new();
        let tally = TranscriptLine::parse_each(line.as_bytes(), |line| lines.push(line));
        (tally, lines)
    }

    #[test]
    fn glued_and_torn_records_are_found() {
        let parent = HI.replacen('{', r#"{"parentUuid":null,"#, 1);
        let queue = r#"{"type":"mode","mode":"normal"}"#;
        assert_eq!(read(&format!("{HI}{parent}")).0, RecordCount { read: 2, bad: 0 });
        assert_eq!(read(&format!("{queue}{parent}")).0, RecordCount { read: 2, bad: 0 });
        assert_eq!(read(&format!("{HI}\0\0{parent}")).0, RecordCount { read: 2, bad: 0 });
        let (tally, lines) = read(&format!("{}{parent}", &HI[..40]));
        assert_eq!(tally, RecordCount { read: 1, bad: 1 });
        assert!(matches!(lines[0], TranscriptLine::User(_)));
        let (tally, lines) = read(&format!("{parent}{}", &HI[..40]));
        assert_eq!((tally, lines.len()), (RecordCount { read: 1, bad: 1 }, 1));
    }

    #[test]
    fn an_inner_object_of_a_torn_record_is_not_a_line() {
        let torn = format!(r#"{{"type":"assistant","message":{{"content":[{{"x":{HI}}},"tail"#);
        assert_eq!(read(&torn), (RecordCount { read: 0, bad: 1 }, vec![]));
    }

    #[test]
    fn depth_and_numbers_without_bound_are_skipped() {
        let deep = format!(r#"{{"type":"user","message":{{"content":{}"#, "[".repeat(100_000));
        assert_eq!(TranscriptLine::parse(deep.as_bytes()), None);
        let ignored = format!(
            r#"{{"type":"user","x":{}{},"message":{{"content":"hi"}}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(prompt(&ignored).as_deref(), Some("hi"));
        let number = br#"{"type":"assistant","message":{"usage":{"input_tokens":-1,"output_tokens":1e300}}}"#;
        let Some(TranscriptLine::Assistant(line)) = TranscriptLine::parse(number) else { panic!() };
        assert_eq!(line.usage.unwrap(), TokenUsage { output: u64::MAX, ..TokenUsage::default() });
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            TranscriptLine::parse_each(&bytes, |_| {});
        }

        #[test]
        fn no_cut_of_a_record_panics(cut in 0usize..200, glue in 0usize..200) {
            let line = br#"{"parentUuid":null,"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"text":"a\ud800"}]}]}}"#;
            let mut bytes = line[..cut.min(line.len())].to_vec();
            bytes.extend_from_slice(&line[glue.min(line.len())..]);
            TranscriptLine::parse_each(&bytes, |_| {});
        }
    }
}
