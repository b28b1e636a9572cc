//! The screen model: what a terminal would show after the child's output.
//!
//! The host forwards the child's bytes untouched and feeds them to a [`Screen`] afterwards. It provides
//! `hopty screen`, the repaint for a client that attaches, the facts about prompts and dialogs, and the
//! sequences that restore a terminal when the child dies ([`Screen::undo`]).
//!
//! It is pure: no I/O, no clock; the same bytes and sizes give the same screen, however the bytes are split.
//! No input can make it panic or grow without bound. It does not know about Claude.

mod changed_cells;
mod cursor;
mod display;
mod grid;
mod mirror;
mod model;
mod modes;
mod parser;
pub mod picture;
mod reply;
mod restore;
mod scroll_view;
mod terminal_state;
#[cfg(test)]
mod tests;
mod window;

pub use changed_cells::{FrameChanges, ScreenPlace};
pub use cursor::{Cursor, CursorShape};
pub use grid::{Attr, Color, Hyperlink, RowText, Style, StyledRun, Underline};
pub(crate) use mirror::Mirror;
pub use model::Screen;
pub use modes::{ModeSpace, TerminalMode};
pub use parser::Unfinished;
pub use picture::PictureLines;
pub use reply::{DynamicColor, ModeState, Query, StringEnd, TerminalIdentity, TerminalSetting, reply};
pub use restore::{Dump, TerminalBefore, UNDO_STEPS, UndoStep};
pub use window::{ScreenReport, ShellMark};

/// The most columns and rows of a screen; larger sizes are clamped.
pub const SIDE_MAX: u16 = 1000;
