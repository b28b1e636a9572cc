//! A [`Style`] in two machine words, for the pen and for every cell.
//!
//! The low bits of the first word are unused here: a cell stores its character there (`cell.rs`). So a run of
//! text is written with one `or` and one store for each character.

use super::style::{Attr, Color, Style, Underline};

/// Bits of the first word that belong to the cell.
pub const CELL_BITS: u32 = 24;

const ATTRS: u32 = CELL_BITS;
const UNDERLINE: u32 = ATTRS + 8;
const FOREGROUND: u32 = UNDERLINE + 3;
const PROTECTED: u64 = 1 << (FOREGROUND + COLOR_BITS);
const BACKGROUND: u32 = 0;
const UNDERLINE_COLOR: u32 = BACKGROUND + COLOR_BITS;
const LINK: u32 = UNDERLINE_COLOR + COLOR_BITS;
const LINK_BITS: u32 = 14;

/// A colour: 0 the default, 1..=256 the palette, or this bit and 24 bits of red, green and blue.
const RGB: u64 = 1 << 24;
const COLOR_BITS: u32 = 25;

/// The style of one cell, and the pen that the next character is written with. The default is a fresh
/// terminal's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedStyle {
    /// Attributes, kind of underline, foreground colour.
    pub first: u64,
    /// Background and underline colours, number of the link.
    pub second: u64,
}

impl PackedStyle {
    pub fn add(&mut self, attr: Attr) {
        self.first |= u64::from(attr.bit()) << ATTRS;
    }

    pub fn remove(&mut self, attr: Attr) {
        self.first &= !(u64::from(attr.bit()) << ATTRS);
    }

    /// Toggles the attribute of an SGR number, if DECRARA supports it: 1, 4, 5, 7, and 0 for all four.
    pub fn reverse(&mut self, number: u16) {
        match number {
            0 => [1, 4, 5, 7].into_iter().for_each(|each| self.reverse(each)),
            1 => self.first ^= u64::from(Attr::Bold.bit()) << ATTRS,
            4 if get(self.first, UNDERLINE, 3) == 0 => self.set_underline(Underline::Single),
            4 => self.set_underline(Underline::None),
            5 => self.first ^= u64::from(Attr::Blink.bit()) << ATTRS,
            7 => self.first ^= u64::from(Attr::Reverse.bit()) << ATTRS,
            _ => {}
        }
    }

    /// Copies from another style the parts whose SGR numbers are set in `parts` (30 and 31: the colours, as
    /// in XTPUSHSGR); everything except link and protection if none is set.
    pub fn take(&mut self, from: Self, parts: u32) {
        let (mut first, mut second) = (0, 0);
        let color = mask(COLOR_BITS);
        for number in (1..u32::BITS).filter(|number| parts & 1 << number != 0) {
            match number {
                4 | 21 => (first, second) = (first | mask(3) << UNDERLINE, second | color << UNDERLINE_COLOR),
                30 => first |= color << FOREGROUND,
                31 => second |= color << BACKGROUND,
                _ => {
                    let attr = Attr::ALL.into_iter().find(|attr| attr.code() == number.to_string());
                    first |= attr.map_or(0, |attr| u64::from(attr.bit()) << ATTRS);
                }
            }
        }
        if parts == 0 {
            (first, second) = (!PROTECTED, mask(LINK));
        }
        self.first = self.first & !first | from.first & first;
        self.second = self.second & !second | from.second & second;
    }

    /// Sets the foreground colour.
    pub fn set_foreground(&mut self, color: Color) {
        put(&mut self.first, FOREGROUND, COLOR_BITS, packed(color));
    }

    /// Sets the background colour.
    pub fn set_background(&mut self, color: Color) {
        put(&mut self.second, BACKGROUND, COLOR_BITS, packed(color));
    }

    /// Sets the colour of the underline.
    pub fn set_underline_color(&mut self, color: Color) {
        put(&mut self.second, UNDERLINE_COLOR, COLOR_BITS, packed(color));
    }

    pub fn set_underline(&mut self, kind: Underline) {
        put(&mut self.first, UNDERLINE, 3, kind as u64);
    }

    /// Sets the number of the link, 0 for none (`hyperlinks.rs`).
    pub fn set_link(&mut self, number: u16) {
        put(&mut self.second, LINK, LINK_BITS, u64::from(number) & mask(LINK_BITS));
    }

    /// DECSCA: whether selective erasing leaves text written from now on. Not part of the style.
    pub fn protect(&mut self, protected: bool) {
        self.first = if protected { self.first | PROTECTED } else { self.first & !PROTECTED };
    }

