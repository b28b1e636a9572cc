//! Which cells of the screen differ from a mark.
//!
//! A wait for a text must not match one that was there before, and its verdict must not depend on how output
//! was cut into reads. So [`FrameChanges`] keeps the screen at the last marks. Cells move with their rows
//! when these scroll. Text that is erased and drawn again in the same place is not new, nor is the primary
//! screen when it returns from under the alternate one. See
//! `docs/adr/0013-new-is-what-differs-from-the-mark.md`.
//!
//! It also knows in which frame each cell last changed: for messages, and for waits until nothing changes.
//! The screen itself only moves row numbers when it scrolls, and only while it is followed.

use std::collections::VecDeque;
use std::ops::Range;

use crate::screen::Screen;
use crate::screen::grid::{Grid, GridCell, GridRow, RowOrigins};
use crate::screen::modes::TerminalMode;

/// How many marks keep a copy of the screen. For older marks, everything that changed in a later frame is
/// new.
const MARKS_MAX: usize = 8;

/// A row and a range of columns on the visible screen, 0-based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenPlace {
    pub row: u16,
    pub cols: Range<u16>,
}

/// The last frame, the frame in which each of its cells last changed, and the screen at the last marks.
///
/// Call [`FrameChanges::frame`] whenever the screen is between two frames: all output has been read and no
/// synchronized update is unfinished ([`Screen::is_drawing`]).
#[derive(Clone, Debug)]
pub struct FrameChanges {
    /// The number of the last frame.
    frame: u64,
    revision: u64,
    cols: usize,
    alternate: bool,
    cells: Vec<CellMemory>,
    /// The cells of the primary screen while the alternate one is shown.
    under: Option<Vec<CellMemory>>,
    marks: VecDeque<MarkedScreen>,
    cursor: (u16, u16),
}

/// A cell as it was in the last frame.
#[derive(Clone, Copy, Debug)]
struct CellMemory {
    look: CellLook,
    /// The frame in which it became this; 0: only the terminal's echo has written it.
    since: u64,
}

impl CellMemory {
    const BLANK: Self = Self { look: CellLook::BLANK, since: 0 };
}

/// A number for the text and style of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CellLook(u64);

impl CellLook {
    /// Equal to no cell.
    const UNKNOWN: Self = Self(0);
    const BLANK: Self = Self::new(GridCell::BLANK, 0);

    const fn new(cell: GridCell, marks: u32) -> Self {
        let number = cell.fingerprint() ^ marks as u64;
        Self(if number == 0 { 1 } else { number })
    }

    /// The looks of the cells of a row.
    fn of_row(row: &GridRow, cols: usize) -> impl Iterator<Item = Self> {
        (0..cols).map(|col| match row.stored().get(col) {
            Some(cell) => Self::new(*cell, marks(row, col)),
            None => Self::BLANK,
        })
    }
}

/// Both screens at a mark. Nothing is known of rows that came in later.
#[derive(Clone, Debug)]
struct MarkedScreen {
    frame: u64,
    primary: Vec<CellLook>,
    alternate: Vec<CellLook>,
    /// The alternate screen, if it was shown; these do not move with their rows.
    placed: Option<Vec<CellLook>>,
    cursor_row: u16,
    /// For each row of the screen that was shown: which row it was at the mark.
    rows: Vec<Option<u16>>,
}

impl MarkedScreen {
    fn shown(&mut self, is_alternate: bool) -> &mut Vec<CellLook> {
        if is_alternate { &mut self.alternate } else { &mut self.primary }
    }

    /// Makes this cell old.
    fn absorb(&mut self, is_alternate: bool, at: usize, look: CellLook) {
        self.shown(is_alternate)[at] = look;
        if let Some(placed) = self.placed.as_mut().filter(|_| is_alternate) {
            placed[at] = look;
        }
    }
}

impl FrameChanges {
    /// Starts to follow a screen; what is on it now is old.
    pub fn new(screen: &mut Screen) -> Self {
        let mut changes = Self {
            frame: 0,
            revision: 0,
            cols: 0,
            alternate: false,
            cells: Vec::new(),
            under: None,
            marks: VecDeque::new(),
            cursor: (0, 0),
        };
        changes.restart(screen, 0);
        changes
    }

