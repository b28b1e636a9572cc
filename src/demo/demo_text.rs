//! Text for a terminal: cut to a width, wrapped between words, styled. Pure.

use unicode_width::UnicodeWidthStr;

use crate::core::text::ellipsis::start_within;
use crate::core::text::word_wrap::wrap_words;
use crate::screen::{Style, StyledRun};

/// Whether to use colours. Bold and dim are not colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Palette {
    Colours,
    /// No colours (`NO_COLOR`).
    Plain,
}

impl Palette {
    /// From the environment: no colours if `NO_COLOR` is set and not empty.
    pub(super) fn from_env() -> Palette {
        let none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if none { Palette::Plain } else { Palette::Colours }
    }

    /// `text` in one of the first 8 colours.
    pub(super) fn paint(self, text: &str, colour: u8) -> String {
        match self {
            Palette::Colours => format!("\x1b[{}m{text}\x1b[39m", 30 + colour),
            Palette::Plain => text.to_owned(),
        }
    }
}

pub(super) fn bold(text: &str) -> String {
    format!("\x1b[1m{text}\x1b[22m")
}

pub(super) fn dim(text: &str) -> String {
    format!("\x1b[2m{text}\x1b[22m")
}

/// A row of the inner screen with its styles, cut to `width` columns.
pub(super) fn styled_row(runs: &[StyledRun], width: usize, palette: Palette) -> String {
    let mut out = String::new();
    let mut left = width;
    for run in runs {
        let text = start_within(&run.text, left);
        left = if text.len() < run.text.len() { 0 } else { left - text.width() };
        let mut style = run.style;
        if palette == Palette::Plain {
            (style.fg, style.bg, style.underline_color) = Default::default();
        }
        out.push_str(&style.sgr());
        out.push_str(text);
    }
    out + &Style::default().sgr()
}

/// `text` in rows of at most `width` columns, broken between words. The end of a longer word is cut off.
pub(super) fn rows_within(text: &str, width: usize) -> Vec<String> {
    wrap_words(text, 0, width).split('\n').map(|row| start_within(row, width).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Screen;

    #[test]
    fn a_row_painted_again_looks_the_same() {
        let mut screen = Screen::new(40, 1);
        screen.feed("a\x1b[1;31mb\x1b[0;4;48;5;200mc漢\x1b[0;38;2;1;2;3;7md\x1b[m e".as_bytes());
        let mut again = Screen::new(40, 1);
        again.feed(styled_row(&screen.row_runs(0), 40, Palette::Colours).as_bytes());
        assert_eq!(again.row_runs(0), screen.row_runs(0));
        let mut cut = Screen::new(40, 1);
        cut.feed(styled_row(&screen.row_runs(0), 4, Palette::Colours).as_bytes());
        assert_eq!(cut.lines(), ["abc"], "half a wide character is none");
        let plain = styled_row(&screen.row_runs(0), 40, Palette::Plain);
        assert_eq!((plain.matches("31").count(), plain.matches("8;").count()), (0, 0));
    }
}
