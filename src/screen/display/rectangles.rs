//! Rectangles: DECFRA fills one, DECERA and DECSERA erase one, DECCRA copies one, DECCARA and DECRARA change
//! attributes in one. tmux clears panes with the first.
//!
//! They are given by rows and columns, in origin mode from the margins. The cursor stays where it is.

use crate::screen::display::DisplayState;
use crate::screen::grid::{Area, PackedStyle};
use crate::screen::parser::Params;

/// How many parameters a rectangle has.
const CORNERS: usize = 4;

impl DisplayState {
    /// DECFRA: fills every cell with an ASCII or Latin-1 character in the pen's style.
    pub fn fill_area(&mut self, args: &Params) {
        let ch = u8::try_from(args.value(0))
            .ok()
            .filter(|byte| matches!(byte, b' '..=b'~' | 0xa0..))
            .map(char::from);
        let (Some(ch), Some(area)) = (ch, self.area(args, 1)) else { return };
        self.buffers.active.grid.fill_area(&area, ch, self.position.cursor.pen);
        self.changed = true;
    }

    /// DECERA.
    pub fn erase_area(&mut self, args: &Params) {
        let Some(area) = self.area(args, 0) else { return };
        let blank = self.blank();
        self.buffers.active.grid.erase_area(&area, blank);
        self.changed = true;
    }

    /// DECSERA: cells protected by DECSCA stay, those protected by SPA do not, as in xterm.
    pub fn erase_area_selectively(&mut self, args: &Params) {
        if self.iso_protection {
            return self.erase_area(args);
        }
        let Some(area) = self.area(args, 0) else { return };
        let blank = self.blank();
        self.buffers.active.grid.erase_area_unprotected(&area, blank);
        self.changed = true;
    }

    /// DECCARA: applies an SGR; xterm supports a few numbers, kitty all.
    pub fn change_area(&mut self, args: &Params) {
        self.restyle_area(args, |style| style.change(args.behind(CORNERS)));
    }

    /// DECRARA: toggles attributes; 0 means all of them.
    pub fn reverse_area(&mut self, args: &Params) {
        let numbers = || args.behind(CORNERS).filter_map(|param| param.first().copied());
        self.restyle_area(args, |style| numbers().for_each(|number| style.reverse(number)));
    }

    /// In a rectangle after DECSACE 2, otherwise in lines from its first cell to its last one.
    fn restyle_area(&mut self, args: &Params, change: impl Fn(&mut PackedStyle)) {
        let Some(area) = self.area(args, 0) else { return };
        self.buffers.active.grid.restyle_area(&area, self.rectangular_changes, change);
        self.changed = true;
    }

    /// DECCRA: copies to another place, which may overlap. There is only one page.
    pub fn copy_area(&mut self, args: &Params) {
        let Some(Area { rows, cols }) = self.area(args, 0) else { return };
        let (row, col) =
            (self.position.addressed_row(args.position(5)), self.position.addressed_col(args.position(6)));
        let last = self.position.addressable();
        if row > last.bottom || col > last.right {
            return;
        }
        let rows = rows.start..rows.start + rows.len().min(last.bottom + 1 - row);
        let cols = cols.start..cols.start + cols.len().min(last.right + 1 - col);
        self.buffers.active.grid.copy_area(&Area { rows, cols }, row, col);
        self.unwrap_at_cursor();
        self.changed = true;
    }

    fn area(&self, args: &Params, first: usize) -> Option<Area> {
        self.position.area([0, 1, 2, 3].map(|at| args.value(first + at)))
    }
}

#[cfg(test)]
mod tests {
    use crate::screen::{Attr, Screen};

    fn lines(bytes: &str) -> Vec<String> {
        let mut screen = Screen::new(5, 4);
        screen.feed(b"abcde\r\nfghij\r\nklmno\r\npqrst");
        screen.feed(bytes.as_bytes());
        screen.lines()
    }

    #[test]
    fn areas_are_filled_and_erased() {
        assert_eq!(lines("\x1b[46;2;2;3;4$x"), ["abcde", "f...j", "k...o", "pqrst"]);
        assert_eq!(lines("\x1b[233;4;4$x"), ["abcde", "fghij", "klmno", "pqréé"]);
        assert_eq!(lines("\x1b[2;2;3;4$z"), ["abcde", "f   j", "k   o", "pqrst"]);
        assert_eq!(lines("\x1b[;;2;99$z"), ["", "", "klmno", "pqrst"]);
        assert_eq!(lines("\x1b[2;2;3;4${"), ["abcde", "f   j", "k   o", "pqrst"]);
    }

    #[test]
    fn what_is_no_area_or_no_character_changes_nothing() {
        for bytes in [
            "\x1b[46;3;3;2;2$x", "\x1b[46;9;1$x", "\x1b[7;1;1$x", "\x1b[300;1;1$x", "\x1b[2;9;3;9$z",
            "\x1b[1;1;2;2;1;9;1$v",
        ] {
            assert_eq!(lines(bytes), lines(""), "{bytes:?}");
        }
    }

