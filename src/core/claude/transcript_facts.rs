//! What a transcript adds up to: the fill of the window, and everything that a handoff says without asking a
//! model.
//!
//! [`TranscriptFacts`] is fed line by line as the file grows. Its memory is bounded whatever the file holds,
//! and a line costs no more than reading it (`reduce` says how a line changes it). It decides nothing:
//! levels, safe points and texts are made elsewhere from what is said here.

use std::collections::HashMap;

use super::agent_reports::{AgentReport, AgentReports};
use super::bounded_memory::{LastItems, Recent, TouchedFiles};
use super::decision_sentences::{StatedDecision, StatedDecisions};
use super::earlier_answers::{EarlierAnswer, EarlierAnswers};
use super::files_read::FilesRead;
use super::pasted_prompt::{PromptPlace, SentPrompt};
use super::prompts::Prompts;
use super::taken_back::{TURN_CAP, TurnStart};
use super::tasks::Tasks;
use super::tool_outcomes::Work;
use super::tool_steps::{STEP_CAP, ToolStep};
use super::transcript_line::{ApiFailure, ToolUse};
use super::transcript_line_effects::is_typed;
use crate::core::ids::HandoffId;

/// How many prompts and answers are kept.
pub const RECENT_CAP: usize = 12;
/// The most that is kept of one of them, in bytes.
pub const EXCHANGE_CAP: usize = 2000;
/// How much is kept of a message in the middle of a turn, in bytes.
pub(super) const FINDING_BYTES: usize = 600;
/// How many such messages are kept of the turn that is not over, and of those before.
const FINDINGS: usize = 300;
const FINDINGS_BEFORE: usize = 60;
/// How many failed tools are kept.
pub const ERROR_CAP: usize = 20;
/// How many decisions are kept.
pub const DECISION_CAP: usize = 50;
/// How many commands of the person's own (`!`) are kept.
pub const SHELL_CAP: usize = 6;
/// How many prompts that the model scheduled are known.
const SCHEDULED_CAP: usize = 64;
/// How much of each of them is known, in bytes.
pub(super) const SCHEDULED_BYTES: usize = 4096;

/// The fill of the window by the last answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageUsage {
    /// Tokens: input, cache read and cache creation.
    pub tokens: u64,
    /// The message it was read from; empty right after a compaction.
    pub message_id: String,
    /// When that message was written, RFC 3339.
    pub at: Option<String>,
}

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptSpeaker {
    Person,
    Claude,
}

/// A prompt or an answer, cut to [`EXCHANGE_CAP`] bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Who said it.
    pub speaker: TranscriptSpeaker,
    pub text: String,
}

/// What Claude said in one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerText {
    /// Its text, at most 1 MiB.
    pub text: String,
    /// The person has said something since.
    pub replied: bool,
}

/// A question that Claude asked and the person answered (AskUserQuestion).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredQuestion {
    pub question: String,
    pub answer: String,
}

/// How the answer begins of a plan that was approved.
pub const PLAN_APPROVED: &str = "approved: ";
/// How the answer begins of a plan or a question that was refused.
pub const REFUSED: &str = "refused: ";

/// A plan of Claude's that the person approved (ExitPlanMode).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovedPlan {
    /// The plan, at most 16 KiB.
    pub text: String,
    /// Claude's own file of it, where Claude names one.
    pub file: Option<String>,
    /// How many prompts the person had said before.
    pub after: u64,
}

/// A command that the person ran themselves (`!`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// The command.
    pub command: String,
    /// The last line that it printed.
    pub line: String,
    /// The beginning and the end of what it printed; empty where that is one line.
    pub output: String,
    /// How many prompts and answers had been said before it, in the whole conversation.
    pub after: u64,
}

/// A tool that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    /// The tool's name; empty when its call was not seen.
    pub tool: String,
    /// What it was called for: a path, a command; empty when that is not known.
    pub about: String,
    /// The line of what it said that tells of the error, at most 300 bytes.
    pub line: String,
    /// The same call has passed since.
    pub passed_since: bool,
    /// It changed nothing and only showed what is there: a search, `ls`.
    pub looked: bool,
}

