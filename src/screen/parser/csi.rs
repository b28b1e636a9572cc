//! Control sequences: the function of a `CSI`, with its counts limited.
//!
//! Counts are at most 65535, and their effects are clamped to the screen. Unknown sequences do nothing.

use super::params::Params;
use crate::screen::cursor::{CursorShape, TabStops};
use crate::screen::display::{DisplayState, EraseExtent};
use crate::screen::modes::{FlagChange, KeyOptionFamily, ModeSpace, TerminalMode};
use crate::screen::reply::Query;
use crate::screen::restore::QuestionTopic;
use crate::screen::terminal_state::TerminalState;
use crate::screen::window::TitleKind;

impl TerminalState {
    /// Carries out one control sequence.
    pub fn csi(&mut self, args: &Params, intermediates: &[u8], action: char) {
        match intermediates {
            [] => self.csi_plain(args, action),
            [b'?'] => self.csi_private(args, action),
            [b'>'] => match action {
                'c' if args.value(0) == 0 => self.queries.push(Query::SecondaryAttributes),
                'q' if args.value(0) == 0 => self.queries.push(Query::Version),
                'm' => self.set_key_option(KeyOptionFamily::Modify, args),
                'f' => self.set_key_option(KeyOptionFamily::Format, args),
                // Disables the option, which is another value of it.
                'n' => self.key_options.set(KeyOptionFamily::Modify, args.value(0), Some(u16::MAX)),
                'u' => self.display.buffers.active.keyboard.push(flags(args.value(0))),
                _ => {}
            },
            [b'<'] if action == 'u' => self.display.buffers.active.keyboard.pop(args.count(0)),
            [b'='] if action == 'u' => {
                let how = match args.value(1) {
                    0 | 1 => FlagChange::Replace,
                    2 => FlagChange::Add,
                    3 => FlagChange::Remove,
                    _ => return,
                };
                self.display.buffers.active.keyboard.change(flags(args.value(0)), how);
            }
            [b' '] if action == 'q' => {
                if let Some(shape) = CursorShape::from_number(args.value(0)) {
                    self.display.cursor_shape = Some(shape);
                }
            }
            [b' '] if action == '@' => {
                self.display.shift_left(self.display.position.margins.left, args.count(0))
            }
            [b' '] if action == 'A' => {
                self.display.shift_right(self.display.position.margins.left, args.count(0))
            }
            [b'\''] if action == '}' => {
                self.display.shift_right(self.display.position.cursor.col, args.count(0))
            }
            [b'\''] if action == '~' => {
                self.display.shift_left(self.display.position.cursor.col, args.count(0))
            }
            [b'"'] if action == 'q' => self.display.protect(args.value(0) == 1),
            [b'*'] if action == 'x' => self.display.rectangular_changes = args.value(0) == 2,
            [b'$'] if action == 'r' => self.display.change_area(args),
            [b'$'] if action == 't' => self.display.reverse_area(args),
            [b'$'] if action == 'x' => self.display.fill_area(args),
            [b'$'] if action == 'z' => self.display.erase_area(args),
            [b'$'] if action == '{' => self.display.erase_area_selectively(args),
            [b'$'] if action == 'v' => self.display.copy_area(args),
            [b'#'] if matches!(action, '{' | 'p') => {
                self.display.pen_stack.push(self.display.position.cursor.pen, args.values())
            }
            [b'#'] if matches!(action, '}' | 'q') => {
                self.display.pen_stack.pop(&mut self.display.position.cursor.pen)
            }
            [b'#'] if action == 'P' => self.window.colors.push(),
            [b'#'] if action == 'Q' => self.window.colors.pop(),
            [b'!'] if action == 'p' => self.display.soft_reset(),
            [b'$'] if action == 'p' => self.ask_mode(ModeSpace::Ansi, args.value(0)),
            [b'?', b'$'] if action == 'p' => self.ask_mode(ModeSpace::Private, args.value(0)),
            _ => {}
        }
    }

