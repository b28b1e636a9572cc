//! Texts of a tape: plain, with escapes, with `${NAME}`.

use std::fmt;

/// A text in a tape. Only `$"…"` has escapes and variables; every other text is literal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TapeText {
    /// The text, with each variable as `${NAME}`.
    text: String,
    /// The variables in `text`: the byte of `$`, and the byte after `}`.
    variables: Vec<(usize, usize)>,
}

/// A part of a [`TapeText`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPiece<'a> {
    Plain(&'a str),
    Variable(&'a str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadEscape {
    /// Its first byte within the text.
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) hint: Option<&'static str>,
}

impl BadEscape {
    fn new(at: usize, message: impl Into<String>, hint: Option<&'static str>) -> BadEscape {
        BadEscape { at, message: message.into(), hint }
    }
}

impl TapeText {
    /// A text without variables.
    pub fn plain(text: impl Into<String>) -> TapeText {
        TapeText { text: text.into(), variables: Vec::new() }
    }

    /// The text, with each variable as `${NAME}`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it needs [`TapeText::resolve`].
    pub fn has_variables(&self) -> bool {
        !self.variables.is_empty()
    }

    /// The text with each variable replaced by its value.
    ///
    /// The error is the name of the first variable for which `lookup` has no value.
    pub fn resolve(&self, lookup: impl Fn(&str) -> Option<String>) -> Result<String, String> {
        let mut resolved = String::with_capacity(self.text.len());
        for piece in self.pieces() {
            match piece {
                TextPiece::Plain(text) => resolved.push_str(text),
                TextPiece::Variable(name) => {
                    resolved.push_str(&lookup(name).ok_or_else(|| name.to_owned())?);
                }
            }
        }
        Ok(resolved)
    }

