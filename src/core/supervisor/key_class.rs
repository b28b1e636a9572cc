//! The class of what a person typed: all that a journal may record of it.

use serde::{Deserialize, Serialize};

use crate::core::input::Class;

/// The class of a person's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyClass {
    /// Keys typed by a person.
    Typed,
    /// A Ctrl+C in one of its encodings.
    Interrupt,
    /// A bracketed paste.
    Paste,
    /// Shift+Tab, with which a person changes the permission mode.
    Mode,
    /// A report of the terminal: focus, mouse, an answer to a query.
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
