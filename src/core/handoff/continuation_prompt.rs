//! The continuation prompt, and how hopty recognizes it.
//!
//! It is a fixed template with ids filled in: hopty never types text from a transcript, a tool or a
//! repository.

use std::borrow::Cow;

use crate::core::claude::prompts::{PASTE_OPENS, rewrite_pastes};
use crate::core::ids::HandoffId;

const FIRST: &str = "Continue from handoff ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation {
    text: String,
}

impl Continuation {
    /// The prompt if the SessionStart hook adds the brief to the context.
    #[must_use]
    pub fn with_brief(id: &HandoffId) -> Self {
        Self {
            text: format!(
                "{FIRST}{id}.\nIts record is already in your context between \"HANDOFF LOADED\" and \"END \
                 HANDOFF\". Begin with \"Continuing from handoff {id}.\" and go on with the next step."
            ),
        }
    }

    /// The prompt without hooks: Claude itself reads the record at `record` (an absolute path).
    #[must_use]
    pub fn without_hooks(id: &HandoffId, record: &str) -> Self {
        let record: String = record.chars().filter(|c| !c.is_control()).collect();
        Self {
            text: format!(
                "{FIRST}{id}.\nRead {record} first. Then begin with \"Continuing from handoff {id}.\" and go \
                 on with the next step."
            ),
        }
    }

    /// The text to type: two lines, with no control character but the newline.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether `prompt`, as Claude reports it, is this text, wrapped or not.
    pub fn is(&self, prompt: &str) -> bool {
        unwrap_pasted(prompt).trim() == self.text.trim()
    }
}

/// Whether `prompt`, as Claude reports it, is the continuation prompt of the handoff `id` in either form.
pub fn is_ours(prompt: &str, id: &HandoffId) -> bool {
    handoff_of(prompt).as_ref() == Some(id)
}

/// The handoff of a prompt that is a complete continuation prompt.
pub fn handoff_of(prompt: &str) -> Option<HandoffId> {
    let prompt = unwrap_pasted(prompt);
    let prompt = prompt.trim();
    let id: HandoffId = prompt.strip_prefix(FIRST)?.split_once(".\n")?.0.parse().ok()?;
    let record = || {
        let tail = format!(
            " first. Then begin with \"Continuing from handoff {id}.\" and go on with the next step."
        );
        let read = prompt.split_once(".\nRead ")?.1.strip_suffix(tail.as_str())?;
        Some(Continuation::without_hooks(&id, read))
    };
    let ours = Continuation::with_brief(&id).is(prompt) || record().is_some_and(|made| made.is(prompt));
    ours.then_some(id)
}

/// Whether a text quotes a brief: Claude did not find that out itself.
pub fn quotes_brief(text: &str) -> bool {
    text.contains("=== HANDOFF LOADED (ID: ")
}

/// An answer without the sentence that Claude begins with after a hand-over.
pub fn without_opening(answer: &str) -> &str {
    let opening = answer.strip_prefix("Continuing from handoff ").and_then(|rest| rest.split_once('.'));
    match opening {
        Some((id, rest)) if id.parse::<HandoffId>().is_ok() => rest.trim_start(),
        _ => answer,
    }
}

/// Replaces the tags around pasted text by that text. Text outside of the tags stays where it is.
pub fn unwrap_pasted(prompt: &str) -> Cow<'_, str> {
    if !prompt.contains(PASTE_OPENS) {
        return Cow::Borrowed(prompt);
    }
    Cow::Owned(rewrite_pastes(
        prompt,
        |text| text.strip_prefix('\n').unwrap_or(text),
        |out, before, inside| {
            out.push_str(before.strip_suffix("\n\n").unwrap_or(before));
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(inside);
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> HandoffId {
        "HO-20261120-142950-c74cc080".parse().unwrap()
    }

    #[test]
    fn the_texts_are_those_of_the_contract() {
        assert_eq!(
            Continuation::with_brief(&id()).text(),
            "Continue from handoff HO-20261120-142950-c74cc080.\nIts record is already in your context \
             between \
             \"HANDOFF LOADED\" and \"END HANDOFF\". Begin with \"Continuing from handoff \
             HO-20261120-142950-c74cc080.\" \
             and go on with the next step."
        );
        let read = Continuation::without_hooks(&id(), "/c/handoff.md\u{1b}\r");
        assert!(read.text().ends_with(
            "\nRead /c/handoff.md first. Then begin with \"Continuing from handoff \
             HO-20261120-142950-c74cc080.\" and \
             go on with the next step."
        ));
    }

    #[test]
    fn only_the_exact_text_is_ours() {
        let with_brief = Continuation::with_brief(&id());
        let read = Continuation::without_hooks(&id(), "/c/handoff.md");
        for made in [&with_brief, &read] {
            let text = made.text();
            assert!(made.is(text) && is_ours(text, &id()));
            let wrapped =
                format!("\n\n<pasted_content id=\"58a0\">\n{text}\n</pasted_content id=\"58a0\">\n");
            assert!(made.is(&wrapped) && is_ours(&wrapped, &id()));
            for other in [
                format!("{text} and more"),
                format!("x{text}"),
                text.replace("step", "stop"),
                text[..30].into(),
            ] {
                assert!(!made.is(&other) && !is_ours(&other, &id()), "{other:?}");
            }
        }
        assert!(!is_ours(with_brief.text(), &"HO-20261120-142951-c74cc080".parse().unwrap()));
        let mixed = with_brief.text().replacen("c74cc080", "c74cc081", 1);
        assert_eq!(handoff_of(&mixed), None);
    }

    #[test]
    fn pastes_are_unwrapped_in_place() {
        let p = |id: &str, text: &str| {
            format!("\n\n<pasted_content id=\"{id}\">\n{text}\n</pasted_content id=\"{id}\">\n")
        };
        assert_eq!(unwrap_pasted(&p("58a0", "a\nb")), "a\nb");
        assert_eq!(unwrap_pasted(&format!("look: {}now", p("1", "x"))), "look: \nx\nnow");
        assert_eq!(unwrap_pasted(&format!("{}{}", p("1", "x"), p("2", "y"))), "x\ny");
        for odd in [
            "<pasted_content id=\"",
            "<pasted_content id=\"1\">\nx",
            "<pasted_content id=\"1\">\nx\n</pasted_content id=\"2\">",
        ] {
            assert_eq!(unwrap_pasted(odd), odd);
        }
    }
}
