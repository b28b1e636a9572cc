//! What a person's bytes were, as far as a journal may say it.

use serde::{Deserialize, Serialize};

use crate::core::input::Class;

/// What a person's bytes were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyClass {
    /// Keys typed by a person.
    Typed,
    /// A Ctrl+C in one of its encodings.
    Interrupt,
    /// A bracketed paste.
    Paste,
    /// Shift+Tab, by which a person changes the permission mode.
    Mode,
    /// The terminal reporting something: focus, mouse, an answer to a query.
    Report,
}

impl From<Class> for KeyClass {
    fn from(class: Class) -> Self {
        match class {
            Class::Typed | Class::Submit | Class::Suspend | Class::Prefix => KeyClass::Typed,
            Class::Interrupt => KeyClass::Interrupt,
            Class::Paste => KeyClass::Paste,
            Class::Mode => KeyClass::Mode,
            Class::Report => KeyClass::Report,
        }
    }
}
