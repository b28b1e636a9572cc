//! Finds secrets in sentences, in other languages than English too: `das Passwort ist X`, `contraseña: X`,
//! `パスワードは X です`, `use admin:X for basic auth`.
//!
//! Most sentences with such a word contain no secret (`Passwort ändern geht nicht`), so the value must look
//! like a password wherever it is. The words are data (`prose_words`).

use memchr::memmem;

use super::SecretKind;
use super::byte_scan::offset_in;
use super::placeholders::is_placeholder;
use super::prose_codes;
use super::prose_words::{
    AS_PASSWORD, ENGLISH, FILLERS, IN_SENTENCES, IT_IS, LINKS, LOGINS, PASSWORDS, PROOFS, TOKENS, VERBS,
    WHOSE,
};
use super::secret_names::{NameClass, name_class};
use super::secret_spans::SecretSpan;
use super::secret_values::{
    ValueContext, ValuePlace, ValueQuoting, is_made_of_words, is_secret, is_versioned_password,
};
use crate::core::claude::prompts::end_of;
use crate::core::text::safe_text::cut_bytes;

/// The longest text between a word and the link to its value, in bytes.
const GAP: usize = 60;
/// How much of a line is read on each side of such a word, in bytes.
pub(super) const AROUND: usize = 240;

pub(super) fn find(text: &str, spans: &mut Vec<SecretSpan>) {
    let prose = Prose::of(text);
    passwords(&prose, spans);
    verb_sentences(&prose, spans);
    next_sentences(&prose, spans);
    prose_codes::find(&prose, spans);
    for at in prose.ends_of(&PROOFS) {
        let before = end_of(&text[..at], AROUND).rsplit('\n').next().unwrap_or_default();
        for word in before.split_whitespace().chain(prose.rest_of_line(at).split_whitespace()) {
            prose.push(pair(word), NameClass::Password, spans);
        }
    }
}

/// Words for a password or a token, followed by the value.
fn passwords(prose: &Prose<'_>, spans: &mut Vec<SecretSpan>) {
    for (words, class) in [(&PASSWORDS[..], NameClass::Password), (&TOKENS[..], NameClass::Token)] {
        for at in prose.ends_of(words) {
            prose.push(value(prose.rest_of_line(at), class), class, spans);
        }
    }
    for at in prose.ends_of(&PASSWORDS).chain(prose.ends_of(&ENGLISH)) {
        let ahead = cut_bytes(&prose.text[at..], AROUND);
        prose.push(on_the_next_line(ahead), NameClass::Password, spans);
    }
    for at in prose.ends_of(&LOGINS) {
        prose.push(behind_name(prose.rest_of_line(at)), NameClass::Password, spans);
    }
    // `pw` is a short word, so the value must be certain by itself.
    for at in prose.ends_of(&["pw"]).filter(|at| prose.small[..*at].ends_with("pw")) {
        let value = leading_value(prose.rest_of_line(at)).map(|(value, _)| value);
        prose.push(value.filter(|value| is_made_of_words(value)), NameClass::Password, spans);
    }
}

/// Sentences in which a verb links an English word for a password with the value.
fn verb_sentences(prose: &Prose<'_>, spans: &mut Vec<SecretSpan>) {
    let Prose { text, small, .. } = prose;
    for at in prose.ends_of(&ENGLISH) {
        prose.push(english(prose.rest_of_line(at)), NameClass::Password, spans);
        prose.push(is_my_password(text, small, at), NameClass::Password, spans);
    }
    for at in prose.ends_of(&["passphrase"]) {
        prose.push(phrase(prose.rest_of_line(at)), NameClass::Password, spans);
    }
    for word in AS_PASSWORD.iter().filter(|word| prose.may_have(word)) {
        for at in memmem::find_iter(small.as_bytes(), word) {
            let value = last_word(end_of(&text[..at], AROUND)).filter(|value| is_certain(value));
            let value = value.filter(|_| ends_a_clause(&small[at + word.len()..]));
            prose.push(value, NameClass::Password, spans);
        }
    }
}

