//! Everything that the person wrote in a conversation, in full and in order.
//!
//! A transcript has no maximum length, so at most [`PROMPT_CAP`] prompts and [`BYTES_CAP`] bytes are kept. At
//! a limit, long prompts of long ago are cut to their beginning and end; then the oldest are dropped. The
//! first prompt and the newest ones stay whole.

use std::collections::VecDeque;

use super::transcript_line::SelectedLines;
use crate::core::handoff::current_request::asks;
use crate::core::handoff::pasted_text::{END_OF_PASTE, PASTED, has_paste, without_end_mark};
use crate::core::text::safe_text::cut_words;

/// How many prompts are kept.
pub const PROMPT_CAP: usize = 20_000;
/// How many bytes of text are kept in all.
pub const BYTES_CAP: usize = 8 << 20;
/// How much is kept of the beginning and of the end of a shortened prompt, in bytes each.
const SHORTENED: usize = 2 << 10;
/// The most of Claude's text before a short prompt that is kept, in bytes.
pub(crate) const ASKED_CAP: usize = 1500;
/// How many prompts one line can contain: the answers to the questions of a call.
const UNDATED: usize = 16;
/// The longest prompt that is kept with what Claude wrote before it, in characters, because it may be an
/// answer. The second number applies when Claude asked a question.
const ANSWER_CAPS: [usize; 2] = [160, 1000];

/// How much is kept of the text of a custom command or skill, in bytes.
const COMMAND_TEXT_CAP: usize = 4000;
/// How much is kept of the name of a file in an editor, in bytes.
const SELECTED_CAP: usize = 300;

/// How a prompt reached Claude.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptKind {
    /// Typed or pasted into the prompt box.
    #[default]
    Typed,
    /// Typed while Claude worked, and taken into the running turn.
    Steering,
    /// Written when a tool call was refused.
    Refusal,
    /// Written when a tool call or a plan was allowed.
    Approval,
    /// Chosen as an answer to a question with options, or written beside or instead of them.
    Answer,
    /// Given to Claude's memory (`#`).
    Memory,
    /// Said for the summary of a compaction (`/compact keep the ports`).
    Compact,
}

impl PromptKind {
    /// Whether Claude answers nothing to it.
    fn is_note(self) -> bool {
        matches!(self, PromptKind::Memory | PromptKind::Compact)
    }
}

/// How many image files are kept of one prompt.
pub(crate) const IMAGE_FILES: usize = 4;
/// How a note begins about the call that the person's words refer to; the call and `)` follow.
pub(crate) const REFUSED_CALL: &str = "(a tool call that the person refused: ";
/// The same for a call that was allowed.
pub(crate) const ALLOWED_CALL: &str = "(a tool call that the person allowed: ";

/// One prompt of the person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptPrompt {
    /// The text, with pasted parts between `[pasted]` and `[end of paste]`.
    pub text: String,
    pub kind: PromptKind,
    /// The person stopped Claude before it had finished with it.
    pub interrupted: bool,
    /// The number of images that came with it.
    pub images: usize,
    /// When it was written, RFC 3339.
    pub at: Option<String>,
    /// The end of Claude's text before it, for a prompt so short that it may be an answer.
    pub asked: Option<String>,
    /// The selection in the person's editor: the file, and the lines if they are known (`src/a.ts:141-163`).
    pub selected: Option<String>,
    /// The files of its images, if Claude names them, at most 4.
    pub image_files: Vec<String>,
}

/// The prompts of one conversation, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Prompts {
    kept: VecDeque<TranscriptPrompt>,
    bytes: usize,
    /// How many prompts after the first were dropped.
    dropped: u64,
    /// The index up to which long prompts were shortened.
    shortened: usize,
}

impl Prompts {
    /// Adds the newest prompt. `last_said` is what Claude wrote before it.
    pub(super) fn put(&mut self, mut prompt: TranscriptPrompt, last_said: &str) {
        let shorter_than = |cap: usize| prompt.text.chars().nth(cap).is_none();
        let is_answer = prompt.kind != PromptKind::Typed
            || shorter_than(ANSWER_CAPS[0])
            || shorter_than(ANSWER_CAPS[1]) && asks(last_said);
        if is_answer && !last_said.trim().is_empty() {
            prompt.asked =
                Some(end_words(last_said.trim(), ASKED_CAP).to_owned()).filter(|asked| !asked.is_empty());
        }
        self.bytes += size(&prompt);
        self.kept.push_back(prompt);
        self.shrink();
    }

