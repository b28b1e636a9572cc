//! The scrollback: lines that have left the primary screen at the top, of which the oldest is dropped if
//! there are too many.
//!
//! It takes no memory while it is empty. The terminal decides which lines get here; `reflow.rs` rewraps them
//! for another width.

use std::collections::VecDeque;

use super::history_line::{HistoryLine, LineBuilder, LineEnd};
use super::row::GridRow;
use super::runs::StyledRun;
use crate::screen::Screen;

/// How many bytes the scrollback may take per line of its limit. Few lines have as much, so this limits only
/// wide lines with a style for each cell.
const LINE_BYTES: usize = 4096;

/// The lines above the primary screen.
#[derive(Clone, Debug, Default)]
pub struct History {
    lines: VecDeque<HistoryLine>,
    /// The most lines.
    limit: usize,
    /// The memory of the lines, in bytes.
    bytes: usize,
    /// How many lines have left the screen, kept or not.
    total: u64,
    draft: LineBuilder,
}

/// Equal if the same lines are kept.
impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        self.lines == other.lines && self.limit == other.limit
    }
}

impl History {
    /// The most lines that are kept.
    pub fn limit(&self) -> usize {
        self.limit
    }

    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.trim(limit);
        self.lines.shrink_to(limit);
    }

    /// Takes a row that leaves the screen.
    pub fn push(&mut self, row: &GridRow) {
        self.total += 1;
        if self.limit == 0 {
            return;
        }
        let end = self.draft.push_row(row, 0);
        let line = self.draft.finish(end);
        self.keep(line);
    }

    /// Takes a line that was not on the screen.
    pub fn push_line(&mut self, line: HistoryLine) {
        self.total += 1;
        self.keep(line);
    }

    fn keep(&mut self, line: HistoryLine) {
        self.bytes += line.size();
        self.lines.push_back(line);
        self.trim(self.limit);
        if self.lines.capacity() > 4 * self.limit.max(16) {
            self.lines.shrink_to(self.limit);
        }
    }

    /// Counts lines that were skipped because they would not be kept.
    pub fn skip(&mut self, lines: usize) {
        self.total += lines as u64;
    }

    pub fn clear(&mut self) {
        self.lines = VecDeque::new();
        self.draft = LineBuilder::default();
        self.bytes = 0;
    }

    /// Takes all lines, to rewrap them.
    pub fn take_lines(&mut self) -> VecDeque<HistoryLine> {
        std::mem::take(&mut self.lines)
    }

    /// Puts rewrapped lines back, with the index of the screen's first line, before and after.
    ///
    /// A narrow screen can make more lines of them than the limit. The surplus is hidden, but kept until the
    /// next line arrives: a window that is dragged smaller and larger again loses nothing.
    pub fn put_lines(&mut self, lines: VecDeque<HistoryLine>, old_top: usize, new_top: usize) {
        self.total = (self.total + new_top as u64).saturating_sub(old_top as u64);
        if self.limit > 0 {
            self.lines = lines;
            self.bytes = self.lines.iter().map(HistoryLine::size).sum();
            self.trim(usize::MAX);
        }
    }

    /// How many lines are visible as scrollback.
    pub fn len(&self) -> usize {
        self.lines.len() - self.surplus()
    }

    /// All lines, including hidden ones.
    pub fn lines(&self) -> impl Iterator<Item = &HistoryLine> {
        self.lines.iter()
    }

    /// All lines, to give them other styles.
    pub fn lines_mut(&mut self) -> impl Iterator<Item = &mut HistoryLine> {
        self.lines.iter_mut()
    }

    /// How many of the oldest lines are above the limit.
    fn surplus(&self) -> usize {
        self.lines.len().saturating_sub(self.limit)
    }

    /// A line that is not hidden.
    pub fn line(&self, at: usize) -> Option<&HistoryLine> {
        self.lines.get(self.surplus() + at)
    }

    fn trim(&mut self, limit: usize) {
        while self.lines.len() > limit || self.bytes > self.limit.saturating_mul(LINE_BYTES) {
            let Some(line) = self.lines.pop_front() else { return };
            self.bytes -= line.size();
        }
    }
}

impl Screen {
    /// A fresh screen with up to `lines` lines of scrollback. Each side is clamped as in [`Screen::new`],
    /// which has no scrollback.
    #[must_use]
    pub fn with_history(cols: u16, rows: u16, lines: usize) -> Self {
        let mut screen = Self::new(cols, rows);
        screen.set_history_limit(lines);
        screen
    }

    /// How many lines of scrollback are kept from now on; drops the oldest ones above that.
    pub fn set_history_limit(&mut self, lines: usize) {
        self.terminal.display.buffers.history.set_limit(lines);
    }

    /// How many lines of scrollback there are: at most the limit, and fewer if they take more than 4 KiB
    /// each.
    pub fn history_len(&self) -> usize {
        self.terminal.display.buffers.history.len()
    }