/// Secrets whose name is in the sentence before (`the bot needs the station key. its X`) or behind them (`X
/// put it in .env as STATION_KEY`).
fn next_sentences(prose: &Prose<'_>, spans: &mut Vec<SecretSpan>) {
    for words in IT_IS.iter().filter(|words| prose.may_have(words)) {
        for at in memmem::find_iter(prose.small.as_bytes(), words) {
            let before = end_of(&prose.small[..at], AROUND);
            let Some(class) = class_at_end(before) else { continue };
            let rest = prose.rest_of_line(at + words.len());
            let value = leading_value(rest).map(|(value, _)| value);
            prose.push(value.filter(|value| is_told_apart(class, value)), class, spans);
        }
    }
    for at in memmem::find_iter(prose.text.as_bytes(), " as ") {
        let rest = prose.rest_of_line(at + " as ".len());
        let is_variable = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let name = rest.trim_start_matches('`');
        let name = &name[..name.find(|c: char| !is_variable(c)).unwrap_or(name.len())];
        let Some(class) = name_class(name.as_bytes()).filter(|_| name.contains('_')) else { continue };
        let line = end_of(&prose.text[..at], AROUND).rsplit('\n').next().unwrap_or_default();
        for word in line.split_whitespace() {
            let value = leading_value(word).map(|(value, _)| value);
            prose.push(value.filter(|value| is_told_apart(class, value)), class, spans);
        }
    }
}

/// The class of the name of a secret at the end of a sentence, in lower case.
fn class_at_end(sentence: &str) -> Option<NameClass> {
    let words = sentence
        .trim_end_matches(|c: char| c.is_whitespace() || ".,;:!-\u{2013}\u{2014}\u{3002}".contains(c));
    let ends = |names: &[&str]| names.iter().any(|name| words.ends_with(name));
    if ends(&PASSWORDS) || ends(&ENGLISH) {
        return Some(NameClass::Password);
    }
    if ends(&TOKENS) {
        return Some(NameClass::Token);
    }
    let from = words.rmatch_indices(' ').nth(1).map_or(0, |(at, _)| at + 1);
    name_class(&words.as_bytes()[from..])
}

/// Whether a value apart from its name is a secret: at least 16 random letters and digits, or a password that
/// can be nothing else. A digest is no value of a name such as `cache key`.
fn is_told_apart(class: NameClass, value: &str) -> bool {
    let context = ValueContext { quoting: ValueQuoting::Bare, place: ValuePlace::Sentence };
    let is_long = value.len() >= 16 || class == NameClass::Password;
    let is_clear = is_certain(value) || matches!(class, NameClass::Token | NameClass::Secret);
    let is_mixed =
        value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic());
    is_long && is_clear && is_mixed && is_secret(class, value, context)
}

/// A text that is searched for words.
pub(super) struct Prose<'a> {
    pub(super) text: &'a str,
    /// The text in lower case, byte for byte.
    pub(super) small: String,
    pairs: BytePairs,
}

impl<'a> Prose<'a> {
    fn of(text: &'a str) -> Self {
        let small = small_letters(text);
        let pairs = BytePairs::of(&small);
        Self { text, small, pairs }
    }

    /// Whether the text can contain the word. To search a short text for each of 200 words costs more than to
    /// read it once.
    fn may_have(&self, word: &str) -> bool {
        self.pairs.have_all_of(word)
    }

    /// Where each occurrence of the words ends, in bytes of the text.
    pub(super) fn ends_of<'b>(&'b self, words: &'b [&str]) -> impl Iterator<Item = usize> + 'b {
        words.iter().filter(|word| self.may_have(word)).flat_map(|word| ends_of(&self.small, word))
    }

    /// The rest of the line from `at` on, cut at [`AROUND`] bytes.
    pub(super) fn rest_of_line(&self, at: usize) -> &'a str {
        cut_bytes(&self.text[at..], AROUND).split('\n').next().unwrap_or_default()
    }

    pub(super) fn push(&self, value: Option<&str>, class: NameClass, spans: &mut Vec<SecretSpan>) {
        let Some(value) = value else { return };
        let from = offset_in(self.text, value);
        let kind = if class == NameClass::Password { SecretKind::Password } else { SecretKind::Secret };
        spans.push(SecretSpan { from, to: from + value.len(), kind });
    }
}

