//! Finds each name, and the value that is assigned to it.

use super::super::SecretKind;
use super::super::byte_scan::run_end;
use super::super::secret_names::{NameClass, name_class};
use super::super::secret_spans::SecretSpan;
use super::super::secret_values::{ValueContext, ValuePlace, ValueQuoting, is_secret, is_unpronounceable};

/// The most bytes between a name and its value.
pub(super) const BRIDGE: usize = 64;
/// What follows a name in a property list.
const PLIST_KEY_END: &[u8] = b"</key>";
/// How a shell command substitutes the output of another.
const ECHO: &[u8] = b"$(echo ";
/// How many names may share the end of their value.
const NESTED: u32 = 8;

pub(in super::super) fn find(text: &str, spans: &mut Vec<SecretSpan>) {
    let mut finder =
        AssignmentFinder { text, bytes: text.as_bytes(), bare_until: (0, 0), stop_until: (0, 0) };
    let mut at = 0;
    // How many values that are no secret ended at the same place. In an endless run of names, not all are
    // followed.
    let mut same = (0, 0);
    while let Some((from, to)) = finder.name(at) {
        at = to;
        let from = finder.words_before(from, to);
        // Redis: `AUTH X`.
        let begins = |finder: &AssignmentFinder<'_>| {
            finder.begins_line(from) || from > 0 && finder.bytes[from - 1] == b'"'
        };
        let auth = &finder.bytes[from..to] == b"AUTH" && begins(&finder);
        let Some(class) =
            (if auth { Some(NameClass::Password) } else { name_class(&finder.bytes[from..to]) })
        else {
            continue;
        };
        let values = [finder.value(from, to, class), finder.value_beside_name(from, to)];
        for value in values.into_iter().flatten() {
            same = if same.0 == value.to { (value.to, same.1 + 1) } else { (value.to, 1) };
            if same.1 <= NESTED
                && value.from < value.to
                && is_secret(class, &text[value.from..value.to], value.context)
            {
                let kind =
                    if class == NameClass::Password { SecretKind::Password } else { SecretKind::Secret };
                spans.push(SecretSpan { from: value.from, to: value.to, kind });
                at = at.max(value.to);
            }
        }
    }
}

pub(super) struct AssignedValue {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) context: ValueContext,
}

pub(super) struct AssignmentFinder<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    /// The last run of a value without quotes. A value that begins inside it ends with it, so it is not read
    /// twice.
    pub(super) bare_until: (usize, usize),
    /// The same for the end of such a value within other text.
    pub(super) stop_until: (usize, usize),
}

