//! Passes each line of a transcript to the parts that it concerns.

use super::call_answer::{CallAnswer, call_words};
use super::turn_starts::{ConversationMark, TurnStarts};
use super::{
    AgentReports, BackgroundWork, CheckHistory, ClaudeAnswers, ConversationSettings, FilesRead, LastMessage,
    PersonsDecisions, PromptProof, QueuedPrompts, RecentExchanges, ScheduledPrompts, ShellCommands,
    TaskHistory, ToolCalls, ToolLog, TouchedFiles, TurnState, WindowFill,
};
use crate::core::claude::pasted_prompt::PromptPlace;
use crate::core::claude::prompts::{
    ALLOWED_CALL, PromptKind, Prompts, REFUSED_CALL, TranscriptPrompt, mark_pastes,
};
use crate::core::claude::tasks::Tasks;
use crate::core::claude::transcript_line::{
    ApiFailure, Assistant, ResultDetail, ToolResult, TranscriptLine, User, UserKind,
};
use crate::core::handoff::continuation_prompt::{handoff_of, unwrap_pasted};
use crate::core::supervisor::limit_and_error_wait::ResumeAfter;

/// The facts from the transcript of one conversation so far. Only its lines change the parts, except for
/// [`PromptProof::seek`].
#[derive(Clone, Debug, Default)]
pub struct TranscriptFacts {
    pub settings: ConversationSettings,
    pub window: WindowFill,
    pub turn: TurnState,
    /// Calls without an answer, and the ids that were read.
    pub calls: ToolCalls,
    pub message: LastMessage,
    /// Claude's answers, findings and stated decisions.
    pub answers: ClaudeAnswers,
    /// Everything that the person wrote.
    pub prompts: Prompts,
    pub exchanges: RecentExchanges,
    pub queue: QueuedPrompts,
    /// The proof that Claude received a prompt of hopty's.
    pub proof: PromptProof,
    pub decisions: PersonsDecisions,
    /// Claude's list of tasks, and when each was last touched.
    pub tasks: TaskHistory,
    /// The files that tools wrote.
    pub files: TouchedFiles,
    pub files_read: FilesRead,
    pub checks: CheckHistory,
    pub background: BackgroundWork,
    pub scheduled: ScheduledPrompts,
    /// The last answered tool calls, and the failed ones.
    pub tool_log: ToolLog,
    pub reports: AgentReports,
    /// The person's own commands (`!`).
    pub shell_commands: ShellCommands,
    starts: TurnStarts,
    /// Records that were read, and pieces that could not be read.
    counts: (u64, u64),
}

impl TranscriptFacts {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The facts of a conversation that has no line yet and starts with this list of tasks.
    #[must_use]
    pub fn after(tasks: &Tasks) -> Self {
        TranscriptFacts { tasks: TaskHistory::after(tasks), ..Self::default() }
    }

    /// Takes one raw line, as `LineSplitter` yields it. An unreadable line is counted and skipped.
    pub fn feed(&mut self, line: &[u8]) {
        let tally = TranscriptLine::parse_each(line, |line| self.take_line(line));
        self.counts.0 += u64::from(tally.read);
        self.counts.1 += u64::from(tally.bad);
    }

    /// Records that were read, and pieces that could not be read.
    pub fn counts(&self) -> (u64, u64) {
        self.counts
    }

    /// Whether a prompt or an answer of the main chain was read.
    pub fn has_begun(&self) -> bool {
        self.turn.has_prompt() || self.message.is_known()
    }

    /// Whether the last main-chain message ended its turn and no tool is open.
    pub fn turn_ended(&self) -> bool {
        self.turn.is_over() && self.calls.open().is_empty()
    }

    /// The API error or limit at which the conversation is, unless a tool is open. Claude sends no request
    /// while it waits for a tool or for the permission to use one, so the line comes from elsewhere.
    pub fn failure_of_request(&self) -> Option<&ApiFailure> {
        self.turn.failure().filter(|_| self.calls.open().is_empty())
    }

    /// The person's last prompts, newest first, each with what Claude had written before it (at most 32 KiB).
    pub fn replies(&self) -> impl Iterator<Item = (&TranscriptPrompt, &str)> {
        let total = self.prompts.count();
        self.starts.marks().rev().filter_map(move |mark| {
            let back = usize::try_from(total.checked_sub(mark.prompts)?).ok()?.checked_sub(1)?;
            Some((self.prompts.iter().rev().nth(back)?, mark.answers.answer()))
        })
    }

