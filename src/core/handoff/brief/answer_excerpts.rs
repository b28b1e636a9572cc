//! What an answer of Claude's says that no other one says: its sentences with the most rare words. A
//! long answer begins with "Done." and ends with an offer; what it found out is in the middle.

use std::collections::{HashMap, HashSet};

use unicode_width::UnicodeWidthChar;

use crate::core::handoff::current_request::{asks, is_option};
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
    /// How much of it is about what the person said to it.
    replied: usize,
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
    /// half as good as the best. Before them come the options and the sentences that `said` names.
    pub fn excerpt(&self, answer: &str, said: &str, cap: usize) -> String {
        let flat = answer.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut best = self.ranked(answer);
        if flat.chars().nth(cap).is_none() || best.is_empty() {
            return shorten(&flat, cap);
        }
        let named = Named::of(said);
        best.iter_mut().for_each(|part| part.replied = named.in_part(part.text));
        let most = best.iter().map(|part| part.rare_words).max().unwrap_or(0);
        best.sort_by_key(|part| std::cmp::Reverse((part.replied, part.rare_words)));
        let enough = if cap > SHORT { 0 } else { most.div_ceil(2) };
        let mut room = cap;
        let mut chosen: Vec<AnswerPart<'_>> = Vec::new();
        for part in best {
            let length = part.text.chars().count() + GAP.len();
            let is_good = part.replied > 0 || part.rare_words >= enough;
            if chosen.is_empty() || is_good && length <= room {
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
        let ranked =
            |(place, text)| AnswerPart { place, text, rare_words: self.rare_words(text), replied: 0 };
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

/// What a reply names: marks of options ("B", "7"), and the beginnings of its words.
struct Named {
    marks: Vec<String>,
    stems: HashSet<String>,
}

impl Named {
    fn of(said: &str) -> Self {
        let said = cut_bytes(said, SEARCHED);
        let runs = said.split(|c: char| !c.is_alphanumeric());
        let is_letter = |run: &str| run.len() == 1 && ("A"..="H").contains(&run);
        let is_number = |run: &str| (1..=2).contains(&run.len()) && run.bytes().all(|b| b.is_ascii_digit());
        let marks = runs.filter(|run| is_letter(run) || is_number(run)).map(str::to_lowercase).collect();
        Self { marks, stems: stems(said) }
    }

    fn in_part(&self, part: &str) -> usize {
        /// An option counts more than words.
        const OPTION: usize = 4;
        let start = part.trim_start_matches(['-', '*', '(', ' ']);
        let mark = start.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
        let is_named = is_option(part) && self.marks.contains(&mark);
        (if is_named { OPTION } else { 0 }) + stems(part).intersection(&self.stems).count()
    }
}

/// The beginnings of the longer words of a text, and its numbers.
fn stems(text: &str) -> HashSet<String> {
    let is_long = |word: &String| word.chars().count() >= 4 || word.contains(|c: char| c.is_numeric());
    words(text).into_iter().filter(is_long).map(|word| word.chars().take(5).collect()).collect()
}

/// Which of exchanges (a prompt and its answer) a newer prompt returns to, if it is clear: its words count
/// less the more exchanges have them.
pub(super) fn returns_to(prompt: &str, exchanges: &[String]) -> Option<usize> {
    let asked = stems(cut_bytes(prompt, SEARCHED));
    let all: Vec<HashSet<String>> = exchanges.iter().map(|text| stems(cut_bytes(text, SEARCHED))).collect();
    let weight = |word: &String| 1000 / all.iter().filter(|words| words.contains(word)).count().max(1);
    let score = |words: &HashSet<String>| words.intersection(&asked).map(weight).sum::<usize>();
    let best = (0..all.len()).rev().max_by_key(|at| score(&all[*at]))?;
    (score(&all[best]) >= 1000).then_some(best)
}

/// The sentences of an answer, without headings and code.
fn parts(answer: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut is_code = false;
    for line in answer.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with('#') {
            let mut from = None;
            for sentence in sentences(line) {
                let at = sentence.as_ptr().addr() - line.as_ptr().addr();
                let begin = *from.get_or_insert(at);
                // The mark of an option ("7.") is no sentence.
                if sentence.chars().filter(|c| c.is_alphanumeric()).count() > 2 {
                    parts.push(&line[begin..at + sentence.len()]);
                    from = None;
                }
            }
            parts.extend(from.map(|begin| &line[begin..]));
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
        let told = of(&answer).excerpt(&answer, "", 120);
        assert_eq!(told, format!("- {found}"));
        assert!(of(&answer).most_rare_words(&answer) > of(&answer).most_rare_words(OTHER));
        let more = of(&answer).excerpt(&answer, "", 400);
        assert!(
            more.starts_with("Done. The list") && more.contains("Result") && more.contains(found),
            "{more}"
        );
    }

    #[test]
    fn headings_code_and_an_offer_are_not_told() {
        let answer = "## Pier quay berth\n\n```\nlet harbour = 1;\n```\n\nThe list keeps its old value.\n\nDo you \
                      want lighthouses too?";
        assert_eq!(of(answer).excerpt(answer, "", 60), "The list keeps its old value.");
        assert_eq!(of("Port 80?").excerpt("Port 80?", "", 60), "Port 80?");
    }

    #[test]
    fn what_is_left_out_between_two_sentences_is_marked() {
        let answer = "Pier seven is closed. Both use the same helper now. Berth nine opens on Monday.";
        assert_eq!(
            of(answer).excerpt(answer, "", 70),
            "Pier seven is closed. [...] Berth nine opens on Monday."
        );
    }

    #[test]
    fn what_the_reply_names_comes_first() {
        let answer = "1. Show the rules. 2. Offer a link to sign in.\n- 7. Say that the mail is registered.\n- 8. Ask \
                      lighthouse keepers twice.";
        assert_eq!(of(answer).excerpt(answer, "1 and 7", 60), "- 7. Say that the mail is registered.");
        let exchanges =
            ["the mails\nrp.example.org".to_owned(), "the mails\nThe columns are wide.".to_owned()];
        assert_eq!(returns_to("what about the columns", &exchanges), Some(1));
        assert_eq!(returns_to("what about the mails", &exchanges), None);
    }

    #[test]
    fn a_script_without_blanks_has_words() {
        let answer = "\u{5b8c}\u{6210}\u{3002}\u{5217}\u{8868}\u{4fdd}\u{7559}\u{65e7}\u{503c}\u{3002}";
        assert!(of(answer).most_rare_words(answer) >= 3);
    }
}