    /// One line of history, 0 = the oldest, as runs from the left. Unstyled blanks at the end are left out,
    /// unless the line wraps into the next one; a line that does not exist has no runs.
    pub fn history_row_runs(&self, line: usize) -> Vec<StyledRun> {
        self.terminal
            .display
            .buffers
            .history
            .line(line)
            .map(|line| line.runs(&self.terminal.display.links))
            .unwrap_or_default()
    }

    /// Whether a line of scrollback wraps into the next one, or the last one into the first row of the
    /// primary screen: it reached the right edge (autowrap) and was not ended by a line feed.
    pub fn history_row_wrapped(&self, line: usize) -> bool {
        self.terminal.display.buffers.history.line(line).is_some_and(|line| line.end != LineEnd::Break)
    }

    /// Whether a row of the visible screen wraps into the next row. The blanks at its end, which
    /// [`Screen::row_runs`] leaves out, are text then.
    pub fn row_wrapped(&self, row: u16) -> bool {
        self.terminal.display.buffers.active.grid.rows().get(usize::from(row)).is_some_and(|row| row.wrapped)
    }

    /// How many lines have ever left the primary screen at the top, kept or not: its increase is the number
    /// of new lines at the end of the scrollback. Lines that return because the screen becomes taller are
    /// subtracted.
    pub fn history_total(&self) -> u64 {
        self.terminal.display.buffers.history.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(screen: &Screen) -> Vec<String> {
        (0..screen.history_len())
            .map(|at| screen.history_row_runs(at).iter().map(|run| run.text.as_str()).collect())
            .collect()
    }

    fn screen(limit: usize, bytes: &str) -> Screen {
        let mut screen = Screen::with_history(4, 2, limit);
        screen.feed(bytes.as_bytes());
        screen
    }

    #[test]
    fn what_leaves_at_the_top_is_kept_up_to_the_limit() {
        let screen = screen(3, "a\r\nb\r\nc\r\nd\r\ne\r\nf\r\ng");
        assert_eq!(
            (history(&screen), screen.lines()),
            (["c", "d", "e"].map(str::to_owned).to_vec(), vec!["f".into(), "g".into()])
        );
        assert_eq!(screen.history_total(), 5);
        assert_eq!(Screen::new(4, 2).history_len(), 0);
    }

    #[test]
    fn a_line_that_ran_over_is_known_as_such() {
        let screen = screen(9, "abcdefgh\r\nabc漢\r\n\r\n");
        assert_eq!(history(&screen), ["abcd", "efgh", "abc", "漢"]);
        let wrapped: Vec<bool> = (0..4).map(|at| screen.history_row_wrapped(at)).collect();
        assert_eq!(wrapped, [true, false, true, false]);
        let shown = Screen::with_history(4, 2, 9);
        assert!(!shown.row_wrapped(0) && !shown.row_wrapped(9));
    }

    #[test]
    fn only_what_leaves_the_primary_screen_at_the_top_is_kept() {
        assert_eq!(history(&screen(9, "a\r\nb\x1b[?1049h1\r\n2\r\n3\r\n4\x1b[?1049l\r\nc")), ["a"]);
        assert_eq!(history(&screen(9, "a\r\nb\x1b[2S")), ["a", "b"]);
        assert!(history(&screen(9, "a\r\nb\x1b[2J\x1b[H\x1bM\x1b[L")).is_empty());
        let mut lower = Screen::with_history(4, 3, 9);
        lower.feed(b"a\r\nb\r\nc\x1b[2;3r\x1b[3H\n\n");
        assert_eq!(lower.history_len(), 0);
        lower.feed(b"\x1b[1;2r\x1b[2H\n");
        assert_eq!(history(&lower), ["a"]);
    }

    #[test]
    fn looks_and_marks_are_kept() {
        let screen = screen(9, "a\x1b[31me\u{301}\x1b[m漢\r\n\x1b[41m\x1b[K\x1b[m\r\n\r\n");
        let runs = screen.history_row_runs(0);
        assert_eq!(runs.iter().map(|run| run.text.as_str()).collect::<Vec<_>>(), ["a", "e\u{301}", "漢"]);
        assert_eq!(runs[1].style.fg, crate::screen::Color::Indexed(1));
        assert_eq!(screen.history_row_runs(1)[0].text, "    ");
    }

    #[test]
    fn it_is_cleared_by_ed_3_and_by_a_full_reset() {
        for clear in ["\x1b[3J", "\x1bc"] {
            let screen = screen(9, &format!("a\r\nb\r\nc{clear}"));
            assert_eq!((screen.history_len(), screen.history_total()), (0, 1));
        }
        let mut again = screen(1, "a\r\nb\r\nc\x1bcx\r\ny\r\nz");
        assert_eq!(history(&again), ["x"]);
        again.set_history_limit(0);
        assert_eq!(again.history_len(), 0);
    }
}
