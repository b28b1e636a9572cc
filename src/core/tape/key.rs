//! Keys of a tape: `Enter`, `Ctrl+Shift+O`, `Key alt-left`.

use crate::core::text::nearest_word::nearest_word;
use std::fmt;
use std::str::FromStr;

/// One key, without modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyName {
    /// The key that types this character.
    Char(char),
    Enter,
    Tab,
    Escape,
    /// The space bar.
    Space,
    Backspace,
    Delete,
    Insert,
    Home,
    End,
    PageUp,
    PageDown,
    Up,
    Down,
    Left,
    Right,
    /// F1 to F35.
    F(u8),
}

/// The named keys as VHS writes them, and other spellings in lower case.
const NAMES: [(KeyName, &str, &[&str]); 15] = [
    (KeyName::Enter, "Enter", &["return"]),
    (KeyName::Tab, "Tab", &[]),
    (KeyName::Escape, "Escape", &["esc"]),
    (KeyName::Space, "Space", &[]),
    (KeyName::Backspace, "Backspace", &[]),
    (KeyName::Delete, "Delete", &["del"]),
    (KeyName::Insert, "Insert", &["ins"]),
    (KeyName::Home, "Home", &[]),
    (KeyName::End, "End", &[]),
    (KeyName::PageUp, "PageUp", &["pgup"]),
    (KeyName::PageDown, "PageDown", &["pgdn"]),
    (KeyName::Up, "Up", &[]),
    (KeyName::Down, "Down", &[]),
    (KeyName::Left, "Left", &[]),
    (KeyName::Right, "Right", &[]),
];

/// The last function key in the kitty keyboard protocol.
const LAST_FUNCTION_KEY: u8 = 35;

impl KeyName {
    /// The key with this name: a name of several letters in any case, or one character.
    pub fn parse(name: &str) -> Option<KeyName> {
        let mut letters = name.chars();
        if let (Some(one), None) = (letters.next(), letters.next()) {
            return (!one.is_control()).then_some(KeyName::Char(one));
        }
        let lower = name.to_ascii_lowercase();
        let named = NAMES
            .iter()
            .find(|(_, known, others)| known.eq_ignore_ascii_case(name) || others.contains(&lower.as_str()));
        if let Some((key, ..)) = named {
            return Some(*key);
        }
        let number = lower.strip_prefix('f').filter(|number| !number.starts_with(['0', '+']))?;
        number.parse().ok().filter(|number| *number <= LAST_FUNCTION_KEY).map(KeyName::F)
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyName::Char(c) => write!(f, "{c}"),
            KeyName::F(number) => write!(f, "F{number}"),
            named => {
                let name = NAMES.iter().find(|(key, ..)| key == named).map_or("", |(_, name, _)| name);
                f.write_str(name)
            }
        }
    }
}

/// The modifier keys that are held with a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyModifiers {
    pub shift: bool,
    /// Alt, also called Option or Meta.
    pub alt: bool,
    pub ctrl: bool,
    /// Super, also called Command or Windows. Only programs with the kitty keyboard protocol learn about it.
    pub super_key: bool,
}

impl KeyModifiers {
    /// The modifier with this name, in any case.
    pub fn parse(name: &str) -> Option<KeyModifiers> {
        let mut modifiers = KeyModifiers::default();
        match name.to_ascii_lowercase().as_str() {
            "shift" => modifiers.shift = true,
            "alt" => modifiers.alt = true,
            "ctrl" => modifiers.ctrl = true,
            "super" => modifiers.super_key = true,
            _ => return None,
        }
        Some(modifiers)
    }

    /// The union with `other`.
    #[must_use]
    pub fn and(self, other: KeyModifiers) -> KeyModifiers {
        KeyModifiers {
            shift: self.shift || other.shift,
            alt: self.alt || other.alt,
            ctrl: self.ctrl || other.ctrl,
            super_key: self.super_key || other.super_key,
        }
    }

    /// Whether fewer modifiers are held than in `other`.
    pub(super) fn is_fewer_than(self, other: KeyModifiers) -> bool {
        let count =
            |m: KeyModifiers| [m.shift, m.alt, m.ctrl, m.super_key].into_iter().filter(|on| *on).count();
        count(self) < count(other)
    }

    /// Whether no modifier is held.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == KeyModifiers::default()
    }
}

impl fmt::Display for KeyModifiers {
    /// `Ctrl+Alt+`: each followed by a plus.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            [("Ctrl", self.ctrl), ("Alt", self.alt), ("Shift", self.shift), ("Super", self.super_key)];
        names.iter().filter(|(_, held)| *held).try_for_each(|(name, _)| write!(f, "{name}+"))
    }
}

/// A key with modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyChord {
    pub key: KeyName,
    pub modifiers: KeyModifiers,
}

impl KeyChord {
    /// The key without modifiers.
    pub fn plain(key: KeyName) -> KeyChord {
        KeyChord { key, modifiers: KeyModifiers::default() }
    }
}

/// A text that is not a chord.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// The part that is neither a key nor a modifier.
    pub part: String,
    /// The most similar name.
    pub nearest: Option<String>,
}

impl FromStr for KeyChord {
    type Err = UnknownKey;

    /// Reads `ctrl-shift-tab` and `Ctrl+Shift+Tab`. The last part is the key, so `ctrl--` and `Ctrl++` are
    /// Ctrl with minus and plus.
    fn from_str(text: &str) -> Result<KeyChord, UnknownKey> {
        let mut modifiers = KeyModifiers::default();
        let mut rest = text;
        loop {
            if let Some(key) = KeyName::parse(rest) {
                return Ok(KeyChord { key, modifiers });
            }
            let Some((name, behind)) = rest.split_once(['-', '+']).filter(|(_, behind)| !behind.is_empty())
            else {
                return Err(UnknownKey::of(rest));
            };
            modifiers = modifiers.and(KeyModifiers::parse(name).ok_or_else(|| UnknownKey::of(name))?);
            rest = behind;
        }
    }
}

impl UnknownKey {
    fn of(part: &str) -> UnknownKey {
        let modifiers = ["Ctrl", "Alt", "Shift", "Super"];
        let known = NAMES.iter().map(|(_, name, _)| *name).chain(modifiers).chain(["F1", "F10", "F12"]);
        UnknownKey { part: part.to_owned(), nearest: nearest_word(part, known).map(str::to_owned) }
    }
}

impl fmt::Display for KeyChord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.modifiers, self.key)
    }
}
