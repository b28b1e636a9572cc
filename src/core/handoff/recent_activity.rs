//! The last prompts, answers and tool calls with their outcome, in order.

use super::capture::Capture;
use super::handoff_work::FinishedStep;
use super::safe_prompts::shorten;
use crate::core::claude::transcript_facts::{ToolOutcome, TranscriptSpeaker};
use crate::core::text::safe_text::{cut_chars, fenced, safe, safe_line};

/// The most tool calls.
const STEPS: usize = 20;
/// The longest text of a prompt or an answer, in characters.
const SAID: usize = 500;
/// The longest purpose and the longest result of a tool call, in characters.
const STEP: usize = 140;
/// The longest reason of a failure, in characters.
const FAILURE: usize = 240;

/// The text of section Recent Activity; may be empty.
pub(super) fn activity(of: &Capture) -> String {
    let mut text = String::new();
    let steps_at =
        |at: usize| last_steps(of).iter().filter(move |done| done.before.min(of.recent.len()) == at);
    for (at, exchange) in (0..).zip(&of.recent) {
        steps(&mut text, steps_at(at));
        text.push_str(match exchange.speaker {
            TranscriptSpeaker::Person => "PERSON: ",
            TranscriptSpeaker::Claude => "CLAUDE: ",
        });
        text.push_str(cut_chars(safe(&exchange.text).trim(), SAID).trim_end());
        text.push_str("\n\n");
    }
    steps(&mut text, steps_at(of.recent.len()));
    if text.is_empty() { text } else { fenced(text.trim_end()) }
}

/// The newest tool calls, oldest first.
pub(super) fn last_steps(of: &Capture) -> &[FinishedStep] {
    &of.steps.here[of.steps.here.len().saturating_sub(STEPS)..]
}

/// A tool call as a line, such as `Bash: cargo test -> ok: 12 passed`.
pub(super) fn line(done: &FinishedStep) -> String {
    line_with(done, part(&done.step.about))
}

/// The same with the end of a longer command.
pub(super) fn longer_line(done: &FinishedStep) -> String {
    line_with(done, shorten(&after_colon(&done.step.about), 2 * STEP))
}

/// A text on one line after a colon; nothing for an empty text.
fn after_colon(text: &str) -> String {
    let text = safe_line(text);
    if text.is_empty() { text } else { format!(": {text}") }
}

/// The beginning of a text.
fn part(text: &str) -> String {
    cut_chars(&after_colon(text), STEP + 2)
}

fn line_with(done: &FinishedStep, about: String) -> String {
    let step = &done.step;
    let end = match step.outcome {
        ToolOutcome::Passed => format!("ok{}", part(&step.line)),
        // The reason is at the end as often as at the beginning.
        ToolOutcome::Failed => match shorten(without_exit_code(&safe_line(&step.line)), FAILURE) {
            line if line.is_empty() => "failed".to_owned(),
            line => format!("failed: {line}"),
        },
        // The reason is one of the person's prompts.
        ToolOutcome::Refused => "refused by the person".to_owned(),
        ToolOutcome::Unknown => match safe_line(&step.line) {
            line if line.is_empty() => "no output".to_owned(),
            line => cut_chars(&line, STEP),
        },
    };
    format!("{}{about} -> {end}", cut_chars(&safe_line(&step.tool), STEP))
}

/// The output of a failed command without its exit code, which adds nothing.
fn without_exit_code(line: &str) -> &str {
    line.strip_prefix("Exit code 1: ").unwrap_or(line)
}

/// Adds calls; repeated calls with the same result are one line.
fn steps<'a>(text: &mut String, steps: impl Iterator<Item = &'a FinishedStep>) {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for step in steps.map(longer_line) {
        match lines.last_mut() {
            Some((last, times)) if *last == step => *times += 1,
            _ => lines.push((step, 1)),
        }
    }
    for (line, times) in &lines {
        text.push_str("  ");
        text.push_str(line);
        if *times > 1 {
            text.push_str(&format!(" ({times} times)"));
        }
        text.push('\n');
    }
    if !lines.is_empty() {
        text.push('\n');
    }
}
