//! Which cells of the screen have changed since a mark.
//!
//! A wait for a text must not match one that was there before. So [`FrameChanges`] compares the screen with
//! the last frame and keeps, for each cell, the frame in which it last changed. Cells move with their rows
//! when these scroll. A program that clears its screen and draws the same again within one frame has changed
//! nothing. Nor is anything new that comes back from under the alternate screen.
//!
//! The screen itself only moves row numbers when it scrolls, and only while it is followed.

use std::ops::Range;

use crate::screen::Screen;
use crate::screen::grid::{GridCell, GridRow, RowOrigins};
use crate::screen::modes::TerminalMode;

/// A row and a range of columns on the visible screen, 0-based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenPlace {
    pub row: u16,
    pub cols: Range<u16>,
}

/// The last frame, and when each of its cells became what it is.
///
/// Call [`FrameChanges::frame`] whenever the screen is between two frames: the program has been read empty
/// and holds no picture back ([`Screen::is_drawing`]).
#[derive(Clone, Debug)]
pub struct FrameChanges {
    /// The number of the last frame.
    frame: u64,
    revision: u64,
    cols: usize,
    alternate: bool,
    cells: Vec<CellMemory>,
    /// Those of the primary screen while the alternate one is shown.
    under: Option<Vec<CellMemory>>,
    cursor: (u16, u16),
}

/// A cell as it was in the last frame.
#[derive(Clone, Copy, Debug)]
struct CellMemory {
    cell: GridCell,
    /// Tells the same character with other combining marks apart.
    marks: u32,
    /// The frame in which it became this.
    since: u64,
}

impl FrameChanges {
    /// Begins to follow a screen; what is on it now is old.
    pub fn new(screen: &mut Screen) -> Self {
        let mut changes = Self {
            frame: 0,
            revision: 0,
            cols: 0,
            alternate: false,
            cells: Vec::new(),
            under: None,
            cursor: (0, 0),
        };
        changes.restart(screen, 0);
        changes
    }

