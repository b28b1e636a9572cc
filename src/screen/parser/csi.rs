//! Control sequences: which function a `CSI` means, with its counts made safe.
//!
//! Counts are at most 65535 and everything they drive is cut to the screen. A sequence that is not in the table does
//! nothing.

use super::params::Params;
use crate::screen::cursor::{CursorShape, Tabs};
use crate::screen::display::Extent;
use crate::screen::modes::{Change, KeyOption, Mode, ModeSpace};
use crate::screen::reply::Query;
use crate::screen::restore::Topic;
use crate::screen::terminal::Terminal;
use crate::screen::window::Part;

impl Terminal {
    /// Carries out one control sequence.
    pub fn csi(&mut self, args: &Params, intermediates: &[u8], action: char) {
        match intermediates {
            [] => self.csi_plain(args, action),
            [b'?'] => self.csi_private(args, action),
            [b'>'] => match action {
                'c' if args.value(0) == 0 => self.ask(Query::SecondaryAttributes),
                'q' if args.value(0) == 0 => self.ask(Query::Version),
                'm' => self.set_key_option(KeyOption::Modify, args),
                'f' => self.set_key_option(KeyOption::Format, args),
                // Disables one: another value of it.
                'n' => self.keys.set(KeyOption::Modify, args.value(0), Some(u16::MAX)),
                'u' => self.page.keyboard.push(flags(args.value(0))),
                _ => {}
            },
            [b'<'] if action == 'u' => self.page.keyboard.pop(args.count(0)),
            [b'='] if action == 'u' => {
                let how = match args.value(1) {
                    0 | 1 => Change::Replace,
                    2 => Change::Add,
                    3 => Change::Remove,
                    _ => return,
                };
                self.page.keyboard.change(flags(args.value(0)), how);
            }
            [b' '] if action == 'q' => {
                if let Some(shape) = CursorShape::from_number(args.value(0)) {
                    self.shape = Some(shape);
                }
            }
            [b' '] if action == '@' => self.shift_left(self.region.left, args.count(0)),
            [b' '] if action == 'A' => self.shift_right(self.region.left, args.count(0)),
            [b'\''] if action == '}' => self.shift_right(self.caret.col, args.count(0)),
            [b'\''] if action == '~' => self.shift_left(self.caret.col, args.count(0)),
            [b'"'] if action == 'q' => self.protect(args.value(0) == 1),
            [b'*'] if action == 'x' => self.extras.rectangles = args.value(0) == 2,
            [b'$'] if action == 'r' => self.change_area(args),
            [b'$'] if action == 't' => self.reverse_area(args),
            [b'$'] if action == 'x' => self.fill_area(args),
            [b'$'] if action == 'z' => self.erase_area(args),
            [b'$'] if action == '{' => self.erase_area_selectively(args),
            [b'$'] if action == 'v' => self.copy_area(args),
            [b'#'] if matches!(action, '{' | 'p') => self.pens.push(self.caret.look, args.values()),
            [b'#'] if matches!(action, '}' | 'q') => self.pens.pop(&mut self.caret.look),
            [b'#'] if action == 'P' => self.colors.push(),
            [b'#'] if action == 'Q' => self.colors.pop(),
            [b'!'] if action == 'p' => self.soft_reset(),
            [b'$'] if action == 'p' => self.ask_mode(ModeSpace::Ansi, args.value(0)),
            [b'?', b'$'] if action == 'p' => self.ask_mode(ModeSpace::Private, args.value(0)),
            _ => {}
        }
    }

