//! A line that has left the screen: its text, and the looks of its parts, packed.
//!
//! A row holds 16 bytes for every cell, because cells are overwritten one by one. What has left the screen is only read, so
//! it takes the bytes of its text, and 16 for each stretch of one look; a line that looks like nothing has none of those.

use super::cell::Cell;
use super::hyperlinks::Links;
use super::packed_style::{CELL_BITS, Look};
use super::row::Row;
use super::runs::{Run, Runs};
use super::width::width;

/// How a line ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// With a line feed, or the cursor went elsewhere.
    #[default]
    Break,
    /// The text goes on in the next line.
    Wrap,
    /// The same, and the last column was left empty, because a wide character did not fit.
    Gap,
}

impl Row {
    /// How it ends. A gap that was written to since is none.
    pub fn end(&self) -> End {
        match (self.wrapped, self.gap && self.stored().get(self.cols() - 1).is_none_or(|cell| cell.ch() == ' ')) {
            (false, _) => End::Break,
            (true, false) => End::Wrap,
            (true, true) => End::Gap,
        }
    }
}

/// Neighbouring characters of one look: the look, and in the bits that a cell has its character in, the bytes of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch(Look);

impl Stretch {
    fn new(look: Look, bytes: usize) -> Self {
        Self(Look { first: look.first | bytes as u64, second: look.second })
    }

    fn bytes(self) -> usize {
        (self.0.first & ((1 << CELL_BITS) - 1)) as usize
    }

    fn look(self) -> Look {
        Look { first: self.0.first >> CELL_BITS << CELL_BITS, second: self.0.second }
    }
}

/// A line of at most as many cells as a screen has columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whole characters in UTF-8. What is kept is rarely read, so it is not looked at before.
    text: Box<[u8]>,
    /// All of the text from the left; empty when none of it looks like anything.
    stretches: Box<[Stretch]>,
    cells: u16,
    /// How it ends.
    pub end: End,
}

impl Line {
    /// A line of one look that ends with a line feed. Blanks at its end that look like nothing are left out.
    pub fn new(text: &[u8], look: Look, cells: usize) -> Self {
        let plain = look == Look::default();
        let blanks = if plain { text.iter().rev().take_while(|byte| **byte == b' ').count() } else { 0 };
        let shown = &text[..text.len() - blanks];
        let stretches =
            if plain || shown.is_empty() { Box::default() } else { Box::new([Stretch::new(look, shown.len())]) as Box<[_]> };
        Self { text: shown.into(), stretches, cells: u16::try_from(cells - blanks).unwrap_or(u16::MAX), end: End::Break }
    }

    /// Bytes of memory that it takes, roughly: what an allocation costs beside its content is counted, too.
    pub fn size(&self) -> usize {
        const ALLOCATION: usize = 16;
        size_of::<Self>() + 2 * ALLOCATION + self.text.len() + size_of_val(&*self.stretches)
    }

    /// Columns of its text.
    pub fn cells(&self) -> usize {
        usize::from(self.cells)
    }

    /// Its text in parts of one look.
    pub fn parts(&self) -> impl Iterator<Item = (&str, Look)> {
        let plain = (self.stretches.is_empty() && !self.text.is_empty()).then_some((&*self.text, Look::default()));
        let mut rest = &*self.text;
        let parts = self.stretches.iter().map_while(move |stretch| {
            let (part, behind) = rest.split_at_checked(stretch.bytes())?;
            rest = behind;
            Some((part, stretch.look()))
        });
        plain.into_iter().chain(parts).map(|(text, look)| (std::str::from_utf8(text).unwrap_or_default(), look))
    }

    /// The looks of its parts.
    pub fn looks(&self) -> impl Iterator<Item = Look> {
        self.stretches.iter().map(|stretch| stretch.look())
    }

