//! A paste that a line editor shows in reverse video. readline and zsh redraw it plain at the next key, which
//! is not an answer.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::screen::{Attr, Screen, ScreenPlace};

/// The start and the end of a bracketed paste.
const MARKS: (&str, &str) = ("\x1b[200~", "\x1b[201~");

/// A pasted text, and where it is shown in reverse video.
#[derive(Debug, Default)]
pub struct PastedText {
    /// The text that was pasted since the last mark; may be empty.
    text: String,
    places: Vec<PastedPlace>,
}

/// The part of a paste on one row.
#[derive(Debug)]
struct PastedPlace {
    /// The number of its row among all lines, including those that have left the screen.
    line: u64,
    cols: Range<u16>,
    text: String,
}

impl PastedPlace {
    /// Its place on the screen, while its text is there.
    fn on_screen(&self, screen: &Screen) -> Option<ScreenPlace> {
        let row = u16::try_from(self.line.checked_sub(screen.history_total())?).ok()?;
        if row >= screen.size().1 {
            return None;
        }
        let runs = screen.row_part(row, self.cols.clone());
        let text: String = runs.into_iter().map(|run| run.text).collect();
        (text.trim_end() == self.text).then(|| ScreenPlace { row, cols: self.cols.clone() })
    }

    fn is_reverse(&self, screen: &Screen) -> bool {
        let place = self.on_screen(screen);
        place.is_some_and(|place| {
            screen.row_part(place.row, place.cols).iter().any(|run| run.style.has(Attr::Reverse))
        })
    }
}

impl PastedText {
    /// Notes bytes that are sent to the program.
    pub fn take(&mut self, bytes: &[u8]) {
        if let Some(pasted) = bytes.strip_prefix(MARKS.0.as_bytes()) {
            let pasted = String::from_utf8_lossy(pasted);
            let end = pasted.find(MARKS.1).unwrap_or(pasted.len());
            self.text.push_str(&pasted[..end]);
        }
    }

    /// Call it when a mark is taken: remembers the place of the last paste. `is_new` says for a row and a
    /// column whether the cell has changed since the previous mark.
    pub fn end_input(&mut self, screen: &Screen, is_new: impl Fn(u16, u16) -> bool) {
        self.places.retain(|place| place.is_reverse(screen));
        let pasted = std::mem::take(&mut self.text);
        if pasted.is_empty() {
            return;
        }
        let (cols, rows) = screen.size();
        for row in 0..rows {
            let mut col = 0;
            for run in screen.row_part(row, 0..cols) {
                let end = col + u16::try_from(run.text.width()).unwrap_or(0);
                let text = run.text.trim_end();
                let is_paste = run.style.has(Attr::Reverse)
                    && !text.is_empty()
                    && pasted.contains(text.trim_start())
                    && (col..end).any(|col| is_new(row, col));
                if is_paste {
                    let line = screen.history_total() + u64::from(row);
                    self.places.push(PastedPlace { line, cols: col..end, text: text.to_owned() });
                }
                col = end;
            }
        }
    }

    /// The current place of the paste, in reverse video or not.
    pub fn places(&self, screen: &Screen) -> Vec<ScreenPlace> {
        self.places.iter().filter_map(|place| place.on_screen(screen)).collect()
    }
}
