//! Finds codes and numbers that somebody writes in a sentence: PINs, one-time codes, payment cards, and the
//! words and codes that recover an account or a wallet.

use super::byte_scan::offset_in;
use super::prose::{AROUND, Prose, behind_verb};
use super::prose_words::{CARD_CHECKS, CARDS, CODES, LINKS, RECOVERY_CODES, WALLETS};
use super::secret_names::NameClass;
use super::secret_spans::SecretSpan;
use super::secret_values::distinct;
use crate::core::claude::prompts::end_of;
use crate::core::text::safe_text::cut_bytes;

/// How far the number of a card stands behind such a word at most, in bytes.
const NEAR_CARD: usize = 30;
/// How many words a wallet has: at least, and at most.
const WALLET_WORDS: (usize, usize) = (12, 24);

pub(super) fn find(prose: &Prose<'_>, spans: &mut Vec<SecretSpan>) {
    for at in prose.ends_of(&["pin"]) {
        prose.push(pin(prose.rest_of_line(at)), NameClass::Password, spans);
    }
    for at in prose.ends_of(&CODES) {
        prose.push(one_time_code(prose.rest_of_line(at)), NameClass::Password, spans);
    }
    for at in prose.ends_of(&CARDS) {
        // The numbers of test cards are public and useful.
        let is_test = end_of(&prose.small[..at], NEAR_CARD).contains("test");
        prose.push(card(prose.rest_of_line(at)).filter(|_| !is_test), NameClass::Token, spans);
    }
    for at in prose.ends_of(&CARD_CHECKS) {
        prose.push(card_check(prose.rest_of_line(at)), NameClass::Token, spans);
    }
    recovery(prose, spans);
}

/// The words of a wallet, recovery codes, and the groups of a shared secret for one-time codes.
fn recovery(prose: &Prose<'_>, spans: &mut Vec<SecretSpan>) {
    for at in prose.ends_of(&WALLETS) {
        let words = words_in_a_row(cut_bytes(&prose.text[at..], 2 * AROUND), WALLET_WORDS.1, |word| {
            (3..=8).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase())
        });
        let words = words.filter(|(_, n)| *n >= WALLET_WORDS.0).map(|(words, _)| words);
        prose.push(words, NameClass::Password, spans);
    }
    for at in prose.ends_of(&RECOVERY_CODES) {
        let codes = words_in_a_row(cut_bytes(&prose.text[at..], 2 * AROUND), usize::MAX, |word| {
            (4..=24).contains(&word.len())
                && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
                && word.bytes().any(|b| b.is_ascii_digit())
        });
        prose.push(codes.filter(|(_, n)| *n >= 3).map(|(codes, _)| codes), NameClass::Password, spans);
    }
    for at in prose.ends_of(&["2fa secret", "totp secret"]) {
        let is_group = |word: &str| {
            word.len() == 4 && word.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'2'..=b'7'))
        };
        let groups = words_in_a_row(prose.rest_of_line(at), usize::MAX, is_group);
        let has_digit = |words: &&str| words.bytes().any(|b| b.is_ascii_digit());
        let groups = groups.filter(|(_, n)| *n >= 4).map(|(words, _)| words).filter(has_digit);
        prose.push(groups, NameClass::Token, spans);
    }
}

/// The words of this kind that follow a name one after the other, with their number: behind a link, on one
/// line or one on each. Numbers of a list may stand before them.
fn words_in_a_row(rest: &str, most: usize, is_one: impl Fn(&str) -> bool) -> Option<(&str, usize)> {
    let start = LINKS.iter().find_map(|link| rest.strip_prefix(link)).unwrap_or(rest);
    let is_number =
        |word: &str| word.ends_with(['.', ')']) && word[..word.len() - 1].bytes().all(|b| b.is_ascii_digit());
    let mut found: Option<(usize, usize, usize)> = None;
    for word in start.split([' ', '\n', '\r', '\t', ',', '"', '\'']).filter(|word| !word.is_empty()) {
        if is_number(word) || matches!(word, "-" | "*" | "=" | ":") {
            continue;
        }
        let word = word.trim_end_matches('.');
        if !is_one(word) || found.is_some_and(|(_, _, n)| n == most) {
            break;
        }
        let at = offset_in(rest, word);
        found = Some(match found {
            None => (at, at + word.len(), 1),
            Some((from, _, n)) => (from, at + word.len(), n + 1),
        });
    }
    found.map(|(from, to, n)| (&rest[from..to], n))
}

/// The digits in `my pin is 4471` and `the pin of the safe is 4471-88`. A pin of a chip is not told in this
/// way: `pin 8`, `pin: 4711 must blink`; and a version has a year or a point.
fn pin(rest: &str) -> Option<&str> {
    let rest = behind_verb(rest)?;
    let value = digits(rest, '-');
    let count = value.bytes().filter(u8::is_ascii_digit).count();
    let is_date = value.contains('-') && (value.starts_with("19") || value.starts_with("20"));
    ((4..=8).contains(&count) && value.matches('-').count() <= 1 && !is_date && is_all(rest, value))
        .then_some(value)
}

/// The digits at the beginning of a text, with at most one of these between two of them.
fn digits(text: &str, between: char) -> &str {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        match c {
            '0'..='9' => end = at + 1,
            c if c == between && end == at => {}
            _ => break,
        }
    }
    &text[..end]
}

/// Whether a number ends with `value`: it is no part of a word, a longer number or a version.
fn is_all(rest: &str, value: &str) -> bool {
    let mut behind = rest[value.len()..].chars();
    match behind.next() {
        Some('.' | ',') => !behind.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => !(c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | ':')),
        None => true,
    }
}

/// The digits in `the 2fa code is 481 223`. Those that everybody takes for an example are none.
fn one_time_code(rest: &str) -> Option<&str> {
    let rest = LINKS.iter().find_map(|link| rest.strip_prefix(link))?.trim_start();
    let between = if digits(rest, ' ').contains(' ') { ' ' } else { '-' };
    let value = digits(rest, between);
    let parts: Vec<&str> = value.split(between).collect();
    let is_even = parts.len() <= 2 && parts.iter().all(|part| part.len() == parts[0].len());
    let figures: String = parts.concat();
    let is_example = "0123456789".contains(&figures) || distinct(&figures) < 3;
    ((6..=8).contains(&figures.len()) && is_even && !is_example && is_all(rest, value)).then_some(value)
}

/// The number of a payment card on the same line.
fn card(rest: &str) -> Option<&str> {
    let at = cut_bytes(rest, NEAR_CARD).find(|c: char| c.is_ascii_digit())?;
    let (before, rest) = rest.split_at(at);
    let between = if digits(rest, ' ').contains(' ') { ' ' } else { '-' };
    let value = digits(rest, between);
    let figures: Vec<u8> = value.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
    // The check digit of Luhn.
    let sum: u32 = (0..)
        .zip(figures.iter().rev())
        .map(|(at, digit)| u32::from(*digit) * (1 + at % 2))
        .map(|twice| twice / 10 + twice % 10)
        .sum();
    let is_card =
        (13..=19).contains(&figures.len()) && (2..=6).contains(&figures[0]) && sum.is_multiple_of(10);
    (is_card && !before.to_lowercase().contains("test") && is_all(rest, value)).then_some(value)
}

/// The three or four digits behind `cvc`.
fn card_check(rest: &str) -> Option<&str> {
    let rest = LINKS.iter().find_map(|link| rest.strip_prefix(link)).unwrap_or(rest).trim_start();
    let value = digits(rest, '-');
    ((3..=4).contains(&value.len()) && is_all(rest, value)).then_some(value)
}
