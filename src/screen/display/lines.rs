//! From one row to the next: line feeds, scrolling, reverse wrap, and shifting columns.
//!
//! A cursor outside of the margins scrolls nothing. All of this is as in xterm.

use crate::screen::cursor::Margins;
use crate::screen::display::DisplayState;
use crate::screen::grid::GridRow;
use crate::screen::modes::TerminalMode;

impl DisplayState {
    /// BS and CUB: to the left. With reverse wrap (45) it continues at the end of the row above, if that row
    /// wrapped into this one; with mode 1045 always, and from the top margin to the bottom one. Pending wrap
    /// then counts as a column.
    pub fn go_back(&mut self, mut count: usize) {
        let anywhere = self.is_on(TerminalMode::ReverseWrapAnywhere);
        if !(anywhere || self.is_on(TerminalMode::ReverseWrap)) || !self.is_on(TerminalMode::AutoWrap) {
            return self.position.left(count);
        }
        count -= usize::from(self.position.cursor.wrap_pending).min(count);
        self.position.cursor.wrap_pending = false;
        loop {
            let here = count.min(self.position.cursor.col - self.position.left_limit());
            self.position.left(here);
            count -= here;
            let (row, Margins { top, bottom, right, .. }) = (self.position.cursor.row, self.position.margins);
            if count == 0 {
                return;
            }
            let above = match row.checked_sub(1) {
                _ if row == top => anywhere.then_some(bottom),
                Some(above) => self
                    .buffers
                    .active
                    .grid
                    .rows()
                    .get(above)
                    .filter(|row| anywhere || row.wrapped)
                    .map(|_| above),
                None => None,
            };
            let Some(above) = above else { return };
            self.position.move_to(right, above);
            count -= 1;
        }
    }

    /// IND and line feed: down; at the bottom margin the area between the margins scrolls.
    pub fn index(&mut self) {
        let Margins { bottom, .. } = self.position.margins;
        if self.position.cursor.row == bottom && self.position.margins.has_col(self.position.cursor.col) {
            self.position.cursor.wrap_pending = false;
            self.scroll_up(self.position.margins, 1);
        } else {
            self.position.down(1);
        }
    }

    /// RI: up; at the top margin the area scrolls down.
    pub fn reverse_index(&mut self) {
        let Margins { top, .. } = self.position.margins;
        if self.position.cursor.row == top && self.position.margins.has_col(self.position.cursor.col) {
            self.position.cursor.wrap_pending = false;
            self.scroll_down(self.position.margins, 1);
        } else {
            self.position.up(1);
        }
    }

    /// Scrolls the area between margins up.
    pub fn scroll_up(&mut self, margins: Margins, count: usize) {
        let blank = self.blank();
        self.buffers.scroll_up(margins, self.position.cols, count, blank);
        self.unwrap_at_cursor();
        self.changed = true;
    }

    /// Scrolls the area between margins down.
    pub fn scroll_down(&mut self, margins: Margins, count: usize) {
        let blank = self.blank();
        self.buffers.scroll_down(margins, self.position.cols, count, blank);
        self.unwrap_at_cursor();
        self.changed = true;
    }

    /// SL and DECDC: moves the columns from `col` to the right margin to the left, if the cursor is inside
    /// the margins.
    pub fn shift_left(&mut self, col: usize, count: usize) {
        let blank = self.blank();
        self.shift(col, |row, edge| row.delete_within(col..edge, count, blank));
    }

    /// SR and DECIC: moves them to the right.
    pub fn shift_right(&mut self, col: usize, count: usize) {
        let blank = self.blank();
        self.shift(col, |row, edge| row.insert_within(col..edge, count, blank));
    }

