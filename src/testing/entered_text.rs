//! The text that a tape typed or pasted, where a program shows it. A change of its colours alone is no
//! answer: readline shows a paste in reverse video until the next key, and Ink and Textual draw the
//! cursor and the focus of a field as colours of its text.

use std::ops::Range;

use crate::screen::{Screen, ScreenPlace};

/// The start and the end of a bracketed paste.
const MARKS: (&str, &str) = ("\x1b[200~", "\x1b[201~");

/// A text that was entered, and where it stands.
#[derive(Debug, Default)]
pub struct EnteredText {
    /// What was typed or pasted since the last mark; may be empty.
    text: String,
    places: Vec<EnteredPlace>,
}

/// The part of it on one row.
#[derive(Debug)]
struct EnteredPlace {
    /// The number of its row among all lines, including those that have left the screen.
    line: u64,
    cols: Range<u16>,
    text: String,
    /// The frame in which it was found: that of the mark of the next input.
    frame: u64,
}

impl EnteredPlace {
    /// Its place on the screen, while its text is there.
    fn on_screen(&self, screen: &Screen) -> Option<ScreenPlace> {
        let row = u16::try_from(self.line.checked_sub(screen.history_total())?).ok()?;
        let there = screen.row_text(row).part(self.cols.clone());
        (there.text() == self.text).then(|| ScreenPlace { row, cols: self.cols.clone() })
    }
}

impl EnteredText {
    /// Notes bytes that are sent to a program that shows its input itself. Keys other than characters are not
    /// text.
    pub fn take(&mut self, bytes: &[u8]) {
        let sent = String::from_utf8_lossy(bytes);
        let text = match sent.strip_prefix(MARKS.0) {
            Some(pasted) => pasted.split_once(MARKS.1).map_or(pasted, |(pasted, _)| pasted),
            None if sent.chars().any(|c| c.is_control() && c != '\r') => return,
            None => &sent,
        };
        self.text.push_str(&text.replace('\r', "\n"));
    }

    /// Call it when a mark is taken, in this frame: remembers where the last text stands. `is_new` says for a
    /// row and a column whether the cell has changed since the previous mark.
    pub fn end_input(&mut self, screen: &Screen, frame: u64, is_new: impl Fn(u16, u16) -> bool) {
        let entered = std::mem::take(&mut self.text);
        let mut found = Vec::new();
        for row in 0..screen.size().1 {
            let text = screen.row_text(row);
            let is_new = |cols: &Range<u16>| cols.clone().any(|col| is_new(row, col));
            for line in entered.lines().map(str::trim).filter(|line| !line.is_empty()) {
                let all = text.text().match_indices(line).map(|(at, _)| text.cols(at..at + line.len()));
                found.extend(all.filter(is_new).map(|cols| (row, cols)));
            }
            // A part of it, where the text wraps or scrolls in its field.
            let mut cols = 0..0;
            while cols.end < screen.size().0 {
                let start = cols.end;
                let end = (start..screen.size().0).find(|col| !is_new(&(*col..col + 1)));
                cols = start..end.unwrap_or(screen.size().0);
                let part = text.part(cols.clone());
                if !part.text().trim().is_empty() && entered.contains(part.text().trim_start()) {
                    found.push((row, cols.clone()));
                }
                cols.end = cols.end.max(start + 1);
            }
        }
        let last_row = screen.cursor().row;
        if found.iter().any(|(row, _)| *row == last_row) {
            // The rows that end at the cursor; the same text elsewhere, as in a list, is the program's own.
            let mut first_row = last_row;
            while first_row > 0 && found.iter().any(|(row, _)| *row == first_row - 1) {
                first_row -= 1;
            }
            found.retain(|(row, _)| (first_row..=last_row).contains(row));
        }
        for (row, cols) in found {
            let text = screen.row_text(row).part(cols.clone()).text().to_owned();
            let line = screen.history_total() + u64::from(row);
            if !self.places.iter().any(|known| known.line == line && known.cols == cols) {
                self.places.push(EnteredPlace { line, cols, text, frame });
            }
        }
    }

    /// Whether a part of it stands in this place.
    pub fn is_at(&self, screen: &Screen, place: &ScreenPlace) -> bool {
        self.places.iter().filter_map(|known| known.on_screen(screen)).any(|known| {
            known.row == place.row && known.cols.start < place.cols.end && place.cols.start < known.cols.end
        })
    }

    /// Where it stands now, in whatever colours, and the frame in which it was found there. A place that has
    /// another text is forgotten.
    pub fn places(&mut self, screen: &Screen) -> Vec<(u64, ScreenPlace)> {
        self.places.retain(|place| place.on_screen(screen).is_some());
        self.places.iter().filter_map(|place| Some((place.frame, place.on_screen(screen)?))).collect()
    }
}
