//! Setting and resetting modes, and the alternate screen that three of them stand for.
//!
//! The three differ in what they do beside switching: 47 nothing; 1047 clears the alternate screen when it is left; 1049
//! saves the cursor, clears on entry, and restores the cursor on leaving. `?1049l` on the primary screen restores the
//! saved cursor too (xterm; measured in tmux), which is why the undo must never send it there.

use super::mode::{Mode, ModeSpace};
use crate::screen::reply::ModeState;
use crate::screen::restore::Topic;
use crate::screen::terminal::Terminal;

/// How the alternate screen was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alternate {
    /// `?47h`.
    Plain,
    /// `?1047h`.
    Clearing,
    /// `?1049h`.
    Saving,
    /// `?47h` or `?1047h`, and `?1049h` as well later.
    Mixed,
}

impl Alternate {
    fn from_number(number: u16) -> Option<Self> {
        match number {
            47 => Some(Self::Plain),
            1047 => Some(Self::Clearing),
            1049 => Some(Self::Saving),
            _ => None,
        }
    }

    /// The mode's number.
    pub fn number(self) -> u16 {
        match self {
            Self::Plain => 47,
            Self::Clearing => 1047,
            Self::Saving | Self::Mixed => 1049,
        }
    }

    /// Whether the way back restores the cursor that the way in saved.
    pub fn restores(self) -> bool {
        self == Self::Saving
    }

    /// The sequences that lead there from the primary screen.
    pub fn way_in(self) -> &'static str {
        match self {
            Self::Plain => "\x1b[?47h",
            Self::Clearing => "\x1b[?1047h",
            Self::Saving => "\x1b[?1049h",
            Self::Mixed => "\x1b[?47h\x1b[?1049h",
        }
    }

    /// The sequences that lead back. In the mixed case some terminals are led back by the first and others by the second;
    /// the cursor is saved between, because the second restores it even where it leads nowhere.
    pub fn way_back(self) -> String {
        match self {
            Self::Mixed => "\x1b[?47l\x1b7\x1b[?1049l".to_owned(),
            _ => format!("\x1b[?{}l", self.number()),
        }
    }
}

impl Terminal {
    /// SM, RM, DECSET, DECRST of one number. Unknown ones are ignored.
    pub fn set_mode(&mut self, space: ModeSpace, number: u16, on: bool) {
        if space == ModeSpace::Private {
            if let Some(how) = Alternate::from_number(number) {
                return if on { self.enter_alternate(how) } else { self.leave_alternate(how) };
            }
            match (number, on) {
                (1048, true) => return self.save_caret(),
                (1048, false) => return self.restore_caret(),
                (3, _) if on || self.is_on(Mode::AllowColumns) => return self.change_columns(),
                (2, _) => {
                    self.extras.vt52 = !on;
                    return;
                }
                _ => {}
            }
        }
        match Mode::from_number(space, number) {
            Some(Mode::Origin) => {
                self.caret.origin = on;
                self.go_addressed(0, 0);
            }
            Some(mode) => {
                self.changed |= mode == Mode::ReverseVideo && self.modes.is_on(mode) != on;
                self.modes.set(mode, on);
                self.check_sides();
            }
            None => {}
        }
    }

    /// DECCOLM: the screen is erased and the margins are gone. The window's width is its owner's business, who tells of it. 132
    /// columns erase in most terminals without mode 40, too (alacritty, tmux, kitty, foot); 80 are part of what `tput init` sends, and do
    /// nothing in most without it.
    fn change_columns(&mut self) {
        if !self.is_on(Mode::KeepOnColumns) {
            self.clear_page();
        }
        self.modes.set(Mode::SideMargins, false);
        self.region = self.whole();
        self.go_addressed(0, 0);
        self.changed = true;
    }

    /// XTSAVE of one number.
    pub fn save_mode(&mut self, number: u16) {
        if let Some(mode) = Mode::from_number(ModeSpace::Private, number) {
            self.modes.save(mode);
        }
    }

    /// XTRESTORE of one number.
    pub fn restore_mode(&mut self, number: u16) {
        if let Some(mode) = Mode::from_number(ModeSpace::Private, number) {
            self.modes.restore(mode);
            self.check_sides();
        }
    }

    /// A DECRQM: the terminal's answer tells how the mode was before, if the child has not touched it.
    pub fn ask_former_mode(&mut self, space: ModeSpace, number: u16) {
        if let Some(mode) = Mode::from_number(space, number).filter(|mode| *mode != Mode::Origin) {
            self.former.ask(Topic::Mode(mode), !self.modes.is_touched(mode));
        }
    }

    /// What DECRQM answers for a number. Margins at the sides, widths by grapheme cluster, sizes in band, pastes as events and keys as
    /// Windows has them are denied: a program that asks once and is told of them uses them for good (Neovim, vaxis), and the terminal that
    /// attaches later may have none (kitty, alacritty).
    pub fn mode_state(&self, space: ModeSpace, number: u16) -> ModeState {
        let on = match (space, number) {
            (ModeSpace::Private, 47 | 1047 | 1049) => self.alternate.is_some(),
            (ModeSpace::Private, 69 | 2027 | 2048 | 5522 | 9001) => return ModeState::Unknown,
            _ => match Mode::from_number(space, number) {
                Some(mode) => self.is_on(mode),
                None => return ModeState::Unknown,
            },
        };
        if on { ModeState::Set } else { ModeState::Reset }
    }

