//! Secrets that somebody tells in a sentence, in other languages than English too: `das Passwort ist X`,
//! `contraseña: X`, `パスワードは X です`, `use admin:X for basic auth`.
//!
//! The words are data. A value must look like a password wherever it stands, because most sentences with such
//! a word hold none: `Passwort ändern geht nicht`.

use memchr::memmem;

use super::names::Class;
use super::values::{How, Place, ValueQuoting, is_made_of_words, is_secret, is_told};
use super::words::is_placeholder;
use super::{Kind, Span, place};
use crate::core::claude::prompts::end_of;
use crate::core::text::safe_text::cut_bytes;

/// Words for a password, in small letters.
const PASSWORDS: [&str; 42] = [
    "parola", "parolă", "הסיסמה", "passwort", "kennwort", "mot de passe", "mdp", "clave", "lozinka",
    "पासवर्ड", "رمز عبور", "گذرواژه", "contraseña", "contrasena", "clave de acceso", "senha", "palavra-passe",
    "parola d'ordine", "hasło", "wachtwoord", "lösenord", "adgangskode", "passord", "salasana", "heslo",
    "jelszó", "şifre", "kata sandi", "mật khẩu", "парол", "κωδικός", "סיסמה", "كلمة المرور", "كلمة السر",
    "パスワード", "暗証番号", "密码", "密碼", "口令", "비밀번호", "암호", "รหัสผ่าน",
];

/// English words for a password, also where the sentence around them is in another language. In English most
/// sentences with them hold none, and a verb must link the value.
const ENGLISH: [&str; 3] = ["password", "passphrase", "passcode"];
/// Such verbs.
const VERBS: [&str; 12] = [
    " is ", " ist ", " lautet ", " heißt ", " est ", " es ", " è ", " é ", " är ", " este ", " είναι ",
    " היא ",
];

/// Words for a key or a token, of which only random characters are taken.
const TOKENS: [&str; 27] = [
    "unseal key", "totp seed", "otp seed", "2fa secret", "api-schlüssel", "api schlüssel",
    "zugriffsschlüssel", "clé api", "clé d'api", "clave de api", "clave api", "chave de api", "chave api",
    "chiave api", "klucz api", "api-sleutel", "api-nyckel", "ключ api", "api-ключ", "api ключ", "токен",
    "секрет", "apiキー", "トークン", "api密钥", "密钥", "api 키",
];

/// What stands between such a word and its value.
const LINKS: [&str; 37] = [
    " are ", " este ", " είναι ", " היא ", ":", "c'est ", " je ", " है ", "：", "=", "＝", " lautet", " ist ",
    " heißt ", " est ", " es ", " è ", " é ", " is ", " är ", " er ", " on ", " to ", " jest ", " это ",
    " — ", " – ", " - ", " -> ", "は", "是", "为", "為", "는 ", "은 ", " là ", " هي ",
];

/// What stands before a name and its password: `login is root / X`.
const LOGINS: [&str; 10] = [
    "login", "credentials", "creds", "zugangsdaten", "identifiants", "credenciales", "credenciais", "логин",
    "ログイン", "账号",
];

/// What may stand between a verb and the value.
const FILLERS: [&str; 16] = [
    "jetzt", "nun", "nur", "now", "still", "ahora", "maintenant", "ora", "adesso", "agora", "теперь",
    "сейчас", "nu", "teraz", "nyní", "şimdi",
];
/// What begins the words that say whose password it is: `пароль для сервера X`.
const WHOSE: [&str; 22] = [
    "для", "от", "к", "до", "на", "з", "від", "von", "vom", "für", "fürs", "du", "de", "des", "del", "della",
    "do", "da", "van", "voor", "för", "till",
];

/// What names a code that proves who somebody is, once.
const CODES: [&str; 20] = [
    "2fa",
    "2fa code",
    "2fa-code",
    "mfa code",
    "otp",
    "otp code",
    "totp",
    "totp code",
    "sms code",
    "sms-code",
    "one-time code",
    "one-time password",
    "verification code",
    "security code",
    "einmalcode",
    "bestätigungscode",
    "code de vérification",
    "código de verificación",
    "код подтверждения",
    "验证码",
];
/// What names a payment card.
const CARDS: [&str; 10] =
    ["card", "visa", "mastercard", "amex", "karte", "kreditkarte", "tarjeta", "cartão", "carte", "карта"];
