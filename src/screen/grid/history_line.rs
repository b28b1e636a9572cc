//! A line that has left the screen: its text, and the styles of its parts, packed.
//!
//! A row takes 16 bytes for every cell, because cells are overwritten one by one. Lines of the scrollback are
//! only read, so they take the bytes of their text, and 16 for each span of one style; unstyled lines have no
//! spans.

use super::cell::GridCell;
use super::hyperlinks::Hyperlinks;
use super::packed_style::{CELL_BITS, PackedStyle};
use super::row::GridRow;
use super::runs::{RunBuilder, StyledRun};
use super::width::width;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// With a line feed, or the cursor moved elsewhere.
    #[default]
    Break,
    /// The text wraps into the next line.
    Wrap,
    /// It wraps, and the last column is empty, because a wide character did not fit.
    Gap,
}

impl GridRow {
    /// How it ends. A gap that was overwritten since does not count.
    pub fn end(&self) -> LineEnd {
        match (
            self.wrapped,
            self.gap && self.stored().get(self.cols() - 1).is_none_or(|cell| cell.ch() == ' '),
        ) {
            (false, _) => LineEnd::Break,
            (true, false) => LineEnd::Wrap,
            (true, true) => LineEnd::Gap,
        }
    }
}

/// Adjacent characters with one style: the style, and the length of the text in the bits that hold a cell's
/// character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StyleSpan(PackedStyle);

impl StyleSpan {
    fn new(style: PackedStyle, bytes: usize) -> Self {
        Self(PackedStyle { first: style.first | bytes as u64, second: style.second })
    }

    fn bytes(self) -> usize {
        (self.0.first & ((1 << CELL_BITS) - 1)) as usize
    }

    fn style(self) -> PackedStyle {
        PackedStyle { first: self.0.first >> CELL_BITS << CELL_BITS, second: self.0.second }
    }
}

/// A line at most as wide as a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryLine {
    /// Complete characters in UTF-8. It is rarely read, so it is validated only then.
    text: Box<[u8]>,
    /// The spans of the whole text; empty if it is unstyled.
    stretches: Box<[StyleSpan]>,
    cells: u16,
    pub end: LineEnd,
}

impl HistoryLine {
    /// A line with one style that ends with a line feed. Unstyled blanks at its end are dropped.
    pub fn new(text: &[u8], style: PackedStyle, cells: usize) -> Self {
        let plain = style == PackedStyle::default();
        let blanks = if plain { text.iter().rev().take_while(|byte| **byte == b' ').count() } else { 0 };
        let shown = &text[..text.len() - blanks];
        let stretches = if plain || shown.is_empty() {
            Box::default()
        } else {
            Box::new([StyleSpan::new(style, shown.len())]) as Box<[_]>
        };
        Self {
            text: shown.into(),
            stretches,
            cells: u16::try_from(cells - blanks).unwrap_or(u16::MAX),
            end: LineEnd::Break,
        }
    }

    /// Approximate memory in bytes, including the overhead of allocations.
    pub fn size(&self) -> usize {
        const ALLOCATION: usize = 16;
        size_of::<Self>() + 2 * ALLOCATION + self.text.len() + size_of_val(&*self.stretches)
    }

    /// The width of its text in columns.
    pub fn cells(&self) -> usize {
        usize::from(self.cells)
    }

    /// Its text in parts of one style.
    pub fn parts(&self) -> impl Iterator<Item = (&str, PackedStyle)> {
        let plain = (self.stretches.is_empty() && !self.text.is_empty())
            .then_some((&*self.text, PackedStyle::default()));
        let mut rest = &*self.text;
        let parts = self.stretches.iter().map_while(move |stretch| {
            let (part, behind) = rest.split_at_checked(stretch.bytes())?;
            rest = behind;
            Some((part, stretch.style()))
        });
        plain
            .into_iter()
            .chain(parts)
            .map(|(text, style)| (std::str::from_utf8(text).unwrap_or_default(), style))
    }

    /// The styles of its parts.
    pub fn styles(&self) -> impl Iterator<Item = PackedStyle> {
        self.stretches.iter().map(|stretch| stretch.style())
    }

