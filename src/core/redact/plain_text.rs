//! Texts with colour codes and characters in them that nobody sees: `password=` and its value may stand in
//! different colours, and a token that was copied from a page may have a joiner in its middle.
//!
//! They are taken out, the rest is read, and what was found is told by its place in the text as it was. Each
//! may be written as a JSON string or a program has it: `\u001b[32m`, `\x1b[0m`, `\033[1m`, `\e[0m`,
//! `\u200b`.

use std::borrow::Cow;

use super::secret_spans::SecretSpan;
use crate::core::text::visible::is_hidden;

/// How the character before a code may be written.
const ESCAPES: [&str; 7] = ["\u{1b}", "\\u001b", "\\u001B", "\\x1b", "\\x1B", "\\033", "\\e"];
/// How the end of a link or a title may be written.
const ENDS: [&str; 6] = ["\u{7}", "\\u0007", "\\x07", "\\007", "\\a", "\u{9c}"];
/// The longest colour code, in bytes, without the character before it.
const LONGEST: usize = 40;
/// The longest link or title, in bytes.
const LONGEST_LINK: usize = 2048;

/// A text without colour codes.
pub(super) struct PlainText<'a> {
    /// What is left.
    pub(super) text: Cow<'a, str>,
    /// Where a piece begins: in what is left, and in the text as it was.
    pieces: Vec<(usize, usize)>,
}

/// Takes the codes out.
pub(super) fn without_colours(text: &str) -> PlainText<'_> {
    without(text, memchr::memchr2_iter(0x1b, b'\\', text.as_bytes()), code)
        .unwrap_or(PlainText { text: Cow::Borrowed(text), pieces: vec![(0, 0)] })
}

/// Takes the codes and the characters out that nobody sees; `None` if there are none of the latter.
pub(super) fn without_hidden(text: &str) -> Option<PlainText<'_>> {
    let starts = text.char_indices().filter(|(_, c)| *c == '\\' || !(' '..='~').contains(c));
    let mut any = false;
    let plain = without(text, starts.map(|(at, _)| at), |text, at| {
        let unseen = unseen(text, at);
        any |= unseen.is_some();
        unseen.or_else(|| code(text, at))
    });
    plain.filter(|_| any)
}

/// Takes out what `end_of` finds at one of `starts`; `None` if that is nothing.
fn without<'a>(
    text: &'a str,
    starts: impl Iterator<Item = usize>,
    mut end_of: impl FnMut(&str, usize) -> Option<usize>,
) -> Option<PlainText<'a>> {
    let mut out = String::new();
    let mut pieces = vec![(0, 0)];
    let mut from = 0;
    for at in starts {
        if at < from {
            continue;
        }
        let Some(to) = end_of(text, at) else { continue };
        out.push_str(&text[from..at]);
        pieces.push((out.len(), to));
        from = to;
    }
    out.push_str(&text[from..]);
    (from > 0).then_some(PlainText { text: Cow::Owned(out), pieces })
}

