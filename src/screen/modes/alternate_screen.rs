//! The alternate screen, and the three modes that enter and leave it.
//!
//! They differ in what they do besides switching: 47 nothing; 1047 clears the alternate screen when it is
//! left; 1049 saves the cursor, clears on entry, and restores the cursor on leaving.

/// How the alternate screen was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlternateScreen {
    /// Mode 47.
    Plain,
    /// Mode 1047.
    Clearing,
    /// Mode 1049.
    Saving,
    /// Mode 47 or 1047, and 1049 as well later.
    Mixed,
}

impl AlternateScreen {
    /// The variant for a private mode.
    pub fn from_number(number: u16) -> Option<Self> {
        match number {
            47 => Some(Self::Plain),
            1047 => Some(Self::Clearing),
            1049 => Some(Self::Saving),
            _ => None,
        }
    }

    pub fn number(self) -> u16 {
        match self {
            Self::Plain => 47,
            Self::Clearing => 1047,
            Self::Saving | Self::Mixed => 1049,
        }
    }

    /// Whether leaving restores the cursor that entering saved.
    pub fn restores(self) -> bool {
        self == Self::Saving
    }

    /// The sequences that enter it from the primary screen.
    pub fn way_in(self) -> &'static str {
        match self {
            Self::Plain => "\x1b[?47h",
            Self::Clearing => "\x1b[?1047h",
            Self::Saving => "\x1b[?1049h",
            Self::Mixed => "\x1b[?47h\x1b[?1049h",
        }
    }

    /// The sequences that leave it. In the mixed case some terminals leave with the first sequence and others
    /// with the second; the cursor is saved in between, because the second restores it even on the primary
    /// screen.
    pub fn way_back(self) -> String {
        match self {
            Self::Mixed => "\x1b[?47l\x1b7\x1b[?1049l".to_owned(),
            _ => format!("\x1b[?{}l", self.number()),
        }
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