/// What one conversation's transcript adds up to so far.
#[derive(Clone, Debug, Default)]
pub struct TranscriptFacts {
    pub(super) fill: Option<MessageUsage>,
    pub(super) messages: Recent<64>,
    pub(super) before_compaction: Recent<64>,
    pub(super) prompts: Prompts,
    /// Where the last prompts were typed, oldest first.
    pub(super) turns: LastItems<TurnStart, TURN_CAP>,
    /// The last two answers with a text, the newer first.
    pub(super) answers: [AnswerText; 2],
    /// The turn was begun by a prompt of the person, not by a notification.
    pub(super) prompted: bool,
    /// The newest prompt has no answer yet.
    pub(super) unanswered: bool,
    pub(super) stated: StatedDecisions,
    /// What Claude answered at the end of earlier turns.
    pub(super) earlier: EarlierAnswers,
    pub(super) reads: FilesRead,
    pub(super) recent: LastItems<Exchange, RECENT_CAP>,
    /// What Claude said since its last answer, each the beginning of a message.
    pub(super) findings: LastItems<String, FINDINGS>,
    /// What it said in the middle of the turns before and that says something.
    pub(super) findings_before: LastItems<String, FINDINGS_BEFORE>,
    /// Claude's summary of what stands in no line of this transcript.
    pub(super) summary: Option<String>,
    pub(super) files: TouchedFiles,
    pub(super) tasks: Tasks,
    pub(super) decisions: LastItems<AnsweredQuestion, DECISION_CAP>,
    /// The plan that was approved last.
    pub(super) plan: Option<ApprovedPlan>,
    pub(super) reports: AgentReports,
    pub(super) shell: LastItems<ShellCommand, SHELL_CAP>,
    /// How many prompts there were when a task was last touched, by its key.
    pub(super) touched_tasks: HashMap<String, u64>,
    pub(super) errors: LastItems<ToolError, ERROR_CAP>,
    pub(super) open: Vec<ToolUse>,
    pub(super) work: Work,
    pub(super) steps: LastItems<ToolStep, STEP_CAP>,
    /// How many prompts and answers there were in all.
    pub(super) said: u64,
    pub(super) uses: Recent<4096>,
    pub(super) results: Recent<4096>,
    pub(super) turn_over: bool,
    /// So many of the newest prompts came out of the queue while Claude worked, and have no answer yet.
    pub(super) cut_in: usize,
    /// A prompt was read.
    pub(super) begun: bool,
    pub(super) queue: Vec<String>,
    /// The beginnings of the prompts that the model scheduled.
    pub(super) scheduled: LastItems<String, SCHEDULED_CAP>,
    pub(super) permission_mode: Option<String>,
    pub(super) title: Option<String>,
    pub(super) model: Option<String>,
    pub(super) failure: Option<ApiFailure>,
    pub(super) failures: u64,
    pub(super) last_message: String,
    pub(super) last_text: String,
    pub(super) last_block: usize,
    pub(super) continued: Option<(HandoffId, bool)>,
    /// A prompt that is looked for, and how it was found.
    pub(super) sought: Option<SentPrompt>,
    pub(super) found: Option<PromptPlace>,
    pub(super) lines: u64,
    pub(super) bad: u64,
}

impl TranscriptFacts {
    /// Facts of an empty transcript.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Facts of a conversation before its first line, which finds Claude's list of tasks as it is.
    #[must_use]
    pub fn after(tasks: &Tasks) -> Self {
        TranscriptFacts { tasks: tasks.clone(), ..Self::default() }
    }

    /// Looks for a prompt in the lines to come.
    pub fn seek(&mut self, sent: SentPrompt) {
        self.sought = Some(sent);
        self.found = None;
    }

    /// Looks no more.
    pub fn forget_sought(&mut self) {
        (self.sought, self.found) = (None, None);
    }

    /// How it was found, said once.
    pub fn take_found(&mut self) -> Option<PromptPlace> {
        self.found.take()
    }

    /// The fill by the last main-chain answer; after a compaction what Claude says is left, else `None`.
    pub fn fill(&self) -> Option<&MessageUsage> {
        self.fill.as_ref()
    }

    /// Everything that the person said, oldest first.
    pub fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// The last two answers of Claude that have a text, the newer first; empty where there was none.
    pub fn last_answers(&self) -> &[AnswerText; 2] {
        &self.answers
    }

    /// Whether Claude has not begun to answer the newest prompt.
    pub fn newest_is_unanswered(&self) -> bool {
        self.unanswered
    }

    /// Decisions that Claude stated with a reason, oldest first.
    pub fn stated(&self) -> impl DoubleEndedIterator<Item = &StatedDecision> {
        self.stated.iter()
    }

