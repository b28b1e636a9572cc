//! The terminal that the child writes to: two pages of rows, one caret, and everything sequences can change.
//!
//! This file has the state and the movements that everything else is made of. Sequences are read in `perform.rs`,
//! `csi.rs`, `sgr.rs` and `osc.rs`; text is written in `print.rs`; `edit.rs` erases and shifts.

use crate::screen::cursor::{Caret, CursorShape, Pens, Region, Tabs};
use crate::screen::grid::{Grid, History, Links, Look};
use crate::screen::modes::{Alternate, KeyOption, KeyOptions, Keyboard, Mode, Modes};
use crate::screen::reply::Query;
use crate::screen::restore::Former;
use crate::screen::window::{Colors, Extras, Said, Titles};

/// One of the two screens, with what belongs to it alone.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The rows.
    pub grid: Grid,
    /// What DECSC saved.
    pub saved: Caret,
    /// The kitty keyboard flags.
    pub keyboard: Keyboard,
}

/// A screen that was never shown is like one that is blank.
impl PartialEq for Page {
    fn eq(&self, other: &Self) -> bool {
        let same_rows = match (self.grid.is_unused(), other.grid.is_unused()) {
            (true, false) => other.grid.is_blank(),
            (false, true) => self.grid.is_blank(),
            _ => self.grid == other.grid,
        };
        same_rows && self.saved == other.saved && self.keyboard == other.keyboard
    }
}

/// The whole state.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    /// Columns, at least 1.
    pub cols: usize,
    /// Rows, at least 1.
    pub rows: usize,
    /// The page that is shown.
    pub page: Page,
    /// The other one.
    pub hidden: Page,
    /// What has left the primary screen at the top.
    pub history: History,
    /// How the alternate screen was entered; `None` while the primary one is shown.
    pub alternate: Option<Alternate>,
    /// The cursor.
    pub caret: Caret,
    /// The margins. One pair for both pages, as in xterm.
    pub region: Region,
    /// The tab stops.
    pub tabs: Tabs,
    /// The mode latch, without origin mode, which the caret has.
    pub modes: Modes,
    /// The pens that were put aside.
    pub pens: Pens,
    /// xterm's key options.
    pub keys: KeyOptions,
    /// The terminal's own colours, as far as the child changed them.
    pub colors: Colors,
    /// What else outlives the child.
    pub extras: Extras,
    /// What the terminal was like before, as far as that is known.
    pub former: Former,
    /// The setting that the child is asking for (DECRQSS).
    pub request: Option<Vec<u8>>,
    /// The parser is in a device control string.
    pub hooked: bool,
    /// `ESC k` begins a name for the window, as in GNU screen and tmux.
    pub takes_names: bool,
    /// One has just begun.
    pub names: bool,
    /// The cursor's form, where the child has set one.
    pub shape: Option<CursorShape>,
    /// Title and saved titles.
    pub titles: Titles,
    /// The working directory (OSC 7); empty if it is not known.
    pub directory: String,
    /// What text leads to.
    pub links: Links,
    /// The character that was just written, for REP: as in xterm and tmux, anything that is no text makes it forgotten.
    pub last: Option<char>,
    /// What the child asked and nobody has taken yet.
    pub queries: Vec<Query>,
    /// What it wants a person to be told, and nobody has taken yet.
    pub said: Said,
    /// The parser had something to say since this was cleared.
    pub heard: bool,
    /// The parser has come back to text since this was cleared.
    pub grounded: bool,
    /// Something visible changed since this was cleared.
    pub changed: bool,
    /// What the undo needs and the latch does not hold may have changed since this was cleared.
    pub touched: bool,
}

impl Terminal {
    /// A fresh terminal. Both sizes are at least 1.
    pub fn new(cols: usize, rows: usize) -> Self {
        Self::with_grid(cols, rows, Grid::new(cols, rows))
    }

