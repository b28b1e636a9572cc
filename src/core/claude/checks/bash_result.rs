//! What Claude's Bash tool returns: the exit status that it reports, and the lines of output, stripped for
//! matching.

use super::check_verdict::{FAILING_CAP, LINE_CAP};
use crate::core::text::safe_text::cut_bytes;

/// How much of a line is looked at, in bytes.
const RESULT_LINE_SEARCHED: usize = 1024;

/// How the tool says that a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandEnd {
    Success,
    /// With an exit status that is not 0, where it is known.
    Failure(Option<u32>),
    /// It was ended from outside: why.
    Stopped(String),
    /// A program or a folder was not there.
    Missing(String),
    /// It was refused: why.
    NeverRan(String),
}

impl CommandEnd {
    /// What an answer of the tool says, and the output behind it.
    pub(super) fn of(output: &str, is_error: bool) -> (Self, &str) {
        /// Beginnings of an answer where nothing ran.
        const REFUSED: [&str; 7] = [
            "The user doesn't want",
            "Permission to use",
            "Claude requested permissions",
            "This command requires approval",
            "PreToolUse:",
            "<tool_use_error>",
            "Cancelled: parallel tool call",
        ];
        if !is_error {
            // What Claude writes where there is no output.
            return (
                CommandEnd::Success,
                if output.starts_with("(Bash completed with no output)") { "" } else { output },
            );
        }
        let (first, rest) = output.split_once('\n').unwrap_or((output, ""));
        let first = first.trim();
        let number = first.strip_prefix("Exit code ").and_then(|rest| rest.trim().parse::<u32>().ok());
        let second = rest.trim_start().lines().next().unwrap_or_default();
        if REFUSED.iter().any(|words| first.starts_with(words)) {
            return (CommandEnd::NeverRan("the command was refused".to_owned()), "");
        }
        if first.starts_with("[Request interrupted") || second.starts_with("[Request interrupted") {
            return (CommandEnd::Stopped("interrupted".to_owned()), rest);
        }
        if first.starts_with("Command timed out") || second.starts_with("Command timed out") {
            return (CommandEnd::Stopped("timed out".to_owned()), rest);
        }
        let Some(number) = number else { return (CommandEnd::Failure(None), output) };
        let is_missing = number == 127 || second.contains(": cd: ");
        // `npm test` writes lines of its own before its shell misses the program.
        let missing = rest.lines().take(50).find(|line| line.contains("not found")).unwrap_or(second);
        let exit = match number {
            124 => CommandEnd::Stopped("timed out (exit code 124)".to_owned()),
            130 | 137 | 143 => CommandEnd::Stopped(format!("stopped by a signal (exit code {number})")),
            _ if is_missing => {
                let mut cleaner = LineCleaner::default();
                let line = cleaner.clean(cut_bytes(missing, RESULT_LINE_SEARCHED));
                CommandEnd::Missing(if line.is_empty() {
                    format!("exit code {number}")
                } else {
                    cut_bytes(line, LINE_CAP).to_owned()
                })
            }
            _ => CommandEnd::Failure(Some(number)),
        };
        (exit, rest)
    }

    /// The exit status in words.
    pub(super) fn words(&self) -> String {
        match self {
            CommandEnd::Failure(Some(number)) => format!("exit code {number}"),
            CommandEnd::Success => "exit code 0".to_owned(),
            _ => "an error".to_owned(),
        }
    }
}

/// Takes what is for the eye out of lines: colours, bars that were drawn over, frames, and runs of spaces. A
/// tab stays one.
#[derive(Default)]
pub(super) struct LineCleaner {
    line: String,
}

impl LineCleaner {
    /// The line as a terminal shows it in the end, at most [`RESULT_LINE_SEARCHED`] bytes.
    pub(super) fn clean(&mut self, line: &str) -> &str {
        let line = line.trim_end_matches('\r');
        let line = line.rsplit_once('\r').map_or(line, |(_, last)| last);
        self.line.clear();
        let mut chars = line.chars().peekable();
        let mut space = None;
        while let Some(c) = chars.next() {
            if self.line.len() >= RESULT_LINE_SEARCHED {
                break;
            }
            match c {
                '\x1b' => match chars.next() {
                    Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                    Some(']') => while chars.next().is_some_and(|c| c != '\x07' && c != '\x1b') {},
                    Some('(' | ')') => {
                        chars.next();
                    }
                    _ => {}
                },
                '\t' => space = Some('\t'),
                c if c.is_whitespace() => space = space.or(Some(' ')),
                c if c.is_control() => {}
                '=' | '⎯' if self.line.is_empty() => {}
                c => {
                    if let Some(space) = space.take().filter(|_| !self.line.is_empty()) {
                        self.line.push(space);
                    }
                    self.line.push(c);
                }
            }
        }
        self.line.trim_end_matches(['=', '⎯']).trim_end()
    }
}

/// Whether a line stands for lines that are not there: Claude's own, and this reader's.
pub(super) fn is_gap(line: &str) -> bool {
    line.contains("lines truncated]")
        || line.contains("characters truncated]")
        || line.starts_with("<persisted-output>")
        || line == crate::core::claude::transcript_line::GAP
}

/// Keeps the first lines that speak of an error, for a runner whose lines are not known.
pub(super) fn note_error(line: &str, kept: &mut Vec<String>) {
    let tells = ["error", "Error", "FAIL", "failed", "not found"].iter().any(|word| line.contains(word));
    if tells && kept.len() < FAILING_CAP {
        let line = display(line);
        if !kept.contains(&line) {
            kept.push(line);
        }
    }
}

/// A line as it is kept.
pub(super) fn display(line: &str) -> String {
    cut_bytes(&line.replace('\t', " "), LINE_CAP).trim().to_owned()
}
