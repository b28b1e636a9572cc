//! `state.json` of a record: the handoff for programs, version "2.0".

use serde::{Deserialize, Serialize};

use super::capture::{Capture, EarlierHandoff, GitState};
use super::checkpoint::HandoffCheckpoint;
use super::handoff_answers::{AGREED_BYTES, AgreedAnswer};
use super::recent_activity;
use super::safe_prompts::{PromptRow, Words, shorten};
use super::sections::next_steps;
use crate::core::claude::prompts::TranscriptPrompt;
use crate::core::claude::tasks::{AFTER_CAP, Task, TaskStatus};
use crate::core::claude::transcript_facts::{
    AgentReport, AnsweredQuestion, DETACHED_CAP, DetachedCommand, EarlierAnswer, Exchange, StatedDecision,
    TranscriptSpeaker,
};
use crate::core::ids::{Channel, ConversationId, HandoffId, SessionName};
use crate::core::text::safe_text::{cut_bytes, cut_chars, cut_words, safe, safe_line};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TranscriptCopy {
    /// It is made after the next run has started.
    Pending,
    /// `transcript.jsonl.gz` exists.
    Done,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// Claude's number of the task; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    pub content: String,
    /// `pending` or `in_progress`.
    pub status: String,
    /// The numbers of the tasks that come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRow {
    pub question: String,
    pub answer: String,
}

