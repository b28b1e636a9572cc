//! Places where credentials stand: headers, cookies, password files, and lines of commands (`commands`).

use base64::prelude::{BASE64_STANDARD, Engine};

use super::byte_scan::{begins_word, offset_in, run_end};
use super::placeholders::is_placeholder;
use super::secret_names::NameClass;
use super::secret_spans::SecretSpan;
use super::secret_values::{ValueContext, ValuePlace, ValueQuoting, is_made_up, is_random, is_secret};
use super::{SecretKind, command_secrets};

/// The longest line whose words are looked at, in bytes; of a longer one its beginning.
const PLACE_LINE_MAX: usize = 4096;

pub(super) fn find(text: &str, spans: &mut Vec<SecretSpan>) {
    schemes(text, spans);
    let mut from = 0;
    for line in text.split('\n') {
        let looked = crate::core::text::safe_text::cut_bytes(line, PLACE_LINE_MAX);
        cookies(looked, line, from, spans);
        // In a JSON string the line breaks are written as `\n`.
        for part in line.split("\\n") {
            let at = from + offset_in(line, part);
            let looked = crate::core::text::safe_text::cut_bytes(part, PLACE_LINE_MAX);
            command_secrets::find(looked, at, spans);
            for piece in looked.split(['"', '\'']).filter(|piece| piece.matches(':').nth(3).is_some()) {
                pgpass(piece, at + offset_in(looked, piece), spans);
            }
        }
        from += line.len() + 1;
    }
    logins(text, spans);
    netrc(text, spans);
    aws_pairs(text, spans);
    docker(text, spans);
}

/// `Bearer X`, `Basic X`, `Authorization: token X` and the like.
fn schemes(text: &str, spans: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphabetic() || !begins_word(bytes, at) {
            at += 1;
            continue;
        }
        let end = run_end(bytes, at, |b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        // The letter of an escaped line break sticks to the word.
        let escaped = at > 0 && bytes[at - 1] == b'\\' && matches!(bytes[at], b'n' | b'r' | b't');
        let word = &text[at + usize::from(escaped)..end];
        at = end;
        let header =
            word.eq_ignore_ascii_case("authorization") || word.eq_ignore_ascii_case("proxy-authorization");
        let scheme = ["bearer", "basic", "sswp", "ssws", "negotiate", "ntlm", "apikey"]
            .iter()
            .any(|s| word.eq_ignore_ascii_case(s));
        if !header && !scheme {
            continue;
        }
        let mut from = run_end(&bytes[..bytes.len().min(end + 12)], end, |b| {
            matches!(b, b' ' | b'\t' | b':' | b'=' | b'"' | b'\'' | b'\\' | b'>' | b',')
        });
        if from == end {
            continue;
        }
        if header {
            // The scheme, where there is one, is the next word and stays.
            let word_end = run_end(bytes, from, |b| b.is_ascii_alphabetic());
            if bytes.get(word_end) == Some(&b' ') && word_end - from <= 16 && word_end > from {
                from = word_end + 1;
            }
        }
        let in_value = |b: u8| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'.' | b'_' | b'-' | b'+' | b'/' | b'=' | b'~' | b'%' | b':' | b'|')
        };
        // The beginning of a value says what it is; it is hidden to its end.
        let to = run_end(&bytes[..bytes.len().min(from + 512)], from, in_value);
        let value = text[from..to].trim_end_matches(['.', ',', ':']);
        if bytes.get(to) == Some(&b'(') {
            continue;
        }
        let basic = !word.eq_ignore_ascii_case("basic") || header || is_pair(value);
        let long = if header { 6 } else { 8 };
        let letters = word.eq_ignore_ascii_case("bearer")
            && value.len() >= 16
            && value.bytes().all(|b| b.is_ascii_alphanumeric());
        let random = is_random(value)
            || header && value.bytes().any(|b| b.is_ascii_digit())
            || is_pair(value)
            || letters;
        if value.len() >= long && basic && random && !is_placeholder(value) && !is_made_up(value) {
            at = run_end(bytes, from + value.len(), in_value);
            spans.push(SecretSpan {
                from,
                to: if to == from + 512 { at } else { from + value.len() },
                kind: SecretKind::Authorization,
            });
        }
    }
}