    fn take_line(&mut self, line: TranscriptLine) {
        match line {
            TranscriptLine::Assistant(line) if !line.sidechain => self.take_message(*line),
            TranscriptLine::User(line) if !line.sidechain => self.take_user(*line),
            TranscriptLine::Queue { operation, content, timestamp } => {
                self.take_queue_operation(&operation, content.as_deref(), timestamp.as_deref());
            }
            TranscriptLine::PermissionMode(mode) => self.settings.take_permission_mode(mode),
            TranscriptLine::Title(title) => self.settings.take_title(title),
            TranscriptLine::CompactBoundary { post_tokens } => self.window.take_compaction(post_tokens),
            // The line follows the prompt that it belongs to.
            TranscriptLine::Selection(selected) if self.turn.awaits_answer() => {
                self.prompts.point_at(&selected);
            }
            _ => {}
        }
    }

    fn take_message(&mut self, line: Assistant) {
        self.turn.take_message(&line);
        let block = self.message.take_message(&line);
        // The text of an API error is Claude Code's, not the model's.
        if line.synthetic {
            return;
        }
        if let Some(block) = block {
            self.answers.take_text(&block, self.turn.is_over());
            self.exchanges.take_text(&block);
            self.reports.take_text(&block);
            self.background.take_text();
            self.calls.take_text();
        }
        self.proof.take_answer();
        self.window.take_message(&line);
        for call in line.tool_uses {
            if let Some(prompt) = &call.input.schedules {
                self.queue.schedule(prompt);
            }
            self.calls.take_call(call);
        }
    }

    fn take_user(&mut self, mut line: User) {
        if let Some(mode) = line.permission_mode.take() {
            self.settings.take_permission_mode(mode);
        }
        match line.kind {
            UserKind::Prompt(_) => self.take_prompt(line),
            UserKind::Notification(text) => {
                self.take_notification(&text, false);
                self.begin_turn();
                self.turn.take_notification();
            }
            UserKind::ToolResults { results, detail } => {
                self.turn.resume();
                self.take_results(&results, &detail);
                self.prompts.date(line.timestamp.as_deref());
            }
            UserKind::Interrupted => {
                self.calls.abandon();
                let in_newest = self.message.is(line.interrupted_message.as_deref());
                if let Some(waiting) = self.turn.interrupt(in_newest) {
                    self.prompts.interrupt(waiting);
                }
            }
            UserKind::ShellCommand(command) => {
                self.shell_commands.take_command(&command, self.exchanges.total())
            }
            UserKind::ShellOutput(output) => {
                if let Some(command) = self.shell_commands.take_output(&output) {
                    self.checks.take_shell_output(command, &output);
                }
            }
            UserKind::Memory(text) => self.take_note(text, PromptKind::Memory, line.timestamp),
            UserKind::Compact(text) => self.take_note(text, PromptKind::Compact, line.timestamp),
            UserKind::CommandText(text) if self.turn.awaits_answer() => {
                self.prompts.add_command_text(&text);
            }
            UserKind::ImageFiles(files) if self.turn.awaits_answer() => {
                files.iter().for_each(|file| self.prompts.show_image(file));
            }
            // Otherwise the lines that it sums up are above it.
            UserKind::Summary(text) if !self.turn.has_prompt() => self.answers.take_summary(&text),
            UserKind::ImageFiles(_) | UserKind::Summary(_) | UserKind::Meta | UserKind::CommandText(_) => {}
        }
    }

    /// The person typed something that begins no turn.
    fn take_note(&mut self, text: String, kind: PromptKind, at: Option<String>) {
        self.prompts.put(TranscriptPrompt { text, kind, at, ..TranscriptPrompt::default() }, "");
    }

    fn take_prompt(&mut self, line: User) {
        let UserKind::Prompt(prompt) = line.kind else { return };
        self.proof.take_prompt(&prompt, line.timestamp.as_deref(), PromptPlace::Prompt);
        // 2.1.197 writes a quick first answer before its prompt (measured); the times give the true order.
        let is_answered = !self.turn.has_prompt() && self.window.is_after(&line.timestamp);
        let joins_turn = self.turn.joins_turn(line.source.as_deref() == Some("queued"));
        if !is_answered && !joins_turn {
            self.begin_turn();
        }
        if let Some(parent) = line.parent {
            self.place_prompt(line.uuid, parent);
        }
        self.turn.take_prompt();
        if let Some(id) = handoff_of(&prompt) {
            self.proof.take_continuation(id, is_answered);
            return;
        }
        let text = unwrap_pasted(&prompt);
        if ResumeAfter::is_prompt(text.trim()) {
            return;
        }
        let said = TranscriptPrompt {
            text: mark_pastes(&prompt),
            images: line.images,
            at: line.timestamp,
            ..TranscriptPrompt::default()
        };
        self.prompts.put(said, self.answers.replied_to());
        self.exchanges.take_prompt(text.trim());
        self.answers.take_prompt(&text);
        self.turn.await_answer(is_answered);
    }

