//! Keys by name, as `hopty send --keys` takes them, and the bytes that a terminal sends for them.
//!
//! The bytes are those of an ordinary terminal without a keyboard protocol, which every program understands,
//! even one that asked for more. Only the cursor keys have two forms, chosen by the program (DECCKM). The
//! bytes themselves are in `encode.rs`.

use std::fmt;

use super::encode::{KeyEvent, KeyboardModes, key_bytes};
use crate::core::tape::KeyChord;
use crate::core::text::nearest_word::nearest_word;
use crate::core::text::visible::is_hidden;

/// Which form of the cursor keys a program has asked for (DECCKM, `CSI ? 1 h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorKeys {
    /// `CSI A`.
    Normal,
    /// `SS3 A`.
    Application,
}

/// An unknown key name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoKey {
    /// The name, shortened for the message.
    pub name: String,
    /// The known key with the most similar name.
    pub nearest: Option<String>,
}

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown key `{}`", self.name)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; the nearest is `{nearest}`"),
            None => f.write_str("; keys have names such as `enter`, `up`, `f1` and `ctrl-c`"),
        }
    }
}

impl std::error::Error for NoKey {}

/// The names that an unknown one is compared with and that shells complete, besides Ctrl with a letter.
pub const NAMES: [&str; 31] = [
    "enter", "tab", "shift-tab", "escape", "esc", "space", "backspace", "delete", "insert", "pageup",
    "pagedown", "shift-enter", "ctrl-space", "up", "down", "left", "right", "home", "end", "f1", "f2", "f3",
    "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
];

/// The bytes of the key `name`. Case does not matter in names of several letters.
pub fn bytes(name: &str, cursor: CursorKeys) -> Result<Vec<u8>, NoKey> {
    let mut letters = name.chars();
    if let (Some(one), None) = (letters.next(), letters.next())
        && !one.is_control()
    {
        return Ok(one.to_string().into_bytes());
    }
    let lower = name.to_lowercase();
    find(&lower, name, cursor).ok_or_else(|| NoKey {
        name: name.chars().filter(|c| !is_hidden(*c)).take(40).collect(),
        nearest: nearest(&lower),
    })
}

fn find(lower: &str, name: &str, cursor: CursorKeys) -> Option<Vec<u8>> {
    // What Claude and other prompts read as a line feed unless they asked for another form.
    if lower == "shift-enter" {
        return Some(b"\n".to_vec());
    }
    let chord: KeyChord = name.parse().ok()?;
    let is_doubled = ["alt-", "ctrl-", "shift-"].iter().any(|part| lower.matches(part).count() > 1);
    let modes =
        KeyboardModes { application_cursor: cursor == CursorKeys::Application, ..KeyboardModes::default() };
    key_bytes(chord, KeyEvent::Press, &modes).filter(|_| !is_doubled)
}

/// The known name most similar to `lower`.
fn nearest(lower: &str) -> Option<String> {
    let letters: Vec<String> = (b'a'..=b'z').map(|letter| format!("ctrl-{}", char::from(letter))).collect();
    let known = NAMES.into_iter().chain(["return"]).chain(letters.iter().map(String::as_str));
    nearest_word(lower, known).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(name: &str) -> Vec<u8> {
        bytes(name, CursorKeys::Normal).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn names_are_keys() {
        for (name, sent) in [
            ("ctrl-c", "\x03"),
            ("Ctrl-Z", "\x1a"),
            ("enter", "\r"),
            ("esc", "\x1b"),
            ("alt-b", "\x1bb"),
            ("alt-B", "\x1bB"),
            ("alt-enter", "\x1b\r"),
            ("a", "a"),
            ("A", "A"),
            ("-", "-"),
            ("ä", "ä"),
            ("F5", "\x1b[15~"),
            ("home", "\x1b[H"),
        ] {
            assert_eq!(normal(name), sent.as_bytes(), "{name}");
        }
        assert_eq!(bytes("up", CursorKeys::Application), Ok(b"\x1bOA".to_vec()));
        assert_eq!(bytes("alt-up", CursorKeys::Normal), Ok(b"\x1b[1;3A".to_vec()));
        assert_eq!(bytes("ctrl-left", CursorKeys::Application), Ok(b"\x1b[1;5D".to_vec()));
    }

    #[test]
    fn an_unknown_key_name_suggests_the_nearest() {
        let near = |name: &str| bytes(name, CursorKeys::Normal).unwrap_err().nearest;
        for (name, key) in [
            ("entre", "enter"),
            ("retrun", "return"),
            ("ctrlc", "ctrl-c"),
            ("page-up", "pageup"),
            ("bakspace", "backspace"),
            ("f13", "f1"),
        ] {
            assert_eq!(near(name).as_deref(), Some(key), "{name}");
        }
        for name in ["foo", "", "return-key"] {
            assert_eq!(near(name), None, "{name:?}");
        }
        for name in ["", "\x1b", "alt-", "alt-alt-a", "ctrl-ä", "ctrl-", &"x".repeat(10_000)] {
            assert!(bytes(name, CursorKeys::Normal).is_err(), "{name:?}");
        }
        assert_eq!(bytes("\x1b[2J", CursorKeys::Normal).unwrap_err().name, "[2J");
    }

    /// A person's keys are recognised from exactly the bytes that are sent for their names.
    #[test]
    fn a_name_and_its_bytes_agree_with_the_recogniser() {
        use crate::core::input::{Classifier, InputClass};
        let class = |name: &str| {
            let mut pieces = Vec::new();
            let mut classifier = Classifier::new();
            classifier.feed(&normal(name), &mut pieces);
            classifier.flush(&mut pieces);
            pieces.iter().map(|piece| piece.class).collect::<Vec<_>>()
        };
        assert_eq!(class("ctrl-c"), [InputClass::Interrupt]);
        assert_eq!(class("enter"), [InputClass::Submit]);
        assert_eq!(class("ctrl-z"), [InputClass::Suspend]);
        assert_eq!(class("shift-tab"), [InputClass::Mode]);
        for name in NAMES.iter().filter(|name| !["enter", "shift-tab"].contains(name)) {
            assert_eq!(class(name), [InputClass::Typed], "{name}");
        }
    }
}