    /// The number of the last frame, which is the mark for [`FrameChanges::is_new`]: what changes later is
    /// new.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.frame
    }

    /// Whether the screen has not changed since the last frame.
    #[must_use]
    pub fn is_current(&self, screen: &Screen) -> bool {
        screen.revision() == self.revision
    }

    /// Takes the screen as the next frame and returns whether something visible has changed: a cell, or where
    /// the cursor is.
    pub fn frame(&mut self, screen: &mut Screen) -> bool {
        self.compare(screen, true)
    }

    /// Takes the screen as the next frame in which nothing is new: for an echo of what was just typed.
    pub fn absorb(&mut self, screen: &mut Screen) {
        self.compare(screen, false);
    }

    /// Whether a cell has changed after the frame `mark`. Cells that do not exist have not.
    #[must_use]
    pub fn is_new(&self, mark: u64, row: u16, col: u16) -> bool {
        let (row, col) = (usize::from(row), usize::from(col));
        col < self.cols && self.cells.get(row * self.cols + col).is_some_and(|cell| cell.since > mark)
    }

    /// The frame in which the youngest of these cells became what it is.
    #[must_use]
    pub fn since(&self, place: &ScreenPlace) -> u64 {
        let row = usize::from(place.row) * self.cols;
        let cols = usize::from(place.cols.start).min(self.cols)..usize::from(place.cols.end).min(self.cols);
        let cells = self.cells.get(row + cols.start..row + cols.end).unwrap_or_default();
        cells.iter().map(|cell| cell.since).max().unwrap_or(0)
    }

    /// The places that have changed after the frame `mark`, from the top, each as long as it can be.
    pub fn new_places(&self, mark: u64) -> Vec<ScreenPlace> {
        let mut places = Vec::new();
        if self.cols == 0 {
            return places;
        }
        for (row, cells) in self.cells.chunks(self.cols).enumerate() {
            let mut col = 0;
            while col < cells.len() {
                let run = cells[col..].iter().take_while(|cell| cell.since > mark).count();
                if run > 0 {
                    places.push(ScreenPlace { row: row as u16, cols: col as u16..(col + run) as u16 });
                }
                col += run.max(1);
            }
        }
        places
    }

    /// Ends following the screen.
    pub fn end(self, screen: &mut Screen) {
        let buffers = &mut screen.terminal.display.buffers;
        buffers.active.grid.drop_origins();
        buffers.inactive.grid.drop_origins();
    }

    /// All that is on the screen now became it in the frame `since`.
    fn restart(&mut self, screen: &mut Screen, since: u64) {
        let cols = usize::from(screen.size().0);
        let buffers = &mut screen.terminal.display.buffers;
        drop(buffers.active.grid.take_origins());
        drop(buffers.inactive.grid.take_origins());
        let blank = CellMemory { cell: GridCell::BLANK, marks: 0, since: 0 };
        self.cells = vec![blank; cols * buffers.active.grid.rows().len()];
        self.under = None;
        (self.cols, self.alternate) = (cols, buffers.alternate.is_some());
        for (row, old) in buffers.active.grid.rows().iter().zip(self.cells.chunks_mut(cols)) {
            for (col, cell) in row.stored().iter().enumerate().take(cols) {
                // An empty cell is no news, whether the row stores it or not.
                if *cell != GridCell::BLANK {
                    old[col] = CellMemory { cell: *cell, marks: marks(row, col), since };
                }
            }
        }
        self.revision = screen.revision();
        self.cursor = (screen.cursor().row, screen.cursor().col);
    }

    fn compare(&mut self, screen: &mut Screen, count: bool) -> bool {
        let (cols, rows) = screen.size();
        let cursor = (screen.cursor().row, screen.cursor().col);
        if (usize::from(cols), usize::from(cols) * usize::from(rows)) != (self.cols, self.cells.len()) {
            // After a resize everything is new: rows were cut and joined.
            self.frame += u64::from(count);
            self.restart(screen, self.frame);
            return count;
        }
        if screen.revision() == self.revision {
            return false;
        }
        self.revision = screen.revision();
        let moved = std::mem::replace(&mut self.cursor, cursor) != cursor;
        let buffers = &mut screen.terminal.display.buffers;
        let other_screen =
            std::mem::replace(&mut self.alternate, buffers.alternate.is_some()) != self.alternate;
        let origins = buffers.active.grid.take_origins();
        drop(buffers.inactive.grid.take_origins());
        if let Some(origins) = origins.filter(|_| !other_screen) {
            self.move_rows(&origins);
        }
        if other_screen && self.alternate {
            self.under = Some(self.cells.clone());
        } else if other_screen && let Some(under) = self.under.take() {
            // What was there before is as old as it was.
            self.cells = under;
        }
        let next = self.frame + 1;
        let mut changed = other_screen;
        for (row, old) in buffers.active.grid.rows().iter().zip(self.cells.chunks_mut(self.cols)) {
            let stored = row.stored();
            for (col, old) in old.iter_mut().enumerate() {
                let cell = stored.get(col).copied().unwrap_or(GridCell::BLANK);
                let marks = marks(row, col);
                if cell != old.cell || marks != old.marks {
                    changed = true;
                    let since = if count { next } else { old.since };
                    *old = CellMemory { cell, marks, since };
                }
            }
        }
        if changed && count {
            self.frame = next;
        }
        (changed || moved) && count
    }

    /// Puts the memory of each row where the row is now. A row that came in was blank in no frame: whatever
    /// stands in it is new.
    fn move_rows(&mut self, origins: &RowOrigins) {
        if origins.iter().enumerate().all(|(at, origin)| origin.map(usize::from) == Some(at)) {
            return;
        }
        let blank = CellMemory { cell: GridCell::BLANK, marks: 0, since: 0 };
        let mut moved = vec![blank; self.cells.len()];
        for (new, origin) in moved.chunks_mut(self.cols).zip(origins) {
            let from = origin.map(|origin| usize::from(origin) * self.cols);
            if let Some(old) = from.and_then(|from| self.cells.get(from..from + self.cols)) {
                new.copy_from_slice(old);
            }
        }
        self.cells = moved;
    }
}

