//! Reads the result of Claude's Bash tool: the exit status that it reports, and the output lines without
//! colours.

use super::check_verdict::{FAILING_CAP, LINE_CAP};
use crate::core::text::safe_text::cut_bytes;

/// The most that is read of one line, in bytes.
const RESULT_LINE_SEARCHED: usize = 1024;

/// How a command ended, according to the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandEnd {
    Success,
    /// The exit status, where the tool reports it; never 0.
    Failure(Option<u32>),
    /// Something stopped the command; the reason in words.
    Stopped(String),
    /// A program or folder does not exist; the shell's message.
    Missing(String),
    /// The command was refused; the reason in words.
    NeverRan(String),
}

impl CommandEnd {
    /// Splits a tool result into how the command ended and its output.
    pub(super) fn of(output: &str, is_error: bool) -> (Self, &str) {
        /// How a tool result begins when nothing ran.
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
            // Claude's text for an empty output.
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
        // `npm test` prints lines of its own before its shell reports the missing program.
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

    pub(super) fn words(&self) -> String {
        match self {
            CommandEnd::Failure(Some(number)) => format!("exit code {number}"),
            CommandEnd::Success => "exit code 0".to_owned(),
            _ => "an error".to_owned(),
        }
    }
}

/// Removes what only serves the eye: colours, overwritten progress bars, frames and runs of spaces. Tabs
/// stay.
#[derive(Default)]
pub(super) struct LineCleaner {
    line: String,
}

impl LineCleaner {
    /// The line that a terminal would show in the end, at most [`RESULT_LINE_SEARCHED`] bytes.
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

/// Whether a line replaces lines that were cut, by Claude or by hopty.
pub(super) fn is_gap(line: &str) -> bool {
    line.contains("lines truncated]")
        || line.contains("characters truncated]")
        || line.starts_with("<persisted-output>")
        || line == crate::core::claude::transcript_line::GAP
}

/// Keeps the first lines that mention an error, for a runner without known result lines.
pub(super) fn note_error(line: &str, kept: &mut Vec<String>) {
    let tells = ["error", "Error", "FAIL", "failed", "not found"].iter().any(|word| line.contains(word));
    if tells && kept.len() < FAILING_CAP {
        let line = display(line);
        if !kept.contains(&line) {
            kept.push(line);
        }
    }
}

/// A line without tabs, cut at [`LINE_CAP`] bytes.
pub(super) fn display(line: &str) -> String {
    cut_bytes(&line.replace('\t', " "), LINE_CAP).trim().to_owned()
}
