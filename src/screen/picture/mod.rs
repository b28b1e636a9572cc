//! The screen as something to look at: plain text, text with escape sequences, JSON, an SVG image. Made by who looks, never by
//! the host.

mod ansi;
mod json;
mod svg;
mod text;

use crate::screen::{Run, Screen};

/// Which lines a picture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Those of the screen that is shown.
    Screen,
    /// And, before them, those that have left the primary screen at the top.
    WithHistory,
}

impl Screen {
    /// The rows of a picture from the top, as runs.
    fn picture(&self, lines: Lines) -> impl Iterator<Item = Vec<Run>> {
        let above = match lines {
            Lines::Screen => 0,
            Lines::WithHistory => self.history_len(),
        };
        let history = (0..above).map(|line| self.history_row_runs(line));
        history.chain((0..self.size().1).map(|row| self.row_runs(row)))
    }
}
