//! The style of cells as text: `3:7-12 bold fg=red "ERROR"`, with row and columns from 1. The sixteen named
//! colours have names, others a number or `#rrggbb`.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::core::text::visible::visible;
use crate::screen::{Attr, Color, Style, StyledRun, Underline};

const NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const UNDERLINES: [(Underline, &str); 5] = [
    (Underline::Single, "underline"),
    (Underline::Double, "underline=double"),
    (Underline::Curly, "underline=curly"),
    (Underline::Dotted, "underline=dotted"),
    (Underline::Dashed, "underline=dashed"),
];

/// Adjacent cells with one style other than the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotStyle {
    /// The row, from 1.
    pub row: u16,
    /// The first column, from 1.
    pub from: u16,
    /// The last column, from 1.
    pub to: u16,
    /// The style in words, without blanks in a word: `bold`, `fg=red`.
    pub words: Vec<String>,
    /// The text without blanks at its end, only for readers: it is not compared, because the rows are.
    pub text: String,
}

impl SnapshotStyle {
    /// The spans of a row.
    pub fn of_row(row: u16, runs: &[StyledRun]) -> Vec<SnapshotStyle> {
        let (mut spans, mut col) = (Vec::new(), 1usize);
        for run in runs {
            let width: usize = run.text.chars().map(|ch| ch.width().unwrap_or(0)).sum();
            let mut words = style_words(&run.style);
            words.extend(run.link.as_ref().map(|link| format!("link={}", link.uri().replace(' ', "%20"))));
            if !words.is_empty() && width > 0 {
                let (from, to) = (clamped(col), clamped(col + width - 1));
                spans.push(SnapshotStyle {
                    row,
                    from,
                    to,
                    words,
                    text: visible(run.text.trim_end_matches(' ')),
                });
            }
            col += width;
        }
        spans
    }

    /// Reads a line written by [`SnapshotStyle::encode`].
    pub fn parse(line: &str) -> Option<SnapshotStyle> {
        let (place, rest) = line.split_once(' ')?;
        let (row, cols) = place.split_once(':')?;
        let (from, to) = cols.split_once('-').unwrap_or((cols, cols));
        let (words, text) = rest.split_once('"')?;
        let text: String = serde_json::from_str(&format!("\"{text}")).ok()?;
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let span = SnapshotStyle {
            row: row.parse().ok()?,
            from: from.parse().ok()?,
            to: to.parse().ok()?,
            words,
            text,
        };
        (span.row > 0 && span.from > 0 && span.to >= span.from && !span.words.is_empty()).then_some(span)
    }

    /// The line in a snapshot.
    pub fn encode(&self) -> String {
        let mut line = format!("{}:{}", self.row, self.from);
        if self.to > self.from {
            let _ = write!(line, "-{}", self.to);
        }
        for word in &self.words {
            let _ = write!(line, " {word}");
        }
        let _ = write!(line, " {}", serde_json::Value::from(self.text.as_str()));
        line
    }

    /// The columns for a person: `7-12`.
    pub fn cols(&self) -> String {
        if self.to > self.from { format!("{}-{}", self.from, self.to) } else { self.from.to_string() }
    }
}

fn clamped(col: usize) -> u16 {
    u16::try_from(col).unwrap_or(u16::MAX)
}

/// A style in words; empty for the default.
pub fn style_words(style: &Style) -> Vec<String> {
    let mut words: Vec<String> =
        Attr::ALL.into_iter().filter(|attr| style.has(*attr)).map(|attr| attr.name().to_owned()).collect();
    words.extend(
        UNDERLINES.iter().find(|(kind, _)| *kind == style.underline).map(|(_, word)| (*word).to_owned()),
    );
    for (key, color) in [("fg", style.fg), ("bg", style.bg), ("underline-color", style.underline_color)] {
        words.extend(color_word(color).map(|word| format!("{key}={word}")));
    }
    words
}

/// A colour as a word; `None` for the default.
pub fn color_word(color: Color) -> Option<String> {
    match color {
        Color::Indexed(index @ 0..8) => Some(NAMES[usize::from(index)].to_owned()),
        Color::Indexed(index @ 8..16) => Some(format!("bright-{}", NAMES[usize::from(index) - 8])),
        other => other.name(),
    }
}

/// How two sets of style words differ: `fg red, was green`.
pub fn difference(expected: &[String], actual: &[String]) -> String {
    let value = |word: &str| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    let mut parts = Vec::new();
    for word in actual.iter().filter(|word| !expected.contains(word)) {
        let Some((key, now)) = value(word) else {
            parts.push(format!("{word}, was not"));
            continue;
        };
        let before = expected.iter().filter_map(|word| value(word)).find(|(name, _)| *name == key);
        let before = before.map_or("default".to_owned(), |(_, before)| before);
        parts.push(format!("{key} {now}, was {before}"));
    }
    for word in expected.iter().filter(|word| !actual.contains(word)) {
        match value(word) {
            None => parts.push(format!("not {word}, was {word}")),
            Some((key, before)) => {
                if !actual.iter().filter_map(|word| value(word)).any(|(name, _)| name == key) {
                    parts.push(format!("{key} default, was {before}"));
                }
            }
        }
    }
    parts.join("; ")
}

/// The columns of a text.
pub fn width(text: &str) -> u16 {
    clamped(text.width())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Screen;

    fn spans(bytes: &str) -> Vec<SnapshotStyle> {
        let mut screen = Screen::new(40, 2);
        screen.feed(bytes.as_bytes());
        SnapshotStyle::of_row(3, &screen.row_runs(0))
    }

    #[test]
    fn a_span_is_a_line_and_comes_back() {
        let found = spans(
            "plain \x1b[1;31mE漢\"\x1b[m \x1b[4:3;58:5:200;48;5;100mx\x1b[m\x1b[94;48;2;1;2;3m \
             \x1b]8;;http://a/\x07l",
        );
        let lines: Vec<String> = found.iter().map(SnapshotStyle::encode).collect();
        assert_eq!(
            lines,
            [
                "3:7-10 bold fg=red \"E漢\\\"\"",
                "3:12 underline=curly bg=100 underline-color=200 \"x\"",
                "3:13 fg=bright-blue bg=#010203 \"\"",
                "3:14 fg=bright-blue bg=#010203 link=http://a/ \"l\"",
            ]
        );
        let read: Vec<SnapshotStyle> = lines.iter().map(|line| SnapshotStyle::parse(line).unwrap()).collect();
        assert_eq!(read, found);
        for bad in
            ["", "3:7", "0:1 bold \"x\"", "3:9-2 bold \"x\"", "3:1 \"x\"", "3:1 bold \"x", "a:b bold \"x\""]
        {
            assert_eq!(SnapshotStyle::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn styles_differ_in_words() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (expected, actual, want) in [
            ("fg=green", "fg=red", "fg red, was green"),
            ("", "bold fg=red", "bold, was not; fg red, was default"),
            ("dim bg=1", "", "not dim, was dim; bg default, was 1"),
        ] {
            assert_eq!(difference(&words(expected), &words(actual)), want);
        }
    }
}
