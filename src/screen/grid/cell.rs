//! One cell of the grid: a character, its width and its style, in 16 bytes that are copied like a number.
//!
//! Combining marks are too rare to have room here: the row keeps them (`combining.rs`), and the cell has only
//! a flag.

use super::packed_style::PackedStyle;

const CHAR_MASK: u64 = 0x1f_ffff;
const WIDE: u64 = 1 << 21;
const SPACER: u64 = 1 << 22;
const MARKED: u64 = 1 << 23;
const TEXT_MASK: u64 = CHAR_MASK | WIDE | SPACER | MARKED;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridCell {
    /// 21 bits of character, then the width and the flag for combining marks; above them the first word of
    /// the style.
    first: u64,
    second: u64,
}

impl GridCell {
    /// An empty cell in the default style.
    pub const BLANK: Self = Self { first: ' ' as u64, second: 0 };

    /// An empty cell of this style.
    #[inline]
    pub fn blank(style: PackedStyle) -> Self {
        Self::ascii(b' ', style)
    }

    /// A cell with an ASCII character.
    #[inline]
    pub fn ascii(byte: u8, style: PackedStyle) -> Self {
        Self { first: style.first | u64::from(byte), second: style.second }
    }

    /// A cell with a one-column character.
    #[inline]
    pub fn narrow(ch: char, style: PackedStyle) -> Self {
        Self { first: style.first | ch as u64, second: style.second }
    }

    /// The two cells of a two-column character.
    #[inline]
    pub fn wide(ch: char, style: PackedStyle) -> [Self; 2] {
        [
            Self { first: style.first | ch as u64 | WIDE, second: style.second },
            Self { first: style.first | ' ' as u64 | SPACER, second: style.second },
        ]
    }

    /// Its character; a spacer's is a blank.
    pub fn ch(self) -> char {
        char::from_u32((self.first & CHAR_MASK) as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// Whether it is the left half of a wide character.
    #[inline]
    pub fn is_wide(self) -> bool {
        self.first & WIDE != 0
    }

    /// Whether it is the right half of a wide character: it has no text of its own.
    #[inline]
    pub fn is_spacer(self) -> bool {
        self.first & SPACER != 0
    }

    /// Whether it is one of the two halves of a wide character.
    #[inline]
    pub fn is_half(self) -> bool {
        self.first & (WIDE | SPACER) != 0
    }

    /// Whether it is an ASCII character in this style without marks.
    #[inline]
    pub fn is_ascii(self, style: PackedStyle) -> bool {
        ((self.first ^ style.first) < 0x80) & (self.second == style.second)
    }

    /// Its character, if that is ASCII.
    #[inline]
    pub fn byte(self) -> u8 {
        self.first as u8
    }

    pub fn style(self) -> PackedStyle {
        PackedStyle { first: self.first & !TEXT_MASK, second: self.second }
    }

    /// Whether selective erasing leaves it.
    pub fn is_protected(self) -> bool {
        self.style().is_protected()
    }

    /// Gives it another style.
    pub fn restyle(&mut self, change: impl FnOnce(&mut PackedStyle)) {
        let mut style = self.style();
        change(&mut style);
        *self = Self { first: self.first & TEXT_MASK | style.first, second: style.second };
    }

    /// Whether its character has combining marks.
    #[inline]
    pub fn is_marked(self) -> bool {
        self.first & MARKED != 0
    }

    /// A number for its text and style, very likely different for other cells.
    pub const fn fingerprint(self) -> u64 {
        let number = (self.first ^ self.second.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_mul(0xff51_afd7_ed55_8ccd);
        number ^ (number >> 32)
    }

    /// Sets the flag for combining marks.
    pub fn mark(&mut self) {
        self.first |= MARKED;
    }

    /// Removes the text and keeps the style, for a wide character of which one half was overwritten.
    pub fn hollow(&mut self) {
        *self = Self::blank(self.style());
    }
}

#[cfg(test)]
mod tests {
    use super::super::style::{Attr, Color};
    use super::*;

    #[test]
    fn a_cell_stays_small() {
        assert_eq!(size_of::<GridCell>(), 16);
    }

    #[test]
    fn text_and_look_are_kept_apart() {
        let mut style = PackedStyle::default();
        style.add(Attr::Strike);
        style.set_foreground(Color::Rgb(255, 255, 255));
        for ch in [' ', 'x', '漢', char::MAX] {
            let [mut left, right] = GridCell::wide(ch, style);
            left.mark();
            assert_eq!((left.ch(), left.is_wide(), left.style(), left.is_marked()), (ch, true, style, true));
            assert_eq!(
                (right.ch(), right.is_spacer(), right.style(), right.is_marked()),
                (' ', true, style, false)
            );
            left.hollow();
            assert_eq!(left, GridCell::blank(style));
            let narrow = GridCell::narrow(ch, style);
            assert_eq!(
                (narrow.ch(), narrow.is_wide() || narrow.is_spacer(), narrow.style()),
                (ch, false, style)
            );
        }
        assert_eq!(GridCell::BLANK, GridCell::blank(PackedStyle::default()));
    }
}
