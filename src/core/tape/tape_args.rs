//! The arguments of hopty's own commands. Unlike those of VHS, they end with their line, and texts must be
//! closed.

use super::pattern::TapePattern;
use super::regex::TapeRegex;
use super::tape_problem::printable;
use super::tape_text::{BadEscape, TapeText};
use super::tape_time::TapeTime;

/// An error in an argument, and its bytes in the file.
#[derive(Debug)]
pub(super) struct ArgError {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

pub(super) type ArgResult<T> = Result<T, ArgError>;

impl ArgError {
    pub(super) fn new(start: usize, end: usize, message: impl Into<String>) -> ArgError {
        ArgError { start, end, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> ArgError {
        self.hint = Some(hint.into());
        self
    }
}

/// A word and its position.
#[derive(Clone, Debug)]
pub(super) struct ArgWord {
    pub(super) text: TapeText,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it starts with a quote.
    pub(super) quoted: bool,
}

impl ArgWord {
    pub(super) fn as_str(&self) -> &str {
        self.text.as_str()
    }

    pub(super) fn error(&self, message: impl Into<String>) -> ArgError {
        ArgError::new(self.start, self.end, message)
    }
}

/// Reads the arguments of one command.
pub(super) struct TapeArgs<'a> {
    source: &'a str,
    /// Where the command begins.
    start: usize,
    /// The next byte.
    at: usize,
    /// The end of the line.
    end: usize,
    /// Whether the line starts with `#>`.
    in_comment: bool,
    /// Whether a plain word ends before `@`.
    ends_at_limit: bool,
}

impl<'a> TapeArgs<'a> {
    /// The arguments, from the byte `at` on, of a command that starts at `start`, on a line that ends at
    /// `end`.
    pub(super) fn new(
        source: &'a str,
        start: usize,
        at: usize,
        end: usize,
        in_comment: bool,
    ) -> TapeArgs<'a> {
        TapeArgs { source, start, at, end, in_comment, ends_at_limit: false }
    }

    /// The byte after what has been read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..self.end]
    }

    fn skip_blanks(&mut self) {
        self.at = self.end - self.rest().trim_start_matches([' ', '\t']).len();
    }

    /// Whether only blanks and a comment are left.
    pub(super) fn is_done(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty() || self.rest().starts_with('#')
    }

    /// The error of a missing argument.
    pub(super) fn missing(&mut self, what: &str) -> ArgError {
        self.skip_blanks();
        if self.is_done() {
            let command = self.source[self.start..self.at].trim_end();
            let name_end = command.find([' ', '\t']).map_or(command.len(), |at| at);
            let message = format!("`{}` needs {what}", printable(&command[..name_end]));
            return ArgError::new(self.start, self.start + command.len(), message);
        }
        let word = self.rest().split([' ', '\t']).next().unwrap_or_default();
        let message = format!("{what} was expected, not `{}`", printable(word));
        ArgError::new(self.at, self.at + word.len(), message)
    }

    /// An error if an argument is left.
    pub(super) fn finish(&mut self) -> ArgResult<()> {
        if self.is_done() {
            return Ok(());
        }
        let from = self.at;
        let rest = self.rest().trim_end();
        Err(ArgError::new(
            from,
            from + rest.len(),
            format!("nothing is expected here, but there is `{}`", printable(rest)),
        ))
    }

