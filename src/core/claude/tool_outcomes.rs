//! What tools did in a conversation beyond writing files: what was verified, what still runs, and what was
//! used last.
//!
//! A command counts as a check when its words are those of a test, a build or a linter; what it came to is
//! told by [`super::checks`]. It is evidence that a command ended so, no proof that the work is right.

use super::bounded_memory::LastItems;
use super::checks::{CheckOutcome, Verdict, judge};
use super::transcript_line::{ResultDetail, ToolResult, ToolUse};
use crate::core::handoff::safe_text::{cut_chars, cut_words};

pub use super::checks::{is_check, is_exit_status_its_own};

/// How many checks are kept.
pub const CHECK_CAP: usize = 20;
/// How many things that run are kept; the oldest is forgotten.
pub const RUNNING_CAP: usize = 64;

/// How many things are kept that have ended.
const ENDED_CAP: usize = 8;
/// The most that is told of a command, and of Claude's description of it, in characters.
const PURPOSE_CAPS: [usize; 2] = [160, 80];
/// The most that is kept of how something ended, in bytes.
const END_CAP: usize = 80;
/// The most that is kept of a check's command, in bytes.
const COMMAND_CAP: usize = 300;

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    /// Without an error.
    Passed,
    Failed,
    /// The exit status is not the command's own (a pipe, `;`, `|| true`).
    Unknown,
    /// The person refused the call.
    Refused,
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
    /// What it is: its command, else the tool and what it was called for.
    pub what: String,
    /// The command of a shell.
    pub command: Option<String>,
    /// The file that its output goes to, where Claude says so.
    pub output: Option<String>,
    /// How often Claude's tools wrote a file since it began, and which one they wrote last.
    edits: (u64, Option<String>),
}

/// Something that went on after its tool had answered, and has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedWork {
    /// What it was, as in [`RunningWork`].
    pub what: String,
    /// How it ended, in a few words: `failed with exit code 1`.
    pub end: String,
    /// The file that has its output, where Claude says so.
    pub output: Option<String>,
}

/// What tools did.
#[derive(Clone, Debug, Default)]
pub struct Work {
    checks: LastItems<Check, CHECK_CAP>,
    running: Vec<RunningWork>,
    ended: LastItems<EndedWork, ENDED_CAP>,
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

    /// Shells that ended in the background, and agents that did not end well, oldest first. A check among
    /// them is one of the checks.
    pub fn ended(&self) -> impl DoubleEndedIterator<Item = &EndedWork> {
        self.ended.iter()
    }

    /// The last tool that answered.
    #[must_use]
    pub fn last(&self) -> Option<&ToolUse> {
        self.last.as_ref()
    }

    /// A tool answered; whether what it was called for goes on.
    pub(super) fn answered(
        &mut self,
        call: &ToolUse,
        result: &ToolResult,
        detail: Option<&ResultDetail>,
    ) -> bool {
        self.last = Some(call.clone());
        let started =
            detail.and_then(|detail| detail.running.clone()).or_else(|| background_id(call, result));
        if let Some(id) = started.filter(|_| !result.is_error) {
            self.running.retain(|running| running.id != id);
            if self.running.len() >= RUNNING_CAP {
                self.running.remove(0);
            }
            let output = detail.and_then(|detail| detail.output.clone()).or_else(|| output_of(&result.text));
            let (what, command) = (purpose(call), call.input.command.clone());
            self.ended.retain(|ended| ended.what != what);
            self.running.push(RunningWork { id, what, command, output, edits: (0, None) });
            return true;
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
                while let Some(at) = self.running.iter().position(|one| result.text.contains(&one.id)) {
                    self.end(at, "you stopped it", None);
                }
            }
            _ => {}
        }
        false
    }

    /// What runs at this place has ended; `code` is its exit code.
    fn end(&mut self, at: usize, how: &str, code: Option<u64>) {
        let RunningWork { what, command, output, edits, .. } = self.running.remove(at);
        let failed = format!("Exit code {}", code.unwrap_or_default());
        let verdict = command.as_deref().and_then(|command| match code {
            Some(1..) => judge(command, &failed, true),
            _ => judge(command, "", false),
        });
        let Some((mut verdict, command)) = verdict.zip(command) else {
            if !(how.starts_with("completed") && what.starts_with("Agent")) {
                self.ended.put(EndedWork { what, end: cut_words(how, END_CAP).to_owned(), output });
            }
            return;
        };
        // That it ended well does not tell that anything was tested: its output was not read here.
        if verdict.outcome != CheckOutcome::Failed {
            verdict.outcome = CheckOutcome::Unknown;
        }
        let place = output.map(|output| format!("; output in {output}")).unwrap_or_default();
        verdict.summary = format!("in the background: {}{place}", cut_words(how, END_CAP));
        verdict.failing.clear();
        let command = cut_words(&command, COMMAND_CAP).to_owned();
        self.checks.retain(|check| check.command != command);
        self.checks.put(Check { command, verdict, edits_after: edits.0, last_edit: edits.1 });
    }

    /// The person ran a command themselves. Its exit status is not known.
    pub(super) fn ran_by_person(&mut self, command: &str, output: &str) {
        if let Some(verdict) = judge(&format!("{command} | cat"), output, false) {
            let command = cut_words(command, COMMAND_CAP).to_owned();
            self.checks.retain(|check| check.command != command);
            self.checks.put(Check { command, verdict, edits_after: 0, last_edit: None });
        }
    }

    /// A tool wrote a file.
    pub(super) fn wrote(&mut self, path: &str) {
        for check in self.checks.iter_mut() {
            check.edits_after += 1;
            check.last_edit = Some(path.to_owned());
        }
        for one in &mut self.running {
            one.edits = (one.edits.0 + 1, Some(path.to_owned()));
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
            let at = self.running.iter().position(|one| one.id == id.trim());
            if let Some(at) = at.filter(|_| !rest.contains("<status>running</status>")) {
                let (how, code) = ending(rest);
                self.end(at, &how, code);
            }
        }
    }
}

