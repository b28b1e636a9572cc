//! Reads a tape as the parser of VHS does: token by token, with one token of lookahead, and without regard to
//! line ends. `own_commands.rs` reads the commands that only hopty has.

use super::command::TapeCommand;
use super::lexer::{TapeLexer, Token, TokenKind};
use super::own_commands::is_own_command;
use super::tape_args::{ArgError, TapeArgs};
use super::tape_problem::{LineTable, TapeProblem, printable};
use super::tape_text::{BadEscape, TapeText};
use super::tape_time::TapeTime;
use super::{ParseOptions, Tape, TapeFiles, TapeStep, command_words};

/// The number of errors at which the reader gives up.
const MOST_ERRORS: usize = 100;
/// How many warnings are kept.
const MOST_WARNINGS: usize = 100;
/// The most commands of a tape, including those of its files.
const MOST_STEPS: usize = 50_000;
/// The most bytes of a tape, including its files, each as often as it is included.
const MOST_BYTES: usize = 4 << 20;
/// The mark with which some editors start a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// How deeply `Source` may be nested.
pub(super) const DEEPEST_SOURCE: usize = 16;

/// State that all files of a tape share while it is read.
pub(super) struct TapeReading<'f> {
    pub(super) tape: Tape,
    options: ParseOptions,
    pub(super) files: &'f dyn TapeFiles,
    /// The files that are being read, outermost first.
    pub(super) open: Vec<String>,
    bytes: usize,
    /// Whether settings may still come.
    in_header: bool,
    /// Whether the reader gave up.
    stopped: bool,
    /// Lines that start with a misspelt command, which is typed as text.
    misspelt: Vec<TapeProblem>,
    /// Whether the tape has something that only hopty understands.
    has_own: bool,
}

impl<'f> TapeReading<'f> {
    pub(super) fn new(options: ParseOptions, files: &'f dyn TapeFiles) -> TapeReading<'f> {
        TapeReading {
            tape: Tape::default(),
            options,
            files,
            open: Vec::new(),
            bytes: 0,
            in_header: true,
            stopped: false,
            misspelt: Vec::new(),
            has_own: false,
        }
    }

    /// Adds such a misspelt command.
    pub(super) fn add_misspelt(&mut self, problem: TapeProblem) {
        if self.misspelt.len() < MOST_ERRORS {
            self.misspelt.push(problem);
        }
    }

    /// The tape. A misspelt command is an error in a tape with hopty's own commands, and a warning in a tape
    /// of VHS, which types it, too.
    pub(super) fn finish(mut self) -> Tape {
        let problems = if self.has_own { &mut self.tape.errors } else { &mut self.tape.warnings };
        problems.append(&mut self.misspelt);
        self.tape
    }

    /// Reads a file to its end, or until there are too many errors.
    pub(super) fn read(&mut self, name: &str, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MOST_BYTES {
            self.stop(TapeProblem::of_file(
                name,
                format!("the tape is larger than {} MiB", MOST_BYTES >> 20),
            ));
            return;
        }
        self.open.push(name.to_owned());
        // For VHS it is an unknown command.
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).filter(|_| !self.options.vhs_only).unwrap_or(bytes);
        let source = String::from_utf8_lossy(text);
        TapeParser::new(name, &source, self).parse();
        self.open.pop();
    }

    fn stop(&mut self, problem: TapeProblem) {
        if !self.stopped {
            self.tape.errors.push(problem);
        }
        self.stopped = true;
    }
}

/// Reads one file.
pub(super) struct TapeParser<'a, 'r, 'f> {
    pub(super) reading: &'r mut TapeReading<'f>,
    pub(super) lines: LineTable<'a>,
    pub(super) lexer: TapeLexer<'a>,
    pub(super) cur: Token<'a>,
    pub(super) peek: Token<'a>,
    /// Whether this is a line that starts with `#>`.
    pub(super) in_comment: bool,
    /// In a line that starts with `#>`: where the tape continues after it.
    resume: usize,
    /// The line of the last error, until another command is read: further errors on it come from the same
    /// mistake.
    pub(super) broken_line: Option<usize>,
}

