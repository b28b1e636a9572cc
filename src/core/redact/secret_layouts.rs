//! Finds secrets in layouts of several lines, with the name above or around the value: a table with a column
//! of passwords, a `Secret` of Kubernetes, users of cloud-init and OpenVPN, a private JSON web key.

use memchr::memmem;

use super::SecretKind;
use super::byte_scan::{offset_in, run_end};
use super::placeholders::is_placeholder;
use super::secret_names::{NameClass, name_class};
use super::secret_spans::SecretSpan;
use super::secret_values::{ValueContext, ValuePlace, ValueQuoting, is_secret};
use crate::core::claude::prompts::end_of;
use crate::core::text::safe_text::cut_bytes;

/// The longest such layout, in bytes.
const LAYOUT_MAX: usize = 4096;
/// The members of a private JSON web key: of RSA, of elliptic curves, and of a symmetric key.
const PRIVATE_MEMBERS: [&str; 7] = ["\"d\"", "\"p\"", "\"q\"", "\"dp\"", "\"dq\"", "\"qi\"", "\"k\""];

pub(super) fn find(text: &str, spans: &mut Vec<SecretSpan>) {
    // The end of the text that was already searched.
    let mut past = 0;
    for (at, _) in text.match_indices("\"kty\"") {
        if at >= past {
            past = web_key(text, at, spans);
        }
    }
    for (at, _) in text.match_indices("kind: Secret\n") {
        let ahead = cut_bytes(&text[at..], LAYOUT_MAX);
        for name in ["\ndata:\n", "\nstringData:\n"] {
            if let Some(n) = memmem::find(ahead.as_bytes(), name.as_bytes()) {
                below(text, at + n + name.len(), ": ", 4, spans);
            }
        }
    }
    for (at, _) in text.match_indices("chpasswd:\n") {
        below(text, at + "chpasswd:\n".len(), ":", 3, spans);
    }
    for (at, _) in text.match_indices("<auth-user-pass>\n") {
        // The name, and the password on the next line.
        let ahead = &text[at + "<auth-user-pass>\n".len()..];
        let password = ahead.split('\n').nth(1).map(str::trim).filter(|line| !line.starts_with('<'));
        push(text, password, SecretKind::Password, spans);
    }
    let mut past = 0;
    for (at, _) in text.match_indices("\n|") {
        if at >= past && is_ruler(&text[at + 1..]) {
            past = columns(text, at, spans);
        }
    }
}

fn push(text: &str, value: Option<&str>, kind: SecretKind, spans: &mut Vec<SecretSpan>) {
    if let Some(value) = value.filter(|value| value.len() >= 3 && !is_placeholder(value)) {
        let from = offset_in(text, value);
        spans.push(SecretSpan { from, to: from + value.len(), kind });
    }
}

