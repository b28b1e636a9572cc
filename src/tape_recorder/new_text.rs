//! Chooses which new text on the screen a tape should wait for: words that will appear again in the next
//! run.

use crate::testing::fresh_text_watch::{FreshTextWatch, TestMark};
use crate::testing::look::{Look, TextPattern};

use crate::screen::ScreenPlace;

/// How many characters of hidden input would reveal it.
const HIDDEN_PART: usize = 4;
/// The longest text that is waited for, in characters.
const TEXT_MAX: usize = 40;
/// How many texts are kept as candidates.
const TEXTS_MAX: usize = 4;
/// Words of dates, which differ tomorrow.
const DATE_WORDS: [&str; 19] = [
    "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug",
    "Sep", "Oct", "Nov", "Dec",
];

/// Texts that appeared after the mark, in one of these places, the best first: not the prompt again, words
/// that occur there once, without digits, not on the cursor's row, and the longest of them. `avoid`: texts
/// that differ in every run. `hidden`: input that was typed and not shown.
pub(super) fn lasting_texts(
    watch: &FreshTextWatch,
    mark: &TestMark,
    places: &[ScreenPlace],
    avoid: &[String],
    hidden: &[String],
) -> Vec<String> {
    let mut found: Vec<(TextRank, String)> = Vec::new();
    for place in &joined(places) {
        let row = watch.screen().row_text(place.row);
        let bytes = row.bytes(place.cols.clone());
        // A word with one new character is new as a whole: `1/3` after `3/3`.
        let text = row.text();
        let start = text[..bytes.start].rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let start = if bytes.is_empty() { bytes.start } else { start };
        let end = text[bytes.end..].find(char::is_whitespace).map_or(text.len(), |at| bytes.end + at);
        for part in stable_parts(&text[start..end], avoid, hidden) {
            let places = watch.find(&Look::on_screen(TextPattern::Text(part.clone())), mark);
            if !places.new.is_empty() {
                // Next to the cursor there is usually the prompt, which appears after any answer.
                let is_answer = place.row != watch.screen().cursor().row;
                let is_prompt = !is_answer && mark.cursor_row_text().contains(&part);
                found.push((TextRank::of(&part, is_prompt, places.all.len() == 1, is_answer), part));
            }
        }
    }
    // Of equals the first, which is the highest on the screen.
    found.sort_by_key(|(worth, _)| std::cmp::Reverse(*worth));
    let mut texts: Vec<String> = found.into_iter().map(|(_, text)| text).collect();
    texts.dedup();
    texts.truncate(TEXTS_MAX);
    texts
}

/// Joins places that are separated by one blank: a blank in an empty place is no change.
fn joined(places: &[ScreenPlace]) -> Vec<ScreenPlace> {
    let mut joined: Vec<ScreenPlace> = Vec::new();
    for place in places {
        match joined.last_mut() {
            Some(last) if last.row == place.row && last.cols.end + 1 == place.cols.start => {
                last.cols.end = place.cols.end;
            }
            _ => joined.push(place.clone()),
        }
    }
    joined
}

/// The rank of a text, most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TextRank {
    is_no_prompt: bool,
    /// A path of this machine is another one elsewhere.
    is_no_path: bool,
    has_word: bool,
    has_no_digit: bool,
    is_single: bool,
    is_answer: bool,
    letters_and_digits: usize,
}

impl TextRank {
    fn of(text: &str, is_prompt: bool, is_single: bool, is_answer: bool) -> TextRank {
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        TextRank {
            is_no_prompt: !is_prompt,
            is_no_path: !is_path(text),
            has_word: letters > 1,
            has_no_digit: !text.contains(|c: char| c.is_ascii_digit()),
            is_single,
            is_answer,
            letters_and_digits: text.chars().filter(|c| c.is_alphanumeric()).count(),
        }
    }
}

/// The parts of a text that may be the same in the next run: words without digits, and single words with few
/// digits or of a path.
fn stable_parts(text: &str, avoid: &[String], hidden: &[String]) -> Vec<String> {
    let mut parts = Vec::new();
    // The start and the current end of the run of words.
    let mut run: Option<(usize, usize)> = None;
    let mut finish = |run: &mut Option<(usize, usize)>| {
        if let Some((from, to)) = run.take() {
            parts.push(text[from..to].to_owned());
        }
    };
    let mut numbered = Vec::new();
    // The previous word belongs to a date: the day follows.
    let mut is_behind_date = false;
    let mut at = 0;
    for word in text.split(' ') {
        let (from, to) = (at, at + word.len());
        at = to + 1;
        let is_drawn = !word.contains(char::is_alphanumeric);
        let is_date = word.split(|c: char| !c.is_alphanumeric()).any(|part| DATE_WORDS.contains(&part));
        let is_avoided = is_date || avoid.iter().any(|avoid| word.contains(avoid.as_str()));
        let is_avoided = is_avoided || hidden.iter().any(|hidden| reveals(word, hidden));
        let has_digit = word.contains(|c: char| c.is_ascii_digit());
        // Several blanks and drawn lines are separators.
        let is_path = is_path(word);
        if is_drawn || is_avoided || has_digit || is_path {
            finish(&mut run);
            if (has_digit || is_path) && !is_avoided && !is_behind_date && !is_moment(word) {
                numbered.push(word.to_owned());
            }
            is_behind_date = is_date;
            continue;
        }
        is_behind_date = false;
        match &mut run {
            Some((begin, end)) if text[*begin..to].chars().count() <= TEXT_MAX => *end = to,
            _ => {
                finish(&mut run);
                run = (word.chars().count() <= TEXT_MAX).then_some((from, to));
            }
        }
    }
    finish(&mut run);
    parts.extend(numbered);
    parts
}

