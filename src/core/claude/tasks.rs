//! Claude's list of tasks, as its tools change it.
//!
//! TaskCreate, TaskUpdate and TaskList write it (2.1), or TodoWrite (before 2.1), which replaces the whole
//! list. The list is bounded; finished tasks are dropped first.

use super::transcript_line::{ResultDetail, TASK_CAP, TaskRow, ToolInput, ToolResult};
use crate::core::text::safe_text::cut_words;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Claude's number for it; empty for todos.
    pub id: String,
    /// The work to be done, at most 300 bytes.
    pub subject: String,
    pub status: TaskStatus,
    /// The numbers of the tasks that come first, at most [`AFTER_CAP`].
    pub after: Vec<String>,
}

/// How many tasks that come first are kept.
pub const AFTER_CAP: usize = 16;

/// The key of a task: its number, or its subject if it has none.
pub fn task_key(task: &Task) -> String {
    if task.id.is_empty() { task.subject.clone() } else { format!("#{}", task.id) }
}

/// The subject of a task from an earlier conversation if only its number is known.
pub(crate) fn unknown_subject(id: &str) -> String {
    format!("task {}", cut_words(id, 20))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    Pending,
    InProgress,
    Completed,
}

impl TaskStatus {
    /// Claude's word for it.
    pub fn word(self) -> &'static str {
        match self {
            TaskStatus::Pending => "pending",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Completed => "completed",
        }
    }

    pub(crate) fn from_word(word: &str) -> Self {
        match word {
            "in_progress" => TaskStatus::InProgress,
            "completed" => TaskStatus::Completed,
            _ => TaskStatus::Pending,
        }
    }
}

/// The list in the order of creation, at most 2,000 entries.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    all: Vec<Task>,
}

impl Tasks {
    /// Every task that is still known.
    pub fn all(&self) -> &[Task] {
        &self.all
    }

    /// Takes the answer of the tool `name`, called with `input`. Failed calls must not be passed.
    pub fn apply(
        &mut self,
        name: &str,
        input: &ToolInput,
        result: &ToolResult,
        detail: Option<&ResultDetail>,
    ) {
        match name {
            "TaskCreate" => self.create(input, result, detail),
            "TaskUpdate" => self.update(input, detail),
            "TaskList" => {
                if let Some(rows) = detail.and_then(|detail| detail.tasks.as_deref()) {
                    self.replace(rows);
                }
            }
            "TodoWrite" => {
                if let Some(rows) = input.todos.as_deref() {
                    self.replace(rows);
                }
            }
            _ => {}
        }
    }

    fn create(&mut self, input: &ToolInput, result: &ToolResult, detail: Option<&ResultDetail>) {
        let made = detail.and_then(|detail| detail.created.as_ref());
        let id = made.and_then(|row| row.id.clone()).or_else(|| number_in(&result.text));
        let subject =
            made.map(|row| row.subject.as_str()).filter(|s| !s.is_empty()).or(input.subject.as_deref());
        let (Some(id), Some(subject)) = (id, subject) else { return };
        self.put(&id, subject, TaskStatus::Pending);
    }

    fn update(&mut self, input: &ToolInput, detail: Option<&ResultDetail>) {
        let Some(id) = input.task_id.as_deref() else { return };
        let status = detail.and_then(|detail| detail.status_now.as_deref()).or(input.status.as_deref());
        if status == Some("deleted") {
            self.all.retain(|task| task.id != id);
            return;
        }
        let Some(task) = self.all.iter_mut().rev().find(|task| task.id == id) else {
            // Created in an earlier conversation that shares this list. Its number is shown until TaskList
            // names it.
            let subject = input.subject.clone().unwrap_or_else(|| unknown_subject(id));
            self.put(id, &subject, TaskStatus::from_word(status.unwrap_or_default()));
            return;
        };
        if let Some(status) = status {
            task.status = TaskStatus::from_word(status);
        }
        for first in &input.comes_after {
            if task.after.len() < AFTER_CAP && !task.after.contains(first) {
                task.after.push(first.clone());
            }
        }
        if let Some(subject) = input.subject.as_deref() {
            task.subject = cut_words(subject, 300).to_owned();
        }
    }

