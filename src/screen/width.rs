//! How many columns a character takes: that of each alone (`unicode-width`), as in xterm and in tmux without mode 2027. An
//! emoji joined from several stands in several cells.

use unicode_width::UnicodeWidthChar;

/// Blocks of 256 characters of which all take as many columns: 1 or 2, and 0 for the other blocks.
const BLOCKS: [u8; 256] = {
    let mut blocks = [0; 256];
    let mut block = 0;
    while block < blocks.len() {
        blocks[block] = match block {
            0x01 | 0x02 => 1,
            0x34..=0x4c | 0x4e..=0x9f | 0xac..=0xd6 => 2,
            _ => 0,
        };
        block += 1;
    }
    blocks
};

/// The columns of `ch`; `None` for control characters.
///
/// The library looks every character up in tables of several steps; for what text is mostly made of, one is enough.
#[inline(always)]
pub(super) fn width(ch: char) -> Option<usize> {
    match BLOCKS.get(ch as usize >> 8) {
        Some(2) => Some(2),
        Some(1) => Some(1),
        _ => in_block(ch),
    }
}

fn in_block(ch: char) -> Option<usize> {
    match ch as u32 {
        0x20..=0x7e | 0xae..=0xff | 0x2500..=0x25fc => Some(1),
        0x3041..=0x3096 | 0x30a1..=0x30fa => Some(2),
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