    fn with_grid(cols: usize, rows: usize, grid: Grid) -> Self {
        Self {
            cols,
            rows,
            page: Page { grid, ..Page::default() },
            hidden: Page::default(),
            history: History::default(),
            alternate: None,
            caret: Caret::default(),
            region: Region::whole(cols, rows),
            tabs: Tabs::new(cols),
            modes: Modes::default(),
            pens: Pens::default(),
            keys: KeyOptions::default(),
            colors: Colors::default(),
            extras: Extras::default(),
            former: Former::default(),
            request: None,
            hooked: false,
            takes_names: false,
            names: false,
            shape: None,
            titles: Titles::default(),
            directory: String::new(),
            links: Links::default(),
            last: None,
            queries: Vec::new(),
            said: Said::default(),
            heard: false,
            grounded: false,
            changed: false,
            touched: false,
        }
    }

    /// Changes the size. Margins are reset, as terminals do.
    pub fn resize(&mut self, cols: usize, rows: usize) {
        if (cols, rows) == (self.cols, self.rows) {
            return;
        }
        self.resize_primary(cols, rows);
        self.cols = cols;
        self.rows = rows;
        let alternate = if self.alternate.is_some() { &mut self.page } else { &mut self.hidden };
        if !alternate.grid.is_unused() {
            alternate.grid.resize(cols, rows);
        }
        if self.alternate.is_some() {
            self.caret = self.caret.cropped(cols, rows);
        }
        let saved = if self.alternate.is_some() { &mut self.page.saved } else { &mut self.hidden.saved };
        *saved = saved.cropped(cols, rows);
        for page in [&mut self.page, &mut self.hidden] {
            // There is no row below in which it could go on.
            page.grid.row_mut(rows - 1).into_iter().for_each(|row| row.wrapped = false);
        }
        self.wait_anew();
        self.region = self.whole();
        self.tabs.resize(cols);
        self.last = None;
        self.changed = true;
        self.touched = true;
    }

    /// Whether `mode` is on.
    #[inline]
    pub fn is_on(&self, mode: Mode) -> bool {
        match mode {
            Mode::Origin => self.caret.origin,
            _ => self.modes.is_on(mode),
        }
    }

    /// The look that erased cells get.
    #[inline]
    pub fn blank(&self) -> Look {
        self.caret.look.erased()
    }

    /// Moves the caret to a place on the screen, cut to it.
    pub fn go(&mut self, col: usize, row: usize) {
        self.caret.col = col.min(self.cols - 1);
        self.caret.row = row.min(self.rows - 1);
        self.caret.pending = false;
    }

    /// Other rows stand where the caret waits to wrap: the one under it goes on in the next row when the next character comes, and not
    /// before.
    pub fn wait_anew(&mut self) {
        if self.caret.pending {
            self.page.grid.row_mut(self.caret.row).into_iter().for_each(|row| row.wrapped = false);
        }
    }

    /// DECSC. A wait at a margin is not saved: the margin may be gone. Nor is a shift for the next character alone.
    pub fn save_caret(&mut self) {
        let pending = self.caret.pending && self.caret.col + 1 == self.cols;
        self.page.saved = Caret { pending, charsets: self.caret.charsets.unshifted(), ..self.caret };
    }

    /// DECRC. Without a DECSC before it this is home, with a plain pen. In origin mode it is inside the margins.
    pub fn restore_caret(&mut self) {
        self.caret = self.page.saved;
        if self.caret.origin {
            self.caret.row = self.caret.row.clamp(self.region.top, self.region.bottom);
            self.caret.col = self.caret.col.clamp(self.region.left, self.region.right);
            self.caret.pending &= self.caret.col + 1 == self.cols;
        }
        self.wait_anew();
    }

    /// RIS: all as new, but for titles, which terminals keep; the history is emptied, as in xterm. The rows are used again: two bytes must not cost an
    /// allocation of the whole screen.
    pub fn reset(&mut self) {
        let mut grid = std::mem::take(&mut self.page.grid);
        grid.erase_rows(0, self.rows, Look::default());
        let fresh = Self::with_grid(self.cols, self.rows, grid);
        let old = std::mem::replace(self, fresh);
        self.titles = old.titles;
        self.history = old.history;
        self.history.clear();
        self.queries = old.queries;
        self.said = old.said;
        self.colors = old.colors;
        self.extras = old.extras.reset();
        self.former = old.former;
        self.lose_former();
        self.heard = old.heard;
        self.grounded = old.grounded;
        self.takes_names = old.takes_names;
        self.touched = true;
        self.changed = true;
    }