/// What names the digits on its back.
const CARD_CHECKS: [&str; 3] = ["cvc", "cvv", "cvv2"];
/// How far the number of a card stands behind such a word at most, in bytes.
const NEAR_CARD: usize = 30;
/// Words of sentences about a passphrase: one of them, and it is no passphrase.
const IN_SENTENCES: &str = "the and for not all any are was were has had have its our your their his her \
     this that these those with without from into onto over under inside outside only also too \
     now then than still yet just never always often again once twice one two three four \
     five six seven eight ten more most less least long longer short shorter strong weak \
     wrong empty plain clear text same other another old new secret safe hidden known \
     visible random word words character characters letter letters digit digits case \
     sensitive read write set get kept sent put lost gone there here where when why how \
     who which what will would can could may might must should does did been being very \
     quite enough required optional default stored because since until before after while \
     each every both either neither part file disk vault keyring keychain login user \
     everywhere nowhere anywhere everybody nobody everyone somebody someone good bad fine \
     okay mandatory invalid valid unknown equal identical different broken";

/// The longest text between a word and what links it to its value, in bytes.
const GAP: usize = 60;
/// What names the words that open a wallet.
const WALLETS: [&str; 7] = [
    "seed phrase", "recovery phrase", "backup phrase", "mnemonic", "wallet words", "seed words",
    "recovery words",
];
/// How many such words there are: at least, and at most.
const WALLET_WORDS: (usize, usize) = (12, 24);
/// What names codes that each open an account once.
const RECOVERY_CODES: [&str; 2] = ["recovery codes", "backup codes"];
/// What stands behind a value and says that it is a password: `use X as the password`.
const AS_PASSWORD: [&str; 8] = [
    " as the password", " as password", " as my password", " as its password", " as the passphrase",
    " als passwort", " comme mot de passe", " como contraseña",
];
/// How far a line is looked at on each side of such a word, in bytes.
const AROUND: usize = 240;

/// Words that say how something is proven.
const PROOFS: [&str; 2] = ["basic auth", "basic-auth"];

