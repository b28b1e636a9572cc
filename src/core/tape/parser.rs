//! Reads a tape as the parser of VHS does: token by token, with one token looked ahead, and nothing said by
//! the ends of lines. Commands that only hopty has are read by `extension.rs`.

use super::args::{ArgError, TapeArgs};
use super::command::{KeyAction, KeyPress, TapeCommand, WaitScope};
use super::extension::{OWN_COMMANDS, OWN_SETTINGS};
use super::key::{KeyChord, KeyModifiers, KeyName};
use super::lexer::{TapeLexer, Token, TokenKind, VHS_KEYWORDS};
use super::nearest::nearest;
use super::pattern::TapePattern;
use super::problem::{LineTable, TapeProblem, shown};
use super::regex::{TapeRegex, TapeRegexError};
use super::settings::TapeSetting;
use super::text::{BadEscape, TapeText};
use super::time::TapeTime;
use super::{ParseOptions, Tape, TapeFiles, TapeStep};

/// How many errors a tape may have until the reader gives up.
const MOST_ERRORS: usize = 100;
/// How many warnings are kept.
const MOST_WARNINGS: usize = 100;
/// How many commands a tape may have, those of its files included.
const MOST_STEPS: usize = 50_000;
/// How many bytes a tape may have, those of its files included, each as often as it is named.
const MOST_BYTES: usize = 4 << 20;
/// How deep `Source` may go.
const DEEPEST_SOURCE: usize = 16;

/// What all files of a tape share while it is read.
pub(super) struct TapeReading<'f> {
    pub(super) tape: Tape,
    options: ParseOptions,
    files: &'f dyn TapeFiles,
    /// The files that are being read, the outermost first.
    open: Vec<String>,
    bytes: usize,
    /// Whether settings may still come.
    in_header: bool,
    /// Whether the reader gave up.
    stopped: bool,
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
        }
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
        let source = String::from_utf8_lossy(bytes);
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
    /// Whether this is a line that begins with `#>`.
    pub(super) in_comment: bool,
    /// In a line that begins with `#>`: where the tape goes on behind it.
    resume: usize,
    /// The line of the last error, until a command is read again: what VHS would say about the rest of it
    /// comes from the same mistake.
    broken_line: Option<usize>,
}

