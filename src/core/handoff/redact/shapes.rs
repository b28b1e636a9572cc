//! Tokens that are known by their parts: web tokens, bot tokens, and keys with a mark in their middle.

use super::values::{is_random, is_scrambled, made_up};
use super::{Kind, Span, begins_word, run};

/// What a JSON web token begins with: the encoded `{"alg":`, `{"typ":` and others.
const HEADERS: [&str; 8] = [
    "eyJhbGciOi",
    "eyJ0eXAiOi",
    "eyJraWQiOi",
    "eyJlbmMiOi",
    "eyJjdHkiOi",
    "eyJ4NXQi",
    "eyJqa3Ui",
    "eyJ6aXAiOi",
];

/// Finds them.
pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let in_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'~');
    let mut at = 0;
    while at < bytes.len() {
        if !in_word(bytes[at]) {
            at += 1;
            continue;
        }
        let end = run(bytes, at, in_word);
        let word = &text[at..end];
        if word.len() >= 8 {
            word_at(text, at, word, spans);
        }
        at = end;
    }
}

fn word_at(text: &str, at: usize, word: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let mut hide = |from: usize, to: usize, kind| spans.push(Span { from, to, kind });
    // The letter of an escaped line break sticks to the word, and so does the minus of a diff.
    let escaped = at > 0 && bytes[at - 1] == b'\\' && matches!(bytes[at], b'n' | b'r' | b't');
    let skip = if escaped { 1 } else { word.len() - word.trim_start_matches('-').len() };
    let (at, word) = (at + skip, &word[skip..]);
    if let Some(digits) = word.len().checked_sub(word.trim_end_matches(|c: char| c.is_ascii_digit()).len())
        && (8..=12).contains(&digits)
        && bytes.get(at + word.len()) == Some(&b':')
    {
        let secret = at + word.len() + 1;
        let end = run(&bytes[..bytes.len().min(secret + 64)], secret, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
        });
        if (32..=46).contains(&(end - secret)) && bytes[secret] == b'A' {
            hide(at + word.len() - digits, end, Kind::Service);
        }
    }
    let end = at + word.trim_end_matches('.').len();
    let word = &text[at..end];
    if let Some(from) = jwt(text, at, word) {
        hide(from, end, Kind::Jwt);
        return;
    }
    let parts: Vec<&str> = word.splitn(5, '.').collect();
    let all = |part: &str, kind: fn(&u8) -> bool| part.bytes().all(|b| kind(&b));
    let kind = match parts[..] {
        ["s", token] if token.len() == 24 && all(token, u8::is_ascii_alphanumeric) && is_random(token) => {
            Some(Kind::Service)
        }
        ["SG", id, secret] if id.len() >= 16 && secret.len() >= 20 => Some(Kind::Service),
        [id, time, secret]
            if (23..=28).contains(&id.len())
                && (6..=7).contains(&time.len())
                && (27..=45).contains(&secret.len()) =>
        {
            id.starts_with(['M', 'N', 'O']).then_some(Kind::Service)
        }
        [id, secret] if id.len() == 17 && id.starts_with("pat") && secret.len() >= 50 => Some(Kind::Service),
        [_, "atlasv1", secret] if secret.len() >= 40 => Some(Kind::Service),
        ["pat", account, id, secret] if account.len() >= 20 && id.len() >= 20 && secret.len() >= 16 => {
            Some(Kind::Service)
        }
        [key] => one(key),
        _ => None,
    };
    if let Some(kind) = kind.filter(|_| !made_up(word)) {
        hide(at, end, kind);
        return;
    }
    // Azure: a client's secret has `Q~` after a digit, 4 characters from its beginning.
    for part in word.split('.') {
        if let Some(mark) = part.find("Q~")
            && (3..=5).contains(&mark)
            && part.len() >= 30
            && all(&part[mark - 1..mark], u8::is_ascii_digit)
        {
            hide(at, end, Kind::Azure);
            return;
        }
    }
}

/// A key of one part.
fn one(word: &str) -> Option<Kind> {
    let hex = |part: &str, len: usize| part.len() == len && part.bytes().all(|b| b.is_ascii_hexdigit());
    let upper = |part: &str, len: usize| {
        part.len() == len && part.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
    };
    let alnum = word.bytes().all(|b| b.is_ascii_alphanumeric());
    let parts: Vec<&str> = word.split('-').take(8).collect();
    let is_key = match parts[..] {
        // Mailchimp: where the key is valid stands behind it.
        [key, place] if hex(key, 32) => place.starts_with("us") && (3..=4).contains(&place.len()),
        // Mailgun.
        [key, a, b] if hex(key, 32) => hex(a, 8) && hex(b, 8),
        // The secret key of 1Password.
        ["A3", a, b, c, d, e] => upper(a, 6) && upper(b, 11) && [c, d, e].iter().all(|part| upper(part, 5)),
        ["A3", a, b, c, d, e, f] => {
            [a, b].iter().all(|part| upper(part, 6)) && [c, d, e, f].iter().all(|part| upper(part, 5))
        }
        // LaunchDarkly: a UUID.
        ["sdk" | "api" | "mob", a, b, c, d, e] => {
            hex(a, 8) && [b, c, d].iter().all(|part| hex(part, 4)) && hex(e, 12)
        }
        // New Relic and Azure DevOps have their mark within.
        [key] if alnum => {
            key.len() == 40 && key.ends_with("NRAL") || key.len() >= 80 && key.contains("JQQJ99")
        }
        _ => false,
    };
    let resend = word.strip_prefix("re_").and_then(|rest| rest.split_once('_'));
    let resend = resend.is_some_and(|(id, key)| {
        id.len() == 8 && key.len() >= 20 && (key.bytes().any(|b| b.is_ascii_digit()) || is_scrambled(key))
    });
    (is_key || resend).then_some(Kind::Service)
}

/// Where a web token begins in `word`: two or three parts, the first of them a JSON object, or a first part
/// that cannot be anything else (the rest may be torn off).
fn jwt(text: &str, at: usize, word: &str) -> Option<usize> {
    let mut from = at;
    let mut parts = word.split('.').peekable();
    while let Some(part) = parts.next() {
        let start =
            part.find("eyJ").filter(|n| part.len() - n >= 10 && begins_word(text.as_bytes(), from + n));
        if let Some(n) = start {
            let header = &part[n..];
            let known = HEADERS.iter().any(|head| header.starts_with(head)) && header.len() >= 16;
            let payload = parts.peek().is_some_and(|next| next.starts_with("eyJ") && next.len() >= 10);
            let mapbox = part.len() == n + header.len() && from >= at + 3 && word.starts_with("sk.");
            if known || payload || mapbox {
                return Some(if mapbox { at } else { from + n });
            }
        }
        from += part.len() + 1;
    }
    None
}