impl<'a, 'r, 'f> TapeParser<'a, 'r, 'f> {
    pub(super) fn new(name: &str, source: &'a str, reading: &'r mut TapeReading<'f>) -> Self {
        let lexer = TapeLexer { source, limit: source.len(), has_escapes: !reading.options.vhs_only };
        let cur = lexer.token(0);
        TapeParser {
            reading,
            lines: LineTable::new(name, source),
            lexer,
            cur,
            peek: lexer.token(cur.end),
            in_comment: false,
            resume: 0,
            broken_line: None,
        }
    }

    pub(super) fn parse(&mut self) {
        while self.cur.kind != TokenKind::End && !self.reading.stopped {
            if self.cur.kind != TokenKind::Comment {
                self.command();
            } else if self.cur.text.starts_with("> ") && !self.in_comment {
                self.comment_line();
            } else if !self.in_comment {
                self.warn_of_comment();
            }
            self.next();
        }
        if self.cur.kind == TokenKind::End && self.cur.end < self.lexer.source.len() && !self.in_comment {
            self.warn(self.cur.start, self.cur.start + 1, "a NUL byte ends the tape here, as in VHS");
        }
    }

    /// Warns of a comment that was probably meant as a command for hopty.
    fn warn_of_comment(&mut self) {
        let Some(inside) = self.cur.text.strip_prefix('>') else { return };
        let word = inside.trim_start().split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        if is_own_command(word) || command_words().any(|command| command == word) {
            let message =
                format!("this is a comment, so `{word}` does nothing: a command stands behind `#> `");
            self.warn(self.cur.start, self.cur.end, message);
        }
    }

    /// Reads a line that starts with `#> `: a comment for VHS, commands for hopty.
    pub(super) fn comment_line(&mut self) {
        let line_end = self.cur.end;
        let whole = self.lexer;
        self.lexer = TapeLexer { limit: line_end, has_escapes: true, ..whole };
        self.in_comment = true;
        self.resume = line_end;
        self.go_to(self.cur.start + 2);
        self.parse();
        self.in_comment = false;
        self.lexer = whole;
        self.peek = self.lexer.token(self.resume);
    }

    pub(super) fn next(&mut self) {
        self.cur = self.peek;
        self.peek = self.lexer.token(self.cur.end);
    }

    /// Continues with the token at a byte.
    pub(super) fn go_to(&mut self, at: usize) {
        self.cur = self.lexer.token(at);
        self.peek = self.lexer.token(self.cur.end);
    }

