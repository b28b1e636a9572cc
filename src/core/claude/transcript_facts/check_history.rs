//! The checks of a conversation: tests, builds and linters, with their newest result.
//!
//! A command is a check when it runs a test, a build or a linter, and [`checks`](crate::core::claude::checks)
//! judges its output. The result proves that the command ended so, not that the work is right.

use super::bounded_memory::LastItems;
use super::call_answer::CallAnswer;
use crate::core::claude::checks::{CheckOutcome, Verdict, is_same_run, judge};
use crate::core::text::safe_text::cut_words;

/// How many checks are kept.
pub const CHECK_CAP: usize = 20;
/// The most that is kept of a check's command, in bytes.
const CHECK_COMMAND_CAP: usize = 300;

/// A command that verified something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The command, at most 300 bytes.
    pub command: String,
    pub verdict: Verdict,
    /// How often Claude's tools wrote a file after it.
    pub edits_after: u64,
    /// The file that was last written after it.
    pub last_edit: Option<String>,
}

impl Check {
    /// Whether a file changed after it, so that its result no longer counts.
    pub fn is_stale(&self) -> bool {
        self.edits_after > 0
    }
}

/// The files that Claude's tools wrote since a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EditsSince {
    count: u64,
    last: Option<String>,
}

impl EditsSince {
    pub(super) fn take(&mut self, path: &str) {
        self.count += 1;
        self.last = Some(path.to_owned());
    }
}

#[derive(Clone, Debug, Default)]
pub struct CheckHistory(LastItems<Check, CHECK_CAP>);

impl CheckHistory {
    /// Each command once with its newest result, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Check> {
        self.0.iter()
    }

    /// Takes the answer to a command that has ended.
    pub(super) fn take_answer(&mut self, answer: &CallAnswer<'_>) {
        let Some(command) =
            answer.call.filter(|call| call.name == "Bash").and_then(|call| call.input.command.as_ref())
        else {
            return;
        };
        if let Some(verdict) = judge(command, &answer.result.text, answer.result.is_error) {
            self.put(command, verdict, EditsSince::default());
        }
    }

    /// Takes the output of a command that the person ran; its exit status is unknown.
    pub(super) fn take_shell_output(&mut self, command: &str, output: &str) {
        if let Some(verdict) = judge(&format!("{command} | cat"), output, false) {
            self.put(command, verdict, EditsSince::default());
        }
    }

    /// Takes a file that a tool wrote.
    pub(super) fn take_edit(&mut self, path: &str) {
        for check in self.0.iter_mut() {
            check.edits_after += 1;
            check.last_edit = Some(path.to_owned());
        }
    }

    /// Keeps a result. It replaces the earlier result of the same command, and a pass or a failure also
    /// replaces the same runner's result through another filter.
    pub(super) fn put(&mut self, whole: &str, verdict: Verdict, edits: EditsSince) {
        let command = cut_words(whole, CHECK_COMMAND_CAP).to_owned();
        let has_result = matches!(verdict.outcome, CheckOutcome::Passed | CheckOutcome::Failed);
        self.0.retain(|check| {
            check.command != command && !(has_result && is_same_run(&check.command, &command))
        });
        self.0.put(Check { command, verdict, edits_after: edits.count, last_edit: edits.last });
    }
}

#[cfg(test)]
mod tests {
    use super::super::TranscriptFacts;
    use super::*;
    use crate::core::claude::checks::CheckOutcome::{Failed, Passed, Unknown};
    use crate::core::claude::transcript_line::{ToolInput, ToolResult, ToolUse};

    fn bash(checks: &mut CheckHistory, command: &str, text: &str, is_error: bool) {
        let input = ToolInput { command: Some(command.to_owned()), ..ToolInput::default() };
        let call = ToolUse { id: "t".into(), name: "Bash".into(), input };
        let result = ToolResult { id: "t".into(), is_error, text: text.to_owned() };
        checks.take_answer(&CallAnswer { call: Some(&call), result: &result, detail: None });
    }

    #[test]
    fn each_command_is_kept_once_with_its_newest_outcome() {
        let mut checks = CheckHistory::default();
        bash(&mut checks, "pytest | tail -1", "1 failed in 0.1s", false);
        bash(&mut checks, "cargo test", "Exit code 101\nerror: x", true);
        bash(&mut checks, "ls", "", false);
        bash(&mut checks, "pytest | tail -1", "3 passed in 0.1s", false);
        let seen: Vec<_> =
            checks.iter().map(|check| (check.command.as_str(), check.verdict.outcome)).collect();
        assert_eq!(seen, [("cargo test", Failed), ("pytest | tail -1", Passed)]);
        bash(&mut checks, "pytest | tail -1", "", false);
        assert_eq!(checks.iter().next_back().unwrap().verdict.outcome, Unknown);
    }

    #[test]
    fn a_result_replaces_that_of_the_same_run_through_another_filter() {
        let mut checks = CheckHistory::default();
        let failed = "test result: FAILED. 40 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        let passed = "test result: ok. 41 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let outcomes =
            |checks: &CheckHistory| -> Vec<_> { checks.iter().map(|one| one.verdict.outcome).collect() };
        bash(&mut checks, "cd svc && cargo test -p lock 2>&1 | tail -20", failed, false);
        bash(&mut checks, "cd svc && cargo test -p lock 2>&1 | grep -c warning", "", false);
        assert_eq!(outcomes(&checks), [Failed, Unknown], "what is not known takes the place of nothing");
        bash(&mut checks, "cargo test -p lock 2>&1 | tail -3", passed, false);
        assert_eq!(outcomes(&checks), [Passed]);
        bash(&mut checks, "cargo test -p lock --release | tail -3", failed, false);
        bash(&mut checks, "cd web && cargo test -p tide | tail", failed, false);
        bash(&mut checks, "cd svc && cargo test -p tide | tail", passed, false);
        assert_eq!(outcomes(&checks), [Passed, Failed, Failed, Passed], "another run, and another folder");
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
            let mut facts = TranscriptFacts::new();
            for line in [
                serde_json::json!({"type": "assistant", "message": {"id": "m", "content": [call]}}),
                serde_json::json!({"type": "user", "message": {"content": [answer]}}),
            ] {
                facts.feed(line.to_string().as_bytes());
            }
            let check = facts.checks.iter().next().unwrap();
            assert_eq!(
                (check.verdict.outcome, check.verdict.summary.as_str()),
                (Failed, "1 failed, 7 passed")
            );
            assert!(check.command.len() <= CHECK_COMMAND_CAP);
        }
    }

    #[test]
    fn a_check_knows_what_was_written_after_it() {
        let mut checks = CheckHistory::default();
        checks.take_edit("/p/a.rs");
        bash(&mut checks, "cargo check", "", false);
        assert!(!checks.iter().next().unwrap().is_stale());
        checks.take_edit("/p/b.rs");
        checks.take_edit("/p/c.rs");
        bash(&mut checks, "cargo fmt --check", "", false);
        let stale: Vec<_> =
            checks.iter().map(|check| (check.edits_after, check.last_edit.as_deref())).collect();
        assert_eq!(stale, [(2, Some("/p/c.rs")), (0, None)]);
        bash(&mut checks, "cargo check", "", false);
        assert!(checks.iter().all(|check| !check.is_stale()));
    }
}
