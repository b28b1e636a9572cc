//! What newer texts of a conversation refer to in older ones: a name, a number or a file that few others
//! have. A rule must not be quoted without the text that revoked it.

use std::collections::{HashMap, HashSet};

use unicode_width::UnicodeWidthStr;

use crate::core::claude::prompts::PromptKind;
use crate::core::claude::transcript_facts::EarlierAnswer;
use crate::core::handoff::current_request::{NAMELESS_COLUMNS, asks, may_choose};
use crate::core::handoff::pasted_text::own_words;
use crate::core::handoff::prompt_sentences::{has_digit, names};
use crate::core::handoff::safe_prompts::{PersonPrompt, Words};

/// The most exchanges that may share a word; with a digit, the most prompts and answers: a more frequent word
/// does not show what a text is about.
const FEW: [usize; 2] = [2, 4];
/// A word without a digit must also be in at most one of this many exchanges: in a short conversation every
/// word is rare.
const ONE_IN: usize = 16;

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
                if texts.len() <= 2 * FEW[1] {
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
            let count = if is_number { texts.len() } else { exchanges(&places, &texts) };
            if count > FEW[usize::from(is_number)] || !is_number && count * ONE_IN > places.len() {
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

/// In how many exchanges the texts at these places stand: an answer repeats the names of its prompt.
fn exchanges(places: &[Place], texts: &[usize]) -> usize {
    let is_same = |pair: &&[usize]| match (places[pair[0]], places[pair[1]]) {
        (Place::Answer(_, own), Place::Prompt(at)) => own == Some(at),
        _ => false,
    };
    texts.len() - texts.windows(2).filter(is_same).count()
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

/// Whether a text has one of these words.
pub(super) fn has_any(text: &str, words: &[String]) -> bool {
    !words.is_empty() && names(text).iter().any(|word| words.contains(word))
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
    fn a_name_that_the_answer_repeats_is_as_rare_as_before() {
        let mut all = vec![("make the list wider", "It is wider."); 20];
        all[3] = ("Kestrel is free again", "The lists share their code in Kestrel now.");
        all[12] = ("nobody may touch Kestrel", "Understood, Kestrel stays as it is.");
        let shared = table_of(&all);
        assert_eq!(
            (&*shared.prompt(3).of_older, &*shared.prompt(12).of_newer),
            (&["kestrel".to_owned()][..], &["kestrel".to_owned()][..])
        );
        all[17] = ("what is Kestrel", "A module.");
        assert!(table_of(&all).prompt(3).of_older.is_empty(), "three exchanges have it");
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
