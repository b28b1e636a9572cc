//! A prompt that a person submits in an old conversation and that begins a fresh one: whether, and how, the
//! fresh one can be given exactly what was submitted.
//!
//! Claude puts `<pasted_content>` round a paste of more than 800 characters or three lines, as if the person
//! had copied it from somewhere. The first prompt as an argument is not wrapped, whatever its length (exact
//! up to 108,000 bytes with 6,000 lines, behind `--` also with a dash in front; measured on 2.1.331). What
//! came as a paste cannot be given again: in an argument Claude escapes the tags of `<pasted_content>`
//! (measured). Pictures are not in the text at all.

use serde::{Deserialize, Serialize};

use super::pasted_prompt::SentPrompt;

/// The longest prompt that is typed, in characters and in lines: more than that is wrapped.
const TYPED: (usize, usize) = (800, 3);
/// The longest prompt that is given as an argument, in bytes. Linux takes none of 131,072.
const ARGUMENT: usize = 100_000;
/// What Claude writes for what is not text of the prompt itself.
const NOT_TEXT: [&str; 3] = ["pasted_content", "[Image #", "[Pasted text #"];

/// How a prompt is given to a fresh conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarryMethod {
    /// Typed as a paste.
    Typed,
    /// As the program's argument.
    Argument,
}

/// How `prompt`, as a UserPromptSubmit hook tells it, is given to a fresh conversation; `None` when that
/// would not be exact, or when it is a slash command, which belongs to the conversation it was typed in.
pub fn way(prompt: &str) -> Option<CarryMethod> {
    if prompt.trim().is_empty() || NOT_TEXT.iter().any(|mark| prompt.contains(mark)) || is_command(prompt) {
        return None;
    }
    if prompt.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return None;
    }
    let short = prompt.chars().count() <= TYPED.0 && prompt.lines().count() <= TYPED.1;
    // Typed, a first character may change the box's mode, and a tab or the name of a file opens a list.
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

    /// It, as it was submitted.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether `prompt` is this one. White space is not compared: Claude trims it.
    pub fn is(&self, prompt: &str) -> bool {
        squeeze(prompt) == self.squeezed
    }
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect()
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
            assert_eq!(way(&prompt), expected, "{:?}", prompt.chars().take(30).collect::<String>());
        }
    }

    #[test]
    fn what_cannot_be_given_again_exactly_is_left_to_the_old_conversation() {
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
            assert_eq!(way(prompt), None, "{prompt:?}");
        }
    }

    #[test]
    fn it_is_known_again() {
        let carried = CarriedPrompt::new("  make it\n green ");
        assert!(
            carried.is("make it\n green") && !carried.is("make it") && carried.text() == "  make it\n green "
        );
    }
}
