//! How many columns a character has: each alone, by `unicode-width`, as in alacritty, and except for a few
//! characters as in xterm and in tmux without mode 2027. A joined emoji has several cells. The exceptions: a
//! soft hyphen and some vowel signs of Indic scripts have no column here and one in xterm, VTE and the C
//! library.

use unicode_width::UnicodeWidthChar;

/// The most common ranges of text: first, last, and the columns of each character.
const STRETCHES: [(u32, u32, u8); 14] = [
    (0xc0, 0x2ff, 1),      // Latin
    (0x3a0, 0x47f, 1),     // Greek, Cyrillic
    (0x5e0, 0x5ff, 1),     // Hebrew
    (0x2500, 0x25df, 1),   // lines, blocks
    (0x2800, 0x28ff, 1),   // Braille, of which spinners are made
    (0x3060, 0x307f, 2),   // Hiragana
    (0x30a0, 0x30ff, 2),   // Katakana
    (0x3400, 0x4cff, 2),   // Han
    (0x4e00, 0x9fff, 2),   // Han
    (0xac00, 0xd6ff, 2),   // Hangul
    (0xe000, 0xf8ff, 1),   // icons of patched fonts
    (0x1f460, 0x1f4df, 2), // emoji
    (0x1f600, 0x1f63f, 2), // emoji
    (0x1f960, 0x1f9ff, 2), // emoji
];

/// Characters per block.
const BLOCK: u32 = 32;

/// The columns of all characters of a block, 1 or 2; 0 if they differ. Up to U+1FFFF.
const BLOCKS: [u8; 4096] = {
    let mut blocks = [0; 4096];
    let mut at = 0;
    while at < STRETCHES.len() {
        let (from, to, columns) = STRETCHES[at];
        let mut block = from.div_ceil(BLOCK);
        while (block + 1) * BLOCK <= to + 1 {
            blocks[block as usize] = columns;
            block += 1;
        }
        at += 1;
    }
    blocks
};

/// The columns of `ch`; `None` for control characters.
///
/// The library looks every character up in tables of several steps; for common characters one is enough.
#[inline(always)]
pub fn width(ch: char) -> Option<usize> {
    match BLOCKS.get((ch as u32 / BLOCK) as usize) {
        Some(columns @ 1..) => Some(usize::from(*columns)),
        _ => elsewhere(ch),
    }
}

fn elsewhere(ch: char) -> Option<usize> {
    match ch as u32 {
        0x20..=0x7e | 0xae..=0xff | 0x2500..=0x25fc => Some(1),
        0x3041..=0x3096 => Some(2),
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
