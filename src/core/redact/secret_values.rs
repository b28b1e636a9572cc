//! Guesses what a value is: random characters, a placeholder, code, or words.
//!
//! If the name is `password`, almost any value counts as a secret. The weaker the name, the more random the
//! value must look.

use super::placeholders::{is_code, is_not_code, is_placeholder, is_prose, is_type_word};
use super::prose::is_passphrase_word;
use super::secret_kind::MARK;
use super::secret_names::{NameClass, name_class};

/// How and where a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueContext {
    pub(super) quoting: ValueQuoting,
    pub(super) place: ValuePlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueQuoting {
    /// Between quotes.
    Quoted,
    /// Between quotes, as an argument of a function.
    Argument,
    Bare,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValuePlace {
    /// `NAME=value` at the beginning of a line: a shell or an environment file.
    Shell,
    /// The only value that the line assigns: YAML, TOML, INI.
    Line,
    /// Behind a flag of a command.
    Flag,
    /// One of several pairs: `;Password=value;` or `&password=value&`.
    Pair,
    /// Within other text.
    Inline,
    /// In a sentence: `the password is X`.
    Sentence,
}

/// How much of a value is read, in bytes.
const VALUE_SEARCHED: usize = 200;

/// Whether `value`, assigned to a name of this class, is a secret.
pub(super) fn is_secret(class: NameClass, value: &str, context: ValueContext) -> bool {
    let value = value.trim();
    let looked = crate::core::text::safe_text::cut_bytes(value, VALUE_SEARCHED);
    if value.len() < 3 || looked.contains(MARK.trim_end()) || is_placeholder(looked) {
        return false;
    }
    let bare = context.quoting == ValueQuoting::Bare;
    let code = || is_code(looked) && !(class != NameClass::Weak && is_not_code(looked));
    if bare && (context.place != ValuePlace::Shell && code() || is_type_word(looked)) {
        return false;
    }
    let words = looked.split_whitespace().count();
    match class {
        NameClass::Phrase => {
            words >= 6 && looked.split_whitespace().all(|w| w.bytes().all(|b| b.is_ascii_lowercase()))
        }
        _ if words > 1 => {
            class == NameClass::Password
                && !bare
                && context.quoting != ValueQuoting::Argument
                && !is_prose(looked)
        }
        _ if is_path(looked) || is_url(looked) || is_name(looked) => false,
        NameClass::Password => is_password(looked, context),
        NameClass::Secret => is_generic_secret(looked, context),
        NameClass::Token if bare && context.place == ValuePlace::Sentence => {
            looked.len() >= 16 && is_random(looked)
        }
        NameClass::Token => {
            looked.len() >= 8 && (is_random(looked) || !bare && is_number(looked))
                || matches!(context.place, ValuePlace::Shell | ValuePlace::Line | ValuePlace::Flag)
                    && looked.len() >= 16
                    && is_one_run(looked)
        }
        NameClass::Weak => is_very_random(looked),
    }
}

/// Whether the value of a name that ends in `secret` is one.
fn is_generic_secret(value: &str, context: ValueContext) -> bool {
    let bare = context.quoting == ValueQuoting::Bare;
    let many = value.len() >= 6;
    let one_case = value.len() >= 16 && is_one_run(value) && !is_mixed(value);
    let no_word = value.len() >= 12 && is_one_run(value) && !is_word_case(value);
    let word = value.len() >= 8 && (is_word_and_year(value) || is_one_run(value) && !is_word_case(value));
    let quoted = !bare && is_password(value, ValueContext { quoting: ValueQuoting::Argument, ..context });
    one_case
        || no_word
        || word
        || quoted
        || many
            && (is_random(value)
                || has_digit_and_letter(value) && !is_versioned_words(value)
                || has_symbol(value))
        || matches!(context.place, ValuePlace::Shell | ValuePlace::Flag)
            && bare
            && value.len() >= 8
            && !value.contains(['.', '/', ':'])
        || !bare
            && context.quoting == ValueQuoting::Quoted
            && value.len() >= 12
            && !value.contains([' ', '.', '/', ':'])
}

fn is_password(value: &str, context: ValueContext) -> bool {
    let mixed = value.bytes().any(|b| b.is_ascii_digit())
        || has_symbol(value)
        || has_non_ascii_symbol(value, context.quoting)
        || is_mixed_case(value)
        || is_noise(value)
        || value.len() >= 8 && is_one_run(value) && !is_word_case(value)
        || value.len() >= 8 && is_one_run(value) && is_unpronounceable(value);
    match (context.quoting, context.place) {
        (ValueQuoting::Quoted, ValuePlace::Sentence) => mixed,
        (ValueQuoting::Quoted, _) => value.len() >= 4 && !is_type_word(value),
        (ValueQuoting::Bare, ValuePlace::Sentence) if is_made_of_words(value) || is_numbered_names(value) => {
            true
        }
        (ValueQuoting::Argument, _) | (ValueQuoting::Bare, ValuePlace::Sentence) => {
            value.len() >= 6 && mixed && (!is_versioned_words(value) || is_word_and_year(value))
                || value.len() >= 14 && is_one_run(value)
        }
        (ValueQuoting::Bare, ValuePlace::Inline) => value.len() >= 4 && mixed,
        (ValueQuoting::Bare, ValuePlace::Shell | ValuePlace::Line | ValuePlace::Flag | ValuePlace::Pair) => {
            value.len() >= 4 || mixed
        }
    }
}

/// Whether a value has characters beyond ASCII. Letters do not count without quotes, because they are a word
/// of another language.
fn has_non_ascii_symbol(value: &str, form: ValueQuoting) -> bool {
    value.chars().any(|c| !c.is_ascii() && (form != ValueQuoting::Bare || !c.is_alphabetic()))
}

/// Whether a value that somebody calls a password is one, although its parts could be words with versions:
/// `Gat0-negro-2024` and `Kranich_77`, not `SHA-256`.
pub(super) fn is_versioned_password(value: &str) -> bool {
    !is_placeholder(value)
        && is_versioned_words(value)
        && has_digit_and_letter(value)
        && (value.contains('_')
            || is_made_of_words(value)
            || value.split(['-', '.']).count() >= 3
                && value.split(['-', '.']).filter(|part| part.bytes().any(|b| b.is_ascii_digit())).count()
                    >= 2)
}

/// Whether a value is composed as people and password generators do it: two words and a number
/// (`zebra-42-lamp`, `Kai.4711.Kran`), or four short words of a passphrase.
pub(super) fn is_made_of_words(value: &str) -> bool {
    let parts: Vec<&str> = value.split(['-', '.', '_']).collect();
    let is_word = |part: &&&str| part.len() >= 2 && part.bytes().all(|b| b.is_ascii_alphabetic());
    let is_figures = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let words = parts.iter().filter(is_word).count();
    let phrase =
        || value.contains('-') && parts.len() >= 4 && parts.iter().all(|part| is_passphrase_word(part));
    value.len() >= 8
        && parts.len() >= 3
        && (words >= 2 && words < parts.len() && is_versioned_words(value) && parts.iter().any(is_figures)
            || phrase())
}

/// Whether a value is two or more names and a number, as `Karpion-Kinneret8`: a product with its version has
/// a blank before the number, or small letters.
fn is_numbered_names(value: &str) -> bool {
    let names = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_name = |part: &str| {
        part.len() >= 2
            && part.starts_with(|c: char| c.is_ascii_uppercase())
            && part.bytes().all(|b| b.is_ascii_alphabetic())
            && part.bytes().any(|b| b.is_ascii_lowercase())
    };
    value.len() >= 8
        && names.len() < value.len()
        && names.contains(['-', '_', '.'])
        && names.split(['-', '_', '.']).all(is_name)
}

/// Whether the characters of a key are invented: `your-key`, `xxxx`, `...`.
pub(super) fn is_made_up(body: &str) -> bool {
    let body = &body[..body.len().min(200)];
    let lower = body.to_ascii_lowercase();
    let repeated = ["xxxx", "....", "****", "0000000", "-your-", "_your_", "placeholder"];
    repeated.iter().any(|part| lower.contains(part))
        || lower.starts_with("your")
        || distinct(body) < 5.min(body.len())
}

pub(super) fn distinct(text: &str) -> usize {
    let mut seen = [false; 256];
    text.bytes().for_each(|b| seen[usize::from(b)] = true);
    seen.iter().filter(|seen| **seen).count()
}

/// Random characters: at least three kinds that alternate.
pub(super) fn is_noise(value: &str) -> bool {
    let kind = |b: u8| match b {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let mut seen = [false; 4];
    value.bytes().for_each(|b| seen[kind(b)] = true);
    let turns = value.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    let sign = value.bytes().any(|b| {
        matches!(b, b'#' | b'$' | b'%' | b'^' | b'|' | b'~' | b'@' | b'!' | b'*' | b'?' | b'+' | b'{' | b'}')
    });
    value.len() >= 8
        && seen.iter().filter(|seen| **seen).count() >= 3
        && (turns * 2 >= value.len() || sign && turns * 3 >= value.len())
}

/// Whether a value is itself the name of a secret: `"password"`, `db_password`, `API_KEY`, `access-token`.
fn is_name(value: &str) -> bool {
    let plain = value.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-' | b'.' | b' '));
    // `mysecretpassword` is a bad password; `password` and `db_password` are names.
    let apart = value.contains(['_', '-', '.', ' ']) || is_mixed(value) || value.len() <= 12;
    plain && apart && name_class(value.as_bytes()).is_some()
        || plain
            && value.contains(['_', '-'])
            && ["name", "file", "path", "field", "type", "ref"].iter().any(|end| value.ends_with(end))
}

fn is_mixed(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_uppercase()) && value.bytes().any(|b| b.is_ascii_lowercase())
}

/// Whether a value is a path: words between slashes without other punctuation. Random characters with a slash
/// among them are not.
fn is_path(value: &str) -> bool {
    let rooted = ["/", "./", "../", "~/", "@/", "file://", "C:\\", "c:\\"]
        .iter()
        .find_map(|start| value.strip_prefix(start));
    let plain = |part: &str| {
        part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b' ' | b':'))
    };
    let wordy = |part: &str| plain(part) && part.len() <= 40 && !is_dense(part);
    match rooted {
        Some(rest) => {
            rest.split(['/', '\\']).all(|part| wordy(part) && !part.contains(':'))
                && rest.bytes().any(|b| b.is_ascii_alphabetic())
        }
        None => {
            let ends = |part: &str| {
                part.trim_start_matches(|c: char| !c.is_ascii_digit())
                    .bytes()
                    .all(|b| !b.is_ascii_alphabetic())
            };
            let word = |part: &str| {
                wordy(part)
                    && part.len() >= 2
                    && ends(part)
                    && part.bytes().any(|b| b.is_ascii_alphabetic())
                    && is_word_case(part)
            };
            value.contains('/') && value.split('/').all(word)
        }
    }
}