    /// The number of the last frame; later changes are newer.
    pub fn now(&self) -> u64 {
        self.frame
    }

    /// Takes a mark: what differs later from the last frame is new. Returns the number of that frame, which
    /// identifies the mark.
    pub fn mark(&mut self, screen: &Screen) -> u64 {
        let shown = self.cells.iter().map(|cell| cell.look).collect();
        let placed = self.alternate.then(|| self.cells.iter().map(|cell| cell.look).collect());
        let (primary, alternate) = if self.alternate {
            (looks(&screen.terminal.display.buffers.inactive.grid, self.cols, self.cells.len()), shown)
        } else {
            // Everything that a program draws on another screen is new there.
            (shown, vec![CellLook::UNKNOWN; self.cells.len()])
        };
        self.marks.retain(|mark| mark.frame != self.frame);
        if self.marks.len() == MARKS_MAX {
            self.marks.pop_front();
        }
        let cursor_row = self.cursor.0;
        let rows = (0..screen.size().1).map(Some).collect();
        let frame = self.frame;
        self.marks.push_back(MarkedScreen { frame, primary, alternate, placed, cursor_row, rows });
        self.frame
    }

    /// Whether the screen has not changed since the last frame.
    pub fn is_current(&self, screen: &Screen) -> bool {
        screen.revision() == self.revision
    }

    /// Takes the screen as the next frame; returns whether something visible has changed: a cell, or the
    /// cursor's position.
    pub fn frame(&mut self, screen: &mut Screen) -> bool {
        self.compare(screen, true)
    }

    /// Takes the screen as the next frame without making anything new: for an echo of typed input.
    pub fn absorb(&mut self, screen: &mut Screen) {
        self.compare(screen, false);
    }

    /// Makes this place of the last frame old: it is typed input.
    pub fn absorb_place(&mut self, place: &ScreenPlace) {
        for at in self.indexes(place) {
            self.cells[at].since = 0;
            let look = self.cells[at].look;
            self.marks.iter_mut().for_each(|mark| mark.absorb(self.alternate, at, look));
        }
    }

    /// Makes this place of the last frame old for the marks that were taken in frame `first` or later.
    pub fn absorb_place_since(&mut self, first: u64, place: &ScreenPlace) {
        for at in self.indexes(place) {
            let look = self.cells[at].look;
            let marks = self.marks.iter_mut().filter(|mark| mark.frame >= first);
            marks.for_each(|mark| mark.absorb(self.alternate, at, look));
        }
    }

    /// A check has seen this place of the last frame: if it differs from the mark, the text of the mark is
    /// new when it returns.
    pub fn see(&mut self, mark: u64, place: &ScreenPlace) {
        let seen: Vec<usize> = self.indexes(place).filter(|at| self.is_new_at(mark, *at)).collect();
        let is_alternate = self.alternate;
        if let Some(mark) = self.marks.iter_mut().find(|known| known.frame == mark) {
            seen.into_iter().for_each(|at| mark.shown(is_alternate)[at] = CellLook::UNKNOWN);
        }
    }

    /// Whether a cell of the last frame differs from the mark. A cell that does not exist does not.
    pub fn is_new(&self, mark: u64, row: u16, col: u16) -> bool {
        self.indexes(&ScreenPlace { row, cols: col..col.saturating_add(1) })
            .any(|at| self.is_new_at(mark, at))
    }

    /// Whether a cell of a full-screen program differs from the same place at the mark, wherever that text is
    /// now: a row that moved there is new there. With `in_cursor_row` the place is a column of the cursor's
    /// row, then and now.
    ///
    /// On the primary screen rows move when the terminal echoes a line end, which is not an answer.
    pub fn is_new_in_place(&self, mark: u64, (row, col): (u16, u16), in_cursor_row: bool) -> bool {
        let Some(known) = self.marks.iter().find(|known| known.frame == mark) else { return false };
        let Some(placed) = known.placed.as_ref().filter(|_| self.alternate) else { return false };
        let then = if in_cursor_row { known.cursor_row } else { row };
        let at = |row: u16| self.indexes(&ScreenPlace { row, cols: col..col.saturating_add(1) }).next();
        at(row).zip(at(then)).is_some_and(|(at, then)| self.cells[at].look != placed[then])
    }