/// The pairs of bytes that follow each other in a text, a bit for each.
struct BytePairs(Vec<u64>);

impl BytePairs {
    fn of(text: &str) -> Self {
        let mut bits = vec![0; (1 << 16) / 64];
        for (at, bit) in text.as_bytes().windows(2).map(Self::place) {
            bits[at] |= bit;
        }
        Self(bits)
    }

    fn place(pair: &[u8]) -> (usize, u64) {
        let pair = usize::from(pair[0]) << 8 | usize::from(pair[1]);
        (pair / 64, 1 << (pair % 64))
    }

    fn have_all_of(&self, word: &str) -> bool {
        word.as_bytes().windows(2).map(Self::place).all(|(at, bit)| self.0[at] & bit != 0)
    }
}

/// The text in small letters, byte for byte: a letter whose small form has another length stays.
fn small_letters(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars()
        .map(|c| {
            let mut small = c.to_lowercase();
            match (small.next(), small.next()) {
                (Some(one), None) if one.len_utf8() == c.len_utf8() => one,
                _ => c,
            }
        })
        .collect()
}

/// Where `word` ends in the text, unless it is part of another word. It may have an ending (`паролем`), and
/// in German follow another word (`Datenbankpasswort`).
fn ends_of<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    // These scripts do not separate words by spaces.
    let is_apart = word.chars().all(|c| c < '\u{e00}');
    let is_compound = word.ends_with("wort");
    memmem::find_iter(text.as_bytes(), word).filter_map(move |at| {
        let before = text[..at].chars().next_back();
        let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@');
        if is_apart && !is_compound && before.is_some_and(in_word) {
            return None;
        }
        let mut end = at + word.len();
        if is_apart {
            let ending: usize =
                text[end..].chars().take(4).take_while(|c| c.is_alphabetic()).map(char::len_utf8).sum();
            end += ending;
        }
        // `Passwortmanager`, `Passwort-Feld` and `passwort_alt` are different names.
        let rest = &text[end..];
        let goes_on = is_apart && rest.starts_with(char::is_alphanumeric);
        (!goes_on && !rest.starts_with(['-', '_', '.', '/', '('])).then_some(end)
    })
}

/// The secret behind a word of this class; `rest` is the rest of its line.
fn value(rest: &str, class: NameClass) -> Option<&str> {
    linked(rest, class, &LINKS).or_else(|| whose(rest)).or_else(|| {
        let (value, form) = leading_value(rest)?;
        is_secret_word(class, value, form).then_some(value)
    })
}

/// Whether a value can only be a password: at least eight characters, with letters of both cases and digits.
fn is_certain(value: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| value.bytes().any(|b| kind(&b));
    value.len() >= 8 && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit)
}

/// The secret behind one of these links.
fn linked<'a>(rest: &'a str, class: NameClass, links: &[&str]) -> Option<&'a str> {
    let ahead = cut_bytes(rest, GAP);
    let (at, len) = links.iter().filter_map(|link| ahead.find(link).map(|at| (at, link.len()))).min()?;
    let is_plain =
        |c: char| !c.is_ascii_punctuation() || matches!(c, '-' | '\'' | '(' | ')') || c == ',' && len > 1;
    if !ahead[..at].chars().all(is_plain) {
        return None;
    }
    let (mut value, mut form) = leading_value(&rest[at + len..])?;
    if FILLERS.contains(&value) {
        let behind = &rest[offset_in(rest, value) + value.len()..];
        (value, form) = leading_value(behind)?;
    }
    let is_next = ahead[..at].trim().is_empty() && class == NameClass::Password;
    // `пароль от почты: X`.
    let first = ahead[..at].split_whitespace().next().unwrap_or_default();
    let is_named =
        WHOSE.contains(&first) && ahead[at..].starts_with([':', '：']) && class == NameClass::Password;
    if is_named && is_certain(value) && !is_placeholder(value) && !value.contains('/') {
        return Some(value);
    }
    (is_next && is_versioned_password(value) || is_secret_word(class, value, form)).then_some(value)
}