/// Whether it is base64 of `name:password`.
fn is_pair(text: &str) -> bool {
    let decoded = (text.len() >= 8).then(|| BASE64_STANDARD.decode(text).ok()).flatten().unwrap_or_default();
    decoded.contains(&b':') && decoded.iter().all(|b| (0x20..0x7f).contains(b))
}

/// `Cookie: a=b; c=d` and `Set-Cookie:`.
fn cookies(looked: &str, line: &str, from: usize, spans: &mut Vec<SecretSpan>) {
    let lower = looked.to_ascii_lowercase();
    for name in [
        "cookie:", "cookie\":", "cookie\\\":", "cookie =", "cookie=", "cookie', '", "cookie\", \"",
        "--cookie ", " -b ",
    ] {
        let Some(at) = lower.find(name) else { continue };
        let curl = name != " -b " || lower.contains("curl");
        let mut at = at + name.len();
        let attribute = ["path", "domain", "expires", "max-age", "samesite", "version"];
        while curl && at < looked.len() {
            let pair = looked[at..].split([';', '\n']).next().unwrap_or_default();
            if let Some((key, value)) = pair.split_once('=') {
                let start = at + key.len() + 1;
                let end = run_end(line.as_bytes(), start, |b| {
                    !matches!(b, b';' | b'"' | b'\'' | b'\\' | b' ' | b',' | b'`')
                });
                let key = key.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_lowercase();
                let session = ["sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "remember"]
                    .iter()
                    .any(|part| key.contains(part));
                let value = &value[..value.len().min(end - start)];
                let secret = value.len() >= 6
                    && (is_random(value) || session && value.bytes().any(|b| b.is_ascii_digit()));
                if secret && !attribute.contains(&key.as_str()) && !is_placeholder(value) {
                    spans.push(SecretSpan { from: from + start, to: from + end, kind: SecretKind::Cookie });
                }
            }
            at += pair.len() + 1;
        }
    }
}

/// `host:port:database:user:password`.
fn pgpass(line: &str, from: usize, spans: &mut Vec<SecretSpan>) {
    // A file that was shown with line numbers has them before the line.
    let start = line.len()
        - line
            .trim_start_matches(|c: char| {
                c.is_whitespace()
                    || c.is_ascii_digit()
                    || matches!(c, '\u{2192}' | '|' | '+' | '-' | '>' | '#')
            })
            .len();
    let start = if line[start..].starts_with([':', '.']) { 0 } else { start };
    // A line that a search found has its file and its number before it.
    let listed = line[start..].split_once(':').and_then(|(file, rest)| {
        let (number, rest) = rest.split_once(':')?;
        (file.contains(['/', '.'])
            && rest.matches(':').count() >= 4
            && number.len() < 6
            && number.bytes().all(|b| b.is_ascii_digit()))
        .then(|| line.len() - rest.len())
    });
    let start = listed.unwrap_or(start);
    let text = line[start..].trim_end();
    let mut fields = text.splitn(5, ':');
    let (Some(host), Some(port), Some(_), Some(user), Some(password)) =
        (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return;
    };
    let host_ok = !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'*'));
    let port_ok = port == "*" || (4..=5).contains(&port.len()) && port.bytes().all(|b| b.is_ascii_digit());
    let hex = |field: &str| field.len() <= 4 && field.bytes().all(|b| b.is_ascii_hexdigit() || b == b':');
    let password_ok = password.len() >= 4
        && !password.contains(char::is_whitespace)
        && !password.split(':').all(hex)
        && !is_placeholder(password);
    if host_ok
        && port_ok
        && password_ok
        && !user.is_empty()
        && !text[..text.len() - password.len()].contains(' ')
    {
        let at = start + text.len() - password.len();
        spans.push(SecretSpan {
            from: from + at,
            to: from + at + password.len(),
            kind: SecretKind::PasswordFile,
        });
    }
}