/// Finds them.
pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let small = small_letters(text);
    let pairs = BytePairs::of(&small);
    let ends_of =
        |word: &'static str| pairs.may_have(word).then(|| ends_of(&small, word)).into_iter().flatten();
    // What follows on the line.
    let behind = |at: usize| cut_bytes(&text[at..], AROUND).split('\n').next().unwrap_or_default();
    for (words, class) in [(&PASSWORDS[..], Class::Password), (&TOKENS[..], Class::Token)] {
        for at in words.iter().flat_map(|word| ends_of(word)) {
            push(text, value(behind(at), class), class, spans);
        }
    }
    let words = PASSWORDS.iter().chain(&ENGLISH);
    for at in words.flat_map(|word| ends_of(word)) {
        push(text, on_the_next_line(cut_bytes(&text[at..], AROUND)), Class::Password, spans);
    }
    for at in ENGLISH.iter().flat_map(|word| ends_of(word)) {
        push(text, english(behind(at)), Class::Password, spans);
    }
    for at in LOGINS.iter().flat_map(|word| ends_of(word)) {
        push(text, behind_name(behind(at)), Class::Password, spans);
    }
    for at in ends_of("pw").filter(|at| small[..*at].ends_with("pw")) {
        // Too short a word to say more.
        let value = told_value(behind(at)).map(|(value, _)| value);
        push(text, value.filter(|value| is_made_of_words(value)), Class::Password, spans);
    }
    for at in ends_of("pin") {
        push(text, number(behind(at)), Class::Password, spans);
    }
    for at in ends_of("passphrase") {
        push(text, phrase(behind(at)), Class::Password, spans);
    }
    for at in CODES.iter().flat_map(|word| ends_of(word)) {
        push(text, one_time_code(behind(at)), Class::Password, spans);
    }
    for at in CARDS.iter().flat_map(|word| ends_of(word)) {
        // The numbers of test cards are public, and of use.
        let is_test = end_of(&small[..at], NEAR_CARD).contains("test");
        push(text, card(behind(at)).filter(|_| !is_test), Class::Token, spans);
    }
    for at in CARD_CHECKS.iter().flat_map(|word| ends_of(word)) {
        push(text, card_check(behind(at)), Class::Token, spans);
    }
    for word in AS_PASSWORD.iter().filter(|word| pairs.may_have(word)) {
        for at in memmem::find_iter(small.as_bytes(), word) {
            let value = last_word(end_of(&text[..at], AROUND)).filter(|value| is_certain(value));
            push(text, value.filter(|_| ends_a_clause(&small[at + word.len()..])), Class::Password, spans);
        }
    }
    for at in ENGLISH.iter().flat_map(|word| ends_of(word)) {
        push(text, is_my_password(text, &small, at), Class::Password, spans);
    }
    for at in WALLETS.iter().flat_map(|word| ends_of(word)) {
        let words = words_in_a_row(cut_bytes(&text[at..], 2 * AROUND), WALLET_WORDS.1, |word| {
            (3..=8).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase())
        });
        push(
            text,
            words.filter(|(_, n)| *n >= WALLET_WORDS.0).map(|(words, _)| words),
            Class::Password,
            spans,
        );
    }
    for at in RECOVERY_CODES.iter().flat_map(|word| ends_of(word)) {
        let codes = words_in_a_row(cut_bytes(&text[at..], 2 * AROUND), usize::MAX, |word| {
            (4..=24).contains(&word.len())
                && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
                && word.bytes().any(|b| b.is_ascii_digit())
        });
        push(text, codes.filter(|(_, n)| *n >= 3).map(|(codes, _)| codes), Class::Password, spans);
    }
    for at in ends_of("2fa secret").chain(ends_of("totp secret")) {
        let is_group = |word: &str| {
            word.len() == 4 && word.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'2'..=b'7'))
        };
        let groups = words_in_a_row(behind(at), usize::MAX, is_group);
        let has_digit = |words: &&str| words.bytes().any(|b| b.is_ascii_digit());
        let groups = groups.filter(|(_, n)| *n >= 4).map(|(words, _)| words).filter(has_digit);
        push(text, groups, Class::Token, spans);
    }
    for at in PROOFS.iter().flat_map(|word| ends_of(word)) {
        let before = end_of(&text[..at], AROUND).rsplit('\n').next().unwrap_or_default();
        for word in before.split_whitespace().chain(behind(at).split_whitespace()) {
            push(text, pair(word), Class::Password, spans);
        }
    }
}

fn push(text: &str, value: Option<&str>, class: Class, spans: &mut Vec<Span>) {
    let Some(value) = value else { return };
    let from = place(text, value);
    let kind = if class == Class::Password { Kind::Password } else { Kind::Secret };
    spans.push(Span { from, to: from + value.len(), kind });
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

/// The pairs of bytes that follow each other in a text. A word with another pair is not in the text: to search
/// a short text for each of 200 words costs more than to read it once.
struct BytePairs(Vec<u64>);

impl BytePairs {
    fn of(text: &str) -> BytePairs {
        let mut pairs = vec![0; (1 << 16) / 64];
        for (word, bit) in text.as_bytes().windows(2).map(BytePairs::place) {
            pairs[word] |= bit;
        }
        BytePairs(pairs)
    }

    /// Which of the words, and which of its bits.
    fn place(pair: &[u8]) -> (usize, u64) {
        let pair = usize::from(pair[0]) << 8 | usize::from(pair[1]);
        (pair / 64, 1 << (pair % 64))
    }

    fn may_have(&self, word: &str) -> bool {
        word.as_bytes().windows(2).map(BytePairs::place).all(|(word, bit)| self.0[word] & bit != 0)
    }
}

/// Where `word` ends in the text, where it is no part of another word. It may have an ending of its own
/// (`паролем`), and stand behind another in German (`Datenbankpasswort`).
fn ends_of<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    // Words of these scripts are not set apart by spaces.
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
        // `Passwortmanager`, `Passwort-Feld` and `passwort_alt` are other names.
        let rest = &text[end..];
        let goes_on = is_apart && rest.starts_with(char::is_alphanumeric);
        (!goes_on && !rest.starts_with(['-', '_', '.', '/', '('])).then_some(end)
    })
}

