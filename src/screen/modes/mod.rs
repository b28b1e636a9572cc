//! The settings that a program switches: modes, the alternate screen, the keyboard, the encoding.

mod alternate_screen;
mod encoding;
mod keyboard;
mod mode;

pub use alternate_screen::AlternateScreen;
pub use encoding::TerminalEncoding;
pub use keyboard::{FlagChange, KeyOptionFamily, KeyOptions, KittyKeyboard};
pub use mode::{ModeSet, ModeSpace, TerminalMode};