/// A number for the combining marks of a cell; 0 for none.
fn marks(row: &GridRow, col: usize) -> u32 {
    if !row.cell(col).is_marked() {
        return 0;
    }
    // FNV-1a: two piles of one cell that differ and have the same number are not to be expected.
    row.marks
        .get(col)
        .bytes()
        .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl Screen {
    /// Whether the program holds its picture back until a frame is whole (private mode 2026), or is in the
    /// middle of a sequence.
    #[must_use]
    pub fn is_drawing(&self) -> bool {
        self.is_on(TerminalMode::Synchronized) || self.input.is_inside()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_text(screen: &mut Screen, bytes: &str) -> Vec<String> {
        let mut changes = FrameChanges::new(screen);
        let mark = changes.now();
        screen.feed(bytes.as_bytes());
        changes.frame(screen);
        text_of(screen, &changes, mark)
    }

    fn text_of(screen: &Screen, changes: &FrameChanges, mark: u64) -> Vec<String> {
        let text = |place: &ScreenPlace| -> String {
            screen.row_part(place.row, place.cols.clone()).into_iter().map(|run| run.text).collect()
        };
        let texts = changes.new_places(mark).iter().map(text).collect::<Vec<_>>();
        texts.into_iter().filter(|text| !text.is_empty()).collect()
    }

    fn screen(bytes: &str) -> Screen {
        let mut screen = Screen::new(10, 4);
        screen.feed(bytes.as_bytes());
        screen
    }

    #[test]
    fn only_cells_that_became_something_else_are_new() {
        assert_eq!(new_text(&mut screen("abc\r\ndone"), "\x1b[Hxbz"), ["x", "z"]);
        assert!(new_text(&mut screen("done"), "\x1b[Hdone").is_empty());
        assert_eq!(new_text(&mut screen("done"), "\x1b[H\x1b[1mdo"), ["do"]);
        assert_eq!(new_text(&mut screen("e\u{301}"), "\x1b[He\u{300}"), ["e\u{300}"]);
    }

    #[test]
    fn clearing_and_drawing_the_same_is_no_change() {
        for redraw in [
            "\x1b[2J\x1b[Ha\r\ndone",
            "\x1b[H\x1b[Ja\r\ndone",
            "\x1b[2K\x1b[1A\x1b[2K\ra\r\ndone",
            "\x1bca\r\ndone",
        ] {
            assert!(new_text(&mut screen("a\r\ndone"), redraw).is_empty(), "{redraw:?}");
        }
    }

    #[test]
    fn rows_that_scroll_keep_their_age() {
        assert_eq!(new_text(&mut screen("1\r\n2\r\n3\r\n4"), "\r\n5"), ["5"]);
        assert_eq!(new_text(&mut screen("1\r\n2\r\n3\r\n4"), "\x1b[2;3r\x1b[3;1H\nx\x1b[r"), ["x"]);
        assert_eq!(new_text(&mut screen("1\r\n2\r\n3\r\n4"), "\x1b[2;1H\x1b[Lx"), ["x"]);
        assert_eq!(new_text(&mut screen("1\r\n2\r\n3\r\n4"), "\x1b[H\x1bMx"), ["x"]);
    }

    #[test]
    fn a_line_like_all_the_others_is_new_when_it_comes_in() {
        assert_eq!(new_text(&mut screen("ok\r\nok\r\nok\r\nok"), "\r\nok"), ["ok"]);
        let flood = "ok\r\n".repeat(2000);
        assert_eq!(new_text(&mut screen("ok\r\nok\r\nok\r\nok"), &flood), ["ok", "ok", "ok"]);
    }

    #[test]
    fn a_flood_that_is_laid_out_ahead_is_new() {
        let mut screen = Screen::with_history(10, 4, 5000);
        screen.feed(b"ok\r\nok\r\nok\r\n");
        assert_eq!(new_text(&mut screen, &"ok\r\n".repeat(1000)), ["ok", "ok", "ok"]);
    }

    #[test]
    fn what_comes_back_from_under_the_alternate_screen_is_as_old_as_it_was() {
        let mut screen = screen("done");
        let mut changes = FrameChanges::new(&mut screen);
        screen.feed(b"\x1b[?1049h\x1b[Hvim");
        assert!(changes.frame(&mut screen));
        assert_eq!(text_of(&screen, &changes, 0), ["vim"]);
        let mark = changes.now();
        screen.feed(b"\x1b[?1049l\r\n$");
        assert!(changes.frame(&mut screen));
        assert_eq!(text_of(&screen, &changes, mark), ["$"]);
        let mark = changes.now();
        screen.feed(b"\x1b[?1049h\x1b[Hless");
        assert!(changes.frame(&mut screen));
        screen.feed(b"\x1b[?1049l");
        assert!(changes.frame(&mut screen), "it is another picture");
        assert!(text_of(&screen, &changes, mark).is_empty());
    }

    #[test]
    fn after_a_resize_everything_is_new() {
        let mut screen = screen("done");
        let mut changes = FrameChanges::new(&mut screen);
        screen.resize(9, 4);
        assert!(changes.frame(&mut screen));
        assert_eq!(text_of(&screen, &changes, 0), ["done"]);
    }

    #[test]
    fn an_echo_that_is_absorbed_is_old() {
        let mut screen = screen("$ ");
        let mut changes = FrameChanges::new(&mut screen);
        screen.feed(b"ls");
        changes.absorb(&mut screen);
        screen.feed(b"\r\nfile");
        assert!(changes.frame(&mut screen));
        assert_eq!(text_of(&screen, &changes, 0), ["file"]);
        let place = ScreenPlace { row: 1, cols: 0..4 };
        assert_eq!(
            (changes.since(&place), changes.is_new(0, 1, 0), changes.is_new(0, 0, 2)),
            (1, true, false)
        );
    }

    #[test]
    fn a_mark_is_a_moment() {
        let mut screen = screen("");
        let mut changes = FrameChanges::new(&mut screen);
        let mut feed = |bytes: &str, changes: &mut FrameChanges| {
            screen.feed(bytes.as_bytes());
            changes.frame(&mut screen);
            changes.now()
        };
        let first = feed("a", &mut changes);
        feed("\r\nb", &mut changes);
        // There and back again over two frames is a change.
        feed("\x1b[Hx", &mut changes);
        feed("\x1b[Ha", &mut changes);
        assert!(changes.is_new(first, 0, 0) && changes.is_new(first, 1, 0));
        assert!(!changes.is_new(changes.now(), 0, 0) && !changes.is_new(0, 9, 99));
    }

    #[test]
    fn nothing_is_followed_after_the_end() {
        let mut screen = screen("");
        FrameChanges::new(&mut screen).end(&mut screen);
        screen.feed(b"a\r\nb\r\nc\r\nd\r\ne");
        assert_eq!(screen, self::screen("a\r\nb\r\nc\r\nd\r\ne"));
        assert!(screen.terminal.display.buffers.active.grid.take_origins().is_none());
    }

    #[test]
    fn a_frame_that_is_held_back_is_told() {
        assert!(screen("\x1b[?2026ha").is_drawing() && screen("a\x1b[3").is_drawing());
        assert!(!screen("\x1b[?2026ha\x1b[?2026l").is_drawing());
    }
}
