//! Reading the picture: rows as text, and as runs of one style.

use super::Screen;
use super::row::Row;
use super::style::Style;

/// Neighbouring cells of one look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The text, blanks included.
    pub text: String,
    /// The look of all of it.
    pub style: Style,
}

impl Screen {
    /// The visible rows as text, blanks at their ends left out. Always as many as the screen has rows.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.terminal.page.grid.rows().iter().map(line).collect()
    }

    /// One visible row, 0-based, as runs from the left. Unstyled blanks at the end are left out; a row that does not exist
    /// has no runs.
    #[must_use]
    pub fn row_runs(&self, row: u16) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let Some(row) = self.terminal.page.grid.rows().get(usize::from(row)) else {
            return runs;
        };
        let mut look = None;
        for (col, cell) in row.written().iter().enumerate().filter(|(_, cell)| !cell.is_spacer()) {
            if look != Some(cell.look()) {
                look = Some(cell.look());
                runs.push(Run { text: String::new(), style: cell.look().style() });
            }
            if let Some(run) = runs.last_mut() {
                row.push_text(col, &mut run.text);
            }
        }
        runs
    }
}

fn line(row: &Row) -> String {
    let cells = row.written().len();
    let mut text = String::with_capacity(cells);
    (0..cells).for_each(|col| row.push_text(col, &mut text));
    text.truncate(text.trim_end_matches(' ').len());
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Attr, Color};
    use super::*;

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
    fn only_blanks_at_the_end_are_left_out() {
        let mut screen = Screen::new(8, 2);
        screen.feed("  a\u{a0}  \r\n\x1b[7m  ".as_bytes());
        assert_eq!(screen.lines(), ["  a\u{a0}", ""]);
        assert_eq!(screen.row_runs(1)[0].text, "  ");
    }
}
