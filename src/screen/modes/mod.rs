//! The switches that a program turns: modes, the alternate screen, and what it asked of the keyboard.

mod alternate;
mod keyboard;
mod mode;

pub use alternate::Alternate;
pub use keyboard::{Change, KeyOption, KeyOptions, Keyboard};
pub use mode::{Mode, ModeSpace, Modes};
