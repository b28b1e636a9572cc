//! Reads the picture: rows as text, and as runs with one style.

use std::borrow::Cow;
use std::ops::Range;

use super::cell::GridCell;
use super::hyperlinks::{CLOSING, Hyperlink, Hyperlinks};
use super::packed_style::PackedStyle;
use super::row::GridRow;
use super::style::Style;
use crate::screen::Screen;

/// Adjacent cells with one style and one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyledRun {
    /// The text, including blanks.
    pub text: String,
    pub style: Style,
    /// Its link. The links of a row are limited to 16 KiB; further ones are dropped.
    pub link: Option<Hyperlink>,
}

/// The most bytes of links in a row: a long link for every cell would make a picture much larger than the
/// screen.
const ROW_LINKS_MAX: usize = 16 * 1024;

/// Runs under construction.
pub struct RunBuilder<'a> {
    runs: Vec<StyledRun>,
    links: &'a Hyperlinks,
    style: Option<PackedStyle>,
    /// How many bytes of links are left.
    left: usize,
}

impl<'a> RunBuilder<'a> {
    pub fn new(links: &'a Hyperlinks) -> Self {
        Self { runs: Vec::new(), links, style: None, left: ROW_LINKS_MAX }
    }

    /// The text of the run to which this style is appended.
    pub fn text(&mut self, style: PackedStyle) -> &mut String {
        if self.style != Some(style) || self.runs.is_empty() {
            self.style = Some(style);
            let link = self.links.get(style.link());
            let kept = link.filter(|link| link.len() <= self.left).cloned();
            self.left = match (&kept, link) {
                (Some(link), _) => self.left - link.len(),
                (None, Some(_)) => 0,
                (None, None) => self.left,
            };
            let run = StyledRun { text: String::new(), style: style.unpack(), link: kept };
            if self.runs.last().is_none_or(|last| last.style != run.style || last.link != run.link) {
                self.runs.push(run);
            }
        }
        let last = self.runs.len() - 1;
        &mut self.runs[last].text
    }

    pub fn finish(self) -> Vec<StyledRun> {
        self.runs
    }
}

impl StyledRun {
    /// The text for a terminal that already has this pen, with the sequences of its link.
    pub fn linked_text(&self) -> Cow<'_, str> {
        match &self.link {
            Some(link) => Cow::Owned(format!("{}{}{CLOSING}", link.opening(), self.text)),
            None => Cow::Borrowed(&self.text),
        }
    }
}

impl Screen {
    /// The visible rows as text, without blanks at their ends; as many as the screen has rows.
    pub fn lines(&self) -> Vec<String> {
        self.terminal.display.buffers.active.grid.rows().iter().map(line).collect()
    }

    /// One visible row, 0-based, as runs from the left. Unstyled blanks at the end are left out; a row that
    /// does not exist has no runs.
    pub fn row_runs(&self, row: u16) -> Vec<StyledRun> {
        self.row_part(row, 0..u16::MAX)
    }

    /// These columns of a visible row, 0-based, like [`Screen::row_runs`]. A wide character that is cut
    /// becomes a blank.
    pub fn row_part(&self, row: u16, cols: Range<u16>) -> Vec<StyledRun> {
        let mut runs = RunBuilder::new(&self.terminal.display.links);
        let Some(row) = self.terminal.display.buffers.active.grid.rows().get(usize::from(row)) else {
            return Vec::new();
        };
        let (from, to) = (usize::from(cols.start), usize::from(cols.end));
        let written = row.written();
        let part = &written[from.min(written.len())..to.min(written.len())];
        let blank_end = part.iter().rposition(|cell| *cell != GridCell::BLANK).map_or(0, |last| last + 1);
        for (col, cell) in part[..blank_end].iter().enumerate().map(|(n, cell)| (from + n, cell)) {
            let cut = (cell.is_spacer() && col == from) || (cell.is_wide() && col + 1 == to);
            if cell.is_spacer() && !cut {
                continue;
            }
            let text = runs.text(cell.style());
            if cut {
                text.push(' ');
            } else {
                row.push_text(col, text);
            }
        }
        runs.finish()
    }
}

fn line(row: &GridRow) -> String {
    let cells = row.written().len();
    let mut text = String::with_capacity(cells);
    (0..cells).for_each(|col| row.push_text(col, &mut text));
    text.truncate(text.trim_end_matches(' ').len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{Attr, Color};

    #[test]
    fn rows_become_runs_of_one_style() {
        let mut screen = Screen::new(12, 2);
        screen.feed("ab \x1b[1;31mc漢\x1b[m d".as_bytes());
        let runs = screen.row_runs(0);
        let texts: Vec<_> = runs.iter().map(|run| run.text.as_str()).collect();
        assert_eq!(texts, ["ab ", "c漢", " d"]);
        assert_eq!(runs[1].style.fg, Color::Indexed(1));
        assert!(runs[1].style.has(Attr::Bold));
        assert_eq!(runs[2].style, Style::default());
        assert!(screen.row_runs(1).is_empty() && screen.row_runs(9).is_empty());
    }

    #[test]
    fn a_part_of_a_row_cuts_wide_characters() {
        let mut screen = Screen::new(12, 1);
        screen.feed("a漢b\x1b[1m字\x1b[mc  ".as_bytes());
        let part = |cols| screen.row_part(0, cols).into_iter().map(|run| run.text).collect::<Vec<_>>();
        assert_eq!(part(0..3), ["a漢"]);
        assert_eq!(part(0..2), ["a "]);
        assert_eq!(part(2..6), [" b", "字"]);
        assert_eq!(part(3..5), ["b", " "]);
        assert_eq!(part(6..12), ["c"]);
        assert!(part(7..12).is_empty() && part(20..30).is_empty());
        assert_eq!(screen.row_part(0, 0..12), screen.row_runs(0));
    }

    #[test]
    fn only_blanks_at_the_end_are_left_out() {
        let mut screen = Screen::new(8, 2);
        screen.feed("  a\u{a0}  \r\n\x1b[7m  ".as_bytes());
        assert_eq!(screen.lines(), ["  a\u{a0}", ""]);
        assert_eq!(screen.row_runs(1)[0].text, "  ");
    }
}
