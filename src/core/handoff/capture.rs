//! What is known when a handoff is made.
//!
//! Most of it comes from the transcript's facts; the host adds where and why, and git adds the state of the
//! work tree. It is plain data that can be given to a worker; the texts are made from it by `sections` and
//! `state`.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use unicode_width::UnicodeWidthStr;

use super::checkpoint::Phases;
use super::continuation_prompt::without_opening;
use super::current_request::{begins_request, current, names_work, newest_request};
use super::manifest_entry::HandoffKind;
use super::note::Note;
use super::operation::{Operation, operation};
use super::pasted_text::own_words;
use super::recent_activity;
use super::repeated_lines::form;
use crate::core::claude::lenient_json::ends;
use crate::core::claude::prompts::{PromptKind, TranscriptPrompt};
use crate::core::claude::tasks::{Task, TaskStatus, task_key, unknown_subject};
use crate::core::claude::transcript_facts::{
    AgentReport, AnsweredQuestion, ApprovedPlan, Check, DetachedCommand, EarlierAnswer, EndedWork, Exchange,
    FileRead, REPLY_CAP, RunningWork, ScheduledPrompt, ShellCommand, StatedDecision, ToolError, ToolStep,
    TranscriptFacts, purpose, says_much, tells_finding,
};
use crate::core::claude::transcript_line::ToolUse;
use crate::core::config::Handoff;
use crate::core::ids::{Channel, ConversationId, HandoffId, SessionName};
use crate::core::text::safe_text::{cut_chars, safe_line};
use crate::core::time::WallTime;

/// How many finished things are told.
const DONE_CAP: usize = 50;
/// How many answers of Claude's are passed on to the next handoff.
const ANSWERS_CAP: usize = 50;
/// How many of Claude's messages in the middle of a turn are passed on to the next handoff, of the turn that
/// is not over and of those before each.
const FINDINGS_CAP: usize = 20;
/// How many longer answers are kept that the person answered in a few words.
const AGREED_CAP: usize = 3;
/// How much is kept of each of them, in bytes.
pub(super) const AGREED_BYTES: usize = 16_000;
/// An answer that is longer has a section of its own where the person agreed to it, in characters.
pub(crate) const LONG_ANSWER: usize = 260;
/// What is no wider comes after all others: "It is behind `legacy_list`.", in columns.
pub(super) const SHORT_ANSWER: usize = 40;
/// How many reports of sub-agents are passed on to the next handoff.
const REPORTS_CAP: usize = 6;
/// How many tool calls are passed on to the next handoff, and how many of one form.
const STEPS_CAP: usize = 20;
const STEPS_OF_ONE_FORM: usize = 6;
/// How many promises of Claude's are told and passed on.
const PROMISES_CAP: usize = 6;
/// Files of earlier conversations that are told.
const FILES_CAP: usize = 20;

/// How the question begins that a plan is.
pub(super) const PLAN_WAITS: &str = "a plan waits for approval";

/// Where a handoff comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoffOrigin {
    /// The conversation that ends.
    pub conversation: ConversationId,
    /// The channel of the directory.
    pub channel: Channel,
    /// What made it.
    pub kind: HandoffKind,
    /// When; the store moves it by a second when the id is taken.
    pub created_at: WallTime,
    /// The directory of the work, an absolute path.
    pub working_dir: String,
    /// The transcript, an absolute path; empty when there is none yet.
    pub transcript: String,
    /// The hopty session; none when made outside of one.
    pub session: Option<SessionName>,
    /// The process that makes it: the host, or the command.
    pub pid: u32,
    /// The handoff that this conversation had been continued from.
    pub predecessor: Option<HandoffId>,
}