/// The last word behind the owner of the password: `пароль для сервера X`.
fn whose(rest: &str) -> Option<&str> {
    let (first, rest) = rest.trim_start().split_once(' ')?;
    let (_, rest) = rest.trim_start().split_once(' ').filter(|_| WHOSE.contains(&first))?;
    let (value, form) = leading_value(rest)?;
    let is_last = rest.trim().trim_end_matches(['.', ',', ';']) == value;
    (is_last && is_certain(value) && is_secret_word(NameClass::Password, value, form)).then_some(value)
}

/// The secret behind an English word and a verb, with at most the owner of the password between them.
fn english(rest: &str) -> Option<&str> {
    let link = |links: &[&str]| linked(rest, NameClass::Password, links).filter(|value| is_certain(value));
    let value = link(&VERBS).or_else(|| link(&[":"]))?;
    let gap = rest[..offset_in(rest, value)].trim_start();
    let first = gap.split_whitespace().next().unwrap_or_default();
    // `the password is X` is an assignment, which `assignments` finds.
    let is_foreign = VERBS.iter().skip(1).any(|verb| gap.trim_end() == verb.trim());
    let says_whose =
        is_foreign || gap.starts_with('(') || matches!(first, "for" | "of" | "on") || WHOSE.contains(&first);
    (says_whose && gap.split_whitespace().count() <= 5).then_some(value)
}

/// The last word of a text, without the quotes around it.
fn last_word(text: &str) -> Option<&str> {
    let word = text.rsplit(char::is_whitespace).next()?;
    Some(word.trim_matches(['"', '\'', '`', '“', '”', '«', '»', ','])).filter(|word| !word.is_empty())
}

/// Whether no word follows that would change the meaning of the one before: `password field`.
fn ends_a_clause(rest: &str) -> bool {
    let rest = rest.trim_start_matches(' ');
    let ends = |c: char| matches!(c, '.' | ',' | ';' | '!' | '\n' | ')' | '"');
    rest.chars().next().is_none_or(ends)
        || ["for ", "of ", "on ", "to ", "in ", "and "].iter().any(|word| rest.starts_with(word))
}

/// The value in `X is my wifi password`, where the word for a password ends at `at` and the clause with it.
fn is_my_password<'a>(text: &'a str, small: &str, at: usize) -> Option<&'a str> {
    if !ends_a_clause(&small[at..]) {
        return None;
    }
    let line = end_of(&small[..at], AROUND).rsplit('\n').next()?;
    let from = at - line.len();
    let (n, link) = [" is my ", " is our ", " is the ", " is your "]
        .iter()
        .filter_map(|link| Some((line.rfind(link)?, link.len())))
        .max()?;
    let is_short = line[n + link..].split_whitespace().count() <= 3;
    last_word(&text[from..from + n]).filter(|value| is_short && is_certain(value))
}

/// The word that fills the next line, if nothing but a colon or a verb follows on this one: `my password
/// is\nX`.
fn on_the_next_line(ahead: &str) -> Option<&str> {
    let (rest, below) = ahead.split_once('\n')?;
    let is_linked = rest.trim_end().ends_with([':', '：'])
        || VERBS.iter().any(|verb| rest.trim() == verb.trim())
        || rest.trim().is_empty();
    let words = rest.trim().trim_end_matches([':', '：']).trim_end();
    // The owner of the password, in a few words.
    let is_short = words.split_whitespace().count() <= 3 && !words.contains(['.', ';', '{', '"', '/']);
    // A line that was cut may continue.
    let (line, _) = below.split_once('\n').or_else(|| (ahead.len() < AROUND - 4).then_some((below, "")))?;
    let (value, form) = leading_value(line).filter(|_| is_linked && is_short)?;
    let is_all = line.trim().trim_matches(['"', '`', '\'']) == value;
    let is_digest = value.len() >= 7 && value.bytes().all(|b| b.is_ascii_hexdigit());
    let is_file = value.contains(['/', '\\', '(', '{', '<', '='])
        || value.rsplit_once('.').is_some_and(|(_, end)| {
            (1..=4).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_lowercase())
        });
    // A list of fields has a word on each line.
    let is_certain = !rest.trim().is_empty()
        || is_certain(value) && value.bytes().any(|b| b.is_ascii_punctuation() && b != b'_');
    (is_all && is_certain && !is_digest && !is_file && is_secret_word(NameClass::Password, value, form))
        .then_some(value)
}

