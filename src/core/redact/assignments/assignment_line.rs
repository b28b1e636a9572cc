//! What stands round a name on its line, and before the text of the next one.

use super::assignment_finder::AssignmentFinder;

/// The most bytes that can stand before a name at the beginning of its line.
const PREFIX: usize = 120;

impl AssignmentFinder<'_> {
    /// Past what can stand before the text of a line: the mark of a diff or of a quote, a number, an indent,
    /// a quote.
    pub(super) fn skip_line_prefix(&self, at: usize) -> usize {
        let at = self.skip(at, |b| {
            b.is_ascii_whitespace() || matches!(b, b'>' | b'#' | b'+' | b'-' | b'|' | b'"' | b'\\')
        });
        let number = self.skip(at, |b| b.is_ascii_digit());
        let arrow = self.skip(number, |b| matches!(b, b':' | b'\t' | b'|') || !b.is_ascii());
        let file = self.skip(at, |b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'_' | b'-'));
        let line = self.skip(file + 1, |b| b.is_ascii_digit());
        let listed = self.byte(file) == b':' && line > file + 1 && self.byte(line) == b':';
        let at = match (number > at && arrow > number, listed) {
            (true, _) => arrow,
            (false, true) => line + 1,
            (false, false) => at,
        };
        self.skip(at, |b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\\'))
    }

    /// Past what a name may have behind it: `NAME (from .env): X`, `Name { get; set; } = X`, `NAME --body X`.
    pub(super) fn skip_annotation(&self, at: usize) -> usize {
        let rest = &self.bytes[at..self.bytes.len().min(at + 32)];
        let close = match rest.first() {
            Some(b'(') => b')',
            Some(b'{') if rest.starts_with(b"{ get;") => b'}',
            Some(b'-') if rest.starts_with(b"--body") || rest.starts_with(b"-b") => b' ',
            _ => return at,
        };
        let Some(len) = rest.iter().position(|b| matches!(*b, b'\n' | b'"' | b'\'') || *b == close) else {
            return at;
        };
        let past = self.skip(at + len + 1, |b| b == b' ');
        match rest[len] == close && (close == b' ' || matches!(self.byte(past), b':' | b'=')) {
            true => past,
            false => at,
        }
    }

    /// Whether only what can stand before an assignment stands before `from` on its line.
    pub(super) fn begins_line(&self, from: usize) -> bool {
        let floor = from.saturating_sub(PREFIX);
        let before = &self.bytes[floor..from];
        let start = before.iter().rposition(|b| *b == b'\n').map(|n| n + 1);
        let escaped = before.windows(2).rposition(|w| w == b"\\n" || w == b"\\t").map(|n| n + 2);
        let Some(start) = start.max(escaped).or((floor == 0).then_some(0)) else { return false };
        let Ok(before) = std::str::from_utf8(&before[start..]) else { return false };
        // A line that a search found has its file and its number before it.
        let listed = before.split_once(':').and_then(|(file, rest)| {
            let (number, rest) = rest.split_once(':')?;
            (!file.contains(' ') && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
                .then_some(rest)
        });
        let before = listed.unwrap_or(before).trim_start_matches(|c: char| {
            c.is_whitespace()
                || c.is_ascii_digit()
                || matches!(
                    c,
                    '\u{2192}'
                        | '|'
                        | '+'
                        | '-'
                        | '#'
                        | '*'
                        | '>'
                        | '/'
                        | '"'
                        | '\''
                        | '$'
                        | '`'
                        | '\u{2022}'
                        | '.'
                        | ';'
                )
        });
        before.split_whitespace().all(|word| {
            matches!(
                word,
                "export"
                    | "set"
                    | "setx"
                    | "ENV"
                    | "ARG"
                    | "env"
                    | "let"
                    | "const"
                    | "var"
                    | "declare"
                    | "-x"
                    | "local"
                    | "readonly"
                    | "RUN"
                    | "-e"
                    | "--env"
                    | "define"
                    | "$env:"
            )
        })
    }

    /// Whether nothing but an end, a comment or a separator comes after `to` on its line.
    pub(super) fn ends_line(&self, to: usize) -> bool {
        let rest = &self.bytes[to..self.bytes.len().min(to + 40)];
        let at = rest
            .iter()
            .position(|b| !matches!(b, b' ' | b'\t' | b'\r' | b',' | b';' | b'`' | b'*'))
            .unwrap_or(rest.len());
        match rest.get(at) {
            None | Some(b'\n' | b'"' | b'\'' | b'}') => true,
            Some(b'#') => at > 0,
            Some(b'\\') => true,
            Some(b'/') => at > 0 && rest.get(at + 1) == Some(&b'/'),
            _ => false,
        }
    }

    /// Whether the name stands in a cell of a table.
    pub(super) fn begins_cell(&self, from: usize) -> bool {
        self.bytes[..from].iter().rev().take(8).find(|b| !matches!(b, b' ' | b'`' | b'*')) == Some(&b'|')
    }
}