/// How the conversation stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Situation {
    /// Why the handoff is made, one sentence.
    pub reason: String,
    /// Tokens in the window.
    pub tokens: Option<u64>,
    /// The size of the window in tokens.
    pub window: Option<u64>,
    pub model: Option<String>,
    /// The permission mode, as Claude spells it.
    pub permission_mode: Option<String>,
    /// Whether Claude had ended its turn.
    pub turn_ended: bool,
    /// Tool calls without an answer: name and purpose.
    pub open_tools: Vec<String>,
    /// Sub-agents and background shells that still ran.
    pub background: Vec<String>,
    /// What had run in the background and has ended, and how, oldest first.
    pub ended: Vec<String>,
    /// Which of them failed and Claude has not looked at.
    pub failed_unread: Vec<String>,
    /// Prompts of the person that Claude had not taken yet.
    pub queued: Vec<String>,
    /// What stood in Claude's queue and nobody is known to have entered as a prompt.
    pub queued_by_nobody: Vec<String>,
    /// Whether hopty sends them to the next conversation.
    pub queue_follows: bool,
    /// Questions and plans that the person had not answered.
    pub asked: Vec<String>,
    /// What Claude was in the middle of.
    pub operation: Operation,
    /// The directory that the conversation had moved to, where it is another than the session's.
    pub moved_to: Option<String>,
    /// What stood in the prompt box.
    pub draft: Option<String>,
    /// The API error or limit that the conversation stood at.
    pub failure: Option<String>,
}

/// The state of the work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitState {
    /// Nothing could be read, and only the notes say anything.
    pub unknown: bool,
    /// The directory that this is of, an absolute path, where the conversation works in another than the
    /// handoff's working directory (a worktree).
    pub dir: Option<String>,
    /// The branch; none when the head is detached.
    pub branch: Option<String>,
    /// The commit, in hexadecimal; none before the first one.
    pub head: Option<String>,
    /// Changed paths with git's two letters for them (`.M`, `A.`, `??`), at most 2,000.
    pub changed: Vec<(String, String)>,
    /// The branch that this one follows.
    pub upstream: Option<String>,
    /// Commits that the upstream lacks, and commits of it that are missing here.
    pub ahead_behind: Option<(u64, u64)>,
    /// What is staged, as a patch; empty when nothing is, or when it is too long (a note says so). Not
    /// redacted.
    pub staged: Vec<u8>,
    /// What is changed and not staged, likewise.
    pub unstaged: Vec<u8>,
    /// `git diff --stat` of everything that is not committed in tracked files. New files are in `changed`.
    pub stat: String,
    /// The same as a patch, for `changes.patch`. Not redacted.
    pub patch: Vec<u8>,
    /// New files as a patch, which follows in `changes.patch`; notes name those that are left out. Not
    /// redacted.
    pub new_files: Vec<u8>,
    /// What was left out, and why: a patch over the cap, a time-out.
    pub notes: Vec<String>,
    /// The top of the work tree, which the changed paths are relative to; none where they are not all of
    /// them.
    pub top: Option<String>,
    /// Files that Claude wrote in the work tree and that are not there any more, absolute paths.
    pub gone: Vec<String>,
    /// What git is in the middle of, and what it has put aside, one line each: a rebase, a merge, stashes.
    pub in_progress: Vec<String>,
    /// The tops of other repositories below this directory that Claude wrote files in, absolute paths. Their
    /// state is in the notes.
    pub inner: Vec<String>,
}

/// Whether the memory-keeper server is configured: its instruction line is written only then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryKeeper {
    /// Not there.
    #[default]
    Absent,
    /// `claude mcp list` shows it.
    Present,
}

/// A tool call that was answered, and its place among what was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedStep {
    /// How many of [`Capture::recent`] were said before it.
    pub before: usize,
    /// The call and what came of it.
    pub step: ToolStep,
}

/// How many entries of each list the record and the brief contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lists {
    /// Decisions, the newest (`handoff.decisions`).
    pub decisions: usize,
    /// What went wrong more than once (`handoff.gotchas`).
    pub gotchas: usize,
}

impl Lists {
    #[must_use]
    pub fn of(config: &Handoff) -> Self {
        let count = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        Self { decisions: count(config.decisions), gotchas: count(config.gotchas) }
    }
}

impl Default for Lists {
    fn default() -> Self {
        Self::of(&Handoff::default())
    }
}

/// What the handoff before this one says of the conversations before this one.
#[derive(Clone, Copy, Debug)]
pub struct EarlierHandoff<'a> {
    /// What the person wanted then.
    pub goal: Option<&'a str>,
    /// What the person had said, newest first.
    pub prompts: &'a [TranscriptPrompt],
    /// What was finished, newest first.
    pub done: &'a [String],
    /// Files that tools wrote, the last touched first; in two lists, the newer first.
    pub files: [&'a [String]; 2],
    /// What was to be done.
    pub tasks: &'a [Task],
    /// What Claude had answered, newest first.
    pub answers: &'a [EarlierAnswer],
    /// Questions and answers, newest first.
    pub decisions: &'a [AnsweredQuestion],
    /// The plan that the person had approved last.
    pub plan: Option<&'a str>,
    /// They had said more than a line since.
    pub plan_is_old: bool,
    /// They had said anything since.
    pub plan_said_since: bool,
    /// What the person had answered in a few words, newest first.
    pub agreed: &'a [AgreedAnswer],
    /// Claude's summary of what was said before the first transcript begins.
    pub summary: Option<&'a str>,
    /// What was done, a line each, newest first.
    pub steps: &'a [String],
    /// What sub-agents had reported and Claude had not summed up, newest first.
    pub reports: &'a [AgentReport],
    /// What Claude had promised, newest first.
    pub promises: &'a [StatedDecision],
}

