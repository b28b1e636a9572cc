//! Texts with colour codes in them: `password=` and its value may stand in different colours.
//!
//! The codes are taken out, the rest is read, and what was found is told by its place in the text as it was.
//! A code may be written as a JSON string or a program has it: `\u001b[32m`, `\x1b[0m`, `\033[1m`, `\e[0m`.

use std::borrow::Cow;

use super::Span;

/// How the character before a code may be written.
const ESCAPES: [&str; 7] = ["\u{1b}", "\\u001b", "\\u001B", "\\x1b", "\\x1B", "\\033", "\\e"];
/// The longest code, in bytes, without the character before it.
const LONGEST: usize = 40;

/// A text without colour codes.
pub(super) struct Plain<'a> {
    /// What is left.
    pub(super) text: Cow<'a, str>,
    /// Where a piece begins: in what is left, and in the text as it was.
    pieces: Vec<(usize, usize)>,
}

/// Takes the codes out.
pub(super) fn plain(text: &str) -> Plain<'_> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut pieces = vec![(0, 0)];
    let mut from = 0;
    for at in memchr::memchr2_iter(0x1b, b'\\', bytes) {
        let Some(to) = code(text, at).filter(|_| at >= from) else { continue };
        out.push_str(&text[from..at]);
        pieces.push((out.len(), to));
        from = to;
    }
    if from == 0 {
        return Plain { text: Cow::Borrowed(text), pieces };
    }
    out.push_str(&text[from..]);
    Plain { text: Cow::Owned(out), pieces }
}

/// The end of the code that begins at `at`.
fn code(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let escape = ESCAPES.iter().find(|escape| bytes[at..].starts_with(escape.as_bytes()))?;
    let open = at + escape.len();
    let rest = bytes.get(open..bytes.len().min(open + LONGEST))?.strip_prefix(b"[")?;
    let len = rest.iter().position(|b| !(b.is_ascii_digit() || matches!(b, b';' | b':' | b'?')))?;
    matches!(rest[len], b'm' | b'K').then_some(open + len + 2)
}

impl Plain<'_> {
    /// `span` of what is left, in the text as it was.
    pub(super) fn back(&self, span: Span) -> Span {
        let place = |at: usize| {
            let (from, was) = self.pieces[self.pieces.partition_point(|(from, _)| *from <= at) - 1];
            was + at - from
        };
        Span { from: place(span.from), to: place(span.to - 1) + 1, kind: span.kind }
    }
}

#[cfg(test)]
mod tests {
    use crate::core::handoff::redact::redact;

    #[test]
    fn colours_hide_nothing_and_stay() {
        let secret = format!("gh{}{}", "p_", "Ab3xYz9QwK7LmN2pRs5TuV8");
        for (text, shown) in [
            (format!("\u{1b}[32m{secret}\u{1b}[0m."), "\u{1b}[32m[redacted: GitHub token]\u{1b}[0m."),
            (
                format!("a \\u001b[1;32m{secret}\\u001b[0m"),
                "a \\u001b[1;32m[redacted: GitHub token]\\u001b[0m",
            ),
            (
                "password\u{1b}[0m=\u{1b}[33mhunter22\u{1b}[0m\n".into(),
                "password\u{1b}[0m=\u{1b}[33m[redacted: password]\u{1b}[0m\n",
            ),
            ("password=hun\u{1b}[1mter22".into(), "password=[redacted: password]"),
            ("\u{1b}[32mok\u{1b}[0m \u{1b}[ \u{1b}".into(), "\u{1b}[32mok\u{1b}[0m \u{1b}[ \u{1b}"),
        ] {
            assert_eq!(redact(&text), shown);
        }
    }
}