/// The private members of the JSON web key around `at`. Returns where the key ends.
fn web_key(text: &str, at: usize, spans: &mut Vec<SecretSpan>) -> usize {
    let before = end_of(&text[..at], LAYOUT_MAX);
    let Some(open) = memchr::memrchr(b'{', before.as_bytes()) else { return at };
    let begin = at - before.len() + open;
    let whole = cut_bytes(&text[begin..], LAYOUT_MAX);
    let whole = &whole[..memchr::memchr(b'}', whole.as_bytes()).unwrap_or(whole.len())];
    let found = |name: &&str| memmem::find(whole.as_bytes(), name.as_bytes()).map(|n| begin + n + name.len());
    for at in PRIVATE_MEMBERS.iter().filter_map(found) {
        let bytes = text.as_bytes();
        let from = run_end(bytes, at, |b| matches!(b, b' ' | b':' | b'"'));
        let to = run_end(bytes, from, |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        if to - from >= 20 {
            push(text, Some(&text[from..to]), SecretKind::PrivateKey, spans);
        }
    }
    begin + whole.len()
}

/// The values of the indented lines below, each behind `joint` and at least `least` bytes long.
fn below(text: &str, from: usize, joint: &str, least: usize, spans: &mut Vec<SecretSpan>) {
    for line in
        cut_bytes(&text[from..], LAYOUT_MAX).split('\n').take_while(|line| line.starts_with([' ', '\t']))
    {
        let line = line.trim().trim_start_matches("- ");
        let value = line.split_once(joint).map(|(name, value)| (name, value.trim_matches(['"', '\''])));
        // `list: |` and `expire: false` of cloud-init have a blank behind their colon.
        let value = value.filter(|(name, value)| {
            !name.contains(' ') && value.len() >= least && !value.starts_with(' ') && !value.contains(' ')
        });
        push(text, value.map(|(_, value)| value), SecretKind::Password, spans);
    }
}

/// Whether the line separates the head of a table from its rows.
fn is_ruler(text: &str) -> bool {
    let line = text.split('\n').next().unwrap_or_default();
    line.contains("--") && line.bytes().all(|b| matches!(b, b'|' | b'-' | b':' | b' ' | b'\r'))
}

/// The cells of a table in columns whose head names a password or a secret. The head ends at `at`. Returns
/// where the rows end.
fn columns(text: &str, at: usize, spans: &mut Vec<SecretSpan>) -> usize {
    let head = text[..at].rsplit('\n').next().unwrap_or_default();
    let wanted: Vec<(usize, NameClass)> = (0..)
        .zip(head.split('|'))
        .filter_map(|(n, name)| Some((n, name_class(name.trim().trim_matches(['*', '`']).as_bytes())?)))
        .filter(|(_, class)| matches!(class, NameClass::Password | NameClass::Secret | NameClass::Token))
        .collect();
    if wanted.is_empty() {
        return at;
    }
    let mut end = at;
    let rows = cut_bytes(&text[at + 1..], LAYOUT_MAX).split('\n').take_while(|row| row.starts_with('|'));
    for (number, row) in rows.enumerate() {
        end = offset_in(text, row) + row.len();
        if number == 0 {
            continue;
        }
        for (n, class) in &wanted {
            let cell = row.split('|').nth(*n).unwrap_or_default().trim().trim_matches('`');
            let context = ValueContext { quoting: ValueQuoting::Bare, place: ValuePlace::Sentence };
            let kind = if *class == NameClass::Password { SecretKind::Password } else { SecretKind::Secret };
            push(text, Some(cell).filter(|cell| is_secret(*class, cell, context)), kind, spans);
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use crate::core::redact::redact;

    #[test]
    fn secrets_below_their_names_are_replaced() {
        for (text, secret) in [
            (
                "| user | password |\n|---|---|\n| bob | aafNScM1s7lAP7WUE4BZqhQm |\n",
                "aafNScM1s7lAP7WUE4BZqhQm",
            ),
            ("| **token** | of |\n|:--|--:|\n| aB3dE5fG7hJ9kL1mN3pQ | x |", "aB3dE5fG7hJ9kL1mN3pQ"),
            (
                "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  db: NWhqOHlJWk0=\n",
                "NWhqOHlJWk0=",
            ),
            ("kind: Secret\nstringData:\n  db: hunter-two\ntype: Opaque\n", "hunter-two"),
            ("chpasswd:\n  list: |\n    root:Lu91oNdiCp\n  expire: false\n", "Lu91oNdiCp"),
            ("<auth-user-pass>\nbob\nQD9DJW4zkh5L\n</auth-user-pass>", "QD9DJW4zkh5L"),
            (
                r#"{"kty":"RSA","d":"XgviEQ5aEmgV9Mdt08Hop6gB1fHOHZmybyfFcm","n":"x"}"#,
                "XgviEQ5aEmgV9Mdt08Hop6gB1fHOHZmybyfFcm",
            ),
        ] {
            let shown = redact(text);
            assert!(!shown.contains(secret) && shown.contains("[redacted: "), "{text} -> {shown}");
            assert_eq!(redact(&shown), shown);
        }
        for kept in [
            "| field | password |\n|---|---|\n| type | string |\n| length | 12 |\n",
            "| token | count |\n|---|---|\n| input | 12000 |\n| output | 400 |\n",
            "kind: ConfigMap\ndata:\n  mode: production\n",
            "kind: Secret\nmetadata:\n  name: registry-login\n  labels: x\n",
            "chpasswd:\n  expire: false\n",
            r#"{"kty":"RSA","n":"XgviEQ5aEmgV9Mdt08Hop6gB1fHOHZmybyfFcm","e":"AQAB","kid":"d"}"#,
        ] {
            assert_eq!(redact(kept), kept);
        }
    }
}
