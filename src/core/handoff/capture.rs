//! Everything that a handoff is made from.
//!
//! Most of it comes from the transcript's facts. The host adds why the handoff is made, and git adds the
//! state of the work tree. It is plain data for a worker; `sections`, `state_json` and `brief` make the
//! texts.

use super::current_request::{begins_request, current, names_work};
use super::handoff_answers::{AgreedAnswer, HandoffAnswers};
use super::handoff_tasks::{DONE_CAP, HandoffTasks};
use super::handoff_work::{HandoffFiles, HandoffPlans, HandoffReports, HandoffSteps};
use super::manifest_entry::HandoffKind;
use super::note::Note;
use super::operation::{Operation, operation};
use crate::core::claude::prompts::{PromptKind, TranscriptPrompt};
use crate::core::claude::tasks::Task;
use crate::core::claude::transcript_facts::{
    AgentReport, AnsweredQuestion, Check, DetachedCommand, EarlierAnswer, EndedWork, Exchange, RunningWork,
    ScheduledPrompt, ShellCommand, StatedDecision, ToolError, TranscriptFacts, purpose,
};
use crate::core::claude::transcript_line::ToolUse;
use crate::core::config::Handoff;
use crate::core::ids::{Channel, ConversationId, HandoffId, SessionName};
use crate::core::time::WallTime;

/// The first words of a question that is a plan.
pub(super) const PLAN_WAITS: &str = "a plan waits for approval";

/// Where a handoff comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoffOrigin {
    pub conversation: ConversationId,
    pub channel: Channel,
    pub kind: HandoffKind,
    /// The store moves it by a second if the id is taken.
    pub created_at: WallTime,
    /// An absolute path.
    pub working_dir: String,
    /// An absolute path; empty if there is no transcript yet.
    pub transcript: String,
    /// None for a handoff made outside of a session.
    pub session: Option<SessionName>,
    /// The process that makes the handoff: the host, or the command.
    pub pid: u32,
    /// The handoff that this conversation was continued from.
    pub predecessor: Option<HandoffId>,
}

/// The state of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Situation {
    /// Why the handoff is made, as a sentence.
    pub reason: String,
    /// Tokens in use.
    pub tokens: Option<u64>,
    /// The size of the context window in tokens.
    pub window: Option<u64>,
    pub model: Option<String>,
    /// As Claude spells it.
    pub permission_mode: Option<String>,
    pub turn_ended: bool,
    /// Calls without a result: name and purpose.
    pub open_tools: Vec<String>,
    /// Sub-agents and background shells that were still running.
    pub background: Vec<String>,
    /// Background work that has ended, with its result, oldest first.
    pub ended: Vec<String>,
    /// Failed background work that Claude has not looked at.
    pub failed_unread: Vec<String>,
    /// Prompts in Claude's queue.
    pub queued: Vec<String>,
    /// Texts in Claude's queue that hopty cannot attribute to a prompt.
    pub queued_by_nobody: Vec<String>,
    /// Whether hopty sends the queue to the next conversation.
    pub queue_follows: bool,
    /// Questions and plans that the person has not answered.
    pub asked: Vec<String>,
    pub operation: Operation,
    /// The directory that the conversation moved to, if it is not the session's.
    pub moved_to: Option<String>,
    /// The text in the prompt box.
    pub draft: Option<String>,
    /// The API error or limit that stopped the conversation.
    pub failure: Option<String>,
}

