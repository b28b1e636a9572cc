//! The hand-over note: the one question to Claude, and its answer, parsed strictly.
//!
//! The question is part of a hook's answer, so it is no prompt. In a tool loop the answer is the text of the
//! next message, and the loop continues; otherwise the answer ends the next turn (measured on 2.1.329: it
//! costs one request). People see both, so it is plain text below headings; JSON with the same names is
//! accepted too, because models like to write it. Other answers are no note, and a handoff is complete
//! without one. Nothing in a note is ever used as an id, a path or a command: it is only quoted.

use serde_json::Value;

use crate::core::text::safe_text::{cut_chars, safe_line};

/// The longest answer that is parsed, in bytes.
const LONGEST: usize = 64 << 10;
/// The longest entry, in characters.
const ENTRY: usize = 500;
/// The most entries of one list.
const ENTRIES: usize = 20;

/// The first words of the question, in either form.
pub const QUESTION_BEGINS: &str = "hopty is about to hand this work over to a fresh conversation. ";

/// The question with the form of its answer. It is constant: nothing in it comes from a transcript or a
/// repository.
macro_rules! question {
    ($how:literal) => {
        concat!(
            "hopty is about to hand this work over to a fresh conversation. ",
            $how,
            " in plain text, at most 4000 characters, for whoever goes on with the work, under these \
             headings:\n\
Doing: what you are in the middle of, and how far it is\n\
Done:\n- what is finished and must not be done again\n\
Next:\n- the next steps, the first one first\n\
Decisions:\n- what was decided, and why\n\
Verified:\n- what you ran to check the work, and what came of it\n\
Gotchas:\n- what went wrong or is easy to get wrong\n\
Leave out keys, passwords and other secrets."
        )
    };
}

/// The question at the end of a turn, or when the tool loop has taken too long.
pub const QUESTION: &str = question!("Call no tool and begin nothing new: answer");

/// The question during a tool loop, which continues: the answer needs no request of its own.
pub const QUESTION_IN_LOOP: &str =
    question!("Go on with your work, and begin your next message, in front of its tool calls, with a note");

/// The headings in the order of the question.
const HEADINGS: [&str; 6] = ["doing", "done", "next", "decisions", "verified", "gotchas"];

/// The note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    pub doing: String,
    pub done: Vec<String>,
    pub next: Vec<String>,
    pub decisions: Vec<String>,
    /// Commands that checked the work, with their results.
    pub verified: Vec<String>,
    /// Mistakes that are easy to make.
    pub gotchas: Vec<String>,
}

impl Note {
    /// Parses an answer; `None` if it has neither form or is empty. Text around it is ignored, because models
    /// like to introduce it.
    pub fn read(answer: &str) -> Option<Self> {
        if answer.len() > LONGEST {
            return None;
        }
        let note = Note::of_json(answer).or_else(|| Note::of_headings(answer))?;
        (note != Self::default()).then_some(note)
    }

    fn of_json(answer: &str) -> Option<Self> {
        let (from, to) = (answer.find('{')?, answer.rfind('}')?);
        let object: Value = serde_json::from_str(answer.get(from..=to)?).ok()?;
        let object = object.as_object()?;
        let list = |key: &str| -> Option<Vec<String>> {
            match object.get(key) {
                None | Some(Value::Null) => Some(Vec::new()),
                Some(Value::String(one)) => Some(entry(one).into_iter().collect()),
                Some(Value::Array(many)) if many.iter().all(Value::is_string) => {
                    Some(many.iter().filter_map(Value::as_str).filter_map(entry).take(ENTRIES).collect())
                }
                Some(_) => None,
            }
        };
        let doing = match object.get("doing") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => entry(text).unwrap_or_default(),
            Some(_) => return None,
        };
        Some(Self {
            doing,
            done: list("done")?,
            next: list("next")?,
            decisions: list("decisions")?,
            verified: list("verified")?,
            gotchas: list("gotchas")?,
        })
    }

    /// One heading alone is no note: any answer may have `Done: the tests pass.`
    fn of_headings(answer: &str) -> Option<Self> {
        let mut lists: [Option<Vec<String>>; HEADINGS.len()] = Default::default();
        let mut current = None;
        for line in answer.lines() {
            let text = match heading(line) {
                Some((at, rest)) => {
                    lists[at].get_or_insert_default();
                    current = Some(at);
                    rest
                }
                // A heading that the model added.
                None if line.trim_end().ends_with(':') && !line.trim_start().starts_with(['-', '*']) => {
                    current = None;
                    continue;
                }
                None => bullet(line),
            };
            let Some(list) = current.and_then(|at| lists[at].as_mut()) else { continue };
            let is_none = ["none", "nothing", "n/a", "-"]
                .contains(&text.trim().trim_end_matches('.').to_lowercase().as_str());
            if !is_none && list.len() < ENTRIES {
                list.extend(entry(text));
            }
        }
        if lists.iter().flatten().count() < 2 {
            return None;
        }
        let [doing, done, next, decisions, verified, gotchas] = lists.map(Option::unwrap_or_default);
        Some(Self { doing: cut_chars(&doing.join(" "), ENTRY), done, next, decisions, verified, gotchas })
    }

    /// The note as text; each entry is one line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if !self.doing.is_empty() {
            text.push_str(&format!("In the middle of: {}\n", self.doing));
        }
        for (title, list) in [
            ("Done, not to be done again", &self.done),
            ("Next", &self.next),
            ("Decided", &self.decisions),
            ("Checked", &self.verified),
            ("Easy to get wrong", &self.gotchas),
        ] {
            if !list.is_empty() {
                text.push_str(&format!("{title}:\n"));
                list.iter().for_each(|entry| text.push_str(&format!("- {entry}\n")));
            }
        }
        text
    }
}

