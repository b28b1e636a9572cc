//! Credentials in URLs, and URLs that are credentials.
//!
//! `scheme://name:password@host` loses all before its `@`; the password may hold `@`, `/` and percent codes.
//! A name alone stays, when it does not look like a token. Signatures and codes in a query go as well; other
//! parameters are found by their names.

use super::SecretKind;
use super::byte_scan::run_end;
use super::placeholders::is_placeholder;
use super::secret_spans::SecretSpan;
use super::secret_values::{is_made_up, is_random};

/// The longest scheme, in bytes.
const SCHEME: usize = 24;
/// The longest credentials, in bytes.
const LONGEST: usize = 512;

/// Hosts and paths whose URL is the permission itself; what follows is hidden.
const WEBHOOKS: [&str; 14] = [
    "hooks.slack.com/services/",
    "hooks.slack.com/workflows/",
    "hooks.slack.com/triggers/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    ".webhook.office.com/",
    "outlook.office.com/webhook/",
    "hooks.zapier.com/hooks/catch/",
    "maker.ifttt.com/trigger/",
    "chat.googleapis.com/v1/spaces/",
    "hook.eu1.make.com/",
    "hook.eu2.make.com/",
    "hook.us1.make.com/",
    "hook.us2.make.com/",
];

/// Parameters that sign a URL or open it.
const SIGNED: [&str; 9] = [
    "sig=", "x-amz-signature=", "x-amz-security-token=", "x-goog-signature=", "code=", "signature=", "st=",
    "hash=", "hmac=",
];

pub(super) fn find(text: &str, spans: &mut Vec<SecretSpan>) {
    user_infos(text, spans);
    database_drivers(text, spans);
    webhooks(text, spans);
    for at in memchr::memchr2_iter(b'?', b'&', text.as_bytes()) {
        signature(text, at + 1, spans);
    }
}

/// `scheme://name:password@host`.
fn user_infos(text: &str, spans: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    let mut past = 0;
    for (at, _) in text.match_indices("://") {
        let scheme = bytes[..at]
            .iter()
            .rev()
            .take(SCHEME)
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
            .count();
        let from = at + 3;
        if scheme == 0 || from < past {
            continue;
        }
        // A JSON string ends with `\"`, and `\n` ends a line of it.
        let end = run_end(&bytes[..bytes.len().min(from + LONGEST)], from, |b| {
            !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'`' | b'\\')
        });
        let web = matches!(&text[at - scheme..at], "http" | "https" | "ws" | "wss" | "ssh" | "git");
        if let Some(user_end) = user_info(&bytes[from..end], web).map(|n| from + n)
            && is_credential(&text[from..user_end])
        {
            spans.push(SecretSpan { from, to: user_end, kind: SecretKind::Url });
            past = user_end;
        }
    }
}

/// Credentials in the forms of two drivers: `jdbc:oracle:thin:name/password@host`, and Go's
/// `name:password@tcp(host)/db`.
fn database_drivers(text: &str, spans: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices("jdbc:oracle:thin:") {
        let from = at + 17;
        let end = run_end(&bytes[..bytes.len().min(from + 200)], from, |b| {
            !b.is_ascii_whitespace() && !matches!(b, b'@' | b'"' | b'\'')
        });
        if bytes.get(end) == Some(&b'@') && bytes[from..end].contains(&b'/') {
            spans.push(SecretSpan { from, to: end, kind: SecretKind::Url });
        }
    }
    for (at, _) in text.match_indices("@tcp(").chain(text.match_indices("@unix(")) {
        let floor = at.saturating_sub(LONGEST);
        let word = bytes[floor..at]
            .iter()
            .rev()
            .take_while(|b| !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'`' | b'\\'))
            .count();
        if let Some(colon) = memchr::memchr(b':', &bytes[at - word..at])
            .filter(|n| !is_placeholder(&text[at - word + n + 1..at]))
        {
            spans.push(SecretSpan { from: at - word + colon + 1, to: at, kind: SecretKind::Url });
        }
    }
}