    /// Gives its parts other looks.
    pub fn change_looks(&mut self, mut change: impl FnMut(&mut Look)) {
        for stretch in &mut self.stretches {
            let mut look = stretch.look();
            change(&mut look);
            *stretch = Stretch::new(look, stretch.bytes());
        }
    }

    /// Its text in runs of one style and link.
    pub fn runs(&self, links: &Links) -> Vec<Run> {
        let mut runs = Runs::new(links);
        self.parts().for_each(|(text, look)| runs.text(look).push_str(text));
        runs.finish()
    }

    /// The row that it was, `cols` cells long; what does not fit is cut.
    pub fn row(&self, cols: usize) -> Row {
        let mut row = Row::new(cols);
        let mut col = 0;
        for (text, look) in self.parts() {
            for ch in text.chars() {
                match width(ch) {
                    Some(1) => row.put_narrow(col, ch, look),
                    Some(2) => row.put_wide(col, ch, look),
                    _ if col > 0 => row.combine(col - 1, ch),
                    _ => {}
                }
                col += width(ch).unwrap_or(0);
            }
        }
        row.wrapped = self.end != End::Break;
        row.gap = self.end == End::Gap;
        row
    }
}

/// A line that is being put together. Its room is used again for the next one.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    text: String,
    stretches: Vec<Stretch>,
    /// Columns so far.
    pub cells: usize,
}

impl Draft {
    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Appends a character that takes `cells` columns.
    pub fn push(&mut self, ch: char, cells: usize, look: Look) {
        self.text.push(ch);
        self.cells += cells;
        self.extend_look(ch.len_utf8(), look);
    }

    fn extend_look(&mut self, bytes: usize, look: Look) {
        match self.stretches.last_mut() {
            _ if bytes == 0 => {}
            Some(last) if last.look() == look => *last = Stretch::new(look, last.bytes() + bytes),
            _ => self.stretches.push(Stretch::new(look, bytes)),
        }
    }

    /// Appends what a row shows, at least `cells` of it: blanks at its end are left out, unless it goes on in the next row.
    pub fn push_row(&mut self, row: &Row, cells: usize) -> End {
        let end = row.end();
        let cells = match end {
            End::Break => row.written().len().max(cells),
            End::Wrap => row.cols(),
            End::Gap => row.cols() - 1,
        };
        let stored = row.stored().get(..cells).unwrap_or(row.stored());
        let (mut look, mut start) = (Look::default(), self.text.len());
        let mut col = 0;
        while let Some(cell) = stored.get(col) {
            if let Some(text) = plain_text(&stored[col..], look) {
                self.text.push_str(std::str::from_utf8(&text).unwrap_or_default());
                col += text.len();
                continue;
            }
            if cell.look() != look {
                self.extend_look(self.text.len() - start, look);
                (look, start) = (cell.look(), self.text.len());
            }
            row.push_text(col, &mut self.text);
            col += 1;
        }
        self.extend_look(self.text.len() - start, look);
        let blanks = cells.saturating_sub(stored.len());
        (0..blanks).for_each(|_| self.text.push(' '));
        self.extend_look(blanks, Look::default());
        self.cells += cells;
        end
    }

    /// The line, and a new draft.
    pub fn finish(&mut self, end: End) -> Line {
        let plain = self.stretches.iter().all(|stretch| stretch.look() == Look::default());
        let stretches = if plain { Box::default() } else { self.stretches.as_slice().into() };
        let line = Line { text: self.text.as_bytes().into(), stretches, cells: u16::try_from(self.cells).unwrap_or(u16::MAX), end };
        self.text.clear();
        self.stretches.clear();
        self.cells = 0;
        line
    }
}

/// The first eight characters, if they are ASCII and of this look.
#[inline]
fn plain_text(cells: &[Cell], look: Look) -> Option<[u8; 8]> {
    let cells = cells.first_chunk::<8>()?;
    cells.iter().fold(true, |all, cell| all & cell.is_ascii(look)).then(|| cells.map(Cell::byte))
}
