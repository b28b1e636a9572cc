//! What Claude was in the middle of, in the words of the second source document.
//!
//! An operation that a hand-over would break is completed or awaited ([`at_a_boundary`] tells the supervisor,
//! which waits up to its limit); one that can be continued is saved and marked as partial. Only the tool
//! calls decide which it is.

use serde::{Deserialize, Serialize};

use crate::core::claude::checks::is_check;
use crate::core::claude::tasks::TaskStatus;
use crate::core::claude::transcript_facts::TranscriptFacts;
use crate::core::claude::transcript_line::ToolUse;
use crate::core::text::safe_text::{cut_words, safe_line};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Operation {
    /// The turn had ended, or nothing was being changed.
    #[default]
    None,
    /// The path of a test file.
    WritingTest(String),
    /// The path of another file.
    Implementing(String),
    /// The command of a test, a build or a linter.
    Verifying(String),
    /// The task or the file.
    Refactoring(String),
}

/// How much of the operation is in the work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// All of it: the next conversation starts something new.
    Ready,
    /// A part: the next conversation continues it.
    Partial,
}

/// Whether a hand-over may cut an operation in two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// It may: the finished part is saved, and the next conversation continues.
    #[default]
    Free,
    /// The operation must be completed first.
    Complete,
    /// Its result must be awaited.
    Wait,
}

impl Cut {
    pub fn is_free(&self) -> bool {
        *self == Cut::Free
    }
}

impl Readiness {
    /// `ready` or `partial`.
    pub fn word(self) -> &'static str {
        match self {
            Readiness::Ready => "ready",
            Readiness::Partial => "partial",
        }
    }
}

impl Operation {
    /// One or two words for it.
    pub fn word(&self) -> &'static str {
        match self {
            Operation::None => "none",
            Operation::WritingTest(_) => "writing a test",
            Operation::Implementing(_) => "implementing",
            Operation::Verifying(_) => "verifying",
            Operation::Refactoring(_) => "refactoring",
        }
    }

    /// Whether it may be interrupted, by the table of the second source document.
    pub fn cut(&self) -> Cut {
        match self {
            Operation::WritingTest(_) => Cut::Complete,
            Operation::Verifying(_) => Cut::Wait,
            Operation::None | Operation::Implementing(_) | Operation::Refactoring(_) => Cut::Free,
        }
    }

    pub fn readiness(&self) -> Readiness {
        if *self == Operation::None { Readiness::Ready } else { Readiness::Partial }
    }

    /// The instruction for the next conversation; `None` if there is none. `head`: the commit of the work
    /// tree.
    pub fn sentence(&self, head: Option<&str>) -> Option<String> {
        match self {
            Operation::None => None,
            Operation::WritingTest(path) => {
                Some(format!("You were writing a test: complete this file first: {}", safe_line(path)))
            }
            Operation::Implementing(path) => {
                Some(format!("You were editing {}; it may be unfinished. Go on there.", safe_line(path)))
            }
            Operation::Verifying(command) => Some(format!(
                "This had not finished: run it again before you rely on it: {}",
                safe_line(command)
            )),
            Operation::Refactoring(what) => {
                let before = head.map_or_else(String::new, |head| {
                    format!(" (before it the work tree stood on commit {})", safe_line(head))
                });
                Some(format!(
                    "You were refactoring{before}: finish it, or go back to the state before it: {}",
                    safe_line(what)
                ))
            }
        }
    }
}

/// The operation in which the conversation ended.
pub fn operation(facts: &TranscriptFacts) -> Operation {
    let open = facts.calls.open();
    let running = |tool: &&ToolUse| tool.input.command.as_deref().is_some_and(is_check);
    if let Some(tool) = open.iter().find(running) {
        return Operation::Verifying(
            cut_words(tool.input.command.as_deref().unwrap_or_default(), 300).to_owned(),
        );
    }
    if let Some(command) = check_behind(facts) {
        return Operation::Verifying(cut_words(command, 300).to_owned());
    }
    if facts.turn_ended() {
        return Operation::None;
    }
    // What Claude wrote after an edit says where it stands.
    let answered = facts.calls.last_answered().filter(|_| !facts.calls.has_text_since());
    let mut calls = open.iter().rev().chain(answered);
    let last = calls.find(|call| call.writes_file());
    last.map_or(Operation::None, |tool| editing(facts, tool))
}