/// Whether a word is part of hidden input, or contains a part of it.
fn reveals(word: &str, hidden: &str) -> bool {
    let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
    if hidden.split_whitespace().any(|part| part == word || part == plain) {
        return true;
    }
    let typed: Vec<char> = hidden.chars().collect();
    let length = HIDDEN_PART.min(typed.len());
    length > 2 && typed.windows(length).any(|part| word.contains(&part.iter().collect::<String>()))
}

/// Whether a word is an absolute path, also in quotes or parentheses.
fn is_path(word: &str) -> bool {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '/');
    word.starts_with('/') && word.contains(char::is_alphabetic)
}

/// Whether a word looks like a time, a date or a count, which will differ next time.
fn is_moment(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits > 3 || word.contains(':') || word.chars().count() > TEXT_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &str, avoid: &[&str]) -> Option<String> {
        let mut watch = FreshTextWatch::new((60, 6), 10);
        watch.feed(b"apple  3/3  done");
        let mark = watch.take_mark(1);
        watch.feed(bytes.as_bytes());
        watch.end_frame();
        let avoid: Vec<String> = avoid.iter().map(|word| (*word).to_owned()).collect();
        lasting_texts(&watch, &mark, &watch.new_places(&mark), &avoid, &[]).into_iter().next()
    }

    #[test]
    fn words_that_will_appear_again_are_chosen() {
        for (bytes, want) in [
            ("\r\n12:40:01 saved all of it in 35 ms", Some("saved all of it in")),
            ("\r\n│ Log │ two files │", Some("two files")),
            ("\x1b[1;8H1", Some("1/3")),
            ("\r\nWed Nov 25 16:40:12 UTC 2026", Some("UTC")),
            ("\r\n│UP--DIR│Nov 27 05:56│", None),
            ("\r\n/tmp/hopty-x1y2z3/dir", None),
            ("\r\n  1 root 20 /usr/local/bin/daemon -x", Some("root")),
            ("\r\nsee '/etc/hosts' there", Some("there")),
            ("\r\n/etc/hosts", Some("/etc/hosts")),
            ("\r\n----", None),
            ("\x1b[2J", None),
            ("\x1b[1;13HDone", Some("Done")),
            ("\r\ndone\r\nwell", Some("well")),
        ] {
            assert_eq!(text(bytes, &["hopty-x1y2z3"]).as_deref(), want, "{bytes:?}");
        }
    }

    #[test]
    fn an_answer_ranks_higher_than_the_prompt() {
        let mut watch = FreshTextWatch::new((60, 6), 10);
        watch.feed(b"sqlite> insert into t values ('apple');\r\nsqlite> select * from t;");
        let mark = watch.take_mark(1);
        watch.feed(b"\r\napple\r\nsqlite> ");
        watch.end_frame();
        let found = lasting_texts(&watch, &mark, &watch.new_places(&mark), &[], &[]);
        assert_eq!(found[0], "apple");
    }

    #[test]
    fn a_number_is_worth_more_than_the_prompt_behind_it() {
        for (before, answer, want) in [
            ("sqlite> select 40+2;", "\r\n42\r\nsqlite> ", "42"),
            ("(gdb) print 40+2", "\r\n$1 = 42\r\n(gdb) ", "42"),
            // A command without an answer.
            ("sqlite> .mode box", "\r\nsqlite> ", "sqlite>"),
        ] {
            let mut watch = FreshTextWatch::new((60, 6), 10);
            watch.feed(before.as_bytes());
            let mark = watch.take_mark(1);
            watch.feed(answer.as_bytes());
            watch.end_frame();
            let found = lasting_texts(&watch, &mark, &watch.new_places(&mark), &[], &[]);
            assert_eq!(found[0], want, "{before}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_words() {
        let found = text("\r\nthis line has more words than a check on a tape should have", &[]).unwrap();
        assert_eq!(found, "this line has more words than a check on");
    }
}