    /// Whether selective erasing leaves it.
    pub fn is_protected(self) -> bool {
        self.first & PROTECTED != 0
    }

    /// The number of the link.
    pub fn link(self) -> u16 {
        get(self.second, LINK, LINK_BITS) as u16
    }

    /// The style without its link.
    pub fn unlinked(self) -> Self {
        Self { first: self.first, second: self.second & mask(LINK) }
    }

    /// Only the link and the protection: what SGR 0 leaves.
    pub fn plain(self) -> Self {
        Self { first: self.first & PROTECTED, second: self.second & !mask(LINK) }
    }

    /// Whether SGR 0 would change nothing.
    pub fn is_plain(self) -> bool {
        self == self.plain()
    }

    /// The style that erasing leaves behind: only the background stays, as in xterm.
    #[inline]
    pub fn erased(self) -> Self {
        Self { first: 0, second: self.second & mask(COLOR_BITS) }
    }

    /// The style without link and protection.
    pub fn unpack(self) -> Style {
        let underline = match get(self.first, UNDERLINE, 3) {
            1 => Underline::Single,
            2 => Underline::Double,
            3 => Underline::Curly,
            4 => Underline::Dotted,
            5 => Underline::Dashed,
            _ => Underline::None,
        };
        let mut style = Style::default();
        style.fg = color(get(self.first, FOREGROUND, COLOR_BITS));
        style.bg = color(get(self.second, BACKGROUND, COLOR_BITS));
        style.underline_color = color(get(self.second, UNDERLINE_COLOR, COLOR_BITS));
        style.underline = underline;
        for attr in Attr::ALL {
            if get(self.first, ATTRS, 8) & u64::from(attr.bit()) != 0 {
                style.add(attr);
            }
        }
        style
    }
}

fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

fn get(word: u64, at: u32, bits: u32) -> u64 {
    (word >> at) & mask(bits)
}

fn put(word: &mut u64, at: u32, bits: u32, value: u64) {
    *word = (*word & !(mask(bits) << at)) | (value << at);
}

fn packed(color: Color) -> u64 {
    match color {
        Color::Default => 0,
        Color::Indexed(index) => u64::from(index) + 1,
        Color::Rgb(r, g, b) => RGB | u64::from(r) << 16 | u64::from(g) << 8 | u64::from(b),
    }
}

fn color(packed: u64) -> Color {
    match packed {
        0 => Color::Default,
        rgb if rgb & RGB != 0 => Color::Rgb((rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8),
        index => Color::Indexed((index - 1) as u8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_kept_apart_from_the_others() {
        let colors = [
            Color::Default,
            Color::Indexed(0),
            Color::Indexed(255),
            Color::Rgb(0, 0, 0),
            Color::Rgb(255, 255, 255),
            Color::Rgb(1, 2, 3),
        ];
        let kinds = [
            Underline::None,
            Underline::Single,
            Underline::Double,
            Underline::Curly,
            Underline::Dotted,
            Underline::Dashed,
        ];
        for fg in colors {
            for bg in colors {
                for kind in kinds {
                    let mut packed = PackedStyle::default();
                    let mut style = Style::default();
                    for attr in Attr::ALL {
                        packed.add(attr);
                        style.add(attr);
                    }
                    packed.set_foreground(fg);
                    packed.set_background(bg);
                    packed.set_underline_color(fg);
                    packed.set_underline(kind);
                    let unlinked = packed;
                    packed.set_link(0x3fff);
                    assert_eq!(
                        (packed.unlinked(), packed.link(), packed.plain().link()),
                        (unlinked, 0x3fff, 0x3fff)
                    );
                    assert_eq!(packed.plain().unpack(), Style::default());
                    (style.fg, style.bg, style.underline_color, style.underline) = (fg, bg, fg, kind);
                    assert_eq!(packed.unpack(), style);
                    assert_eq!(packed.first & mask(CELL_BITS), 0);
                    let mut behind = PackedStyle::default();
                    behind.set_background(bg);
                    assert_eq!(packed.erased(), behind);
                    packed.protect(true);
                    assert_eq!(
                        (packed.is_protected(), packed.unpack(), packed.plain().unpack()),
                        (true, style, Style::default())
                    );
                    assert!(
                        packed.plain().is_protected()
                            && packed.plain().is_plain()
                            && !packed.erased().is_protected()
                    );
                    packed.protect(false);
                    packed.remove(Attr::Italic);
                    style.remove(Attr::Italic);
                    assert_eq!(packed.unpack(), style);
                    packed.set_foreground(Color::Default);
                    style.fg = Color::Default;
                    assert_eq!(packed.unpack(), style);
                }
            }
        }
    }
}