    /// The person stopped Claude: the newest prompt before the last `waiting` ones is unfinished.
    pub(super) fn interrupt(&mut self, waiting: usize) {
        let mut answered = self.kept.iter_mut().rev().filter(|prompt| !prompt.kind.is_note());
        if let Some(prompt) = answered.nth(waiting) {
            prompt.interrupted = true;
        }
    }

    /// Notes the selection in the person's editor for the newest prompt.
    pub(super) fn point_at(&mut self, selected: &SelectedLines) {
        if let Some(prompt) = self.kept.back_mut() {
            let file = cut_words(&selected.file, SELECTED_CAP);
            let selected = match selected.lines {
                Some((from, to)) => format!("{file}:{from}-{to}"),
                None => file.to_owned(),
            };
            self.bytes = self.bytes + selected.len() - prompt.selected.as_ref().map_or(0, String::len);
            prompt.selected = Some(selected);
        }
    }

    /// Notes the file of an image of the newest prompt.
    pub(super) fn show_image(&mut self, file: &str) {
        if let Some(prompt) = self.kept.back_mut().filter(|prompt| prompt.image_files.len() < IMAGE_FILES) {
            let file = cut_words(file, SELECTED_CAP).to_owned();
            self.bytes += file.len();
            prompt.image_files.push(file);
        }
    }

    /// Gives the newest prompts without a time the time `at`.
    pub(super) fn date(&mut self, at: Option<&str>) {
        for prompt in self.kept.iter_mut().rev().take_while(|prompt| prompt.at.is_none()).take(UNDATED) {
            prompt.at = at.map(str::to_owned);
        }
    }

    /// Forgets all prompts but the first `count`: the person took them back.
    pub(super) fn go_back_to(&mut self, count: u64) {
        while self.count() > count
            && let Some(gone) = self.kept.pop_back()
        {
            self.bytes -= size(&gone);
        }
        self.shortened = self.shortened.min(self.kept.len());
    }

    fn shrink(&mut self) {
        // The first and the newest stay whole.
        while self.bytes > BYTES_CAP && self.shortened.max(1) + 1 < self.kept.len() {
            let at = self.shortened.max(1);
            let prompt = &mut self.kept[at];
            if prompt.text.len() > 3 * SHORTENED {
                self.bytes -= prompt.text.len();
                prompt.text = format!(
                    "{}\n[... {} bytes left out ...]\n{}",
                    cut_words(&prompt.text, SHORTENED),
                    prompt.text.len() - 2 * SHORTENED,
                    end_words(&prompt.text, SHORTENED)
                );
                self.bytes += prompt.text.len();
            }
            self.shortened = at + 1;
        }
        while self.kept.len() > PROMPT_CAP || (self.bytes > BYTES_CAP && self.kept.len() > 2) {
            let Some(gone) = self.kept.remove(1) else { return };
            self.bytes -= size(&gone);
            self.dropped += 1;
            self.shortened = self.shortened.saturating_sub(1);
        }
    }

    /// The newest that Claude answers: no note for its memory or for a compaction.
    pub(super) fn newest_to_answer(&self) -> Option<&TranscriptPrompt> {
        self.kept.iter().rev().find(|prompt| !prompt.kind.is_note())
    }

    /// The text of the custom command or skill that the newest prompt is.
    pub(super) fn add_command_text(&mut self, text: &str) {
        let is_command = |prompt: &&mut TranscriptPrompt| {
            prompt.text.starts_with('/') && !prompt.kind.is_note() && !has_paste(&prompt.text)
        };
        if let Some(prompt) = self.kept.back_mut().filter(is_command) {
            let text = without_end_mark(cut_words(text.trim(), COMMAND_TEXT_CAP)).into_owned();
            let text = format!("\n{PASTED}\n{text}\n{END_OF_PASTE}");
            self.bytes += text.len();
            prompt.text.push_str(&text);
        }
    }

    /// The newest.
    pub fn newest(&self) -> Option<&TranscriptPrompt> {
        self.kept.back()
    }

    /// The newest that is neither a note nor an answer to a question with options: that one is what
    /// Claude works on.
    pub fn newest_said(&self) -> Option<&TranscriptPrompt> {
        self.kept.iter().rev().find(|prompt| prompt.kind != PromptKind::Answer && !prompt.kind.is_note())
    }

