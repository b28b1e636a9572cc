//! The last tool calls that were answered, each with what came of it: what a new conversation reads to see
//! where the work stopped, and not only what was said about it.

use super::tool_outcomes::ToolOutcome;
use super::transcript_line::{ToolResult, ToolUse};
use crate::core::handoff::safe_text::cut_words;

/// How many tool calls are kept.
pub const STEP_CAP: usize = 20;
/// The most that is kept of what a tool was called for, and of what it said, in bytes each.
const TEXT_CAP: usize = 300;

/// A tool call that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolStep {
    /// The tool's name.
    pub tool: String,
    /// What it was called for: a path, a command, a pattern; empty where nothing of it is known.
    pub about: String,
    pub outcome: ToolOutcome,
    /// What it said, one line: why it failed; of a command that passed, the end of its output. Empty where
    /// there is nothing.
    pub line: String,
    /// How many prompts and answers had been said before it, in the whole conversation.
    pub after: u64,
}

impl ToolStep {
    /// The step of a call and its answer; `line` is the error's where it failed.
    pub(super) fn of(call: &ToolUse, result: &ToolResult, error: &str, after: u64) -> Self {
        let (outcome, line) = match result.is_error {
            true => (ToolOutcome::Failed, error),
            false => (ToolOutcome::Passed, said(call, result)),
        };
        Self { tool: call.name.clone(), about: about(call), outcome, line: one_line(line), after }
    }
}

/// What a tool was called for, one line.
pub(super) fn about(call: &ToolUse) -> String {
    let input = &call.input;
    let task =
        input.task_id.as_ref().map(|id| format!("#{id} {}", input.status.as_deref().unwrap_or_default()));
    let about = input
        .path
        .as_ref()
        .or(input.command.as_ref())
        .or(input.subject.as_ref())
        .or(task.as_ref())
        .or(input.about.as_ref());
    about.map(|about| one_line(about)).unwrap_or_default()
}

fn one_line(text: &str) -> String {
    cut_words(text.trim(), TEXT_CAP).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Of a command's output the line that says most: the last one, or where the rest is to be found.
fn said<'a>(call: &ToolUse, result: &'a ToolResult) -> &'a str {
    if call.input.command.is_none() {
        return "";
    }
    let mut lines = result.text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = if result.text.starts_with("<persisted-output>") { lines.nth(1) } else { lines.next_back() };
    line.unwrap_or_default()
}

/// How Python begins to tell of an error.
const TRACE: &str = "Traceback (most recent call last)";

/// The first line that says something; an exit code says little, so the next line is added to it.
pub(super) fn error_line(text: &str) -> String {
    let text = text.trim().trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("(no text)");
    let line = match lines.next() {
        // What went wrong stands below the places that it went through.
        Some(next) if first.starts_with("Exit code") && next.starts_with(TRACE) => {
            format!("{first}: {}", lines.next_back().unwrap_or(next))
        }
        Some(next) if first.starts_with("Exit code") => format!("{first}: {next}"),
        Some(next) if first.starts_with(TRACE) => lines.next_back().unwrap_or(next).to_owned(),
        _ => first.to_owned(),
    };
    cut_words(&line, 300).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_trace_the_error_is_told_and_not_its_first_line() {
        let trace = "Traceback (most recent call last):\n  File \"a.py\", line 1, in \
                     <module>\nModuleNotFoundError: No module named 'x'\n";
        assert_eq!(
            error_line(&format!("Exit code 1\n{trace}")),
            "Exit code 1: ModuleNotFoundError: No module named 'x'"
        );
        assert_eq!(error_line(trace), "ModuleNotFoundError: No module named 'x'");
        assert_eq!(
            error_line("Exit code 1\nTraceback (most recent call last):"),
            "Exit code 1: Traceback (most recent call last):"
        );
        assert_eq!(error_line("Exit code 2\nusage: x"), "Exit code 2: usage: x");
    }
}