/// A longer answer of Claude's that the person answered in a few words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgreedAnswer {
    /// What the person said to it, on one line.
    pub reply: String,
    /// The answer, its beginning and its end, at most 16,000 bytes.
    pub text: String,
}

impl AgreedAnswer {
    /// The answer and what was said to it; none where an answer is as short as those that are listed.
    fn new(reply: &str, answer: &str) -> Option<Self> {
        let is_long = answer.chars().nth(LONG_ANSWER).is_some() && Note::read(answer).is_none();
        is_long.then(|| Self {
            reply: cut_chars(&safe_line(reply), REPLY_CAP),
            text: ends(answer, AGREED_BYTES / 2, AGREED_BYTES / 2),
        })
    }
}

/// A plan of Claude's that the person approved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanInHand {
    /// The plan.
    pub text: String,
    /// Claude's own file of it, where it is known.
    pub file: Option<String>,
    /// Whether the person has set no other work since.
    pub is_current: bool,
    /// Whether they have said anything since.
    pub said_since: bool,
}

/// Everything that a handoff is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Where it comes from.
    pub origin: HandoffOrigin,
    /// What the person wants now, verbatim: the newest prompt that names work.
    pub goal: Option<String>,
    /// Everything that the person said in this conversation, oldest first.
    pub prompts: Vec<TranscriptPrompt>,
    /// How many prompts after the first are not in `prompts`.
    pub prompts_dropped: u64,
    /// Claude has not begun to answer the newest prompt.
    pub unanswered: bool,
    /// What the person said in the conversations before this one, newest first; see [`Capture::inherit`].
    pub prompts_before: Vec<TranscriptPrompt>,
    /// What Claude said last, whole.
    pub last_answer: String,
    /// The person has said something since.
    pub replied: bool,
    /// What Claude answered at the end of the turns before, oldest first.
    pub answers: Vec<EarlierAnswer>,
    /// The same of the conversations before this one, newest first; see [`Capture::inherit`].
    pub answers_before: Vec<EarlierAnswer>,
    /// Longer answers that the person answered in a few words, newest first; see [`Capture::inherit`].
    pub agreed: Vec<AgreedAnswer>,
    /// What Claude said since its last answer, in the middle of a turn, oldest first.
    pub findings: Vec<String>,
    /// What it had said in the middle of the turns before and that says something, oldest first.
    pub findings_before: Vec<String>,
    /// Claude's summary of what was said before the transcript begins.
    pub summary_before: Option<String>,
    /// Promises of Claude's, those of the conversations before included, and decisions that it stated with a
    /// reason, oldest first.
    pub stated: Vec<StatedDecision>,
    /// Files that Claude read, the last read first.
    pub files_read: Vec<FileRead>,
    /// Claude's own words in the form that it was asked for.
    pub note: Option<Note>,
    /// How the conversation stands.
    pub situation: Situation,
    /// Claude's own words, where it was asked for them.
    pub summary: Option<String>,
    /// What Claude or the person wrote into a handoff file of their own, each file's text below its path.
    pub own_file: Option<String>,
    /// Claude's list of tasks.
    pub tasks: Vec<Task>,
    /// Which of them were last touched before the current request began, by their keys.
    pub old_tasks: HashSet<String>,
    /// The person has named work since any of them was touched.
    pub said_since_tasks: bool,
    /// Files that tools wrote, the last touched first.
    pub files: Vec<String>,
    /// Which of them were made in this conversation.
    pub created: Vec<String>,
    /// What was verified by commands, oldest first.
    pub checks: Vec<Check>,
    /// What was finished in the conversations before this one; see [`Capture::inherit`].
    pub done_before: Vec<String>,
    /// Files that tools wrote in the conversations before this one and not in it, the last touched first.
    pub files_before: Vec<String>,
    /// How many files were touched in all.
    pub files_count: u64,
    /// Questions and answers, oldest first.
    pub decisions: Vec<AnsweredQuestion>,
    /// The plan that the person approved last.
    pub plan: Option<PlanInHand>,
    /// The plan that waits for approval.
    pub open_plan: Option<PlanInHand>,
    /// What sub-agents reported last, oldest first.
    pub reports: Vec<AgentReport>,
    /// Reports of the conversations before this one that Claude has not summed up, newest first.
    pub reports_before: Vec<AgentReport>,
    /// Commands that the person ran with `!`, oldest first.
    pub shell_commands: Vec<ShellCommand>,
    /// They ran one after everything that was said.
    pub ran_since: bool,
    /// Tools that failed, oldest first.
    pub errors: Vec<ToolError>,
    /// The last prompts and answers, oldest first.
    pub recent: Vec<Exchange>,
    /// The last tool calls that were answered, oldest first.
    pub steps: Vec<FinishedStep>,
    /// What was done in the conversations before this one, a line each, newest first.
    pub steps_before: Vec<String>,
    /// The work tree; none outside of a repository.
    pub git: Option<GitState>,
    /// Whether the memory-keeper line is written.
    pub memory_keeper: MemoryKeeper,
    /// How much of its lists is told.
    pub lists: Lists,
    /// What the shell left running, oldest first.
    pub detached: Vec<DetachedCommand>,
    /// Prompts that Claude had scheduled, oldest first.
    pub scheduled: Vec<ScheduledPrompt>,
}

