//! Keys with modifiers as in VHS, and hopty's form where VHS has none.

use super::command::{KeyAction, KeyPress, TapeCommand};
use super::key::{KeyChord, KeyModifiers, KeyName};
use super::lexer::{Token, TokenKind, VHS_KEYWORDS};
use super::own_commands::{OWN_COMMANDS, is_own_key};
use super::parser::TapeParser;
use super::tape_problem::printable;
use crate::core::text::nearest_word::nearest_word;

/// The keys with names in VHS.
const VHS_KEYS: [&str; 12] = [
    "Enter", "Space", "Tab", "Backspace", "Delete", "Insert", "Escape", "Up", "Down", "Left", "Right",
    "PageUp",
];

impl<'a> TapeParser<'a, '_, '_> {
    pub(super) fn ctrl(&mut self) -> Option<TapeCommand> {
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

    /// The keys with modifiers, and the speed and count that only hopty accepts here.
    pub(super) fn chords(&mut self, modifiers: KeyModifiers, keys: Vec<KeyName>) -> Option<TapeCommand> {
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

    pub(super) fn alt_or_shift(&mut self) -> Option<TapeCommand> {
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

    /// The key after a plus where VHS accepts none.
    pub(super) fn own_chord_key(&mut self, command: Token<'a>) -> Option<KeyName> {
        let part = self.peek;
        let source = self.lexer.source;
        let first = source[part.start..self.lexer.limit].chars().next();
        let key = match part.kind {
            TokenKind::End | TokenKind::Comment => None,
            _ if part.start != self.cur.end => None,
            // One character that VHS reads as the start of a longer token.
            TokenKind::Regex | TokenKind::Json | TokenKind::Illegal => first.map(KeyName::Char),
            TokenKind::Quoted | TokenKind::Escaped => KeyName::parse(part.text).filter(|_| part.closed),
            _ if part.text.chars().nth(1).is_none() => first.map(KeyName::Char),
            _ => KeyName::parse(part.text),
        };
        let Some(key) = key.filter(|key| !matches!(key, KeyName::Char(c) if c.is_control())) else {
            if self.is_known(part.start) {
                self.next();
                return None;
            }
            let message = match part.kind {
                TokenKind::End | TokenKind::Comment => "a key is missing after `+`".to_owned(),
                _ => format!("there is no key `{}`", printable(&part.literal())),
            };
            let known = OWN_COMMANDS.iter().copied().filter(|name| is_own_key(name));
            match nearest_word(part.text, known.chain(VHS_KEYS)) {
                _ if part.kind == TokenKind::Comment && part.start == self.cur.end => {
                    self.error_with_hint(part, message, "`#` begins a comment here; `Key alt-#` presses it");
                }
                Some(near) => self.error_with_hint(part, message, format!("did you mean `{near}`?")),
                None => self.error(part, message),
            }
            self.next();
            return None;
        };
        let name = printable(&source[command.start..part.start]);
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
}

/// The key that VHS accepts after `Ctrl+`.
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
        TokenKind::Bare | TokenKind::Quoted if part.text.len() == 1 => KeyName::parse(part.text),
        _ => None,
    }
}

/// The keys of `Alt+TEXT` and `Shift+TEXT`. VHS looks the text up among its keywords first.
fn letters(text: &str) -> Vec<KeyName> {
    match text {
        "Enter" | "Tab" => KeyName::parse(text).into_iter().collect(),
        "ms" | "s" | "m" | "em" | "px" | "true" | "false" => Vec::new(),
        word if VHS_KEYWORDS.contains(&word) => Vec::new(),
        text => text.chars().filter(|c| !c.is_control()).map(KeyName::Char).collect(),
    }
}
