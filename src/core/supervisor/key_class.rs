//! The class of what a person typed: all that a journal may record of it.

use serde::{Deserialize, Serialize};

use crate::core::input::InputClass;

/// The class of a person's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyClass {
    /// Keys typed by a person.
    Typed,
    /// A Ctrl+C in one of its encodings.
    Interrupt,
    Paste,
    /// Shift+Tab, with which a person changes the permission mode.
    Mode,
    /// A report of the terminal: focus, mouse, an answer to a query.
    Report,
}

impl From<InputClass> for KeyClass {
    fn from(class: InputClass) -> Self {
        match class {
            InputClass::Typed | InputClass::Submit | InputClass::Suspend | InputClass::Prefix => {
                KeyClass::Typed
            }
            InputClass::Interrupt => KeyClass::Interrupt,
            InputClass::Paste => KeyClass::Paste,
            InputClass::Mode => KeyClass::Mode,
            InputClass::Report => KeyClass::Report,
        }
    }
}