    fn shift(&mut self, col: usize, shift: impl Fn(&mut GridRow, usize)) {
        let (margins, cursor) = (self.position.margins, &mut self.position.cursor);
        if margins.has_col(cursor.col) && margins.has_row(cursor.row) && margins.has_col(col) {
            cursor.wrap_pending = false;
            let rows = margins.top..=margins.bottom;
            rows.for_each(|row| {
                self.buffers
                    .active
                    .grid
                    .row_mut(row)
                    .into_iter()
                    .for_each(|row| shift(row, margins.right + 1))
            });
            self.changed = true;
        }
    }

    /// DECBI: to the left; at the left margin the columns are shifted to the right.
    pub fn back_index(&mut self) {
        let margins = self.position.margins;
        if self.position.cursor.col == margins.left && margins.has_row(self.position.cursor.row) {
            self.shift_right(margins.left, 1);
        } else {
            self.position.left(1);
        }
    }

    /// DECFI: to the right; at the right margin the columns are shifted to the left.
    pub fn forward_index(&mut self) {
        let margins = self.position.margins;
        if self.position.cursor.col == margins.right && margins.has_row(self.position.cursor.row) {
            self.shift_left(margins.left, 1);
        } else {
            self.position.right(1);
        }
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

    fn at(bytes: &str) -> (u16, u16) {
        let cursor = screen(10, 6, bytes).cursor();
        (cursor.col, cursor.row)
    }

    /// Three columns with one on either side, in three rows with one above and below; the cursor is in the
    /// middle.
    fn lines(bytes: &str) -> Vec<String> {
        let text = "abcde\r\nfghij\r\nklmno\r\npqrst\r\nuvwxy";
        screen(5, 5, &format!("{text}\x1b[?69h\x1b[2;4s\x1b[2;4r\x1b[3;3H{bytes}")).lines()
    }

    #[test]
    fn vertical_moves_stop_at_the_margins_they_started_inside() {
        assert_eq!(at("\x1b[2;4r\x1b[3;5H\x1b[9A"), (4, 1));
        assert_eq!(at("\x1b[2;4r\x1b[3;5H\x1b[9B"), (4, 3));
        assert_eq!(at("\x1b[2;4r\x1b[1;5H\x1b[9A"), (4, 0));
        assert_eq!(at("\x1b[2;4r\x1b[5;5H\x1b[9B"), (4, 5));
    }

    #[test]
    fn so_do_horizontal_ones() {
        let inside = |bytes: &str| at(&format!("\x1b[?69h\x1b[3;6s\x1b[2;4H{bytes}")).0;
        assert_eq!(
            (inside("\x1b[9D"), inside("\x1b[9C"), inside("\r"), inside("\x08\x08\x08")),
            (2, 5, 2, 2)
        );
        assert_eq!((inside("\x1b[1G\x1b[9C"), inside("\x1b[2G\x1b[D"), inside("\x1b[2G\r")), (5, 0, 0));
        assert_eq!((inside("\x1b[8G\x1b[9C"), inside("\x1b[8G\x1b[9D"), inside("\x1b[8G\r")), (9, 2, 2));
        assert_eq!((inside("\x1b[?6h\x1b[Z"), inside("\x1b[Z")), (2, 0));
        assert_eq!((inside("\x1b[9E"), inside("\x1b[F"), inside("\x1bE"), inside("\t")), (2, 2, 2, 5));
    }

    #[test]
    fn reverse_wrap_goes_back_over_what_ran_over() {
        let after = |bytes: &str| lines(&format!("\x1b[?69l\x1b[r\x1b[2J\x1b[H{bytes}z"));
        assert_eq!(after("\x1b[?45ha\r\n\x08\x08"), ["a", "z", "", "", ""]);
        assert_eq!(after("\x1b[?45habcdefg\x1b[4D"), ["abcze", "fg", "", "", ""]);
        assert_eq!(after("\x1b[?45habcdef\x08\x08"), ["abcdz", "f", "", "", ""]);
        assert_eq!(after("\x1b[?45habcde\x08"), ["abcdz", "", "", "", ""]);
        assert_eq!(after("\x1b[?45h\x1b[?7l\r\n\x08"), ["", "z", "", "", ""]);
        assert_eq!(after("\x1b[?45habcdef\x1b[999D"), ["zbcde", "f", "", "", ""]);
        assert_eq!(after("\x1b[?1045ha\r\n\x08"), ["a   z", "", "", "", ""]);
        assert_eq!(after("\x1b[?1045h\x08"), ["", "", "", "", "    z"]);
        assert_eq!(after("\x1b[?1045h\x1b[2;4r\x1b[2;1H\x08"), ["", "", "", "    z", ""]);
        assert_eq!(after("\x1b[?1045h\x1b[3;4r\x1b[2;1H\x1b[99D"), ["z", "", "", "", ""]);
        assert_eq!(after("\x1b[?1045h\x1b[?69h\x1b[2;4s\x1b[3;1H\x08"), ["", "   z", "", "", ""]);
    }

    #[test]
    fn line_feeds_scroll_only_the_region() {
        let screen = screen(4, 4, "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\n\x1b[4;1H\n");
        assert_eq!(screen.lines(), ["a", "c", "", "d"]);
    }

    #[test]
    fn reverse_index_scrolls_the_region_down() {
        let screen = screen(4, 4, "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[2;1H\x1bM");
        assert_eq!(screen.lines(), ["a", "", "b", "d"]);
    }

    #[test]
    fn only_the_columns_between_the_margins_scroll() {
        assert_eq!(lines("\x1b[4;3H\n"), ["abcde", "flmnj", "kqrso", "p   t", "uvwxy"]);
        assert_eq!(lines("\x1b[2;3H\x1bM"), ["abcde", "f   j", "kghio", "plmnt", "uvwxy"]);
        assert_eq!(lines("\x1b[9S"), ["abcde", "f   j", "k   o", "p   t", "uvwxy"]);
        assert_eq!(lines("\x1b[T"), ["abcde", "f   j", "kghio", "plmnt", "uvwxy"]);
        assert_eq!(lines("\x1b[Lz"), ["abcde", "fghij", "kz  o", "plmnt", "uvwxy"]);
        assert_eq!(lines("\x1b[Mz"), ["abcde", "fghij", "kzrso", "p   t", "uvwxy"]);
    }

    #[test]
    fn outside_of_the_margins_nothing_scrolls() {
        for bytes in [
            "\x1b[4;5H\n", "\x1b[2;1H\x1bM", "\x1b[3;1H\x1b[L", "\x1b[3;5H\x1b[M", "\x1b[3;5H\x1b[P",
            "\x1b[3;1H\x1b[@",
        ] {
            assert_eq!(lines(bytes), ["abcde", "fghij", "klmno", "pqrst", "uvwxy"], "{bytes:?}");
        }
    }

    #[test]
    fn text_wraps_and_shifts_between_the_margins() {
        assert_eq!(lines("1234"), ["abcde", "fghij", "kl12o", "p34st", "uvwxy"]);
        assert_eq!(lines("12\x1b[5;5H34"), ["abcde", "fghij", "kl12o", "pqrst", "u4wx3"]);
        assert_eq!(lines("漢字"), ["abcde", "fghij", "kl漢o", "p字st", "uvwxy"]);
        assert_eq!(lines("1漢"), ["abcde", "fghij", "kl1 o", "p漢st", "uvwxy"]);
        assert_eq!(lines("\x1b[?7l123"), ["abcde", "fghij", "kl13o", "pqrst", "uvwxy"]);
        assert_eq!(lines("\x1b[4h1"), ["abcde", "fghij", "kl1mo", "pqrst", "uvwxy"]);
        assert_eq!(lines("\x1b[4h\x1b[3;1H1\x1b[3;5H2"), ["abcde", "fghij", "1lmn2", "pqrst", "uvwxy"]);
        assert_eq!(lines("\x1b[@"), ["abcde", "fghij", "kl mo", "pqrst", "uvwxy"]);
        assert_eq!(lines("\x1b[P"), ["abcde", "fghij", "kln o", "pqrst", "uvwxy"]);
    }

    #[test]
    fn columns_are_inserted_deleted_and_shifted() {
        assert_eq!(lines("\x1b['}"), ["abcde", "fg hj", "kl mo", "pq rt", "uvwxy"]);
        assert_eq!(lines("\x1b['~"), ["abcde", "fgi j", "kln o", "pqs t", "uvwxy"]);
        assert_eq!(lines("\x1b[2 @"), ["abcde", "fi  j", "kn  o", "ps  t", "uvwxy"]);
        assert_eq!(lines("\x1b[2 A"), ["abcde", "f  gj", "k  lo", "p  qt", "uvwxy"]);
        assert_eq!(lines("\x1b6\x1b6z"), lines("\x1b[ A\x1b[3;2Hz"));
        assert_eq!(lines("\x1b9\x1b9z"), lines("\x1b[ @\x1b[3;4Hz"));
    }

    #[test]
    fn wide_characters_and_marks_move_whole_or_not_at_all() {
        let narrow = |bytes: &str| {
            screen(6, 2, &format!("ab\r\n漢e\u{301}字x\x1b[?69h\x1b[2;4s\x1b[2;2H{bytes}")).lines()
        };
        assert_eq!(narrow("\x1b[S"), ["a e\u{301}", "     x"]);
        assert_eq!(narrow("\x1b[3G\x1b[@")[1], "漢 e\u{301} x");
    }

    #[test]
    fn margins_at_the_sides_need_their_mode() {
        assert_eq!(screen(5, 2, "abc\x1b[2;3sd\x1b[?69l").lines()[0], "abcd");
        assert_eq!(screen(5, 2, "\x1b[?69h\x1b[2;3s\x1b[?69labcde").lines(), ["abcde", ""]);
        assert_eq!(screen(5, 2, "\x1b[?69h\x1b[2;3s\x1b[!pabcde").lines(), ["abcde", ""]);
        assert_eq!(screen(5, 2, "\x1b[?69h\x1b[3;3s\x1b[4;2s\x1b[9;9sabcde").lines(), ["abcde", ""]);
        let mut resized = screen(5, 2, "\x1b[?69h\x1b[2;3s");
        resized.resize(6, 2);
        resized.feed(b"abcdef");
        assert_eq!(resized.lines(), ["abcdef", ""]);
    }

    #[test]
    fn nothing_of_a_part_goes_to_the_history() {
        let mut screen = Screen::with_history(4, 2, 9);
        screen.feed(b"ab\r\ncd\x1b[?69h\x1b[1;3s\x1b[2;1H\n\n");
        assert_eq!((screen.history_len(), screen.lines()), (0, vec![String::new(), String::new()]));
    }

    #[test]
    fn origin_mode_counts_from_the_margin_and_stays_inside() {
        assert_eq!(at("\x1b[2;4r\x1b[?6h"), (0, 1));
        assert_eq!(at("\x1b[2;4r\x1b[?6h\x1b[2;3H"), (2, 2));
        assert_eq!(at("\x1b[2;4r\x1b[?6h\x1b[99;99H"), (9, 3));
        assert_eq!(at("\x1b[2;4r\x1b[?6h\x1b[?6l"), (0, 0));
        let sides = |bytes: &str| at(&format!("\x1b[2;4r\x1b[?69h\x1b[3;6s\x1b[?6h{bytes}"));
        assert_eq!(
            (sides(""), sides("\x1b[2;2H"), sides("\x1b[99;99H"), sides("\x1b[2G"), sides("\x1b[3d")),
            ((2, 1), (3, 2), (5, 3), (3, 1), (2, 3))
        );
    }
}