    /// What Claude answered at the end of the turns before the last one, oldest first.
    pub fn earlier_answers(&self) -> impl DoubleEndedIterator<Item = &EarlierAnswer> {
        self.earlier.iter()
    }

    /// The files that Claude read.
    pub fn files_read(&self) -> &FilesRead {
        &self.reads
    }

    /// The last prompts and answers, oldest first.
    pub fn recent(&self) -> impl DoubleEndedIterator<Item = &Exchange> {
        self.recent.iter()
    }

    /// What Claude said since its last answer, in the middle of a turn, oldest first.
    pub fn findings(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.findings.iter().map(String::as_str)
    }

    /// What Claude said in the middle of the turns before and that says something, oldest first.
    pub fn findings_before(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.findings_before.iter().map(String::as_str)
    }

    /// Claude's summary of a conversation that stands in no line of this transcript, at most 16 KiB.
    pub fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    /// The last tool calls that were answered, oldest first.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &ToolStep> {
        self.steps.iter()
    }

    /// How many prompts and answers there were in all, those that are not kept included.
    pub fn said(&self) -> u64 {
        self.said
    }

    /// The files that tools wrote.
    pub fn files(&self) -> &TouchedFiles {
        &self.files
    }

    /// Claude's list of tasks.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// How many prompts there were when a task was last touched in this conversation, by its key.
    pub fn touched_tasks(&self) -> &HashMap<String, u64> {
        &self.touched_tasks
    }

    /// Questions and answers, oldest first.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = &AnsweredQuestion> {
        self.decisions.iter()
    }

    /// The plan that the person approved last.
    pub fn plan(&self) -> Option<&ApprovedPlan> {
        self.plan.as_ref()
    }

    /// The last reports of sub-agents, oldest first.
    pub fn reports(&self) -> impl DoubleEndedIterator<Item = &AgentReport> {
        self.reports.iter()
    }

    /// The last commands that the person ran with `!`, oldest first.
    pub fn shell_commands(&self) -> impl DoubleEndedIterator<Item = &ShellCommand> {
        self.shell.iter()
    }

    /// Tools that failed, oldest first.
    pub fn errors(&self) -> impl DoubleEndedIterator<Item = &ToolError> {
        self.errors.iter()
    }

    /// Tools that were called and have not answered.
    pub fn open_tools(&self) -> &[ToolUse] {
        &self.open
    }

    /// What was verified, what goes on running, and the last tool that was used.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// Whether the last main-chain message ended its turn and no tool is open.
    pub fn turn_ended(&self) -> bool {
        self.turn_over && self.open.is_empty()
    }

    /// Whether any prompt or answer of the main chain has been read.
    pub fn has_begun(&self) -> bool {
        self.begun || !self.last_message.is_empty()
    }

    /// Prompts of the person that wait in Claude's queue.
    pub fn queued_prompts(&self) -> impl Iterator<Item = &str> {
        let is_persons = |prompt: &&str| is_typed(prompt) && !self.is_scheduled(prompt);
        self.queue.iter().map(String::as_str).filter(is_persons)
    }

    /// Whether the model scheduled this prompt (CronCreate, ScheduleWakeup): neither its line in the queue
    /// nor its hook says so (2.1.332).
    pub fn is_scheduled(&self, prompt: &str) -> bool {
        let prompt = prompt.trim();
        self.scheduled
            .iter()
            .map(|begin| begin.trim())
            .any(|begin| prompt == begin || begin.len() + 8 > SCHEDULED_BYTES && prompt.starts_with(begin))
    }

    /// The last permission mode, as Claude spells it.
    pub fn permission_mode(&self) -> Option<&str> {
        self.permission_mode.as_deref()
    }

    /// The name that the person gave the conversation (`--name`, `/rename`).
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The model of the last answer, without `[1m]`.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The API error or limit that the conversation stands at; `None` as soon as an answer came after it.
    pub fn failure(&self) -> Option<&ApiFailure> {
        self.failure.as_ref()
    }

    /// The same, unless a tool is open: Claude asks nobody anything while it waits for a tool, or for the
    /// permission to use one, so that somebody else wrote the line.
    pub fn failure_of_request(&self) -> Option<&ApiFailure> {
        self.failure().filter(|_| self.open.is_empty())
    }

    /// How many there were in all, so that the same one twice is seen.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Whether the results of all these tool uses have been read (the last 4,096 are remembered).
    pub fn has_results<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> bool {
        ids.into_iter().all(|id| self.results.has(id))
    }

    /// Whether the assistant lines of all these tool uses have been read.
    pub fn has_assistant_with<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> bool {
        ids.into_iter().all(|id| self.uses.has(id))
    }

    /// The text of Claude's last message so far, cut at a size that no answer of a form has.
    pub fn last_text(&self) -> &str {
        &self.last_text
    }

    /// Whether the last message is the one that a Stop hook names in `last_assistant_message`.
    pub fn last_text_is(&self, text: &str) -> bool {
        let last_block = self.last_text.get(self.last_block..).unwrap_or_default();
        let text = text.trim();
        self.last_text.trim() == text || last_block.trim() == text
    }

    /// Whether hopty's continuation prompt for `id` stands in the transcript.
    pub fn continued(&self, id: &HandoffId) -> bool {
        self.continued.as_ref().is_some_and(|(seen, _)| seen == id)
    }

    /// Whether Claude gave a real answer after that prompt: the handoff is consumed.
    pub fn answered(&self, id: &HandoffId) -> bool {
        self.continued.as_ref().is_some_and(|(seen, answered)| seen == id && *answered)
    }

    /// Records read, and pieces that could not be read.
    pub fn counts(&self) -> (u64, u64) {
        (self.lines, self.bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> TranscriptFacts {
        let mut facts = TranscriptFacts::new();
        for line in lines {
            facts.feed(line.as_bytes());
        }
        assert_eq!(facts.counts(), (lines.len() as u64, 0));
        facts
    }

    const ASK: &str = r#"{"type":"assistant","message":{"id":"m1","model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}"#;
    const ANSWER: &str =
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#;
    const END: &str = r#"{"type":"assistant","message":{"id":"m2","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"done"}]}}"#;

    #[test]
    fn a_turn_ends_with_its_last_message_and_its_last_tool() {
        assert!(!of(&[ASK]).turn_ended());
        assert!(!of(&[ASK, ANSWER]).turn_ended());
        assert!(of(&[ASK, ANSWER, END]).turn_ended());
        assert!(!of(&[ASK, END]).turn_ended(), "t1 is still open");
        let next = r#"{"type":"user","message":{"content":"next"}}"#;
        assert!(!of(&[ASK, ANSWER, END, next]).turn_ended());
        let stopped = r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#;
        assert!(of(&[ASK, stopped]).turn_ended());
    }

    #[test]
    fn no_request_fails_while_a_tool_is_open() {
        let limit = r#"{"type":"assistant","error":"rate_limit","isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"You've hit your limit"}]}}"#;
        let (planted, real) = (of(&[ASK, limit]), of(&[ASK, ANSWER, limit]));
        assert!(planted.failure().is_some() && planted.failure_of_request().is_none());
        assert_eq!(real.failure_of_request(), real.failure());
        assert!(real.failure().is_some());
        assert!(of(&[ASK, limit, ANSWER]).failure_of_request().is_some(), "the result may be written late");
    }

    #[test]
    fn the_last_name_counts_and_may_be_taken_back() {
        let named = r#"{"type":"custom-title","customTitle":"My work","sessionId":"x"}"#;
        let renamed = named.replace("My work", "Other");
        assert_eq!(of(&[named]).title(), Some("My work"));
        assert_eq!(of(&[named, &renamed, ASK]).title(), Some("Other"));
        assert_eq!(of(&[named, &named.replace("My work", "")]).title(), None);
    }

    #[test]
    fn results_may_be_waited_for_by_id() {
        let facts = of(&[ASK]);
        assert!(facts.has_assistant_with(["t1"]) && !facts.has_assistant_with(["t1", "t2"]));
        assert!(!facts.has_results(["t1"]));
        assert!(of(&[ASK, ANSWER]).has_results(["t1"]));
        let early = of(&[ANSWER, ASK]);
        assert!(early.open_tools().is_empty(), "a result may be written between the blocks of its message");
    }

    #[test]
    fn the_last_answer_is_known_whole_and_by_its_last_block() {
        let more = END.replace("done", "and more");
        let facts = of(&[END, &more]);
        for (text, same) in
            [("done\nand more", true), (" and more\n", true), ("done", false), ("more", false)]
        {
            assert_eq!(facts.last_text_is(text), same, "{text:?}");
        }
    }
}
