//! One cell of the grid: a character, the marks that combine with it, its look and its width.
//!
//! Nearly every cell is one plain character, so the marks are a box that is almost never there: writing a cell allocates
//! nothing, and a cell is 32 bytes.

use super::style::Style;

/// Most bytes of combining marks that one cell keeps; what comes after is dropped. Screen's CVE-2021-26937 was a crash on
/// an endless pile of marks.
const TAIL_MAX: usize = 16;

/// How many columns a cell stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// The right half of the wide character to its left: it has no text of its own.
    Spacer,
    /// One column.
    Narrow,
    /// Two columns; a `Spacer` follows.
    Wide,
}

/// Combining marks, as UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tail {
    len: u8,
    bytes: [u8; TAIL_MAX],
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    tail: Option<Box<Tail>>,
    ch: char,
    /// The look.
    pub(super) style: Style,
    /// The width.
    pub(super) width: Width,
}

impl Cell {
    /// An empty cell of this look.
    pub(super) fn blank(style: Style) -> Self {
        Self { tail: None, ch: ' ', style, width: Width::Narrow }
    }

    /// Writes one character; marks that combined with the former one are gone.
    #[inline]
    pub(super) fn set(&mut self, ch: char, style: Style, width: Width) {
        if self.tail.is_some() {
            self.tail = None;
        }
        self.ch = ch;
        self.style = style;
        self.width = width;
    }

    /// Takes the text away and keeps the look, for a wide character of which half was overwritten.
    pub(super) fn hollow(&mut self) {
        self.set(' ', self.style, Width::Narrow);
    }

    /// Adds a combining mark; without room it is dropped.
    pub(super) fn combine(&mut self, mark: char) {
        let tail = self.tail.get_or_insert_with(|| Box::new(Tail { len: 0, bytes: [0; TAIL_MAX] }));
        let start = usize::from(tail.len);
        if let Some(room) = tail.bytes.get_mut(start..start + mark.len_utf8()) {
            mark.encode_utf8(room);
            tail.len += mark.len_utf8() as u8;
        }
    }

    /// Whether it shows nothing and looks like nothing, so that it may be left out at the end of a row.
    pub(super) fn is_blank(&self) -> bool {
        self.ch == ' ' && self.tail.is_none() && self.width == Width::Narrow && self.style == Style::default()
    }

    /// Appends the cell's text; a spacer has none.
    pub(super) fn push_text(&self, text: &mut String) {
        if self.width == Width::Spacer {
            return;
        }
        text.push(self.ch);
        if let Some(tail) = &self.tail {
            let bytes = tail.bytes.get(..usize::from(tail.len)).unwrap_or_default();
            text.push_str(std::str::from_utf8(bytes).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(cell: &Cell) -> String {
        let mut text = String::new();
        cell.push_text(&mut text);
        text
    }

    #[test]
    fn a_cell_stays_small() {
        assert_eq!(size_of::<Cell>(), 32);
    }

    #[test]
    fn marks_combine_and_go_with_their_character() {
        let mut cell = Cell::blank(Style::default());
        cell.set('e', Style::default(), Width::Narrow);
        cell.combine('\u{301}');
        assert_eq!(text(&cell), "e\u{301}");
        cell.set('x', Style::default(), Width::Narrow);
        assert_eq!(text(&cell), "x");
    }

    #[test]
    fn marks_are_capped_at_a_whole_character() {
        let mut cell = Cell::blank(Style::default());
        for _ in 0..1000 {
            cell.combine('\u{20dd}');
        }
        assert_eq!(text(&cell).len(), 1 + 15);
    }
}