/// The operation when the tools of a response have run and the next request is not sent. The results may not
/// be in the transcript yet, so a check counts as finished unless it runs in the background.
pub fn at_a_boundary(facts: &TranscriptFacts) -> Operation {
    if let Some(command) = check_behind(facts) {
        return Operation::Verifying(cut_words(command, 300).to_owned());
    }
    let last = facts.calls.open().last().or_else(|| facts.calls.last_answered());
    let last = last.filter(|call| call.writes_file());
    last.map_or(Operation::None, |tool| editing(facts, tool))
}

/// The command of a check that runs in the background.
fn check_behind(facts: &TranscriptFacts) -> Option<&str> {
    let mut commands = facts.background.running().iter().filter_map(|one| one.command.as_deref());
    commands.find(|command| is_check(command))
}

/// The operation of writing this file, by the current task and the file's name.
fn editing(facts: &TranscriptFacts, tool: &ToolUse) -> Operation {
    let Some(path) = tool.input.path.clone() else { return Operation::None };
    let task = facts.tasks.all().iter().find(|task| task.status == TaskStatus::InProgress);
    match task {
        Some(task) if is_refactoring(&task.subject) => {
            Operation::Refactoring(format!("{} ({path})", task.subject))
        }
        _ if is_test(&path) => Operation::WritingTest(path),
        _ => Operation::Implementing(path),
    }
}

fn is_refactoring(subject: &str) -> bool {
    let subject = subject.to_ascii_lowercase();
    [
        "refactor", "rename", "extract", "restructure", "reorganize", "reorganise", "split up",
        "deduplicate", "inline ",
    ]
    .iter()
    .any(|word| subject.contains(word))
}