    /// The prompts, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &TranscriptPrompt> + ExactSizeIterator {
        self.kept.iter()
    }

    /// How many prompts there were in all.
    pub fn count(&self) -> u64 {
        self.kept.len() as u64 + self.dropped
    }

    /// How many prompts after the first are not kept.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

fn size(prompt: &TranscriptPrompt) -> usize {
    let beside: usize = [&prompt.asked, &prompt.selected].into_iter().flatten().map(String::len).sum();
    prompt.text.len() + beside + std::mem::size_of::<TranscriptPrompt>()
}

/// How texts begin that are in the person's place in the transcript and that no person wrote: reports of
/// sub-agents, messages of other sessions and of channels (2.1.331).
const FOREIGN: [&str; 8] = [
    "<task-notification", "<teammate-message", "<cross-session-message", "<agent-message", "<channel ",
    "<channel>", "<system-reminder>", "<tick>",
];

/// Whether something other than the person wrote a prompt.
pub(crate) fn is_foreign(prompt: &str) -> bool {
    let prompt = prompt.trim_start();
    FOREIGN.iter().any(|tag| prompt.starts_with(tag))
}

/// The last `cap` bytes of `text` at most, from the beginning of a line or word on, because the end of a
/// secret alone is not recognized as one.
fn end_words(text: &str, cap: usize) -> &str {
    let end = end_of(text, cap);
    if end.len() == text.len() {
        return end;
    }
    let line = end.find('\n').filter(|at| *at < 1024).or_else(|| end.find(char::is_whitespace));
    line.map_or("", |at| end[at..].trim_start())
}

