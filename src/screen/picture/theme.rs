//! The colours of a picture: those of a known terminal, or VHS's.

use crate::screen::{Attr, Color, Style};

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// A terminal's own colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureTheme {
    pub fg: Rgb,
    pub bg: Rgb,
    /// The first 16 colours.
    pub palette: [Rgb; 16],
}

impl Default for PictureTheme {
    fn default() -> Self {
        Self {
            fg: [0xdd, 0xdd, 0xdd],
            bg: [0x17, 0x17, 0x17],
            palette: [
                [0x28, 0x2a, 0x2e],
                [0xd7, 0x4e, 0x6f],
                [0x31, 0xbb, 0x71],
                [0xd3, 0xe5, 0x61],
                [0x80, 0x56, 0xff],
                [0xed, 0x61, 0xd7],
                [0x04, 0xd7, 0xd7],
                [0xbf, 0xbf, 0xbf],
                [0x4d, 0x4d, 0x4d],
                [0xfe, 0x5f, 0x86],
                [0x00, 0xd7, 0x87],
                [0xeb, 0xff, 0x71],
                [0x9b, 0x79, 0xff],
                [0xff, 0x7a, 0xea],
                [0x00, 0xfe, 0xfe],
                [0xe6, 0xe6, 0xe6],
            ],
        }
    }
}

impl PictureTheme {
    /// A colour; `None` for the terminal's own.
    pub fn rgb(&self, color: Color) -> Option<Rgb> {
        match color {
            Color::Default => None,
            Color::Rgb(r, g, b) => Some([r, g, b]),
            Color::Indexed(index @ 0..=15) => self.palette.get(usize::from(index)).copied(),
            // A 6x6x6 cube, then greys.
            Color::Indexed(index @ 16..=231) => {
                let step = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
                let index = index - 16;
                Some([step(index / 36), step(index / 6 % 6), step(index % 6)])
            }
            Color::Indexed(index) => Some([8 + 10 * (index - 232); 3]),
        }
    }

    /// Foreground and background of a style, exchanged if it is reversed; `None` is the terminal's own
    /// background.
    pub fn pair(&self, style: &Style) -> (Rgb, Option<Rgb>) {
        let (fg, bg) = (self.rgb(style.fg).unwrap_or(self.fg), self.rgb(style.bg));
        if style.has(Attr::Reverse) { (bg.unwrap_or(self.bg), Some(fg)) } else { (fg, bg) }
    }
}

/// A colour in its shortest CSS form.
pub fn hex([r, g, b]: Rgb) -> String {
    if [r, g, b].iter().all(|part| part >> 4 == part & 15) {
        format!("#{:x}{:x}{:x}", r & 15, g & 15, b & 15)
    } else {
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}
