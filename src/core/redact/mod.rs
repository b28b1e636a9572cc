//! Secrets, replaced in what is shown to a model or a person.
//!
//! Keys of known services by a table of rules (`secret_rules`), private keys (`blocks`),
//! credentials in URLs (`urls`), values that are assigned to a name like `password` (`assigned`, with `names`
//! and `values`), values that are told in a sentence, in many languages (`told`), or stand in a table below
//! their name (`tables`), and the places of
//! credentials in headers and password files (`places`) and in command lines
//! (`commands`, and `argv` for their words). Each of them reads the text once, so that any input costs linear
//! time. What is found is replaced by a mark that says its kind.
//!
//! It lowers the harm of a careless quote; it is no proof that nothing is left. A secret that stands alone,
//! without a known shape, a name or a place, cannot be told from a digest, and digests are kept.

mod argv;
mod assigned;
mod blocks;
mod colours;
mod commands;
mod names;
mod places;
mod secret_rules;
mod tables;
mod told;
mod urls;
mod values;
mod words;

#[cfg(test)]
mod lookalikes;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trial;

use std::fmt;
use std::ops::Range;

pub use argv::redact_words;

/// How a mark begins; a kind and `]` follow.
const MARK: &str = "[redacted: ";
/// Replacing one secret can put another at the beginning of a word: the text is read again until nothing is
/// found, at most so often.
const ROUNDS: usize = 8;

/// What a secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A value assigned to a name like `password`.
    Password,
    /// A value assigned to a name like `token`, `secret` or `api_key`.
    Secret,
    /// Name and password, or a token, in a URL.
    Url,
    /// A URL that is itself the permission to post.
    Webhook,
    /// A private key: a block, or its encoded body.
    PrivateKey,
    /// A JSON web token.
    Jwt,
    /// What follows `Authorization:`, `Bearer` or `Basic`.
    Authorization,
    /// The values of a cookie.
    Cookie,
    /// A line of `.netrc`, `.pgpass` or `/etc/shadow`.
    PasswordFile,
    /// Amazon Web Services.
    Aws,
    Google,
    /// Microsoft Azure.
    Azure,
    GitHub,
    GitLab,
    Slack,
    Stripe,
    /// A model provider: Anthropic, OpenAI, Hugging Face and others.
    Model,
    /// A package registry: npm, PyPI, Docker Hub and others.
    Registry,
    /// Any other service whose keys are known by their shape.
    Service,
}

impl Kind {
    const ALL: [Kind; 19] = [
        Kind::Password,
        Kind::Secret,
        Kind::Url,
        Kind::Webhook,
        Kind::PrivateKey,
        Kind::Jwt,
        Kind::Authorization,
        Kind::Cookie,
        Kind::PasswordFile,
        Kind::Aws,
        Kind::Google,
        Kind::Azure,
        Kind::GitHub,
        Kind::GitLab,
        Kind::Slack,
        Kind::Stripe,
        Kind::Model,
        Kind::Registry,
        Kind::Service,
    ];

    /// The word in the mark.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Password => "password",
            Kind::Secret => "secret",
            Kind::Url => "credentials in a URL",
            Kind::Webhook => "webhook",
            Kind::PrivateKey => "private key",
            Kind::Jwt => "JSON web token",
            Kind::Authorization => "authorization",
            Kind::Cookie => "cookie",
            Kind::PasswordFile => "password file",
            Kind::Aws => "AWS key",
            Kind::Google => "Google key",
            Kind::Azure => "Azure key",
            Kind::GitHub => "GitHub token",
            Kind::GitLab => "GitLab token",
            Kind::Slack => "Slack token",
            Kind::Stripe => "Stripe key",
            Kind::Model => "model provider key",
            Kind::Registry => "registry token",
            Kind::Service => "service key",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A place where something was replaced. The secret itself is kept nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redaction {
    pub kind: Kind,
    /// The line of the redacted text, from 1.
    pub line: usize,
    /// The byte of that line at which the mark begins, from 1.
    pub column: usize,
}

/// Bytes of a text that are a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: usize,
    to: usize,
    kind: Kind,
}

/// `text` with what looks like a secret replaced by a mark like `[redacted: password]`.
pub fn redact(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..ROUNDS {
        let found = in_plain(&colours::plain(&text));
        // Without what nobody sees, one word may be the end of another: the text is read both ways.
        // What is longer counts: the beginning of a secret may look like a whole one.
        let unseen = colours::without_hidden(&text).map(|plain| in_plain(&plain)).unwrap_or_default();
        let width = |spans: &[Span]| spans.iter().map(|span| span.to - span.from).sum::<usize>();
        let spans = if width(&unseen) > width(&found) { unseen } else { found };
        if spans.is_empty() {
            break;
        }
        text = replace(&text, &spans);
    }
    text
}

