//! The two screen buffers, which of them is visible, and the history above the primary one.

use crate::screen::cursor::{CursorState, Margins};
use crate::screen::grid::{Grid, GridRow, History, LineBuilder, LineCutter, LinePosition, PackedStyle};
use crate::screen::modes::{AlternateScreen, KittyKeyboard};
use crate::screen::window::PointerStack;

/// One of the two screens, with its own state.
#[derive(Clone, Debug, Default)]
pub struct ScreenBuffer {
    pub grid: Grid,
    /// What DECSC saved.
    pub saved_cursor: CursorState,
    /// The kitty keyboard flags.
    pub keyboard: KittyKeyboard,
    /// The mouse pointer's shape.
    pub pointer: PointerStack,
}

/// A screen that was never shown equals a blank one.
impl PartialEq for ScreenBuffer {
    fn eq(&self, other: &Self) -> bool {
        let same_rows = match (self.grid.is_unused(), other.grid.is_unused()) {
            (true, false) => other.grid.is_blank(),
            (false, true) => self.grid.is_blank(),
            _ => self.grid == other.grid,
        };
        same_rows
            && self.saved_cursor == other.saved_cursor
            && self.keyboard == other.keyboard
            && self.pointer == other.pointer
    }
}

/// Both screens, and the scrollback.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenBuffers {
    pub active: ScreenBuffer,
    pub inactive: ScreenBuffer,
    /// How the alternate screen was entered; `None` while the primary one is shown.
    pub alternate: Option<AlternateScreen>,
    /// The lines that have left the primary screen at the top.
    pub history: History,
}

impl ScreenBuffers {
    /// Shows the primary screen, with these rows.
    pub fn new(grid: Grid) -> Self {
        let active = ScreenBuffer { grid, ..ScreenBuffer::default() };
        Self { active, inactive: ScreenBuffer::default(), alternate: None, history: History::default() }
    }

    /// The buffer of the alternate screen or of the primary one.
    pub fn buffer(&self, alternate: bool) -> &ScreenBuffer {
        if alternate == self.alternate.is_some() { &self.active } else { &self.inactive }
    }

    pub fn swap(&mut self, cols: usize, rows: usize) {
        std::mem::swap(&mut self.active, &mut self.inactive);
        if self.active.grid.is_unused() {
            self.active.grid.resize(cols, rows);
        }
    }

    /// Scrolls the area between margins up, on a screen with this many columns. Only whole rows go to the
    /// history.
    #[inline]
    pub fn scroll_up(&mut self, margins: Margins, cols: usize, count: usize, blank: PackedStyle) {
        if margins.are_narrow(cols) {
            return self.active.grid.scroll_part_up(&margins.area(), count, blank);
        }
        if margins.top == 0 && self.alternate.is_none() {
            let leaving = count.min(margins.bottom + 1);
            self.active.grid.rows().range(..leaving).for_each(|row| self.history.push(row));
        }
        self.active.grid.scroll_up(margins.top, margins.bottom, count, blank);
    }

    /// Scrolls the area between margins down.
    pub fn scroll_down(&mut self, margins: Margins, cols: usize, count: usize, blank: PackedStyle) {
        if margins.are_narrow(cols) {
            return self.active.grid.scroll_part_down(&margins.area(), count, blank);
        }
        self.active.grid.scroll_down(margins.top, margins.bottom, count, blank);
        // The row into which it wrapped has left.
        self.active.grid.row_mut(margins.bottom).into_iter().for_each(|row| row.wrapped = false);
    }

    /// Resizes both screens; returns the cursor's new position. `old_cols`: the previous number of columns.
    pub fn resize(&mut self, cursor: CursorState, old_cols: usize, cols: usize, rows: usize) -> CursorState {
        let mut cursor = cursor;
        if let Some(place) = self.resize_primary(cursor, old_cols, cols, rows) {
            place.put(&mut cursor);
        }
        let shown = self.alternate.is_some();
        let alternate = if shown { &mut self.active } else { &mut self.inactive };
        if !alternate.grid.is_unused() {
            alternate.grid.resize(cols, rows);
        }
        alternate.saved_cursor = alternate.saved_cursor.cropped(cols, rows);
        if shown {
            cursor = cursor.cropped(cols, rows);
        }
        for buffer in [&mut self.active, &mut self.inactive] {
            // There is no row below to wrap into.
            buffer.grid.row_mut(rows - 1).into_iter().for_each(|row| row.wrapped = false);
        }
        cursor
    }