    fn csi_plain(&mut self, args: &Params, action: char) {
        let at = &mut self.display.position;
        let (col, row) = (at.cursor.col, at.cursor.row);
        let count = args.count(0);
        match action {
            '@' => self.display.insert_chars(count),
            'A' => at.up(count),
            'B' => at.down(count),
            'C' => at.right(count),
            'D' => self.display.go_back(count),
            'E' => {
                at.down(count);
                at.carriage_return();
            }
            'F' => {
                at.up(count);
                at.carriage_return();
            }
            'G' | '`' => at.move_to(at.addressed_col(args.position(0)), row),
            'a' => at.move_to_addressed(
                (col + count).saturating_sub(at.origin().0),
                row.saturating_sub(at.origin().1),
            ),
            'H' | 'f' => at.move_to_addressed(args.position(1), args.position(0)),
            'I' => at.tab_forward(count),
            'J' if args.value(0) == 3 => self.display.buffers.history.clear(),
            'J' => self.erase(args, DisplayState::erase_screen),
            'K' => self.erase(args, DisplayState::erase_line),
            'L' => self.display.insert_lines(count),
            'M' => self.display.delete_lines(count),
            'P' => self.display.delete_chars(count),
            'S' => self.display.scroll_up(self.display.position.margins, count),
            // With five parameters this is mouse highlighting.
            'T' if args.len() == 1 => self.display.scroll_down(self.display.position.margins, count),
            '^' => self.display.scroll_down(self.display.position.margins, count),
            'X' => self.display.erase_chars(count),
            'Z' => at.tab_back(count),
            'b' => self.display.repeat(count),
            'c' if args.value(0) == 0 => self.queries.push(Query::PrimaryAttributes),
            'd' => at.move_to(col, at.addressed_row(args.position(0))),
            'e' => at.move_to_addressed(
                col.saturating_sub(at.origin().0),
                (row + count).saturating_sub(at.origin().1),
            ),
            'g' => match args.value(0) {
                0 => at.tab_stops.clear(col),
                3 => at.tab_stops.clear_all(),
                _ => {}
            },
            'h' => args.values().for_each(|number| self.set_mode(ModeSpace::Ansi, number, true)),
            'l' => args.values().for_each(|number| self.set_mode(ModeSpace::Ansi, number, false)),
            'm' => self.display.position.cursor.pen.change(args.iter()),
            'n' => match args.value(0) {
                5 => self.queries.push(Query::Status),
                6 => self.ask_position(ModeSpace::Ansi),
                _ => {}
            },
            'r' => at.set_row_margins(args.value(0), args.value(1)),
            's' if self.display.is_on(TerminalMode::SideMargins) => {
                self.display.position.set_column_margins(args.value(0), args.value(1));
            }
            // With or without numbers: xterm, alacritty and tmux ignore them here.
            's' => self.display.save_cursor(),
            'u' => self.display.restore_cursor(),
            't' => self.window(args),
            _ => {}
        }
    }

    fn csi_private(&mut self, args: &Params, action: char) {
        match action {
            'h' => args.values().for_each(|number| self.set_mode(ModeSpace::Private, number, true)),
            'l' => args.values().for_each(|number| self.set_mode(ModeSpace::Private, number, false)),
            'J' => self.erase(args, DisplayState::erase_screen_selectively),
            'K' => self.erase(args, DisplayState::erase_line_selectively),
            'n' if args.value(0) == 6 => self.ask_position(ModeSpace::Private),
            'm' if args.value(0) == 4 => {
                self.before.ask(QuestionTopic::OtherKeys, self.key_options.other_keys().is_none())
            }
            's' => args.values().for_each(|number| self.save_mode(number)),
            'r' => args.values().for_each(|number| self.restore_mode(number)),
            'u' => {
                let alternate = self.display.buffers.alternate.is_some();
                self.before.ask(
                    QuestionTopic::Keyboard { alternate },
                    self.display.buffers.active.keyboard.is_untouched(),
                );
                self.queries.push(Query::KeyboardFlags(self.display.buffers.active.keyboard.flags()));
            }
            'W' if args.value(0) == 5 => {
                self.display.position.tab_stops = TabStops::new(self.display.position.cols)
            }
            _ => {}
        }
    }

    fn erase(&mut self, args: &Params, erase: fn(&mut DisplayState, EraseExtent)) {
        if let Some(extent) = EraseExtent::from_number(args.value(0)) {
            erase(&mut self.display, extent);
        }
    }

    /// XTMODKEYS and XTFMTKEYS: resets an option without a value, and all options without a number.
    fn set_key_option(&mut self, family: KeyOptionFamily, args: &Params) {
        match args.len() {
            1 if args.value(0) == 0 => self.key_options.reset(family),
            1 => self.key_options.set(family, args.value(0), None),
            _ => self.key_options.set(family, args.value(0), Some(args.value(1))),
        }
    }

    /// XTWINOPS: sizes and the title stack. hopty does not move windows.
    fn window(&mut self, args: &Params) {
        let (cols, rows) = (self.display.position.cols as u16, self.display.position.rows as u16);
        match args.value(0) {
            14 if args.value(1) == 0 => self.queries.push(Query::WindowPixels { cols, rows }),
            16 => self.queries.push(Query::CellPixels),
            18 => self.queries.push(Query::WindowCells { cols, rows }),
            22 => {
                if let Some(part) = TitleKind::from_number(args.value(1)) {
                    self.window.titles.push(part);
                }
            }
            23 => {
                if let Some(part) = TitleKind::from_number(args.value(1)) {
                    self.window.titles.pop(part);
                    self.display.changed = true;
                }
            }
            _ => {}
        }
    }

    /// DSR 6.
    fn ask_position(&mut self, space: ModeSpace) {
        let (col, row) = self.display.position.reported();
        self.queries.push(Query::Position { space, col, row });
    }
}

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
        // Sixel query, XTSAVE and XTRESTORE of an unknown mode, DECRQPSR, XTPOPSGR of nothing.
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
