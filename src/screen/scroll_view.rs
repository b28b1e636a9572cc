//! A window that is scrolled back: lines of the scrollback, and the first rows of the screen below them.

use std::collections::VecDeque;

use crate::screen::Screen;
use crate::screen::modes::TerminalMode;

impl Screen {
    /// How many lines a window can be scrolled back. The alternate screen has no scrollback.
    pub fn lines_above(&self) -> usize {
        if self.alternate() { 0 } else { self.history_len() }
    }

    /// A screen with the content of a window that is scrolled back by `lines` lines, or as far as possible.
    /// It has no scrollback of its own, and the cursor is hidden if it is below the window.
    pub fn scroll_view(&self, lines: usize) -> Screen {
        let lines = lines.min(self.lines_above());
        let (cols, rows) = self.size();
        let mut view = Screen::new(cols, rows);
        view.terminal = self.terminal.clone();
        let display = &mut view.terminal.display;
        let history = std::mem::take(&mut display.buffers.history);
        let grid = &mut display.buffers.active.grid;
        let first = self.history_len() - lines;
        let above = (first..self.history_len()).filter_map(|line| history.line(line));
        let shown: VecDeque<_> =
            above.map(|line| line.row(usize::from(cols))).chain(grid.rows().iter().cloned()).collect();
        grid.replace(usize::from(cols), usize::from(rows), shown.into_iter().take(usize::from(rows)));
        display.position.cursor.row += lines;
        if display.position.cursor.row >= usize::from(rows) {
            display.position.cursor.row = usize::from(rows) - 1;
            display.modes.set(TerminalMode::CursorVisible, false);
        }
        view
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen() -> Screen {
        let mut screen = Screen::with_history(6, 3, 50);
        screen.feed("1\r\n2\r\n\x1b[31m漢3\x1b[m\r\n4\r\n5\r\n>".as_bytes());
        screen
    }

    #[test]
    fn lines_of_the_history_stand_above_the_first_rows() {
        let screen = screen();
        assert_eq!(screen.lines_above(), 3);
        assert_eq!(screen.scroll_view(0).lines(), ["4", "5", ">"]);
        assert_eq!(screen.scroll_view(1).lines(), ["漢3", "4", "5"]);
        assert_eq!(screen.scroll_view(3).lines(), ["1", "2", "漢3"]);
        assert_eq!(screen.scroll_view(99).lines(), ["1", "2", "漢3"], "not beyond the oldest");
        assert_eq!(screen.scroll_view(1).row_runs(0), screen.history_row_runs(2), "in its style");
        assert_eq!(screen.scroll_view(2).history_len(), 0);
    }

    #[test]
    fn the_cursor_goes_below_the_window() {
        let mut screen = screen();
        screen.feed(b"\x1b[H");
        let cursor = |lines| {
            let cursor = screen.scroll_view(lines).cursor();
            (cursor.visible, cursor.row)
        };
        assert_eq!((cursor(0), cursor(2)), ((true, 0), (true, 2)));
        assert!(!cursor(3).0);
    }

    #[test]
    fn the_alternate_screen_has_nothing_above() {
        let mut screen = screen();
        screen.feed(b"\x1b[?1049h\x1b[Halt");
        assert_eq!(screen.lines_above(), 0);
        assert_eq!(screen.scroll_view(3).lines(), ["alt", "", ""]);
    }
}
