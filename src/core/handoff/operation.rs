//! What Claude was in the middle of, in the words of the second source document (checklist 89, 90).
//!
//! An operation that would be left broken is completed or waited for; one that can be gone on with is saved as it is and
//! marked as partial. What it is, is read from the tools: nobody is asked.

use super::text::safe_line;
use crate::core::claude::facts::Facts;
use crate::core::claude::tasks::TaskStatus;
use crate::core::claude::transcript::ToolUse;
use crate::core::claude::work::is_check;

/// What was going on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Operation {
    /// The turn had ended, or nothing was being changed.
    #[default]
    None,
    /// A file of tests was being written: the path.
    WritingTest(String),
    /// A file was being written: the path.
    Implementing(String),
    /// A test, a build or a linter was running: the command.
    Verifying(String),
    /// Code was being moved: the task or the file.
    Refactoring(String),
}

/// How much of the operation is in the work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// All of it: the next conversation begins something new.
    Ready,
    /// A part: the next conversation goes on with it.
    Partial,
}

impl Readiness {
    /// `ready` or `partial`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Readiness::Ready => "ready",
            Readiness::Partial => "partial",
        }
    }
}

impl Operation {
    /// One or two words for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Operation::None => "none",
            Operation::WritingTest(_) => "writing a test",
            Operation::Implementing(_) => "implementing",
            Operation::Verifying(_) => "verifying",
            Operation::Refactoring(_) => "refactoring",
        }
    }

    /// Whether it is to be completed or waited for before a hand-over, when there is time.
    #[must_use]
    pub fn is_atomic(&self) -> bool {
        matches!(self, Operation::WritingTest(_) | Operation::Verifying(_))
    }

    /// How it is handed over.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        if *self == Operation::None { Readiness::Ready } else { Readiness::Partial }
    }

    /// What the next conversation is told to do about it; `None` when there is nothing. `head` is the commit that the work
    /// tree stands on.
    #[must_use]
    pub fn sentence(&self, head: Option<&str>) -> Option<String> {
        match self {
            Operation::None => None,
            Operation::WritingTest(path) => Some(format!("A test was being written: complete this file first: {}", safe_line(path))),
            Operation::Implementing(path) => {
                Some(format!("The implementation is saved in part and incomplete: go on with it: {}", safe_line(path)))
            }
            Operation::Verifying(command) => {
                Some(format!("A verification had no result yet: run it again before anything is built on it: {}", safe_line(command)))
            }
            Operation::Refactoring(what) => {
                let before =
                    head.map_or_else(String::new, |head| format!(" (before it the work tree stood on commit {})", safe_line(head)));
                Some(format!("A refactoring was under way{before}: finish it, or go back to the state before it: {}", safe_line(what)))
            }
        }
    }
}

/// What the conversation was in the middle of.
#[must_use]
pub fn operation(facts: &Facts) -> Operation {
    let open = facts.open_tools();
    let running = |tool: &&ToolUse| tool.input.command.as_deref().is_some_and(is_check);
    if let Some(tool) = open.iter().find(running) {
        return Operation::Verifying(tool.input.command.clone().unwrap_or_default());
    }
    let checks_behind = facts.work().running().iter().find(|one| one.what.split_once(": ").is_some_and(|(_, what)| is_check(what)));
    if let Some(one) = checks_behind {
        return Operation::Verifying(one.what.clone());
    }
    let edit = |tool: &&ToolUse| matches!(tool.name.as_str(), "Write" | "Edit" | "MultiEdit" | "NotebookEdit");
    if facts.turn_ended() {
        return Operation::None;
    }
    let last = open.iter().rev().find(edit).or_else(|| facts.work().last().filter(edit));
    let Some(path) = last.and_then(|tool| tool.input.path.clone()) else { return Operation::None };
    let task = facts.tasks().all().iter().find(|task| task.status == TaskStatus::InProgress);
    match task {
        Some(task) if is_refactoring(&task.subject) => Operation::Refactoring(format!("{} ({path})", task.subject)),
        _ if is_test(&path) => Operation::WritingTest(path),
        _ => Operation::Implementing(path),
    }
}

fn is_refactoring(subject: &str) -> bool {
    let subject = subject.to_ascii_lowercase();
    ["refactor", "rename", "extract", "restructure", "reorganize", "reorganise", "split up", "deduplicate", "inline "]
        .iter()
        .any(|word| subject.contains(word))
}

/// Whether a path is that of a test, by the habits of the languages.
fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let named =
        stem.starts_with("test_") || stem.ends_with("_test") || stem.ends_with("_tests") || stem.ends_with("_spec") || stem == "tests";
    named
        || name.contains(".test.")
        || name.contains(".spec.")
        || parts.any(|dir| matches!(dir, "tests" | "test" | "__tests__" | "spec" | "specs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn facts(lines: &[Value]) -> Facts {
        let mut facts = Facts::new();
        lines.iter().for_each(|line| facts.feed(line.to_string().as_bytes()));
        facts
    }

    fn call(id: &str, name: &str, input: Value) -> Value {
        json!({"type": "assistant", "message": {"id": "m", "model": "m", "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}})
    }

    fn answer(id: &str, detail: Value) -> Value {
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": "ok"}]}, "toolUseResult": detail})
    }

    #[test]
    fn item_090_each_operation_is_told_apart_and_has_its_rule() {
        let edit = |path: &str| call("1", "Edit", json!({"file_path": path}));
        let test = operation(&facts(&[edit("/p/tests/a.rs")]));
        assert_eq!((test.word(), test.is_atomic()), ("writing a test", true));
        assert!(test.sentence(None).unwrap().contains("complete this file first: /p/tests/a.rs"));
        let code = operation(&facts(&[edit("/p/src/a.rs"), answer("1", Value::Null)]));
        assert_eq!((code.word(), code.is_atomic()), ("implementing", false));
        assert!(code.sentence(None).unwrap().contains("incomplete"));
        let check = operation(&facts(&[call("1", "Bash", json!({"command": "cargo test -q"}))]));
        assert_eq!((check.word(), check.is_atomic()), ("verifying", true));
        let task = [
            call("t", "TodoWrite", json!({"todos": [{"content": "Refactor the parser", "status": "in_progress"}]})),
            answer("t", Value::Null),
        ];
        let moved = operation(&facts(&[&task[..], &[edit("/p/src/a.rs")]].concat()));
        assert_eq!((moved.word(), moved.is_atomic()), ("refactoring", false));
        assert!(moved.sentence(Some("abc123")).unwrap().contains("stood on commit abc123"));
    }

    #[test]
    fn item_089_what_is_unfinished_is_partial_and_the_rest_is_ready() {
        let begun = facts(&[call("1", "Write", json!({"file_path": "/p/a.py"}))]);
        assert_eq!(operation(&begun).readiness().word(), "partial");
        let end = json!({"type": "assistant", "message": {"id": "m2", "model": "m", "stop_reason": "end_turn", "content": []}});
        let done = facts(&[call("1", "Write", json!({"file_path": "/p/a.py"})), answer("1", Value::Null), end]);
        assert_eq!(operation(&done).readiness().word(), "ready");
        assert_eq!(operation(&Facts::new()), Operation::None);
    }

    #[test]
    fn tests_are_known_by_their_paths() {
        for path in ["/a/tests/x.rs", "a/x_test.go", "src/x.spec.ts", "test_x.py", "src/__tests__/x.js", "src/core/tests.rs"] {
            assert!(is_test(path), "{path}");
        }
        for path in ["/a/src/x.rs", "latest.rs", "contest/x.py", "testing.md"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
