//! The picture as lines with SGR sequences, to be printed in a terminal. It moves no cursor and sets no mode.

use super::PictureLines;
use crate::screen::{Screen, Style};

impl Screen {
    /// The rows as lines that each end with a plain pen, without empty rows at the end.
    pub fn ansi(&self, lines: PictureLines) -> String {
        let mut text = String::new();
        let mut filled = 0;
        for runs in self.picture(lines) {
            let mut pen = Style::default();
            for run in &runs {
                if run.style != pen {
                    text.push_str(&run.style.sgr());
                    pen = run.style;
                }
                text.push_str(&run.linked_text());
            }
            if pen != Style::default() {
                text.push_str(&Style::default().sgr());
            }
            text.push('\n');
            if !runs.is_empty() {
                filled = text.len();
            }
        }
        text.truncate(filled);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_given_as_sequences() {
        let mut screen = Screen::new(8, 3);
        screen.feed(b"\x1b[1;31mab\x1b[m c\x1b[4:3mx\r\n");
        assert_eq!(screen.ansi(PictureLines::Screen), "\x1b[0;1;31mab\x1b[m c\x1b[0;4:3mx\x1b[m\n");
    }
}