/// What is a secret in a plain text, as it was before it became plain.
fn in_plain(plain: &colours::Plain<'_>) -> Vec<Span> {
    spans(&plain.text).into_iter().map(|span| plain.back(span)).collect()
}

/// What is replaced in `redact(text)`, in order. It finds the marks of a text that is redacted already too.
pub fn found(text: &str) -> Vec<Redaction> {
    let text = redact(text);
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.split('\n')) {
        found.extend(marks(line).map(|(at, _, kind)| Redaction { kind, line: number, column: at + 1 }));
    }
    found
}

/// Where the secrets of `text` are, in bytes, in order and apart from each other: for text that must keep its
/// shape, such as a screen. The text must have no escape sequences.
pub fn secret_ranges(text: &str) -> Vec<(Range<usize>, Kind)> {
    let mut found = all_spans(text);
    if let Some(plain) = colours::without_hidden(text) {
        for span in all_spans(&plain.text).into_iter().map(|span| plain.back(span)) {
            if found.iter().all(|other| span.to <= other.from || other.to <= span.from) {
                found.push(span);
            }
        }
        found.sort_by_key(|span| span.from);
    }
    found.into_iter().map(|span| (span.from..span.to, span.kind)).collect()
}

/// The secrets of `text`, read again until nothing is found.
fn all_spans(text: &str) -> Vec<Span> {
    let mut found: Vec<Span> = Vec::new();
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

/// What is written in place of a secret.
pub fn mark(kind: Kind) -> String {
    format!("{MARK}{}]", kind.word())
}

/// The marks in `text`: where each begins and ends, and its kind.
fn marks(text: &str) -> impl Iterator<Item = (usize, usize, Kind)> + '_ {
    text.match_indices(MARK).filter_map(|(at, _)| {
        let rest = &text[at + MARK.len()..];
        let kind = Kind::ALL
            .into_iter()
            .find(|kind| rest.strip_prefix(kind.word()).is_some_and(|r| r.starts_with(']')))?;
        Some((at, at + MARK.len() + kind.word().len() + 1, kind))
    })
}

/// What is a secret in `text`, in order and apart from each other. A mark ends every word and every line.
fn spans(text: &str) -> Vec<Span> {
    spans_between(text, marks(text).map(|(at, end, _)| at..end))
}

/// The same, with these ranges for marks.
fn spans_between(text: &str, cuts: impl IntoIterator<Item = Range<usize>>) -> Vec<Span> {
    let mut all: Vec<Span> = Vec::new();
    let mut from = 0;
    for Range { start: at, end } in cuts.into_iter().chain(std::iter::once(text.len()..text.len())) {
        let mut spans = Vec::new();
        let part = &text[from..at];
        for find in [
            blocks::find,
            secret_rules::find,
            urls::find,
            places::find,
            assigned::find,
            tables::find,
            told::find,
        ] {
            find(part, &mut spans);
        }
        spans.iter_mut().for_each(|span| go_on_below(part, span));
        spans.sort_by_key(|span| (span.from, usize::MAX - span.to));
        for span in spans.into_iter().filter(|span| span.from < span.to) {
            let span = Span { from: span.from + from, to: span.to + from, ..span };
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
fn go_on_below(text: &str, span: &mut Span) {
    let is_token = !matches!(span.kind, Kind::Password | Kind::Url | Kind::PrivateKey | Kind::PasswordFile);
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
    let len =
        run(bytes, 0, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'+' | b'/' | b'='));
    let value = &below[..len];
    let has = |kind: fn(&u8) -> bool| value.bytes().any(|b| kind(&b));
    let is_all = below[len..].trim_start_matches([' ', '\r']).chars().next().is_none_or(|c| c == '\n');
    let is_mixed =
        has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit) && len >= 16;
    if (is_all || slash > 0) && is_mixed && value.split(['.', '_', '-', '/']).any(values::is_dense) {
        span.to += stop + slash + cr + 1 + len;
    }
}

fn replace(text: &str, spans: &[Span]) -> String {
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

/// Where `part`, which is a piece of `whole`, begins in it, in bytes.
fn place(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

/// The end of the run of bytes that are `in_set`, from `from` on.
fn run(bytes: &[u8], from: usize, in_set: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|b| !in_set(*b)).map_or(bytes.len(), |n| from + n)
}

/// Whether a word can begin at `at`: not in the middle of another, but after an escaped newline or a percent
/// code.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    let back = |n: usize| at.checked_sub(n).map(|i| bytes[i]);
    match back(1) {
        None => true,
        Some(b) if !b.is_ascii_alphanumeric() => true,
        Some(b'n' | b'r' | b't' | b'b' | b'f') if back(2) == Some(b'\\') => true,
        Some(b) if b.is_ascii_hexdigit() => {
            back(3) == Some(b'%') || (back(6) == Some(b'\\') && back(5) == Some(b'u'))
        }
        Some(_) => false,
    }
}