    /// The arguments, from the byte `at` on, of the hopty command that starts at `start`.
    pub(super) fn args(&self, start: usize, at: usize) -> TapeArgs<'a> {
        let end = self.lines.end_of_line(at).min(self.lexer.limit);
        TapeArgs::new(self.lexer.source, start, at, end, self.in_comment)
    }

    /// Continues after arguments, at the next token.
    pub(super) fn continue_after(&mut self, at: usize) {
        self.resume = self.resume.max(at);
        self.cur = Token { end: at, ..self.cur };
        self.peek = self.lexer.token(at);
    }

    /// Continues after the line of a byte.
    pub(super) fn continue_after_line(&mut self, at: usize) {
        self.continue_after(self.lines.end_of_line(at).min(self.lexer.limit));
    }

    /// Reports a wrong argument and skips the rest of the line.
    pub(super) fn argument_error(&mut self, error: ArgError) {
        let ArgError { start, end, message, hint } = error;
        self.report(start, end, message, hint);
        self.continue_after_line(start);
    }

    /// Whether settings may still come.
    pub(super) fn may_set(&self) -> bool {
        self.reading.in_header
    }

    /// Whether only VHS commands are allowed here.
    pub(super) fn is_strict(&self) -> bool {
        self.reading.options.vhs_only && !self.in_comment
    }

    // Errors.

    /// Whether an error at a byte is a consequence of a reported one.
    pub(super) fn is_known(&self, at: usize) -> bool {
        self.broken_line.is_some_and(|line| line == self.lines.line(at))
    }

    /// Adds an error, unless it is a consequence of a reported one.
    pub(super) fn report(&mut self, start: usize, end: usize, message: String, hint: Option<String>) {
        if self.is_known(start) {
            return;
        }
        self.broken_line = Some(self.lines.line(start));
        let problem = self.lines.problem(start, end, message);
        self.reading.tape.errors.push(hint.into_iter().fold(problem, TapeProblem::with_hint));
        if self.reading.tape.errors.len() >= MOST_ERRORS {
            let name = self.reading.open.last().cloned().unwrap_or_default();
            self.reading
                .stop(TapeProblem::of_file(&name, "too many errors; the rest of the tape was not read"));
        }
    }

    /// hopty's command at a character that is illegal in VHS.
    pub(super) fn own_sign(&self, token: Token<'a>) -> Option<&'static str> {
        let rest = &self.lexer.source[token.start..self.lexer.limit];
        let sign = self.is_strict() && token.kind == TokenKind::Illegal;
        sign.then(|| {
            let signs = [("$\"", "`$\"…\"`"), ("<<", "`<<`"), ("$<<", "`$<<`")];
            signs.iter().find(|(begin, _)| rest.starts_with(begin)).map(|(_, name)| *name)
        })?
    }

    pub(super) fn error(&mut self, token: Token<'a>, message: impl Into<String>) {
        if let Some(sign) = self.own_sign(token) {
            self.allow_own(token, sign);
            return;
        }
        self.report(token.start, token.end, message.into(), None);
    }

    pub(super) fn error_with_hint(
        &mut self,
        token: Token<'a>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        if let Some(sign) = self.own_sign(token) {
            self.allow_own(token, sign);
            return;
        }
        self.report(token.start, token.end, message.into(), Some(hint.into()));
    }

    pub(super) fn warn(&mut self, start: usize, end: usize, message: impl Into<String>) {
        if self.reading.tape.warnings.len() < MOST_WARNINGS {
            let problem = self.lines.problem(start, end, message.into());
            self.reading.tape.warnings.push(problem);
        }
    }

    /// Notes that only hopty understands what starts at `token`. `true` if that is allowed here.
    pub(super) fn allow_own(&mut self, token: Token<'a>, what: &str) -> bool {
        if self.is_strict() {
            let hint = "put it on a line that begins with `#> `: a comment for VHS, a command for hopty";
            let message = format!("{what} is an extension of hopty; VHS does not have it");
            self.report(token.start, token.end, message, Some(hint.to_owned()));
        }
        self.reading.has_own |= !self.is_strict();
        !self.is_strict()
    }

    /// Adds a command that began at `start`.
    pub(super) fn push(&mut self, start: usize, command: TapeCommand) {
        let span = self.lines.span(start);
        let ignored = match &command {
            _ if self.reading.in_header => false,
            TapeCommand::Set(_) => !command.is_shell_setting(),
            TapeCommand::Require(_) => true,
            _ => false,
        };
        self.reading.in_header &= command.belongs_to_header();
        if ignored {
            let (what, to_do) = match command {
                TapeCommand::Set(_) => ("setting", "settings come before every other command"),
                _ => ("`Require`", "it comes before every other command"),
            };
            self.warn(start, self.cur.end, format!("this {what} is ignored: {to_do}"));
        }
        self.reading.tape.steps.push(TapeStep { command, span, ignored });
        if self.reading.tape.steps.len() > MOST_STEPS {
            let problem = self.lines.problem(start, start, format!("more than {MOST_STEPS} commands"));
            self.reading.stop(problem);
        }
        self.broken_line = None;
    }

    // Parts of commands.

    /// Whether a token starts a line of hopty's own, so that a VHS text ends before it.
    pub(super) fn begins_own_line(&self, token: Token<'a>) -> bool {
        token.kind == TokenKind::Bare && is_own_command(token.text) && self.is_first_on_line(token)
    }

    pub(super) fn is_first_on_line(&self, token: Token<'a>) -> bool {
        let before = self.lexer.source[..token.start].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with(['\n', '\r'])
    }

    /// Whether a text comes next. VHS texts continue on the next line, unless it is a command of hopty.
    pub(super) fn text_follows(&self) -> bool {
        match self.peek.kind {
            TokenKind::Quoted | TokenKind::Escaped => true,
            TokenKind::Bare => self.is_strict() || !self.begins_own_line(self.peek),
            _ => false,
        }
    }

    /// Takes the next token as a text.
    pub(super) fn take_text(&mut self) -> TapeText {
        self.next();
        self.text_of(self.cur)
    }

    pub(super) fn text_of(&mut self, token: Token<'a>) -> TapeText {
        if !token.closed {
            let message = "this text has no closing quote";
            if token.kind == TokenKind::Escaped {
                self.error(token, message);
            } else {
                self.warn(token.start, token.end, format!("{message}; as in VHS the line's end closes it"));
            }
        }
        if token.kind != TokenKind::Escaped {
            return TapeText::plain(token.literal());
        }
        self.reading.has_own = true;
        TapeText::from_escaped(token.text).unwrap_or_else(|BadEscape { at, message, hint }| {
            let at = token.start + 2 + at;
            self.report(at, at + 2, message, hint.map(str::to_owned));
            TapeText::default()
        })
    }

    /// `@TIME`, or nothing.
    pub(super) fn speed(&mut self) -> Option<RawTime<'a>> {
        if self.peek.kind != TokenKind::At {
            return None;
        }
        self.next();
        self.time()
    }

    /// A number and perhaps a unit.
    pub(super) fn time(&mut self) -> Option<RawTime<'a>> {
        if self.peek.kind != TokenKind::Number {
            let message = format!("a time is missing after `{}`", printable(self.cur.text));
            self.error_with_hint(self.cur, message, "for example 500ms, 2s");
            return None;
        }
        self.next();
        let first = self.cur;
        let unit = match (self.peek.kind, self.peek.text) {
            (TokenKind::Unit, "ms" | "s" | "m") => {
                self.next();
                self.cur.text
            }
            (TokenKind::Bare, more) if self.peek.start == self.cur.end => {
                let text = format!("{}{more}", first.text);
                match TapeTime::parse(&text) {
                    Some(_) if self.allow_own(first, &format!("`{}`", printable(&text))) => {
                        self.next();
                        return Some(RawTime { text, token: Token { end: self.cur.end, ..first } });
                    }
                    _ => "s",
                }
            }
            _ => "s",
        };
        let token = Token { end: self.cur.end, ..first };
        Some(RawTime { text: format!("{}{unit}", first.text), token })
    }

    /// The time, or an error about it.
    pub(super) fn checked(&mut self, time: RawTime<'a>) -> Option<TapeTime> {
        let parsed = time.parse();
        if parsed.is_none() {
            self.error(time.token, format!("`{}` is not a time", printable(&time.text)));
        }
        parsed
    }

    /// The number after a key: once unless it is an integer.
    pub(super) fn repeat(&mut self) -> u32 {
        if self.peek.kind != TokenKind::Number {
            return 1;
        }
        self.next();
        let count = self.cur.text.parse::<u64>().ok();
        if count.is_none() {
            let message = format!("`{}` is not a count: the key is pressed once", printable(self.cur.text));
            self.warn(self.cur.start, self.cur.end, message);
        }
        count.map_or(1, |count| u32::try_from(count).unwrap_or(u32::MAX))
    }
}

pub(super) struct RawTime<'a> {
    pub(super) text: String,
    pub(super) token: Token<'a>,
}

impl RawTime<'_> {
    pub(super) fn parse(&self) -> Option<TapeTime> {
        TapeTime::parse(&self.text)
    }
}

/// The extension of a file name, with the dot.
pub(super) fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rfind('.').map_or("", |at| &name[at..])
}
