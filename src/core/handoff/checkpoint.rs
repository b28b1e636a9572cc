//! The checkpoint of the second source document, as it stands in `state.json`.

use serde::{Deserialize, Serialize};

use super::capture::Capture;
use super::sections::next_steps;
use super::state_json::DecisionRow;
use crate::core::claude::tasks::TaskStatus;
use crate::core::text::safe_text::{cut_bytes, cut_chars, cut_words, safe, safe_line};

/// The longest patch in it, in bytes; the whole one is `changes.patch`.
const DIFF_CAP: usize = 32 << 10;
/// The longest goal and summary, in bytes.
const GOAL_CAP: usize = 16 << 10;
/// How many files, phases and lines of evidence it names.
const NAMED: usize = 100;

/// How far the work is, in phases: the entries of Claude's list of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Completed.
    pub done: usize,
    /// All of them; 0 where there is no list.
    pub total: usize,
}

/// A checkpoint. Phases are the tasks of Claude's own list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandoffCheckpoint {
    /// `chk-YYYYMMDD-HHMMSS`, the time of the handoff's own id.
    pub id: String,
    /// `handoff`.
    pub reason: String,
    /// RFC 3339 with seconds.
    pub created_at: String,
    /// Claude's number of the task that is worked on; empty when there is none.
    pub task_id: String,
    /// The goal, at most 4,000 characters.
    pub task_input: String,
    /// The permission mode, as Claude spells it.
    pub mode: String,
    /// How many phases are done, which is what a script of source document 002 goes on behind.
    pub current_phase: u64,
    /// How many there are.
    pub total_phases: u64,
    /// Those that are done, newest first, at most 50, with those of the conversations before.
    pub completed_phases: Vec<String>,
    /// The last ten decisions, newest first.
    pub decisions: Vec<DecisionRow>,
    /// Files that were made, newest first, at most 100.
    pub files_created: Vec<String>,
    /// Files that were there before and were changed, likewise.
    pub files_modified: Vec<String>,
    /// The staged patch, redacted, at most 32 KiB.
    pub git_diff: String,
    /// The patch of what is not staged, likewise.
    pub git_diff_unstaged: String,
    /// Claude's own words, where there are any; at most 16 KiB.
    pub context_summary: String,
    /// Tokens in the window.
    pub tokens_used: u64,
    /// Commands that verified something, newest first: `passed: cargo test`.
    pub evidence: Vec<String>,
    /// What goes wrong again and again.
    pub gotchas: Vec<String>,
    /// `ready`, or `partial` when an operation was cut in two.
    pub status: String,
    /// What was going on: `implementing`, `verifying` and others.
    pub operation: String,
    /// Whether a next conversation can go on from here: there is a goal, or something to go on with.
    pub can_resume: bool,
    /// What to do first, a line each.
    pub resume_instructions: String,
}

impl HandoffCheckpoint {
    /// The checkpoint of what was captured.
    #[must_use]
    pub fn of(capture: &Capture) -> Self {
        let line = |text: &str| cut_chars(&safe_line(cut_words(text, 4096)), 500);
        let (situation, tasks) = (&capture.situation, &capture.tasks);
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let done = tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
        let current = tasks.iter().find(|task| task.status == TaskStatus::InProgress);
        let (created, modified): (Vec<&String>, Vec<&String>) =
            capture.files.iter().partition(|path| capture.created.contains(path));
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
            completed_phases: capture.done(),
            decisions: capture.told_decisions().map(DecisionRow::of).collect(),
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
