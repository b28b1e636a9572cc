//! What an answer of Claude's says that no other one says: its sentences with the most rare words. A
//! long answer begins with "Done." and ends with an offer; what it found out is in the middle.

use std::collections::{HashMap, HashSet};

use unicode_width::UnicodeWidthChar;

use crate::core::handoff::current_request::asks;
use crate::core::handoff::prompt_sentences::sentences;
use crate::core::handoff::safe_prompts::shorten;
use crate::core::text::safe_text::cut_bytes;

/// How much of a text is looked at, in bytes.
const SEARCHED: usize = 16 << 10;
/// An excerpt of so few characters has only good sentences.
const SHORT: usize = 300;
/// What stands for sentences that are left out.
const GAP: &str = " [...] ";

/// How many answers have each word.
#[derive(Default)]
pub(super) struct AnswerWords(HashMap<String, usize>);

/// A sentence of an answer.
struct AnswerPart<'a> {
    place: usize,
    text: &'a str,
    /// How many of its words are in no other answer.
    rare_words: usize,
}

impl AnswerWords {
    pub fn of<'a>(answers: impl Iterator<Item = &'a str>) -> Self {
        let mut answers_with = HashMap::new();
        for answer in answers {
            for word in words(cut_bytes(answer, SEARCHED)) {
                *answers_with.entry(word).or_default() += 1;
            }
        }
        Self(answers_with)
    }

    /// At most `cap` characters of an answer. Of a longer one these are its sentences with the most
    /// words that no other answer has, in their order; of few characters only those that are at least
    /// half as good as the best.
    pub fn excerpt(&self, answer: &str, cap: usize) -> String {
        let flat = answer.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut best = self.ranked(answer);
        if flat.chars().nth(cap).is_none() || best.is_empty() {
            return shorten(&flat, cap);
        }
        best.sort_by_key(|part| std::cmp::Reverse(part.rare_words));
        let enough = if cap > SHORT { 0 } else { best[0].rare_words.div_ceil(2) };
        let mut room = cap;
        let mut chosen: Vec<AnswerPart<'_>> = Vec::new();
        for part in best {
            let length = part.text.chars().count() + GAP.len();
            if chosen.is_empty() || part.rare_words >= enough && length <= room {
                room = room.saturating_sub(length);
                chosen.push(part);
            }
        }
        chosen.sort_by_key(|part| part.place);
        let mut text = String::new();
        let mut next = chosen[0].place;
        for part in chosen {
            if !text.is_empty() {
                text.push_str(if part.place == next { " " } else { GAP });
            }
            text.push_str(part.text);
            next = part.place + 1;
        }
        shorten(&text, cap)
    }

    /// How many words of the best sentence of a text are in no other answer.
    pub fn most_rare_words(&self, text: &str) -> usize {
        self.ranked(text).iter().map(|part| part.rare_words).max().unwrap_or(0)
    }

    /// The sentences of an answer. An offer at its end says nothing.
    fn ranked<'a>(&self, answer: &'a str) -> Vec<AnswerPart<'a>> {
        let ranked = |(place, text)| AnswerPart { place, text, rare_words: self.rare_words(text) };
        let mut all: Vec<_> =
            parts(cut_bytes(answer, SEARCHED)).into_iter().enumerate().map(ranked).collect();
        if let Some(last) = all.last_mut().filter(|last| last.place > 0 && asks(last.text)) {
            last.rare_words = 0;
        }
        all
    }

    /// How many words of a sentence are in no other answer; those of a bold run of several words count twice.
    /// Names in back-ticks do not count, because every answer has its own.
    fn rare_words(&self, sentence: &str) -> usize {
        let plain = sentence.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let bold = plain.split("**").skip(1).step_by(2).filter(|run| run.contains(' '));
        let is_rare = |word: &&String| self.0.get(*word).is_none_or(|answers| *answers <= 1);
        let count = |text: &str| words(text).iter().filter(is_rare).count();
        count(&plain) + bold.map(count).sum::<usize>()
    }
}

/// The sentences of an answer, without headings and code.
fn parts(answer: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut is_code = false;
    for line in answer.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with('#') {
            parts.extend(sentences(line));
        }
    }
    parts
}

/// The words of a text, in lower case: of a script without blanks each two characters that follow each other.
fn words(text: &str) -> HashSet<String> {
    let text = text.to_lowercase();
    let mut words = HashSet::new();
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|run| run.chars().nth(1).is_some()) {
        if run.contains(|c: char| c.width() == Some(2)) {
            let all: Vec<char> = run.chars().collect();
            words.extend(all.chunks(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            words.insert(run.to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: &str = "Done. The list keeps its old value.\n\n## Result\n\n- both use the same helper now\n- the \
                         callers did not have to change\n\nShall I do the same for the login page?";

    fn of(answer: &str) -> AnswerWords {
        AnswerWords::of([OTHER, OTHER, answer].into_iter())
    }

    #[test]
    fn what_no_other_answer_says_is_told() {
        let found = "**Node n4 must not be rebooted** until the firmware is there.";
        let answer = OTHER.replace("- the callers", &format!("- {found}\n- the callers"));
        let told = of(&answer).excerpt(&answer, 120);
        assert_eq!(told, format!("- {found}"));
        assert!(of(&answer).most_rare_words(&answer) > of(&answer).most_rare_words(OTHER));
        let more = of(&answer).excerpt(&answer, 400);
        assert!(
            more.starts_with("Done. The list") && more.contains("Result") && more.contains(found),
            "{more}"
        );
    }

    #[test]
    fn headings_code_and_an_offer_are_not_told() {
        let answer = "## Pier quay berth\n\n```\nlet harbour = 1;\n```\n\nThe list keeps its old value.\n\nDo you \
                      want lighthouses too?";
        assert_eq!(of(answer).excerpt(answer, 60), "The list keeps its old value.");
        assert_eq!(of("Port 80?").excerpt("Port 80?", 60), "Port 80?");
    }

    #[test]
    fn what_is_left_out_between_two_sentences_is_marked() {
        let answer = "Pier seven is closed. Both use the same helper now. Berth nine opens on Monday.";
        assert_eq!(of(answer).excerpt(answer, 70), "Pier seven is closed. [...] Berth nine opens on Monday.");
    }

    #[test]
    fn a_script_without_blanks_has_words() {
        let answer = "\u{5b8c}\u{6210}\u{3002}\u{5217}\u{8868}\u{4fdd}\u{7559}\u{65e7}\u{503c}\u{3002}";
        assert!(of(answer).most_rare_words(answer) >= 3);
    }
}