    /// Gives its parts other styles.
    pub fn restyle(&mut self, mut change: impl FnMut(&mut PackedStyle)) {
        for stretch in &mut self.stretches {
            let mut style = stretch.style();
            change(&mut style);
            *stretch = StyleSpan::new(style, stretch.bytes());
        }
    }

    /// Its text in runs of one style and link.
    pub fn runs(&self, links: &Hyperlinks) -> Vec<StyledRun> {
        let mut runs = RunBuilder::new(links);
        self.parts().for_each(|(text, style)| runs.text(style).push_str(text));
        runs.finish()
    }

    /// The row that it was, `cols` cells long; longer text is cut.
    pub fn row(&self, cols: usize) -> GridRow {
        let mut row = GridRow::new(cols);
        let mut col = 0;
        for (text, style) in self.parts() {
            for ch in text.chars() {
                match width(ch) {
                    Some(1) => row.put_narrow(col, ch, style),
                    Some(2) => row.put_wide(col, ch, style),
                    _ if col > 0 => row.combine(col - 1, ch),
                    _ => {}
                }
                col += width(ch).unwrap_or(0);
            }
        }
        row.wrapped = self.end != LineEnd::Break;
        row.gap = self.end == LineEnd::Gap;
        row
    }
}

/// A line under construction. Its buffers are reused for the next one.
#[derive(Clone, Debug, Default)]
pub struct LineBuilder {
    text: String,
    stretches: Vec<StyleSpan>,
    /// Its width so far, in columns.
    pub cells: usize,
}

impl LineBuilder {
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Appends a character that takes `cells` columns.
    pub fn push(&mut self, ch: char, cells: usize, style: PackedStyle) {
        self.text.push(ch);
        self.cells += cells;
        self.extend_style(ch.len_utf8(), style);
    }

    fn extend_style(&mut self, bytes: usize, style: PackedStyle) {
        match self.stretches.last_mut() {
            _ if bytes == 0 => {}
            Some(last) if last.style() == style => *last = StyleSpan::new(style, last.bytes() + bytes),
            _ => self.stretches.push(StyleSpan::new(style, bytes)),
        }
    }

    /// Appends a row, at least `cells` cells of it: blanks at its end are dropped, unless it wraps into the
    /// next row.
    pub fn push_row(&mut self, row: &GridRow, cells: usize) -> LineEnd {
        let end = row.end();
        let cells = match end {
            LineEnd::Break => row.written().len().max(cells),
            LineEnd::Wrap => row.cols(),
            LineEnd::Gap => row.cols() - 1,
        };
        let stored = row.stored().get(..cells).unwrap_or(row.stored());
        let (mut style, mut start) = (PackedStyle::default(), self.text.len());
        let mut col = 0;
        while let Some(cell) = stored.get(col) {
            if let Some(text) = plain_text(&stored[col..], style) {
                self.text.push_str(std::str::from_utf8(&text).unwrap_or_default());
                col += text.len();
                continue;
            }
            if cell.style() != style {
                self.extend_style(self.text.len() - start, style);
                (style, start) = (cell.style(), self.text.len());
            }
            row.push_text(col, &mut self.text);
            col += 1;
        }
        self.extend_style(self.text.len() - start, style);
        let blanks = cells.saturating_sub(stored.len());
        (0..blanks).for_each(|_| self.text.push(' '));
        self.extend_style(blanks, PackedStyle::default());
        self.cells += cells;
        end
    }

    /// Returns the line and starts another.
    pub fn finish(&mut self, end: LineEnd) -> HistoryLine {
        let plain = self.stretches.iter().all(|stretch| stretch.style() == PackedStyle::default());
        let stretches = if plain { Box::default() } else { self.stretches.as_slice().into() };
        let line = HistoryLine {
            text: self.text.as_bytes().into(),
            stretches,
            cells: u16::try_from(self.cells).unwrap_or(u16::MAX),
            end,
        };
        self.text.clear();
        self.stretches.clear();
        self.cells = 0;
        line
    }
}

/// The first eight characters, if they are ASCII in this style.
#[inline]
fn plain_text(cells: &[GridCell], style: PackedStyle) -> Option<[u8; 8]> {
    let cells = cells.first_chunk::<8>()?;
    cells.iter().fold(true, |all, cell| all & cell.is_ascii(style)).then(|| cells.map(GridCell::byte))
}