fn is_secret_word(class: NameClass, value: &str, form: ValueQuoting) -> bool {
    // A long word of a sentence is no secret. In a script without spaces between words, a value is in another
    // script.
    let is_word = value.chars().all(|c| c.is_alphabetic() || c == '-') && !is_made_of_words(value)
        || form == ValueQuoting::Bare && value.starts_with(|c: char| c >= '\u{e00}');
    !is_word && is_secret(class, value, ValueContext { quoting: form, place: ValuePlace::Sentence })
}

/// The value that begins here, without the quotes around it or the punctuation of the sentence, and how it is
/// quoted.
fn leading_value(rest: &str) -> Option<(&str, ValueQuoting)> {
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '：' | '*'));
    const QUOTES: [(char, char); 9] = [
        ('"', '"'),
        ('\'', '\''),
        ('`', '`'),
        ('“', '”'),
        ('„', '“'),
        ('«', '»'),
        ('»', '«'),
        ('「', '」'),
        ('『', '』'),
    ];
    let first = rest.chars().next()?;
    if let Some((open, close)) = QUOTES.iter().find(|(open, _)| *open == first) {
        let inner = &rest[open.len_utf8()..];
        return inner.find(*close).map(|end| (&inner[..end], ValueQuoting::Quoted));
    }
    // Without spaces between words, text in another script ends the value.
    let ascii = first.is_ascii();
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '`' | '\u{3001}' | '\u{3002}' | '\u{ff0c}' | '\u{ff1b}')
            || ascii
                && matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
    };
    let end = rest.find(ends).unwrap_or(rest.len());
    // A JSON string escapes line breaks and quotes.
    let escape = ["\\n", "\\r", "\\t", "\\\""].iter().filter_map(|escape| rest[..end].find(escape)).min();
    let value = rest[..escape.unwrap_or(end)].trim_end_matches([',', ';', '.', ')', '\'', '\\']);
    (!value.is_empty()).then_some((value, ValueQuoting::Bare))
}

/// `name / X`, `name:X` and `name, X` behind a word for a login.
fn behind_name(rest: &str) -> Option<&str> {
    let linked = LINKS.iter().find_map(|link| rest.strip_prefix(link));
    // `login page / v2` is no login, so without a link the value must be certain.
    let rest = linked.or_else(|| rest.strip_prefix(' '))?.trim_start();
    let len = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@')))?;
    let rest = rest[len..].trim_start();
    let rest = rest.strip_prefix(['/', ':']).filter(|rest| len > 0 && !rest.starts_with('/'))?;
    let (value, form) = leading_value(rest)?;
    let is_told_so = linked.is_some() || is_certain(value) || is_made_of_words(value);
    (is_told_so && is_secret_word(NameClass::Password, value, form)).then_some(value)
}

/// `admin:X` in a sentence about basic authentication.
fn pair(word: &str) -> Option<&str> {
    let word = word.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | '(' | ')' | ',' | ';'));
    let (name, value) = word.split_once(':')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'@'));
    let value = value.trim_end_matches(['.', '"', '\'', '`']);
    let context = ValueContext { quoting: ValueQuoting::Argument, place: ValuePlace::Sentence };
    // `Kranich_77` could be a word with a version; `1.25-alpine` and `18-alpine` are.
    let is_versioned = value.len() >= 6
        && value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.bytes().any(|b| b.is_ascii_digit())
        && !value.contains('/')
        && !is_placeholder(value);
    let is_password =
        is_versioned || !value.starts_with('/') && is_secret(NameClass::Password, value, context);
    (is_name && is_password).then_some(value)
}

/// The text behind a verb, with at most the owner of the password before the verb.
pub(super) fn behind_verb(rest: &str) -> Option<&str> {
    let ahead = cut_bytes(rest, GAP);
    let (at, len) = VERBS.iter().filter_map(|verb| Some((ahead.find(verb)?, verb.len()))).min()?;
    let gap = ahead[..at].trim();
    let first = gap.split_whitespace().next().unwrap_or_default();
    let says_whose = gap.is_empty() || matches!(first, "of" | "for") || WHOSE.contains(&first);
    let is_plain = gap.chars().all(|c| c.is_alphabetic() || c == ' ') && gap.split(' ').count() <= 4;
    (says_whose && is_plain).then(|| &rest[at + len..])
}

