//! Keys by name, as `hopty send --keys` takes them, and the bytes that a terminal sends for them.
//!
//! The bytes are those of an ordinary terminal without a keyboard protocol, which every program understands,
//! also one that has asked for more. Only the cursor keys have two forms: the program says which it wants
//! (DECCKM).

use std::fmt;

use crate::core::visible::is_hidden;

/// Which form of the cursor keys a program has asked for (DECCKM, `CSI ? 1 h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorKeys {
    /// `CSI A`.
    Normal,
    /// `SS3 A`.
    Application,
}

/// A name that is no key's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoKey {
    /// The name, as far as it can be shown.
    pub name: String,
    /// The key whose name is spelled most like it.
    pub nearest: String,
}

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no key has the name `{}`; the nearest is `{}`", self.name, self.nearest)
    }
}

impl std::error::Error for NoKey {}

/// Keys with one form.
const FIXED: [(&str, &str); 30] = [
    ("enter", "\r"),
    ("tab", "\t"),
    ("shift-tab", "\x1b[Z"),
    ("escape", "\x1b"),
    ("esc", "\x1b"),
    ("space", " "),
    ("backspace", "\x7f"),
    ("delete", "\x1b[3~"),
    ("insert", "\x1b[2~"),
    ("pageup", "\x1b[5~"),
    ("pagedown", "\x1b[6~"),
    ("shift-enter", "\n"),
    ("ctrl-space", "\0"),
    ("ctrl-\\", "\x1c"),
    ("ctrl-]", "\x1d"),
    ("ctrl-^", "\x1e"),
    ("ctrl-_", "\x1f"),
    ("ctrl-[", "\x1b"),
    ("f1", "\x1bOP"),
    ("f2", "\x1bOQ"),
    ("f3", "\x1bOR"),
    ("f4", "\x1bOS"),
    ("f5", "\x1b[15~"),
    ("f6", "\x1b[17~"),
    ("f7", "\x1b[18~"),
    ("f8", "\x1b[19~"),
    ("f9", "\x1b[20~"),
    ("f10", "\x1b[21~"),
    ("f11", "\x1b[23~"),
    ("f12", "\x1b[24~"),
];

/// Keys with two forms: the last byte of each.
const CURSOR: [(&str, char); 6] =
    [("up", 'A'), ("down", 'B'), ("right", 'C'), ("left", 'D'), ("home", 'H'), ("end", 'F')];

/// The bytes of the key that is called `name`. Capital letters in names of several letters do not matter.
///
/// # Errors
/// When no key has that name.
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
    if let Some((_, bytes)) = FIXED.iter().find(|(known, _)| *known == lower) {
        return Some(bytes.as_bytes().to_vec());
    }
    if let Some((_, last)) = CURSOR.iter().find(|(known, _)| *known == lower) {
        let start = if cursor == CursorKeys::Application { 'O' } else { '[' };
        return Some(format!("\x1b{start}{last}").into_bytes());
    }
    if let Some(letter) = lower.strip_prefix("ctrl-") {
        return match letter.as_bytes() {
            [letter @ b'a'..=b'z'] => Some(vec![letter & 0x1f]),
            _ => None,
        };
    }
    // Alt is ESC and the key, which may be a capital letter.
    let rest = name
        .get("alt-".len()..)
        .filter(|rest| lower.starts_with("alt-") && !rest.to_lowercase().starts_with("alt-"))?;
    Some([b"\x1b".to_vec(), bytes(rest, cursor).ok()?].concat())
}

/// The known name that is spelled most like `lower`.
fn nearest(lower: &str) -> String {
    let wanted: String = lower.chars().take(40).collect();
    let letters = (b'a'..=b'z').map(|letter| format!("ctrl-{}", char::from(letter)));
    let known = FIXED
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .chain(CURSOR.iter().map(|(name, _)| (*name).to_owned()))
        .chain(letters);
    known.min_by_key(|name| strsim::levenshtein(name, &wanted)).unwrap_or_default()
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
        assert_eq!(bytes("alt-up", CursorKeys::Normal), Ok(b"\x1b\x1b[A".to_vec()));
    }

    #[test]
    fn what_is_no_key_names_the_nearest() {
        let near = |name: &str| bytes(name, CursorKeys::Normal).unwrap_err().nearest;
        for (name, key) in [
            ("entre", "enter"),
            ("ctrlc", "ctrl-c"),
            ("page-up", "pageup"),
            ("bakspace", "backspace"),
            ("f13", "f1"),
        ] {
            assert_eq!(near(name), key, "{name}");
        }
        for name in ["", "\x1b", "alt-", "alt-alt-a", "ctrl-ä", "ctrl-", &"x".repeat(10_000)] {
            assert!(bytes(name, CursorKeys::Normal).is_err(), "{name:?}");
        }
        assert_eq!(bytes("\x1b[2J", CursorKeys::Normal).unwrap_err().name, "[2J");
    }

    /// What is sent is what the recogniser of a person's keys takes it for.
    #[test]
    fn a_name_and_its_bytes_agree_with_the_recogniser() {
        use crate::core::input::{Class, Classifier};
        let class = |name: &str| {
            let mut pieces = Vec::new();
            let mut classifier = Classifier::new();
            classifier.feed(&normal(name), &mut pieces);
            classifier.flush(&mut pieces);
            pieces.iter().map(|piece| piece.class).collect::<Vec<_>>()
        };
        assert_eq!(class("ctrl-c"), [Class::Interrupt]);
        assert_eq!(class("enter"), [Class::Submit]);
        assert_eq!(class("ctrl-z"), [Class::Suspend]);
        assert_eq!(class("shift-tab"), [Class::Mode]);
        for (name, _) in FIXED.iter().filter(|(name, _)| !["enter", "shift-tab"].contains(name)) {
            assert_eq!(class(name), [Class::Typed], "{name}");
        }
    }
}
