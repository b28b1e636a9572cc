//! What newer texts of a conversation refer to in older ones: a name, a number or a file that few others
//! have. A rule must not be quoted without the text that revoked it.

use std::collections::{HashMap, HashSet};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::core::claude::prompts::PromptKind;
use crate::core::claude::transcript_facts::EarlierAnswer;
use crate::core::handoff::current_request::{NAMELESS_COLUMNS, asks, may_choose};
use crate::core::handoff::pasted_text::own_words;
use crate::core::handoff::safe_prompts::{PersonPrompt, Words};
use crate::core::text::safe_text::cut_bytes;

/// The most texts that may share a word, without and with a digit: a more frequent word does not show what a
/// text is about.
const FEW: [usize; 2] = [2, 4];
/// A word without a digit must also be in at most one of this many texts: in a short conversation every word
/// is rare.
const ONE_IN: usize = 16;
/// The fewest characters of a word, without and with a digit.
const SHORTEST: [usize; 2] = [4, 3];
/// The most of a text that is searched, in bytes.
const SEARCHED: usize = 16 << 10;

/// The rare words that a text has in common with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SharedWords {
    /// Older texts have them.
    pub of_older: Vec<String>,
    /// Newer texts have them.
    pub of_newer: Vec<String>,
}

/// The rare words that prompts and answers have in common.
pub(super) struct SharedWordTable {
    /// Of each prompt, in the order of [`Words::prompts`].
    prompts: Vec<SharedWords>,
    /// Of each answer, in the order in which they were given.
    answers: Vec<SharedWords>,
}

/// Where a text is.
#[derive(Clone, Copy)]
enum Place {
    Prompt(usize),
    /// The answer, and the prompt that it answers.
    Answer(usize, Option<usize>),
}

impl SharedWordTable {
    /// Of the prompts and of answers, both with the newest first.
    pub fn of(words: &Words, answers: &[&EarlierAnswer]) -> Self {
        let places = by_time(&words.prompts, answers);
        let mut texts_with: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, place) in places.iter().enumerate() {
            let found = match *place {
                Place::Prompt(at) => words_of_prompt(&words.prompts[at]),
                Place::Answer(at, _) => names(&answers[at].text),
            };
            for word in found {
                let texts = texts_with.entry(word).or_default();
                if texts.len() <= FEW[1] {
                    texts.push(at);
                }
            }
        }
        let mut shared = Self {
            prompts: vec![SharedWords::default(); words.prompts.len()],
            answers: vec![SharedWords::default(); answers.len()],
        };
        for (word, texts) in texts_with {
            let is_number = has_digit(&word);
            if texts.len() > FEW[usize::from(is_number)] || !is_number && texts.len() * ONE_IN > places.len()
            {
                continue;
            }
            for (newer, older) in
                (0..texts.len()).flat_map(|at| (at + 1..texts.len()).map(move |to| (at, to)))
            {
                let (newer, older) = (places[texts[newer]], places[texts[older]]);
                // An answer is always about its own prompt.
                if !matches!((newer, older), (Place::Answer(_, Some(own)), Place::Prompt(at)) if own == at) {
                    push(&mut shared.place(newer).of_older, &word);
                    push(&mut shared.place(older).of_newer, &word);
                }
            }
        }
        shared
    }

    fn place(&mut self, place: Place) -> &mut SharedWords {
        match place {
            Place::Prompt(at) => &mut self.prompts[at],
            Place::Answer(at, _) => &mut self.answers[at],
        }
    }

    /// The words that the prompt at this position shares with others.
    pub fn prompt(&self, at: usize) -> &SharedWords {
        &self.prompts[at]
    }

    /// Whether the answer at this position refers to something older.
    pub fn answer_refers_back(&self, at: usize) -> bool {
        !self.answers[at].of_older.is_empty()
    }

    /// The newest answer that refers to a number in the answer at this position, or else to another word;
    /// with the shared words.
    pub fn later_answer(&self, at: usize) -> Option<(usize, Vec<String>)> {
        let common = |newer: usize, number: bool| -> Vec<String> {
            let older = &self.answers[at].of_newer;
            let is_common = |word: &&String| has_digit(word) == number && older.contains(word);
            self.answers[newer].of_older.iter().filter(is_common).cloned().collect()
        };
        let newer = [true, false].into_iter().flat_map(|number| (0..at).map(move |newer| (newer, number)));
        newer.map(|(newer, number)| (newer, common(newer, number))).find(|(_, common)| !common.is_empty())
    }
}

fn push(words: &mut Vec<String>, word: &String) {
    if !words.contains(word) {
        words.push(word.clone());
    }
}

