//! The checkpoint that the second source document asks for, as a part of `state.json`.

use serde::{Deserialize, Serialize};

use super::capture::Capture;
use super::sections::next_steps;
use super::state_json::DecisionRow;
use crate::core::claude::tasks::TaskStatus;
use crate::core::text::safe_text::{cut_bytes, cut_chars, cut_words, safe, safe_line};

/// The longest patch in it, in bytes; the whole patch is `changes.patch`.
const DIFF_CAP: usize = 32 << 10;
/// The longest goal and the longest summary, in bytes.
const GOAL_CAP: usize = 16 << 10;
/// The most files, phases and lines of evidence.
const NAMED: usize = 100;

/// The progress in phases: entries of Claude's list of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    pub done: usize,
    /// 0 without a list.
    pub total: usize,
}

/// Its phases are the tasks of Claude's list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandoffCheckpoint {
    /// `chk-YYYYMMDD-HHMMSS`, with the time of the handoff's own id.
    pub id: String,
    /// Always `handoff`.
    pub reason: String,
    /// RFC 3339 with seconds.
    pub created_at: String,
    /// Claude's number of the current task; empty without one.
    pub task_id: String,
    /// The goal, at most 4,000 characters.
    pub task_input: String,
    /// The permission mode, as Claude spells it.
    pub mode: String,
    /// How many phases are done: a script of source document 002 continues after them.
    pub current_phase: u64,
    pub total_phases: u64,
    /// Finished phases, newest first, also of earlier conversations, at most 50.
    pub completed_phases: Vec<String>,
    /// The last ten decisions, newest first.
    pub decisions: Vec<DecisionRow>,
    /// Created files, newest first, at most 100.
    pub files_created: Vec<String>,
    /// Changed files that existed before, likewise.
    pub files_modified: Vec<String>,
    /// The staged patch, redacted, at most 32 KiB.
    pub git_diff: String,
    /// The unstaged patch, likewise.
    pub git_diff_unstaged: String,
    /// Claude's own words, at most 16 KiB; may be empty.
    pub context_summary: String,
    /// Tokens in use.
    pub tokens_used: u64,
    /// Commands that verified something, newest first, such as `passed: cargo test`.
    pub evidence: Vec<String>,
    /// Errors that occurred more than once.
    pub gotchas: Vec<String>,
    /// `ready`, or `partial` if an operation was cut in two.
    pub status: String,
    /// The operation in progress: `implementing`, `verifying` and others.
    pub operation: String,
    /// Whether a conversation can continue from here: there is a goal or a next step.
    pub can_resume: bool,
    /// The next steps, a line each.
    pub resume_instructions: String,
}

impl HandoffCheckpoint {
    #[must_use]
    pub fn of(capture: &Capture) -> Self {
        let line = |text: &str| cut_chars(&safe_line(cut_words(text, 4096)), 500);
        let (situation, tasks) = (&capture.situation, &capture.tasks.list);
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let done = tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
        let current = tasks.iter().find(|task| task.status == TaskStatus::InProgress);
        let (created, modified): (Vec<&String>, Vec<&String>) =
            capture.files.written.iter().partition(|path| capture.files.created.contains(path));
        let names = |paths: Vec<&String>| paths.into_iter().take(NAMED).map(|path| line(path)).collect();
        let patch = |bytes: &[u8]| {
            cut_bytes(&safe(cut_words(&String::from_utf8_lossy(bytes), DIFF_CAP)), DIFF_CAP).to_owned()
        };
        let git = capture.git.as_ref();
        let steps = next_steps(capture);
        let goal = capture.goal.as_deref().map(|goal| safe(cut_words(goal, GOAL_CAP))).unwrap_or_default();
        let id = capture.id().to_string();
        Self {
            id: format!("chk-{}", id.get(3..18).unwrap_or_default()),
            reason: "handoff".to_owned(),
            created_at: capture.origin.created_at.rfc3339_s(),
            task_id: current.map(|task| line(&task.id)).unwrap_or_default(),
            can_resume: !goal.trim().is_empty() || !tasks.is_empty() || !capture.recent.is_empty(),
            task_input: cut_chars(&goal, 4000),
            mode: situation.permission_mode.as_deref().map(line).unwrap_or_default(),
            current_phase: count(done),
            total_phases: count(tasks.len()),
            completed_phases: capture.tasks.done(),
            decisions: capture.listed_decisions().map(DecisionRow::of).collect(),
            files_created: names(created),
            files_modified: names(modified),
            git_diff: git.map(|git| patch(&git.staged)).unwrap_or_default(),
            git_diff_unstaged: git.map(|git| patch(&git.unstaged)).unwrap_or_default(),
            context_summary: capture
                .summary
                .as_deref()
                .map(|text| cut_bytes(&safe(cut_words(text, GOAL_CAP)), GOAL_CAP).to_owned())
                .unwrap_or_default(),
            tokens_used: situation.tokens.unwrap_or(0),
            evidence: (capture.checks.iter().rev())
                .map(|check| format!("{}: {}", check.verdict.outcome.word(), line(&check.command)))
                .collect(),
            gotchas: capture.gotchas().iter().map(|gotcha| line(gotcha)).collect(),
            status: situation.operation.readiness().word().to_owned(),
            operation: situation.operation.word().to_owned(),
            resume_instructions: steps.iter().take(NAMED).fold(String::new(), |all, step| all + step + "\n"),
        }
    }
}
