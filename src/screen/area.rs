//! Rectangles: DECFRA fills one, DECERA and DECSERA erase one, DECCRA copies one. tmux clears panes with the first.
//!
//! They are given by rows and columns, in origin mode from the margins. The caret stays where it is.

use std::ops::Range;

use super::params::Params;
use super::row::Row;
use super::terminal::Terminal;

/// The cells of some columns in some rows, neither empty.
#[derive(Clone, Debug)]
struct Area {
    rows: Range<usize>,
    cols: Range<usize>,
}

impl Terminal {
    /// DECFRA: a character of ASCII or Latin-1 in every cell, with the look of the pen.
    pub(super) fn fill_area(&mut self, args: &Params) {
        let ch = u8::try_from(args.value(0)).ok().filter(|byte| matches!(byte, b' '..=b'~' | 0xa0..)).map(char::from);
        let (Some(ch), Some(area)) = (ch, self.area(args, 1)) else { return };
        let look = self.caret.look;
        self.edit(area, |row, cols| cols.for_each(|col| row.put_narrow(col, ch, look)));
    }

    /// DECERA.
    pub(super) fn erase_area(&mut self, args: &Params) {
        let Some(area) = self.area(args, 0) else { return };
        let blank = self.blank();
        self.edit(area, |row, cols| row.erase(cols.start, cols.end, blank));
    }

    /// DECSERA: what is protected stays.
    pub(super) fn erase_area_selectively(&mut self, args: &Params) {
        let Some(area) = self.area(args, 0) else { return };
        let blank = self.blank();
        self.edit(area, |row, cols| row.erase_unprotected(cols.start, cols.end, blank));
    }

    fn edit(&mut self, area: Area, edit: impl Fn(&mut Row, Range<usize>)) {
        for at in area.rows {
            self.page.grid.row_mut(at).into_iter().for_each(|row| edit(row, area.cols.clone()));
        }
        self.changed = true;
    }

    /// DECCRA: from one place to another, which may overlap. There is but one page.
    pub(super) fn copy_area(&mut self, args: &Params) {
        let Some(from) = self.area(args, 0) else { return };
        let (row, col) = (self.addressed_row(args.position(5)), self.addressed_col(args.position(6)));
        let (_, last_row, _, last_col) = self.ends();
        if row > last_row || col > last_col {
            return;
        }
        let rows = from.rows.len().min(last_row + 1 - row);
        let cols = from.cols.start..from.cols.start + from.cols.len().min(last_col + 1 - col);
        let copy = |terminal: &mut Self, n: usize| terminal.copy_part(from.rows.start + n, cols.clone(), row + n, col);
        if row > from.rows.start {
            (0..rows).rev().for_each(|n| copy(self, n));
        } else {
            (0..rows).for_each(|n| copy(self, n));
        }
        self.wait_anew();
        self.changed = true;
    }

    fn copy_part(&mut self, from: usize, cols: Range<usize>, to: usize, at: usize) {
        if from != to {
            if let Some((row, other)) = self.page.grid.two(to, from) {
                row.paste(other, cols, at);
            }
        } else if let Some(row) = self.page.grid.row_mut(to) {
            let same = row.clone();
            row.paste(&same, cols, at);
        }
    }

    /// First and last row, first and last column of what can be addressed.
    fn ends(&self) -> (usize, usize, usize, usize) {
        let all = if self.caret.origin { self.region } else { self.whole() };
        (all.top, all.bottom, all.left, all.right)
    }

    /// The area that four parameters from the `first` on name: top, left, bottom, right. None are all there is.
    fn area(&self, args: &Params, first: usize) -> Option<Area> {
        let (_, last_row, _, last_col) = self.ends();
        let (top, left) = (self.addressed_row(args.position(first)), self.addressed_col(args.position(first + 1)));
        let bottom = if args.value(first + 2) == 0 { last_row } else { self.addressed_row(args.position(first + 2)) };
        let right = if args.value(first + 3) == 0 { last_col } else { self.addressed_col(args.position(first + 3)) };
        let area = Area { rows: top..bottom.min(last_row) + 1, cols: left..right.min(last_col) + 1 };
        (!area.rows.is_empty() && !area.cols.is_empty()).then_some(area)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Attr, Screen};

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
        for bytes in ["\x1b[46;3;3;2;2$x", "\x1b[46;9;1$x", "\x1b[7;1;1$x", "\x1b[300;1;1$x", "\x1b[2;9;3;9$z", "\x1b[1;1;2;2;1;9;1$v"]
        {
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
