//! The state that writing depends on: cursor, screen buffers, modes, pens and links.

use crate::screen::cursor::{ActivePosition, CursorShape, PenStack};
use crate::screen::display::ScreenBuffers;
use crate::screen::grid::{Grid, Hyperlink, Hyperlinks, PackedStyle};
use crate::screen::modes::{AlternateScreen, ModeSet, TerminalMode};

/// The content of the display, and everything that drawing depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct DisplayState {
    /// Size, cursor, margins, tab stops.
    pub position: ActivePosition,
    /// The two screens and the history.
    pub buffers: ScreenBuffers,
    /// The modes, except origin mode, which is part of the cursor.
    pub modes: ModeSet,
    /// The pens that were pushed.
    pub pen_stack: PenStack,
    /// The cursor's shape, if the child has set one.
    pub cursor_shape: Option<CursorShape>,
    /// The hyperlinks of the text.
    pub links: Hyperlinks,
    /// The last protection came from SPA (`ESC V`), not DECSCA: protected cells survive every erase, not only
    /// a selective one.
    pub iso_protection: bool,
    /// DECSACE 2: attributes change in rectangles, not in lines.
    pub rectangular_changes: bool,
    /// The character that was just written, for REP: as in xterm and tmux, anything other than text clears
    /// it.
    pub last_printed: Option<char>,
    /// Something visible changed since this was cleared.
    pub changed: bool,
    /// How often the bell rang.
    pub bells: BellCount,
}

/// How often the bell rang.
#[derive(Clone, Copy, Debug, Default)]
pub struct BellCount(pub u64);

/// Always equal: nothing that later bytes could show depends on it.
impl PartialEq for BellCount {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl DisplayState {
    /// A fresh display. Both sizes are at least 1.
    pub fn new(cols: usize, rows: usize) -> Self {
        Self::with_grid(cols, rows, Grid::new(cols, rows))
    }

    fn with_grid(cols: usize, rows: usize, grid: Grid) -> Self {
        Self {
            position: ActivePosition::new(cols, rows),
            buffers: ScreenBuffers::new(grid),
            modes: ModeSet::default(),
            pen_stack: PenStack::default(),
            cursor_shape: None,
            links: Hyperlinks::default(),
            iso_protection: false,
            rectangular_changes: false,
            last_printed: None,
            changed: false,
            bells: BellCount::default(),
        }
    }

    /// RIS: resets everything except the pointers, which terminals keep; the scrollback is cleared, as in
    /// xterm. The rows are reused, because two bytes must not cost an allocation of the whole screen: those
    /// of the primary screen, whose moves may be followed.
    pub fn reset(&mut self) {
        let (cols, rows) = (self.position.cols, self.position.rows);
        let is_alternate = self.buffers.alternate.is_some();
        let primary = if is_alternate { &mut self.buffers.inactive } else { &mut self.buffers.active };
        let mut grid = std::mem::take(&mut primary.grid);
        grid.erase_rows(0, rows, PackedStyle::default());
        let old = std::mem::replace(self, Self::with_grid(cols, rows, grid));
        self.buffers.active.pointer = old.buffers.buffer(false).pointer;
        self.buffers.inactive.pointer = old.buffers.buffer(true).pointer;
        self.buffers.history = old.buffers.history;
        self.buffers.history.clear();
        self.changed = true;
    }

    /// DECSTR: resets state that would garble the next program's text. The picture stays.
    pub fn soft_reset(&mut self) {
        for mode in [TerminalMode::Insert, TerminalMode::CursorKeys, TerminalMode::Keypad] {
            self.modes.set(mode, false);
        }
        self.modes.set(TerminalMode::AutoWrap, true);
        self.modes.set(TerminalMode::CursorVisible, true);
        self.modes.set(TerminalMode::SideMargins, false);
        self.iso_protection = false;
        self.position.margins = self.position.whole();
        self.position.cursor = self.position.cursor.reset();
        self.buffers.active.saved_cursor = Default::default();
    }

    pub fn resize(&mut self, cols: usize, rows: usize) {
        self.position.cursor = self.buffers.resize(self.position.cursor, self.position.cols, cols, rows);
        self.unwrap_at_cursor();
        self.position.resize(cols, rows);
        self.last_printed = None;
        self.changed = true;
    }

    #[inline]
    pub fn is_on(&self, mode: TerminalMode) -> bool {
        match mode {
            TerminalMode::Origin => self.position.cursor.origin,
            _ => self.modes.is_on(mode),
        }
    }

    /// Turns a mode on or off.
    pub fn set_mode(&mut self, mode: TerminalMode, on: bool) {
        if mode == TerminalMode::Origin {
            return self.position.set_origin_mode(on);
        }
        self.changed |= mode == TerminalMode::ReverseVideo && self.modes.is_on(mode) != on;
        self.modes.set(mode, on);
        self.check_side_margins();
    }

