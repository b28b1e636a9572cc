//! Lines of a report with colours, and the only place where text is made harmless for a terminal or a log.

use std::borrow::Cow;

use crate::core::text::visible::visible;
use crate::core::text::word_wrap::wrap_words;

/// The look of a piece of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Bold,
    Dim,
    /// Good, or actual content.
    Green,
    /// Bad, or expected content.
    Red,
    Yellow,
    /// Cells of an expected row that differ.
    RedCells,
    /// Cells of an actual row that differ.
    GreenCells,
}

impl Ink {
    fn sgr(self) -> &'static str {
        match self {
            Ink::Plain => "",
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Green => "32",
            Ink::Red => "31",
            Ink::Yellow => "33",
            Ink::RedCells => "31;7",
            Ink::GreenCells => "32;7",
        }
    }
}

/// A line in pieces. Hidden characters are escaped when a piece is added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InkLine {
    pieces: Vec<(Ink, String)>,
    /// Indentation of continuation lines, in columns. `None` for what must stay whole: rows, paths, commands.
    hanging: Option<usize>,
}

impl InkLine {
    /// A line of one piece.
    pub fn new(ink: Ink, text: &str) -> InkLine {
        InkLine::default().with(ink, text)
    }

    /// Adds a piece.
    pub fn with(mut self, ink: Ink, text: &str) -> InkLine {
        self.pieces.push((ink, safe(text)));
        self
    }

    /// Makes the line a sentence: wrapped between words if the terminal is too narrow, with continuation
    /// lines indented by `indent` columns.
    pub fn hanging(mut self, indent: usize) -> InkLine {
        self.hanging = Some(indent);
        self
    }

    /// The line with or without SGR sequences, for a terminal of `cols` columns.
    pub fn written(&self, colors: bool, cols: Option<usize>) -> String {
        let text = if colors { self.colored() } else { self.plain() };
        match (self.hanging, cols) {
            (Some(indent), Some(cols)) => wrap_words(&text, indent, cols),
            _ => text,
        }
    }

    /// The text alone, without blanks at its end.
    pub fn plain(&self) -> String {
        let text: String = self.pieces.iter().map(|(_, text)| text.as_str()).collect();
        text.trim_end().to_owned()
    }

    /// The line with SGR sequences.
    pub fn colored(&self) -> String {
        let mut out = String::new();
        for (ink, text) in &self.pieces {
            match ink.sgr() {
                "" => out.push_str(text),
                sgr => out.push_str(&format!("\x1b[{sgr}m{text}\x1b[m")),
            }
        }
        out
    }
}

/// A text of one line without hidden characters, and without the two that neither XML nor YAML allows.
pub fn safe(text: &str) -> String {
    let text = visible(text);
    if text.contains(['\u{fffe}', '\u{ffff}']) {
        return text.replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}");
    }
    text
}

/// A line for a log that interprets `::error` at the start and `##[` anywhere.
pub fn without_commands(line: &str) -> Cow<'_, str> {
    let begins = line.trim_start();
    let begins = begins.trim_start_matches(|c: char| c.is_whitespace());
    if !begins.starts_with("::") && !line.contains("##[") {
        return Cow::Borrowed(line);
    }
    let blanks = &line[..line.len() - begins.len()];
    let begins = begins.strip_prefix("::").map_or(Cow::Borrowed(begins), |rest| format!(": :{rest}").into());
    Cow::Owned(format!("{blanks}{}", begins.replace("##[", "# #[")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_harmless_with_and_without_colours() {
        let line = InkLine::new(Ink::Red, "a\x1b[2Jb").with(Ink::Plain, "\u{202e}c\n");
        assert_eq!(line.plain(), "a\\u{1b}[2Jb\\u{202e}c\\u{a}");
        assert_eq!(line.colored(), "\x1b[31ma\\u{1b}[2Jb\x1b[m\\u{202e}c\\u{a}");
    }

    #[test]
    fn a_log_is_given_no_commands() {
        for (line, want) in [
            ("  ::set-env name=x::y", "  : :set-env name=x::y"),
            ("a ##[error]b", "a # #[error]b"),
            ("a::b", "a::b"),
        ] {
            assert_eq!(without_commands(line), want);
        }
    }
}
