//! Text for a terminal: cut to a width, wrapped between words, styled. Pure.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use crate::core::text::ellipsis::start_within;
use crate::core::text::visible::is_hidden;
use crate::core::text::word_wrap::wrap_words;
use crate::screen::{Attr, Color, Style, StyledRun, Underline};

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

    /// `text` in one of the 16 colours.
    pub(super) fn paint(self, text: &str, colour: u8) -> String {
        match self {
            Palette::Colours => {
                format!("\x1b[{}m{text}\x1b[39m", if colour < 8 { 30 + colour } else { 82 + colour })
            }
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
pub(super) fn runs(runs: &[StyledRun], width: usize, palette: Palette) -> String {
    let mut out = String::new();
    let mut left = width;
    for run in runs {
        let text = start_within(&run.text, left);
        left = if text.len() < run.text.len() { 0 } else { left - text.width() };
        match codes(&run.style, palette) {
            codes if codes.is_empty() => out.push_str(text),
            codes => _ = write!(out, "\x1b[{codes}m{text}\x1b[m"),
        }
    }
    out
}

fn codes(style: &Style, palette: Palette) -> String {
    let mut codes: Vec<String> = Vec::new();
    let attributes = [
        (Attr::Bold, "1"),
        (Attr::Dim, "2"),
        (Attr::Italic, "3"),
        (Attr::Reverse, "7"),
        (Attr::Hidden, "8"),
        (Attr::Strike, "9"),
    ];
    codes.extend(attributes.iter().filter(|(attr, _)| style.has(*attr)).map(|(_, code)| (*code).to_owned()));
    if style.underline != Underline::None {
        codes.push("4".to_owned());
    }
    if palette == Palette::Colours {
        codes.extend([(style.fg, 38), (style.bg, 48)].into_iter().filter_map(|(color, base)| match color {
            Color::Default => None,
            Color::Indexed(index) => Some(format!("{base};5;{index}")),
            Color::Rgb(r, g, b) => Some(format!("{base};2;{r};{g};{b}")),
        }));
    }
    codes.join(";")
}

/// `text` in rows of at most `width` columns, broken between words; a longer word is cut.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut rows = Vec::new();
    for line in wrap_words(&text.split_whitespace().collect::<Vec<_>>().join(" "), 0, width).split('\n') {
        let mut rest = line;
        while rest.width() > width {
            let head = match start_within(rest, width) {
                // Not even one character fits.
                "" => break,
                head => head,
            };
            rows.push(head.to_owned());
            rest = &rest[head.len()..];
        }
        rows.push(rest.to_owned());
    }
    rows
}

/// Text from files without anything that a terminal would act on.
pub(super) fn visible(text: &str) -> String {
    text.chars().filter(|c| !is_hidden(*c)).collect()
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
        again.feed(runs(&screen.row_runs(0), 40, Palette::Colours).as_bytes());
        assert_eq!(again.row_runs(0), screen.row_runs(0));
        let mut cut = Screen::new(40, 1);
        cut.feed(runs(&screen.row_runs(0), 4, Palette::Colours).as_bytes());
        assert_eq!(cut.lines(), ["abc"], "half a wide character is none");
        assert_eq!(runs(&screen.row_runs(0), 40, Palette::Plain).matches("8;").count(), 0);
    }

    #[test]
    fn text_is_wrapped_between_words_and_cut_inside_long_ones() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("a /very/long/path b", 6), ["a", "/very/", "long/p", "ath", "b"]);
        assert_eq!(wrap("漢字漢字", 3), ["漢", "字", "漢", "字"]);
        assert_eq!(wrap("漢", 1), ["漢"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(start_within("漢字", 3), "漢");
    }

    #[test]
    fn cursor_movements_are_removed() {
        assert_eq!(visible("a\u{1b}[2Jb\u{202e}c\u{9b}d\n"), "a[2Jbcd");
    }
}
