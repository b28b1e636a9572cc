//! Tokens that are known by their parts: web tokens, bot tokens, and keys with a mark in their middle.

use super::values::made_up;
use super::{Kind, Span, begins_word, run};

/// What a JSON web token begins with: the encoded `{"alg":`, `{"typ":` and others.
const HEADERS: [&str; 8] =
    ["eyJhbGciOi", "eyJ0eXAiOi", "eyJraWQiOi", "eyJlbmMiOi", "eyJjdHkiOi", "eyJ4NXQi", "eyJqa3Ui", "eyJ6aXAiOi"];

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
    // The letter of an escaped line break sticks to the word.
    let skip = usize::from(at > 0 && bytes[at - 1] == b'\\' && matches!(bytes[at], b'n' | b'r' | b't'));
    let (at, word) = (at + skip, &word[skip..]);
    if let Some(digits) = word.len().checked_sub(word.trim_end_matches(|c: char| c.is_ascii_digit()).len())
        && (8..=12).contains(&digits)
        && bytes.get(at + word.len()) == Some(&b':')
    {
        let secret = at + word.len() + 1;
        let end = run(&bytes[..bytes.len().min(secret + 64)], secret, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
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
        ["SG", id, secret] if id.len() >= 16 && secret.len() >= 20 => Some(Kind::Service),
        [id, time, secret] if (23..=28).contains(&id.len()) && (6..=7).contains(&time.len()) && (27..=45).contains(&secret.len()) => {
            id.starts_with(['M', 'N', 'O']).then_some(Kind::Service)
        }
        [id, secret] if id.len() == 17 && id.starts_with("pat") && secret.len() >= 50 => Some(Kind::Service),
        [_, "atlasv1", secret] if secret.len() >= 40 => Some(Kind::Service),
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

/// A key of one part: 32 hexadecimal digits, and where they are valid (`-us12`).
fn one(word: &str) -> Option<Kind> {
    let (hex, place) = word.split_once("-us")?;
    let is_key = hex.len() == 32 && hex.bytes().all(|b| b.is_ascii_hexdigit()) && (1..=2).contains(&place.len());
    is_key.then_some(Kind::Service)
}

/// Where a web token begins in `word`: two or three parts, the first of them a JSON object, or a first part that cannot
/// be anything else (the rest may be torn off).
fn jwt(text: &str, at: usize, word: &str) -> Option<usize> {
    let mut from = at;
    let mut parts = word.split('.').peekable();
    while let Some(part) = parts.next() {
        let start = part.find("eyJ").filter(|n| part.len() - n >= 10 && begins_word(text.as_bytes(), from + n));
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