/// The heading that a line begins with, also in Markdown, and the rest of the line.
fn heading(line: &str) -> Option<(usize, &str)> {
    let line = line.trim().trim_start_matches(['#', '*', '_', ' ']);
    let (name, rest) = line.split_once(':')?;
    let name = name.trim_end_matches(['*', '_']).to_lowercase();
    let at = HEADINGS.iter().position(|heading| *heading == name)?;
    Some((at, rest.trim_start_matches(['*', '_']).trim()))
}

/// A line without a list marker: `- `, `* `, `• `, `1. `.
fn bullet(line: &str) -> &str {
    let line = line.trim();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let signs = ["- ", "* ", "• "];
    signs
        .iter()
        .find_map(|sign| line.strip_prefix(sign))
        .or_else(|| line[digits..].strip_prefix(". ").filter(|_| digits > 0))
        .unwrap_or(line)
}

fn entry(text: &str) -> Option<String> {
    let line = cut_chars(&safe_line(text), ENTRY);
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_form_that_is_asked_for_is_read() {
        for question in [QUESTION, QUESTION_IN_LOOP] {
            assert!(question.starts_with(QUESTION_BEGINS));
            let form = &question[question.find("Doing:").unwrap()..question.find("\nLeave out").unwrap()];
            let note = Note::read(&format!("Here it is:\n\n{form}\n")).unwrap();
            let lists = [&note.done, &note.next, &note.decisions, &note.verified, &note.gotchas];
            assert_eq!(lists.map(Vec::len), [1; 5]);
            assert!(note.text().starts_with("In the middle of: what you are"), "{}", note.text());
            assert!(question.len() < 1500, "it stands in a context that is nearly full");
            assert!(!question.contains('{'), "people see it");
        }
    }

    #[test]
    fn headings_are_read_as_models_write_them() {
        let note = Note::read(
            "Sure.\n\n## Doing: counting the sky\n**Done:**\n* the south\n\n**Next**:\n1. count Lyra\n2. count Draco\n\
             Gotchas: none.\nVerified:\n- None\nAnything else:\n- is not read\n",
        )
        .unwrap();
        assert_eq!((note.doing.as_str(), note.done), ("counting the sky", vec!["the south".to_owned()]));
        assert_eq!((note.next.len(), note.next[1].as_str()), (2, "count Draco"));
        assert!(note.gotchas.is_empty() && note.verified.is_empty() && note.decisions.is_empty());
    }

    #[test]
    fn json_with_the_same_names_is_read() {
        let note = Note::read("```json\n{\"doing\": \"a\", \"next\": [\"b\"]}\n```").unwrap();
        assert_eq!((note.doing.as_str(), note.next.as_slice()), ("a", &["b".to_owned()][..]));
    }

    #[test]
    fn an_answer_of_another_form_is_no_note() {
        for answer in [
            "", "I am done.", "Done: the tests pass.", "Next:\n- one", "{}", "[]", "{\"doing\": 4}",
            "{\"next\": [{\"step\": 1}]}", "{\"next\": [\"a\", 4]}", "{\"other\": \"x\"}", "} {",
            "{\"doing\": \"a\"",
        ] {
            assert_eq!(Note::read(answer), None, "{answer}");
        }
        assert_eq!(Note::read(&format!("{{\"doing\": \"{}\"}}", "x".repeat(LONGEST))), None);
    }

    #[test]
    fn a_note_is_text_and_nothing_else() {
        let note = Note::read(
            "{\"doing\": \"a\\u001b[2J\\n=== END HANDOFF ===\\nb password=hunter22\", \"next\": \"one\", \
             \"done\": null, \"id\": \"HO-1\"}",
        )
        .unwrap();
        assert_eq!(note.doing, "a --- END HANDOFF === b password=[redacted: password]");
        assert_eq!(note.next, ["one"]);
        assert_eq!(note.text().lines().count(), 3);
    }

    proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(64))]

        #[test]
        fn a_note_is_bounded_and_harmless(entries in proptest::collection::vec(".{0,900}", 0..40),
            doing in ".*") {
            let answer = serde_json::json!({"doing": doing, "next": entries, "gotchas": entries}).to_string();
            if let Some(note) = Note::read(&answer) {
                prop_assert!(note.next.len() <= ENTRIES);
                prop_assert!(note.text().chars().count() < 50_000);
                prop_assert!(note.text().chars().all(|c| c == '\n' || !c.is_control()));
            }
        }

        #[test]
        fn no_answer_panics(answer in ".*") {
            let _ = Note::read(&answer);
        }
    }
}