/// What a call is for: its command, and Claude's description beside it; without a command the tool's name and
/// the description.
#[must_use]
pub fn purpose(call: &ToolUse) -> String {
    let input = &call.input;
    let about = input.path.as_ref().or(input.about.as_ref());
    let Some(command) = &input.command else {
        return about.map_or_else(|| call.name.clone(), |about| format!("{}: {about}", call.name));
    };
    let line = |text: &str, cap| cut_chars(&text.split_whitespace().collect::<Vec<_>>().join(" "), cap);
    let short = line(command, PURPOSE_CAPS[0]);
    match about.filter(|about| !command.starts_with(about.as_str())) {
        Some(about) => format!("{short} ({})", line(about, PURPOSE_CAPS[1])),
        None => short,
    }
}

/// How a notification says that something ended, and with which exit code.
fn ending(text: &str) -> (String, Option<u64>) {
    let tag = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner.trim())
    };
    // Claude's description stands in quotes.
    let said = tag("summary").and_then(|said| said.rsplit_once('"')).map(|(_, said)| said.trim());
    let said = said.filter(|said| !said.is_empty()).or(tag("status")).unwrap_or("it ended");
    let digits = said.rsplit_once("exit code ").map_or("", |(_, rest)| rest);
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    (said.to_owned(), digits.parse().ok())
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
    fn what_runs_in_the_background_is_named_by_its_command_and_told_how_it_ended() {
        let mut work = Work::default();
        let start = |work: &mut Work, id: &str, command: &str| {
            let input = ToolInput {
                command: Some(command.to_owned()),
                about: Some("Run it".into()),
                ..ToolInput::default()
            };
            let call = ToolUse { id: id.into(), name: "Bash".into(), input };
            let text =
                format!("Command running in background with ID: {id}. Output is being written to: /o/{id}.");
            work.answered(&call, &ToolResult { id: id.into(), is_error: false, text }, None)
        };
        for (id, command) in
            [("b1", "cargo nextest run"), ("b2", "npm run dev -- --port 5174"), ("b3", "x | tail")]
        {
            assert!(start(&mut work, id, command));
        }
        assert_eq!(work.running()[1].what, "npm run dev -- --port 5174 (Run it)");
        work.wrote("/p/a.rs");
        let told = |id: &str, end: &str| {
            format!(
                "<task-notification>\n<task-id>{id}</task-id>\n<status>failed</status>\n<summary>Background \
                 command \"Run it\" {end}</summary>\n</task-notification>"
            )
        };
        work.told(&told("b1", "failed with exit code 100"));
        work.told(&told("b2", "failed with exit code 1"));
        let check = work.checks().next().unwrap();
        assert_eq!(
            (
                check.command.as_str(),
                check.verdict.outcome,
                check.verdict.summary.as_str(),
                check.edits_after
            ),
            ("cargo nextest run", Failed, "in the background: failed with exit code 100; output in /o/b1", 1)
        );
        let ended: Vec<_> = work.ended().map(|one| (one.what.as_str(), one.end.as_str())).collect();
        assert_eq!(ended, [("npm run dev -- --port 5174 (Run it)", "failed with exit code 1")]);
        start(&mut work, "b4", "cargo nextest run");
        work.told(&told("b4", "completed (exit code 0)"));
        assert_eq!(work.checks().next().unwrap().verdict.outcome, Unknown, "its output was not read");
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
