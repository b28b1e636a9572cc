//! The preview of the selected session: its screen, parsed by hopty's own screen model, as styled lines.
//! Pure.

use std::sync::LazyLock;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::session_row::clean;
use crate::core::claude::screen_reading::ScreenRuleSet;
use crate::core::ids::SessionName;
use crate::screen::{self, Attr, Screen, Underline};

/// The rules for Claude's dialogs; other programs have none.
static RULES: LazyLock<Option<ScreenRuleSet>> = LazyLock::new(|| ScreenRuleSet::builtin().ok());

#[derive(Debug, Default)]
pub enum Preview {
    #[default]
    None,
    Shown {
        of: SessionName,
        screen: Box<Screen>,
        /// Whether the host's screen model has failed.
        degraded: bool,
        /// The number of answers in its dialog; 0 without a dialog, or if its answers have no numbers.
        options: u8,
    },
    /// Why the screen is missing.
    Missing(String),
}

impl Preview {
    /// Parses a screen as a host sends it: its size in cells, and the bytes that draw it on a fresh
    /// terminal of that size.
    pub fn read(of: &SessionName, size: (u16, u16), dump: &str, degraded: bool) -> Preview {
        let mut screen = Screen::new(size.0, size.1);
        screen.feed(dump.as_bytes());
        let options = RULES.as_ref().map_or(0, |rules| rules.options(&screen.lines()));
        Preview::Shown { of: of.clone(), screen: Box::new(screen), degraded, options }
    }

    /// The number of answers in the dialog on a session's screen, if that is the one shown.
    pub fn options(&self, name: &SessionName) -> Option<u8> {
        match self {
            Preview::Shown { of, options, .. } if of == name && *options > 0 => Some(*options),
            _ => None,
        }
    }

    /// The last lines that are not empty, at most `height` of them, including the cursor and the first answer
    /// of a dialog. Empty without a screen.
    pub fn lines(&self, height: u16) -> Vec<Line<'static>> {
        let Preview::Shown { screen, options, .. } = self else { return Vec::new() };
        let rows: Vec<Vec<screen::StyledRun>> =
            (0..screen.size().1).map(|row| screen.row_runs(row)).collect();
        let cursor = screen.cursor();
        let mut end = rows.iter().rposition(|runs| !runs.is_empty()).map_or(0, |last| last + 1);
        if cursor.visible {
            end = end.max(usize::from(cursor.row) + 1);
        }
        let mut begin = end.saturating_sub(usize::from(height));
        if cursor.visible {
            begin = begin.min(usize::from(cursor.row));
        }
        if let Some(rules) = RULES.as_ref().filter(|_| *options > 0) {
            begin = begin.min(rules.first_option(&screen.lines()).unwrap_or(begin));
        }
        rows.into_iter().skip(begin).take(usize::from(height).min(end - begin)).map(line).collect()
    }
}

fn line(runs: Vec<screen::StyledRun>) -> Line<'static> {
    runs.into_iter().map(|run| Span::styled(clean(&run.text), style(&run.style))).collect()
}

fn style(of: &screen::Style) -> Style {
    let mut style = Style::new();
    if let Some(fg) = color(of.fg) {
        style = style.fg(fg);
    }
    if let Some(bg) = color(of.bg) {
        style = style.bg(bg);
    }
    let modifiers = [
        (of.has(Attr::Bold), Modifier::BOLD),
        (of.has(Attr::Dim), Modifier::DIM),
        (of.has(Attr::Italic), Modifier::ITALIC),
        (of.has(Attr::Reverse), Modifier::REVERSED),
        (of.has(Attr::Hidden), Modifier::HIDDEN),
        (of.has(Attr::Strike), Modifier::CROSSED_OUT),
        (of.underline != Underline::None, Modifier::UNDERLINED),
    ];
    modifiers
        .into_iter()
        .filter(|(on, _)| *on)
        .fold(style, |style, (_, modifier)| style.add_modifier(modifier))
}

fn color(of: screen::Color) -> Option<Color> {
    match of {
        screen::Color::Default => None,
        screen::Color::Indexed(index) => Some(Color::Indexed(index)),
        screen::Color::Rgb(r, g, b) => Some(Color::Rgb(r, g, b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preview(dump: &str) -> Preview {
        Preview::read(&"a".parse().unwrap(), (20, 6), dump, false)
    }

    fn texts(preview: &Preview, height: u16) -> Vec<String> {
        preview
            .lines(height)
            .iter()
            .map(|line| line.spans.iter().map(|span| span.content.as_ref()).collect())
            .collect()
    }

    #[test]
    fn the_lines_around_the_end_and_the_cursor_are_shown() {
        let all = preview("one\r\ntwo\r\nthree");
        assert_eq!(texts(&all, 10), ["one", "two", "three"]);
        assert_eq!(texts(&all, 2), ["two", "three"]);
        assert_eq!(
            texts(&preview("one\r\n\n\n\nfive\x1b[H"), 2),
            ["one", ""],
            "the cursor is more than the end"
        );
        assert_eq!(texts(&preview("one\r\n\n\n\nfive\x1b[H\x1b[?25l"), 2), ["", "five"]);
        assert_eq!(texts(&preview(""), 3), [""]);
        assert!(texts(&Preview::None, 3).is_empty() && texts(&all, 0).is_empty());
    }

    #[test]
    fn the_first_answer_of_a_dialog_is_shown_whichever_is_selected() {
        let dialog =
            "Which?\r\n  1. Postgres\r\n     Server\r\n\u{276f} 2. SQLite\r\n     File\r\nEnter\x1b[?25l";
        assert_eq!(texts(&preview(dialog), 3), ["  1. Postgres", "     Server", "\u{276f} 2. SQLite"]);
    }

    #[test]
    fn styles_are_kept() {
        let shown = preview("\x1b[1;31mred\x1b[0;48;2;1;2;3;4mdeep").lines(1);
        assert_eq!(shown[0].spans[0].style, Style::new().fg(Color::Indexed(1)).add_modifier(Modifier::BOLD));
        assert_eq!(
            shown[0].spans[1].style,
            Style::new().bg(Color::Rgb(1, 2, 3)).add_modifier(Modifier::UNDERLINED)
        );
    }

    #[test]
    fn a_dump_of_any_size_is_taken() {
        let huge = Preview::read(&"a".parse().unwrap(), (u16::MAX, u16::MAX), "x", true);
        assert!(huge.lines(5).len() <= 5);
        let tiny = Preview::read(&"a".parse().unwrap(), (0, 0), "\x1b[999;999Hx", true);
        assert_eq!(tiny.lines(5).len(), 1);
    }
}
