//! The answer of a tool together with its call.

use crate::core::claude::transcript_line::{ResultDetail, ToolResult, ToolUse};
use crate::core::text::safe_text::{cut_chars, cut_words};

/// The most that [`purpose`] repeats of a command and of Claude's description of it, in characters.
const PURPOSE_CAPS: [usize; 2] = [160, 80];

#[derive(Clone, Copy, Debug)]
pub(super) struct CallAnswer<'a> {
    /// The call, if the transcript has it.
    pub call: Option<&'a ToolUse>,
    pub result: &'a ToolResult,
    /// Claude's structured form of the answer, if the line has only this answer.
    pub detail: Option<&'a ResultDetail>,
}

impl<'a> CallAnswer<'a> {
    /// Whether Claude reports that the person refused the call.
    pub fn is_refusal(&self) -> bool {
        self.result.is_error && self.detail.is_some_and(|detail| detail.refused)
    }

    /// Whether the person refused the call, or refused to answer what it asks. A call that Claude got wrong
    /// is an error like any other.
    pub fn is_turned_down(&self) -> bool {
        let asks = self.call.is_some_and(ToolUse::asks_person);
        self.is_refusal() || self.result.is_error && asks && self.result.text.contains("user doesn't want to")
    }

    /// The call, if it did not fail.
    pub fn passed(&self) -> Option<&'a ToolUse> {
        self.call.filter(|_| !self.result.is_error)
    }

    /// The file that the tool wrote.
    pub fn written_path(&self) -> Option<&'a str> {
        self.passed().filter(|call| call.writes_file())?.input.path.as_deref()
    }

    /// The person's comment on the call, in their own words.
    pub fn comment(&self) -> Option<String> {
        self.detail.and_then(|detail| detail.said.as_deref()).map(without_clarify_frame)
    }

    /// Why the person refused the call. Claude Code may quote the reason after a text of its own.
    pub fn refusal(&self) -> Option<String> {
        let quoted = || self.result.text.split_once("the user said:\n");
        let reason = || self.comment().or_else(|| Some(without_clarify_frame(quoted()?.1)));
        self.is_refusal().then(reason).flatten()
    }
}

/// A tool call in a few words: its name, and its file or command.
pub(super) fn call_words(call: &ToolUse) -> String {
    let input = &call.input;
    let about = [&input.path, &input.command, &input.rest].into_iter().find_map(|one| one.as_deref());
    let about = about.unwrap_or_default();
    cut_words(format!("{} {about}", call.name).trim_end(), 300).to_owned()
}

/// The purpose of a call: its command with Claude's description of it, or the tool's name and the
/// description.
pub fn purpose(call: &ToolUse) -> String {
    let input = &call.input;
    let about = input.path.as_ref().or(input.about.as_ref()).or(input.rest.as_ref());
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

/// The person's words inside a text of Claude Code's ("Chat about this" below a question): each answer after
/// its question.
fn without_clarify_frame(why: &str) -> String {
    if !why.starts_with("The user wants to clarify these questions.") {
        return why.to_owned();
    }
    let mut question = "";
    let mut written = Vec::new();
    for line in why.lines().map(str::trim) {
        if let Some(asked) = line.strip_prefix("- \"").and_then(|line| line.strip_suffix('"')) {
            question = asked;
        }
        let text = line.strip_prefix("Answer:").or_else(|| line.strip_prefix("User notes:"));
        written.extend(text.map(|text| format!("{question} {}", text.trim()).trim().to_owned()));
    }
    written.join("\n")
}
