//! Where the secrets of a text are.

use std::ops::Range;

use super::byte_scan::run_end;
use super::secret_kind::marks;
use super::{
    SecretKind, assignments, credential_places, private_keys, prose, secret_layouts, secret_rules,
    secret_values, url_credentials,
};

/// Bytes of a text that are a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SecretSpan {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: SecretKind,
}

/// What is a secret in `text`, in order and apart from each other. A mark ends every word and every line.
pub(super) fn spans(text: &str) -> Vec<SecretSpan> {
    spans_between(text, marks(text).map(|(at, end, _)| at..end))
}

/// The same, with these ranges for marks.
pub(super) fn spans_between(text: &str, cuts: impl IntoIterator<Item = Range<usize>>) -> Vec<SecretSpan> {
    let mut all: Vec<SecretSpan> = Vec::new();
    let mut from = 0;
    for Range { start: at, end } in cuts.into_iter().chain(std::iter::once(text.len()..text.len())) {
        let mut spans = Vec::new();
        let part = &text[from..at];
        for find in [
            private_keys::find,
            secret_rules::find,
            url_credentials::find,
            credential_places::find,
            assignments::find,
            secret_layouts::find,
            prose::find,
        ] {
            find(part, &mut spans);
        }
        spans.iter_mut().for_each(|span| extend_to_next_line(part, span));
        spans.sort_by_key(|span| (span.from, usize::MAX - span.to));
        for span in spans.into_iter().filter(|span| span.from < span.to) {
            let span = SecretSpan { from: span.from + from, to: span.to + from, ..span };
            match all.last_mut() {
                Some(last) if span.from < last.to => last.to = last.to.max(span.to),
                _ => all.push(span),
            }
        }
        from = end;
    }
    all
}

/// A token that was broken over two lines goes on in the next one: random letters of both cases and digits,
/// and nothing else in the line. A digest is none.
fn extend_to_next_line(text: &str, span: &mut SecretSpan) {
    let is_token = !matches!(
        span.kind,
        SecretKind::Password | SecretKind::Url | SecretKind::PrivateKey | SecretKind::PasswordFile
    );
    let rest = &text[span.to..];
    let stop = rest.len() - rest.trim_start_matches('.').len();
    // A line of a shell goes on behind a backslash.
    let (slash, below) = match rest[stop..].strip_prefix('\\') {
        Some(below) => (1, below),
        None => (0, &rest[stop..]),
    };
    let (cr, below) = below.strip_prefix('\r').map_or((0, below), |below| (1, below));
    let Some(below) = below.strip_prefix('\n').filter(|_| is_token) else { return };
    let bytes = &below.as_bytes()[..below.len().min(2048)];
    let len = run_end(bytes, 0, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'+' | b'/' | b'=')
    });
    let value = &below[..len];
    let has = |kind: fn(&u8) -> bool| value.bytes().any(|b| kind(&b));
    let is_all = below[len..].trim_start_matches([' ', '\r']).chars().next().is_none_or(|c| c == '\n');
    let is_mixed =
        has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit) && len >= 16;
    if (is_all || slash > 0) && is_mixed && value.split(['.', '_', '-', '/']).any(secret_values::is_dense) {
        span.to += stop + slash + cr + 1 + len;
    }
}
