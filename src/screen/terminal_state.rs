//! The terminal that the child writes to: its parts, and operations on several of them.
//!
//! Each part owns its state. `parser/` reads sequences into operations, and `restore/` undoes and dumps the
//! state.

use crate::screen::display::DisplayState;
use crate::screen::modes::{
    AlternateScreen, KeyOptionFamily, KeyOptions, ModeSpace, TerminalEncoding, TerminalMode,
};
use crate::screen::parser::CallbackState;
use crate::screen::reply::{ModeState, Query, QueryQueue};
use crate::screen::restore::{QuestionTopic, TerminalBefore};
use crate::screen::window::WindowState;

#[derive(Clone, Debug, PartialEq)]
pub struct TerminalState {
    /// The display: screens, cursor, modes.
    pub display: DisplayState,
    pub key_options: KeyOptions,
    pub encoding: TerminalEncoding,
    /// Titles, colours, progress, notifications.
    pub window: WindowState,
    /// The known state of the terminal before the child.
    pub before: TerminalBefore,
    /// The child's pending queries.
    pub queries: QueryQueue,
    pub parser: CallbackState,
    /// Something that the undo needs and [`UndoState`](super::restore::UndoState) does not hold may have
    /// changed since this was cleared.
    pub undo_outdated: bool,
}

impl TerminalState {
    /// A fresh terminal. Both sizes are at least 1.
    pub fn new(cols: usize, rows: usize) -> Self {
        Self {
            display: DisplayState::new(cols, rows),
            key_options: KeyOptions::default(),
            encoding: TerminalEncoding::default(),
            window: WindowState::default(),
            before: TerminalBefore::default(),
            queries: QueryQueue::default(),
            parser: CallbackState::default(),
            undo_outdated: false,
        }
    }

    /// Resizes the terminal. Resets the margins, like other terminals.
    pub fn resize(&mut self, cols: usize, rows: usize) {
        if (cols, rows) != (self.display.position.cols, self.display.position.rows) {
            self.display.resize(cols, rows);
            self.undo_outdated = true;
        }
    }

    /// RIS: resets everything except what terminals leave to the window, such as titles.
    pub fn reset(&mut self) {
        self.display.reset();
        self.key_options = KeyOptions::default();
        self.encoding = TerminalEncoding::default();
        self.window.reset();
        self.parser.reset();
        self.lose_before();
        self.undo_outdated = true;
    }

    /// A full reset has removed the state before the child: it must be restored.
    fn lose_before(&mut self) {
        for mode in TerminalMode::ALL {
            if self.before.mode(mode).is_some_and(|before| before != mode.initially_on()) {
                self.display.modes.touch(mode);
            }
        }
        let buffers = &mut self.display.buffers;
        for (alternate, buffer) in [(false, &mut buffers.active), (true, &mut buffers.inactive)] {
            if self.before.keyboard(alternate).is_some_and(|before| before != 0) {
                buffer.keyboard.lost();
            }
        }
        if self.before.other_keys().is_some_and(|before| before != 0) {
            self.key_options.reset(KeyOptionFamily::Modify);
        }
    }

    /// SM, RM, DECSET, DECRST of one number. Unknown ones are ignored.
    pub fn set_mode(&mut self, space: ModeSpace, number: u16, on: bool) {
        if space == ModeSpace::Private {
            if let Some(how) = AlternateScreen::from_number(number) {
                let swapped =
                    if on { self.display.enter_alternate(how) } else { self.display.leave_alternate(how) };
                self.undo_outdated |= swapped;
                return;
            }
            match (number, on) {
                (1048, true) => return self.display.save_cursor(),
                (1048, false) => return self.display.restore_cursor(),
                (3, _) if on || self.display.is_on(TerminalMode::AllowColumns) => {
                    return self.display.change_columns();
                }
                (2, _) => {
                    self.encoding.vt52 = !on;
                    return;
                }
                _ => {}
            }
        }
        if let Some(mode) = TerminalMode::from_number(space, number) {
            self.display.set_mode(mode, on);
        }
    }

    /// XTSAVE of one number.
    pub fn save_mode(&mut self, number: u16) {
        if let Some(mode) = TerminalMode::from_number(ModeSpace::Private, number) {
            self.display.modes.save(mode);
        }
    }

    /// XTRESTORE of one number.
    pub fn restore_mode(&mut self, number: u16) {
        if let Some(mode) = TerminalMode::from_number(ModeSpace::Private, number) {
            self.display.restore_mode(mode);
        }
    }

    /// DECRQM. The terminal's answer also describes the mode before the child, if the child has not changed
    /// it.
    pub fn ask_mode(&mut self, space: ModeSpace, number: u16) {
        if let Some(mode) =
            TerminalMode::from_number(space, number).filter(|mode| *mode != TerminalMode::Origin)
        {
            self.before.ask(QuestionTopic::Mode(mode), !self.display.modes.is_touched(mode));
        }
        let state = self.mode_state(space, number);
        self.queries.push(Query::Mode { space, number, state });
    }

    /// The answer to DECRQM. Left and right margins, grapheme widths, in-band resizes, paste events and
    /// Windows key input are reported as unsupported: a program that asks once and learns of them keeps using
    /// them (Neovim, vaxis), and the terminal that attaches later may lack them (kitty, alacritty).
    fn mode_state(&self, space: ModeSpace, number: u16) -> ModeState {
        let on = match (space, number) {
            (ModeSpace::Private, 47 | 1047 | 1049) => self.display.buffers.alternate.is_some(),
            (ModeSpace::Private, 69 | 2027 | 2048 | 5522 | 9001) => return ModeState::Unknown,
            _ => match TerminalMode::from_number(space, number) {
                Some(mode) => self.display.is_on(mode),
                None => return ModeState::Unknown,
            },
        };
        if on { ModeState::Set } else { ModeState::Reset }
    }

    /// Whether both are equal, apart from the numbers of their links.
    pub fn is_same(&self, other: &Self) -> bool {
        let renumbered =
            |terminal: &Self| Self { display: terminal.display.renumbered(), ..terminal.clone() };
        if self.display.links == other.display.links {
            self == other
        } else {
            renumbered(self) == renumbered(other)
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
