//! Replaces the secrets of a text, and lists what was replaced.

use std::ops::Range;

use super::SecretKind;
use super::plain_text::{self, PlainText};
use super::secret_kind::{mark, marks};
use super::secret_spans::{SecretSpan, spans, spans_between};

/// Replacing one secret can put another at the beginning of a word: the text is read again until nothing is
/// found, at most so often.
const ROUNDS: usize = 8;

/// A place where something was replaced. The secret itself is kept nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redaction {
    pub kind: SecretKind,
    /// The line of the redacted text, from 1.
    pub line: usize,
    /// The byte of that line at which the mark begins, from 1.
    pub column: usize,
}

/// `text` with what looks like a secret replaced by a mark like `[redacted: password]`.
pub fn redact(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..ROUNDS {
        let found = in_plain(&plain_text::without_colours(&text));
        // Without what nobody sees, one word may be the end of another: the text is read both ways.
        // What is longer counts: the beginning of a secret may look like a whole one.
        let unseen = plain_text::without_hidden(&text).map(|plain| in_plain(&plain)).unwrap_or_default();
        let width = |spans: &[SecretSpan]| spans.iter().map(|span| span.to - span.from).sum::<usize>();
        let spans = if width(&unseen) > width(&found) { unseen } else { found };
        if spans.is_empty() {
            break;
        }
        text = replace(&text, &spans);
    }
    text
}

/// What is a secret in a plain text, as it was before it became plain.
fn in_plain(plain: &PlainText<'_>) -> Vec<SecretSpan> {
    spans(&plain.text).into_iter().map(|span| plain.original(span)).collect()
}

/// What is replaced in `redact(text)`, in order. It finds the marks of a text that is redacted already too.
pub fn redactions(text: &str) -> Vec<Redaction> {
    let text = redact(text);
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.split('\n')) {
        found.extend(marks(line).map(|(at, _, kind)| Redaction { kind, line: number, column: at + 1 }));
    }
    found
}

/// Where the secrets of `text` are, in bytes, in order and apart from each other: for text that must keep its
/// shape, such as a screen. The text must have no escape sequences.
pub fn secret_ranges(text: &str) -> Vec<(Range<usize>, SecretKind)> {
    let mut found = all_spans(text);
    if let Some(plain) = plain_text::without_hidden(text) {
        for span in all_spans(&plain.text).into_iter().map(|span| plain.original(span)) {
            if found.iter().all(|other| span.to <= other.from || other.to <= span.from) {
                found.push(span);
            }
        }
        found.sort_by_key(|span| span.from);
    }
    found.into_iter().map(|span| (span.from..span.to, span.kind)).collect()
}

/// The secrets of `text`, read again until nothing is found.
fn all_spans(text: &str) -> Vec<SecretSpan> {
    let mut found: Vec<SecretSpan> = Vec::new();
    for _ in 0..ROUNDS {
        let mut cuts: Vec<Range<usize>> = marks(text).map(|(at, end, _)| at..end).collect();
        cuts.extend(found.iter().map(|span| span.from..span.to));
        cuts.sort_by_key(|cut| cut.start);
        let more = spans_between(text, cuts);
        if more.is_empty() {
            break;
        }
        found.extend(more);
        found.sort_by_key(|span| span.from);
    }
    found
}

fn replace(text: &str, spans: &[SecretSpan]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        out.push_str(&text[from..span.from]);
        out.push_str(&mark(span.kind));
        from = span.to;
    }
    out.push_str(&text[from..]);
    out
}