    /// A tool without an answer at the beginning of the next turn never gets one: its run was killed.
    fn begin_turn(&mut self) {
        // A turn that a notification began answers no prompt.
        let prompt = self.prompts.newest_to_answer().filter(|_| self.turn.is_prompted());
        let is_broken_off = prompt.is_some_and(|prompt| prompt.interrupted) || self.turn.failure().is_some();
        if self.turn.is_over() && !is_broken_off {
            self.answers.end_turn(prompt.and_then(|_| self.prompts.newest_said()));
        }
        self.calls.abandon();
        self.turn.resume();
    }

    /// Records the place of a prompt before its text is read. If an earlier prompt was at the same place, the
    /// person went back to it, and everything after it is forgotten, except files that were written and
    /// commands that ran, because they happened.
    fn place_prompt(&mut self, uuid: Option<String>, parent: String) {
        if let Some(mark) = self.starts.go_back(uuid.as_deref(), &parent) {
            self.prompts.go_back_to(mark.prompts);
            self.exchanges.go_back_to(mark.exchanges);
            self.decisions.go_back_to(mark.decisions);
            self.answers.go_back_to(&mark.answers);
            self.tasks.go_back_to(&mark.tasks);
        }
        let mark = ConversationMark {
            prompts: self.prompts.count(),
            exchanges: self.exchanges.total(),
            decisions: self.decisions.mark(),
            answers: self.answers.mark(),
            tasks: self.tasks.list().clone(),
        };
        self.starts.put(uuid, parent, mark);
    }

    /// Takes a text that Claude was sent on behalf of the person.
    fn take_notification(&mut self, text: &str, is_queued: bool) {
        self.background.take_notification(text, is_queued, &mut self.checks);
        self.reports.take_notification(text);
    }

    fn take_results(&mut self, results: &[ToolResult], detail: &ResultDetail) {
        let call = results.last().and_then(|last| self.calls.find(&last.id));
        // The answer of this tool carries a note that the tool is loaded, which is no comment of the person.
        let allowed = call.filter(|call| call.name != "ToolSearch").map(call_words);
        for result in results {
            let call = self.calls.take_answer(&result.id);
            let detail = (results.len() == 1).then_some(detail);
            self.take_answer(&CallAnswer { call: call.as_ref(), result, detail });
        }
        if let (Some(said), Some(call), false) = (&detail.said, allowed, detail.refused) {
            self.take_comment(said, PromptKind::Approval, &format!("{ALLOWED_CALL}{call})"));
        }
    }

    fn take_answer(&mut self, answer: &CallAnswer<'_>) {
        let launched = self.background.take_answer(answer, &mut self.checks);
        if !launched {
            self.checks.take_answer(answer);
        }
        self.scheduled.take_answer(answer);
        if let Some(path) = answer.written_path() {
            self.checks.take_edit(path);
            self.background.take_edit(path);
        }
        self.tool_log.take_answer(answer, launched, self.exchanges.total());
        self.reports.take_answer(answer);
        self.files.take_answer(answer);
        self.files_read.take_answer(answer);
        if let Some(why) = answer.refusal() {
            let asked = answer.call.map(|call| format!("{REFUSED_CALL}{})", call_words(call)));
            self.take_comment(&why, PromptKind::Refusal, &asked.unwrap_or_default());
        }
        self.tasks.take_answer(answer, self.prompts.count());
        for (text, question) in self.decisions.take_answer(answer, self.prompts.count()) {
            self.take_comment(&text, PromptKind::Answer, &question);
        }
    }

    /// Takes what the person wrote about a tool call or a question.
    fn take_comment(&mut self, text: &str, kind: PromptKind, asked: &str) {
        let text = text.trim().to_owned();
        if !text.is_empty() {
            self.prompts.put(TranscriptPrompt { text, kind, ..TranscriptPrompt::default() }, asked);
            self.answers.take_comment();
        }
    }

    fn take_queue_operation(&mut self, operation: &str, content: Option<&str>, at: Option<&str>) {
        if let Some(content) = content.filter(|_| operation == "enqueue") {
            self.proof.take_prompt(content, at, PromptPlace::Queued);
            self.take_notification(content, true);
        }
        if let Some(prompt) = self.queue.take_operation(operation, content) {
            let (text, kind) = (mark_pastes(&prompt), PromptKind::Steering);
            self.prompts.put(TranscriptPrompt { text, kind, ..TranscriptPrompt::default() }, "");
            self.exchanges.take_prompt(&prompt);
            self.answers.take_prompt(&prompt);
        }
    }
}