/// The secret behind a word of this class; `rest` is the rest of its line.
fn value(rest: &str, class: Class) -> Option<&str> {
    linked(rest, class, &LINKS).or_else(|| whose(rest)).or_else(|| {
        let (value, form) = told_value(rest)?;
        is_secret_word(class, value, form).then_some(value)
    })
}

/// Letters of both cases and digits, at least eight.
fn is_certain(value: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| value.bytes().any(|b| kind(&b));
    value.len() >= 8 && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit)
}

/// The secret behind one of these links.
fn linked<'a>(rest: &'a str, class: Class, links: &[&str]) -> Option<&'a str> {
    let ahead = cut_bytes(rest, GAP);
    let (at, len) = links.iter().filter_map(|link| ahead.find(link).map(|at| (at, link.len()))).min()?;
    let is_plain =
        |c: char| !c.is_ascii_punctuation() || matches!(c, '-' | '\'' | '(' | ')') || c == ',' && len > 1;
    if !ahead[..at].chars().all(is_plain) {
        return None;
    }
    let (mut value, mut form) = told_value(&rest[at + len..])?;
    if FILLERS.contains(&value) {
        let behind = &rest[place(rest, value) + value.len()..];
        (value, form) = told_value(behind)?;
    }
    let is_next = ahead[..at].trim().is_empty() && class == Class::Password;
    // `пароль от почты: X`.
    let first = ahead[..at].split_whitespace().next().unwrap_or_default();
    let is_named = WHOSE.contains(&first) && ahead[at..].starts_with([':', '：']) && class == Class::Password;
    if is_named && is_certain(value) && !is_placeholder(value) && !value.contains('/') {
        return Some(value);
    }
    (is_next && is_told(value) || is_secret_word(class, value, form)).then_some(value)
}

/// The last word behind those that say whose password it is: `пароль для сервера X`.
fn whose(rest: &str) -> Option<&str> {
    let (first, rest) = rest.trim_start().split_once(' ')?;
    let (_, rest) = rest.trim_start().split_once(' ').filter(|_| WHOSE.contains(&first))?;
    let (value, form) = told_value(rest)?;
    let is_last = rest.trim().trim_end_matches(['.', ',', ';']) == value;
    (is_last && is_certain(value) && is_secret_word(Class::Password, value, form)).then_some(value)
}

/// The secret behind an English word and a verb, where at most the words that say whose it is stand between.
fn english(rest: &str) -> Option<&str> {
    let value = linked(rest, Class::Password, &VERBS).filter(|value| is_certain(value))?;
    let gap = rest[..place(rest, value)].trim_start();
    let first = gap.split_whitespace().next().unwrap_or_default();
    // `the password is X` is an assignment, and found there.
    let is_foreign = VERBS.iter().skip(1).any(|verb| gap.trim_end() == verb.trim());
    let says_whose =
        is_foreign || gap.starts_with('(') || matches!(first, "for" | "of" | "on") || WHOSE.contains(&first);
    (says_whose && gap.split_whitespace().count() <= 5).then_some(value)
}

/// The last word of a text, without the quotes round it.
fn last_word(text: &str) -> Option<&str> {
    let word = text.rsplit(char::is_whitespace).next()?;
    Some(word.trim_matches(['"', '\'', '`', '“', '”', '«', '»', ','])).filter(|word| !word.is_empty())
}