    /// Which row a row of the last frame was at the mark, from which it may have moved; `None` if it came in
    /// later, or if the other screen was shown.
    pub fn row_then(&self, mark: u64, row: u16) -> Option<u16> {
        let known = self.marks.iter().find(|known| known.frame == mark)?;
        *known.rows.get(usize::from(row)).filter(|_| known.placed.is_some() == self.alternate)?
    }

    /// The row that stood in the place of this row at the mark: see [`FrameChanges::is_new_in_place`].
    pub fn row_in_place(&self, mark: u64, row: u16, in_cursor_row: bool) -> Option<u16> {
        let known = self.marks.iter().find(|known| known.frame == mark)?;
        known.placed.as_ref().filter(|_| self.alternate)?;
        Some(if in_cursor_row { known.cursor_row } else { row })
    }

    fn is_new_at(&self, mark: u64, at: usize) -> bool {
        let Some(CellMemory { look, since }) = self.cells.get(at).copied() else { return false };
        match self.marks.iter().find(|known| known.frame == mark) {
            Some(known) => {
                let then = if self.alternate { &known.alternate } else { &known.primary };
                // A row that came in was blank in no frame: any text in it is new.
                then[at] != look && (then[at] != CellLook::UNKNOWN || look != CellLook::BLANK)
            }
            None => since > mark,
        }
    }

    /// The cells of a place, as far as they exist.
    fn indexes(&self, place: &ScreenPlace) -> Range<usize> {
        let row = (usize::from(place.row) * self.cols).min(self.cells.len());
        let end = usize::from(place.cols.end).min(self.cols).min(self.cells.len() - row);
        row + usize::from(place.cols.start).min(end)..row + end
    }

    /// The newest frame in which one of these cells changed.
    pub fn since(&self, place: &ScreenPlace) -> u64 {
        self.cells[self.indexes(place)].iter().map(|cell| cell.since).max().unwrap_or(0)
    }

    /// The places that differ from the mark, from the top, each as long as possible.
    pub fn new_places(&self, mark: u64) -> Vec<ScreenPlace> {
        self.places(|at| self.is_new_at(mark, at))
    }

    /// The places that changed after a frame.
    pub fn places_after(&self, frame: u64) -> Vec<ScreenPlace> {
        self.places(|at| self.cells[at].since > frame)
    }