    /// Wrapped lines of the primary screen and of the history are reflowed, and none is lost while there is
    /// room.
    ///
    /// The history and the rows of the screen are treated as one list of lines. It is wrapped for the new
    /// width and then split again: a screen that was filled to its last row keeps its end at the bottom, any
    /// other keeps its first row at the top, and the cursor stays on the screen and on its character. The
    /// alternate screen is only cropped: its program redraws it.
    fn resize_primary(
        &mut self,
        cursor: CursorState,
        old_cols: usize,
        cols: usize,
        rows: usize,
    ) -> Option<CursorPlace> {
        let shown = self.alternate.is_none();
        let buffer = if shown { &mut self.active } else { &mut self.inactive };
        let cursor = match self.alternate {
            None => Some(cursor),
            Some(how) => Some(buffer.saved_cursor).filter(|_| how.restores()),
        };
        let old = buffer.grid.rows();
        let written = old.iter().rposition(|row| !row.written().is_empty()).map_or(0, |last| last + 1);
        let used = written.max(cursor.map_or(0, |cursor| cursor.row + 1));
        let full = used == old.len();

        // One list of all lines, and in it the cursor, the saved cursor and the top of the screen.
        let mut lines = self.history.take_lines();
        let above = lines.len();
        let mut places =
            vec![LinePosition { line: above, cell: 0 }, line_position(buffer.saved_cursor, above)];
        places.extend(cursor.map(|cursor| line_position(cursor, above)));
        let mut builder = LineBuilder::default();
        for (at, row) in old.range(..used).enumerate() {
            // Cells before the cursor count as text.
            let cells = cursor
                .filter(|cursor| cursor.row == at)
                .map_or(0, |cursor| cursor.col + usize::from(cursor.wrap_pending));
            let end = builder.push_row(row, cells);
            lines.push_back(builder.finish(end));
        }
        if cols != old_cols {
            let mut cutter = LineCutter::new(cols, &places);
            lines.into_iter().for_each(|line| cutter.take(line));
            (lines, places) = cutter.finish();
        }

        let mut top = places[0].line;
        if full || lines.len().saturating_sub(top) > rows {
            top = lines.len().saturating_sub(rows);
        }
        top = top.min(places.get(2).map_or(top, |cursor| cursor.line));
        let shown_lines = lines.split_off(top.min(lines.len()));
        buffer.grid.replace(cols, rows, shown_lines.iter().take(rows).map(|line| line.row(cols)));
        let place = |place: LinePosition| CursorPlace {
            col: place.cell.min(cols - 1),
            row: place.line.saturating_sub(top).min(rows - 1),
            wrap_pending: place.cell == cols,
        };
        place(places[1]).put(&mut buffer.saved_cursor);
        let moved = places.get(2).filter(|_| shown).map(|cursor| place(*cursor));
        self.history.put_lines(lines, places[0].line, top);
        moved
    }

    /// The styles of all cells, lines of the history and saved pens.
    pub fn each_style(&self, mut each: impl FnMut(PackedStyle)) {
        for buffer in [&self.active, &self.inactive] {
            buffer.grid.rows().iter().flat_map(GridRow::stored).for_each(|cell| each(cell.style()));
            each(buffer.saved_cursor.pen);
        }
        self.history.lines().flat_map(|line| line.styles()).for_each(each);
    }

    /// Changes all of these, the saved pens first.
    pub fn change_styles(&mut self, mut change: impl FnMut(&mut PackedStyle)) {
        for buffer in [&mut self.active, &mut self.inactive] {
            change(&mut buffer.saved_cursor.pen);
            for at in 0..buffer.grid.rows().len() {
                buffer
                    .grid
                    .row_mut(at)
                    .into_iter()
                    .flat_map(|row| &mut row.cells)
                    .for_each(|cell| cell.restyle(&mut change));
            }
        }
        self.history.lines_mut().for_each(|line| line.restyle(&mut change));
    }
}

/// The new place of a cursor.
struct CursorPlace {
    col: usize,
    row: usize,
    wrap_pending: bool,
}

impl CursorPlace {
    fn put(self, cursor: &mut CursorState) {
        (cursor.col, cursor.row, cursor.wrap_pending) = (self.col, self.row, self.wrap_pending);
    }
}

/// A cursor among all lines, with `above` of them above the screen.
fn line_position(cursor: CursorState, above: usize) -> LinePosition {
    LinePosition { line: above + cursor.row, cell: cursor.col + usize::from(cursor.wrap_pending) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers(rows: &str) -> ScreenBuffers {
        let mut buffers = ScreenBuffers::new(Grid::new(2, rows.len()));
        for (at, ch) in rows.chars().enumerate() {
            buffers.active.grid.row_mut(at).unwrap().put_narrow(0, ch, PackedStyle::default());
        }
        buffers.history.set_limit(9);
        buffers
    }

    fn text(buffers: &ScreenBuffers) -> String {
        buffers.active.grid.rows().iter().map(|row| row.cell(0).ch()).collect()
    }

    #[test]
    fn only_whole_rows_from_the_top_of_the_primary_screen_go_to_the_history() {
        let all = Margins::whole(2, 4);
        let kept = |margins: Margins, alternate: bool| {
            let mut buffers = buffers("abcd");
            buffers.alternate = alternate.then_some(AlternateScreen::Plain);
            buffers.scroll_up(margins, 2, 2, PackedStyle::default());
            (text(&buffers), buffers.history.len())
        };
        assert_eq!(kept(all, false), ("cd  ".to_owned(), 2));
        assert_eq!(kept(all, true), ("cd  ".to_owned(), 0));
        assert_eq!(kept(Margins { top: 1, ..all }, false), ("ad  ".to_owned(), 0));
        assert_eq!(kept(Margins { right: 0, ..all }, false), ("cd  ".to_owned(), 0));
    }

    #[test]
    fn a_buffer_has_no_rows_until_it_is_shown() {
        let mut buffers = buffers("ab");
        assert!(buffers.inactive.grid.is_unused());
        buffers.swap(2, 2);
        assert_eq!((text(&buffers).as_str(), buffers.inactive.grid.rows().len()), ("  ", 2));
        buffers.swap(2, 2);
        assert_eq!(text(&buffers), "ab");
    }

    #[test]
    fn the_cursor_stays_on_its_character() {
        let mut buffers = ScreenBuffers::new(Grid::new(4, 2));
        (0..4).for_each(|col| {
            buffers.active.grid.row_mut(0).unwrap().put_narrow(col, 'x', PackedStyle::default())
        });
        let cursor = CursorState { col: 3, ..CursorState::default() };
        let moved = buffers.resize(cursor, 4, 2, 2);
        assert_eq!((moved.col, moved.row), (1, 1));
    }
}