fn plan_in_hand(plan: &ApprovedPlan, facts: &TranscriptFacts) -> PlanInHand {
    let since = facts.prompts.count().saturating_sub(plan.after);
    let request = newest_request(facts.prompts.iter().rev());
    let is_current = request.is_none_or(|at| at as u64 >= since);
    let prompts = facts.prompts.iter().rev().take(usize::try_from(since).unwrap_or(usize::MAX));
    let said_since = says_more(prompts);
    PlanInHand { text: plan.text.clone(), file: plan.file.clone(), is_current, said_since }
}

/// Whether the person typed something. It may take back what was agreed, in any words.
fn says_more<'a>(mut prompts: impl Iterator<Item = &'a TranscriptPrompt>) -> bool {
    prompts.any(|said| matches!(said.kind, PromptKind::Typed | PromptKind::Steering))
}

/// Whether the person has named work since a task was touched, and Claude has answered.
fn said_since_tasks(facts: &TranscriptFacts) -> bool {
    let prompts = &facts.prompts;
    let unanswered = usize::from(facts.turn.awaits_answer());
    let mut newest = (unanswered..).zip(prompts.iter().rev().skip(unanswered));
    let since = newest.find(|(_, prompt)| names_work(prompt)).map(|(at, _)| at as u64 + 1);
    since.is_some_and(|since| {
        let untouched = facts.tasks.untouched_since(prompts.count().saturating_sub(since));
        untouched.len() == facts.tasks.all().len()
    })
}

/// The tasks that were last touched before the current request began; none where it began in a conversation
/// before.
fn old_tasks(facts: &TranscriptFacts) -> HashSet<String> {
    let prompts = &facts.prompts;
    let Some(since) = newest_request(prompts.iter().rev()) else { return HashSet::new() };
    facts.tasks.untouched_since(prompts.count().saturating_sub(since as u64 + 1))
}

/// What Claude had said at length and the person answered in a few words since the current request began,
/// newest first: "ok do it" is about all of it. A longer prompt may begin a request by numbers of its lines.
fn agreed(facts: &TranscriptFacts) -> Vec<AgreedAnswer> {
    let last = facts.answers.last().text.trim();
    let mut goes_on = true;
    let replies = facts.replies().take_while(|(prompt, answer)| {
        let is_about = goes_on && (!begins_request(prompt) || names_lines(&prompt.text, answer));
        goes_on = !begins_request(prompt);
        is_about
    });
    let agreed = replies.filter_map(|(prompt, answer)| {
        let answer = without_opening(answer.trim());
        let is_last = answer.is_empty() || last.contains(answer);
        (!is_last).then(|| AgreedAnswer::new(&prompt.text, answer)).flatten()
    });
    agreed.take(AGREED_CAP).collect()
}