    fn put(&mut self, id: &str, subject: &str, status: TaskStatus) {
        self.all.retain(|task| task.id != id);
        if self.all.len() >= TASK_CAP {
            let victim = self.all.iter().position(|task| task.status == TaskStatus::Completed).unwrap_or(0);
            self.all.remove(victim);
        }
        let subject = cut_words(subject, 300).to_owned();
        self.all.push(Task { id: id.to_owned(), subject, status, after: Vec::new() });
    }

    fn replace(&mut self, rows: &[TaskRow]) {
        let known = std::mem::take(&mut self.all);
        // A list does not say which tasks come first.
        let after = |id: &str| known.iter().find(|task| task.id == id).map(|task| task.after.clone());
        self.all = rows
            .iter()
            .map(|row| Task {
                id: row.id.clone().unwrap_or_default(),
                subject: cut_words(&row.subject, 300).to_owned(),
                status: TaskStatus::from_word(&row.status),
                after: row.id.as_deref().and_then(after).unwrap_or_default(),
            })
            .collect();
    }
}

/// The number in `Task #12 created successfully: ...`.
fn number_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("Task #")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).take(12).collect();
    (!digits.is_empty()).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, subject: &str, status: &str) -> TaskRow {
        TaskRow { id: Some(id.into()), subject: subject.into(), status: status.into() }
    }

    fn create(tasks: &mut Tasks, id: usize) {
        let input = ToolInput { subject: Some(format!("task number {id}")), ..ToolInput::default() };
        let result =
            ToolResult { text: format!("Task #{id} created successfully: x"), ..ToolResult::default() };
        tasks.apply("TaskCreate", &input, &result, None);
    }

    fn update(tasks: &mut Tasks, id: &str, status: &str) {
        let input =
            ToolInput { task_id: Some(id.into()), status: Some(status.into()), ..ToolInput::default() };
        tasks.apply("TaskUpdate", &input, &ToolResult::default(), None);
    }

    #[test]
    fn tasks_are_made_changed_and_deleted() {
        let mut tasks = Tasks::default();
        create(&mut tasks, 1);
        create(&mut tasks, 2);
        update(&mut tasks, "1", "in_progress");
        update(&mut tasks, "2", "deleted");
        update(&mut tasks, "9", "completed");
        let seen: Vec<_> = tasks.all().iter().map(|t| (t.id.as_str(), t.status.word())).collect();
        assert_eq!(seen, [("1", "in_progress"), ("9", "completed")]);
        let comes_after = vec!["9".to_owned()];
        let input = ToolInput { task_id: Some("1".into()), comes_after, ..ToolInput::default() };
        tasks.apply("TaskUpdate", &input, &ToolResult::default(), None);
        assert_eq!(tasks.all()[0].after, ["9"]);
    }

    #[test]
    fn a_list_replaces_what_was_known() {
        let mut tasks = Tasks::default();
        create(&mut tasks, 1);
        let detail =
            ResultDetail { tasks: Some(vec![row("4", "four", "completed")]), ..ResultDetail::default() };
        tasks.apply("TaskList", &ToolInput::default(), &ToolResult::default(), Some(&detail));
        assert_eq!(tasks.all().len(), 1);
        assert_eq!(tasks.all()[0].subject, "four");
        tasks.apply("TaskList", &ToolInput::default(), &ToolResult::default(), None);
        assert_eq!(tasks.all().len(), 1);
        let todos = ToolInput { todos: Some(vec![]), ..ToolInput::default() };
        tasks.apply("TodoWrite", &todos, &ToolResult::default(), None);
        assert!(tasks.all().is_empty());
    }

    #[test]
    fn a_full_list_loses_what_is_done_first() {
        let mut tasks = Tasks::default();
        for id in 0..TASK_CAP {
            create(&mut tasks, id);
        }
        update(&mut tasks, "700", "completed");
        create(&mut tasks, TASK_CAP);
        create(&mut tasks, TASK_CAP + 1);
        assert_eq!(tasks.all().len(), TASK_CAP);
        assert!(!tasks.all().iter().any(|t| t.id == "700" || t.id == "0"));
        assert!(tasks.all().iter().any(|t| t.id == "1"));
    }
}