/// Whether no word follows that would make another name of the one before: `password field`.
fn ends_a_clause(rest: &str) -> bool {
    let rest = rest.trim_start_matches(' ');
    let ends = |c: char| matches!(c, '.' | ',' | ';' | '!' | '\n' | ')' | '"');
    rest.chars().next().is_none_or(ends)
        || ["for ", "of ", "on ", "to ", "in ", "and "].iter().any(|word| rest.starts_with(word))
}

/// The value in `X is my wifi password`, where the word for a password ends at `at` and the sentence with it.
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
        let at = place(rest, word);
        found = Some(match found {
            None => (at, at + word.len(), 1),
            Some((from, _, n)) => (from, at + word.len(), n + 1),
        });
    }
    found.map(|(from, to, n)| (&rest[from..to], n))
}

/// The word that is the whole next line, where nothing follows on this one but a colon or a verb:
/// `my password is\nX`.
fn on_the_next_line(ahead: &str) -> Option<&str> {
    let (rest, below) = ahead.split_once('\n')?;
    let is_linked = rest.trim_end().ends_with([':', '：'])
        || VERBS.iter().any(|verb| rest.trim() == verb.trim())
        || rest.trim().is_empty();
    let words = rest.trim().trim_end_matches([':', '：']).trim_end();
    // Whose it is, in a few words.
    let is_short = words.split_whitespace().count() <= 3 && !words.contains(['.', ';', '{', '"', '/']);
    // A line that is cut may go on.
    let (line, _) = below.split_once('\n').or_else(|| (ahead.len() < AROUND - 4).then_some((below, "")))?;
    let (value, form) = told_value(line).filter(|_| is_linked && is_short)?;
    let is_all = line.trim().trim_matches(['"', '`', '\'']) == value;
    let is_digest = value.len() >= 7 && value.bytes().all(|b| b.is_ascii_hexdigit());
    let is_file = value.contains(['/', '\\', '(', '{', '<', '='])
        || value.rsplit_once('.').is_some_and(|(_, end)| {
            (1..=4).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_lowercase())
        });
    // A list of fields has a word on each line.
    let is_certain = !rest.trim().is_empty()
        || is_certain(value) && value.bytes().any(|b| b.is_ascii_punctuation() && b != b'_');
    (is_all && is_certain && !is_digest && !is_file && is_secret_word(Class::Password, value, form))
        .then_some(value)
}

fn is_secret_word(class: Class, value: &str, form: ValueQuoting) -> bool {
    // A long word of a sentence is none, and where words are not set apart a value is in another script.
    let is_word = value.chars().all(|c| c.is_alphabetic() || c == '-') && !is_made_of_words(value)
        || form == ValueQuoting::Bare && value.starts_with(|c: char| c >= '\u{e00}');
    !is_word && is_secret(class, value, How { form, place: Place::Talk })
}

/// The word that begins here, and how it is written: without the quotes round it, and without what ends a
/// sentence.
fn told_value(rest: &str) -> Option<(&str, ValueQuoting)> {
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
    // Where words are not set apart by spaces, what is written in another script ends it.
    let ascii = first.is_ascii();
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '`' | '\u{3001}' | '\u{3002}' | '\u{ff0c}' | '\u{ff1b}')
            || ascii
                && matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
    };
    let end = rest.find(ends).unwrap_or(rest.len());
    // In a JSON string a line break and a quote are escaped.
    let escape = ["\\n", "\\r", "\\t", "\\\""].iter().filter_map(|escape| rest[..end].find(escape)).min();
    let value = rest[..escape.unwrap_or(end)].trim_end_matches([',', ';', '.', ')', '\'', '\\']);
    (!value.is_empty()).then_some((value, ValueQuoting::Bare))
}

/// `name / X`, `name:X` and `name, X` behind a word for a login.
fn behind_name(rest: &str) -> Option<&str> {
    let linked = LINKS.iter().find_map(|link| rest.strip_prefix(link));
    // `login page / v2` is none, so without a link the value must be certain.
    let rest = linked.or_else(|| rest.strip_prefix(' '))?.trim_start();
    let len = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@')))?;
    let rest = rest[len..].trim_start();
    let rest = rest.strip_prefix(['/', ':']).filter(|rest| len > 0 && !rest.starts_with('/'))?;
    let (value, form) = told_value(rest)?;
    let is_told_so = linked.is_some() || is_certain(value) || is_made_of_words(value);
    (is_told_so && is_secret_word(Class::Password, value, form)).then_some(value)
}