/// Whether a path is a test's, by the conventions of the languages.
fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let named = stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_spec")
        || stem == "tests";
    named
        || name.contains(".test.")
        || name.contains(".spec.")
        || parts.any(|dir| matches!(dir, "tests" | "test" | "__tests__" | "spec" | "specs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn facts(lines: &[Value]) -> TranscriptFacts {
        let mut facts = TranscriptFacts::new();
        lines.iter().for_each(|line| facts.feed(line.to_string().as_bytes()));
        facts
    }

    fn call(id: &str, name: &str, input: Value) -> Value {
        json!({"type": "assistant", "message": {"id": "m", "model": "m", "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}})
    }

    fn answer(id: &str, detail: Value) -> Value {
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id,
            "content": "ok"}]}, "toolUseResult": detail})
    }

    #[test]
    fn item_090_each_operation_is_told_apart_and_has_its_rule() {
        let edit = |path: &str| call("1", "Edit", json!({"file_path": path}));
        let test = operation(&facts(&[edit("/p/tests/a.rs")]));
        assert_eq!((test.word(), test.cut()), ("writing a test", Cut::Complete));
        assert!(test.sentence(None).unwrap().contains("complete this file first: /p/tests/a.rs"));
        let code = operation(&facts(&[edit("/p/src/a.rs"), answer("1", Value::Null)]));
        assert_eq!((code.word(), code.cut()), ("implementing", Cut::Free));
        assert!(code.sentence(None).unwrap().contains("may be unfinished"));
        let check = operation(&facts(&[call("1", "Bash", json!({"command": "cargo test -q"}))]));
        assert_eq!((check.word(), check.cut()), ("verifying", Cut::Wait));
        let task = [
            call(
                "t",
                "TodoWrite",
                json!({"todos": [{"content": "Refactor the parser", "status": "in_progress"}]}),
            ),
            answer("t", Value::Null),
        ];
        let moved = operation(&facts(&[&task[..], &[edit("/p/src/a.rs")]].concat()));
        assert_eq!((moved.word(), moved.cut()), ("refactoring", Cut::Free));
        assert!(moved.sentence(Some("abc123")).unwrap().contains("stood on commit abc123"));
    }

    #[test]
    fn what_claude_wrote_after_an_edit_says_where_it_stands() {
        let text = |text: &str| {
            json!({"type": "assistant", "message": {"id": "m3", "model": "m", "stop_reason": "tool_use",
                "content": [{"type": "text", "text": text}]}})
        };
        let edit = call("1", "Edit", json!({"file_path": "/p/merge.py"}));
        let mut lines = vec![text("Now the merge."), edit, answer("1", Value::Null)];
        assert_eq!(operation(&facts(&lines)), Operation::Implementing("/p/merge.py".into()));
        lines.push(text("The merge is done and tested."));
        assert_eq!(operation(&facts(&lines)), Operation::None);
        lines.push(call("2", "Edit", json!({"file_path": "/p/orders.py"})));
        assert_eq!(operation(&facts(&lines)), Operation::Implementing("/p/orders.py".into()));
    }

    #[test]
    fn at_a_boundary_what_was_called_has_run() {
        let edit = call("1", "Edit", json!({"file_path": "/p/tests/a.rs"}));
        let check =
            call("2", "Bash", json!({"command": "cargo test -q", "description": "Run the whole suite"}));
        let at = |lines: &[&Value]| {
            at_a_boundary(&facts(&lines.iter().map(|line| (*line).clone()).collect::<Vec<_>>()))
        };
        assert_eq!(at(&[&edit]), Operation::WritingTest("/p/tests/a.rs".into()));
        assert_eq!(at(&[&edit, &answer("1", Value::Null)]).cut(), Cut::Complete);
        assert_eq!(
            at(&[&edit, &answer("1", Value::Null), &check]),
            Operation::None,
            "the test is complete and its result is there"
        );
        let behind = answer("2", json!({"backgroundTaskId": "b1"}));
        assert_eq!(at(&[&check, &behind]).cut(), Cut::Wait, "this one still runs");
        let code = call("3", "Write", json!({"file_path": "/p/src/a.rs"}));
        assert_eq!(at(&[&edit, &answer("1", Value::Null), &code]).cut(), Cut::Free);
        assert_eq!(at(&[]), Operation::None);
    }

    #[test]
    fn item_089_what_is_unfinished_is_partial_and_the_rest_is_ready() {
        let begun = facts(&[call("1", "Write", json!({"file_path": "/p/a.py"}))]);
        assert_eq!(operation(&begun).readiness().word(), "partial");
        let end = json!({"type": "assistant", "message": {"id": "m2", "model": "m",
            "stop_reason": "end_turn", "content": []}});
        let mut edited =
            vec![call("1", "Write", json!({"file_path": "/p/a.py"})), answer("1", Value::Null), end];
        let done = facts(&edited);
        assert_eq!(operation(&done).readiness().word(), "ready");
        edited.push(json!({"type": "user", "message": {"content": "how wide is it"}}));
        let waiting = facts(&edited);
        assert!(!waiting.turn_ended() && operation(&waiting) == Operation::None, "that turn was over");
        assert_eq!(at_a_boundary(&waiting), Operation::None);
        assert_eq!(operation(&TranscriptFacts::new()), Operation::None);
    }

    #[test]
    fn tests_are_known_by_their_paths() {
        for path in [
            "/a/tests/x.rs", "a/x_test.go", "src/x.spec.ts", "test_x.py", "src/__tests__/x.js",
            "src/core/tests.rs",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in ["/a/src/x.rs", "latest.rs", "contest/x.py", "testing.md"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