/// The words of a passphrase: `the passphrase for the key is correct horse battery`. Every word must be one
/// that ordinary sentences do not need.
fn phrase(rest: &str) -> Option<&str> {
    let rest = behind_verb(rest)?;
    let first = rest.chars().next()?;
    let value = match ['"', '\'', '`'].contains(&first) {
        true => rest[1..].split_once(first)?.0,
        false => rest.split(['.', ',', ';', '\n']).next()?.trim_end(),
    };
    let words = value.split_whitespace();
    ((3..=12).contains(&words.clone().count()) && words.clone().all(is_passphrase_word)).then_some(value)
}

/// Whether a word can be part of a passphrase: a short one that ordinary sentences do not need.
pub(super) fn is_passphrase_word(word: &str) -> bool {
    (3..=10).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_lowercase())
        && !["ed", "ing", "ly"].iter().any(|end| word.ends_with(end))
        && !IN_SENTENCES.split_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use crate::core::redact::redact;

    #[test]
    fn secrets_are_found_in_sentences_of_many_languages() {
        for (text, secret) in [
            ("das Passwort ist Moewe!2026", "Moewe!2026"),
            ("Passwort für die Datenbank lautet: kr0kodil-Teich_9, Benutzer app_ro", "kr0kodil-Teich_9"),
            ("Datenbankpasswort: Moewe!2027", "Moewe!2027"),
            ("Kennwort Möwe!2026", "Möwe!2026"),
            ("mot de passe : Mouette!26", "Mouette!26"),
            ("le mot de passe est « Mouette!27 »", "Mouette!27"),
            ("contraseña: Gaviota!26", "Gaviota!26"),
            ("das Passwort ist Kranich_78", "Kranich_78"),
            ("the password is hunter-Zeta-9918, port 5433", "hunter-Zeta-9918"),
            ("das Passwort ist Blau-Wal-4471 und der Port 5433", "Blau-Wal-4471"),
            ("contraseña: zebra-42-lamp", "zebra-42-lamp"),
            ("密码是GOLD-FISH-77，端口5433", "GOLD-FISH-77"),
            ("пароль Kai.4711.Kran, порт 5433", "Kai.4711.Kran"),
            ("mot de passe : correct-horse-battery-staple", "correct-horse-battery-staple"),
            ("the password is nordlys_2026_prod, port 5433", "nordlys_2026_prod"),
            ("with password Xk-29-Ppq on stage", "Xk-29-Ppq"),
            ("login hd / Xk-29-Ppq", "Xk-29-Ppq"),
            ("pw mango_tango_5", "mango_tango_5"),
            ("la contraseña es Gat0-negro-2024, usuario lectura", "Gat0-negro-2024"),
            ("пароль: Чайка!26", "Чайка!26"),
            ("Пароль от почты: Zx81-ромашка-7", "Zx81-ромашка-7"),
            ("зайди с паролем Zx81-чайка", "Zx81-чайка"),
            ("senha: Gaivota!26", "Gaivota!26"),
            ("hasło: Mewa!2026", "Mewa!2026"),
            ("wachtwoord: Meeuw!2026", "Meeuw!2026"),
            ("密码是 Haiou!2026", "Haiou!2026"),
            ("密码：Haiou!2027，用户 ops", "Haiou!2027"),
            ("パスワード: Kamome!26", "Kamome!26"),
            ("データベースのパスワードは sakura-Tora#55 です", "sakura-Tora#55"),
            ("パスワードはsakura-Tora#56です", "sakura-Tora#56"),
            ("비밀번호: Galmae!26", "Galmae!26"),
            ("비밀번호는 Galmae!27 입니다", "Galmae!27"),
            ("API-Schlüssel: 7f3a9c1e5b2d4f60817263544536271f", "7f3a9c1e5b2d"),
            ("clave de API: 7f3a9c1e5b2d4f60817263544536271e", "7f3a9c1e5b2d"),
            ("ключ API 7f3a9c1e5b2d4f60817263544536271d", "7f3a9c1e5b2d"),
            ("login is root / t00rPass!9", "t00rPass!9"),
            ("use admin:Kranich_77 for basic auth", "Kranich_77"),
            ("my pin is 4471", "4471"),
            ("die PIN ist 447190.", "447190"),
            ("the pin of the safe is 4471-88", "4471-88"),
            ("la pin del cajero es 4471", "4471"),
            ("the passphrase for the key is correct horse battery", "horse"),
            ("the passphrase of the key is blue whale sings low, do not print it", "whale"),
            ("my passphrase is \"tulip anchor velvet moss\"", "velvet"),
            ("the 2fa code is 481 223", "481 223"),
            ("verification code: 904417", "904417"),
            ("验证码是 481223", "481223"),
            ("card 4111 1111 1111 1111 cvc 737", "4111 1111"),
            ("card 4111 1111 1111 1111 cvc 737", "737"),
            ("the visa of the office: 4539-1488-0343-6467", "0343"),
            ("my password is\nTr1ck-Kite7", "Tr1ck-Kite7"),
            ("the bot needs the station key. its 7f3aQx9LmT2vKp8sZr4Wn6Yd", "Qx9LmT2vKp8s"),
            ("here is the api key. it's 7f3a9c1e5b2d4f60817263544536271f, ok", "7f3a9c1e5b2d"),
            ("hier ist der API-Schlüssel. es ist 7f3aQx9LmT2vKp8sZr4Wn6Yd", "Qx9LmT2vKp8s"),
            ("take the new token! Here it is: 7f3aQx9LmT2vKp8sZr4Wn6Yd", "Qx9LmT2vKp8s"),
            ("I changed the password. it is Tr1ck-Kite12", "Tr1ck-Kite12"),
            ("its 7f3aQx9LmT2vKp8sZr4Wn6Yd put it in .env as STATION_KEY", "Qx9LmT2vKp8s"),
            ("use Tr0ub4dor&3xyz as the password", "Tr0ub4dor"),
            ("\"Tr0ub4dor&3xyz\" is my wifi password", "Tr0ub4dor"),
            ("credentials are admin / Tr0ub4dor&3xyz", "Tr0ub4dor"),
            ("la password è Tr0ub4dor&3xyz", "Tr0ub4dor"),
            ("parola este Tr0ub4dor&3xyz", "Tr0ub4dor"),
            ("parola: Tr0ub4dor&3xyz", "Tr0ub4dor"),
            ("ο κωδικός είναι Tr0ub4dor&3xyz", "Tr0ub4dor"),
            ("הסיסמה היא Tr0ub4dor&3xyz", "Tr0ub4dor"),
            ("the TOTP seed is LC2T4KUJU7XCE45KK5VS4NXTXS2SOEUP", "KUJU7XCE45"),
            ("2FA secret: tjtp jrwi pevt rtss uvpz hwzd vxar d2b4", "pevt rtss"),
            ("Unseal Key 1: hnwgbDmzP3aWeDGjprsZTFJpG9qH46qpqtHcDzW0JVT=", "WeDGjprsZ"),
            (
                "seed phrase:\nocean\nrail\ntissue\nvelvet\nhawk\nlamp\norbit\nmuseum\npencil\nshrimp\ntower\nzebra",
                "pencil",
            ),
            (
                "my wallet words are ocean rail tissue velvet hawk lamp orbit museum pencil shrimp tower zebra",
                "pencil",
            ),
            ("GitHub recovery codes:\nf45d9-24fa0\nbcb61-4ead9\n9018f-13554\n0ec6c-3b38c", "9018f-13554"),
            ("backup codes: 8639 7306 6715 5494", "7306"),
            ("password:\nTr1ck-Kite8\nand go on", "Tr1ck-Kite8"),
            ("Passwort:\nTr1ck-Kite21", "Tr1ck-Kite21"),
            ("пароль\nTr1ck-Kite52", "Tr1ck-Kite52"),
            ("the db password (prod) is Tr1ck-Kite11", "Tr1ck-Kite11"),
            ("das neue Passwort heißt jetzt Tr1ck-Kite23", "Tr1ck-Kite23"),
            ("le mot de passe du serveur, c'est Tr1ck-Kite30", "Tr1ck-Kite30"),
            ("mdp: Tr1ck-Kite31", "Tr1ck-Kite31"),
            ("la clave del wifi es Tr1ck-Kite40", "Tr1ck-Kite40"),
            ("la password del server è Tr1ck-Kite71", "Tr1ck-Kite71"),
            ("пароль для сервера Tr1ck-Kite51", "Tr1ck-Kite51"),
            ("heslo je Tr1ck-Kite90", "Tr1ck-Kite90"),
            ("пароль от почты: karakol-44-Zz хост mail.port.example", "karakol-44-Zz"),
            ("पासवर्ड है Tr1ck-Kite86", "Tr1ck-Kite86"),
            ("login anna / Tr1ck-Kite10", "Tr1ck-Kite10"),
            ("token: ghp_a9B8c7D6e5F4g3H2\ni1J0k9L8m7N6o5P4q3R2", "i1J0k9L8m7N6o5P4q3R2"),
            (
                "Bearer eyJhbGciOiJIUzI1NiJ9.\neyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
                "dozjgNryP4J3",
            ),
        ] {
            let shown = redact(text);
            assert!(!shown.contains(secret) && shown.contains("[redacted: "), "{text} -> {shown}");
            assert_eq!(redact(&shown), shown);
        }
        for kept in [
            "the files that set the password:\nauth2fa.rs",
            "all tests but two pass: `test_swath_edges`",
            "These pass: `login_form_2`",
            "that is the cache key. its 9f3c1ab77d2e9f3c1ab77d2e9f3c1ab77d2e0011",
            "find the token. its length is 32",
            "nobody knows the password. it is in the vault",
            "use the digest 9f3c1ab77d2e9f3c1ab77d2e9f3c1ab77d2e0011 as CACHE_KEY",
            "export the path /srv/build/out2026 as STATION_KEY",
            "the seed phrase is a list of words that nobody may see",
            "backup codes: 10 of them, each for one login",
            "the recovery codes are hashed with bcrypt",
            "SHA256 is the default password hash",
            "use OAuth2Client as the password grant does",
            "use OAuth2Client as password field",
            "AesGcm256 is the password hash",
            "2FA secret: see docs",
            "la parola chiave è async",
            "the commit that changed the password:\n9f3c1ab77d2e",
            "password:\n  required",
            "password:\n- at least 12 characters",
            "login page / OAuth2 v2",
            "la clave primaria es id",
            "das Passwort für Server-2 ist abgelaufen",
            "пароль для входа длиннее 12",
            "token: [redacted: GitHub token]\nREADME.md",
            "the password field\nLoginForm2",
            "username\npassword\nSignup2FA",
            "password hashing is PBKDF2",
            "das Passwort ist Base64-kodiert",
            "the password is SHA-256 in the new table",
            "the password is state-of-the-art, they say",
            "the password of the model is claude-opus",
            "das Passwort ist first-come-first-served",
            "login page / oauth2-v1",
            "пароль до версии node-18.20.1",
            "the password storage is Argon2id-v1.3",
            "das Passwort vom Ticket OPS-1234",
            "the pin 13 of the board is high",
            "the pin of the board is 4711.5 mV",
            "the pin for libtide is 2024-11",
            "the pin of the LED is 13",
            "the passphrase is too short for this key",
            "the passphrase is stored in plain text",
            "the passphrase is four random words",
            "the passphrase is case sensitive everywhere",
            "the passphrase of the backup is part of the vault",
            "the passphrase is asked twice",
            "the verification code is 6 digits long",
            "in the tests the otp is 123456",
            "otp 26.2.5 is installed",
            "the 2fa code is in auth/totp.rs",
            "the security code: 2026-11-26 audit",
            "the test card is 4242 4242 4242 4242",
            "card 4111 1111 1111 1112 has a wrong digit",
            "card 12 of 4000 is moved",
            "the card has 1280 x 7200 pixels",
            "cvc5 1.2.0 is a solver",
            "the code is 404 again",
        ] {
            assert_eq!(redact(kept), kept);
        }
        assert_eq!(
            redact("la contraseña es Gat0-negro-2024, usuario lectura"),
            "la contraseña es [redacted: password], usuario lectura"
        );
    }
}