    /// A full reset has taken away what was there before the child: that has to be brought back.
    fn lose_former(&mut self) {
        for mode in Mode::ALL {
            if self.former.mode(mode).is_some_and(|before| before != mode.initially_on()) {
                self.modes.touch(mode);
            }
        }
        for (alternate, page) in [(false, &mut self.page), (true, &mut self.hidden)] {
            if self.former.keyboard(alternate).is_some_and(|before| before != 0) {
                page.keyboard.lost();
            }
        }
        if self.former.other_keys().is_some_and(|before| before != 0) {
            self.keys.reset(KeyOption::Modify);
        }
    }

    /// DECSTR: what a program may have left behind that garbles the next one's text. The picture stays.
    pub fn soft_reset(&mut self) {
        for mode in [Mode::Insert, Mode::CursorKeys, Mode::Keypad] {
            self.modes.set(mode, false);
        }
        self.modes.set(Mode::AutoWrap, true);
        self.modes.set(Mode::CursorVisible, true);
        self.modes.set(Mode::SideMargins, false);
        self.extras.iso_protection = false;
        self.region = self.whole();
        let (col, row) = (self.caret.col, self.caret.row);
        self.caret = Caret { col, row, ..Caret::default() };
        self.page.saved = Caret::default();
    }
}

#[cfg(test)]
mod tests {
    use crate::screen::Screen;

    fn screen(cols: u16, rows: u16, bytes: &str) -> Screen {
        let mut screen = Screen::new(cols, rows);
        screen.feed(bytes.as_bytes());
        screen
    }

    #[test]
    fn decsc_saves_place_pen_origin_and_charset() {
        let mut screen = screen(10, 6, "\x1b[3;4H\x1b[1m\x1b(0\x1b7\x1b[H\x1b[m\x1b(B\x1b8q");
        assert_eq!(screen.lines()[2], "   ─");
        assert_eq!(screen.row_runs(2)[1].style.attr_names(), ["bold"]);
        screen.feed(b"\x1b[2;4r\x1b[?6h\x1b7\x1b[?6l\x1b8\x1b[1;1H");
        assert_eq!(screen.cursor().row, 1);
    }

    #[test]
    fn a_restored_caret_lies_on_the_screen() {
        let mut screen = screen(10, 6, "\x1b[6;10H\x1b7");
        screen.resize(3, 2);
        screen.feed(b"\x1b8x");
        assert_eq!(screen.lines(), ["", "x"]);
    }

    #[test]
    fn a_full_reset_forgets_all_but_the_title() {
        let mut used = screen(10, 6, "\x1b]0;t\x07\x1b[?1049h\x1b[>5uabc\x1b[?2004h\x1b[2;3r\x1b[1m\x1bc");
        assert_eq!((used.title(), used.alternate()), ("t", false));
        used.feed(b"\x1b]0;\x07");
        assert_eq!(used, Screen::new(10, 6));
    }

    #[test]
    fn a_soft_reset_keeps_the_picture_and_the_mouse() {
        let screen = screen(10, 6, "abc\x1b[4h\x1b[?7l\x1b[?25l\x1b[?1000h\x1b[2;3r\x1b[1m\x1b[!p");
        assert_eq!(screen.lines()[0], "abc");
        assert_eq!(screen.modes(), ["1000"]);
        assert_eq!(screen.undo(), b"\x1b[?1000l");
    }

    #[test]
    fn resizing_resets_margins() {
        let mut screen = screen(6, 4, "abcdef\r\nghi\x1b[2;3r\x1b[3;1H");
        screen.resize(3, 3);
        assert_eq!(screen.lines(), ["def", "ghi", ""]);
        assert_eq!((screen.cursor().col, screen.cursor().row), (0, 2));
        screen.feed(b"\n");
        assert_eq!(screen.lines(), ["ghi", "", ""]);
    }
}
