//! Tokens as the lexer of VHS makes them, including its oddities, and a few that only hopty has.
//!
//! A token is found at a position without any state, so a reader can continue anywhere.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    At,
    Plus,
    Percent,
    Minus,
    LeftBracket,
    RightBracket,
    Caret,
    Backslash,
    Equal,
    /// A character that starts no token.
    Illegal,
    /// `# …`.
    Comment,
    Number,
    /// A text in quotes.
    Quoted,
    /// A word that is not a keyword.
    Bare,
    /// `$"…"`: unknown to VHS.
    Escaped,
    /// `{…}`.
    Json,
    /// `/…/`.
    Regex,
    /// `true`, `false`.
    Boolean,
    /// `ms`, `s`, `m`, and `em`, `px`, which no command takes.
    Unit,
    /// A command or a setting of VHS.
    Keyword,
    /// The end of the tape, or a NUL byte, at which VHS stops.
    End,
}

/// A token and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    /// Its content: without quotes, slashes, braces and `#`.
    pub(super) text: &'a str,
    /// Its first byte.
    pub(super) start: usize,
    /// The byte after it. The line end that closes a text belongs to it.
    pub(super) end: usize,
    /// Whether it is complete: a text with its closing quote, a regex with its slash.
    pub(super) closed: bool,
}

impl<'a> Token<'a> {
    /// The literal that VHS gives the token.
    pub(super) fn literal(&self) -> Cow<'a, str> {
        match self.kind {
            TokenKind::Json => Cow::Owned(format!("{{{}}}", self.text)),
            _ => Cow::Borrowed(self.text),
        }
    }
}

/// The words that are not plain text for VHS, besides its units and booleans.
pub(super) const VHS_KEYWORDS: [&str; 53] = [
    "Set", "Sleep", "Type", "Enter", "Space", "Backspace", "Delete", "Insert", "Ctrl", "Alt", "Shift",
    "Down", "Left", "Right", "Up", "PageUp", "PageDown", "ScrollUp", "ScrollDown", "Tab", "Escape", "End",
    "Hide", "Require", "Show", "Output", "Shell", "FontFamily", "MarginFill", "Margin", "WindowBar",
    "WindowBarSize", "BorderRadius", "FontSize", "Framerate", "Height", "LetterSpacing", "LineHeight",
    "PlaybackSpeed", "TypingSpeed", "Padding", "Theme", "Width", "LoopOffset", "WaitTimeout", "WaitPattern",
    "Wait", "Source", "CursorBlink", "Screenshot", "Copy", "Paste", "Env",
];

/// The text of a tape.
#[derive(Clone, Copy, Debug)]
pub(super) struct TapeLexer<'a> {
    pub(super) source: &'a str,
    /// Nothing is read from this byte on.
    pub(super) limit: usize,
    /// Whether `$"…"` is a token.
    pub(super) has_escapes: bool,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/' | b'%')
}

impl<'a> TapeLexer<'a> {
    /// The byte at a position; 0 at the end, as in VHS.
    fn byte(&self, at: usize) -> u8 {
        if at < self.limit { self.source.as_bytes()[at] } else { 0 }
    }

    /// The first byte from `at` on for which `stop` holds, or that is NUL.
    fn find(&self, at: usize, stop: impl Fn(u8) -> bool) -> usize {
        (at..self.limit).find(|at| stop(self.byte(*at)) || self.byte(*at) == 0).unwrap_or(self.limit)
    }

