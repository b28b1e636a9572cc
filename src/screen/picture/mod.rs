//! The screen as something to look at: plain text, text with escape sequences, JSON, an SVG image. Made by
//! the program that shows it, never by the host.

mod ansi;
mod json;
pub mod svg;
pub mod svg_row;
mod text;
pub mod theme;

use crate::screen::{Screen, StyledRun};

/// Which lines a picture includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureLines {
    /// Only the visible screen.
    Screen,
    /// Also the scrollback.
    WithHistory,
}

impl Screen {
    /// The rows of a picture from the top, as runs.
    fn picture(&self, lines: PictureLines) -> impl Iterator<Item = Vec<StyledRun>> {
        let above = match lines {
            PictureLines::Screen => 0,
            PictureLines::WithHistory => self.history_len(),
        };
        let history = (0..above).map(|line| self.history_row_runs(line));
        history.chain((0..self.size().1).map(|row| self.row_runs(row)))
    }
}