/// `admin:X` as a word of a sentence about basic authentication.
fn pair(word: &str) -> Option<&str> {
    let word = word.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | '(' | ')' | ',' | ';'));
    let (name, value) = word.split_once(':')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'@'));
    let value = value.trim_end_matches(['.', '"', '\'', '`']);
    let how = How { form: ValueQuoting::Argument, place: Place::Talk };
    // `Kranich_77` could be a word with a version, `1.25-alpine` and `18-alpine` are.
    let is_versioned = value.len() >= 6
        && value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.bytes().any(|b| b.is_ascii_digit())
        && !value.contains('/')
        && !is_placeholder(value);
    let is_password = is_versioned || !value.starts_with('/') && is_secret(Class::Password, value, how);
    (is_name && is_password).then_some(value)
}

/// The digits in `my pin is 4471` and `the pin of the safe is 4471-88`. A pin of a chip is not told in this
/// way: `pin 8`, `pin: 4711 must blink`; and a version has a year or a point.
fn number(rest: &str) -> Option<&str> {
    let rest = behind_verb(rest)?;
    let value = digits(rest, '-');
    let count = value.bytes().filter(u8::is_ascii_digit).count();
    let is_date = value.contains('-') && (value.starts_with("19") || value.starts_with("20"));
    ((4..=8).contains(&count) && value.matches('-').count() <= 1 && !is_date && is_all(rest, value))
        .then_some(value)
}

/// What follows a verb, where at most the words that say whose it is stand before it.
fn behind_verb(rest: &str) -> Option<&str> {
    let ahead = cut_bytes(rest, GAP);
    let (at, len) = VERBS.iter().filter_map(|verb| Some((ahead.find(verb)?, verb.len()))).min()?;
    let gap = ahead[..at].trim();
    let first = gap.split_whitespace().next().unwrap_or_default();
    let says_whose = gap.is_empty() || matches!(first, "of" | "for") || WHOSE.contains(&first);
    let is_plain = gap.chars().all(|c| c.is_alphabetic() || c == ' ') && gap.split(' ').count() <= 4;
    (says_whose && is_plain).then(|| &rest[at + len..])
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

/// The words of a passphrase: `the passphrase for the key is correct horse battery`. All words of the
/// sentence are words that say something by themselves, which those of other sentences are not.
fn phrase(rest: &str) -> Option<&str> {
    let rest = behind_verb(rest)?;
    let first = rest.chars().next()?;
    let value = match ['"', '\'', '`'].contains(&first) {
        true => rest[1..].split_once(first)?.0,
        false => rest.split(['.', ',', ';', '\n']).next()?.trim_end(),
    };
    let words = value.split_whitespace();
    ((3..=12).contains(&words.clone().count()) && words.clone().all(is_of_its_own)).then_some(value)
}

/// Whether a word says something by itself, as those of a passphrase do.
pub(super) fn is_of_its_own(word: &str) -> bool {
    (3..=10).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_lowercase())
        && !["ed", "ing", "ly"].iter().any(|end| word.ends_with(end))
        && !IN_SENTENCES.split_whitespace().any(|known| known == word)
}

/// The digits in `the 2fa code is 481 223`. Those that everybody takes for an example are none.
fn one_time_code(rest: &str) -> Option<&str> {
    let rest = LINKS.iter().find_map(|link| rest.strip_prefix(link))?.trim_start();
    let between = if digits(rest, ' ').contains(' ') { ' ' } else { '-' };
    let value = digits(rest, between);
    let parts: Vec<&str> = value.split(between).collect();
    let is_even = parts.len() <= 2 && parts.iter().all(|part| part.len() == parts[0].len());
    let figures: String = parts.concat();
    let is_example = "0123456789".contains(&figures) || super::values::distinct(&figures) < 3;
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