/// The last `cap` bytes of `text` at most, cut at a character.
pub(crate) fn end_of(text: &str, cap: usize) -> &str {
    let mut from = text.len().saturating_sub(cap);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// How many opening tags of pastes are followed; each costs a search for its end.
const PASTES: usize = 256;
/// How the opening tag of a paste begins; its id follows.
pub(crate) const PASTE_OPENS: &str = "<pasted_content id=\"";

/// Rewrites a prompt with pasted parts, `<pasted_content id="...">`, in which Claude wraps pastes of more
/// than 800 characters or three lines (measured on 2.1.329). `put` gets the text before a paste and the
/// paste; `behind` cuts the beginning of what follows it.
pub(crate) fn rewrite_pastes(
    prompt: &str,
    behind: fn(&str) -> &str,
    put: impl Fn(&mut String, &str, &str),
) -> String {
    let mut out = String::with_capacity(prompt.len());
    let mut rest = prompt;
    for _ in 0..PASTES {
        let Some((before, after)) = rest.split_once(PASTE_OPENS) else { break };
        let Some((inside, then)) = paste(after) else {
            out.push_str(before);
            out.push_str(PASTE_OPENS);
            rest = after;
            continue;
        };
        put(&mut out, before, inside);
        rest = behind(then);
        if !rest.is_empty() {
            out.push('\n');
        }
    }
    out.push_str(rest);
    out
}

/// Splits what follows [`PASTE_OPENS`] into the text of the paste and the rest.
fn paste(after: &str) -> Option<(&str, &str)> {
    let len = after.bytes().take(33).take_while(u8::is_ascii_alphanumeric).count();
    let inner = after[len..].strip_prefix("\">\n")?;
    let id = (1..=32).contains(&len).then(|| &after[..len])?;
    inner.split_once(format!("\n</pasted_content id=\"{id}\">").as_str())
}

/// A prompt of the transcript with its pasted parts marked in words.
pub(crate) fn mark_pastes(prompt: &str) -> String {
    let marked = rewrite_pastes(
        prompt,
        |text| text.trim_start_matches('\n'),
        |out, before, inside| {
            out.push_str(before.trim_end_matches('\n'));
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&format!("{PASTED}\n{}\n{END_OF_PASTE}", without_end_mark(inside)));
        },
    );
    cut_words(marked.trim(), super::transcript_line::TEXT_CAP).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: impl Into<String>) -> TranscriptPrompt {
        TranscriptPrompt { text: text.into(), ..TranscriptPrompt::default() }
    }

    #[test]
    fn a_short_prompt_keeps_what_it_answers() {
        let mut prompts = Prompts::default();
        prompts.put(prompt("B"), "Long.\n\nPostgreSQL (A) or SQLite (B)?");
        let long = "ж".repeat(ANSWER_CAPS[0] + 1);
        prompts.put(prompt(&long[2..]), "Done.");
        prompts.put(prompt(&long), "Done.");
        prompts.put(prompt(&long), "Which one?");
        prompts.put(prompt("x".repeat(ANSWER_CAPS[1] + 1)), "Which one?");
        let asked: Vec<_> = prompts.iter().map(|prompt| prompt.asked.as_deref()).collect();
        assert!(asked[0].unwrap().ends_with("SQLite (B)?"));
        assert_eq!(asked[1..], [Some("Done."), None, Some("Which one?"), None]);
    }

    #[test]
    fn memory_is_bounded_and_the_first_and_the_newest_stay_whole() {
        let mut prompts = Prompts::default();
        let long = "word ".repeat(60_000);
        prompts.put(prompt(format!("first {long}")), "");
        for n in 0..200 {
            prompts.put(prompt(format!("{n} {long}")), "");
        }
        let all: Vec<_> = prompts.iter().collect();
        assert_eq!(all.len(), 201, "shortened rather than dropped");
        assert!(
            all[0].text.len() > 300_000 && all[200].text.len() > 300_000 && all[200].text.starts_with("199 ")
        );
        assert!(all[1].text.contains("bytes left out") && all[1].text.starts_with("0 "));
        assert!(prompts.bytes <= BYTES_CAP, "{}", prompts.bytes);
        let real: usize = prompts.iter().map(size).sum();
        assert_eq!(prompts.bytes, real);
        for n in 0..PROMPT_CAP {
            prompts.put(prompt(format!("short {n}")), "");
        }
        assert!(prompts.iter().len() <= PROMPT_CAP && prompts.dropped() > 0);
        assert!(prompts.iter().next().unwrap().text.starts_with("first"));
    }

    #[test]
    fn the_end_of_a_text_begins_with_a_whole_word() {
        let secret = format!("gh{}{}", "p_", "Ab3xYz9QwK".repeat(4));
        for cut in 0..60 {
            let mut prompts = Prompts::default();
            let said = format!("Use {secret} {}?", "x".repeat(ASKED_CAP - 60 + cut));
            prompts.put(prompt("yes"), &said);
            let asked = prompts.iter().next().unwrap().asked.clone().unwrap_or_default();
            assert!(!asked.contains("Ab3") || asked.contains(&secret), "{asked}");
        }
    }

    #[test]
    fn many_openings_of_a_paste_cost_no_more_than_some() {
        let text = "<pasted_content id=\"a\">\n".repeat(40_000);
        let begun = std::time::Instant::now();
        assert!(mark_pastes(&text).len() > 800_000);
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    }

    #[test]
    fn messages_of_others_are_no_prompts() {
        for text in [
            "<channel source=\"x\">push to prod</channel>",
            " <teammate-message teammate_id=\"b\">do it",
            "<cross-session-message from=\"c\">",
        ] {
            assert!(is_foreign(text), "{text}");
        }
        assert!(!is_foreign("<channels> is a tag of mine") && !is_foreign("fix <channel >"));
    }

    #[test]
    fn words_to_a_call_have_the_time_of_their_line() {
        let mut prompts = Prompts::default();
        prompts.put(TranscriptPrompt { at: Some("1".into()), ..prompt("a") }, "");
        prompts.put(TranscriptPrompt { kind: PromptKind::Refusal, ..prompt("b") }, "");
        prompts.date(Some("2"));
        let times: Vec<Option<&str>> = prompts.iter().map(|prompt| prompt.at.as_deref()).collect();
        assert_eq!(times, [Some("1"), Some("2")]);
    }

    #[test]
    fn pasted_parts_are_marked() {
        let paste = "\n\n<pasted_content id=\"58a0\">\na\nb\n</pasted_content id=\"58a0\">\n";
        assert_eq!(mark_pastes(paste), "[pasted]\na\nb\n[end of paste]");
        assert_eq!(
            mark_pastes(&format!("Fix this:{paste}and test")),
            "Fix this:\n[pasted]\na\nb\n[end of paste]\nand test"
        );
        assert_eq!(mark_pastes("<pasted_content id=\"1\">\nopen"), "<pasted_content id=\"1\">\nopen");
    }
}
