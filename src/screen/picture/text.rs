//! The picture as plain text.

use super::PictureLines;
use crate::screen::Screen;

impl Screen {
    /// The rows as lines, without blanks at their ends and without empty rows at the end.
    pub fn text(&self, lines: PictureLines) -> String {
        let mut text = String::new();
        let mut filled = 0;
        for runs in self.picture(lines) {
            runs.iter().for_each(|run| text.push_str(&run.text));
            text.truncate(text.trim_end_matches(' ').len());
            if !text.is_empty() && !text.ends_with('\n') {
                filled = text.len() + 1;
            }
            text.push('\n');
        }
        text.truncate(filled);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_empty_rows_at_the_end_are_left_out() {
        let mut screen = Screen::with_history(6, 4, 9);
        assert_eq!(screen.text(PictureLines::WithHistory), "");
        screen.feed("a  \r\n\r\n漢 b\x1b[44m  \r\n".as_bytes());
        assert_eq!(screen.text(PictureLines::Screen), "a\n\n漢 b\n");
        screen.feed(b"\r\nc");
        assert_eq!(
            (screen.text(PictureLines::Screen), screen.text(PictureLines::WithHistory)),
            ("\n漢 b\n\nc\n".into(), "a\n\n漢 b\n\nc\n".into())
        );
    }
}