/// Whether the case is that of words and identifiers: `dbPassword`, `Config`, `API`, `max_len`, but not
/// `uyDXT3`.
pub(super) fn is_word_case(part: &str) -> bool {
    let letters = part.as_bytes();
    let capitals = letters.iter().all(|b| !b.is_ascii_lowercase());
    let turns = |pair: &[u8]| {
        pair[0].is_ascii_uppercase() && (pair[1].is_ascii_uppercase() || pair[1].is_ascii_digit())
    };
    let ends = letters.last().is_some_and(u8::is_ascii_uppercase);
    capitals || !letters.windows(2).any(turns) && !ends
}

/// Whether letters can hardly be a word: many consonants in a row.
pub(super) fn is_unpronounceable(value: &str) -> bool {
    let vowel = |b: u8| matches!(b.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    value.as_bytes().split(|b| vowel(*b)).any(|run| run.len() >= 5) || !value.bytes().any(vowel)
}

fn is_url(value: &str) -> bool {
    value.split_once("://").is_some_and(|(scheme, _)| {
        (2..=24).contains(&scheme.len()) && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+')
    })
}

fn is_number(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'_')
}

fn has_symbol(value: &str) -> bool {
    value.bytes().any(|b| {
        b.is_ascii_punctuation()
            && !matches!(b, b'_' | b'-' | b'.' | b'/' | b':' | b',' | b';' | b'(' | b')' | b'[' | b']')
    })
}