/// How many changed paths of a work tree are kept.
pub const CHANGED_PATHS_MAX: usize = 2000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitState {
    /// Git could not be read; only `notes` says anything.
    pub unknown: bool,
    /// The directory of this work tree, an absolute path, if the conversation works in another than the
    /// handoff's (a worktree).
    pub dir: Option<String>,
    /// None if the head is detached.
    pub branch: Option<String>,
    /// In hexadecimal; none before the first commit.
    pub head: Option<String>,
    /// Changed paths with git's two letters for them (`.M`, `A.`, `??`), at most [`CHANGED_PATHS_MAX`].
    pub changed: Vec<(String, String)>,
    pub upstream: Option<String>,
    /// How many commits are missing in the upstream, and how many are missing here.
    pub ahead_behind: Option<(u64, u64)>,
    /// Staged changes as a patch; empty without any, or if it is too long (a note says so). Not redacted.
    pub staged: Vec<u8>,
    /// Unstaged changes as a patch, likewise.
    pub unstaged: Vec<u8>,
    /// `git diff --stat` of all uncommitted changes in tracked files. New files are in `changed`.
    pub stat: String,
    /// The same as a patch, for `changes.patch`. Not redacted.
    pub patch: Vec<u8>,
    /// New files as a patch, which is appended to `changes.patch`; notes name those that are left out. Not
    /// redacted.
    pub new_files: Vec<u8>,
    /// Omissions and their reasons: a patch that is too long, a timeout.
    pub notes: Vec<String>,
    /// The top of the work tree, which the changed paths are relative to; none if that does not hold for all
    /// of them.
    pub top: Option<String>,
    /// Files in the work tree that Claude wrote and that no longer exist, absolute paths.
    pub gone: Vec<String>,
    /// Operations in progress and stashes, a line each: a rebase, a merge.
    pub in_progress: Vec<String>,
    /// The tops of other repositories below this directory in which Claude wrote files, absolute paths. Their
    /// state is in `notes`.
    pub inner: Vec<String>,
}

/// Whether the memory-keeper server is configured: the document has its instruction only if it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryKeeper {
    #[default]
    Absent,
    /// `claude mcp list` shows it.
    Present,
}

/// How many entries of a list the record and the brief contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lists {
    /// The newest decisions (`handoff.decisions`).
    pub decisions: usize,
    /// Errors that occurred more than once (`handoff.gotchas`).
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

/// What the earlier handoff says of the conversations before this one.
#[derive(Clone, Copy, Debug)]
pub struct EarlierHandoff<'a> {
    pub goal: Option<&'a str>,
    /// Newest first.
    pub prompts: &'a [TranscriptPrompt],
    /// Finished tasks, newest first.
    pub done: &'a [String],
    /// Files that tools wrote, the last one first, in two lists, the newer list first.
    pub files: [&'a [String]; 2],
    pub tasks: &'a [Task],
    /// Newest first.
    pub answers: &'a [EarlierAnswer],
    /// Newest first.
    pub decisions: &'a [AnsweredQuestion],
    /// The plan that the person approved last.
    pub plan: Option<&'a str>,
    /// The person has typed more than one line since then.
    pub plan_is_old: bool,
    /// They have typed anything since then.
    pub plan_said_since: bool,
    /// Newest first.
    pub agreed: &'a [AgreedAnswer],
    /// Claude's summary of the conversation before the first transcript.
    pub summary: Option<&'a str>,
    /// Tool calls, a line each, newest first.
    pub steps: &'a [String],
    /// Reports that Claude has not summarized, newest first.
    pub reports: &'a [AgentReport],
    /// What Claude had promised, newest first.
    pub promises: &'a [StatedDecision],
}

/// Everything that a handoff is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    pub origin: HandoffOrigin,
    /// What the person wants now, verbatim: the newest prompt that names work.
    pub goal: Option<String>,
    pub prompts: HandoffPrompts,
    pub answers: HandoffAnswers,
    /// Claude's summary of the conversation before the transcript.
    pub summary_before: Option<String>,
    /// Claude's hand-over note.
    pub note: Option<Note>,
    pub situation: Situation,
    /// Claude's own words, if it was asked for them and its answer was no note.
    pub summary: Option<String>,
    /// What Claude or the person wrote into a handoff file of their own, each file's text below its path.
    pub own_file: Option<String>,
    pub tasks: HandoffTasks,
    pub files: HandoffFiles,
    /// Results of commands that verify the work, oldest first.
    pub checks: Vec<Check>,
    /// Questions and answers, oldest first.
    pub decisions: Vec<AnsweredQuestion>,
    pub plans: HandoffPlans,
    pub reports: HandoffReports,
    /// Commands that the person ran with `!`, oldest first.
    pub shell_commands: Vec<ShellCommand>,
    /// They ran one after the last message.
    pub ran_since: bool,
    /// Tools that failed, oldest first.
    pub errors: Vec<ToolError>,
    /// The last prompts and answers, oldest first.
    pub recent: Vec<Exchange>,
    pub steps: HandoffSteps,
    /// The work tree; none outside of a repository.
    pub git: Option<GitState>,
    pub memory_keeper: MemoryKeeper,
    pub lists: Lists,
    /// Commands that the shell left running, oldest first.
    pub detached: Vec<DetachedCommand>,
    /// Prompts that Claude had scheduled, oldest first.
    pub scheduled: Vec<ScheduledPrompt>,
}

