//! The last tool calls that were answered, and those that failed.

use super::bounded_memory::LastItems;
use super::call_answer::CallAnswer;
use super::tool_steps::ToolOutcome;
use super::tool_steps::{STEP_CAP, ToolStep, about, error_line, looks};

/// How many failed tools are kept.
pub const ERROR_CAP: usize = 20;

/// A tool that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    /// The tool's name; empty when its call was not seen.
    pub tool: String,
    /// What it was called for: a path, a command; empty when that is not known.
    pub about: String,
    /// The line of what it said that tells of the error, at most 300 bytes.
    pub line: String,
    /// The same call has passed since.
    pub passed_since: bool,
    /// It changed nothing and only showed what is there: a search, `ls`.
    pub looked: bool,
}

/// The last tool calls that were answered, and those that failed.
#[derive(Clone, Debug, Default)]
pub struct ToolLog {
    steps: LastItems<ToolStep, STEP_CAP>,
    errors: LastItems<ToolError, ERROR_CAP>,
}

impl ToolLog {
    /// The last tool calls that were answered, oldest first.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &ToolStep> {
        self.steps.iter()
    }

    /// Tools that failed, oldest first. What the person refused is no error.
    pub fn errors(&self) -> impl DoubleEndedIterator<Item = &ToolError> {
        self.errors.iter()
    }

    /// Takes the answer of a tool after so many prompts and answers. `launched`: what it was called for goes
    /// on in the background.
    pub(super) fn take_answer(&mut self, answer: &CallAnswer<'_>, launched: bool, said: u64) {
        let CallAnswer { call, result, .. } = *answer;
        let error = || error_line(&result.text);
        if let Some(call) = call {
            let mut step = ToolStep::of(call, result, &error(), said);
            step.launched = launched;
            if answer.is_turned_down() {
                step.outcome = ToolOutcome::Refused;
            }
            if step.outcome == ToolOutcome::Passed {
                let failed_before = |error: &&mut ToolError| {
                    !step.about.is_empty() && (&error.tool, &error.about) == (&step.tool, &step.about)
                };
                self.errors.iter_mut().filter(failed_before).for_each(|error| error.passed_since = true);
            }
            self.steps.put_over(step, |known| known.looked || known.is_told_elsewhere());
        }
        if result.is_error && !answer.is_turned_down() {
            self.errors.put(ToolError {
                tool: call.map(|call| call.name.clone()).unwrap_or_default(),
                about: call.map(about).unwrap_or_default(),
                line: error(),
                passed_since: false,
                looked: call.is_some_and(looks),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::claude::transcript_line::{ResultDetail, ToolInput, ToolResult, ToolUse};

    fn take(log: &mut ToolLog, command: &str, error: Option<&str>, refused: bool) {
        let input = ToolInput { command: Some(command.into()), ..ToolInput::default() };
        let call = ToolUse { id: "t".into(), name: "Bash".into(), input };
        let text = error.unwrap_or("ok").to_owned();
        let result = ToolResult { id: "t".into(), is_error: error.is_some(), text };
        let detail = ResultDetail { refused, ..ResultDetail::default() };
        let answer = CallAnswer { call: Some(&call), result: &result, detail: Some(&detail) };
        log.take_answer(&answer, false, 0);
    }

    #[test]
    fn an_error_stands_until_the_same_call_passes_and_a_refusal_is_none() {
        let mut log = ToolLog::default();
        take(&mut log, "make a", Some("Exit code 3\nno such file"), false);
        take(&mut log, "make b", Some("Exit code 1"), false);
        take(&mut log, "rm -r c", Some("The user doesn't want to"), true);
        take(&mut log, "make a", None, false);
        let errors: Vec<_> = log.errors().map(|one| (one.line.as_str(), one.passed_since)).collect();
        assert_eq!(errors, [("Exit code 3: no such file", true), ("Exit code 1", false)]);
        let steps: Vec<_> = log.steps().map(|step| step.outcome).collect();
        use ToolOutcome::{Failed, Passed, Refused};
        assert_eq!(steps, [Failed, Failed, Refused, Passed]);
        let unseen = ToolResult { is_error: true, text: "x".into(), ..ToolResult::default() };
        log.take_answer(&CallAnswer { call: None, result: &unseen, detail: None }, false, 0);
        assert_eq!(log.errors().next_back().map(|one| one.tool.as_str()), Some(""));
        assert_eq!(log.steps().count(), 4, "nobody knows what was called");
    }

    #[test]
    fn it_is_bounded_and_what_only_looked_goes_first() {
        let mut log = ToolLog::default();
        take(&mut log, "deploy", None, false);
        (0..STEP_CAP).for_each(|_| take(&mut log, "ls", None, false));
        (0..2 * ERROR_CAP).for_each(|n| take(&mut log, &format!("make {n}"), Some("x"), false));
        assert_eq!((log.steps().count(), log.errors().count()), (STEP_CAP, ERROR_CAP));
        assert_eq!(log.steps().next().unwrap().about, "deploy");
    }
}
