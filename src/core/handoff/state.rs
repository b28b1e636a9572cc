//! `state.json` of a record: the handoff for programs (checklist 110, 111, version "2.0" and more).

use serde::{Deserialize, Serialize};

use super::capture::{Capture, GitState};
use super::sections::next_steps;
use super::text::{cut_bytes, cut_chars, safe, safe_line};
use crate::core::claude::facts::Speaker;
use crate::core::claude::tasks::TaskStatus;
use crate::core::ids::{Channel, ConversationId, HandoffId, SessionName};

/// How far the copy of the transcript is (CONTRACT C8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TranscriptCopy {
    /// It is made after the next run has started.
    Pending,
    /// `transcript.jsonl.gz` is there.
    Done,
    /// It could not be made.
    Failed,
}

/// One task or todo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What is to be done.
    pub content: String,
    /// `pending` or `in_progress`.
    pub status: String,
}

/// What the person decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRow {
    /// The question.
    pub question: String,
    /// The answer.
    pub answer: String,
}

/// One of the last prompts and answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `user` or `assistant`.
    pub role: String,
    /// What was said, at most 500 characters.
    pub text: String,
}

/// What the work is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The first prompt, at most 200 characters.
    pub current_objective: String,
    /// Claude's own words, where there are any.
    pub progress_summary: String,
    /// What is not done yet.
    pub active_todos: Vec<Todo>,
    /// The last ten decisions, newest first.
    pub recent_decisions: Vec<DecisionRow>,
    /// The last ten files that were written, newest first.
    pub key_files_modified: Vec<String>,
    /// What to do first.
    pub next_steps: Vec<String>,
    /// The last ten prompts and answers, oldest first.
    pub recent_messages: Vec<Message>,
}

/// The work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Git {
    /// The branch; null when the head is detached.
    pub branch: Option<String>,
    /// The commit.
    pub head: Option<String>,
    /// Changed paths with git's letters.
    pub modified_files: Vec<String>,
}

/// The file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// `2.0`.
    pub version: String,
    /// When it was made, RFC 3339 with seconds.
    pub created_at: String,
    /// The directory of the work.
    pub project_dir: String,
    /// Claude's own transcript.
    pub transcript_path: String,
    /// What the work is about.
    pub context: Context,
    /// The work tree; null outside of a repository.
    pub git: Option<Git>,
    /// The handoff.
    pub id: HandoffId,
    /// The conversation that it was made from.
    pub session_id: ConversationId,
    /// The channel.
    pub channel: Channel,
    /// The hopty session.
    pub hopty_session: Option<SessionName>,
    /// The handoff before this one.
    pub predecessor: Option<HandoffId>,
    /// `auto`, `manual`, `signal`, `crash`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Why it was made.
    pub reason: String,
    /// The goal, whole.
    pub goal: Option<String>,
    /// Tokens in the window.
    pub tokens_used: Option<u64>,
    /// The window in tokens.
    pub tokens_max: Option<u64>,
    /// The model.
    pub model: Option<String>,
    /// The permission mode.
    pub permission_mode: Option<String>,
    /// How many files were written in all.
    pub files_count: u64,
    /// What failed last, newest first.
    pub errors: Vec<String>,
    /// Tool calls without an answer, and what still ran.
    pub unfinished: Vec<String>,
    /// Prompts of the person that were not answered.
    pub queued_prompts: Vec<String>,
    /// What stood in the prompt box.
    pub draft: Option<String>,
    /// How far the copy of the transcript is.
    pub transcript: TranscriptCopy,
}

impl Git {
    /// What the file says of a work tree.
    #[must_use]
    pub fn of(git: &GitState) -> Self {
        Self {
            branch: git.branch.clone(),
            head: git.head.clone(),
            modified_files: git.changed.iter().map(|(code, path)| format!("{code} {}", safe_line(cut_bytes(path, 4096)))).collect(),
        }
    }
}

impl State {
    /// The file's content for what was captured.
    #[must_use]
    pub fn of(capture: &Capture) -> Self {
        let (origin, situation) = (&capture.origin, &capture.situation);
        let line = |text: &String| safe_line(cut_bytes(text, 4096));
        let open = capture.tasks.iter().filter(|task| task.status != TaskStatus::Completed);
        let goal = capture.goal.as_deref().map(safe);
        let unfinished = situation.open_tools.iter().chain(&situation.background);
        Self {
            version: "2.0".to_owned(),
            created_at: origin.created_at.rfc3339_s(),
            project_dir: origin.working_dir.clone(),
            transcript_path: origin.transcript.clone(),
            context: Context {
                current_objective: goal.as_deref().map(|goal| cut_chars(goal, 200)).unwrap_or_default(),
                progress_summary: capture.summary.as_deref().map(safe).unwrap_or_default(),
                active_todos: open.map(|task| Todo { content: line(&task.subject), status: task.status.word().to_owned() }).collect(),
                recent_decisions: (capture.decisions.iter().rev().take(10))
                    .map(|d| DecisionRow { question: line(&d.question), answer: line(&d.answer) })
                    .collect(),
                key_files_modified: capture.files.iter().take(10).map(line).collect(),
                next_steps: next_steps(capture),
                recent_messages: (capture.recent.iter().skip(capture.recent.len().saturating_sub(10)))
                    .map(|said| Message {
                        role: match said.speaker {
                            Speaker::Person => "user".to_owned(),
                            Speaker::Claude => "assistant".to_owned(),
                        },
                        text: cut_chars(&safe(&said.text), 500),
                    })
                    .collect(),
            },
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
            model: situation.model.clone(),
            permission_mode: situation.permission_mode.clone(),
            files_count: capture.files_count,
            errors: capture.errors.iter().rev().map(|e| line(&format!("{}: {}", e.tool, e.line))).collect(),
            unfinished: unfinished.map(line).collect(),
            queued_prompts: situation.queued.iter().map(|prompt| safe(prompt)).collect(),
            draft: situation.draft.as_deref().map(safe),
            transcript: TranscriptCopy::Pending,
        }
    }

    /// The file's text.
    #[must_use]
    pub fn render(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::tests::capture;
    use super::*;
    use crate::core::claude::tasks::Task;

    #[test]
    fn the_fields_of_the_source_documents_are_there() {
        let mut capture = capture(&"word ".repeat(100));
        let task = |status| Task { id: "1".into(), subject: "s".into(), status };
        capture.tasks = vec![task(TaskStatus::Completed), task(TaskStatus::InProgress)];
        capture.files = (0..30).map(|n| n.to_string()).collect();
        let state: serde_json::Value = serde_json::from_str(&State::of(&capture).render()).unwrap();
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
    fn the_file_is_read_back() {
        let state = State::of(&capture("g"));
        assert_eq!(serde_json::from_str::<State>(&state.render()).unwrap(), state);
    }
}