/// `login X password Y`, on one line or on several.
fn netrc(text: &str, spans: &mut Vec<SecretSpan>) {
    for (at, _) in text.match_indices("login") {
        let ahead = crate::core::text::safe_text::cut_bytes(&text[at..], 300);
        // In a JSON string the line breaks are written as `\n`.
        let plain = ahead.replace("\\n", "  ").replace(['\n', '\r', '\t'], " ");
        let mut words = words_at(&plain);
        let (Some((_, "login")), Some(_), Some((_, "password")), Some((from, value))) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let value = value.trim_end_matches(['"', '\'', '\\']);
        if value.len() >= 3 && !is_placeholder(value) {
            spans.push(SecretSpan {
                from: at + from,
                to: at + from + value.len(),
                kind: SecretKind::PasswordFile,
            });
        }
    }
}

/// A name and a password as arguments: `auth=('u', 'X')`, `HTTPBasicAuth('u', 'X')`, `login("u", "X")`.
fn logins(text: &str, spans: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    for at in memchr::memchr_iter(b'(', bytes) {
        let before = bytes[at.saturating_sub(12)..at].to_ascii_lowercase();
        if !["auth", "auth=", "auth::new", "login", "credentials", "credential"]
            .iter()
            .any(|name| before.ends_with(name.as_bytes()))
        {
            continue;
        }
        let ahead = crate::core::text::safe_text::cut_bytes(&text[at + 1..], 200)
            .split('\n')
            .next()
            .unwrap_or_default();
        let Some((_, rest)) =
            ahead.split_once(',').filter(|(name, _)| name.trim_start_matches('\\').starts_with(['"', '\'']))
        else {
            continue;
        };
        let opened = rest.trim_start_matches([' ', '\\']);
        let Some(quote) = opened.chars().next().filter(|c| matches!(c, '"' | '\'')) else { continue };
        let Some(len) = opened[1..].find(quote) else { continue };
        let value = opened[1..=len].trim_end_matches('\\');
        let from = offset_in(text, value);
        let context = ValueContext { quoting: ValueQuoting::Argument, place: ValuePlace::Inline };
        if is_secret(NameClass::Password, value, context) {
            spans.push(SecretSpan { from, to: from + value.len(), kind: SecretKind::Password });
        }
    }
}

/// The words of a text with their places.
fn words_at(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split(' ').filter_map(move |word| {
        let from = at;
        at += word.len() + 1;
        let trimmed = word.trim();
        (!trimmed.is_empty()).then(|| (from + word.len() - word.trim_start().len(), trimmed))
    })
}

/// The secret that stands near an access key of AWS without a name: 40 characters of base64.
fn aws_pairs(text: &str, spans: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    let in_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'+' | b'=' | b'_' | b'-');
    let mut past = 0;
    for (at, _) in text.match_indices("AKIA").chain(text.match_indices("ASIA")) {
        let from = (at + 20).max(past);
        let until = bytes.len().min(at + 220);
        if bytes.get(at..at + 20).is_none_or(|id| !id.iter().all(u8::is_ascii_alphanumeric)) || from >= until
        {
            continue;
        }
        let mut word = from;
        while word < until {
            let end = run_end(&bytes[..bytes.len().min(until + 60)], word, in_word);
            let has = |kind: fn(&u8) -> bool| bytes[word..end].iter().any(kind);
            if end - word == 40
                && has(u8::is_ascii_uppercase)
                && has(u8::is_ascii_lowercase)
                && has(u8::is_ascii_digit)
            {
                spans.push(SecretSpan { from: word, to: end, kind: SecretKind::Aws });
            }
            word = end + 1;
        }
        past = until;
    }
}

/// `"auth": "..."` of Docker, where the value is a name and a password in base64; `_auth=` of npm.
fn docker(text: &str, spans: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices("auth") {
        let from = run_end(&bytes[..bytes.len().min(at + 16)], at + 4, |b| {
            matches!(b, b'"' | b'\'' | b'\\' | b':' | b'=' | b' ')
        });
        let to = run_end(&bytes[..bytes.len().min(from + 512)], from, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')
        });
        if from > at + 4 && is_pair(&text[from..to]) {
            spans.push(SecretSpan { from, to, kind: SecretKind::Registry });
        }
    }
}