/// Whether a prompt names at least two numbers that lines of the answer begin with: "do 23, 31 and 38".
fn names_lines(prompt: &str, answer: &str) -> bool {
    let own = own_words(prompt);
    let named = own.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty());
    let named: HashSet<&str> = named.collect();
    let number = |line: &'_ str| {
        let line = line.trim_start().trim_start_matches(['-', '*', '#', '(', ' ']);
        let len = line.bytes().take_while(u8::is_ascii_digit).count();
        (len > 0 && line[len..].starts_with(['.', ')', ':'])).then(|| line[..len].to_owned())
    };
    let numbers: HashSet<String> = answer.lines().filter_map(number).collect();
    numbers.iter().filter(|number| named.contains(number.as_str())).nth(1).is_some()
}

/// The plan that a call asks the person to approve.
fn open_plan(tool: &ToolUse) -> Option<PlanInHand> {
    let text = tool.input.plan.as_deref().map(str::trim).filter(|plan| !plan.is_empty())?;
    let is_asked = tool.name == "ExitPlanMode";
    is_asked.then(|| PlanInHand {
        text: text.to_owned(),
        file: tool.input.plan_file.clone(),
        is_current: true,
        said_since: false,
    })
}

fn done(facts: &TranscriptFacts, step: &ToolStep) -> FinishedStep {
    // What was said first may not be kept any more.
    let before = step.after.saturating_sub(facts.exchanges.dropped());
    FinishedStep { before: usize::try_from(before).unwrap_or(usize::MAX), step: step.clone() }
}

