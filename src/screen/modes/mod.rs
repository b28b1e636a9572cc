//! The switches that a program turns: modes, the alternate screen, what it asked of the keyboard, how bytes
//! are coded.

mod alternate_screen;
mod encoding;
mod keyboard;
mod mode;

pub use alternate_screen::AlternateScreen;
pub use encoding::TerminalEncoding;
pub use keyboard::{FlagChange, KeyOptionFamily, KeyOptions, KittyKeyboard};
pub use mode::{ModeSet, ModeSpace, TerminalMode};