    fn csi_plain(&mut self, args: &Params, action: char) {
        let (col, row) = (self.caret.col, self.caret.row);
        let count = args.count(0);
        match action {
            '@' => self.insert_chars(count),
            'A' => self.go_up(count),
            'B' => self.go_down(count),
            'C' => self.go_right(count),
            'D' => self.go_back(count),
            'E' => {
                self.go_down(count);
                self.carriage_return();
            }
            'F' => {
                self.go_up(count);
                self.carriage_return();
            }
            'G' | '`' => self.go(self.addressed_col(args.position(0)), row),
            'a' => self.go_addressed((col + count).saturating_sub(self.origin().0), row.saturating_sub(self.origin().1)),
            'H' | 'f' => self.go_addressed(args.position(1), args.position(0)),
            'I' => self.tab_forward(count),
            'J' if args.value(0) == 3 => self.history.clear(),
            'J' => self.erase(args, Self::erase_screen),
            'K' => self.erase(args, Self::erase_line),
            'L' => self.insert_lines(count),
            'M' => self.delete_lines(count),
            'P' => self.delete_chars(count),
            'S' => self.scroll_up(self.region, count),
            // With five parameters this is mouse highlighting.
            'T' if args.len() == 1 => self.scroll_down(self.region, count),
            '^' => self.scroll_down(self.region, count),
            'X' => self.erase_chars(count),
            'Z' => self.tab_back(count),
            'b' => self.repeat(count),
            'c' if args.value(0) == 0 => self.ask(Query::PrimaryAttributes),
            'd' => self.go(col, self.addressed_row(args.position(0))),
            'e' => self.go_addressed(col.saturating_sub(self.origin().0), (row + count).saturating_sub(self.origin().1)),
            'g' => match args.value(0) {
                0 => self.tabs.clear(col),
                3 => self.tabs.clear_all(),
                _ => {}
            },
            'h' => args.values().for_each(|number| self.set_mode(ModeSpace::Ansi, number, true)),
            'l' => args.values().for_each(|number| self.set_mode(ModeSpace::Ansi, number, false)),
            'm' => self.sgr(args),
            'n' => match args.value(0) {
                5 => self.ask(Query::Status),
                6 => self.ask_position(ModeSpace::Ansi),
                _ => {}
            },
            'r' => self.set_rows(args),
            's' if self.is_on(Mode::SideMargins) => self.set_columns(args),
            // Numbers or not: xterm, alacritty and tmux look at none here.
            's' => self.save_caret(),
            'u' => self.restore_caret(),
            't' => self.window(args),
            _ => {}
        }
    }

    fn csi_private(&mut self, args: &Params, action: char) {
        match action {
            'h' => args.values().for_each(|number| self.set_mode(ModeSpace::Private, number, true)),
            'l' => args.values().for_each(|number| self.set_mode(ModeSpace::Private, number, false)),
            'J' => self.erase(args, Self::erase_screen_selectively),
            'K' => self.erase(args, Self::erase_line_selectively),
            'n' if args.value(0) == 6 => self.ask_position(ModeSpace::Private),
            'm' if args.value(0) == 4 => self.former.ask(Topic::OtherKeys, self.keys.other_keys().is_none()),
            's' => args.values().for_each(|number| self.save_mode(number)),
            'r' => args.values().for_each(|number| self.restore_mode(number)),
            'u' => {
                let alternate = self.alternate.is_some();
                self.former.ask(Topic::Keyboard { alternate }, self.page.keyboard.is_untouched());
                self.ask(Query::KeyboardFlags(self.page.keyboard.flags()));
            }
            'W' if args.value(0) == 5 => self.tabs = Tabs::new(self.cols),
            _ => {}
        }
    }

    fn erase(&mut self, args: &Params, erase: fn(&mut Self, Extent)) {
        if let Some(extent) = Extent::from_number(args.value(0)) {
            erase(self, extent);
        }
    }

    /// HT and CHT. A caret that waits to wrap goes on waiting.
    pub fn tab_forward(&mut self, count: usize) {
        if self.caret.pending {
            return;
        }
        for _ in 0..count.min(self.cols) {
            self.go(self.tabs.next(self.caret.col).min(self.edge() - 1), self.caret.row);
        }
    }

    /// CBT. Only in origin mode the left margin is its end, too.
    fn tab_back(&mut self, count: usize) {
        for _ in 0..count.min(self.cols) {
            self.go(self.tabs.previous(self.caret.col).max(self.origin().0), self.caret.row);
        }
    }

    /// XTMODKEYS and XTFMTKEYS: an option without a value is reset, and all are without an option.
    fn set_key_option(&mut self, family: KeyOption, args: &Params) {
        match args.len() {
            1 if args.value(0) == 0 => self.keys.reset(family),
            1 => self.keys.set(family, args.value(0), None),
            _ => self.keys.set(family, args.value(0), Some(args.value(1))),
        }
    }

    /// XTWINOPS: sizes and the title stack. hopty moves no windows.
    fn window(&mut self, args: &Params) {
        let (cols, rows) = (self.cols as u16, self.rows as u16);
        match args.value(0) {
            14 if args.value(1) == 0 => self.ask(Query::WindowPixels { cols, rows }),
            16 => self.ask(Query::CellPixels),
            18 => self.ask(Query::WindowCells { cols, rows }),
            22 => {
                if let Some(part) = Part::from_number(args.value(1)) {
                    self.titles.push(part);
                }
            }
            23 => {
                if let Some(part) = Part::from_number(args.value(1)) {
                    self.titles.pop(part);
                    self.changed = true;
                }
            }
            _ => {}
        }
    }
}

/// The five flags that the kitty protocol defines.
fn flags(value: u16) -> u8 {
    (value & 0x1f) as u8
}