impl Capture {
    /// What the transcript says. The caller adds `situation.reason`, `window`, `background` and `draft`, the
    /// summary and git where there are any, and `lists` as configured.
    #[must_use]
    pub fn new(origin: HandoffOrigin, facts: &TranscriptFacts) -> Self {
        let failure = facts.turn.failure().map(|failure| match failure.status {
            Some(status) => format!("{} ({status})", failure.error),
            None => failure.error.clone(),
        });
        let files = facts.files.newest_first();
        let (answers, decisions) = (&facts.answers, &facts.decisions);
        let asked = |tool: &ToolUse| match tool.name.as_str() {
            "ExitPlanMode" => {
                let file = tool.input.plan_file.as_deref().unwrap_or("Claude's plan file");
                let missing = format!("(it is in {file})");
                format!("{PLAN_WAITS}: {}", tool.input.plan.as_deref().unwrap_or(&missing))
            }
            _ => tool.input.asked.join(" / "),
        };
        let running = |one: &RunningWork| {
            let output = one.output.as_ref().map(|output| format!(", output in {output}"));
            let output = output.unwrap_or_default();
            let mut events = one.events.iter().rev();
            let event = events.next().map(|event| format!(", its last event: {event}")).unwrap_or_default();
            let before = events.cloned().collect::<Vec<_>>().join("; ");
            let before = if before.is_empty() { before } else { format!(", before it: {before}") };
            format!("{} (id {}{output}{event}{before})", one.what, one.id)
        };
        let ended = |one: &EndedWork| match &one.output {
            Some(output) => format!("{}: {} (output in {output})", one.what, one.end),
            None => format!("{}: {}", one.what, one.end),
        };
        // What only reads takes no effect.
        let only_reads = |tool: &&ToolUse| {
            const READS: [&str; 8] =
                ["Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "TaskOutput", "BashOutput"];
            READS.contains(&tool.name.as_str())
        };
        let calls = facts.calls.open();
        let open = calls.iter().filter(|call| !call.asks_person() && !only_reads(call));
        Self {
            origin,
            goal: current(facts.prompts.iter()).map(|prompt| prompt.text.clone()),
            prompts: facts.prompts.iter().cloned().collect(),
            prompts_dropped: facts.prompts.dropped(),
            unanswered: facts.turn.awaits_answer(),
            prompts_before: Vec::new(),
            last_answer: answers.last().text.clone(),
            replied: answers.last().replied,
            answers: answers.earlier().cloned().collect(),
            answers_before: Vec::new(),
            agreed: agreed(facts),
            findings: answers.findings().map(str::to_owned).collect(),
            findings_before: answers.findings_before().map(str::to_owned).collect(),
            summary_before: answers.summary().map(str::to_owned),
            stated: answers.stated().cloned().collect(),
            files_read: facts.files_read.newest_first().cloned().collect(),
            note: None,
            situation: Situation {
                tokens: facts.window.last().map(|fill| fill.tokens),
                model: facts.window.model().map(str::to_owned),
                permission_mode: facts.settings.permission_mode().map(str::to_owned),
                turn_ended: facts.turn_ended(),
                open_tools: open.map(purpose).collect(),
                background: facts.background.running().iter().map(running).collect(),
                ended: facts.background.ended().map(ended).collect(),
                failed_unread: facts.background.ended().filter(|one| one.is_unread).map(ended).collect(),
                asked: calls.iter().filter(|call| call.asks_person()).map(asked).collect(),
                operation: operation(facts),
                queued: facts.queue.iter().map(str::to_owned).collect(),
                failure,
                ..Situation::default()
            },
            summary: None,
            own_file: None,
            tasks: facts.tasks.all().to_vec(),
            old_tasks: old_tasks(facts),
            said_since_tasks: said_since_tasks(facts),
            created: files.iter().filter(|path| facts.files.created(path)).cloned().collect(),
            files,
            checks: facts.checks.iter().cloned().collect(),
            done_before: Vec::new(),
            files_before: Vec::new(),
            files_count: facts.files.count(),
            decisions: decisions.iter().cloned().collect(),
            open_plan: calls.iter().rev().find_map(open_plan),
            plan: decisions.plan().map(|plan| plan_in_hand(plan, facts)),
            reports: facts.reports.iter().cloned().collect(),
            reports_before: Vec::new(),
            shell_commands: facts.shell_commands.iter().cloned().collect(),
            ran_since: facts.shell_commands.iter().any(|ran| ran.after == facts.exchanges.total()),
            errors: facts.tool_log.errors().cloned().collect(),
            steps: facts.tool_log.steps().map(|step| done(facts, step)).collect(),
            steps_before: Vec::new(),
            recent: facts.exchanges.iter().cloned().collect(),
            git: None,
            memory_keeper: MemoryKeeper::Absent,
            lists: Lists::default(),
            detached: facts.background.detached().cloned().collect(),
            scheduled: facts.scheduled.iter().cloned().collect(),
        }
    }

    /// How many tasks are done, and how many there are.
    pub fn progress(&self) -> Phases {
        let done = self.tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
        Phases { done, total: self.tasks.len() }
    }

    /// Takes from the handoff before this one what no transcript of this conversation says: the goal, where
    /// this one has none of its own, what was finished, decided and written. The older is linked by its id
    /// and never embedded.
    pub fn inherit(&mut self, before: &EarlierHandoff<'_>) {
        let line = |text: &String| cut_chars(&safe_line(text), 500);
        self.prompts_before = before.prompts.to_vec();
        let all = self.prompts_before.iter().rev().chain(&self.prompts);
        let wanted = current(all).filter(|prompt| names_work(prompt)).map(|prompt| prompt.text.clone());
        // A handoff of before 0.2 says what was wanted, and no prompts.
        self.goal = wanted.or_else(|| before.goal.map(str::to_owned)).or(self.goal.take());
        self.done_before = before.done.iter().take(DONE_CAP).map(line).collect();
        self.files_before.clear();
        for file in before.files.into_iter().flatten().take(4 * FILES_CAP) {
            let file = line(file);
            if self.files_before.len() < FILES_CAP
                && !self.files_before.contains(&file)
                && !self.files.contains(&file)
            {
                self.files_before.push(file);
            }
        }
        self.inherit_tasks(before.tasks);
        let said = self.answers.iter().map(|one| &one.text).chain(&self.findings).chain([&self.last_answer]);
        let untold = |report: &&AgentReport| !said.clone().any(|text| report.is_told_in(text));
        let untold = before.reports.iter().filter(untold).take(REPORTS_CAP).cloned().collect();
        self.reports_before = untold;
        self.stated.splice(0..0, before.promises.iter().rev().cloned());
        self.steps_before = before.steps.iter().take(STEPS_CAP).map(line).collect();
        self.answers_before = before.answers.iter().take(ANSWERS_CAP + FINDINGS_CAP).cloned().collect();
        let goes_on = !self.prompts.iter().any(begins_request);
        if let Some(newest) = self.answers_before.first_mut().filter(|newest| newest.awaits_reply)
            && let Some(first) = self.prompts.first()
        {
            newest.take_reply(&first.text);
            let is_about = goes_on || names_lines(&first.text, &newest.text);
            self.agreed.extend(AgreedAnswer::new(&first.text, &newest.text).filter(|_| is_about));
        }
        self.agreed.extend(before.agreed.iter().filter(|_| goes_on).cloned());
        self.agreed.truncate(AGREED_CAP);
        self.summary_before = self.summary_before.take().or_else(|| before.summary.map(str::to_owned));
        // It is in hand until other work is set, and that a longer prompt sets other work is not known.
        if self.plan.is_none() {
            self.plan = before.plan.map(|plan| PlanInHand {
                text: plan.to_owned(),
                file: None,
                is_current: goes_on && !before.plan_is_old,
                said_since: before.plan_said_since || says_more(self.prompts.iter()),
            });
        }
        let asked_again = |earlier: &AnsweredQuestion| {
            self.decisions.iter().any(|decision| decision.question == earlier.question)
        };
        let mut decisions: Vec<AnsweredQuestion> =
            before.decisions.iter().take(DONE_CAP).rev().filter(|one| !asked_again(one)).cloned().collect();
        decisions.append(&mut self.decisions);
        self.decisions = decisions;
    }

    /// Claude's list goes on over a hand-over: what is open there is open here. Where this conversation has
    /// begun a list of its own, the numbers of the other one mean nothing, and what is in it is from before.
    fn inherit_tasks(&mut self, before: &[Task]) {
        let is_unknown = |task: &Task| !task.id.is_empty() && task.subject == unknown_subject(&task.id);
        let goes_on = self.tasks.is_empty() || self.tasks.iter().any(is_unknown);
        let has_other_work = self.prompts.iter().any(begins_request);
        for earlier in before {
            let is_it = |task: &Task| task.subject.trim() == earlier.subject.trim();
            let is_here = self.tasks.iter().any(is_it);
            let numbered = |task: &&mut Task| !task.id.is_empty() && task.id == earlier.id;
            match self.tasks.iter_mut().find(numbered) {
                Some(task) if is_unknown(task) => task.subject.clone_from(&earlier.subject),
                _ if is_here => {}
                Some(_) if goes_on => {}
                _ => {
                    let id = if goes_on { earlier.id.clone() } else { String::new() };
                    let task = Task { id, ..earlier.clone() };
                    if has_other_work || !goes_on {
                        self.old_tasks.insert(task_key(&task));
                    }
                    self.tasks.push(task);
                }
            }
        }
    }

    /// What Claude answered at the end of the turns before, newest first, the conversations before included.
    pub fn all_answers(&self) -> Vec<&EarlierAnswer> {
        self.answers.iter().rev().chain(&self.answers_before).collect()
    }

    /// Claude's own words: what it answered when it was asked, and what it or the person wrote into a file.
    pub fn own_words(&self) -> Option<String> {
        let texts: Vec<&str> =
            [&self.summary, &self.own_file].into_iter().filter_map(Option::as_deref).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// What is finished in the whole chain, newest first, each once, at most 50.
    pub fn done(&self) -> Vec<String> {
        let here = self.tasks.iter().rev().filter(|task| task.status == TaskStatus::Completed);
        let here = here.map(|task| cut_chars(&safe_line(&task.subject), 500));
        let mut done: Vec<String> = Vec::new();
        for one in here.chain(self.done_before.iter().cloned()).filter(|one| !one.is_empty()) {
            if done.len() < DONE_CAP && !done.contains(&one) {
                done.push(one);
            }
        }
        done
    }

    /// What went wrong the same way more than once, most often first, as many as `lists` says.
    pub fn gotchas(&self) -> Vec<String> {
        let mut seen: Vec<(&ToolError, usize)> = Vec::new();
        for error in self.errors.iter().rev() {
            match seen.iter_mut().find(|(known, _)| (&known.tool, &known.line) == (&error.tool, &error.line))
            {
                Some((_, count)) => *count += 1,
                None => seen.push((error, 1)),
            }
        }
        seen.retain(|(_, count)| *count > 1);
        seen.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        seen.into_iter()
            .take(self.lists.gotchas)
            .map(|(error, count)| format!("{count} times: {}: {}", error.tool, error.line))
            .collect()
    }

    /// What Claude answered and stated, newest first, each once: as much as the next handoff is told.
    pub fn kept_answers(&self) -> Vec<EarlierAnswer> {
        let is_prompt =
            |said: &&TranscriptPrompt| matches!(said.kind, PromptKind::Typed | PromptKind::Steering);
        let prompt = self.prompts.iter().rev().find(is_prompt);
        let last = EarlierAnswer::new(&self.last_answer, prompt);
        let last = last.filter(|_| self.situation.turn_ended && !self.replied);
        // The person may say "do it" in the next conversation.
        let last = last.map(|last| EarlierAnswer {
            text: ends(&self.last_answer, AGREED_BYTES / 2, AGREED_BYTES / 2),
            ..last
        });
        let findings = self.findings.iter().rev().filter(|_| !self.situation.turn_ended);
        let findings = findings.filter(|said| says_much(said)).take(FINDINGS_CAP);
        let findings = findings.map(|said| EarlierAnswer { text: said.clone(), ..EarlierAnswer::default() });
        let reasons = self.stated.iter().rev().filter(|one| !one.is_promise);
        let reasons = reasons.map(|one| EarlierAnswer {
            text: one.text.clone(),
            reply: one.reply.clone(),
            ..EarlierAnswer::default()
        });
        let answers =
            self.answers.iter().rev().map(|one| EarlierAnswer { awaits_reply: false, ..one.clone() });
        let all = last
            .into_iter()
            .chain(findings)
            .chain(answers)
            .chain(reasons)
            .chain(self.answers_before.iter().cloned());
        let mut kept: Vec<EarlierAnswer> = Vec::new();
        for one in all.filter_map(EarlierAnswer::kept) {
            if !kept.iter().any(|known| known.text.contains(&one.text)) {
                kept.push(one);
            }
        }
        // The oldest of the short ones go first.
        let is_short = |one: &EarlierAnswer| one.text.width() <= SHORT_ANSWER;
        let mut spare = kept.len().saturating_sub(ANSWERS_CAP);
        let mut at = kept.len();
        while spare > 0 && at > 0 {
            at -= 1;
            if is_short(&kept[at]) {
                kept.remove(at);
                spare -= 1;
            }
        }
        kept.truncate(ANSWERS_CAP);
        let found = self.findings.iter().rev().filter(|said| tells_finding(said));
        let found = found.chain(self.findings_before.iter().rev()).take(FINDINGS_CAP);
        for said in found {
            if !kept.iter().any(|known| known.text.contains(said)) {
                kept.push(EarlierAnswer { text: said.clone(), ..EarlierAnswer::default() });
            }
        }
        kept
    }

    /// Reports of sub-agents that Claude has not summed up, newest first: as many as the next handoff is
    /// told.
    pub fn kept_reports(&self) -> impl Iterator<Item = &AgentReport> {
        let here = self.reports.iter().rev().filter(|report| !report.summed_up);
        here.chain(&self.reports_before).take(REPORTS_CAP)
    }

    /// The tool calls that no other list passes on, newest first, a line each: as much as the next handoff is
    /// told.
    pub fn kept_steps(&self) -> Vec<String> {
        let here = self.steps.iter().rev().filter(|done| !done.step.looked && !done.step.is_told_elsewhere());
        let mut forms: HashMap<String, usize> = HashMap::new();
        let mut kept: Vec<String> = Vec::new();
        for line in here.map(recent_activity::line).chain(self.steps_before.iter().cloned()) {
            let times = forms.entry(form(&line)).or_default();
            if kept.len() < STEPS_CAP && *times < STEPS_OF_ONE_FORM && !kept.contains(&line) {
                *times += 1;
                kept.push(line);
            }
        }
        kept
    }

    /// What Claude promised last, newest first: as much as is told here and passed on to the next handoff.
    pub fn promises(&self) -> impl Iterator<Item = &StatedDecision> {
        self.stated.iter().rev().filter(|one| one.is_promise).take(PROMISES_CAP)
    }

    /// What the person decided, newest first: as many as the next handoff is told.
    pub fn kept_decisions(&self) -> impl Iterator<Item = &AnsweredQuestion> {
        self.decisions.iter().rev().take(DONE_CAP)
    }

    /// What the person decided last, newest first, as many as `lists` says.
    pub fn told_decisions(&self) -> impl Iterator<Item = &AnsweredQuestion> {
        self.decisions.iter().rev().take(self.lists.decisions)
    }

    /// The id of the handoff, by its time and conversation.
    pub fn id(&self) -> HandoffId {
        HandoffId::new(self.origin.created_at, &self.origin.conversation)
    }
}