    #[test]
    fn areas_are_copied_even_over_themselves() {
        assert_eq!(lines("\x1b[1;1;2;2;1;3;4;1$v"), ["abcde", "fghij", "klmab", "pqrfg"]);
        assert_eq!(lines("\x1b[1;1;3;4;1;2;2;1$v"), ["abcde", "fabcd", "kfghi", "pklmn"]);
        assert_eq!(lines("\x1b[2;2;4;5;1;1;1;1$v"), ["ghije", "lmnoj", "qrsto", "pqrst"]);
        assert_eq!(lines("\x1b[1;1;1;4;1;1;2$v"), ["aabcd", "fghij", "klmno", "pqrst"]);
        assert_eq!(lines("\x1b[$v\x1b[1;1;;;;4;5$v"), ["abcde", "fghij", "klmno", "pqrsa"]);
    }

    #[test]
    fn in_origin_mode_areas_lie_between_the_margins() {
        let inside = |bytes: &str| lines(&format!("\x1b[2;3r\x1b[?69h\x1b[2;4s\x1b[?6h{bytes}"));
        assert_eq!(inside("\x1b[46;;;9;9$x"), ["abcde", "f...j", "k...o", "pqrst"]);
        assert_eq!(inside("\x1b[1;1;1;1;1;2;2$v"), ["abcde", "fghij", "klgno", "pqrst"]);
        assert_eq!(inside("\x1b[$z"), ["abcde", "f   j", "k   o", "pqrst"]);
    }

    #[test]
    fn the_pen_is_the_look_of_what_fills() {
        let mut screen = Screen::new(4, 2);
        screen.feed("漢字\x1b[1;1H\x1b[1;44m\x1b[45;1;2;1;3$xz".as_bytes());
        let runs = screen.row_runs(0);
        assert_eq!(runs.iter().map(|run| run.text.as_str()).collect::<Vec<_>>(), ["z--"]);
        assert!(runs[0].style.has(Attr::Bold));
        screen.feed(b"\x1b[1;1;1;1$z");
        assert!(!screen.row_runs(0)[0].style.has(Attr::Bold));
    }

    fn attributes(bytes: &str) -> Vec<String> {
        let mut screen = Screen::new(4, 3);
        screen.feed(format!("abcd\r\n漢字\r\nx{bytes}").as_bytes());
        let runs = |row| {
            screen
                .row_runs(row)
                .into_iter()
                .map(|run| format!("{}{}", run.text, &run.style.sgr()[1..]))
                .collect()
        };
        (0..3).map(runs).collect()
    }

    #[test]
    fn attributes_change_in_lines_that_run_on_or_in_a_rectangle() {
        assert_eq!(attributes("\x1b[1;2;2;2;1;31$r"), ["a[mbcd[0;1;31m", "漢[0;1;31m字[m", "x[m"]);
        assert_eq!(attributes("\x1b[2*x\x1b[1;3;2;3;4:3$r"), ["ab[mc[0;4:3md[m", "漢[m字[0;4:3m", "x[m"]);
        assert_eq!(attributes("\x1b[2*x\x1b[*x\x1b[3;2;;;7$r"), ["abcd[m", "漢字[m", "x[m   [0;7m"]);
        assert_eq!(attributes("\x1b[;;;;1;4$r\x1b[;;1;;22$r\x1b[2;;;;0$r"), ["abcd[0;4m", "漢字[m", "x[m"]);
        assert_eq!(attributes("\x1b[;;1;1;1$r\x1b[;;1;2;1;7$t"), ["a[0;7mb[0;1;7mcd[m", "漢字[m", "x[m"]);
        assert_eq!(attributes("\x1b[1;1;1;1;0;3$t"), ["a[0;1;5;7;4mbcd[m", "漢字[m", "x[m"]);
        for none in ["\x1b[3;3;2;2;1$r", "\x1b[1;1;2;2$r", "\x1b[9;1;9;1;1$r", "\x1b[1;1;1;1;38;5$r"] {
            assert_eq!(attributes(none), attributes(""), "{none:?}");
        }
    }

    #[test]
    fn erasing_selectively_leaves_what_is_protected() {
        let guarded = |bytes: &str| {
            let mut screen = Screen::new(5, 2);
            screen.feed("a\x1b[1\"qb漢\x1b[2\"qe\r\nf\x1b[1\"qg\x1b[m\x1b[0\"q\x1b7hij\x1b[1;3H".as_bytes());
            screen.feed(bytes.as_bytes());
            screen.lines()
        };
        assert_eq!(guarded("\x1b[?2J"), [" b漢", " g"]);
        assert_eq!(guarded("\x1b[?J"), ["ab漢", " g"]);
        assert_eq!(guarded("\x1b[?1J"), [" b漢e", "fghij"]);
        assert_eq!(guarded("\x1b[?K"), ["ab漢", "fghij"]);
        assert_eq!(guarded("\x1b[1;1;2;2${"), [" b漢e", " ghij"]);
        assert_eq!(guarded("\x1b[2J"), ["", ""]);
        assert_eq!(guarded("\x1b[1\"q\x1b[H\x1b[mX\x1b[?2J"), ["Xb漢", " g"]);
        assert_eq!(guarded("\x1b[1\"q\x1b8XY\x1b[?2J"), [" b漢", " g"]);
    }
}