    fn places(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<ScreenPlace> {
        let mut places = Vec::new();
        if self.cols == 0 {
            return places;
        }
        for row in 0..self.cells.len() / self.cols {
            let mut col = 0;
            while col < self.cols {
                let run = (col..self.cols).take_while(|col| is_wanted(row * self.cols + col)).count();
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

    /// Restarts the memory: everything on the screen now became so in frame `since`, and is new since every
    /// mark.
    fn restart(&mut self, screen: &mut Screen, since: u64) {
        let (cols, rows) = screen.size();
        let (cols, rows) = (usize::from(cols), usize::from(rows));
        let buffers = &mut screen.terminal.display.buffers;
        drop(buffers.active.grid.take_origins());
        drop(buffers.inactive.grid.take_origins());
        let looks = looks(&buffers.active.grid, cols, cols * rows).into_iter();
        // An empty cell is not new, whether the row stores it or not.
        let since = |look| if look == CellLook::BLANK { 0 } else { since };
        self.cells = looks.map(|look| CellMemory { look, since: since(look) }).collect();
        self.under = None;
        (self.cols, self.alternate) = (cols, buffers.alternate.is_some());
        for mark in &mut self.marks {
            mark.primary = vec![CellLook::UNKNOWN; cols * rows];
            mark.alternate = vec![CellLook::UNKNOWN; cols * rows];
            mark.placed = None;
            mark.rows = vec![None; rows];
        }
        self.revision = screen.revision();
        self.cursor = (screen.cursor().row, screen.cursor().col);
    }

    fn compare(&mut self, screen: &mut Screen, count: bool) -> bool {
        let (cols, rows) = screen.size();
        let cursor = (screen.cursor().row, screen.cursor().col);
        if (usize::from(cols), usize::from(cols) * usize::from(rows)) != (self.cols, self.cells.len()) {
            // After a resize everything is new: rows were split and joined.
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
        let is_alternate = buffers.alternate.is_some();
        let (active, inactive) = (buffers.active.grid.take_origins(), buffers.inactive.grid.take_origins());
        let (primary, alternate) = if is_alternate { (inactive, active) } else { (active, inactive) };
        self.move_rows(primary.as_ref(), alternate.as_ref());
        let was_alternate = std::mem::replace(&mut self.alternate, is_alternate);
        if is_alternate && !was_alternate {
            self.under = Some(self.cells.clone());
        } else if was_alternate
            && !is_alternate
            && let Some(under) = self.under.take()
        {
            self.cells = under;
        }
        let next = self.frame + 1;
        let mut changed = is_alternate != was_alternate;
        let grid = &buffers.active.grid;
        let looks = grid.rows().iter().flat_map(|row| CellLook::of_row(row, self.cols));
        for (at, (look, old)) in looks.zip(&mut self.cells).enumerate() {
            if look == old.look {
                continue;
            }
            (old.look, changed) = (look, true);
            if count {
                old.since = next;
            } else {
                self.marks.iter_mut().for_each(|mark| mark.absorb(is_alternate, at, look));
            }
        }
        if changed && count {
            self.frame = next;
        }
        (changed || moved) && count
    }

    /// Moves the memory of each row to the row's current place, on the screen that was shown last and below
    /// it.
    fn move_rows(&mut self, primary: Option<&RowOrigins>, alternate: Option<&RowOrigins>) {
        let cols = self.cols;
        let (own, under) = if self.alternate { (alternate, primary) } else { (primary, None) };
        move_cells(&mut self.cells, cols, own, CellMemory::BLANK);
        if let Some(cells) = &mut self.under {
            move_cells(cells, cols, under, CellMemory::BLANK);
        }
        for mark in &mut self.marks {
            for (cells, origins) in [(&mut mark.primary, primary), (&mut mark.alternate, alternate)] {
                move_cells(cells, cols, origins, CellLook::UNKNOWN);
                if origins.is_none() {
                    // The alternate screen is created when it is first shown, and again after a reset.
                    cells.fill(CellLook::UNKNOWN);
                }
            }
            let origins = if mark.placed.is_some() { alternate } else { primary };
            move_cells(&mut mark.rows, 1, origins, None);
            if origins.is_none() {
                mark.rows.fill(None);
            }
        }
    }
}

/// Moves cells with their rows; those of a row that came in are `blank`.
fn move_cells<T: Copy>(cells: &mut Vec<T>, cols: usize, origins: Option<&RowOrigins>, blank: T) {
    let Some(origins) = origins else { return };
    if origins.iter().enumerate().all(|(at, origin)| origin.map(usize::from) == Some(at)) {
        return;
    }
    let mut moved = vec![blank; cells.len()];
    for (new, origin) in moved.chunks_mut(cols).zip(origins) {
        let from = origin.map(|origin| usize::from(origin) * cols);
        if let Some(old) = from.and_then(|from| cells.get(from..from + cols)) {
            new.copy_from_slice(old);
        }
    }
    *cells = moved;
}

/// The looks of the first `cells` cells of a grid, which may have no rows yet.
fn looks(grid: &Grid, cols: usize, cells: usize) -> Vec<CellLook> {
    let mut looks: Vec<_> = grid.rows().iter().flat_map(|row| CellLook::of_row(row, cols)).collect();
    looks.resize(cells, CellLook::BLANK);
    looks
}

/// A number for the combining marks of a cell; 0 for none.
fn marks(row: &GridRow, col: usize) -> u32 {
    if !row.cell(col).is_marked() {
        return 0;
    }
    // FNV-1a: two different piles of marks with the same number are very unlikely.
    row.marks
        .get(col)
        .bytes()
        .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl Screen {
    /// Whether the program is in the middle of a synchronized update (private mode 2026) or of a sequence.
    pub fn is_drawing(&self) -> bool {
        self.is_on(TerminalMode::Synchronized) || self.is_inside_sequence()
    }

    /// Whether the program is in the middle of a sequence.
    pub fn is_inside_sequence(&self) -> bool {
        self.input.is_inside()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which text of `bytes` is new on a screen that shows `before`.
    fn new_text(before: &str, bytes: &str) -> Vec<String> {
        new_text_on(&|| screen(before), bytes)
    }

    fn new_text_on(before: &dyn Fn() -> Screen, bytes: &str) -> Vec<String> {
        // The result must not depend on how it is split.
        let cut = |size: usize| {
            let mut screen = before();
            let mut changes = FrameChanges::new(&mut screen);
            let mark = changes.mark(&screen);
            for piece in bytes.as_bytes().chunks(size) {
                screen.feed(piece);
                changes.frame(&mut screen);
            }
            text_of(&screen, &changes, mark)
        };
        let found = cut(bytes.len());
        assert_eq!(cut(1), found, "{bytes:?}");
        found
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
        assert_eq!(new_text("abc\r\ndone", "\x1b[Hxbz"), ["x", "z"]);
        assert!(new_text("done", "\x1b[Hdone").is_empty());
        assert_eq!(new_text("done", "\x1b[H\x1b[1mdo"), ["do"]);
        assert_eq!(new_text("e\u{301}", "\x1b[He\u{300}"), ["e\u{300}"]);
    }

    #[test]
    fn clearing_and_drawing_the_same_is_no_change() {
        for redraw in [
            "\x1b[2J\x1b[Ha\r\ndone",
            "\x1b[H\x1b[Ja\r\ndone",
            "\x1b[2K\x1b[1A\x1b[2K\ra\r\ndone",
            "\x1bca\r\ndone",
        ] {
            assert!(new_text("a\r\ndone", redraw).is_empty(), "{redraw:?}");
        }
    }

    #[test]
    fn rows_that_scroll_keep_their_age() {
        assert_eq!(new_text("1\r\n2\r\n3\r\n4", "\r\n5"), ["5"]);
        assert_eq!(new_text("1\r\n2\r\n3\r\n4", "\x1b[2;3r\x1b[3;1H\nx\x1b[r"), ["x"]);
        assert_eq!(new_text("1\r\n2\r\n3\r\n4", "\x1b[2;1H\x1b[Lx"), ["x"]);
        assert_eq!(new_text("1\r\n2\r\n3\r\n4", "\x1b[H\x1bMx"), ["x"]);
    }

    #[test]
    fn a_line_like_all_the_others_is_new_when_it_comes_in() {
        assert_eq!(new_text("ok\r\nok\r\nok\r\nok", "\r\nok"), ["ok"]);
        let flood = "ok\r\n".repeat(2000);
        assert_eq!(new_text("ok\r\nok\r\nok\r\nok", &flood), ["ok", "ok", "ok"]);
    }

    #[test]
    fn a_flood_that_is_laid_out_ahead_is_new() {
        let before = || {
            let mut screen = Screen::with_history(10, 4, 5000);
            screen.feed(b"ok\r\nok\r\nok\r\n");
            screen
        };
        assert_eq!(new_text_on(&before, &"ok\r\n".repeat(1000)), ["ok", "ok", "ok"]);
    }

    #[test]
    fn what_comes_back_from_under_the_alternate_screen_is_as_old_as_it_was() {
        let mut screen = screen("1\r\n2\r\n3\r\ndone");
        let mut changes = FrameChanges::new(&mut screen);
        let mark = changes.mark(&screen);
        screen.feed(b"\x1b[?1049h\x1b[4;1Hdone");
        assert!(changes.frame(&mut screen));
        assert_eq!(text_of(&screen, &changes, mark), ["done"], "it is drawn on another screen");
        let mark = changes.mark(&screen);
        // It scrolls in the frame in which it returns.
        screen.feed(b"\x1b[?1049l\r\n$");
        assert!(changes.frame(&mut screen));
        assert_eq!(text_of(&screen, &changes, mark), ["$"]);
        let mark = changes.mark(&screen);
        screen.feed(b"\x1b[?1049h\x1b[Hless");
        assert!(changes.frame(&mut screen));
        screen.feed(b"\x1b[?1049l");
        assert!(changes.frame(&mut screen), "it is another picture");
        assert!(text_of(&screen, &changes, mark).is_empty());
        assert_eq!(new_text("done\x1b[?1049h", "\x1b[?1049l\x1b[2Hx"), ["x"]);
    }

    #[test]
    fn after_a_resize_everything_is_new() {
        let mut screen = screen("done");
        let mut changes = FrameChanges::new(&mut screen);
        let mark = changes.mark(&screen);
        screen.resize(9, 4);
        assert!(changes.frame(&mut screen));
        assert_eq!(text_of(&screen, &changes, mark), ["done"]);
    }

    #[test]
    fn an_echo_that_is_absorbed_is_old() {
        let mut screen = screen("$ ");
        let mut changes = FrameChanges::new(&mut screen);
        let mark = changes.mark(&screen);
        screen.feed(b"ls");
        changes.absorb(&mut screen);
        screen.feed(b"\r\nfile");
        assert!(changes.frame(&mut screen));
        assert_eq!(text_of(&screen, &changes, mark), ["file"]);
        let place = ScreenPlace { row: 1, cols: 0..4 };
        assert_eq!(
            (changes.since(&place), changes.is_new(mark, 1, 0), changes.is_new(mark, 0, 2)),
            (1, true, false)
        );
        changes.absorb_place(&place);
        assert_eq!((changes.since(&place), text_of(&screen, &changes, mark).len()), (0, 0));
        screen.feed(b"\x1b[2J");
        changes.frame(&mut screen);
        screen.feed(b"\x1b[Hls\r\nfile");
        changes.frame(&mut screen);
        assert_eq!(text_of(&screen, &changes, mark), ["ls"], "the other one in the place of the echo");
    }

    #[test]
    fn what_was_erased_is_as_old_as_it_was_when_it_is_drawn_again_and_new_since_a_mark_between() {
        let mut screen = screen("Saved");
        let mut changes = FrameChanges::new(&mut screen);
        let first = changes.mark(&screen);
        screen.feed(b"\x1b[2J");
        assert!(changes.frame(&mut screen));
        let between = changes.mark(&screen);
        screen.feed(b"\x1b[HSaved");
        assert!(changes.frame(&mut screen));
        assert!(text_of(&screen, &changes, first).is_empty());
        assert_eq!(text_of(&screen, &changes, between), ["Saved"]);
        assert_eq!(changes.places_after(between).len(), 1);
    }

    #[test]
    fn what_a_check_has_seen_in_a_place_makes_the_text_from_before_new() {
        let mut screen = screen("Ready");
        let mut changes = FrameChanges::new(&mut screen);
        let mark = changes.mark(&screen);
        let mut show = |bytes: &str, changes: &mut FrameChanges| {
            screen.feed(bytes.as_bytes());
            changes.frame(&mut screen);
            text_of(&screen, changes, mark)
        };
        assert_eq!(show("\x1b[HBusy \r\nx", &mut changes), ["Busy", "x"]);
        changes.see(mark, &ScreenPlace { row: 0, cols: 0..4 });
        assert_eq!(show("\x1b[HReady\r\n ", &mut changes), ["Read"]);
    }

    #[test]
    fn of_an_old_mark_what_changed_in_a_later_frame_is_new() {
        let mut screen = screen("");
        let mut changes = FrameChanges::new(&mut screen);
        let mut feed = |bytes: &str, changes: &mut FrameChanges| {
            screen.feed(bytes.as_bytes());
            changes.frame(&mut screen);
            changes.mark(&screen)
        };
        let first = feed("a", &mut changes);
        feed("\r\nb", &mut changes);
        feed("\x1b[Hx", &mut changes);
        feed("\x1b[Ha", &mut changes);
        assert!(!changes.is_new(first, 0, 0) && changes.is_new(first, 1, 0));
        assert!(!changes.is_new(changes.now(), 0, 0) && !changes.is_new(0, 9, 99));
        for n in 0..MARKS_MAX {
            feed(&format!("\x1b[3H{n}"), &mut changes);
        }
        assert!(changes.is_new(first, 0, 0), "it is forgotten what stood there");
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
