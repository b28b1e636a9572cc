//! What tools did in a conversation beyond writing files: what was verified, what still runs, and what was
//! used last.
//!
//! A command counts as a check when its words are those of a test, a build or a linter; what it came to is
//! told by [`super::checks`]. It is evidence that a command ended so, no proof that the work is right.

use super::bounded_memory::LastItems;
use super::checks::{Verdict, judge};
use super::transcript_line::{ResultDetail, ToolResult, ToolUse};
use crate::core::handoff::safe_text::cut_words;

pub use super::checks::is_check;

/// How many checks are kept.
pub const CHECK_CAP: usize = 20;
/// How many things that run are kept; the oldest is forgotten.
pub const RUNNING_CAP: usize = 64;

/// The most that is kept of a check's command, in bytes.
const COMMAND_CAP: usize = 300;

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    /// Without an error.
    Passed,
    Failed,
}

/// A command that verified something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The command, at most 300 bytes.
    pub command: String,
    /// What it came to.
    pub verdict: Verdict,
    /// How often Claude's tools wrote a file after it.
    pub edits_after: u64,
    /// The file that was last written after it.
    pub last_edit: Option<String>,
}

impl Check {
    /// Whether files were written after it, so that it says nothing of them.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.edits_after > 0
    }
}

/// Something that goes on after its tool has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningWork {
    /// The id that Claude's tools name it by.
    pub id: String,
    /// What it is: the tool, and what it was called for.
    pub what: String,
    /// The file that its output goes to, where Claude says so.
    pub output: Option<String>,
}

/// What tools did.
#[derive(Clone, Debug, Default)]
pub struct Work {
    checks: LastItems<Check, CHECK_CAP>,
    running: Vec<RunningWork>,
    last: Option<ToolUse>,
}

impl Work {
    /// The checks that ended, each command once with its newest outcome, oldest first.
    pub fn checks(&self) -> impl DoubleEndedIterator<Item = &Check> {
        self.checks.iter()
    }

    /// What was started in the background and has not been told to have ended.
    #[must_use]
    pub fn running(&self) -> &[RunningWork] {
        &self.running
    }

    /// The last tool that answered.
    #[must_use]
    pub fn last(&self) -> Option<&ToolUse> {
        self.last.as_ref()
    }

    /// A tool answered.
    pub(super) fn answered(&mut self, call: &ToolUse, result: &ToolResult, detail: Option<&ResultDetail>) {
        self.last = Some(call.clone());
        let started =
            detail.and_then(|detail| detail.running.clone()).or_else(|| background_id(call, result));
        if let Some(id) = started.filter(|_| !result.is_error) {
            self.running.retain(|running| running.id != id);
            if self.running.len() >= RUNNING_CAP {
                self.running.remove(0);
            }
            let about = call.input.about.clone().unwrap_or_default();
            let output = detail.and_then(|detail| detail.output.clone()).or_else(|| output_of(&result.text));
            self.running.push(RunningWork { id, what: format!("{}: {about}", call.name), output });
            return;
        }
        match (call.name.as_str(), &call.input.command) {
            ("Bash", Some(command)) => {
                if let Some(verdict) = judge(command, &result.text, result.is_error) {
                    let command = cut_words(command, COMMAND_CAP).to_owned();
                    self.checks.retain(|check| check.command != command);
                    self.checks.put(Check { command, verdict, edits_after: 0, last_edit: None });
                }
            }
            ("KillShell" | "KillBash" | "TaskStop", _) if !result.is_error => {
                // The id is in the input under names that changed; the answer repeats it.
                self.running.retain(|running| !result.text.contains(&running.id));
            }
            _ => {}
        }
    }

    /// A tool wrote a file.
    pub(super) fn wrote(&mut self, path: &str) {
        for check in self.checks.iter_mut() {
            check.edits_after += 1;
            check.last_edit = Some(path.to_owned());
        }
    }

    /// Claude was told something in the person's place: an agent or a shell may have ended.
    pub(super) fn told(&mut self, text: &str) {
        let Some((_, rest)) =
            text.split_once("<task-id>").filter(|_| text.starts_with("<task-notification>"))
        else {
            return;
        };
        if let Some((id, rest)) = rest.split_once("</task-id>") {
            let running = rest.contains("<status>running</status>");
            self.running.retain(|one| running || one.id != id.trim());
        }
    }
}