    /// The next token at or after a position.
    pub(super) fn token(&self, from: usize) -> Token<'a> {
        let mut start = from.min(self.limit);
        while is_blank(self.byte(start)) {
            start += 1;
        }
        let one = |kind| self.of(kind, start, start + 1, start + 1);
        match self.byte(start) {
            0 => self.of(TokenKind::End, start, start, start),
            b'@' => one(TokenKind::At),
            b'=' => one(TokenKind::Equal),
            b'[' => one(TokenKind::LeftBracket),
            b']' => one(TokenKind::RightBracket),
            b'-' => one(TokenKind::Minus),
            b'%' => one(TokenKind::Percent),
            b'^' => one(TokenKind::Caret),
            b'\\' => one(TokenKind::Backslash),
            b'+' => one(TokenKind::Plus),
            b'#' => {
                let end = self.find(start + 1, is_line_end);
                Token { text: &self.source[start + 1..end], ..self.of(TokenKind::Comment, start, end, end) }
            }
            b'{' => self.enclosed(TokenKind::Json, start, self.find(start + 1, |b| b == b'}'), b'}'),
            quote @ (b'"' | b'\'' | b'`') => {
                let end = self.find(start + 1, |b| b == quote || is_line_end(b));
                self.enclosed(TokenKind::Quoted, start, end, quote)
            }
            b'/' => self.enclosed(TokenKind::Regex, start, self.end_of_regex(start), b'/'),
            b'$' if self.has_escapes && self.byte(start + 1) == b'"' => self.escaped(start),
            byte if byte.is_ascii_digit() || (byte == b'.' && self.byte(start + 1).is_ascii_digit()) => {
                let end = self.find(start, |b| b != b'.' && !b.is_ascii_digit());
                self.of(TokenKind::Number, start, end, end)
            }
            byte if byte.is_ascii_alphabetic() || byte == b'.' => {
                let end = self.find(start, |b| !is_word(b));
                let kind = match &self.source[start..end] {
                    "ms" | "s" | "m" | "em" | "px" => TokenKind::Unit,
                    "true" | "false" => TokenKind::Boolean,
                    word if VHS_KEYWORDS.contains(&word) => TokenKind::Keyword,
                    _ => TokenKind::Bare,
                };
                self.of(kind, start, end, end)
            }
            _ => {
                let length = self.source[start..].chars().next().map_or(1, char::len_utf8);
                self.of(TokenKind::Illegal, start, start + length, start + length)
            }
        }
    }

    fn of(&self, kind: TokenKind, start: usize, text_end: usize, end: usize) -> Token<'a> {
        Token { kind, text: &self.source[start..text_end], start, end, closed: true }
    }

    /// A token whose content ends at `last`, where its closing byte should be. VHS drops the byte there,
    /// whatever it is.
    fn enclosed(&self, kind: TokenKind, start: usize, last: usize, close: u8) -> Token<'a> {
        let closed = last < self.limit && self.byte(last) == close;
        // Open texts end at an ASCII byte, so this is a character boundary.
        let end = (last + 1).min(self.limit);
        Token { kind, text: &self.source[start + 1..last], start, end, closed }
    }

    /// The end of a regex: a slash after an even number of backslashes, or the end of the line. A line end
    /// after a backslash does not end it, because VHS skips the character after backslashes.
    fn end_of_regex(&self, start: usize) -> usize {
        let mut at = start + 1;
        while at < self.limit {
            match self.byte(at) {
                0 | b'\n' | b'\r' | b'/' => break,
                b'\\' => {
                    let behind = self.find(at, |b| b != b'\\');
                    if self.byte(behind) == b'/' && (behind - at).is_multiple_of(2) {
                        return behind;
                    }
                    at = behind;
                }
                _ => {}
            }
            at += 1;
        }
        at.min(self.limit)
    }

    /// `$"…"`, which ends at a quote without a backslash before it, at the latest at the end of its line.
    fn escaped(&self, start: usize) -> Token<'a> {
        let mut at = start + 2;
        while at < self.limit && !is_line_end(self.byte(at)) && self.byte(at) != b'"' {
            at += if self.byte(at) == b'\\' && !is_line_end(self.byte(at + 1)) { 2 } else { 1 };
        }
        let mut last = at.min(self.limit);
        while !self.source.is_char_boundary(last) {
            last += 1;
        }
        let closed = last < self.limit && self.byte(last) == b'"';
        let end = if closed { last + 1 } else { last };
        Token { kind: TokenKind::Escaped, text: &self.source[start + 2..last], start, end, closed }
    }
}