/// All texts, newest first: an answer is before its prompt.
fn by_time(prompts: &[PersonPrompt], answers: &[&EarlierAnswer]) -> Vec<Place> {
    let mut places = Vec::new();
    let mut from = 0;
    for (at, answer) in answers.iter().enumerate() {
        let is_own = |said: &PersonPrompt| own_words(&said.prompt.text).trim().starts_with(&answer.prompt);
        let own = prompts[from..].iter().position(is_own).filter(|_| !answer.prompt.is_empty());
        let own = own.map(|own| from + own);
        places.extend((from..own.unwrap_or(from)).map(Place::Prompt));
        places.push(Place::Answer(at, own));
        places.extend(own.map(Place::Prompt));
        from = own.map_or(from, |own| own + 1);
    }
    places.extend((from..prompts.len()).map(Place::Prompt));
    places
}

/// The rare words of a prompt, and of its question if the prompt only chooses an option.
fn words_of_prompt(said: &PersonPrompt) -> HashSet<String> {
    let own = own_words(&said.prompt.text);
    let mut words = names(&own);
    let is_choice = |asked: &&str| {
        said.prompt.kind == PromptKind::Answer
            || own.width() <= NAMELESS_COLUMNS && asks(asked)
            || may_choose(&said.prompt)
    };
    if let Some(asked) = said.prompt.asked.as_deref().filter(is_choice) {
        words.extend(names(asked));
    }
    words
}

/// Whether a word is a number or has one.
pub(super) fn has_digit(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}

/// Whether a text has one of these words.
pub(super) fn has_any(text: &str, words: &[String]) -> bool {
    !words.is_empty() && names(text).iter().any(|word| words.contains(word))
}

/// The words of a text that may be rare, in lower case. In a script without spaces, a word ends where the
/// script changes.
fn names(text: &str) -> HashSet<String> {
    let is_wide = |c: char| c.width() == Some(2);
    let text = cut_bytes(text, SEARCHED).to_lowercase();
    let runs = text.split(|c: char| !c.is_alphanumeric());
    let words = runs.flat_map(|run| {
        let mut rest = run;
        std::iter::from_fn(move || {
            let wide = is_wide(rest.chars().next()?);
            let (word, behind) = rest.split_at(rest.find(|c| is_wide(c) != wide).unwrap_or(rest.len()));
            rest = behind;
            Some(word)
        })
    });
    let is_long = |word: &&str| word.chars().nth(SHORTEST[usize::from(has_digit(word))] - 1).is_some();
    words.filter(is_long).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::claude::prompts::TranscriptPrompt;

    /// Prompts and the answer to each, both with the newest first.
    fn table_of(exchanges: &[(&str, &str)]) -> SharedWordTable {
        let said = |text: &str| PersonPrompt {
            prompt: TranscriptPrompt { text: text.into(), ..TranscriptPrompt::default() },
            number: Some(1),
            times: 1,
        };
        let words =
            Words { prompts: exchanges.iter().map(|(prompt, _)| said(prompt)).collect(), ..Words::default() };
        let answer = |(prompt, text): &(&str, &str)| EarlierAnswer {
            prompt: (*prompt).into(),
            text: (*text).into(),
            ..EarlierAnswer::default()
        };
        let answers: Vec<EarlierAnswer> = exchanges.iter().map(answer).collect();
        SharedWordTable::of(&words, &answers.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_newer_text_takes_up_a_name_that_few_have() {
        let all = table_of(&[
            ("and the icons, and table t8334\u{306f}\u{5909}\u{66f4}", "The list is wider."),
            ("make the list wider", "Job j2986 runs again."),
            ("look at the log", "The log is fine."),
            ("never touch table t8334", "Good."),
            ("is it slow?", "I have stopped job j2986 for now."),
        ]);
        assert_eq!(
            all.prompt(0).of_older,
            ["t8334"],
            "`table` and `list` are rare in every short conversation"
        );
        assert_eq!(all.prompt(3).of_newer, ["t8334"]);
        assert_eq!(all.later_answer(4), Some((1, vec!["j2986".to_owned()])));
        assert!(all.answer_refers_back(1) && !all.answer_refers_back(4));
    }

    #[test]
    fn an_answer_takes_up_nothing_of_its_own_prompt_and_many_share_nothing() {
        let all = table_of(&[("how long does report 9913 take", "Report 9913 takes 40 s.")]);
        assert!(!all.answer_refers_back(0) && all.prompt(0).of_newer.is_empty());
        let many = vec![("page 1025 please", "Page 1025 is done."); 4];
        let all = table_of(&many);
        assert!(all.prompt(0).of_older.is_empty());
    }
}
