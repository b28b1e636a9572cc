//! The sentences of a prompt, and of a very long one the words around what matters: dictation has no full
//! stops.

use std::collections::HashSet;

use unicode_width::UnicodeWidthChar;

use crate::core::text::safe_text::{cut_bytes, units};

/// The longest sentence that is shown whole in the gist of a prompt, in UTF-16 units.
pub const GIST_SENTENCE: usize = 160;
/// How many words around what matters are looked at together, and how far the next ones are, in words.
const WINDOW: usize = 16;
const STEP: usize = 8;
/// The fewest characters of a word that may be a name, and of one with a digit.
const SHORTEST: [usize; 2] = [4, 3];
/// How much of a text is searched for names, in bytes.
const SEARCHED: usize = 16 << 10;

/// The sentences of a text: a full stop, question or exclamation mark that a blank follows ends one.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |line: &str| {
        let end = |(at, c): (usize, char)| {
            let behind = at + c.len_utf8();
            let is_end = matches!(c, '\u{3002}' | '\u{ff01}' | '\u{ff1f}')
                || matches!(c, '.' | '!' | '?' | ';') && line[behind..].starts_with(' ');
            is_end.then_some(behind)
        };
        line.char_indices().find_map(end)
    };
    text.lines()
        .flat_map(move |line| {
            let mut rest = line;
            std::iter::from_fn(move || {
                let (sentence, behind) = rest.split_at(ends(rest).unwrap_or(rest.len()));
                rest = behind;
                (!sentence.is_empty()).then_some(sentence.trim())
            })
        })
        .filter(|sentence| !sentence.is_empty())
}

/// The parts of a text to which `rank` gives a rank, with it, in their order: sentences of at most `longest`
/// UTF-16 units, and of a longer one 16 to 24 words.
pub fn ranked_parts(text: &str, longest: usize, rank: impl Fn(&str) -> Option<u8>) -> Vec<(u8, &str)> {
    let mut parts = Vec::new();
    for sentence in sentences(text) {
        match units(sentence) <= longest {
            true => parts.extend(rank(sentence).map(|rank| (rank, sentence))),
            false => parts.extend(ranked_windows(sentence, &rank)),
        }
    }
    parts
}

/// Windows that have something in common are one part.
fn ranked_windows(sentence: &str, rank: impl Fn(&str) -> Option<u8>) -> Vec<(u8, &str)> {
    let begin = sentence.as_ptr() as usize;
    let words: Vec<(usize, usize)> = sentence
        .split_whitespace()
        .map(|word| word.as_ptr() as usize - begin)
        .zip(sentence.split_whitespace().map(str::len))
        .collect();
    let text = |from: usize, to: usize| &sentence[words[from].0..words[to - 1].0 + words[to - 1].1];
    let mut found: Vec<(u8, usize, usize)> = Vec::new();
    for from in (0..words.len()).step_by(STEP) {
        let to = (from + WINDOW).min(words.len());
        let Some(rank) = rank(text(from, to)) else { continue };
        match found.last_mut() {
            Some((known, begin, end)) if *end > from && to - *begin <= WINDOW + STEP => {
                (*known, *end) = (rank.min(*known), to);
            }
            // Text of the previous part is not shown again.
            Some((_, _, end)) if *end >= to => {}
            last => {
                let from = last.map_or(from, |(_, _, end)| from.max(*end));
                found.push((rank, from, to));
            }
        }
    }
    found.into_iter().map(|(rank, from, to)| (rank, text(from, to))).collect()
}

/// Whether a word is a number or has one.
pub fn has_digit(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}

/// The words of a text that may be rare, in lower case. A script without blanks ends a word of another one.
pub fn names(text: &str) -> HashSet<String> {
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

/// Whether two texts have a name in common.
pub fn shares_name(one: &str, other: &str) -> bool {
    !names(one).is_disjoint(&names(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_sentence_the_words_around_what_matters_are_found() {
        let word = |n: usize| format!("word{n}");
        let said: Vec<String> = (0..100).map(word).collect();
        let said = said.join(" ");
        let parts = ranked_parts(&said, 160, |part| part.contains("word50 ").then_some(0));
        assert_eq!(parts.len(), 1, "{parts:?}");
        assert!(parts[0].1.starts_with("word40 ") && parts[0].1.ends_with(" word63"), "{parts:?}");
        let all: Vec<&str> =
            ranked_parts(&said, 160, |_| Some(1)).into_iter().map(|(_, part)| part).collect();
        assert_eq!(all.join(" "), said, "nothing twice, and nothing left out");
        assert!(all.iter().all(|part| part.split(' ').count() <= WINDOW + STEP), "{all:?}");
    }

    #[test]
    fn a_sentence_of_usual_length_is_one_part() {
        let text = "It is done. Table t7 may change; the rest stays.\n1. none\u{3002}\u{8868}7";
        let parts = ranked_parts(text, 160, |part| part.contains('7').then_some(2));
        assert_eq!(parts, [(2, "Table t7 may change;"), (2, "\u{8868}7")]);
    }
}
