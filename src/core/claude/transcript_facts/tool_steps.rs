//! The last answered tool calls with their results. They show a new conversation where the work stopped,
//! besides the messages about it.

use crate::core::claude::checks::{is_check, is_exit_status_its_own, only_looks};
use crate::core::claude::lenient_json::ends;
use crate::core::claude::transcript_line::{ToolResult, ToolUse};
use crate::core::text::safe_text::{cut_chars, cut_words};

/// How many calls are kept. Those that another list contains are dropped first.
pub const STEP_CAP: usize = 60;
/// How much is kept of each of two lines that mention an error, in characters.
const ERROR_CHARS: usize = 140;
/// The most that is kept of a tool's purpose, and of its result, in bytes each.
const TEXT_CAP: usize = 300;
/// How much is kept of the beginning and of the end of a command's output, in bytes.
const PRINTED: [usize; 2] = [800, 1600];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    Passed,
    Failed,
    /// The exit status is not the command's own (a pipe, `;`, `|| true`).
    Unknown,
    /// The person refused the call.
    Refused,
}

/// A tool call that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolStep {
    pub tool: String,
    /// The purpose of the call: a path, a command, a pattern; empty if unknown.
    pub about: String,
    pub outcome: ToolOutcome,
    /// The result in one line: why it failed, or the last line of a command that passed. Empty if there is
    /// none.
    pub line: String,
    /// The beginning and the end of the output of a command, a server's tool or a page; empty if `line` has
    /// all of it, or if the call only read.
    pub output: String,
    /// It started something that still runs.
    pub launched: bool,
    /// It only shows something: a search, `rg`, `git status`.
    pub looked: bool,
    /// How many prompts and answers came before it, in the whole conversation.
    pub after: u64,
}

impl ToolStep {
    /// The step of a call and its answer; `error` is the line that mentions the error.
    pub(super) fn of(call: &ToolUse, result: &ToolResult, error: &str, after: u64) -> Self {
        let is_its_own = || call.input.command.as_deref().is_none_or(is_exit_status_its_own);
        let (outcome, line) = match result.is_error {
            true => (ToolOutcome::Failed, error),
            false if is_its_own() => (ToolOutcome::Passed, output_line(call, result)),
            false => (ToolOutcome::Unknown, output_line(call, result)),
        };
        let line = one_line(line);
        let prints =
            call.name.starts_with("mcp__") || matches!(&*call.name, "Bash" | "WebFetch" | "WebSearch");
        let looked = looks(call);
        let output = if prints && !looked { output_ends(&result.text) } else { String::new() };
        Self {
            tool: call.name.clone(),
            about: about(call),
            outcome,
            line,
            output,
            launched: false,
            looked,
            after,
        }
    }
}

impl ToolStep {
    /// Whether another list contains it: to-dos, files, checks, answers, plans and reports have lists of
    /// their own.
    pub fn has_own_list(&self) -> bool {
        let is_list = self.tool.starts_with("Task") && self.tool != "Task"
            || matches!(self.tool.as_str(), "TodoWrite" | "ToolSearch" | "KillShell" | "KillBash");
        let is_file = matches!(self.tool.as_str(), "Read" | "Write" | "Edit" | "MultiEdit" | "NotebookEdit");
        let is_answer = matches!(self.tool.as_str(), "AskUserQuestion" | "ExitPlanMode" | "Agent" | "Task");
        // The tool's outcome is not the result of a check.
        is_list
            || self.launched
            || is_check(&self.about)
            || self.outcome == ToolOutcome::Passed && (is_file || is_answer)
    }
}

/// Whether a call only shows something: a search, `rg`, `git status`.
pub(super) fn looks(call: &ToolUse) -> bool {
    match &call.input.command {
        Some(command) => call.name == "Bash" && only_looks(command),
        None => matches!(call.name.as_str(), "Grep" | "Glob" | "LS"),
    }
}

/// The purpose of a call in one line.
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
    let parts: Vec<String> = about.into_iter().chain(&input.rest).map(|part| one_line(part)).collect();
    cut_words(&parts.join(" "), TEXT_CAP).to_owned()
}