/// The person's prompts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffPrompts {
    /// Those of this conversation, oldest first.
    pub here: Vec<TranscriptPrompt>,
    /// How many prompts after the first are missing in `here`.
    pub dropped: u64,
    /// Claude has not begun to answer the newest prompt.
    pub unanswered: bool,
    /// Those of earlier conversations, newest first.
    pub before: Vec<TranscriptPrompt>,
}

impl Situation {
    fn of(facts: &TranscriptFacts) -> Self {
        let failure = facts.turn.failure().map(|failure| match failure.status {
            Some(status) => format!("{} ({status})", failure.error),
            None => failure.error.clone(),
        });
        let calls = facts.calls.open();
        let open = calls.iter().filter(|call| !call.asks_person() && !only_reads(call));
        Situation {
            tokens: facts.window.last().map(|fill| fill.tokens),
            model: facts.window.model().map(str::to_owned),
            permission_mode: facts.settings.permission_mode().map(str::to_owned),
            turn_ended: facts.turn_ended(),
            open_tools: open.map(purpose).collect(),
            background: facts.background.running().iter().map(running_line).collect(),
            ended: facts.background.ended().map(ended_line).collect(),
            failed_unread: facts.background.ended().filter(|one| one.is_unread).map(ended_line).collect(),
            asked: calls.iter().filter(|call| call.asks_person()).map(question).collect(),
            operation: operation(facts),
            queued: facts.queue.iter().map(str::to_owned).collect(),
            failure,
            ..Situation::default()
        }
    }
}

/// What a call asks the person.
fn question(tool: &ToolUse) -> String {
    match tool.name.as_str() {
        "ExitPlanMode" => {
            let file = tool.input.plan_file.as_deref().unwrap_or("Claude's plan file");
            let missing = format!("(it is in {file})");
            format!("{PLAN_WAITS}: {}", tool.input.plan.as_deref().unwrap_or(&missing))
        }
        _ => tool.input.asked.join(" / "),
    }
}