    /// XTRESTORE of one mode.
    pub fn restore_mode(&mut self, mode: TerminalMode) {
        self.modes.restore(mode);
        self.check_side_margins();
    }

    /// Removes the side margins if mode 69 was switched off.
    fn check_side_margins(&mut self) {
        if !self.is_on(TerminalMode::SideMargins) {
            self.position.drop_side_margins();
        }
    }

    /// DECCOLM: erases the screen and resets the margins. The window's owner decides about its width and
    /// reports it. 132 columns erase in most terminals without mode 40, too (alacritty, tmux, kitty, foot);
    /// 80 are part of what `tput init` sends, and do nothing in most without it.
    pub fn change_columns(&mut self) {
        if !self.is_on(TerminalMode::KeepOnColumns) {
            self.clear_screen();
        }
        self.modes.set(TerminalMode::SideMargins, false);
        self.position.margins = self.position.whole();
        self.position.move_to_addressed(0, 0);
        self.changed = true;
    }

    /// The style of erased cells.
    #[inline]
    pub fn blank(&self) -> PackedStyle {
        self.position.cursor.pen.erased()
    }

    /// DECSC.
    pub fn save_cursor(&mut self) {
        self.buffers.active.saved_cursor = self.position.saved();
    }

    /// DECRC. Without a preceding DECSC it moves home with a plain pen.
    pub fn restore_cursor(&mut self) {
        self.position.restore(self.buffers.active.saved_cursor);
        self.unwrap_at_cursor();
    }

    /// Clears the wrap flag of the row under a cursor with pending wrap: it continues on the next row only
    /// when the next character is written.
    pub fn unwrap_at_cursor(&mut self) {
        if self.position.cursor.wrap_pending {
            self.buffers
                .active
                .grid
                .row_mut(self.position.cursor.row)
                .into_iter()
                .for_each(|row| row.wrapped = false);
        }
    }

    /// DECSET 47, 1047, 1049. True if this changed the visible buffer.
    pub fn enter_alternate(&mut self, how: AlternateScreen) -> bool {
        if how == AlternateScreen::Saving {
            self.save_cursor();
        }
        if let Some(entered) = &mut self.buffers.alternate {
            // A terminal that does not support the first mode has entered by this one.
            if how == AlternateScreen::Saving && *entered != AlternateScreen::Saving {
                *entered = AlternateScreen::Mixed;
            }
            return false;
        }
        self.buffers.alternate = Some(how);
        self.swap_buffers();
        if how == AlternateScreen::Saving {
            self.clear_screen();
        }
        true
    }

    /// DECRST 47, 1047, 1049. `?1049l` on the primary screen restores the saved cursor, too (xterm; measured
    /// in tmux), which is why the undo must never send it there.
    pub fn leave_alternate(&mut self, how: AlternateScreen) -> bool {
        let left = self.buffers.alternate.is_some();
        if left {
            if how == AlternateScreen::Clearing {
                self.clear_screen();
            }
            self.swap_buffers();
            self.buffers.alternate = None;
        }
        if how == AlternateScreen::Saving {
            self.restore_cursor();
        }
        left
    }

    fn swap_buffers(&mut self) {
        self.buffers.swap(self.position.cols, self.position.rows);
        self.unwrap_at_cursor();
        self.changed = true;
    }

    fn clear_screen(&mut self) {
        let blank = self.blank();
        self.buffers.active.grid.erase_rows(0, self.position.rows, blank);
    }

    /// OSC 8, without its number: the link of later text.
    pub fn set_link(&mut self, parts: &[&[u8]]) {
        if parts.len() < 2 {
            return;
        }
        let number = Hyperlink::read(parts).map_or(0, |link| {
            if self.links.is_due(&link) {
                let used = self.used_links();
                self.links.retain(&used);
            }
            self.links.number(&link)
        });
        self.position.cursor.pen.set_link(number);
    }

    /// The numbers of the links in cells, scrollback, pens and saved pens.
    fn used_links(&self) -> Vec<bool> {
        let mut used = self.links.unused();
        let mut mark = |style: PackedStyle| {
            if let Some(place) = used.get_mut(usize::from(style.link())) {
                *place = true;
            }
        };
        mark(self.position.cursor.pen);
        self.buffers.each_style(mark);
        used
    }

    /// This state with links numbered in order of occurrence, so that equal states compare equal.
    pub fn renumbered(&self) -> Self {
        let mut new = self.clone();
        let mut links = self.links.without_numbers();
        let mut renumber = |style: &mut PackedStyle| {
            if let Some(link) = self.links.get(style.link()) {
                style.set_link(links.number(link));
            }
        };
        renumber(&mut new.position.cursor.pen);
        new.buffers.change_styles(renumber);
        new.links = links;
        new
    }
}