fn has_digit_and_letter(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic())
}

fn is_mixed_case(value: &str) -> bool {
    let turns = value
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        .count();
    turns >= 2 && !value.contains(['_', '-', '.'])
}

fn is_one_run(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')) && !is_number(value)
}

/// Whether capitals are mixed into the letters as in no name of several words.
pub(super) fn is_scrambled(part: &str) -> bool {
    let turns = |pair: &[u8]| pair[1].is_ascii_uppercase() && pair[0].is_ascii_alphabetic();
    part.len() >= 8
        && is_mixed(part)
        && part.as_bytes().windows(2).filter(|pair| turns(pair)).count() * 10 >= part.len() * 3
}

/// Whether letters and digits alternate as in no version, model or date.
pub(super) fn is_dense(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
    let kinds = |b: u8| (b.is_ascii_digit(), b.is_ascii_uppercase());
    let turns = part.as_bytes().windows(2).filter(|pair| kinds(pair[0]) != kinds(pair[1])).count();
    let mixed = digits >= 1 && letters >= 2 && turns >= 3 && part.len() >= 8;
    mixed || part.len() >= 20 && turns >= 6
}

/// Words with versions: `claude-3-opus-20240229`, `node18-alpine`, `v1.2.3`, but not `hunter22`.
fn is_versioned_words(value: &str) -> bool {
    let mut parts = value.split(['-', '_', '.', '/', ':', '@']);
    value.contains(['-', '_', '.', '/', ':', '@']) && parts.all(|part| part.is_ascii() && is_versioned(part))
}