/// Whether a call has no effect that a hand-over could cut off.
fn only_reads(tool: &ToolUse) -> bool {
    const READS: [&str; 8] =
        ["Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "TaskOutput", "BashOutput"];
    READS.contains(&tool.name.as_str())
}

fn running_line(one: &RunningWork) -> String {
    let output = one.output.as_ref().map(|output| format!(", output in {output}"));
    let output = output.unwrap_or_default();
    let mut events = one.events.iter().rev();
    let event = events.next().map(|event| format!(", its last event: {event}")).unwrap_or_default();
    let before = events.cloned().collect::<Vec<_>>().join("; ");
    let before = if before.is_empty() { before } else { format!(", before it: {before}") };
    format!("{} (id {}{output}{event}{before})", one.what, one.id)
}

fn ended_line(one: &EndedWork) -> String {
    match &one.output {
        Some(output) => format!("{}: {} (output in {output})", one.what, one.end),
        None => format!("{}: {}", one.what, one.end),
    }
}

impl Capture {
    /// What the transcript says. The caller adds `situation.reason`, `window` and `draft`, the summary, git
    /// and the configured `lists`.
    #[must_use]
    pub fn new(origin: HandoffOrigin, facts: &TranscriptFacts) -> Self {
        Self {
            origin,
            goal: current(facts.prompts.iter()).map(|prompt| prompt.text.clone()),
            prompts: HandoffPrompts {
                here: facts.prompts.iter().cloned().collect(),
                dropped: facts.prompts.dropped(),
                unanswered: facts.turn.awaits_answer(),
                before: Vec::new(),
            },
            answers: HandoffAnswers::of(facts),
            summary_before: facts.answers.summary().map(str::to_owned),
            note: None,
            situation: Situation::of(facts),
            summary: None,
            own_file: None,
            tasks: HandoffTasks::of(facts),
            files: HandoffFiles::of(facts),
            checks: facts.checks.iter().cloned().collect(),
            decisions: facts.decisions.iter().cloned().collect(),
            plans: HandoffPlans::of(facts),
            reports: HandoffReports { here: facts.reports.iter().cloned().collect(), before: Vec::new() },
            shell_commands: facts.shell_commands.iter().cloned().collect(),
            ran_since: facts.shell_commands.iter().any(|ran| ran.after == facts.exchanges.total()),
            errors: facts.tool_log.errors().cloned().collect(),
            recent: facts.exchanges.iter().cloned().collect(),
            steps: HandoffSteps::of(facts),
            git: None,
            memory_keeper: MemoryKeeper::Absent,
            lists: Lists::default(),
            detached: facts.background.detached().cloned().collect(),
            scheduled: facts.scheduled.iter().cloned().collect(),
        }
    }

    /// Takes from the earlier handoff what no transcript of this conversation says: what was finished,
    /// decided and written, and the goal if this conversation has none. The earlier handoff is linked by its
    /// id and never embedded.
    pub fn inherit(&mut self, before: &EarlierHandoff<'_>) {
        self.prompts.before = before.prompts.to_vec();
        let all = self.prompts.before.iter().rev().chain(&self.prompts.here);
        let wanted = current(all).filter(|prompt| names_work(prompt)).map(|prompt| prompt.text.clone());
        // Before 0.2 a handoff had a goal and no prompts.
        self.goal = wanted.or_else(|| before.goal.map(str::to_owned)).or(self.goal.take());
        let has_request = self.prompts.here.iter().any(begins_request);
        self.files.inherit(before.files);
        self.tasks.inherit(before, has_request);
        self.reports.inherit(before.reports, self.answers.texts());
        self.steps.inherit(before.steps);
        self.answers.inherit(before, self.prompts.here.first(), has_request);
        self.summary_before = self.summary_before.take().or_else(|| before.summary.map(str::to_owned));
        self.plans.inherit(before, &self.prompts.here, has_request);
        let asked_again = |earlier: &AnsweredQuestion| {
            self.decisions.iter().any(|decision| decision.question == earlier.question)
        };
        let earlier = before.decisions.iter().take(DONE_CAP).rev().filter(|one| !asked_again(one));
        let earlier: Vec<AnsweredQuestion> = earlier.cloned().collect();
        self.decisions.splice(0..0, earlier);
    }

    /// Claude's own words: its answer to the request for them, and what it or the person wrote into a file.
    pub fn own_words(&self) -> Option<String> {
        let texts: Vec<&str> =
            [&self.summary, &self.own_file].into_iter().filter_map(Option::as_deref).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// Errors that occurred more than once, the most frequent first, as many as `lists` says.
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

    /// Claude's answers for the next handoff, newest first, each once.
    pub fn answers_to_pass_on(&self) -> Vec<EarlierAnswer> {
        let is_prompt =
            |said: &&TranscriptPrompt| matches!(said.kind, PromptKind::Typed | PromptKind::Steering);
        let prompt = self.prompts.here.iter().rev().find(is_prompt);
        self.answers.to_pass_on(prompt, self.situation.turn_ended)
    }

    /// Decisions for the next handoff, newest first.
    pub fn decisions_to_pass_on(&self) -> impl Iterator<Item = &AnsweredQuestion> {
        self.decisions.iter().rev().take(DONE_CAP)
    }

    /// Decisions for the record, newest first, as many as `lists` says.
    pub fn listed_decisions(&self) -> impl Iterator<Item = &AnsweredQuestion> {
        self.decisions.iter().rev().take(self.lists.decisions)
    }

    /// The id of the handoff, by its time and conversation.
    pub fn id(&self) -> HandoffId {
        HandoffId::new(self.origin.created_at, &self.origin.conversation)
    }
}
