//! The margins, and the movements that stop or scroll at them.
//!
//! Rows have margins always (DECSTBM), columns where mode 69 is on (DECSLRM). A caret that stands outside of them moves and wraps as
//! if there were none, but scrolls nothing. All as in xterm.

use crate::screen::modes::Mode;
use crate::screen::parser::Params;
use crate::screen::terminal::Terminal;

/// What scrolls: rows and columns, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First row.
    pub top: usize,
    /// Last row.
    pub bottom: usize,
    /// First column.
    pub left: usize,
    /// Last column.
    pub right: usize,
}

impl Region {
    /// All of a screen.
    pub fn whole(cols: usize, rows: usize) -> Self {
        Self { top: 0, bottom: rows - 1, left: 0, right: cols - 1 }
    }

    /// Whether a column lies in it.
    #[inline]
    pub fn has_col(self, col: usize) -> bool {
        self.left <= col && col <= self.right
    }

    /// Whether a row lies in it.
    pub fn has_row(self, row: usize) -> bool {
        self.top <= row && row <= self.bottom
    }

    /// The same with all columns of a screen.
    fn with_all_columns(self, cols: usize) -> Self {
        Self { left: 0, right: cols - 1, ..self }
    }
}

impl Terminal {
    /// The margins of a fresh terminal.
    pub fn whole(&self) -> Region {
        Region::whole(self.cols, self.rows)
    }

    /// Whether columns have margins.
    #[inline]
    pub fn is_narrow(&self) -> bool {
        self.region.right + 1 != self.cols || self.region.left != 0
    }

    /// The column behind the last one that text reaches from where the caret stands.
    #[inline]
    pub fn edge(&self) -> usize {
        if self.caret.col > self.region.right { self.cols } else { self.region.right + 1 }
    }

    /// DECSTBM: margins of less than two rows are refused, and the caret goes home.
    pub fn set_rows(&mut self, args: &Params) {
        let Some((top, bottom)) = ends(args, self.rows) else { return };
        self.region = Region { top, bottom, ..self.region };
        self.go_addressed(0, 0);
    }

    /// DECSLRM: the same for columns.
    pub fn set_columns(&mut self, args: &Params) {
        let Some((left, right)) = ends(args, self.cols) else { return };
        self.region = Region { left, right, ..self.region };
        self.go_addressed(0, 0);
    }

    /// Mode 69 may have been switched off: columns have no margins then.
    pub fn check_sides(&mut self) {
        if self.is_narrow() && !self.is_on(Mode::SideMargins) {
            self.region = self.region.with_all_columns(self.cols);
            self.caret.pending &= self.caret.col + 1 == self.cols;
        }
    }

    /// Moves the caret to a place as CUP counts it: in origin mode from the margins, and not out of them.
    pub fn go_addressed(&mut self, col: usize, row: usize) {
        let [col, row] = [self.addressed_col(col), self.addressed_row(row)];
        self.go(col, row);
    }

    /// A column as it is counted.
    pub fn addressed_col(&self, col: usize) -> usize {
        if self.caret.origin { (self.region.left + col).min(self.region.right) } else { col }
    }

    /// A row as it is counted.
    pub fn addressed_row(&self, row: usize) -> usize {
        if self.caret.origin { (self.region.top + row).min(self.region.bottom) } else { row }
    }

    /// The place from which columns and rows are counted.
    pub fn origin(&self) -> (usize, usize) {
        if self.caret.origin { (self.region.left, self.region.top) } else { (0, 0) }
    }

    /// Moves up, not over the top margin when it starts below it.
    pub fn go_up(&mut self, count: usize) {
        let limit = if self.caret.row >= self.region.top { self.region.top } else { 0 };
        self.go(self.caret.col, self.caret.row.saturating_sub(count).max(limit));
    }

    /// Moves down, not over the bottom margin when it starts above it.
    pub fn go_down(&mut self, count: usize) {
        let inside = self.caret.row <= self.region.bottom;
        let limit = if inside { self.region.bottom } else { self.rows - 1 };
        self.go(self.caret.col, (self.caret.row + count).min(limit));
    }

    /// Moves to the left, not over the left margin when it starts to the right of it.
    pub fn go_left(&mut self, count: usize) {
        self.go(self.caret.col.saturating_sub(count).max(self.left_limit()), self.caret.row);
    }

    /// BS and CUB: to the left. With reverse wrap (45) it goes on at the end of the row above, if that one ran over into this; with
    /// the other (1045) in any case, and from the top of the margins at their bottom. The wait to wrap is a column then.
    pub fn go_back(&mut self, mut count: usize) {
        let anywhere = self.is_on(Mode::ReverseWrapAnywhere);
        if !(anywhere || self.is_on(Mode::ReverseWrap)) || !self.is_on(Mode::AutoWrap) {
            return self.go_left(count);
        }
        count -= usize::from(self.caret.pending).min(count);
        self.caret.pending = false;
        loop {
            let here = count.min(self.caret.col - self.left_limit());
            self.go_left(here);
            count -= here;
            let (row, Region { top, bottom, right, .. }) = (self.caret.row, self.region);
            if count == 0 {
                return;
            }
            let above = match row.checked_sub(1) {
                _ if row == top => anywhere.then_some(bottom),
                Some(above) => self.page.grid.rows().get(above).filter(|row| anywhere || row.wrapped).map(|_| above),
                None => None,
            };
            let Some(above) = above else { return };
            self.go(right, above);
            count -= 1;
        }
    }