impl DecisionRow {
    /// Each side on one line of at most 500 characters.
    #[must_use]
    pub fn of(decision: &AnsweredQuestion) -> Self {
        Self { question: line(&decision.question), answer: line(&decision.answer) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRow {
    /// The beginning of the prompt that it answers; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// The answer on one line, shortened in the middle: to 4,000 characters for the newest twelve, and 500
    /// for the others. One that the person has not answered keeps its lines, and 16,000 characters.
    pub answer: String,
    /// The person's next words, if they were one short line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// The person had typed nothing since then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaits_reply: bool,
}

impl AnswerRow {
    /// `cap`: the longest text, in characters.
    fn of(answer: &EarlierAnswer, cap: usize) -> Self {
        Self {
            prompt: cut_chars(&safe_line(&answer.prompt), 160),
            answer: match answer.awaits_reply {
                // The person may say "all but 4" to it.
                true => shorten(safe(&answer.text).trim(), AGREED_BYTES),
                false => shorten(&safe_line(&answer.text), cap),
            },
            reply: answer.reply.as_deref().map(line),
            awaits_reply: answer.awaits_reply,
        }
    }

    fn answer(&self) -> EarlierAnswer {
        EarlierAnswer {
            prompt: line(&self.prompt),
            text: cut_bytes(&self.answer, TEXT_CAP).to_owned(),
            reply: self.reply.as_deref().map(line),
            awaits_reply: self.awaits_reply,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// At most 500 characters.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The goal, at most 200 characters.
    pub current_objective: String,
    /// Claude's own words; may be empty.
    pub progress_summary: String,
    pub active_todos: Vec<Todo>,
    /// Newest first.
    pub recent_decisions: Vec<DecisionRow>,
    /// The last ten files that were written, newest first.
    pub key_files_modified: Vec<String>,
    pub next_steps: Vec<String>,
    /// The last ten prompts and answers, oldest first.
    pub recent_messages: Vec<RecentMessage>,
    /// The last 20 tool calls with their outcome, oldest first, a line each.
    #[serde(default)]
    pub recent_tools: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Git {
    /// Git was not run; only `notes` says anything.
    pub unknown: bool,
    /// The directory of this work tree, if it is not the handoff's working directory.
    pub dir: Option<String>,
    /// Null if the head is detached.
    pub branch: Option<String>,
    pub head: Option<String>,
    /// Changed paths with git's letters, at most 1,000.
    pub modified_files: Vec<String>,
    pub upstream: Option<String>,
    /// Commits that are missing in the upstream.
    pub ahead: Option<u64>,
    /// Commits of the upstream that are missing here.
    pub behind: Option<u64>,
    /// What git could not say, and why.
    pub notes: Vec<String>,
    /// Operations in progress and stashes.
    pub in_progress: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffState {
    /// Always `2.0`.
    pub version: String,
    /// RFC 3339 with seconds.
    pub created_at: String,
    pub project_dir: String,
    pub transcript_path: String,
    pub context: Context,
    /// Null outside of a repository.
    pub git: Option<Git>,
    pub id: HandoffId,
    /// The conversation that it was made from.
    pub session_id: ConversationId,
    pub channel: Channel,
    pub hopty_session: Option<SessionName>,
    pub predecessor: Option<HandoffId>,
    /// `auto`, `manual`, `signal` or `crash`.
    #[serde(rename = "type")]
    pub kind: String,
    pub reason: String,
    /// The newest prompt that set work, whole.
    pub goal: Option<String>,
    pub tokens_used: Option<u64>,
    pub tokens_max: Option<u64>,
    pub model: Option<String>,
    pub permission_mode: Option<String>,
    /// How many files were written in all.
    pub files_count: u64,
    /// The last failures, newest first.
    pub errors: Vec<String>,
    /// Calls without a result, and work that was still running.
    pub unfinished: Vec<String>,
    /// Prompts in Claude's queue.
    pub queued_prompts: Vec<String>,
    /// The text in the prompt box.
    pub draft: Option<String>,
    /// The person's prompts, newest first, also of earlier conversations; long ones are shortened.
    #[serde(default)]
    pub prompts: Vec<PromptRow>,
    /// Questions that the person has not answered.
    #[serde(default)]
    pub open_questions: Vec<String>,
    /// Finished tasks of all conversations, newest first, at most 50.
    #[serde(default)]
    pub done: Vec<String>,
    /// Files that only earlier conversations wrote, the last one first, at most 20.
    #[serde(default)]
    pub files_before: Vec<String>,
    /// Answers and stated decisions, newest first, also of earlier conversations, at most 70.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerRow>,
    /// Decisions before those of `context`, newest first, for the next handoff.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub older_decisions: Vec<DecisionRow>,
    /// The plan that the person approved last, at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The person has typed more than one line since the approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plan_is_old: bool,
    /// The person has typed anything since the approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plan_said_since: bool,
    /// Longer answers that the person answered in a few words, newest first, at most 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreed: Vec<AgreedAnswer>,
    /// Claude's summary of the conversation before the first transcript, at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_before: Option<String>,
    /// Tool calls that are in no other list, newest first, also of earlier conversations, at most 20 lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps_before: Vec<String>,
    /// Reports that Claude has not summarized, newest first, at most 6.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<ReportRow>,
    /// What Claude promised last, newest first, the conversations before included, at most 6.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<PromiseRow>,
    /// The checkpoint of the second source document.
    #[serde(default)]
    pub checkpoint: HandoffCheckpoint,
    pub transcript: TranscriptCopy,
    /// Commands that the shell left running, oldest first, at most 6; a hand-over does not end them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_running: Vec<LeftRunning>,
}

/// Something that Claude promised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseRow {
    /// The sentence.
    pub text: String,
    /// The person's reply, if it is one short line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
}

/// A command that the shell left running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftRunning {
    pub command: String,
    /// The last line of its output.
    #[serde(default)]
    pub line: String,
}

impl LeftRunning {
    fn of(one: &DetachedCommand) -> Self {
        Self { command: line(&one.command), line: line(&one.line) }
    }

    fn command(&self) -> DetachedCommand {
        DetachedCommand { command: line(&self.command), line: line(&self.line) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportRow {
    pub about: String,
    /// The report on one line, shortened in the middle to 1,000 characters.
    pub report: String,
}

impl ReportRow {
    fn of(report: &AgentReport) -> Self {
        Self { about: line(&report.about), report: shorten(&safe_line(&report.text), REPORT_CHARS) }
    }

    fn report(&self) -> AgentReport {
        let report = cut_bytes(&self.report, TEXT_CAP).to_owned();
        AgentReport { about: line(&self.about), text: report, ..AgentReport::default() }
    }
}

/// How many answers get the first of these lengths, and both lengths, in characters.
const LONG_ANSWERS: usize = 12;
const ANSWER_CHARS: [usize; 2] = [4000, 500];
/// The longest report of a sub-agent, in characters.
const REPORT_CHARS: usize = 1000;
/// The most tasks, changed files and unfinished calls.
const LISTED: usize = 1000;
/// The most queued prompts; each has at most 4,000 characters.
const QUEUED: usize = 20;
/// The longest text of a model or a person, except the goal, in bytes.
const TEXT_CAP: usize = 16 << 10;
/// The most tasks from the earlier handoff.
const TASKS: usize = 50;
/// The most prompts from the earlier handoff.
const PROMPTS: usize = 2000;
/// The longest goal, in bytes.
const GOAL_CAP: usize = 256 << 10;

fn line(text: &str) -> String {
    cut_chars(&safe_line(cut_words(text, 4096)), 500)
}

/// A text of a model or a person, at most [`TEXT_CAP`] bytes of it.
fn long(text: &str) -> String {
    cut_bytes(&safe(cut_words(text, TEXT_CAP)), TEXT_CAP).to_owned()
}

impl Context {
    fn of(capture: &Capture, goal: Option<&str>) -> Self {
        let open = capture.tasks.list.iter().filter(|task| task.status != TaskStatus::Completed);
        let message = |said: &Exchange| RecentMessage {
            role: match said.speaker {
                TranscriptSpeaker::Person => "user".to_owned(),
                TranscriptSpeaker::Claude => "assistant".to_owned(),
            },
            text: cut_chars(&safe(&said.text), 500),
        };
        let recent = capture.recent.iter().skip(capture.recent.len().saturating_sub(10));
        Self {
            current_objective: goal.map(|goal| cut_chars(goal, 200)).unwrap_or_default(),
            progress_summary: capture.own_words().as_deref().map(long).unwrap_or_default(),
            active_todos: open
                .take(LISTED)
                .map(|task| Todo {
                    id: line(&task.id),
                    content: line(&task.subject),
                    status: task.status.word().to_owned(),
                    after: task.after.iter().map(|id| line(id)).collect(),
                })
                .collect(),
            recent_decisions: capture.listed_decisions().map(DecisionRow::of).collect(),
            key_files_modified: capture.files.written.iter().take(10).map(|path| line(path)).collect(),
            next_steps: next_steps(capture),
            recent_messages: recent.map(message).collect(),
            recent_tools: recent_activity::last_steps(capture).iter().map(recent_activity::line).collect(),
        }
    }
}

impl Git {
    #[must_use]
    pub fn of(git: &GitState) -> Self {
        Self {
            unknown: git.unknown,
            dir: git.dir.as_deref().map(line),
            branch: git.branch.as_deref().map(line),
            head: git.head.as_deref().map(line),
            modified_files: git
                .changed
                .iter()
                .take(LISTED)
                .map(|(code, path)| format!("{} {}", line(code), line(path)))
                .collect(),
            upstream: git.upstream.as_deref().map(line),
            ahead: git.ahead_behind.map(|(ahead, _)| ahead),
            behind: git.ahead_behind.map(|(_, behind)| behind),
            notes: git.notes.iter().map(|note| line(note)).collect(),
            in_progress: git.in_progress.iter().map(|one| line(one)).collect(),
        }
    }
}

impl HandoffState {
    /// Passes on to the next handoff what its transcript does not say.
    pub fn pass_on(&self, next: &mut Capture) {
        let decided = |row: &DecisionRow| AnsweredQuestion {
            question: row.question.clone(),
            answer: row.answer.clone(),
        };
        let promised =
            |row: &PromiseRow| StatedDecision::promise(line(&row.text), row.reply.as_deref().map(line));
        let all = self.context.recent_decisions.iter().chain(&self.older_decisions);
        let decisions: Vec<AnsweredQuestion> = all.map(decided).collect();
        let prompts: Vec<TranscriptPrompt> =
            self.prompts.iter().take(PROMPTS).map(PromptRow::prompt).collect();
        let todos = self.context.active_todos.iter().filter(|todo| !todo.content.is_empty());
        let tasks: Vec<Task> = todos
            .take(TASKS)
            .map(|todo| Task {
                after: todo.after.iter().take(AFTER_CAP).map(|id| line(id)).collect(),
                id: todo.id.clone(),
                subject: todo.content.clone(),
                status: TaskStatus::from_word(&todo.status),
            })
            .collect();
        let answers: Vec<EarlierAnswer> = self.answers.iter().map(AnswerRow::answer).collect();
        next.inherit(&EarlierHandoff {
            answers: &answers,
            goal: self.goal.as_deref(),
            prompts: &prompts,
            done: &self.done,
            files: [&self.context.key_files_modified, &self.files_before],
            tasks: &tasks,
            decisions: &decisions,
            plan: self.plan.as_deref(),
            plan_is_old: self.plan_is_old,
            plan_said_since: self.plan_said_since,
            agreed: &self.agreed,
            summary: self.summary_before.as_deref(),
            steps: &self.steps_before,
            reports: &self.reports.iter().map(ReportRow::report).collect::<Vec<_>>(),
            promises: &self.promises.iter().take(LISTED).map(promised).collect::<Vec<_>>(),
        });
        let is_new = |row: &&LeftRunning| !next.detached.iter().any(|one| one.command == row.command);
        let before: Vec<DetachedCommand> =
            self.left_running.iter().rev().filter(is_new).map(LeftRunning::command).collect();
        let room = DETACHED_CAP.saturating_sub(next.detached.len());
        next.detached.splice(0..0, before.into_iter().take(room).rev());
    }

    #[must_use]
    pub fn of(capture: &Capture) -> Self {
        Self::with(capture, &Words::of(capture))
    }

    /// The same with words that are safe already.
    #[must_use]
    pub fn with(capture: &Capture, words: &Words) -> Self {
        let (origin, situation) = (&capture.origin, &capture.situation);
        let goal = capture
            .goal
            .as_deref()
            .map(|goal| cut_bytes(&safe(cut_words(goal, GOAL_CAP)), GOAL_CAP).to_owned());
        let unfinished = situation.open_tools.iter().chain(&situation.background);
        Self {
            version: "2.0".to_owned(),
            created_at: origin.created_at.rfc3339_s(),
            project_dir: safe(&origin.working_dir),
            transcript_path: safe(&origin.transcript),
            context: Context::of(capture, goal.as_deref()),
            git: capture.git.as_ref().map(Git::of),
            id: capture.id(),
            session_id: origin.conversation.clone(),
            channel: origin.channel.clone(),
            hopty_session: origin.session.clone(),
            predecessor: origin.predecessor.clone(),
            kind: origin.kind.word().to_owned(),
            reason: line(&situation.reason),
            goal,
            tokens_used: situation.tokens,
            tokens_max: situation.window,
            model: situation.model.as_deref().map(line),
            permission_mode: situation.permission_mode.as_deref().map(line),
            files_count: capture.files.count,
            errors: capture.errors.iter().rev().map(|e| line(&format!("{}: {}", e.tool, e.line))).collect(),
            unfinished: unfinished.take(LISTED).map(|one| line(one)).collect(),
            queued_prompts: situation
                .queued
                .iter()
                .take(QUEUED)
                .map(|prompt| cut_chars(&safe(cut_words(prompt, TEXT_CAP)), 4000))
                .collect(),
            draft: situation.draft.as_deref().map(long),
            prompts: words.to_pass_on(),
            open_questions: situation.asked.iter().map(|question| line(question)).collect(),
            done: capture.tasks.done(),
            files_before: capture.files.before.iter().map(|path| line(path)).collect(),
            answers: (0..)
                .zip(capture.answers_to_pass_on())
                .map(|(at, answer)| AnswerRow::of(&answer, ANSWER_CHARS[usize::from(at >= LONG_ANSWERS)]))
                .collect(),
            older_decisions: (capture.decisions_to_pass_on().skip(capture.listed_decisions().count()))
                .map(DecisionRow::of)
                .collect(),
            plan: capture.plans.approved.as_ref().map(|plan| long(&plan.text)),
            plan_is_old: capture.plans.approved.as_ref().is_some_and(|plan| !plan.is_current),
            plan_said_since: capture.plans.approved.as_ref().is_some_and(|plan| plan.said_since),
            agreed: (capture.answers.agreed.iter())
                .map(|one| AgreedAnswer { reply: line(&one.reply), text: long(&one.text) })
                .collect(),
            summary_before: capture.summary_before.as_deref().map(long),
            reports: capture.reports.to_pass_on().map(ReportRow::of).collect(),
            promises: (capture.answers.promises())
                .map(|one| PromiseRow { text: line(&one.text), reply: one.reply.as_deref().map(line) })
                .collect(),
            steps_before: capture.steps.to_pass_on().iter().map(|step| line(step)).collect(),
            checkpoint: HandoffCheckpoint::of(capture),
            transcript: TranscriptCopy::Pending,
            left_running: capture.detached.iter().map(LeftRunning::of).collect(),
        }
    }

    pub fn render(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::tests::capture;
    use super::*;

    #[test]
    fn the_fields_of_the_source_documents_are_there() {
        let mut capture = capture(&"word ".repeat(100));
        let task = |status| Task { after: Vec::new(), id: "1".into(), subject: "s".into(), status };
        capture.tasks.list = vec![task(TaskStatus::Completed), task(TaskStatus::InProgress)];
        capture.files.written = (0..30).map(|n| n.to_string()).collect();
        let state: serde_json::Value = serde_json::from_str(&HandoffState::of(&capture).render()).unwrap();
        assert_eq!(state["version"], "2.0");
        assert_eq!(state["project_dir"], "/home/u/proj");
        assert_eq!(state["context"]["current_objective"].as_str().unwrap().chars().count(), 203);
        assert_eq!(state["context"]["active_todos"].as_array().unwrap().len(), 1);
        assert_eq!(state["context"]["key_files_modified"].as_array().unwrap().len(), 10);
        assert_eq!(state["context"]["next_steps"][0], "Finish: s");
        assert_eq!(state["goal"].as_str().unwrap().len(), 500);
        assert_eq!(state["transcript"], "pending");
        assert!(state["git"].is_null());
    }

    #[test]
    fn what_the_shell_left_running_is_passed_on_as_far_as_there_is_room() {
        let one = |command: &str| DetachedCommand { command: command.into(), line: "7".into() };
        let mut before = capture("g");
        before.detached = (0..DETACHED_CAP).map(|n| one(&format!("serve {n} password=hunter22 &"))).collect();
        let state = HandoffState::of(&before).render();
        assert!(!state.contains("hunter22"));
        let state: HandoffState = serde_json::from_str(&state).unwrap();
        let mut next = capture("g");
        next.detached = vec![one("serve 9 &")];
        state.pass_on(&mut next);
        let told: Vec<&str> = next.detached.iter().map(|one| &one.command[..7]).collect();
        assert_eq!(told, ["serve 1", "serve 2", "serve 3", "serve 4", "serve 5", "serve 9"]);
        state.pass_on(&mut next);
        assert_eq!(next.detached.len(), DETACHED_CAP);
    }

    #[test]
    fn the_file_is_read_back() {
        let state = HandoffState::of(&capture("g"));
        assert_eq!(serde_json::from_str::<HandoffState>(&state.render()).unwrap(), state);
    }
}