impl<'a, 'r, 'f> TapeParser<'a, 'r, 'f> {
    fn new(name: &str, source: &'a str, reading: &'r mut TapeReading<'f>) -> Self {
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

    fn parse(&mut self) {
        while self.cur.kind != TokenKind::End && !self.reading.stopped {
            if self.cur.kind != TokenKind::Comment {
                self.command();
            } else if self.cur.text.starts_with("> ") && !self.in_comment {
                self.comment_line();
            }
            self.next();
        }
        if self.cur.kind == TokenKind::End && self.cur.end < self.lexer.source.len() && !self.in_comment {
            self.warn(self.cur.start, self.cur.start + 1, "a NUL byte ends the tape here, as in VHS");
        }
    }

    /// Reads a line that begins with `#>`: a comment for VHS, commands for hopty.
    fn comment_line(&mut self) {
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

    /// Goes on with the token at a byte.
    fn go_to(&mut self, at: usize) {
        self.cur = self.lexer.token(at);
        self.peek = self.lexer.token(self.cur.end);
    }

    /// The arguments of the command of hopty that begins at `start`, from the byte `at` on.
    pub(super) fn args(&self, start: usize, at: usize) -> TapeArgs<'a> {
        let end = self.lines.end_of_line(at).min(self.lexer.limit);
        TapeArgs::new(self.lexer.source, start, at, end, self.in_comment)
    }

    /// Goes on behind arguments, so that the next token is the first one there.
    pub(super) fn go_behind(&mut self, at: usize) {
        self.resume = self.resume.max(at);
        self.cur = Token { end: at, ..self.cur };
        self.peek = self.lexer.token(at);
    }

    /// Goes on behind the line of a byte.
    pub(super) fn go_behind_line(&mut self, at: usize) {
        self.go_behind(self.lines.end_of_line(at).min(self.lexer.limit));
    }

    /// Tells of an argument that is wrong, and leaves out the rest of its line.
    pub(super) fn argument_error(&mut self, error: ArgError) {
        let ArgError { start, end, message, hint } = error;
        self.report(start, end, message, hint);
        self.go_behind_line(start);
    }

    /// Whether settings may still come.
    pub(super) fn may_set(&self) -> bool {
        self.reading.in_header
    }

    /// Whether only what VHS understands may stand here.
    pub(super) fn is_strict(&self) -> bool {
        self.reading.options.vhs_only && !self.in_comment
    }

    // What is said.

    /// Whether an error at a byte comes from one that is known.
    fn is_known(&self, at: usize) -> bool {
        self.broken_line.is_some_and(|line| line == self.lines.line(at))
    }

    /// Adds an error, unless it comes from one that is known.
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

    /// Where VHS sees a sign that begins nothing: what hopty has there.
    fn own_sign(&self, token: Token<'a>) -> Option<&'static str> {
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

    /// Says that only hopty understands what begins at `token`. `true` when it may stand here.
    pub(super) fn allow_own(&mut self, token: Token<'a>, what: &str) -> bool {
        if self.is_strict() {
            let hint = "put it on a line that begins with `#> `: a comment for VHS, a command for hopty";
            let message = format!("{what} is an extension of hopty; VHS does not have it");
            self.report(token.start, token.end, message, Some(hint.to_owned()));
        }
        !self.is_strict()
    }

    /// Adds a command that began at `start`.
    pub(super) fn push(&mut self, start: usize, command: TapeCommand) {
        let span = self.lines.span(start);
        let ignored = match &command {
            _ if self.reading.in_header => false,
            TapeCommand::Set(TapeSetting::Shell(_) | TapeSetting::TypingSpeed(_)) => false,
            TapeCommand::Set(_) | TapeCommand::Require(_) => true,
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

    // What commands are made of.

    /// Whether a token is a word with which a line of hopty's own begins, so that no text of VHS goes on.
    pub(super) fn begins_own_line(&self, token: Token<'a>) -> bool {
        token.kind == TokenKind::Bare && is_own_command(token.text) && self.is_first_on_line(token)
    }

    fn is_first_on_line(&self, token: Token<'a>) -> bool {
        let before = self.lexer.source[..token.start].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with(['\n', '\r'])
    }

    /// Whether a text comes next. Over the end of the line texts of VHS go on, but for a command of hopty.
    fn text_follows(&self) -> bool {
        match self.peek.kind {
            TokenKind::Quoted | TokenKind::Escaped => true,
            TokenKind::Bare => self.is_strict() || !self.begins_own_line(self.peek),
            _ => false,
        }
    }

    /// Takes the next token as a text.
    fn take_text(&mut self) -> TapeText {
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
        TapeText::from_escaped(token.text).unwrap_or_else(|BadEscape { at, message, hint }| {
            let at = token.start + 2 + at;
            self.report(at, at + 2, message, hint.map(str::to_owned));
            TapeText::default()
        })
    }

    /// `@TIME`, or nothing.
    fn speed(&mut self) -> Option<RawTime<'a>> {
        if self.peek.kind != TokenKind::At {
            return None;
        }
        self.next();
        self.time()
    }

    /// A number and perhaps a unit.
    fn time(&mut self) -> Option<RawTime<'a>> {
        if self.peek.kind != TokenKind::Number {
            let message = format!("a time is missing behind `{}`", shown(self.cur.text));
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
                    Some(_) if self.allow_own(first, &format!("`{}`", shown(&text))) => {
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
    fn checked(&mut self, time: RawTime<'a>) -> Option<TapeTime> {
        let parsed = time.parse();
        if parsed.is_none() {
            self.error(time.token, format!("`{}` is no time", shown(&time.text)));
        }
        parsed
    }

    /// The number behind a key: once unless it is an integer.
    fn repeat(&mut self) -> u32 {
        if self.peek.kind != TokenKind::Number {
            return 1;
        }
        self.next();
        let count = self.cur.text.parse::<u64>().ok();
        if count.is_none() {
            let message = format!("`{}` is no count: the key is pressed once", shown(self.cur.text));
            self.warn(self.cur.start, self.cur.end, message);
        }
        count.map_or(1, |count| u32::try_from(count).unwrap_or(u32::MAX))
    }

    // The commands.

    fn command(&mut self) {
        let start = self.cur;
        if let TokenKind::Bare | TokenKind::Keyword = start.kind
            && self.own_command()
        {
            return;
        }
        if start.kind != TokenKind::Keyword {
            self.unknown_command();
            return;
        }
        let command = match start.text {
            "Set" => self.set().map(TapeCommand::Set),
            "Output" => self.output(),
            "Sleep" => self.sleep(),
            "Type" => self.type_text(),
            "Ctrl" => self.ctrl(),
            "Alt" | "Shift" => self.alt_or_shift(),
            "Hide" => Some(TapeCommand::Hide),
            "Show" => Some(TapeCommand::Show),
            "Require" => self.require(),
            "Wait" => self.wait(),
            "Source" => {
                self.source();
                None
            }
            "Screenshot" => self.screenshot(),
            "Copy" => self.words().map(TapeCommand::Copy),
            "Paste" => Some(TapeCommand::PasteClipboard),
            "Env" => self.env(),
            "ScrollUp" | "ScrollDown" => {
                let speed = self.key_speed();
                Some(TapeCommand::Scroll { up: start.text == "ScrollUp", rows: self.repeat(), speed })
            }
            name => match KeyName::parse(name) {
                Some(key) if name != "End" || self.allow_own(start, "`End`") => self.key(key),
                Some(_) => None,
                None => {
                    self.unknown_command();
                    None
                }
            },
        };
        if let Some(command) = command {
            self.push(start.start, command);
        }
    }

    fn unknown_command(&mut self) {
        let token = self.cur;
        if self.is_known(token.start) {
            return;
        }
        let word = match token.kind {
            TokenKind::Bare | TokenKind::Keyword => token.text.to_owned(),
            TokenKind::Illegal if token.text.chars().all(char::is_control) => visible_char(token.text),
            _ => self.lexer.source[token.start..token.end].trim_end().to_owned(),
        };
        let message = match token.kind {
            TokenKind::Bare | TokenKind::Keyword => format!("there is no command `{}`", shown(&word)),
            _ => format!("a command was expected, not `{}`", shown(&word)),
        };
        let settings = VHS_KEYWORDS.iter().copied().filter(|name| VHS_SETTINGS.contains(name));
        if token.kind == TokenKind::Keyword && VHS_SETTINGS.contains(&token.text) {
            self.error_with_hint(token, message, format!("write `Set {}`", token.text));
            return;
        }
        let own = OWN_COMMANDS.iter().copied().filter(|_| !self.is_strict());
        let commands = VHS_KEYWORDS.iter().copied().filter(|name| !VHS_SETTINGS.contains(name)).chain(own);
        match nearest(&word, commands.chain(settings)) {
            Some(near) if token.kind == TokenKind::Bare => {
                let near = if VHS_SETTINGS.contains(&near) { format!("Set {near}") } else { near.to_owned() };
                self.error_with_hint(token, message, format!("did you mean `{near}`?"));
            }
            _ if token.kind == TokenKind::Quoted => {
                self.error_with_hint(token, message, "write `Type` before a text to type it");
            }
            _ => self.error(token, message),
        }
    }

    /// The pause behind each press. VHS takes the typing speed instead of a time that it cannot read.
    fn key_speed(&mut self) -> Option<TapeTime> {
        let raw = self.speed()?;
        let time = raw.parse();
        if time.is_none() {
            let message = format!("`{}` is no time: the typing speed is taken", shown(&raw.text));
            self.warn(raw.token.start, raw.token.end, message);
        }
        time
    }

    /// A key with its speed and count.
    pub(super) fn key(&mut self, key: KeyName) -> Option<TapeCommand> {
        let speed = self.key_speed();
        let count = self.repeat();
        let chords = vec![KeyChord::plain(key)];
        Some(TapeCommand::Key(KeyPress { chords, speed, count, action: KeyAction::Press }))
    }

    fn sleep(&mut self) -> Option<TapeCommand> {
        let time = self.time()?;
        self.checked(time).map(TapeCommand::Sleep)
    }

    fn type_text(&mut self) -> Option<TapeCommand> {
        let raw = self.speed();
        let broken = self.reading.tape.errors.len();
        let speed = raw.and_then(|raw| self.checked(raw));
        let text = self.words()?;
        (self.reading.tape.errors.len() == broken).then_some(TapeCommand::Type { text, speed })
    }

    /// Texts up to the first token that is none, joined by spaces.
    fn words(&mut self) -> Option<TapeText> {
        let command = self.cur;
        if self.own_text_follows() {
            return self.own_text();
        }
        if !self.text_follows() {
            let message = format!("`{}` needs a text", command_name(self.lexer.source, command));
            let hint = match self.peek.kind {
                TokenKind::Keyword | TokenKind::Unit | TokenKind::Boolean | TokenKind::Number => {
                    format!("quote it: \"{}\"", self.peek.text)
                }
                _ => "for example \"ls -la\"".to_owned(),
            };
            self.error_with_hint(self.peek, message, hint);
            return None;
        }
        let mut text = self.take_text();
        while self.text_follows() {
            self.warn_of_typed_word();
            text.push(' ');
            let more = self.take_text();
            text.append(&more);
        }
        Some(text)
    }

    /// Warns when the next word is typed although it looks like a command.
    fn warn_of_typed_word(&mut self) {
        let word = self.peek;
        if word.kind != TokenKind::Bare || !is_own_command(word.text) {
            return;
        }
        let message = format!("`{}` is typed here", word.text);
        if self.is_strict() && self.begins_own_line(word) {
            self.warn(word.start, word.end, format!("{message}, since VHS does not have such a command"));
        } else if self.cur.kind == TokenKind::Quoted {
            self.warn(word.start, word.end, format!("{message}; as a command it needs a line of its own"));
        }
    }

    fn require(&mut self) -> Option<TapeCommand> {
        if !self.text_follows() {
            self.error_with_hint(
                self.peek,
                "`Require` needs the name of a program",
                "for example Require git",
            );
            self.skip_value();
            return None;
        }
        let program = self.take_text();
        Some(TapeCommand::Require(program.as_str().to_owned()))
    }

    /// Goes on behind a value that was none, as VHS does, but not over a command of hopty.
    fn skip_value(&mut self) {
        if self.is_strict() || !self.begins_own_line(self.peek) {
            self.next();
        }
    }

    fn env(&mut self) -> Option<TapeCommand> {
        let name = self.peek.literal().into_owned();
        let token = self.peek;
        self.skip_value();
        if !self.text_follows() {
            let value = self.peek.literal();
            let hint = match self.peek.kind {
                TokenKind::End | TokenKind::Comment => "for example Env PORT \"8080\"".to_owned(),
                _ => format!("quote it: \"{}\"", shown(&value)),
            };
            self.error_with_hint(
                self.peek,
                format!("the value of `Env {}` must be a text", shown(&name)),
                hint,
            );
            self.skip_value();
            return None;
        }
        let value = self.take_text();
        if name.is_empty() || name.contains(['=', '\0']) {
            self.error(token, format!("`{}` is no name of a variable", shown(&name)));
            return None;
        }
        Some(TapeCommand::Env { name, value })
    }

    fn output(&mut self) -> Option<TapeCommand> {
        if !self.text_follows() {
            self.error_with_hint(self.cur, "`Output` needs the path of a file", path_hint(self.peek));
            return None;
        }
        let path = self.take_text();
        if extension(path.as_str()).is_empty() && !path.as_str().ends_with('/') {
            let hint = "add .gif, .mp4, .webm, .txt, .cast or .svg, or a slash for a directory of pictures";
            self.error_with_hint(self.cur, "this path says no format", hint);
            return None;
        }
        Some(TapeCommand::Output(path))
    }

    fn screenshot(&mut self) -> Option<TapeCommand> {
        let command = self.cur;
        if !self.text_follows() {
            self.error_with_hint(command, "`Screenshot` needs the path of a file", path_hint(self.peek));
            self.skip_value();
            return None;
        }
        let path = self.take_text();
        match extension(path.as_str()) {
            ".png" => {}
            own @ (".svg" | ".txt" | ".ansi" | ".json") => {
                if !self.allow_own(command, &format!("`Screenshot` with {own}")) {
                    return None;
                }
            }
            _ => {
                let hint = "a screenshot is a .png, .svg, .txt, .ansi or .json file";
                self.error_with_hint(self.cur, "this path says no format of a screenshot", hint);
                return None;
            }
        }
        Some(TapeCommand::Screenshot(path))
    }

    fn wait(&mut self) -> Option<TapeCommand> {
        let command = self.cur;
        let mut scope = WaitScope::Line;
        if self.peek.kind == TokenKind::Plus {
            self.next();
            scope = match (self.peek.kind, self.peek.text) {
                (TokenKind::Bare | TokenKind::Quoted, "Line") => WaitScope::Line,
                (TokenKind::Bare | TokenKind::Quoted, "Screen") => WaitScope::Screen,
                _ => {
                    self.error(self.peek, "`Wait+` is followed by Line or Screen");
                    return None;
                }
            };
            self.next();
        }
        let mut limit = None;
        if self.peek.kind == TokenKind::At {
            let raw = self.speed()?;
            let time = raw.parse().filter(|time| *time > TapeTime::default());
            if time.is_none() {
                self.error(raw.token, format!("`{}` is no time to wait", shown(&raw.text)));
                return None;
            }
            limit = time;
        }
        let pattern = match self.peek.kind {
            TokenKind::Regex => {
                self.next();
                Some(TapePattern::Regex(self.regex_of(self.cur)?))
            }
            TokenKind::Quoted | TokenKind::Escaped if self.is_on_line_of(command) => {
                if !self.allow_own(command, "`Wait` with a text") {
                    self.next();
                    return None;
                }
                Some(TapePattern::Text(self.take_text()))
            }
            _ => None,
        };
        Some(TapeCommand::Wait { scope, limit, pattern })
    }

    /// Whether the next token begins on the line of `token`.
    pub(super) fn is_on_line_of(&self, token: Token<'a>) -> bool {
        self.lines.line(token.start) == self.lines.line(self.peek.start)
    }

    /// The regex of a token, or an error about it.
    fn regex_of(&mut self, token: Token<'a>) -> Option<TapeRegex> {
        if token.kind == TokenKind::Regex && !token.closed {
            self.warn(
                token.start,
                token.end,
                "this regex has no closing slash; as in VHS the line's end closes it",
            );
        }
        match TapeRegex::parse(&token.literal()) {
            Ok(regex) => Some(regex),
            Err(TapeRegexError { at, message }) => {
                let at = (token.start + 1 + at).min(token.end.saturating_sub(1)).max(token.start);
                self.report(at, at + 1, message, None);
                None
            }
        }
    }

    // Settings.

    fn set(&mut self) -> Option<TapeSetting> {
        let name = self.peek;
        if let Some(setting) = self.own_setting() {
            return setting;
        }
        if !(name.kind == TokenKind::Keyword && VHS_SETTINGS.contains(&name.text)) {
            let known = VHS_SETTINGS.iter().chain(OWN_SETTINGS.iter()).copied();
            let message = match name.kind {
                TokenKind::End => "`Set` needs the name of a setting".to_owned(),
                _ => format!("there is no setting `{}`", shown(&name.literal())),
            };
            match nearest(name.text, known) {
                Some(near) => self.error_with_hint(name, message, format!("did you mean `{near}`?")),
                None => self.error(name, message),
            }
            self.skip_value();
            self.skip_value();
            return None;
        }
        self.next();
        let value = self.peek;
        let literal = value.literal();
        match name.text {
            "WaitTimeout" => {
                let raw = self.time()?;
                self.setting(name, raw.token, raw.parse().map(TapeSetting::WaitTimeout))
            }
            "WaitPattern" => {
                self.next();
                self.regex_of(value).map(TapeSetting::WaitPattern)
            }
            "LoopOffset" => {
                self.next();
                if self.peek.kind == TokenKind::Percent {
                    self.next();
                }
                self.setting(name, value, float(&literal).map(TapeSetting::LoopOffset))
            }
            "TypingSpeed" => {
                self.next();
                let unit = match (self.peek.kind, self.peek.text) {
                    (TokenKind::Unit, "ms" | "s") => {
                        self.next();
                        self.cur.text
                    }
                    _ => "s",
                };
                let time = TapeTime::parse(&format!("{literal}{unit}"));
                self.setting(name, value, time.map(TapeSetting::TypingSpeed))
            }
            "WindowBar" => {
                self.next();
                if !WINDOW_BARS.contains(&literal.as_ref()) {
                    let hint = "Colorful, ColorfulRight, Rings or RingsRight";
                    let message = format!("there is no window bar `{}`", shown(&literal));
                    self.error_with_hint(value, message, hint);
                    return None;
                }
                Some(TapeSetting::WindowBar(literal.into_owned()))
            }
            "MarginFill" => {
                self.next();
                if value.kind == TokenKind::Comment {
                    self.warn(value.start, value.end, "`#` begins a comment; quote the colour");
                }
                let hex = literal.strip_prefix('#');
                if hex.is_some_and(|hex| hex.len() != 6 || !hex.bytes().all(|b| b.is_ascii_hexdigit())) {
                    let message = format!("`{}` is no colour", shown(&literal));
                    self.error_with_hint(value, message, "for example \"#6b50ff\"");
                    return None;
                }
                Some(TapeSetting::MarginFill(literal.into_owned()))
            }
            "CursorBlink" => {
                self.next();
                if value.kind != TokenKind::Boolean {
                    self.error(value, "`CursorBlink` is true or false");
                    return None;
                }
                Some(TapeSetting::CursorBlink(value.text == "true"))
            }
            _ => {
                self.next();
                self.plain_setting(name, value)
            }
        }
    }

    /// A setting whose value is one token.
    fn plain_setting(&mut self, name: Token<'a>, value: Token<'a>) -> Option<TapeSetting> {
        use TapeSetting as S;
        let literal = value.literal();
        let integer = literal.parse::<i64>().ok();
        let setting = match name.text {
            "Shell" => {
                if !SHELLS.contains(&literal.as_ref()) {
                    let message =
                        format!("VHS does not start `{}`, but {}", shown(&literal), SHELLS.join(", "));
                    self.warn(value.start, value.end, message);
                }
                Some(S::Shell(literal.into_owned()))
            }
            "FontFamily" => Some(S::FontFamily(literal.into_owned())),
            "Theme" => Some(S::Theme(literal.into_owned())),
            "FontSize" => integer.map(S::FontSize),
            "Width" => integer.map(S::Width),
            "Height" => integer.map(S::Height),
            "Padding" => integer.map(S::Padding),
            "Framerate" => integer.map(S::Framerate),
            "Margin" => integer.map(S::Margin),
            "WindowBarSize" => integer.map(S::WindowBarSize),
            "BorderRadius" => integer.map(S::BorderRadius),
            "LetterSpacing" => float(&literal).map(S::LetterSpacing),
            "LineHeight" => float(&literal).map(S::LineHeight),
            _ => float(&literal).map(S::PlaybackSpeed),
        };
        self.setting(name, value, setting)
    }

    /// A setting, or an error when its value is none. VHS does not look at the values of settings that it
    /// ignores.
    fn setting(
        &mut self,
        name: Token<'a>,
        value: Token<'a>,
        setting: Option<TapeSetting>,
    ) -> Option<TapeSetting> {
        let literal = value.literal();
        if setting.is_none() && !self.reading.in_header && name.text != "TypingSpeed" {
            return Some(TapeSetting::Unused { name: name.text.to_owned(), value: literal.into_owned() });
        }
        if setting.is_none() {
            let kind = match name.text {
                "WaitTimeout" | "TypingSpeed" => "a time",
                "LetterSpacing" | "LineHeight" | "PlaybackSpeed" | "LoopOffset" => "a number",
                _ => "a whole number",
            };
            self.error(value, format!("`{}` is {kind}, not `{}`", name.text, shown(&literal)));
        }
        setting
    }

    // Keys with modifiers.

    fn ctrl(&mut self) -> Option<TapeCommand> {
        let command = self.cur;
        let mut modifiers = KeyModifiers { ctrl: true, ..KeyModifiers::default() };
        let mut keys = Vec::new();
        let mut parts = 0;
        while self.peek.kind == TokenKind::Plus {
            self.next();
            let part = self.peek;
            if let "Alt" | "Shift" = part.text {
                if !keys.is_empty() {
                    self.error(part, "modifiers come before the key");
                    return None;
                }
                modifiers = KeyModifiers::parse(part.text).unwrap_or_default().and(modifiers);
                self.next();
            } else if let Some(key) = vhs_ctrl_key(part) {
                keys.push(key);
                self.next();
            } else {
                keys.push(self.own_chord_key(command)?);
            }
            parts += 1;
        }
        if parts == 0 {
            self.error_with_hint(command, "`Ctrl` needs a key", "for example Ctrl+C");
            return None;
        }
        self.chords(modifiers, keys)
    }

    /// The keys with what is held, and the speed and count that only hopty takes here.
    fn chords(&mut self, modifiers: KeyModifiers, keys: Vec<KeyName>) -> Option<TapeCommand> {
        let mut press = KeyPress {
            chords: keys.into_iter().map(|key| KeyChord { key, modifiers }).collect(),
            speed: None,
            count: 1,
            action: KeyAction::Press,
        };
        let key = self.cur;
        if let TokenKind::At | TokenKind::Number = self.peek.kind
            && self.is_on_line_of(key)
            && self.allow_own(self.peek, "a speed or count of a key with modifiers")
        {
            press.speed = self.key_speed();
            press.count = self.repeat();
        }
        Some(TapeCommand::Key(press))
    }

    fn alt_or_shift(&mut self) -> Option<TapeCommand> {
        let command = self.cur;
        let mut modifiers = KeyModifiers::parse(command.text).unwrap_or_default();
        if self.peek.kind != TokenKind::Plus {
            let message = format!("`{}` needs a key", command.text);
            self.error_with_hint(command, message, format!("for example {}+Tab", command.text));
            return None;
        }
        self.next();
        let part = self.peek;
        let own_name = part.kind == TokenKind::Bare && is_own_key(part.text);
        if own_name && self.is_strict() {
            let message = format!("VHS types the letters of `{}` one by one", part.text);
            self.warn(part.start, part.end, message);
        }
        let keys = match part.kind {
            TokenKind::Bare if own_name && !self.is_strict() => {
                KeyName::parse(part.text).into_iter().collect()
            }
            TokenKind::Bare | TokenKind::Quoted => letters(part.text),
            TokenKind::LeftBracket | TokenKind::RightBracket => letters(part.text),
            TokenKind::Keyword if matches!(part.text, "Enter" | "Tab") => {
                KeyName::parse(part.text).into_iter().collect()
            }
            _ => {
                while let Some(more) = KeyModifiers::parse(self.peek.text)
                    && self.lexer.token(self.peek.end).kind == TokenKind::Plus
                {
                    modifiers = modifiers.and(more);
                    self.next();
                    self.next();
                }
                let key = self.own_chord_key(command)?;
                return self.chords(modifiers, vec![key]);
            }
        };
        self.next();
        self.chords(modifiers, keys)
    }

    /// The key behind a plus sign where VHS takes none that it has.
    pub(super) fn own_chord_key(&mut self, command: Token<'a>) -> Option<KeyName> {
        let part = self.peek;
        let source = self.lexer.source;
        let first = source[part.start..self.lexer.limit].chars().next();
        let key = match part.kind {
            TokenKind::End | TokenKind::Comment => None,
            _ if part.start != self.cur.end => None,
            // One character that VHS takes for the beginning of something longer.
            TokenKind::Regex | TokenKind::Json | TokenKind::Illegal => first.map(KeyName::Char),
            _ if part.text.chars().nth(1).is_none() => first.map(KeyName::Char),
            _ => KeyName::parse(part.text),
        };
        let Some(key) = key.filter(|key| !matches!(key, KeyName::Char(c) if c.is_control())) else {
            let message = match part.kind {
                TokenKind::End | TokenKind::Comment => "a key is missing behind `+`".to_owned(),
                _ => format!("there is no key `{}`", shown(&part.literal())),
            };
            let known = OWN_COMMANDS.iter().copied().filter(|name| is_own_key(name));
            match nearest(part.text, known.chain(VHS_KEYS)) {
                Some(near) => self.error_with_hint(part, message, format!("did you mean `{near}`?")),
                None => self.error(part, message),
            }
            self.next();
            return None;
        };
        let name = shown(&source[command.start..part.start]);
        if !self.allow_own(command, &format!("`{name}{key}`")) {
            self.next();
            return None;
        }
        if let (KeyName::Char(c), TokenKind::Regex | TokenKind::Json) = (key, part.kind) {
            self.peek = self.lexer.token(part.start + c.len_utf8());
            self.cur =
                Token { end: part.start + c.len_utf8(), text: &source[part.start..part.start], ..part };
        } else {
            self.next();
        }
        Some(key)
    }

    // Files.

    fn source(&mut self) {
        let Some(path) = self.source_path() else { return };
        let token = self.cur;
        if self.reading.open.contains(&path) {
            let chain = self.reading.open.iter().map(|name| shown(name)).collect::<Vec<_>>().join(" → ");
            self.error(token, format!("this file is being read: {chain} → {}", shown(&path)));
            return;
        }
        if self.reading.open.len() >= DEEPEST_SOURCE {
            self.error(token, format!("`Source` goes deeper than {DEEPEST_SOURCE} files"));
            return;
        }
        let bytes = match self.reading.files.read(&path) {
            Ok(bytes) => bytes,
            Err(why) => {
                self.error(token, format!("{} cannot be read: {}", shown(&path), shown(&why)));
                return;
            }
        };
        if bytes.is_empty() {
            self.error(token, format!("{} is empty", shown(&path)));
            return;
        }
        let first = self.reading.tape.steps.len();
        let errors = self.reading.tape.errors.len();
        self.reading.read(&path, &bytes);
        // The tape has its own outputs.
        let own = self.reading.tape.steps.split_off(first);
        let kept = own.into_iter().filter(|step| !matches!(step.command, TapeCommand::Output(_)));
        self.reading.tape.steps.extend(kept);
        if self.reading.tape.errors.len() == errors {
            self.broken_line = None;
        }
    }

    fn source_path(&mut self) -> Option<String> {
        let command = self.cur;
        if !self.text_follows() || self.peek.kind == TokenKind::Escaped {
            self.error_with_hint(command, "`Source` needs the path of a tape", path_hint(self.peek));
            self.skip_value();
            return None;
        }
        let path = self.take_text();
        if extension(path.as_str()) != ".tape" {
            self.error(self.cur, "`Source` takes files that end in .tape");
            return None;
        }
        Some(path.as_str().to_owned())
    }
}

/// A time as it was written.
struct RawTime<'a> {
    text: String,
    token: Token<'a>,
}

impl RawTime<'_> {
    fn parse(&self) -> Option<TapeTime> {
        TapeTime::parse(&self.text)
    }
}

/// The settings of VHS.
pub(super) const VHS_SETTINGS: [&str; 21] = [
    "Shell",
    "FontFamily",
    "FontSize",
    "LetterSpacing",
    "LineHeight",
    "Framerate",
    "TypingSpeed",
    "Theme",
    "PlaybackSpeed",
    "Height",
    "Width",
    "Padding",
    "LoopOffset",
    "MarginFill",
    "Margin",
    "WindowBar",
    "WindowBarSize",
    "BorderRadius",
    "CursorBlink",
    "WaitTimeout",
    "WaitPattern",
];
/// The bars of a window.
const WINDOW_BARS: [&str; 5] = ["", "Colorful", "ColorfulRight", "Rings", "RingsRight"];
/// The shells that VHS starts.
const SHELLS: [&str; 9] = ["bash", "zsh", "fish", "nu", "osh", "xonsh", "pwsh", "powershell", "cmd"];
/// The keys that VHS has names for.
const VHS_KEYS: [&str; 12] = [
    "Enter",
    "Space",
    "Tab",
    "Backspace",
    "Delete",
    "Insert",
    "Escape",
    "Up",
    "Down",
    "Left",
    "Right",
    "PageUp",
];

/// Whether a word is a command of hopty where a command may begin.
pub(super) fn is_own_command(word: &str) -> bool {
    OWN_COMMANDS.contains(&word) || is_own_key(word)
}

/// Whether a word is a key that VHS does not have.
pub(super) fn is_own_key(word: &str) -> bool {
    word == "Home"
        || (word.starts_with('F') && word.len() <= 3 && matches!(KeyName::parse(word), Some(KeyName::F(_))))
}

/// The key that VHS takes behind `Ctrl+`.
fn vhs_ctrl_key(part: Token<'_>) -> Option<KeyName> {
    match part.kind {
        TokenKind::Keyword => match part.text {
            "Enter" | "Space" | "Backspace" | "Left" | "Right" | "Up" | "Down" => KeyName::parse(part.text),
            _ => None,
        },
        TokenKind::Minus
        | TokenKind::At
        | TokenKind::LeftBracket
        | TokenKind::RightBracket
        | TokenKind::Caret
        | TokenKind::Backslash => part.text.chars().next().map(KeyName::Char),
        TokenKind::Bare | TokenKind::Quoted if part.text.len() == 1 => {
            part.text.chars().next().map(KeyName::Char)
        }
        _ => None,
    }
}

/// What `Alt+TEXT` and `Shift+TEXT` press. VHS looks the text up among its keywords first.
fn letters(text: &str) -> Vec<KeyName> {
    match text {
        "Enter" | "Tab" => KeyName::parse(text).into_iter().collect(),
        "ms" | "s" | "m" | "em" | "px" | "true" | "false" => Vec::new(),
        word if VHS_KEYWORDS.contains(&word) => Vec::new(),
        text => text.chars().filter(|c| !c.is_control()).map(KeyName::Char).collect(),
    }
}

/// A number as Go's `ParseFloat` takes it.
fn float(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// What stands behind the last dot of a file's name, with the dot.
pub(super) fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rfind('.').map_or("", |at| &name[at..])
}

/// What to do when a path is missing.
fn path_hint(next: Token<'_>) -> String {
    match next.kind {
        TokenKind::Regex => format!("a path that begins with / is quoted: \"/{}\"", shown(next.text)),
        TokenKind::Illegal if next.text == "~" => "`~` is not expanded; quote the whole path".to_owned(),
        _ => "quote the path".to_owned(),
    }
}

/// The word of a command, also when it is a sign with a text behind.
fn command_name(source: &str, token: Token<'_>) -> String {
    match token.kind {
        TokenKind::Keyword | TokenKind::Bare => token.text.to_owned(),
        _ => shown(source[token.start..token.end].trim_end()),
    }
}

/// A control character for people.
fn visible_char(text: &str) -> String {
    crate::core::visible::visible(text)
}
