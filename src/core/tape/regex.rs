//! Regular expressions as VHS understands them: the RE2 syntax of Go, run by the `regex` crate.
//!
//! The two read the same text differently in places (`\s`, `\w`, `[a&&b]`, `\<`, `x{,2}`, `\Q…\E`), so an
//! expression is read by Go's rules and rewritten in what both agree on.

use std::fmt::{self, Write as _};

use crate::core::pattern_error::pattern_error;

/// A regular expression of a tape, checked when the tape is read. Two are equal if they mean the same.
#[derive(Clone, Debug, Eq)]
pub struct TapeRegex {
    source: String,
    /// The translation for the `regex` crate.
    translated: String,
}

impl PartialEq for TapeRegex {
    fn eq(&self, other: &Self) -> bool {
        self.translated == other.translated
    }
}

/// What is wrong with a regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeRegexError {
    /// The byte at which the error is.
    pub at: usize,
    /// What is wrong, in one line.
    pub message: String,
}

impl fmt::Display for TapeRegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TapeRegexError {}

/// How deeply groups may be nested.
const DEEPEST: usize = 200;
/// The most steps of a program, approximately. It limits the time to read a hostile tape.
const LARGEST: usize = 5000;
/// The largest program, in bytes.
const PROGRAM_BYTES: usize = 4 << 20;
/// Go's limit for the number of repetitions, including nested ones.
const MOST_REPEATS: u32 = 1000;

impl TapeRegex {
    /// A regular expression in Go's syntax.
    ///
    /// Fails for an expression that Go refuses or that needs too much memory.
    pub fn parse(source: &str) -> Result<TapeRegex, TapeRegexError> {
        let translated = Translator::new(source).translate()?;
        let regex = TapeRegex { source: source.to_owned(), translated };
        regex.compile(false).map_err(|message| TapeRegexError { at: 0, message })?;
        Ok(regex)
    }

    /// An expression that matches this text.
    pub(super) fn literal(text: &str) -> TapeRegex {
        let quoted = regex::escape(text).replace('/', "\\/");
        let translated = regex::escape(text);
        TapeRegex { source: quoted, translated }
    }

    /// `>$`, the default of VHS's `Wait`.
    pub(super) fn usual_prompt() -> TapeRegex {
        TapeRegex { source: ">$".to_owned(), translated: ">$".to_owned() }
    }

    /// The regular expression as the tape has it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Compiles it. With `lines`, `^` and `$` match at each line, otherwise only at the ends of the text.
    pub fn compile(&self, lines: bool) -> Result<regex::Regex, String> {
        let mut builder = regex::RegexBuilder::new(&self.translated);
        builder.multi_line(lines).size_limit(PROGRAM_BYTES).nest_limit(2 * DEEPEST as u32);
        builder.build().map_err(|e| pattern_error(&e))
    }
}

impl fmt::Display for TapeRegex {
    /// As in a tape. An expression from `Set WaitPattern "…"` may contain a `/`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("/")?;
        let mut escaped = false;
        for c in self.source.chars() {
            match c {
                '/' if !escaped => f.write_str("\\/")?,
                '\n' if !escaped => f.write_str("\\n")?,
                '\r' if !escaped => f.write_str("\\r")?,
                c => f.write_char(c)?,
            }
            escaped = c == '\\' && !escaped;
        }
        f.write_str("/")
    }
}

/// What comes before the current position, for a repetition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Atom,
    Repeat,
}

/// The state of a group while it is read.
#[derive(Clone, Copy, Default)]
struct Group {
    /// The approximate number of steps of its program so far.
    size: usize,
    /// The largest product of nested repetitions.
    repeats: u32,
    /// The steps of the last atom.
    last_size: usize,
    last_repeats: u32,
}

struct Translator<'a> {
    source: &'a str,
    at: usize,
    out: String,
    groups: Vec<Group>,
    group: Group,
    before: Before,
    names: Vec<&'a str>,
}

type Translated<T = ()> = Result<T, TapeRegexError>;

