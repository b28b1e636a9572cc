//! What is compared of two terminals, and how a difference is told.

use super::emulator::{Emulator, View};

/// What stands on a screen: all cells with their looks and links, cursor and its shape, modes, title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub view: View,
}

/// The picture alone: no history, no bells, no clipboard.
pub fn picture(mut view: View, rows: u16) -> Picture {
    let above = view.rows.len() - usize::from(rows);
    view.rows.drain(..above);
    for row in &mut view.rows {
        // A tab leaves itself behind in alacritty, for copying; it shows as a blank.
        if row.contains('\t') {
            *row = row.replace('\t', " ").trim_end().to_owned();
        }
    }
    view.told.bells = 0;
    view.told.clipboard.clear();
    view.told.title = view.told.title.filter(|title| !title.is_empty());
    Picture { view }
}

/// All rows that hold something, history and screen.
pub fn filled(view: &View) -> Vec<String> {
    view.rows
        .iter()
        .map(|row| row.replace('\t', " ").trim_end().to_owned())
        .filter(|row| !row.is_empty())
        .collect()
}

impl Picture {
    /// What differs, for a message.
    pub fn difference(&self, other: &Picture) -> Option<String> {
        (self != other).then(|| {
            self.view.difference(&other.view).replace("bare: ", "before:").replace("hopty:", "after: ")
        })
    }
}

/// A fresh emulator that was sent these bytes. A frame that they have begun is shown as far as it goes.
pub fn shown(bytes: &[u8], (cols, rows): (u16, u16)) -> Emulator {
    let mut emulator = Emulator::new(cols, rows);
    emulator.feed(bytes);
    emulator.end_frame();
    emulator
}

/// Whether a frame is begun and not complete (mode 2026).
pub fn is_in_frame(bytes: &[u8]) -> bool {
    let last = |mode: &[u8]| bytes.windows(8).rposition(|part| part == mode);
    last(b"\x1b[?2026h") > last(b"\x1b[?2026l")
}