/// The beginning and the end of a command's output; empty if it is one line, which the step has anyway.
pub(super) fn output_ends(text: &str) -> String {
    let text = text.trim();
    if text.contains('\n') { ends(text, PRINTED[0], PRINTED[1]) } else { String::new() }
}

fn one_line(text: &str) -> String {
    cut_words(text.trim(), TEXT_CAP).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The most informative line of the output: of a command the last one, or the one that names the file with
/// the rest; of a server or a page the first one.
fn output_line<'a>(call: &ToolUse, result: &'a ToolResult) -> &'a str {
    let mut lines = result.text.lines().map(str::trim).filter(|line| !line.is_empty());
    if call.input.command.is_none() {
        let is_foreign = call.name.starts_with("mcp__") || matches!(&*call.name, "WebFetch" | "WebSearch");
        return lines.next().filter(|_| is_foreign).unwrap_or_default();
    }
    let line = if result.text.starts_with("<persisted-output>") { lines.nth(1) } else { lines.next_back() };
    line.unwrap_or_default()
}

/// The last line that is not empty.
pub(super) fn last_line(text: &str) -> String {
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    one_line(last.unwrap_or_default())
}

/// How a traceback of Python begins.
const TRACE: &str = "Traceback (most recent call last)";

/// Whether a line of output mentions an error.
pub fn mentions_error(line: &str) -> bool {
    const SIGNS: [&str; 8] =
        ["error", "fatal", "denied", "cannot", "failed", "failure", "exception", "panicked"];
    const NONE: [&str; 3] = ["0 error", "0 fail", "no error"];
    const CROSSES: [char; 4] = ['✖', '✗', '×', '❌'];
    if line.starts_with(CROSSES) {
        return true;
    }
    let line = line.to_ascii_lowercase();
    // `10 errors` and `07:00:20 ERROR` are not `0 errors`.
    let ends_number = |before: &str| before.ends_with(|c: char| c.is_ascii_digit() || c == ':');
    let says_none = |none: &str| line.match_indices(none).any(|(at, _)| !ends_number(&line[..at]));
    SIGNS.iter().any(|sign| line.contains(sign)) && !NONE.iter().any(|none| says_none(none))
}

/// The lines that mention an error: the first one, and the longest of the last three. A tool that calls
/// others first reports the failure and then the reason; a compiler counts its errors at the end.
fn error_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    // The frames of a JavaScript trace may name errors, too.
    let is_place = |line: &str| line.starts_with("at ") && line.ends_with(')');
    let all: Vec<&str> = lines.filter(|line| mentions_error(line) && !is_place(line)).collect();
    let (first, rest) = all.split_first()?;
    let last = rest[rest.len().saturating_sub(3)..].iter().max_by_key(|line| line.len());
    Some(match last {
        Some(last) => format!("{}; {}", cut_chars(first, ERROR_CHARS), cut_chars(last, ERROR_CHARS)),
        None => (*first).to_owned(),
    })
}

