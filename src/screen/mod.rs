//! The listening terminal: what a terminal would show after the bytes that the child has written.
//!
//! The host forwards the child's bytes untouched and feeds them to a [`Screen`] afterwards. From it come `hopty screen`, the
//! repaint for a client that attaches, the facts about prompts and dialogs, and the sequences that put a terminal back
//! when the child dies ([`Screen::undo`]).
//!
//! It is pure: no I/O, no clock; the same bytes and sizes give the same screen, however the bytes are cut. No input can make
//! it panic or grow without bound. It knows nothing of Claude.

mod cursor;
mod display;
mod grid;
mod model;
mod modes;
mod parser;
mod picture;
mod reply;
mod restore;
mod terminal;
#[cfg(test)]
mod tests;
mod window;

pub use cursor::{Cursor, CursorShape};
pub use grid::{Attr, Color, Link, Run, Style, Underline};
pub use model::Screen;
pub use modes::{Mode, ModeSpace};
pub use parser::Open;
pub use picture::Lines;
pub use reply::{DynamicColor, Identity, ModeState, Query, Setting, StringEnd, reply};
pub use restore::{Dump, Former, UNDONE, Undone};

/// Most columns, and most rows, of a screen; what is given above is cut to it.
pub const SIDE_MAX: u16 = 1000;