fn webhooks(text: &str, spans: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    for host in WEBHOOKS {
        let in_hook = |b: u8| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'/' | b'_' | b'-' | b'@' | b'.' | b'=' | b'?' | b'&' | b'%')
        };
        let mut past = 0;
        for (at, _) in text.match_indices(host) {
            if at < past {
                continue;
            }
            let from = at + host.len();
            let to = run_end(&bytes[..bytes.len().min(from + 300)], from, in_hook);
            let hook = &text[from..to];
            let plain = host.ends_with("catch/")
                && hook.len() >= 10
                && hook.contains('/')
                && hook.bytes().any(|b| b.is_ascii_digit());
            if (plain || is_random(hook)) && !is_made_up(hook) {
                past = run_end(bytes, to, in_hook);
                spans.push(SecretSpan { from, to: past, kind: SecretKind::Webhook });
            }
        }
    }
}

fn signature(text: &str, from: usize, spans: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    let named = |name: &&&str| {
        bytes[from..].get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes()))
    };
    let Some(name) = SIGNED.iter().find(named) else { return };
    let start = from + name.len();
    let end = run_end(bytes, start, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'%' | b'+' | b'/' | b'=' | b'_' | b'-' | b'.' | b'~')
    });
    if end - start >= 20 && is_random(&text[start..end.min(start + 300)]) && !is_made_up(&text[start..end]) {
        spans.push(SecretSpan { from: start, to: end, kind: SecretKind::Url });
    }
}

/// Where the `@` behind name and password stands in what follows `://`.
fn user_info(rest: &[u8], web: bool) -> Option<usize> {
    let authority = run_end(rest, 0, |b| !matches!(b, b'/' | b'?' | b'#'));
    let last = |to: usize| rest[..to].iter().rposition(|b| *b == b'@').filter(|at| is_host(&rest[at + 1..]));
    // A port is no password: what is before a path with `@` in it may be host and port.
    let colon = rest[..authority].iter().position(|b| *b == b':');
    let port = colon.map(|at| &rest[at + 1..authority]);
    let is_port =
        colon != Some(0) && port.is_some_and(|port| !port.is_empty() && port.iter().all(u8::is_ascii_digit));
    match last(authority) {
        Some(at) if web => Some(at),
        Some(at) => Some(last(rest.len()).unwrap_or(at)),
        // A password with a slash, a question mark or a hash in it.
        None if port.is_some() && !is_port && !rest.starts_with(b"[") => last(rest.len()),
        None => None,
    }
}

fn is_host(rest: &[u8]) -> bool {
    let len = run_end(rest, 0, |b| {
        b.is_ascii_alphanumeric()
            || matches!(b, b'.' | b'-' | b'_' | b'[' | b']' | b':' | b'$' | b'{' | b'}' | b'(' | b',')
    });
    len > 0
        && matches!(
            rest.get(len),
            None | Some(
                b'/' | b'?'
                    | b'#'
                    | b')'
                    | b';'
                    | b'}'
                    | b'!'
                    | b'&'
                    | b'='
                    | b'*'
                    | b'@'
                    | b'<'
                    | b'>'
                    | b'|'
            )
        )
}

/// Whether what is before the `@` holds a password, or is a token.
fn is_credential(info: &str) -> bool {
    match info.split_once(':') {
        Some((name, password)) => {
            let documented = matches!(
                password,
                "password" | "pass" | "passwd" | "pwd" | "secret" | "token" | "PASSWORD" | "PASS" | "TOKEN"
            ) && matches!(
                name.to_ascii_lowercase().as_str(),
                "user" | "username" | "name" | "login" | "u"
            );
            !(password.is_empty() && !is_random(name) || documented || is_placeholder(password))
        }
        None => is_random(info) && info.len() >= 16 && !is_placeholder(info),
    }
}
