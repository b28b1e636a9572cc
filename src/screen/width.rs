//! How many columns a character takes: that of each alone (`unicode-width`), as in xterm and in tmux without mode 2027. An
//! emoji joined from several stands in several cells.

use unicode_width::UnicodeWidthChar;

/// The columns of `ch`; `None` for control characters.
///
/// The library looks every character up in tables; what text is mostly made of is told by its range here.
#[inline]
pub(super) fn width(ch: char) -> Option<usize> {
    match ch as u32 {
        0x20..=0x7e | 0xae..=0x2ff | 0x2500..=0x25fc => Some(1),
        0x3041..=0x3096 | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7a3 => Some(2),
        _ => ch.width(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranges_are_as_the_library_has_them() {
        for ch in '\0'..=char::MAX {
            assert_eq!(width(ch), ch.width(), "{:x}", ch as u32);
        }
    }
}