/// Letters with at most three digits behind them, or digits alone.
pub(super) fn is_versioned(part: &str) -> bool {
    let letters = part.bytes().take_while(u8::is_ascii_alphabetic).count();
    part.bytes().skip(letters).all(|b| b.is_ascii_digit()) && (letters == 0 || part.len() - letters <= 3)
}

/// One word, a punctuation character and at least four digits: `sunshine-7539`.
fn is_word_and_year(value: &str) -> bool {
    let word = value.trim_end_matches(|c: char| c.is_ascii_digit());
    value.len() - word.len() >= 4
        && word.len() >= 4
        && word[..word.len() - 1].bytes().all(|b| b.is_ascii_alphabetic())
}

/// Whether a value of at least 8 characters looks generated.
pub(super) fn is_random(value: &str) -> bool {
    if value.len() < 8 || is_number(value) || is_versioned_words(value) {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let parts = || value.split(['-', '_', '.', '/', ':', '+', '=']);
    let first = value.split('-').next().unwrap_or_default().len();
    // Groups of the same length, as in licence keys.
    if first >= 4
        && digits >= 3
        && letters >= 1
        && value.split('-').count() >= 3
        && value.split('-').all(|part| part.len() == first)
    {
        return true;
    }
    parts().any(is_dense)
        || value.len() >= 20 && value.split(['-', '_', '.', '/', '+', '=']).any(is_scrambled)
        || digits >= 3 && letters >= 3 && parts().any(|part| part.len() >= 8 && has_digit_and_letter(part))
        || digits >= 1
            && letters >= 1
            && (has_symbol(value)
                || value.len() >= 20 && parts().any(|part| part.len() >= 12 && has_digit_and_letter(part)))
        || value.len() >= 20 && is_mixed_case(value) && distinct(value) >= 10
}

/// At least 20 characters of all kinds, but no UUID.
fn is_very_random(value: &str) -> bool {
    let one =
        value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-'));
    let has = |kind: fn(&u8) -> bool| value.bytes().any(|b| kind(&b));
    one && value.len() >= 20
        && distinct(value) >= 12
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && value.split(['-', '_', '/']).any(is_dense)
}
