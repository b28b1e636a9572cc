//! Checks of how a text on the screen looks.

use std::ops::Range;
use std::panic::Location;

use unicode_width::UnicodeWidthStr;

use super::{Terminal, TestResult};
use crate::screen::{Attr, Screen, Style, Underline};
use crate::testing::outcome::FailureKind;
use crate::testing::snapshot::style_span::{color_word, style_words};

/// A text on the screen whose style is checked, one property after the other.
pub struct StyleCheck<'a> {
    terminal: &'a mut Terminal,
    text: String,
    place: (u16, Range<u16>),
    styles: Vec<Style>,
    at: &'static Location<'static>,
}

impl<'a> StyleCheck<'a> {
    /// The first row that has the text, its columns, and the styles in them.
    pub(super) fn find(screen: &Screen, text: &str) -> Option<(u16, Range<u16>, Vec<Style>)> {
        let (row, line) = (0u16..).zip(screen.lines()).find(|(_, line)| line.contains(text))?;
        let from = u16::try_from(line[..line.find(text)?].width()).ok()?;
        let to = from + u16::try_from(text.width()).ok()?;
        let mut styles: Vec<Style> = Vec::new();
        for run in screen.row_part(row, from..to) {
            if !styles.contains(&run.style) {
                styles.push(run.style);
            }
        }
        Some((row, from..to, styles))
    }

    pub(super) fn new(
        terminal: &'a mut Terminal,
        text: String,
        place: (u16, Range<u16>),
        styles: Vec<Style>,
        at: &'static Location<'static>,
    ) -> StyleCheck<'a> {
        StyleCheck { terminal, text, place, styles, at }
    }

    /// The text is of this colour: a name like `red` or `bright-red`, a number, `#rrggbb` or `default`.
    ///
    /// # Errors
    /// When a cell of it has another colour.
    pub fn fg(self, color: &str) -> TestResult<Self> {
        self.check(&format!("fg={color}"), |style| color_of(style.fg) == color)
    }

    /// The background of the text is of this colour.
    ///
    /// # Errors
    /// When a cell of it has another background.
    pub fn bg(self, color: &str) -> TestResult<Self> {
        self.check(&format!("bg={color}"), |style| color_of(style.bg) == color)
    }

    /// The text is bold.
    ///
    /// # Errors
    /// When a cell of it is not.
    pub fn bold(self) -> TestResult<Self> {
        self.attr(Attr::Bold)
    }

    /// The text is underlined, in any form.
    ///
    /// # Errors
    /// When a cell of it is not.
    pub fn underline(self) -> TestResult<Self> {
        self.check("underline", |style| style.underline != Underline::None)
    }

    /// The text has this attribute.
    ///
    /// # Errors
    /// When a cell of it does not.
    pub fn attr(self, attr: Attr) -> TestResult<Self> {
        self.check(attr.name(), |style| style.has(attr))
    }

    /// The text does not have this attribute.
    ///
    /// # Errors
    /// When a cell of it does.
    pub fn not(self, attr: Attr) -> TestResult<Self> {
        self.check(&format!("!{}", attr.name()), |style| !style.has(attr))
    }

    fn check(self, what: &str, holds: impl Fn(&Style) -> bool) -> TestResult<Self> {
        let Some(other) = self.styles.iter().find(|style| !holds(style)) else { return Ok(self) };
        let words = style_words(other);
        let found = if words.is_empty() { "no style".to_owned() } else { words.join(" ") };
        let (row, cols) = &self.place;
        let message =
            format!("{:?} on row {}, {}-{} has {found}", self.text, row + 1, cols.start + 1, cols.end);
        let command = format!("style {:?} {what}", self.text);
        Err(self.terminal.failure(FailureKind::Check, &command, message, self.at))
    }
}

fn color_of(color: crate::screen::Color) -> String {
    color_word(color).unwrap_or_else(|| "default".to_owned())
}