    /// The text and its variables in order.
    pub fn pieces(&self) -> Vec<TextPiece<'_>> {
        let mut pieces = Vec::with_capacity(2 * self.variables.len() + 1);
        let mut from = 0;
        for (begin, end) in &self.variables {
            pieces.push(TextPiece::Plain(&self.text[from..*begin]));
            pieces.push(TextPiece::Variable(&self.text[begin + 2..end - 1]));
            from = *end;
        }
        pieces.push(TextPiece::Plain(&self.text[from..]));
        pieces
    }

    /// The value of an environment variable: `$"${NAME}"`.
    pub fn of_variable(name: &str) -> TapeText {
        let text = format!("${{{name}}}");
        TapeText { variables: vec![(0, text.len())], text }
    }

    pub fn append(&mut self, other: &TapeText) {
        let shift = self.text.len();
        self.text.push_str(&other.text);
        self.variables.extend(other.variables.iter().map(|(begin, end)| (begin + shift, end + shift)));
    }

    /// The text before the first `=`, and the text after it.
    pub(super) fn split_at_equals(&self) -> Option<(&str, TapeText)> {
        let (name, value) = self.text.split_once('=')?;
        let from = name.len() + 1;
        let shifted = self.variables.iter().filter(|(begin, _)| *begin >= from);
        let variables = shifted.map(|(begin, end)| (begin - from, end - from)).collect();
        Some((name, TapeText { text: value.to_owned(), variables }))
    }

    /// Adds a plain character.
    pub(super) fn push(&mut self, c: char) {
        self.text.push(c);
    }

    /// The text between the quotes of `$"…"`.
    pub(super) fn from_escaped(source: &str) -> Result<TapeText, BadEscape> {
        let mut decoded = TapeText::default();
        let mut rest = source;
        while let Some(at) = rest.find(['\\', '$']) {
            decoded.text.push_str(&rest[..at]);
            let begin = source.len() - rest.len() + at;
            rest = &rest[at..];
            rest = match rest.strip_prefix('\\') {
                Some(behind) => decoded.escape(behind, begin)?,
                None => decoded.variable(rest, begin)?,
            };
        }
        decoded.text.push_str(rest);
        Ok(decoded)
    }

    /// Reads the escape whose backslash is at `begin`; `rest` follows the backslash.
    fn escape<'a>(&mut self, rest: &'a str, begin: usize) -> Result<&'a str, BadEscape> {
        let known = Some(r#"the escapes are \n \r \t \e \a \b \0 \\ \" \$ \xNN \u{NNNN}"#);
        let Some(letter) = rest.chars().next() else {
            return Err(BadEscape::new(begin, "a backslash with nothing behind it", known));
        };
        let behind = &rest[letter.len_utf8()..];
        let c = match letter {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'e' => '\u{1b}',
            'a' => '\u{7}',
            'b' => '\u{8}',
            '0' => '\0',
            '\\' | '"' | '\'' | '$' | '`' => letter,
            'x' => {
                let digits = behind.get(..2).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
                let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                let code = code.ok_or_else(|| {
                    BadEscape::new(begin, r"\x needs two hexadecimal digits", Some(r"for example \x1b"))
                })?;
                if !code.is_ascii() {
                    let hint = Some(r"above \x7f write the character itself or \u{…}");
                    return Err(BadEscape::new(begin, "a text holds characters, not bytes", hint));
                }
                self.text.push(char::from(code));
                return Ok(&behind[2..]);
            }
            'u' => {
                let digits = behind.strip_prefix('{').and_then(|digits| digits.split_once('}'));
                let c = digits.and_then(|(digits, _)| u32::from_str_radix(digits, 16).ok());
                let c = c.and_then(char::from_u32).ok_or_else(|| {
                    BadEscape::new(begin, r"\u needs the number of a character", Some(r"for example \u{e9}"))
                })?;
                self.text.push(c);
                return Ok(digits.map_or("", |(_, behind)| behind));
            }
            other => {
                return Err(BadEscape::new(begin, format!(r"there is no escape `\{other}`"), known));
            }
        };
        self.text.push(c);
        Ok(behind)
    }

    /// Reads the variable at the dollar sign with which `rest` starts, or a lone dollar sign.
    fn variable<'a>(&mut self, rest: &'a str, begin: usize) -> Result<&'a str, BadEscape> {
        let Some(named) = rest.strip_prefix("${") else {
            self.text.push('$');
            return Ok(&rest[1..]);
        };
        let hint = Some(r#"write `\$` for a dollar sign in `$"…"`"#);
        let Some((name, behind)) = named.split_once('}') else {
            return Err(BadEscape::new(begin, "`${` without a `}`", hint));
        };
        if !is_variable_name(name) {
            return Err(BadEscape::new(begin, format!("`{name}` is not a variable name"), hint));
        }
        let at = self.text.len();
        self.text.push_str(&rest[..name.len() + 3]);
        self.variables.push((at, self.text.len()));
        Ok(behind)
    }
}

/// Whether this is a valid name of an environment variable.
pub(super) fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl fmt::Display for TapeText {
    /// As in a tape: in the first kind of quotes in which it needs no escapes, otherwise with escapes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.has_variables() && !self.text.contains(|c: char| c.is_control()) {
            let quote = ['"', '\'', '`'].into_iter().find(|quote| !self.text.contains(*quote));
            if let Some(quote) = quote {
                return write!(f, "{quote}{}{quote}", self.text);
            }
        }
        f.write_str("$\"")?;
        let mut from = 0;
        for (begin, end) in &self.variables {
            write_escaped(f, &self.text[from..*begin])?;
            f.write_str(&self.text[*begin..*end])?;
            from = *end;
        }
        write_escaped(f, &self.text[from..])?;
        f.write_str("\"")
    }
}

fn write_escaped(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        match c {
            '\n' => f.write_str(r"\n")?,
            '\r' => f.write_str(r"\r")?,
            '\t' => f.write_str(r"\t")?,
            '\u{1b}' => f.write_str(r"\e")?,
            '\\' | '"' | '$' => write!(f, "\\{c}")?,
            c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    Ok(())
}