#[cfg(test)]
mod tests {
    use crate::screen::Screen;

    fn at(bytes: &str) -> (u16, u16) {
        let mut screen = Screen::new(20, 10);
        screen.feed(b"\x1b[5;11H");
        screen.feed(bytes.as_bytes());
        (screen.cursor().col, screen.cursor().row)
    }

    fn lines(bytes: &str) -> Vec<String> {
        let mut screen = Screen::new(4, 4);
        screen.feed(b"a\r\nb\r\nc\r\nd");
        screen.feed(bytes.as_bytes());
        screen.lines()
    }

    #[test]
    fn the_cursor_moves_as_each_sequence_says() {
        let table = [
            ("\x1b[A", (10, 3)),
            ("\x1b[0A", (10, 3)),
            ("\x1b[99A", (10, 0)),
            ("\x1b[2B", (10, 6)),
            ("\x1b[2e", (10, 6)),
            ("\x1b[3C", (13, 4)),
            ("\x1b[3a", (13, 4)),
            ("\x1b[65535C", (19, 4)),
            ("\x1b[3D", (7, 4)),
            ("\x1b[99D", (0, 4)),
            ("\x1b[2E", (0, 6)),
            ("\x1b[2F", (0, 2)),
            ("\x1b[3G", (2, 4)),
            ("\x1b[3`", (2, 4)),
            ("\x1b[3d", (10, 2)),
            ("\x1b[2;3H", (2, 1)),
            ("\x1b[2;3f", (2, 1)),
            ("\x1b[H", (0, 0)),
            ("\x1b[;5H", (4, 0)),
            ("\x1b[999;999H", (19, 9)),
            ("\x1b[2I", (19, 4)),
            ("\x1b[Z", (8, 4)),
            ("\x1b[9Z", (0, 4)),
            ("\x1b[s\x1b[H\x1b[u", (10, 4)),
            ("\x1b[2;5s\x1b[H\x1b[u", (10, 4)),
        ];
        for (bytes, place) in table {
            assert_eq!(at(bytes), place, "{bytes:?}");
        }
    }

    #[test]
    fn scrolling_by_sequence_stays_in_the_region() {
        assert_eq!(lines("\x1b[S"), ["b", "c", "d", ""]);
        assert_eq!(lines("\x1b[2T"), ["", "", "a", "b"]);
        assert_eq!(lines("\x1b[2;3r\x1b[S"), ["a", "c", "", "d"]);
        assert_eq!(lines("\x1b[2;3r\x1b[^"), ["a", "", "b", "d"]);
        assert_eq!(lines("\x1b[1;1;1;1;1T"), ["a", "b", "c", "d"]);
    }

    #[test]
    fn margins_that_make_no_sense_are_refused() {
        for bytes in ["\x1b[3;2r", "\x1b[2;2r", "\x1b[9;12r"] {
            let mut screen = Screen::new(4, 4);
            screen.feed(bytes.as_bytes());
            assert_eq!(screen, Screen::new(4, 4), "{bytes:?}");
        }
        assert_eq!(lines("\x1b[2;3r\x1b[r\x1b[S"), ["b", "c", "d", ""]);
    }

    #[test]
    fn behind_the_last_column_a_tab_goes_nowhere() {
        for tab in ["\t", "\x1b[I", "\x1b[3I"] {
            assert_eq!(lines(&format!("\x1b[Hwxyz{tab}!")), ["wxyz", "!", "c", "d"], "{tab:?}");
        }
        assert_eq!(lines("\x1b[Hwxyz\x08\t!")[0], "wxy!");
    }

    #[test]
    fn tab_stops_are_cleared_and_brought_back() {
        assert_eq!(at("\r\x1b[3g\t"), (19, 4));
        assert_eq!(at("\r\x1b[3g\x1b[?5W\t"), (8, 4));
        assert_eq!(at("\x1b[9G\x1b[g\r\t"), (16, 4));
    }

    #[test]
    fn sequences_of_another_space_are_not_mistaken() {
        // Sixel query, XTSAVE and XTRESTORE of a mode that is none, DECRQPSR, XTPOPSGR of nothing.
        let bytes = "\x1b[?1;1S\x1b[?31337s\x1b[?31337r\x1b[1$w\x1b[#}";
        let mut screen = Screen::new(4, 4);
        screen.feed(bytes.as_bytes());
        assert_eq!(screen, Screen::new(4, 4));
    }

    #[test]
    fn colons_and_too_many_parameters_do_no_harm() {
        assert_eq!(at("\x1b[2:9;3:9H"), (2, 1));
        let many = format!("\x1b[{}H", "1;".repeat(500));
        assert_eq!(at(&many), (10, 4));
    }
}
