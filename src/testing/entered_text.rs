//! The text that a tape typed or pasted, where a program shows it. A change of its colours alone is no
//! answer: readline shows a paste in reverse video until the next key, and Ink and Textual draw the
//! cursor and the focus of a field as colours of its text. Nor is the same line drawn again elsewhere, until
//! Enter is pressed: line editors do that at Ctrl+L, below a list of completions, and for what is typed in
//! front of the text.

use std::ops::Range;

use crate::screen::{Screen, ScreenPlace};

/// The start and the end of a bracketed paste.
const MARKS: (&str, &str) = ("\x1b[200~", "\x1b[201~");

/// A text that was entered, and its place on the screen.
#[derive(Debug, Default)]
pub struct EnteredText {
    /// The text that was typed or pasted since the last mark; may be empty.
    text: String,
    places: Vec<EnteredPlace>,
}

/// The part of it on one row.
#[derive(Clone, Debug)]
struct EnteredPlace {
    /// The number of its row among all lines, including those that have left the screen.
    line: u64,
    cols: Range<u16>,
    text: String,
    /// Its row up to its end: the prompt and the text.
    line_start: String,
    /// The frame in which it was found: that of the mark of the next input.
    frame: u64,
    is_alternate: bool,
    /// Its text was there at the end of the last frame.
    is_shown: bool,
    /// It was not there at the last mark.
    is_lost: bool,
    /// Enter has not been pressed, so the program may still edit it.
    is_edited: bool,
    /// It is a part of another place.
    is_part: bool,
}

impl EnteredPlace {
    fn row(&self, screen: &Screen) -> Option<u16> {
        let row = u16::try_from(self.line.checked_sub(screen.history_total())?).ok()?;
        (self.is_alternate == screen.alternate()).then_some(row)
    }

    /// Its place on the screen, while its text is there.
    fn on_screen(&self, screen: &Screen) -> Option<ScreenPlace> {
        let row = self.row(screen)?;
        let there = screen.row_text(row).part(self.cols.clone());
        (there.text() == self.text).then(|| ScreenPlace { row, cols: self.cols.clone() })
    }

    /// Where a line editor has drawn its line again: the cursor's line begins as its row did. In a
    /// full-screen program that is a copy, such as of `yyp` in vim.
    fn drawn_again(&self, screen: &Screen) -> Option<u64> {
        if self.is_alternate {
            return None;
        }
        let is_wrapped = |row: u16| row > 0 && screen.row_wrapped(row - 1);
        let last = screen.cursor().row;
        let mut first = last;
        while is_wrapped(first) {
            first -= 1;
        }
        let is_same = |row: &u16| screen.row_text(*row).part(0..self.cols.end).text() == self.line_start;
        let row = (first..=last).rev().find(is_same)?;
        Some(screen.history_total() + u64::from(row))
    }

    /// Moves it to the columns of its row in which its text is now, the nearest ones.
    fn shift(&mut self, screen: &Screen) -> bool {
        let Some(row) = self.row(screen).map(|row| screen.row_text(row)) else { return false };
        let found = row.text().match_indices(&self.text).map(|(at, text)| row.cols(at..at + text.len()));
        let Some(cols) = found.min_by_key(|cols| cols.start.abs_diff(self.cols.start)) else { return false };
        self.line_start = row.part(0..cols.end).text().to_owned();
        self.cols = cols;
        true
    }
}

impl EnteredText {
    /// Notes bytes that are sent to a program that shows its input itself. Keys other than characters are not
    /// text.
    pub fn take(&mut self, bytes: &[u8]) {
        let sent = String::from_utf8_lossy(bytes);
        if !sent.starts_with(MARKS.0) && sent.contains(['\r', '\n']) {
            self.places.iter_mut().for_each(|place| place.is_edited = false);
        }
        let text = match sent.strip_prefix(MARKS.0) {
            Some(pasted) => pasted.split_once(MARKS.1).map_or(pasted, |(pasted, _)| pasted),
            None if sent.chars().any(|c| c.is_control() && c != '\r') => return,
            None => &sent,
        };
        // What had gone before this input and is there now may be this text.
        self.places.retain(|place| place.is_shown || !place.is_lost);
        self.text.push_str(&text.replace('\r', "\n"));
    }

    /// Call it when a mark is taken, in this frame: remembers the place of the last text. `is_new` says for a
    /// row and a column whether the cell has changed since the previous mark.
    pub fn end_input(&mut self, screen: &Screen, frame: u64, is_new: impl Fn(u16, u16) -> bool) {
        let entered = std::mem::take(&mut self.text);
        let is_alternate = screen.alternate();
        // A full-screen program may put text back, as after a deletion: that is an answer.
        self.places.retain(|place| place.is_shown || !is_alternate);
        self.places.iter_mut().for_each(|place| place.is_lost = !place.is_shown);
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
        for (row, cols) in &found {
            let (row, cols) = (*row, cols.clone());
            let is_part = found.iter().any(|(at, whole)| {
                *at == row && *whole != cols && whole.start <= cols.start && cols.end <= whole.end
            });
            let text = screen.row_text(row).part(cols.clone()).text().to_owned();
            let line_start = screen.row_text(row).part(0..cols.end).text().to_owned();
            let line = screen.history_total() + u64::from(row);
            let is_edited = !entered.ends_with('\n');
            self.add(EnteredPlace {
                line,
                cols,
                text,
                line_start,
                frame,
                is_alternate,
                is_shown: true,
                is_lost: false,
                is_edited,
                is_part,
            });
        }
    }

    /// Whether a whole line of it is at this place.
    pub fn is_at(&self, screen: &Screen, place: &ScreenPlace) -> bool {
        let lines = self.places.iter().filter(|known| !known.is_part);
        lines.filter_map(|known| known.on_screen(screen)).any(|known| {
            known.row == place.row && known.cols.start < place.cols.end && place.cols.start < known.cols.end
        })
    }

    fn add(&mut self, place: EnteredPlace) {
        if !self.places.iter().any(|known| known.line == place.line && known.cols == place.cols) {
            self.places.push(place);
        }
    }

    /// Its present place, in any colours, and the frame in which it was found there. A place with another
    /// text is forgotten, unless the program may still redraw the line.
    pub fn places(&mut self, screen: &Screen) -> Vec<(u64, ScreenPlace)> {
        let mut copies = Vec::new();
        for place in &mut self.places {
            place.is_shown = place.on_screen(screen).is_some();
            if !place.is_edited || place.is_alternate != screen.alternate() {
                continue;
            }
            match place.drawn_again(screen) {
                Some(line) if place.is_shown && line != place.line => {
                    copies.push(EnteredPlace { line, ..place.clone() });
                }
                Some(line) if !place.is_shown => (place.line, place.is_shown) = (line, true),
                None if !place.is_shown => place.is_shown = place.shift(screen),
                _ => {}
            }
        }
        copies.into_iter().for_each(|copy| self.add(copy));
        let may_return = |place: &EnteredPlace| place.is_edited && place.is_alternate == screen.alternate();
        self.places.retain(|place| place.is_shown || may_return(place));
        self.places.iter().filter_map(|place| Some((place.frame, place.on_screen(screen)?))).collect()
    }
}