    /// `+Name` directly after what has been read.
    pub(super) fn suffix(&mut self) -> ArgResult<Option<&'a str>> {
        let Some(behind) = self.rest().strip_prefix('+') else { return Ok(None) };
        let length = behind.bytes().take_while(u8::is_ascii_alphabetic).count();
        if length == 0 {
            return Err(ArgError::new(self.at, self.at + 1, "a word is missing behind `+`"));
        }
        self.at += 1 + length;
        Ok(Some(&behind[..length]))
    }

    /// An error at the suffix that was just read.
    pub(super) fn suffix_error(&self, suffix: &str, message: impl Into<String>) -> ArgError {
        ArgError::new(self.at - suffix.len(), self.at, message)
    }

    /// `@TIME` directly after what has been read.
    pub(super) fn limit(&mut self) -> ArgResult<Option<TapeTime>> {
        let Some(behind) = self.rest().strip_prefix('@') else { return Ok(None) };
        let length = behind.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'.').count();
        let (start, end) = (self.at, self.at + 1 + length);
        self.at = end;
        match parse_time(&behind[..length]) {
            Some(time) => Ok(Some(time)),
            None => {
                let message = format!("`{}` is not a time", printable(&behind[..length]));
                Err(ArgError::new(start, end, message).hint("for example @500ms, @2s, @1m30s"))
            }
        }
    }

    /// The next word: plain up to a blank, in quotes, or plain up to `=` and then in quotes.
    pub(super) fn word(&mut self) -> ArgResult<Option<ArgWord>> {
        if self.is_done() {
            return Ok(None);
        }
        let start = self.at;
        if let Some(text) = self.quoted()? {
            self.expect_blank()?;
            return Ok(Some(ArgWord { text, start, end: self.at, quoted: true }));
        }
        let mut text = TapeText::default();
        while let Some(c) = self.rest().chars().next().filter(|c| !self.ends_word(*c)) {
            text.push(c);
            self.at += c.len_utf8();
            if c == '='
                && let Some(value) = self.quoted()?
            {
                text.append(&value);
                self.expect_blank()?;
                break;
            }
        }
        Ok(Some(ArgWord { text, start, end: self.at, quoted: false }))
    }

    fn ends_word(&self, c: char) -> bool {
        matches!(c, ' ' | '\t') || (c == '@' && self.ends_at_limit)
    }

    /// Calls `read` with `@TIME` allowed directly after a word.
    pub(super) fn before_limit<T>(&mut self, read: impl FnOnce(&mut Self) -> ArgResult<T>) -> ArgResult<T> {
        self.ends_at_limit = true;
        let result = read(self);
        self.ends_at_limit = false;
        result
    }

    /// The next word, or the error that it is missing.
    pub(super) fn need_word(&mut self, what: &str) -> ArgResult<ArgWord> {
        match self.word()? {
            Some(word) => Ok(word),
            None => Err(self.missing(what)),
        }
    }

    /// All words up to the end of the line.
    pub(super) fn words(&mut self) -> ArgResult<Vec<ArgWord>> {
        let mut words = Vec::new();
        while let Some(word) = self.word()? {
            words.push(word);
        }
        Ok(words)
    }

    /// The next word if it is plain and `wanted` accepts it; otherwise it stays.
    pub(super) fn word_if(&mut self, wanted: impl Fn(&str) -> bool) -> ArgResult<Option<ArgWord>> {
        let before = self.at;
        self.skip_blanks();
        if self.rest().starts_with(['"', '\'', '`', '/', '<', '$']) {
            self.at = before;
            return Ok(None);
        }
        match self.word()? {
            Some(word) if !word.quoted && wanted(word.as_str()) => Ok(Some(word)),
            _ => {
                self.at = before;
                Ok(None)
            }
        }
    }

    /// A text in quotes that starts here, if any.
    fn quoted(&mut self) -> ArgResult<Option<TapeText>> {
        let rest = self.rest();
        let start = self.at;
        let (quote, open) = match rest.as_bytes() {
            [b'$', b'"', ..] => ('"', 2),
            [quote @ (b'"' | b'\'' | b'`'), ..] => (char::from(*quote), 1),
            _ => return Ok(None),
        };
        let inside = &rest[open..];
        let escapes = open == 2;
        let length = if escapes { end_of_escaped(inside) } else { inside.find(quote) };
        let Some(length) = length else {
            return Err(ArgError::new(start, self.end, "this text has no closing quote"));
        };
        self.at += open + length + 1;
        if escapes {
            self.decode(start + open, &inside[..length]).map(Some)
        } else {
            Ok(Some(TapeText::plain(&inside[..length])))
        }
    }

    fn decode(&self, start: usize, source: &str) -> ArgResult<TapeText> {
        TapeText::from_escaped(source).map_err(|BadEscape { at, message, hint }| {
            let error = ArgError::new(start + at, start + at + 2, message);
            hint.into_iter().fold(error, ArgError::hint)
        })
    }

    fn expect_blank(&self) -> ArgResult<()> {
        match self.rest().chars().next() {
            None | Some(' ' | '\t') => Ok(()),
            Some(c) => {
                let message = format!("a blank is missing before `{}`", printable(&c.to_string()));
                Err(ArgError::new(self.at, self.at + c.len_utf8(), message))
            }
        }
    }

    /// Whether `<<NAME` or `$<<NAME` comes next.
    pub(super) fn has_heredoc(&mut self) -> bool {
        self.skip_blanks();
        self.rest().starts_with("<<") || self.rest().starts_with("$<<")
    }

    /// A text in quotes or of several lines. With `last_newline` its last line keeps its line end.
    pub(super) fn text(&mut self, what: &str, last_newline: bool) -> ArgResult<TapeText> {
        if self.has_heredoc() {
            return self.heredoc(last_newline);
        }
        let Some(text) = self.quoted()? else {
            let error = self.missing(what);
            if self.is_done() {
                return Err(error.hint("for example \"text\""));
            }
            return Err(error.hint(format!("quote it: \"{}\"", printable(self.rest().trim_end()))));
        };
        self.expect_blank()?;
        Ok(text)
    }

    /// A path, quoted or not.
    pub(super) fn path(&mut self) -> ArgResult<TapeText> {
        let word = self.need_word("a path")?;
        if word.text.is_empty() {
            return Err(word.error("this path is empty"));
        }
        Ok(word.text)
    }

    /// A regex, or a text to search for.
    pub(super) fn pattern(&mut self) -> ArgResult<TapePattern> {
        let start = {
            self.skip_blanks();
            self.at
        };
        let first = self.rest().split_ascii_whitespace().next().unwrap_or_default();
        if let Some(time) = TapeTime::parse(first) {
            let message = format!("a \"text\" or a /regex/ was expected, not `{first}`");
            let error = ArgError::new(start, start + first.len(), message);
            return Err(
                error.hint(format!("a limit stands behind the command's name, such as `Expect@{time}`"))
            );
        }
        let Some(inside) = self.rest().strip_prefix('/') else {
            let text = self.text("a \"text\" or a /regex/", false)?;
            if text.is_empty() {
                return Err(ArgError::new(start, self.at, "an empty text is everywhere"));
            }
            return Ok(TapePattern::Text(text));
        };
        let Some(length) = end_of_regex(inside) else {
            let error = ArgError::new(start, self.end, "this regex has no closing slash");
            return Err(error.hint(r"a slash in a regex is written \/"));
        };
        self.at += length + 2;
        if length == 0 {
            return Err(ArgError::new(start, self.at, "an empty regex matches everywhere"));
        }
        if self.rest().starts_with('i') {
            return Err(ArgError::new(self.at, self.at + 1, "a regex has no flags behind it")
                .hint("write (?i) at its beginning"));
        }
        self.expect_blank()?;
        let regex = TapeRegex::parse(&inside[..length]).map_err(|error| {
            let at = start + 1 + error.at;
            ArgError::new(at, at + 1, error.message)
        })?;
        Ok(TapePattern::Regex(regex))
    }

    /// Whether a pattern comes next.
    pub(super) fn has_pattern(&mut self) -> bool {
        self.skip_blanks();
        let rest = self.rest();
        rest.starts_with(['"', '\'', '`', '/']) || rest.starts_with("$\"") || self.has_heredoc()
    }

    /// The lines after this one, up to a line with the name after `<<`.
    fn heredoc(&mut self, last_newline: bool) -> ArgResult<TapeText> {
        let start = self.at;
        let escapes = self.rest().starts_with('$');
        let behind = &self.rest()[if escapes { 3 } else { 2 }..];
        let length = behind.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let name = &behind[..length];
        self.at = self.end - behind.len() + length;
        if name.is_empty() {
            return Err(
                ArgError::new(start, self.at, "a name is missing behind `<<`").hint("for example <<END")
            );
        }
        self.finish()?;
        let end = self.at;
        let mut lines = Vec::new();
        let mut at = self.source[self.end..].find('\n').map_or(self.source.len(), |next| self.end + next + 1);
        loop {
            let unclosed = || {
                ArgError::new(start, end, format!("no line `{}` ends this text", printable(name)))
                    .hint("the line holds nothing else, not even blanks")
            };
            if at >= self.source.len() {
                return Err(unclosed());
            }
            let next = self.source[at..].find('\n').map(|length| at + length);
            let line_end = next.unwrap_or(self.source.len());
            let mut line = self.source[at..line_end].trim_end_matches('\r');
            if self.in_comment {
                let Some(inside) = line.trim_start_matches([' ', '\t']).strip_prefix("#>") else {
                    return Err(unclosed().hint("in a `#>` line each line of the text begins with `#> ` too"));
                };
                line = inside.strip_prefix(' ').unwrap_or(inside);
            }
            if line == name {
                self.at = line_end;
                self.end = line_end;
                break;
            }
            lines.push((at, line));
            at = next.map_or(self.source.len(), |next| next + 1);
        }
        let mut text = TapeText::default();
        let count = lines.len();
        for (n, (at, line)) in lines.into_iter().enumerate() {
            text.append(&if escapes { self.decode(at, line)? } else { TapeText::plain(line) });
            if n + 1 < count || last_newline {
                text.push('\n');
            }
        }
        Ok(text)
    }

    /// A JSON value that starts here and may continue on further lines.
    pub(super) fn json(&mut self) -> ArgResult<serde_json::Value> {
        self.skip_blanks();
        let start = self.at;
        let rest = if self.in_comment { self.rest() } else { &self.source[start..] };
        let mut values = serde_json::Deserializer::from_str(rest).into_iter();
        match values.next() {
            Some(Ok(value)) => {
                self.at = start + values.byte_offset();
                self.end =
                    self.source[self.at..].find(['\n', '\r']).map_or(self.source.len(), |n| self.at + n);
                Ok(value)
            }
            Some(Err(error)) if !self.is_done() => {
                Err(ArgError::new(start, self.end, format!("not JSON: {}", printable(&error.to_string()))))
            }
            _ => Err(self.missing("a JSON object")),
        }
    }
}

/// The end of a text with escapes: a quote without a backslash before it.
fn end_of_escaped(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// The end of a regex: a slash without a backslash before it.
fn end_of_regex(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'/' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// A time with or without a unit; the default is seconds.
pub(super) fn parse_time(text: &str) -> Option<TapeTime> {
    TapeTime::parse(text).or_else(|| TapeTime::parse(&format!("{text}s")))
}