/// The first line that is not empty. An exit code says little, so the lines that mention an error are added
/// to it, or if there are none the last line.
pub(super) fn error_line(text: &str) -> String {
    let text = text.trim().trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("(no text)");
    let line = match lines.next() {
        // The error follows the frames of the trace.
        Some(next) if first.starts_with("Exit code") && next.starts_with(TRACE) => {
            format!("{first}: {}", lines.next_back().unwrap_or(next))
        }
        Some(next) if first.starts_with("Exit code") => {
            let all = || std::iter::once(next).chain(lines.clone());
            let line = error_lines(all()).unwrap_or_else(|| all().last().unwrap_or(next).to_owned());
            format!("{first}: {line}")
        }
        Some(next) if first.starts_with(TRACE) => lines.next_back().unwrap_or(next).to_owned(),
        _ => first.to_owned(),
    };
    cut_words(&line, 300).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_of_output_are_kept() {
        let table: String = (0..400).map(|n| format!("row {n} of the table\n")).collect();
        let kept = output_ends(&table);
        assert!(kept.starts_with("row 0 of") && kept.ends_with("row 399 of the table"), "{kept}");
        assert!(kept.len() < 2500);
        assert_eq!(output_ends("one line\n"), "");
    }

    #[test]
    fn the_line_of_a_trace_is_its_error_not_its_first_line() {
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

    #[test]
    fn the_line_of_a_failed_command_is_its_error() {
        let text = "Exit code 1\ndeleted 1000\n0 errors so far\nERROR AccessDenied on a.tar\nbye";
        assert_eq!(error_line(text), "Exit code 1: ERROR AccessDenied on a.tar");
        assert_eq!(error_line("Exit code 3\nstep 1\nno such host"), "Exit code 3: no such host");
    }

    #[test]
    fn a_call_only_looks_if_its_whole_command_does() {
        let looked = |name: &str, command: Option<&str>| {
            let input = crate::core::claude::transcript_line::ToolInput {
                command: command.map(str::to_owned),
                ..Default::default()
            };
            let call = ToolUse { id: "t".into(), name: name.into(), input };
            ToolStep::of(&call, &ToolResult::default(), "", 0).looked
        };
        for command in ["rg -n v6 src | head", "cd x && git status 2>/dev/null", "sed -n 1,40p a.ts", "ls"] {
            assert!(looked("Bash", Some(command)), "{command}");
        }
        let long = format!("ls {}; rm -r build", "a/long/way ".repeat(500));
        for command in [
            "ls\nrm -r build", &*long, "sed -i s/a/b/ a.ts", "rg v6 > hits.txt", "rg -c v6",
            "cat a.ts | tee b.ts", "find . -delete", "git stash", "cd x", "",
        ] {
            assert!(!looked("Bash", Some(command)), "{command}");
        }
        assert!(looked("Grep", None) && !looked("Skill", None));
        assert!(!looked("Monitor", Some("tail -F x")));
    }

    #[test]
    fn of_several_error_lines_the_first_and_a_late_one_are_kept() {
        let knex = "Exit code 1\n> knex migrate\nmigration file \"0418_x.js\" failed\nmigration failed with \
                    error: alter table \"berth\" - column \"lat\" already exists\nerror: alter table\n    at \
                    Parser.parseErrorMessage (/x/parser.js:369:69)\n    at Socket.emit (node:events:519:28)";
        assert_eq!(
            error_line(knex),
            "Exit code 1: migration file \"0418_x.js\" failed; migration failed with error: alter table \
             \"berth\" - column \"lat\" already exists"
        );
        let hook = "Exit code 1\n\u{29d7}   input: fix\n\u{2716}   references may not be empty\n\u{2716}   \
                    found 1 problems\nhusky: code 1";
        assert_eq!(
            error_line(hook),
            "Exit code 1: \u{2716}   references may not be empty; \u{2716}   found 1 problems"
        );
        let long = format!("Exit code 1\nerror: {}\nerror: {}", "x ".repeat(5000), "y ".repeat(5000));
        assert!(error_line(&long).len() <= 300);
    }

    #[test]
    fn a_command_behind_a_pipe_has_no_outcome_and_a_page_its_first_line() {
        let step = |name: &str, command: Option<&str>, text: &str| {
            let input = crate::core::claude::transcript_line::ToolInput {
                command: command.map(str::to_owned),
                ..Default::default()
            };
            let call = ToolUse { id: "t".into(), name: name.into(), input };
            let result = ToolResult { id: "t".into(), is_error: false, text: text.into() };
            let step = ToolStep::of(&call, &result, "", 0);
            (step.outcome, step.line)
        };
        let failed = "1 failed, 30 passed";
        assert_eq!(
            step("Bash", Some("hatch run test | tail -1"), failed),
            (ToolOutcome::Unknown, failed.into())
        );
        assert_eq!(step("Bash", Some("make"), "done"), (ToolOutcome::Passed, "done".into()));
        assert_eq!(
            step("mcp__jira__get", None, "\nOPEN: tide\nmore"),
            (ToolOutcome::Passed, "OPEN: tide".into())
        );
        assert_eq!(step("Edit", None, "updated"), (ToolOutcome::Passed, String::new()));
    }
}