impl<'a> Translator<'a> {
    fn new(source: &'a str) -> Translator<'a> {
        Translator {
            source,
            at: 0,
            out: String::with_capacity(source.len() + 16),
            groups: Vec::new(),
            group: Group::default(),
            before: Before::Nothing,
            names: Vec::new(),
        }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Skips `text` if it is next.
    fn skip(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn fail<T>(at: usize, message: impl Into<String>) -> Translated<T> {
        Err(TapeRegexError { at, message: message.into() })
    }

    fn translate(mut self) -> Translated<String> {
        while let Some(c) = self.peek() {
            let at = self.at;
            match c {
                '(' => self.open()?,
                ')' => self.close()?,
                '|' => {
                    self.at += 1;
                    self.out.push('|');
                    self.group.size += 1;
                    self.before = Before::Nothing;
                }
                '*' | '+' | '?' => {
                    self.at += 1;
                    let most = if c == '?' { 1 } else { 2 };
                    self.repeat(at, c.encode_utf8(&mut [0; 4]), 0, most)?;
                }
                '{' => match counts(self.rest()) {
                    Some((length, least, most)) => {
                        self.at += length;
                        self.counted(at, least, most)?;
                    }
                    None => self.literal(c)?,
                },
                '.' | '^' | '$' => {
                    self.at += 1;
                    self.out.push(c);
                    self.atom(at, 1)?;
                }
                '[' => self.class()?,
                '\\' => self.escape()?,
                c => self.literal(c)?,
            }
        }
        if self.groups.is_empty() { Ok(self.out) } else { Self::fail(0, "a group is not closed with `)`") }
    }

    /// Notes that an atom of about `size` steps was written.
    fn atom(&mut self, at: usize, size: usize) -> Translated {
        self.group.size += size;
        self.group.last_size = size;
        self.group.last_repeats = 1;
        self.group.repeats = self.group.repeats.max(1);
        self.before = Before::Atom;
        self.check_size(at)
    }

    fn check_size(&self, at: usize) -> Translated {
        let outer: usize = self.groups.iter().map(|group| group.size).sum();
        if self.out.len() > 16 * LARGEST || self.group.size.saturating_add(outer) > LARGEST {
            return Self::fail(at, "this regular expression is too large");
        }
        Ok(())
    }

    fn literal(&mut self, c: char) -> Translated {
        let at = self.at;
        self.at += c.len_utf8();
        self.character(at, c)
    }

    /// Writes a literal character.
    fn character(&mut self, at: usize, c: char) -> Translated {
        self.code(c);
        self.atom(at, 1)
    }

    /// Writes a character so that it has no special meaning: letters as they are, others by number.
    fn code(&mut self, c: char) {
        if c.is_ascii_alphanumeric() || (!c.is_ascii() && !c.is_control()) {
            self.out.push(c);
        } else {
            let _ = write!(self.out, "\\x{{{:x}}}", u32::from(c));
        }
    }

    fn open(&mut self) -> Translated {
        let at = self.at;
        self.at += 1;
        if !self.skip("?") {
            self.out.push('(');
            return self.enter(at);
        }
        if self.skip("P<") || self.skip("<") {
            return self.named(at);
        }
        self.flags(at)
    }

    fn enter(&mut self, at: usize) -> Translated {
        if self.groups.len() >= DEEPEST {
            return Self::fail(at, format!("groups are nested deeper than {DEEPEST}"));
        }
        self.groups.push(self.group);
        self.group = Group::default();
        self.before = Before::Nothing;
        Ok(())
    }

    fn named(&mut self, at: usize) -> Translated {
        let name = self.rest().split_once('>').map(|(name, _)| name).unwrap_or_default();
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Self::fail(at, "a group has a wrong name, or is a lookbehind, which Go does not have");
        }
        if self.names.contains(&name) {
            return Self::fail(at, format!("two groups are called `{name}`"));
        }
        self.names.push(name);
        self.at += name.len() + 1;
        self.out.push('(');
        self.enter(at)
    }

    /// `(?i)`, `(?i-s:…)`, `(?:…)`.
    fn flags(&mut self, at: usize) -> Translated {
        let begin = self.at;
        let mut on = true;
        while let Some(c) = self.take() {
            match c {
                'i' | 'm' | 's' | 'U' => {}
                '-' if on => on = false,
                ':' | ')' if !self.source[begin..self.at - 1].ends_with('-') => {
                    let flags = &self.source[begin..self.at - 1];
                    if c == ':' {
                        let _ = write!(self.out, "(?{flags}:");
                        self.enter(at)?;
                    } else {
                        if !flags.is_empty() {
                            let _ = write!(self.out, "(?{flags})");
                        }
                        self.before = Before::Nothing;
                    }
                    return Ok(());
                }
                '=' | '!' if self.at == begin + 1 => {
                    return Self::fail(at, "Go has no lookahead");
                }
                _ => break,
            }
        }
        Self::fail(at, "a group has flags that Go does not have: they are i, m, s and U")
    }

    fn close(&mut self) -> Translated {
        let at = self.at;
        let Some(outer) = self.groups.pop() else { return Self::fail(at, "`)` closes no group") };
        let inner = std::mem::replace(&mut self.group, outer);
        self.at += 1;
        self.out.push(')');
        self.atom(at, inner.size + 1)?;
        self.group.last_repeats = inner.repeats.max(1);
        self.group.repeats = self.group.repeats.max(self.group.last_repeats);
        Ok(())
    }

    fn counted(&mut self, at: usize, least: u32, most: Option<u32>) -> Translated {
        if least > MOST_REPEATS || most.is_some_and(|most| most > MOST_REPEATS || most < least) {
            return Self::fail(
                at,
                format!("a repetition count is over {MOST_REPEATS}, or its limits are swapped"),
            );
        }
        let written = match most {
            Some(most) if most == least => format!("{{{least}}}"),
            Some(most) => format!("{{{least},{most}}}"),
            None => format!("{{{least},}}"),
        };
        self.repeat(at, &written, most.unwrap_or(least), most.unwrap_or(least + 1))
    }

    /// Writes the repetition `written`: `product` copies for Go's limit, `copies` in the program.
    fn repeat(&mut self, at: usize, written: &str, product: u32, copies: u32) -> Translated {
        match self.before {
            Before::Nothing => return Self::fail(at, "there is nothing to repeat before this"),
            Before::Repeat => {
                return Self::fail(at, "a repetition of a repetition; put the first into a group");
            }
            Before::Atom => {}
        }
        self.out.push_str(written);
        if self.skip("?") {
            self.out.push('?');
        }
        let group = &mut self.group;
        if product >= 2 {
            group.last_repeats = group.last_repeats.saturating_mul(product);
            group.repeats = group.repeats.max(group.last_repeats);
            if group.last_repeats > MOST_REPEATS {
                return Self::fail(at, format!("repetitions in one another make more than {MOST_REPEATS}"));
            }
        }
        let larger = group.last_size.saturating_mul(copies.max(1) as usize);
        group.size = group.size.saturating_add(larger - group.last_size);
        group.last_size = larger;
        self.before = Before::Repeat;
        self.check_size(at)
    }

    fn escape(&mut self) -> Translated {
        let at = self.at;
        let rest = self.rest();
        let mut letters = rest.chars().skip(1);
        match letters.next() {
            Some('Q') => {
                self.at += 2;
                let quoted = self.rest().split_once("\\E");
                let end = quoted.map_or(self.source.len(), |(quoted, _)| self.at + quoted.len());
                while self.at < end {
                    let at = self.at;
                    if let Some(c) = self.take() {
                        self.character(at, c)?;
                    }
                }
                self.skip("\\E");
                return Ok(());
            }
            Some(c @ ('A' | 'b' | 'B' | 'z')) => {
                self.at += 2;
                // In Go a word is ASCII. `\B` cannot be written like that, because it could match within a
                // character.
                self.out.push_str(if matches!(c, 'b' | 'B') { "(?-u:" } else { "(?:" });
                self.out.push('\\');
                self.out.push(c);
                self.out.push(')');
                return self.atom(at, 1);
            }
            Some(c @ ('d' | 'D' | 's' | 'S' | 'w' | 'W')) => {
                self.at += 2;
                self.out.push('[');
                self.out.push_str(perl_class(c));
                self.out.push(']');
                return self.atom(at, 2);
            }
            Some('p' | 'P') => {
                self.unicode_class()?;
                return self.atom(at, 2);
            }
            _ => {}
        }
        let c = self.escaped_character()?;
        self.character(at, c)
    }

    /// `\pN`, `\p{Greek}`, `\P{^Lu}`: a category or a script of Unicode.
    fn unicode_class(&mut self) -> Translated {
        let at = self.at;
        let mut negated = self.rest().starts_with("\\P");
        self.at += 2;
        let (name, length) = match self.rest().strip_prefix('{') {
            Some(braced) => braced.split_once('}').map_or(("", 0), |(name, _)| (name, name.len() + 2)),
            None => self.peek().map_or(("", 0), |c| (&self.rest()[..c.len_utf8()], c.len_utf8())),
        };
        let plain = name.strip_prefix('^').unwrap_or(name);
        negated ^= plain.len() < name.len();
        let is_name = plain.starts_with(|c: char| c.is_ascii_uppercase())
            && plain.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let classes = ["gc", "sc"].map(|kind| format!("{{{kind}={plain}}}"));
        let class = match plain {
            "Any" => Some("{any}".to_owned()),
            _ => {
                classes.into_iter().find(|class| is_name && regex::Regex::new(&format!("\\p{class}")).is_ok())
            }
        };
        let Some(class) = class else {
            return Self::fail(
                at,
                format!("there is no class `\\p{{{}}}`", super::tape_problem::printable(plain)),
            );
        };
        self.at += length;
        self.out.push_str(if negated { "\\P" } else { "\\p" });
        self.out.push_str(&class);
        Ok(())
    }

    /// The character of an escape for a single character, inside or outside of a class.
    fn escaped_character(&mut self) -> Translated<char> {
        let at = self.at;
        self.at += 1;
        let digits = |text: &str, radix: u32| text.chars().take_while(|c| c.is_digit(radix)).count();
        let Some(c) = self.take() else { return Self::fail(at, "a backslash with nothing behind it") };
        Ok(match c {
            '0'..='7' => {
                let more = digits(self.rest(), 8).min(2);
                if c != '0' && more == 0 {
                    return Self::fail(at, "Go has no back references");
                }
                let octal = u32::from_str_radix(&self.source[self.at - 1..self.at + more], 8);
                self.at += more;
                return self.code_point(at, octal.ok());
            }
            'x' => {
                let (number, length) = match self.rest().strip_prefix('{') {
                    Some(braced) => {
                        let length = digits(braced, 16);
                        (braced[length..].starts_with('}').then_some(&braced[..length]), length + 2)
                    }
                    None => (self.rest().get(..2).filter(|hex| digits(hex, 16) == 2), 2),
                };
                let number = number.and_then(|hex| u32::from_str_radix(hex, 16).ok());
                if number.is_some() {
                    self.at += length;
                }
                return self.code_point(at, number);
            }
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
            c => return Self::fail(at, format!("Go has no escape `\\{}`", c.escape_debug())),
        })
    }

    fn code_point(&self, at: usize, number: Option<u32>) -> Translated<char> {
        match number.and_then(char::from_u32) {
            Some(c) => Ok(c),
            None => Self::fail(at, "this is not a character number"),
        }
    }

    /// `[…]`, by Go's rules: a first `]`, and every misplaced `[` and `-`, are literal.
    fn class(&mut self) -> Translated {
        let start = self.at;
        self.at += 1;
        self.out.push('[');
        if self.skip("^") {
            self.out.push('^');
        }
        let mut first = true;
        let mut ranges = 0;
        while first || self.peek() != Some(']') {
            first = false;
            ranges += 1;
            if self.rest().starts_with("[:") && self.posix_class()? {
                continue;
            }
            if let Some(c @ ('d' | 'D' | 's' | 'S' | 'w' | 'W')) =
                self.rest().strip_prefix('\\').and_then(first_char)
            {
                self.at += 2;
                self.out.push_str(perl_class(c));
                continue;
            }
            if self.rest().starts_with("\\p") || self.rest().starts_with("\\P") {
                self.unicode_class()?;
                continue;
            }
            let at = self.at;
            let low = self.class_character(start)?;
            let mut high = low;
            if self.rest().starts_with('-') && !self.rest().starts_with("-]") && self.rest().len() > 1 {
                self.at += 1;
                high = self.class_character(start)?;
            }
            if high < low {
                return Self::fail(at, "the limits of a range are swapped");
            }
            self.code(low);
            if high != low {
                self.out.push('-');
                self.code(high);
            }
        }
        self.at += 1;
        self.out.push(']');
        self.atom(start, 1 + ranges / 4)
    }

    fn class_character(&mut self, start: usize) -> Translated<char> {
        match self.peek() {
            None => Self::fail(start, "a class is not closed with `]`"),
            Some('\\') => self.escaped_character(),
            Some(c) => {
                self.at += c.len_utf8();
                Ok(c)
            }
        }
    }

    /// `[:alpha:]` in a class; false if the bracket is literal.
    fn posix_class(&mut self) -> Translated<bool> {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        let Some((name, _)) = self.rest()[2..].split_once(":]") else { return Ok(false) };
        if !NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Self::fail(
                self.at,
                format!("there is no class `[:{}:]`", super::tape_problem::printable(name)),
            );
        }
        let _ = write!(self.out, "[:{name}:]");
        self.at += name.len() + 4;
        Ok(true)
    }
}

fn first_char(text: &str) -> Option<char> {
    text.chars().next()
}

/// Perl's classes as in Go, for use in brackets. `\s` has no vertical tab.
fn perl_class(letter: char) -> &'static str {
    match letter {
        'd' => "0-9",
        'D' => "[^0-9]",
        's' => r"\t\n\x{c}\r\x{20}",
        'S' => r"[^\t\n\x{c}\r\x{20}]",
        'w' => "0-9A-Za-z_",
        _ => "[^0-9A-Za-z_]",
    }
}

/// `{2}`, `{2,}`, `{2,5}`: its length, minimum and maximum. Anything else in braces is literal in Go.
fn counts(text: &str) -> Option<(usize, u32, Option<u32>)> {
    let inside = text.strip_prefix('{')?.split_once('}')?.0;
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        // Numbers that are too large are refused later.
        (plain && (digits.len() == 1 || !digits.starts_with('0'))).then(|| digits.parse().unwrap_or(u32::MAX))
    };
    let (least, most) = match inside.split_once(',') {
        None => (number(inside)?, number(inside)),
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    Some((inside.len() + 2, least, most))
}

#[cfg(test)]
#[path = "regex_tests.rs"]
mod tests;
