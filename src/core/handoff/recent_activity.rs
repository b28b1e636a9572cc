//! What was said and done last, in its order: prompts, answers, and the tool calls between them with their
//! outcome.

use super::capture::{Capture, FinishedStep};
use super::safe_prompts::shorten;
use crate::core::claude::transcript_facts::{ToolOutcome, TranscriptSpeaker};
use crate::core::text::safe_text::{cut_chars, fenced, safe, safe_line};

/// How many tool calls are listed, the newest.
const STEPS: usize = 20;
/// How much is told of a prompt or an answer, in characters.
const SAID: usize = 500;
/// How much of a tool call's purpose, and of what came of it, in characters each.
const STEP: usize = 140;
/// How much of why one failed, in characters.
const FAILURE: usize = 240;

/// The text of section Recent Activity; empty when nothing was said or done.
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

/// The tool calls that are listed, oldest first.
pub(super) fn last_steps(of: &Capture) -> &[FinishedStep] {
    &of.steps[of.steps.len().saturating_sub(STEPS)..]
}

/// One line of a tool call: `Bash: cargo test -> ok: 12 passed`.
pub(super) fn line(done: &FinishedStep) -> String {
    line_with(done, part(&done.step.about))
}

/// The same with the end of a longer command.
pub(super) fn longer_line(done: &FinishedStep) -> String {
    line_with(done, shorten(&after_colon(&done.step.about), 2 * STEP))
}

/// A text on one line behind a colon; empty where it is.
fn after_colon(text: &str) -> String {
    let text = safe_line(text);
    if text.is_empty() { text } else { format!(": {text}") }
}

/// The beginning of it.
fn part(text: &str) -> String {
    cut_chars(&after_colon(text), STEP + 2)
}

fn line_with(done: &FinishedStep, about: String) -> String {
    let step = &done.step;
    let end = match step.outcome {
        ToolOutcome::Passed => format!("ok{}", part(&step.line)),
        // Why it failed stands at the end as often as at the beginning.
        ToolOutcome::Failed => match shorten(without_exit_code(&safe_line(&step.line)), FAILURE) {
            line if line.is_empty() => "failed".to_owned(),
            line => format!("failed: {line}"),
        },
        // Why is one of the person's prompts.
        ToolOutcome::Refused => "refused by the person".to_owned(),
        ToolOutcome::Unknown => match safe_line(&step.line) {
            line if line.is_empty() => "no output".to_owned(),
            line => cut_chars(&line, STEP),
        },
    };
    format!("{}{about} -> {end}", cut_chars(&safe_line(&step.tool), STEP))
}

/// What a failed command said, without the exit code that says no more than that it failed.
fn without_exit_code(line: &str) -> &str {
    line.strip_prefix("Exit code 1: ").unwrap_or(line)
}

/// The same call with the same end, one after the other, is told once.
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
