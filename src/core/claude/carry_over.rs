//! How a prompt that the person submitted in an old conversation reaches a fresh one unchanged, if it can.
//!
//! Claude wraps a paste of more than 800 characters or three lines in `<pasted_content>`, as if the person
//! had copied it from elsewhere. A first prompt that is an argument is not wrapped, whatever its length
//! (exact up to 108,000 bytes with 6,000 lines; behind `--` it may begin with a dash; measured on 2.1.331). A
//! prompt that contains a paste cannot be repeated: in an argument Claude escapes the tags of
//! `<pasted_content>` (measured). Pictures are not in the text at all.

use serde::{Deserialize, Serialize};

use super::pasted_prompt::SentPrompt;
use crate::core::text::squeeze::squeeze;

/// The longest prompt that is typed, in characters and in lines. Claude wraps a longer one.
const TYPED: (usize, usize) = (800, 3);
/// The longest prompt that is an argument, in bytes. Linux refuses 131,072.
const ARGUMENT: usize = 100_000;
/// Claude's placeholders for what is not text of the prompt.
const NOT_TEXT: [&str; 3] = ["pasted_content", "[Image #", "[Pasted text #"];

/// How a prompt is given to a fresh conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarryMethod {
    /// Typed as a paste.
    Typed,
    /// As an argument of Claude.
    Argument,
}

/// How `prompt`, as a UserPromptSubmit hook reports it, is given to a fresh conversation. `None` if the copy
/// would not be exact, and for slash commands, which belong to their conversation.
pub fn carry_method(prompt: &str) -> Option<CarryMethod> {
    if prompt.trim().is_empty() || NOT_TEXT.iter().any(|mark| prompt.contains(mark)) || is_command(prompt) {
        return None;
    }
    if prompt.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return None;
    }
    let short = prompt.chars().count() <= TYPED.0 && prompt.lines().count() <= TYPED.1;
    // When typed, the first character may switch the box's mode, and a tab or a file's name opens a list.
    let plain = !prompt.starts_with(['#', '!', '/', '?', '&']) && !prompt.contains('\t');
    let stays = SentPrompt::new(prompt).is_ok_and(|sent| sent.text() == prompt.trim_end());
    match prompt.len() {
        _ if short && plain && stays => Some(CarryMethod::Typed),
        ..=ARGUMENT => Some(CarryMethod::Argument),
        _ => None,
    }
}

fn is_command(prompt: &str) -> bool {
    let word = prompt.split_whitespace().next().unwrap_or_default();
    prompt.trim_start().starts_with('/') && !word[1..].contains('/')
}

/// A prompt on its way into a fresh conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedPrompt {
    text: String,
    squeezed: String,
}

impl CarriedPrompt {
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), squeezed: squeeze(text) }
    }

    /// The text as it was submitted.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether `prompt` is this one. White space is ignored, because Claude trims it.
    pub fn is(&self, prompt: &str) -> bool {
        squeeze(prompt) == self.squeezed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_prompt_is_typed_and_a_longer_one_is_an_argument() {
        let lines = |n: usize| vec!["line"; n].join("\n");
        for (prompt, expected) in [
            ("B".to_owned(), Some(CarryMethod::Typed)),
            ("one\ntwo\nthree".to_owned(), Some(CarryMethod::Typed)),
            (lines(4), Some(CarryMethod::Argument)),
            ("x".repeat(800), Some(CarryMethod::Typed)),
            ("x".repeat(801), Some(CarryMethod::Argument)),
            ("ü".repeat(800), Some(CarryMethod::Typed)),
            ("x".repeat(ARGUMENT), Some(CarryMethod::Argument)),
            ("x".repeat(ARGUMENT + 1), None),
            ("# a heading".to_owned(), Some(CarryMethod::Argument)),
            ("/etc/hosts is a file".to_owned(), Some(CarryMethod::Argument)),
            ("look at @src/main.rs".to_owned(), Some(CarryMethod::Argument)),
            ("@src/main.rs is broken".to_owned(), Some(CarryMethod::Typed)),
            ("ends with \\".to_owned(), Some(CarryMethod::Argument)),
            ("a\ttab".to_owned(), Some(CarryMethod::Argument)),
            ("- a list".to_owned(), Some(CarryMethod::Typed)),
        ] {
            assert_eq!(carry_method(&prompt), expected, "{:?}", prompt.chars().take(30).collect::<String>());
        }
    }

    #[test]
    fn a_prompt_that_cannot_be_repeated_exactly_stays_in_the_old_conversation() {
        for prompt in [
            "",
            " \n",
            "/clear",
            "/review the last commit",
            " /compact",
            "look [Image #1]",
            "see [Pasted text #1 +11 lines]",
            "\n\n<pasted_content id=\"58a0\">\nx\n</pasted_content id=\"58a0\">\n",
            "an \u{1b}[31m escape",
            "a\rreturn",
        ] {
            assert_eq!(carry_method(prompt), None, "{prompt:?}");
        }
    }

    #[test]
    fn a_carried_prompt_is_recognized() {
        let carried = CarriedPrompt::new("  make it\n green ");
        assert!(
            carried.is("make it\n green") && !carried.is("make it") && carried.text() == "  make it\n green "
        );
    }
}
