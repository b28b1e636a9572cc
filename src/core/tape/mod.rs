//! Tapes: scripts for a terminal in the language of VHS, with commands for tests.
//!
//! [`parse`] returns the steps of a tape and all its errors. A tape that VHS accepts means the same here;
//! hopty's own commands are texts that are invalid in VHS. `docs/TAPES.md` lists both.

mod command;
mod display;
mod key;
mod lexer;
mod own_claude;
mod own_commands;
mod own_settings;
mod own_style;
mod parsed_tape;
mod parser;
mod pattern;
mod regex;
mod tape_args;
mod tape_problem;
mod tape_settings;
mod tape_text;
mod tape_time;
#[cfg(test)]
mod tests;
mod typed_keys;
mod typed_mouse;
mod vhs_commands;
mod vhs_keys;
mod vhs_settings;

pub use command::*;
pub use key::{KeyChord, KeyModifiers, KeyName, UnknownKey};
pub use parsed_tape::{ParseOptions, Tape, TapeFiles, TapeStep, command_words, parse, setting_names};
pub use pattern::TapePattern;
pub use regex::{TapeRegex, TapeRegexError};
pub use tape_problem::{TapeProblem, TapeSpan};
pub use tape_settings::{TapeHome, TapeLeftovers, TapeNeed, TapeSettings, TapeSpeed, WaitRule};
pub use tape_text::{TapeText, TextPiece};
pub use tape_time::TapeTime;
pub use typed_keys::TypedKeys;