    fn enter_alternate(&mut self, how: Alternate) {
        if how == Alternate::Saving {
            self.save_caret();
        }
        match &mut self.alternate {
            Some(entered) => {
                // A terminal that does not know the first one has entered by this one.
                if how == Alternate::Saving && *entered != Alternate::Saving {
                    *entered = Alternate::Mixed;
                }
                return;
            }
            None => self.alternate = Some(how),
        }
        self.swap_pages();
        if how == Alternate::Saving {
            self.clear_page();
        }
    }

    fn leave_alternate(&mut self, how: Alternate) {
        if self.alternate.is_some() {
            if how == Alternate::Clearing {
                self.clear_page();
            }
            self.swap_pages();
            self.alternate = None;
        }
        if how == Alternate::Saving {
            self.restore_caret();
        }
    }

    fn swap_pages(&mut self) {
        std::mem::swap(&mut self.page, &mut self.hidden);
        if self.page.grid.is_unused() {
            self.page.grid.resize(self.cols, self.rows);
        }
        self.wait_anew();
        self.touched = true;
        self.changed = true;
    }

    fn clear_page(&mut self) {
        let blank = self.blank();
        self.page.grid.erase_rows(0, self.rows, blank);
    }
}

#[cfg(test)]
mod tests {
    use crate::screen::Screen;

    fn screen(bytes: &str) -> Screen {
        let mut screen = Screen::new(8, 3);
        screen.feed(bytes.as_bytes());
        screen
    }

    fn place(screen: &Screen) -> (u16, u16) {
        (screen.cursor().col, screen.cursor().row)
    }

    #[test]
    fn the_primary_screen_comes_back_as_it_was() {
        let mut screen = screen("abc\x1b[?1049h");
        assert!(screen.alternate());
        assert_eq!((screen.lines()[0].as_str(), place(&screen)), ("", (3, 0)));
        screen.feed(b"\x1b[2;2Hxyz\x1b[?1049l");
        assert!(!screen.alternate());
        assert_eq!((screen.lines()[0].as_str(), place(&screen)), ("abc", (3, 0)));
    }

    #[test]
    fn each_of_the_three_clears_in_its_own_way() {
        let again = |number: u16| {
            let on = format!("\x1b[?{number}h");
            let off = format!("\x1b[?{number}l");
            screen(&format!("{on}\x1b[Hold{off}\x1b[?47h")).lines()[0].clone()
        };
        assert_eq!((again(47).as_str(), again(1047).as_str()), ("old", ""));
        assert_eq!(screen("\x1b[?47h\x1b[Hold\x1b[?47l\x1b[?1049h").lines()[0], "");
    }

    #[test]
    fn the_saved_cursors_of_the_two_screens_are_separate() {
        let mut screen = screen("\x1b[1;2H\x1b7\x1b[?47h\x1b[2;3H\x1b7\x1b[?47l\x1b8");
        assert_eq!(place(&screen), (1, 0));
        screen.feed(b"\x1b[?47h\x1b8");
        assert_eq!(place(&screen), (2, 1));
    }

    #[test]
    fn leaving_a_screen_that_is_not_shown_restores_the_cursor_all_the_same() {
        assert_eq!(place(&screen("\x1b[2;2H\x1b7\x1b[3;5H\x1b[?1049l")), (1, 1));
        assert_eq!(place(&screen("\x1b[2;2H\x1b7\x1b[3;5H\x1b[?1047l")), (4, 2));
    }

    #[test]
    fn another_number_of_columns_erases_where_it_is_allowed() {
        let after = |bytes: &str| screen(&format!("\x1b[2;3r\x1b[3;5Hold{bytes}")).lines();
        assert_eq!(after("\x1b[?3lx"), ["", "", "    oldx"]);
        assert_eq!(after("\x1b[2;3r\x1b[?3hx\x1b[?3l\x1b[3;1H\ny"), ["", "", "y"]);
        assert_eq!(after("\x1b[?40h\x1b[?3hx"), ["x", "", ""]);
        assert_eq!(after("\x1b[?40h\x1b[?3l\x1b[3;1H\nx"), ["", "", "x"]);
        assert_eq!(after("\x1b[?40;95h\x1b[?3hx"), ["x", "", "    old"]);
        assert_eq!(after("\x1b[?40h\x1b[?40;3hx\x1b[?40l\x1b[?3l"), ["x", "", ""]);
    }

    #[test]
    fn a_second_entry_changes_nothing() {
        let screen = screen("\x1b[?1049habc\x1b[?1049h");
        assert_eq!((screen.lines()[0].as_str(), screen.modes()), ("abc", vec!["1049".to_owned()]));
    }

    #[test]
    fn resizing_reaches_the_hidden_screen() {
        let mut screen = screen("abcdefgh\r\nx\x1b[?1049h");
        screen.resize(4, 5);
        screen.feed(b"\x1b[?1049l");
        assert_eq!(screen.lines(), ["abcd", "efgh", "x", "", ""]);
    }
}