impl AssignmentFinder<'_> {
    /// The next name at or after `at`.
    fn name(&self, at: usize) -> Option<(usize, usize)> {
        let in_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        let from = at + self.bytes.get(at..)?.iter().position(|b| in_name(*b))?;
        let to = run_end(self.bytes, from, in_name);
        // The letter of an escaped line break belongs to no name.
        let escaped =
            from > 0 && self.bytes[from - 1] == b'\\' && matches!(self.bytes[from], b'n' | b'r' | b't');
        let start = from + usize::from(escaped);
        // A single minus at the beginning of a line is that of a diff.
        let line = escaped || from == 0 || self.bytes[from - 1] == b'\n';
        let minus = line && self.byte(start) == b'-' && self.byte(start + 1) != b'-';
        Some((start + usize::from(minus), to))
    }

    /// Where a name of several words begins: `API key`, `secret access key`, `seed phrase`, `identified by`.
    fn words_before(&self, from: usize, to: usize) -> usize {
        let last = &self.bytes[from..to];
        let several = [&b"key"[..], b"phrase", b"by"].iter().any(|word| last.eq_ignore_ascii_case(word));
        let mut start = from;
        for _ in 0..if several { 2 } else { 0 } {
            let before = &self.bytes[start.saturating_sub(17)..start];
            let Some((b' ', rest)) = before.split_last() else { break };
            let len = rest.iter().rev().take_while(|b| b.is_ascii_alphabetic()).count();
            if !(1..16).contains(&len) {
                break;
            }
            start -= len + 1;
        }
        start
    }

    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    pub(super) fn skip(&self, at: usize, set: impl Fn(u8) -> bool) -> usize {
        let end = self.bytes.len().min(at + BRIDGE);
        if at >= end { at } else { run_end(&self.bytes[..end], at, set) }
    }

    fn value(&mut self, from: usize, to: usize, class: NameClass) -> Option<AssignedValue> {
        let closed = self.skip(to, |b| matches!(b, b'"' | b'\'' | b'`' | b'\\' | b']' | b'*'));
        let quoted_name = closed > to;
        let spaced = self.skip(closed, |b| b == b' ' || b == b'\t');
        let flag = from < to && self.byte(from) == b'-';
        let begins_line = self.begins_line(from);
        let in_quotes = from > 0 && matches!(self.bytes[from - 1], b'"' | b'\'' | b'`');
        // `'#password'` selects a field of a web page.
        let selector = from > 1
            && matches!(self.bytes[from - 1], b'#' | b'=')
            && matches!(self.bytes[from - 2], b'"' | b'\'' | b'`' | b'[');
        // Shell variables are upper case; `name=value` on a line of its own can be an argument of a call.
        let shell = !self.bytes[from..to].iter().any(u8::is_ascii_lowercase);
        // A pair of a connection string or a query.
        let pair = from > 0 && matches!(self.bytes[from - 1], b';' | b'?' | b'&');
        let place = |tight: bool| match (begins_line, tight) {
            _ if flag => ValuePlace::Flag,
            (false, true) if pair => ValuePlace::Pair,
            // The whole content of a string.
            (false, true) if in_quotes && !quoted_name => ValuePlace::Line,
            (true, true) if shell => ValuePlace::Shell,
            (true, _) => ValuePlace::Line,
            (false, _) => ValuePlace::Inline,
        };
        if class == NameClass::Phrase {
            return self.phrase(spaced);
        }
        if self.assigns_directory(from, to) && !pair || self.is_verb(from, to) {
            return None;
        }
        let spaced = self.skip_annotation(spaced);
        match (self.byte(spaced), self.byte(spaced + 1)) {
            (b'=', b'=' | b'>' | b'~') => self.value_after(spaced + 2, place(false)),
            (b'=', _) => self.value_after(spaced + 1, place(spaced == to)),
            (b':', b'=') | (b'?', b':' | b'=') | (b'+', b'=') => self.value_after(spaced + 2, place(false)),
            (b'|', b'|') | (b'?', b'?') => self.value_after(spaced + 2, place(false)),
            (b'{', _) if quoted_name => self.default_value(spaced),
            (b')', b'.') if quoted_name && (in_quotes || selector) => self.method_argument(spaced + 2),
            (b':', b':') => None,
            // `'Password: '` is a prompt; the quote behind it is its end.
            (b':', b' ') if in_quotes && !quoted_name && self.byte(spaced + 2) == self.bytes[from - 1] => {
                None
            }
            (b':', _) => self.typed_value(spaced + 1).or_else(|| self.value_after(spaced + 1, place(false))),
            (b'-', b'>') => self.value_after(spaced + 2, ValuePlace::Sentence),
            (b'-', b' ') if spaced > to => self.value_after(spaced + 2, ValuePlace::Sentence),
            (b'%', b'3') if matches!(self.byte(spaced + 2), b'D' | b'd') => {
                self.value_after(spaced + 3, ValuePlace::Inline)
            }
            (b'>', _) if from > 0 && matches!(self.bytes[from - 1], b'<' | b':') => self.element(spaced + 1),
            (b'>', _) if quoted_name => self.element(spaced + 1),
            (b'<', b'/') if self.bytes[spaced..].starts_with(PLIST_KEY_END) => {
                self.plist(spaced + PLIST_KEY_END.len())
            }
            (b'|', b' ') if self.begins_cell(from) => self.cell(spaced + 1),
            (b',', _) if quoted_name && (in_quotes || selector) => self.next_argument(from, spaced + 1),
            (b'(', _) => self.call(&self.bytes[from..to], class, spaced + 1),
            (quote, _) if spaced > closed && matches!(quote, b'"' | b'\'' | b'`' | b'\\') => {
                self.quoted_word(&self.bytes[from..to], shell, spaced)
            }
            _ if flag && spaced > to && self.byte(spaced) != b'-' => {
                self.quoted(spaced).or_else(|| self.bare(spaced, ValuePlace::Flag))
            }
            _ if spaced > to && self.byte(spaced) != b'-' => self.sentence_value(spaced, begins_line),
            _ => None,
        }
    }

    /// Whether it is the verb in `all tests but two pass: X`. A number in digits before it may be a port.
    fn is_verb(&self, from: usize, to: usize) -> bool {
        const SUBJECTS: [&str; 29] = [
            "tests", "checks", "cases", "specs", "suites", "jobs", "builds", "runs", "lints", "examples",
            "assertions", "these", "those", "they", "all", "both", "others", "two", "three", "four", "five",
            "six", "seven", "eight", "nine", "ten", "should", "must", "not",
        ];
        if !self.bytes[from..to].eq_ignore_ascii_case(b"pass") || self.byte(to) != b':' {
            return false;
        }
        let Some((b' ', before)) = self.bytes[..from].split_last() else { return false };
        let len = before.iter().rev().take(16).take_while(|b| b.is_ascii_alphabetic()).count();
        let word = &before[before.len() - len..];
        SUBJECTS.iter().any(|subject| word.eq_ignore_ascii_case(subject.as_bytes()))
    }

    /// Whether it is a shell variable for its current directory, or for the one before.
    fn assigns_directory(&self, from: usize, to: usize) -> bool {
        let is_name = matches!(&self.bytes[from..to], b"PWD" | b"OLDPWD");
        is_name && self.byte(to) == b'=' && self.byte(to + 1) == b'/'
    }

    /// `get('#password').type('value')`, from the method's name on.
    fn method_argument(&self, at: usize) -> Option<AssignedValue> {
        let at = self.skip(at, |b| b.is_ascii_alphanumeric() || b == b'_');
        let mut value = self.quoted((self.byte(at) == b'(').then_some(at + 1)?)?;
        value.context.quoting = ValueQuoting::Argument;
        Some(value)
    }

    /// The text behind `<key>name</key>` in a property list.
    fn plist(&self, at: usize) -> Option<AssignedValue> {
        let at = self.skip(at, |b| b.is_ascii_whitespace());
        let tag = [&b"<string>"[..], b"<data>"].into_iter().find(|tag| self.bytes[at..].starts_with(tag))?;
        self.element(at + tag.len())
    }

    /// The table cell behind the one with the name.
    fn cell(&self, at: usize) -> Option<AssignedValue> {
        let from = self.skip(at, |b| matches!(b, b' ' | b'`'));
        let ends = |b: &u8| matches!(b, b'|' | b'`' | b'\n' | b' ');
        let to = from + self.bytes[from..].iter().take(512).position(ends)?;
        Some(AssignedValue {
            from,
            to,
            context: ValueContext { quoting: ValueQuoting::Bare, place: ValuePlace::Sentence },
        })
    }

    /// The argument behind the one with the name, which begins at `name`.
    fn next_argument(&self, name: usize, at: usize) -> Option<AssignedValue> {
        let mut value = self.quoted(self.skip(at, |b| b == b' '))?;
        // `define('NAME', 'value')` and `env('NAME', 'value')` assign; other lists of texts may be lists of
        // names.
        let before = &self.bytes[name.saturating_sub(8)..name - 1];
        if !(before.ends_with(b"define(") || before.ends_with(b"env(")) {
            value.context.quoting = ValueQuoting::Argument;
        }
        Some(value)
    }

    /// `name("value")`, from behind the parenthesis on.
    fn call(&self, name: &[u8], class: NameClass, at: usize) -> Option<AssignedValue> {
        let mut value = self.quoted(at)?;
        let name = name.to_ascii_lowercase();
        let sets =
            name.starts_with(b"set") || name.windows(4).any(|w| w == b".set") || name.starts_with(b"with_");
        value.context.quoting =
            if class == NameClass::Password && !sets { ValueQuoting::Argument } else { ValueQuoting::Quoted };
        Some(value)
    }

    /// `name "value"`; `shell`: the name is in upper case, like a shell variable.
    fn quoted_word(&self, name: &[u8], shell: bool, at: usize) -> Option<AssignedValue> {
        let mut value = self.quoted(at)?;
        // `Pass "the_name" to it.` has a verb and an identifier.
        let given = &self.text[value.from..value.to];
        let named = given.contains('_') && given.bytes().all(|b| b == b'_' || b.is_ascii_alphabetic());
        if named && name.eq_ignore_ascii_case(b"pass") {
            return None;
        }
        let sql = shell || name.to_ascii_lowercase().ends_with(b"by");
        value.context.place = if sql { ValuePlace::Inline } else { ValuePlace::Sentence };
        Some(value)
    }

    /// The value behind `=` or `:`.
    fn value_after(&mut self, at: usize, place: ValuePlace) -> Option<AssignedValue> {
        let mut at = self.skip(at, |b| matches!(b, b' ' | b'\t' | b'*'));
        // A block of YAML has the value on the line below its name.
        let mark = self.skip(at, |b| matches!(b, b'|' | b'>' | b'-' | b'\r' | b' '));
        if mark > at && matches!(self.byte(at), b'|' | b'>') {
            let slashes = self.skip(mark, |b| b == b'\\');
            if self.byte(slashes) == if slashes > mark { b'n' } else { b'\n' } {
                at = self.skip_line_prefix(slashes + 1);
            }
        }
        at = self.skip(at, |b| b == b'>');
        if self.bytes.get(at..).is_some_and(|rest| rest.starts_with(ECHO)) {
            at += ECHO.len();
        }
        if let Some(value) = self.quoted(at) {
            return Some(value.at(place));
        }
        if let Some((inner, form)) = self.wrapped_quote(at) {
            let mut value = self.quoted(inner)?;
            value.context.quoting = form;
            return Some(value.at(place));
        }
        self.bare(at, place)
    }

    /// `variable "name" { default = "value" }`, from the `{` on.
    fn default_value(&self, at: usize) -> Option<AssignedValue> {
        let mut end = self.bytes.len().min(at + 200);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let word = at + self.text[at..end].find("default")? + 7;
        let at = self.skip(word, |b| b == b' ');
        self.quoted(self.skip((self.byte(at) == b'=').then_some(at + 1)?, |b| b == b' '))
    }

    /// `name: Type = "value"`.
    fn typed_value(&self, at: usize) -> Option<AssignedValue> {
        let start = self.skip(at, |b| b == b' ');
        if matches!(self.byte(start), b'\'' | b'"') {
            return None;
        }
        let end = self.skip(at, |b| {
            b.is_ascii_alphanumeric()
                || matches!(b, b' ' | b'&' | b'<' | b'>' | b'\'' | b':' | b'_' | b'|' | b'?' | b'[' | b']')
        });
        let apart =
            end > at && (self.bytes[end - 1] == b' ' || !self.bytes[at..end].iter().any(u8::is_ascii_digit));
        if apart && self.byte(end) == b'=' {
            let from = self.skip(end + 1, |b| b == b' ');
            return self.quoted(from).or_else(|| {
                let (inner, form) = self.wrapped_quote(from)?;
                let mut value = self.quoted(inner)?;
                value.context.quoting = form;
                Some(value)
            });
        }
        None
    }

    /// Where the quote of a wrapped value is: `Some("`, `b"`, `new Secret("`, `get("`.
    fn wrapped_quote(&self, at: usize) -> Option<(usize, ValueQuoting)> {
        let end = self.skip(at, |b| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'_' | b':' | b'.' | b'(' | b'&' | b'@' | b'[' | b']' | b'{' | b' ' | b'$')
        });
        let is_quote = matches!(self.byte(self.skip(end, |b| b == b'\\')), b'"' | b'\'');
        if end == at || !is_quote {
            return None;
        }
        let before = self.text[at..end].trim();
        let opens = matches!(before, "b" | "r" | "f" | "u" | "@" | "$" | "[" | "{" | "(" | "&" | "rb" | "br");
        const PLAIN: [&str; 9] = [
            "some(", "string::from(", "str(", "string(", "byte(", "secretstring::new(", "secret::new(",
            "secretstr(", "ok(",
        ];
        let plain = opens || PLAIN.iter().any(|end| before.to_ascii_lowercase().ends_with(end));
        let call = before.ends_with(['(', '[']);
        (plain || call).then_some((end, if plain { ValueQuoting::Quoted } else { ValueQuoting::Argument }))
    }

    /// `password is X`, and a Dockerfile's `PASSWORD X`.
    fn sentence_value(&mut self, at: usize, begins_line: bool) -> Option<AssignedValue> {
        for word in ["is ", "is: ", "was ", "to ", "as ", "= "] {
            if self.text[at..].starts_with(word) {
                let at = self.skip(at + word.len(), |b| matches!(b, b' ' | b'*' | b':'));
                let quoted = self.quoted(at).map(|value| value.at(ValuePlace::Sentence));
                return quoted.or_else(|| self.bare(at, ValuePlace::Sentence));
            }
        }
        // `SET PASSWORD FOR name = 'value'`
        if self.text[at..].starts_with("FOR ") || self.text[at..].starts_with("for ") {
            let equals = self.skip(at + 4, |b| !matches!(b, b'=' | b'\n'));
            if self.byte(equals) == b'=' {
                return self.quoted(self.skip(equals + 1, |b| b == b' '));
            }
        }
        // `ENV NAME value`
        let line = begins_line
            && self.text[..at].trim_end().rsplit(['\n', ' ']).nth(1).is_some_and(|word| {
                matches!(word.rsplit(|c: char| !c.is_ascii_alphabetic()).next(), Some("ENV" | "ARG"))
            });
        let alone = ["requirepass", "masterauth", "AUTH"]
            .iter()
            .any(|name| self.text[..at].trim_end().ends_with(name));
        let end = self.bare_end(at);
        let line = line || begins_line && alone && self.ends_line(end);
        let value = self.bare(at, if line { ValuePlace::Shell } else { ValuePlace::Sentence })?;
        // A word of a sentence, however long: `password authentication failed`.
        let is_word = self.bytes[value.from..value.to].iter().all(u8::is_ascii_lowercase);
        (line || !is_word || is_unpronounceable(&self.text[value.from..value.to])).then_some(value)
    }

    /// `name: DB_PASSWORD` with `value: X` behind it, as in Kubernetes, XML and forms.
    fn value_beside_name(&mut self, from: usize, to: usize) -> Option<AssignedValue> {
        let before = self.bytes[..from].iter().rev().take(24);
        let mut before = before.skip_while(|b| matches!(b, b'"' | b'\'' | b'\\' | b' ' | b':' | b'='));
        let mut word: Vec<u8> =
            before.by_ref().take_while(|b| b.is_ascii_alphabetic()).map(u8::to_ascii_lowercase).collect();
        word.reverse();
        if !matches!(word.as_slice(), b"name" | b"key" | b"type" | b"variable" | b"field" | b"id" | b"n") {
            return None;
        }
        let at =
            self.skip(to, |b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'\\' | b',' | b';'));
        let escaped = self.byte(at) == b'n' && self.byte(at - 1) == b'\\';
        let at = self.skip_line_prefix(at + usize::from(escaped));
        let behind = self.bytes.get(at..at + 5)?;
        if !behind.eq_ignore_ascii_case(b"value") {
            return None;
        }
        let at = self.skip(at + 5, |b| matches!(b, b'"' | b'\'' | b'\\'));
        let at = self.skip(at, |b| b == b' ');
        if !matches!(self.byte(at), b':' | b'=') {
            return None;
        }
        self.value_after(at + 1, ValuePlace::Line)
    }
}

impl AssignedValue {
    fn at(mut self, place: ValuePlace) -> Self {
        self.context.place = place;
        self
    }
}
