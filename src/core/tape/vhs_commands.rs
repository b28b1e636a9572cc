//! The commands of VHS.

use super::command::{KeyAction, KeyPress, TapeCommand, WaitScope};
use super::command_words;
use super::key::{KeyChord, KeyName};
use super::lexer::{Token, TokenKind, VHS_KEYWORDS};
use super::own_commands::{OWN_COMMANDS, is_own_command};
use super::parser::{DEEPEST_SOURCE, TapeParser, extension};
use super::pattern::TapePattern;
use super::regex::{TapeRegex, TapeRegexError};
use super::tape_problem::printable;
use super::tape_text::TapeText;
use super::tape_time::TapeTime;
use super::vhs_settings::VHS_SETTINGS;
use crate::core::text::nearest_word::nearest_word;

impl<'a> TapeParser<'a, '_, '_> {
    pub(super) fn command(&mut self) {
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
            "Set" => self.set(),
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

    /// A hint for habitual mistakes: a key by another name, a limit without `@`.
    fn hint_for_slip(&self, token: Token<'_>) -> Option<String> {
        match token.kind {
            TokenKind::Bare if self.lexer.source[..token.start].ends_with(|c: char| c.is_ascii_digit()) => {
                Some("times are written 500ms, 2s, 1m or 1m30s".to_owned())
            }
            TokenKind::Bare if matches!(token.text, "and" | "or") => {
                Some("a command has one text or regex: write a line for each".to_owned())
            }
            TokenKind::Backslash if self.lexer.source[token.end..].starts_with('"') => {
                Some(r#"a text has no escapes: use other quotes ('…' or `…`), or $"…""#.to_owned())
            }
            TokenKind::Bare if token.text.len() > 1 => {
                let chord: KeyChord = token.text.parse().ok()?;
                Some(format!("did you mean `{chord}`?"))
            }
            TokenKind::Number if self.peek.kind == TokenKind::Unit => {
                let (number, unit) = (token.text, self.peek.text);
                Some(format!("a limit stands behind the command's name: `Expect@{number}{unit} \"…\"`"))
            }
            _ => None,
        }
    }

    pub(super) fn unknown_command(&mut self) {
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
            TokenKind::Bare | TokenKind::Keyword => format!("there is no command `{}`", printable(&word)),
            _ => format!("a command was expected, not `{}`", printable(&word)),
        };
        let last = self.reading.tape.steps.last().map(|step| &step.command);
        if matches!(last, Some(TapeCommand::Require(_))) && !self.is_first_on_line(token) {
            let hint = format!("one program a line: Require {}", printable(&word));
            self.error_with_hint(token, message, hint);
            return;
        }
        if let Some(hint) = self.hint_for_slip(token).filter(|_| !self.is_strict()) {
            self.error_with_hint(token, message, hint);
            return;
        }
        let settings = VHS_KEYWORDS.iter().copied().filter(|name| VHS_SETTINGS.contains(name));
        if token.kind == TokenKind::Keyword && VHS_SETTINGS.contains(&token.text) {
            self.error_with_hint(token, message, format!("write `Set {}`", token.text));
            return;
        }
        let own = OWN_COMMANDS.iter().copied().filter(|_| !self.is_strict());
        match nearest_word(&word, vhs_command_words().chain(own).chain(settings)) {
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

    /// The pause after each press. VHS uses the typing speed if it cannot read the time.
    pub(super) fn key_speed(&mut self) -> Option<TapeTime> {
        let raw = self.speed()?;
        let time = raw.parse();
        if time.is_none() {
            let message = format!("`{}` is not a time: hopty uses the typing speed", printable(&raw.text));
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

    pub(super) fn sleep(&mut self) -> Option<TapeCommand> {
        let time = self.time()?;
        self.checked(time).map(TapeCommand::Sleep)
    }

    pub(super) fn type_text(&mut self) -> Option<TapeCommand> {
        let raw = self.speed();
        let broken = self.reading.tape.errors.len();
        let speed = raw.and_then(|raw| self.checked(raw));
        let text = self.words()?;
        (self.reading.tape.errors.len() == broken).then_some(TapeCommand::Type { text, speed })
    }

    /// Texts up to the first other token, joined by spaces.
    pub(super) fn words(&mut self) -> Option<TapeText> {
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
        self.warn_of_typed_word();
        let mut text = self.take_text();
        while self.text_follows() {
            self.warn_of_typed_word();
            text.push(' ');
            let more = self.take_text();
            text.append(&more);
        }
        Some(text)
    }

    /// Warns if the next word looks like a command but is typed.
    pub(super) fn warn_of_typed_word(&mut self) {
        let word = self.peek;
        if word.kind != TokenKind::Bare {
            return;
        }
        if !is_own_command(word.text) {
            if !self.is_strict() && self.is_first_on_line(word) {
                self.report_misspelt_command(word);
            }
            return;
        }
        let message = format!("`{}` is typed here", word.text);
        if self.is_strict() && self.begins_own_line(word) {
            self.warn(word.start, word.end, format!("{message}, since VHS does not have such a command"));
        } else if self.cur.kind == TokenKind::Quoted {
            self.warn(word.start, word.end, format!("{message}; as a command it needs a line of its own"));
        }
    }

    /// Reports a misspelt command at the start of a line after a text: VHS types it.
    fn report_misspelt_command(&mut self, word: Token<'a>) {
        let Some(near) = nearest_word(word.text, command_words()) else { return };
        let message = format!("`{}` is text here, not a command", word.text);
        let hint = format!("did you mean `{near}`? Quote it to type it: \"{}\"", word.text);
        let problem = self.lines.problem(word.start, word.end, message).with_hint(hint);
        self.reading.add_misspelt(problem);
    }

    pub(super) fn require(&mut self) -> Option<TapeCommand> {
        if !self.text_follows() {
            let at = if self.is_on_line_of(self.cur) { self.peek } else { self.cur };
            self.error_with_hint(at, "`Require` needs the name of a program", "for example Require git");
            self.skip_value();
            return None;
        }
        let program = self.take_text();
        Some(TapeCommand::Require(program.as_str().to_owned()))
    }

    /// Skips an invalid value as VHS does, but not a command of hopty.
    pub(super) fn skip_value(&mut self) {
        if self.is_strict() || !self.begins_own_line(self.peek) {
            self.next();
        }
    }

    pub(super) fn env(&mut self) -> Option<TapeCommand> {
        let name = self.peek.literal().into_owned();
        let token = self.peek;
        self.skip_value();
        if !self.text_follows() {
            let value = self.peek.literal();
            let hint = match self.peek.kind {
                TokenKind::End | TokenKind::Comment => "for example Env PORT \"8080\"".to_owned(),
                _ => match name.split_once('=') {
                    Some((name, value)) => {
                        format!("for example Env {} \"{}\"", printable(name), printable(value))
                    }
                    None if value.starts_with('=') => {
                        format!("for example Env {} \"8080\"", printable(&name))
                    }
                    None => format!("quote it: \"{}\"", printable(&value)),
                },
            };
            self.error_with_hint(
                self.peek,
                format!("the value of `Env {}` must be a text", printable(&name)),
                hint,
            );
            self.skip_value();
            return None;
        }
        let value = self.take_text();
        if name.is_empty() || name.contains(['=', '\0']) {
            self.error(token, format!("`{}` is not a variable name", printable(&name)));
            return None;
        }
        Some(TapeCommand::Env { name, value })
    }

    pub(super) fn output(&mut self) -> Option<TapeCommand> {
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

    pub(super) fn screenshot(&mut self) -> Option<TapeCommand> {
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

    pub(super) fn wait(&mut self) -> Option<TapeCommand> {
        let command = self.cur;
        let mut scope = WaitScope::Line;
        if self.peek.kind == TokenKind::Plus {
            self.next();
            scope = match (self.peek.kind, self.peek.text) {
                (TokenKind::Bare | TokenKind::Quoted, "Line") => WaitScope::Line,
                (TokenKind::Bare | TokenKind::Quoted, "Screen") => WaitScope::Screen,
                (kind, word) => {
                    let message = "`Wait+` is followed by Line or Screen";
                    match nearest_word(word, ["Line", "Screen"]).filter(|_| kind == TokenKind::Bare) {
                        Some(near) => {
                            self.error_with_hint(self.peek, message, format!("did you mean `Wait+{near}`?"));
                        }
                        None => self.error(self.peek, message),
                    }
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
                self.error(raw.token, format!("`{}` is not a time to wait", printable(&raw.text)));
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

    /// Whether the next token starts on the line of `token`.
    pub(super) fn is_on_line_of(&self, token: Token<'a>) -> bool {
        self.lines.line(token.start) == self.lines.line(self.peek.start)
    }

    /// The regex of a token, or an error about it.
    pub(super) fn regex_of(&mut self, token: Token<'a>) -> Option<TapeRegex> {
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

    pub(super) fn source(&mut self) {
        let Some(path) = self.source_path() else { return };
        let token = self.cur;
        if self.reading.open.contains(&path) {
            let chain = self.reading.open.iter().map(|name| printable(name)).collect::<Vec<_>>().join(" → ");
            self.error(token, format!("this file is being read: {chain} → {}", printable(&path)));
            return;
        }
        if self.reading.open.len() >= DEEPEST_SOURCE {
            self.error(token, format!("`Source` goes deeper than {DEEPEST_SOURCE} files"));
            return;
        }
        let bytes = match self.reading.files.read(&path) {
            Ok(bytes) => bytes,
            Err(why) => {
                let message = format!("{} cannot be read: {}", printable(&path), printable(&why));
                let hint = match self.is_strict() {
                    true => "VHS looks for it in the working directory alone",
                    false => "it is looked for in the working directory, then beside this tape",
                };
                self.error_with_hint(token, message, hint);
                return;
            }
        };
        if bytes.is_empty() {
            self.error(token, format!("{} is empty", printable(&path)));
            return;
        }
        let first = self.reading.tape.steps.len();
        let errors = self.reading.tape.errors.len();
        self.reading.read(&path, &bytes);
        // Outputs are those of the outer tape.
        let own = self.reading.tape.steps.split_off(first);
        let kept = own.into_iter().filter(|step| !matches!(step.command, TapeCommand::Output(_)));
        self.reading.tape.steps.extend(kept);
        if self.reading.tape.errors.len() == errors {
            self.broken_line = None;
        }
    }

    pub(super) fn source_path(&mut self) -> Option<String> {
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

/// The first words of VHS commands.
pub(super) fn vhs_command_words() -> impl Iterator<Item = &'static str> {
    VHS_KEYWORDS.into_iter().filter(|name| !VHS_SETTINGS.contains(name))
}

/// What to do about a missing path.
fn path_hint(next: Token<'_>) -> String {
    match next.kind {
        TokenKind::Regex => format!("a path that begins with / is quoted: \"/{}\"", printable(next.text)),
        TokenKind::Illegal if next.text == "~" => "`~` is not expanded; quote the whole path".to_owned(),
        _ => "quote the path".to_owned(),
    }
}

/// The word of a command, even if it is a single character with text after it.
fn command_name(source: &str, token: Token<'_>) -> String {
    match token.kind {
        TokenKind::Keyword | TokenKind::Bare => token.text.to_owned(),
        _ => printable(source[token.start..token.end].trim_end()),
    }
}

/// A control character, visible for people.
fn visible_char(text: &str) -> String {
    crate::core::text::visible::visible(text)
}