    /// Moves to the right, not over the right margin when it starts to the left of it.
    pub fn go_right(&mut self, count: usize) {
        self.go((self.caret.col + count).min(self.edge() - 1), self.caret.row);
    }

    /// The column at which movements to the left end.
    pub fn left_limit(&self) -> usize {
        if self.caret.col >= self.region.left { self.region.left } else { 0 }
    }

    /// CR: to the left margin, from the left of it to the first column.
    #[inline]
    pub fn carriage_return(&mut self) {
        let col = if self.caret.origin { self.region.left } else { self.left_limit() };
        self.go(col, self.caret.row);
    }

    /// IND and the line feed: down, and at the bottom margin the region scrolls.
    pub fn index(&mut self) {
        if self.caret.row == self.region.bottom && self.region.has_col(self.caret.col) {
            self.caret.pending = false;
            self.scroll_up(self.region, 1);
        } else {
            self.go_down(1);
        }
    }

    /// RI: up, and at the top margin the region scrolls down.
    pub fn reverse_index(&mut self) {
        if self.caret.row == self.region.top && self.region.has_col(self.caret.col) {
            self.caret.pending = false;
            self.scroll_down(self.region, 1);
        } else {
            self.go_up(1);
        }
    }

    /// Scrolls what lies in `region` up. Only whole rows go to the history.
    pub fn scroll_up(&mut self, region: Region, count: usize) {
        let blank = self.blank();
        if region.left != 0 || region.right + 1 != self.cols {
            self.page.grid.scroll_part_up(region, count, blank);
        } else {
            if region.top == 0 && self.alternate.is_none() {
                let leaving = count.min(region.bottom + 1);
                self.page.grid.rows().range(..leaving).for_each(|row| self.history.push(row));
            }
            self.page.grid.scroll_up(region.top, region.bottom, count, blank);
        }
        self.wait_anew();
        self.changed = true;
    }

    /// Scrolls what lies in `region` down.
    pub fn scroll_down(&mut self, region: Region, count: usize) {
        let blank = self.blank();
        if region.left != 0 || region.right + 1 != self.cols {
            self.page.grid.scroll_part_down(region, count, blank);
        } else {
            self.page.grid.scroll_down(region.top, region.bottom, count, blank);
            // What it went on in has left.
            self.page.grid.row_mut(region.bottom).into_iter().for_each(|row| row.wrapped = false);
        }
        self.wait_anew();
        self.changed = true;
    }

    /// SL and DECDC: moves the columns of the region from `col` on to the left, if the caret is inside of it.
    pub fn shift_left(&mut self, col: usize, count: usize) {
        self.shift(col, |terminal, row| {
            let (edge, blank) = (terminal.region.right + 1, terminal.blank());
            terminal.page.grid.row_mut(row).into_iter().for_each(|row| row.delete_within(col..edge, count, blank));
        });
    }

    /// SR and DECIC: the same to the right.
    pub fn shift_right(&mut self, col: usize, count: usize) {
        self.shift(col, |terminal, row| {
            let (edge, blank) = (terminal.region.right + 1, terminal.blank());
            terminal.page.grid.row_mut(row).into_iter().for_each(|row| row.insert_within(col..edge, count, blank));
        });
    }

    fn shift(&mut self, col: usize, shift: impl Fn(&mut Self, usize)) {
        let inside = self.region.has_col(self.caret.col) && self.region.has_row(self.caret.row);
        if inside && self.region.has_col(col) {
            self.caret.pending = false;
            (self.region.top..=self.region.bottom).for_each(|row| shift(self, row));
            self.changed = true;
        }
    }

    /// DECBI: to the left, and at the left margin the region is shifted to the right.
    pub fn back_index(&mut self) {
        if self.caret.col == self.region.left && self.region.has_row(self.caret.row) {
            self.shift_right(self.region.left, 1);
        } else {
            self.go_left(1);
        }
    }

    /// DECFI: to the right, and at the right margin the region is shifted to the left.
    pub fn forward_index(&mut self) {
        if self.caret.col == self.region.right && self.region.has_row(self.caret.row) {
            self.shift_left(self.region.left, 1);
        } else {
            self.go_right(1);
        }
    }
}

/// The two ends that a sequence names, as places. `None` when less than two lie between them, unless that is all there is.
fn ends(args: &Params, length: usize) -> Option<(usize, usize)> {
    let last = match args.value(1) {
        0 => length,
        last => usize::from(last).min(length),
    } - 1;
    let first = args.position(0);
    (first < last || (first == 0 && last == length - 1)).then_some((first, last))
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

    /// Three columns between two, in the three rows between two; the caret in the middle.
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
        assert_eq!((inside("\x1b[9D"), inside("\x1b[9C"), inside("\r"), inside("\x08\x08\x08")), (2, 5, 2, 2));
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
        for bytes in ["\x1b[4;5H\n", "\x1b[2;1H\x1bM", "\x1b[3;1H\x1b[L", "\x1b[3;5H\x1b[M", "\x1b[3;5H\x1b[P", "\x1b[3;1H\x1b[@"] {
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
        let narrow = |bytes: &str| screen(6, 2, &format!("ab\r\n漢e\u{301}字x\x1b[?69h\x1b[2;4s\x1b[2;2H{bytes}")).lines();
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