/// The end of the character at `at`, or of its escape in JSON, if nobody sees it and it ends no word. Those
/// that end a line stay, and those that `redact_words` puts between words.
fn unseen(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let (c, len) = match rest.strip_prefix("\\u").and_then(|hex| hex.get(..4)) {
        Some(hex) => (char::from_u32(u32::from_str_radix(hex, 16).ok()?)?, 6),
        None => rest.chars().next().map(|c| (c, c.len_utf8()))?,
    };
    let stays = matches!(c, '\t'..='\r' | '\u{1}' | '\u{2}' | '\u{1b}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    // Behind it a terminal writes over the line; a reader sees one word.
    let is_lone_return = rest.starts_with('\r') && !rest.starts_with("\r\n");
    let is_selector = matches!(c, '\u{fe00}'..='\u{fe0f}');
    (is_lone_return || (is_hidden(c) || is_selector) && !stays).then_some(at + len)
}

/// The end of the code that begins at `at`.
fn code(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let escape = ESCAPES.iter().find(|escape| bytes[at..].starts_with(escape.as_bytes()))?;
    let open = at + escape.len();
    if bytes.get(open) == Some(&b']') {
        return link(text, open + 1);
    }
    let rest = bytes.get(open..bytes.len().min(open + LONGEST))?;
    let is_raw = *escape == "\u{1b}";
    if let Some(rest) = rest.strip_prefix(b"[") {
        let len = rest.iter().position(|b| !(0x20..=0x3f).contains(b))?;
        // A pattern such as `\e[A-Z` names no code, and without a parameter the last letter may be the first
        // one of a secret.
        let is_code =
            matches!(rest[len], b'm' | b'K') || is_raw && len > 0 && (0x40..=0x7e).contains(&rest[len]);
        return is_code.then_some(open + len + 2);
    }
    // What `tput sgr0` writes, and how the cursor is kept.
    match rest {
        [b'(' | b')', b'B' | b'0', ..] if is_raw => Some(open + 2),
        [b'7' | b'8' | b'=' | b'>', ..] if is_raw => Some(open + 1),
        _ => None,
    }
}

/// The end of the link or title whose content begins at `from`.
fn link(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let last = bytes.len().min(from + LONGEST_LINK);
    for at in from..last {
        let rest = &bytes[at..];
        let ends = |end: &&&str| rest.starts_with(end.as_bytes());
        if let Some(end) = ENDS.iter().find(ends) {
            return Some(at + end.len());
        }
        if let Some(escape) = ESCAPES.iter().find(ends) {
            let rest = &rest[escape.len()..];
            let slashes = rest.iter().take(2).take_while(|b| **b == b'\\').count();
            return (slashes > 0).then_some(at + escape.len() + slashes);
        }
        if rest[0].is_ascii_control() {
            return None;
        }
    }
    None
}

impl PlainText<'_> {
    /// `span` of what is left, in the text as it was.
    pub(super) fn original(&self, span: SecretSpan) -> SecretSpan {
        let place = |at: usize| {
            let (from, was) = self.pieces[self.pieces.partition_point(|(from, _)| *from <= at) - 1];
            was + at - from
        };
        SecretSpan { from: place(span.from), to: place(span.to - 1) + 1, kind: span.kind }
    }
}

#[cfg(test)]
mod tests {
    use crate::core::redact::{redact, secret_ranges};

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
            (format!("{}\u{1b}(B{}", &secret[..9], &secret[9..]), "[redacted: GitHub token]"),
            (format!("{}\u{1b}7{}", &secret[..9], &secret[9..]), "[redacted: GitHub token]"),
            (format!("{}\u{1b}[?25l{}", &secret[..9], &secret[9..]), "[redacted: GitHub token]"),
            (format!("{}\u{1b}[0C{}", &secret[..9], &secret[9..]), "[redacted: GitHub token]"),
            (format!("\u{1b}[{secret}"), "\u{1b}[[redacted: GitHub token]"),
            (format!("\u{1b}{secret}"), "\u{1b}[redacted: GitHub token]"),
            (format!("{}\u{1b}]8;;https://x\u{7}{}", &secret[..9], &secret[9..]), "[redacted: GitHub token]"),
            ("\u{1b}[32mok\u{1b}[0m \u{1b}[ \u{1b}".into(), "\u{1b}[32mok\u{1b}[0m \u{1b}[ \u{1b}"),
        ] {
            assert_eq!(redact(&text), shown);
        }
    }

    #[test]
    fn a_character_that_nobody_sees_hides_no_secret() {
        let secret = format!("gh{}{}", "p_", "Ab3xYz9QwK7LmN2pRs5TuV8");
        let (begin, end) = secret.split_at(9);
        for unseen in [
            "\u{ad}", "\u{34f}", "\u{200b}", "\u{200c}", "\u{200d}", "\u{200e}", "\u{2060}", "\u{feff}",
            "\u{fe0f}", "\u{fe00}", "\u{e0041}", "\u{7}", "\u{0}", "\\u200b", "\\uFE0F", "\u{200d}\u{200d}",
            "\u{1b}[0m\u{200d}",
        ] {
            let text = format!("use {begin}{unseen}{end}{unseen}, é");
            let shown = format!("use [redacted: GitHub token]{unseen}, é");
            assert_eq!(redact(&text), shown, "{}", unseen.escape_unicode());
            let at = secret_ranges(&format!("é {begin}{unseen}{end}"));
            let whole = if unseen.contains('\u{1b}') { None } else { at.first().map(|(at, _)| at.clone()) };
            assert!(whole.is_none_or(|at| at == (3..3 + secret.len() + unseen.len())), "{unseen:?}");
            // One that stands before it makes no other word of it.
            assert!(!redact(&format!("x{unseen}{secret}")).contains(end), "{unseen:?}");
        }
        for drawn in ["e\u{301} ❤\u{fe0f} 👨\u{200d}👩\u{200d}👧 a\u{200b}b", "\u{feff}", "\\u200b"] {
            assert_eq!(redact(drawn), drawn);
        }
    }
}