/// `Command running in background with ID: X.`, where there is no structured answer.
fn background_id(call: &ToolUse, result: &ToolResult) -> Option<String> {
    let (_, rest) = result.text.split_once("in background with ID: ").filter(|_| call.name == "Bash")?;
    let id: String =
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(64).collect();
    (!id.is_empty()).then_some(id)
}

/// `Output is being written to: PATH`.
fn output_of(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("utput is being written to: ")?;
    let path = rest.lines().next().unwrap_or_default().trim().trim_end_matches('.');
    (!path.is_empty()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::checks::CheckOutcome::{Failed, Passed, Unknown};
    use super::super::transcript_line::ToolInput;
    use super::*;

    fn bash(work: &mut Work, command: &str, text: &str, is_error: bool) {
        let input = ToolInput { command: Some(command.to_owned()), ..ToolInput::default() };
        let call = ToolUse { id: "t".into(), name: "Bash".into(), input };
        work.answered(&call, &ToolResult { id: "t".into(), is_error, text: text.to_owned() }, None);
    }

    #[test]
    fn each_command_is_kept_once_with_its_newest_outcome() {
        let mut work = Work::default();
        bash(&mut work, "pytest | tail -1", "1 failed in 0.1s", false);
        bash(&mut work, "cargo test", "Exit code 101\nerror: x", true);
        bash(&mut work, "ls", "", false);
        bash(&mut work, "pytest | tail -1", "3 passed in 0.1s", false);
        let seen: Vec<_> =
            work.checks().map(|check| (check.command.as_str(), check.verdict.outcome)).collect();
        assert_eq!(seen, [("cargo test", Failed), ("pytest | tail -1", Passed)]);
        bash(&mut work, "pytest | tail -1", "", false);
        assert_eq!(work.checks().next_back().unwrap().verdict.outcome, Unknown);
    }

    #[test]
    fn the_summary_at_the_end_of_a_long_answer_is_read() {
        let command = format!("{} && pytest 2>&1 | tail -400", "cd /a/long/way".repeat(40));
        let call =
            serde_json::json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": command}});
        for parts in [1, 3] {
            let output = format!(
                "{}1 failed, 7 passed in 0.3s\n",
                "a line of a test that prints a lot\n".repeat(2000)
            );
            let mut text = vec![serde_json::json!({"type": "text", "text": "x"}); parts];
            text[parts - 1] = serde_json::json!({"type": "text", "text": output});
            let content = if parts == 1 { serde_json::json!(output) } else { serde_json::json!(text) };
            let answer = serde_json::json!({"type": "tool_result", "tool_use_id": "t", "content": content,
                "is_error": false});
            let mut facts = super::super::transcript_facts::TranscriptFacts::new();
            for line in [
                serde_json::json!({"type": "assistant", "message": {"id": "m", "content": [call]}}),
                serde_json::json!({"type": "user", "message": {"content": [answer]}}),
            ] {
                facts.feed(line.to_string().as_bytes());
            }
            let check = facts.work().checks().next().unwrap();
            assert_eq!(
                (check.verdict.outcome, check.verdict.summary.as_str()),
                (Failed, "1 failed, 7 passed")
            );
            assert!(check.command.len() <= COMMAND_CAP);
        }
    }

    #[test]
    fn a_check_knows_what_was_written_after_it() {
        let mut work = Work::default();
        work.wrote("/p/a.rs");
        bash(&mut work, "cargo check", "", false);
        assert!(!work.checks().next().unwrap().is_stale());
        work.wrote("/p/b.rs");
        work.wrote("/p/c.rs");
        bash(&mut work, "cargo fmt --check", "", false);
        let stale: Vec<_> =
            work.checks().map(|check| (check.edits_after, check.last_edit.as_deref())).collect();
        assert_eq!(stale, [(2, Some("/p/c.rs")), (0, None)]);
        bash(&mut work, "cargo check", "", false);
        assert!(work.checks().all(|check| !check.is_stale()));
    }
}
