//! Claude's list of tasks, and when each was last touched.

use std::collections::{HashMap, HashSet};

use super::call_answer::CallAnswer;
use crate::core::claude::tasks::{Task, Tasks, task_key};

#[derive(Clone, Debug, Default)]
pub struct TaskHistory {
    tasks: Tasks,
    /// How many prompts there were when a task was last touched, by its key.
    touched: HashMap<String, u64>,
}

impl TaskHistory {
    /// The history of a conversation that starts with these tasks.
    pub(super) fn after(tasks: &Tasks) -> Self {
        Self { tasks: tasks.clone(), ..Self::default() }
    }

    /// The current list.
    pub fn list(&self) -> &Tasks {
        &self.tasks
    }

    /// Every task that is still known.
    pub fn all(&self) -> &[Task] {
        self.tasks.all()
    }

    /// The keys of the tasks that were not touched after the first `prompts` prompts.
    pub fn untouched_since(&self, prompts: u64) -> HashSet<String> {
        let keys = self.tasks.all().iter().map(task_key);
        keys.filter(|key| self.touched.get(key).is_none_or(|at| *at <= prompts)).collect()
    }

    /// Takes the answer of a tool that came after this many prompts.
    pub(super) fn take_answer(&mut self, answer: &CallAnswer<'_>, prompts: u64) {
        let Some(call) = answer.passed() else { return };
        // The todo list is written as a whole, each time.
        let known = match call.name.as_str() {
            "TodoWrite" => None,
            "TaskCreate" | "TaskUpdate" | "TaskList" => Some(self.tasks.all().to_vec()),
            _ => return,
        };
        self.tasks.apply(&call.name, &call.input, answer.result, answer.detail);
        if known.as_deref() != Some(self.tasks.all()) {
            self.touch(&known.unwrap_or_default(), prompts);
        }
    }

    /// Notes which tasks changed.
    fn touch(&mut self, known: &[Task], prompts: u64) {
        let all = self.tasks.all();
        let keys: HashSet<String> = all.iter().map(task_key).collect();
        self.touched.retain(|key, _| keys.contains(key));
        let touched = all.iter().filter(|task| !known.contains(task));
        self.touched.extend(touched.map(|task| (task_key(task), prompts)));
    }

    /// Restores the list, because the person went back to an earlier prompt.
    pub(super) fn go_back_to(&mut self, tasks: &Tasks) {
        self.tasks = tasks.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::claude::transcript_line::{TaskRow, ToolInput, ToolResult, ToolUse};

    fn take(history: &mut TaskHistory, name: &str, input: ToolInput, prompts: u64) {
        let call = ToolUse { id: "t".into(), name: name.into(), input };
        let result = ToolResult { text: "Task #1 created successfully: x".into(), ..ToolResult::default() };
        history.take_answer(&CallAnswer { call: Some(&call), result: &result, detail: None }, prompts);
    }

    fn input(subject: Option<&str>, status: Option<&str>) -> ToolInput {
        ToolInput {
            subject: subject.map(Into::into),
            status: status.map(Into::into),
            task_id: Some("1".into()),
            ..ToolInput::default()
        }
    }

    #[test]
    fn a_task_is_touched_when_it_changes() {
        let mut history = TaskHistory::default();
        take(&mut history, "TaskCreate", input(Some("build"), None), 1);
        assert_eq!(history.untouched_since(1), HashSet::from(["#1".to_owned()]));
        assert!(history.untouched_since(0).is_empty());
        take(&mut history, "TaskUpdate", input(None, Some("in_progress")), 3);
        take(&mut history, "TaskUpdate", input(None, Some("in_progress")), 5);
        assert!(history.untouched_since(2).is_empty());
        assert_eq!(history.untouched_since(3).len(), 1, "the second update changed nothing");
        let before = TaskHistory::after(history.list());
        assert_eq!(before.untouched_since(0).len(), 1, "that was another conversation");
    }

    #[test]
    fn todos_are_touched_all_at_once_and_the_list_can_go_back() {
        let mut history = TaskHistory::default();
        let row = |subject: &str| TaskRow { subject: subject.into(), ..TaskRow::default() };
        let todos = |rows: &[TaskRow]| ToolInput { todos: Some(rows.to_vec()), ..ToolInput::default() };
        take(&mut history, "TodoWrite", todos(&[row("a")]), 1);
        let known = history.list().clone();
        take(&mut history, "TodoWrite", todos(&[row("a"), row("b")]), 2);
        assert!(history.untouched_since(1).is_empty() && history.all().len() == 2);
        history.go_back_to(&known);
        assert_eq!(history.all(), known.all());
        take(&mut history, "TodoWrite", todos(&[]), 3);
        assert!(history.touched.is_empty());
    }
}
