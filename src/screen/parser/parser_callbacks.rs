//! The parser's callbacks: text, control characters, short escape sequences. Longer ones are in `csi.rs` and
//! `osc.rs`; control characters go to the display.
//!
//! Device control strings are ignored, except for the query of a setting (DECRQSS). So are the C1 controls
//! (U+0080 to U+009F), which few terminals obey in UTF-8; a single byte of that range is invalid UTF-8 and
//! shown as U+FFFD.

use vte::Perform;

use super::control_sequence::ControlSequence;
use super::params::Params;
use crate::screen::modes::TerminalMode;
use crate::screen::reply::{Query, TerminalSetting};
use crate::screen::restore::{QuestionTopic, UndoState};
use crate::screen::terminal_state::TerminalState;

impl Perform for TerminalState {
    #[inline]
    fn print(&mut self, ch: char) {
        self.parser.called = true;
        self.parser.in_ground = true;
        self.display.put(ch);
    }

    #[inline]
    fn execute(&mut self, byte: u8) {
        self.parser.called = true;
        if matches!(byte, 0x18 | 0x1a) {
            // CAN and SUB end every sequence.
            self.parser.in_ground = true;
        }
        self.display.control(byte);
    }

    fn hook(&mut self, _params: &vte::Params, intermediates: &[u8], _ignore: bool, action: char) {
        self.parser.called = true;
        self.display.last_printed = None;
        self.parser.in_device_control = true;
        self.parser.setting_request = (intermediates == b"$" && action == 'q').then(Vec::new);
    }

    fn put(&mut self, byte: u8) {
        self.parser.called = true;
        self.parser.request_byte(byte);
    }

    fn unhook(&mut self) {
        self.parser.called = true;
        self.parser.in_device_control = false;
        let Some(request) = self.parser.setting_request.take() else { return };
        if request == b" q" {
            self.before.ask(QuestionTopic::Shape, self.display.cursor_shape.is_none());
        }
        self.queries.push(Query::Setting(TerminalSetting::requested(&request, &self.display)));
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], bell_terminated: bool) {
        self.parser.called = true;
        self.display.last_printed = None;
        if !params.first().is_some_and(|number| UndoState::holds_osc(number)) {
            self.undo_outdated = true;
        }
        // Otherwise an escape follows, or has already arrived, or CAN will be reported.
        self.parser.in_ground = bell_terminated;
        self.osc(params, bell_terminated);
    }

    fn csi_dispatch(&mut self, params: &vte::Params, intermediates: &[u8], ignore: bool, action: char) {
        self.parser.called = true;
        self.parser.in_ground = true;
        if ignore {
            self.display.last_printed = None;
        } else {
            self.control_sequence(&params.into(), intermediates, action);
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], ignore: bool, byte: u8) {
        self.parser.called = true;
        self.parser.in_ground = true;
        self.display.last_printed = None;
        if ignore {
            return;
        }
        if !UndoState::holds_esc(intermediates, byte) {
            self.undo_outdated = true;
        }
        match (intermediates, byte) {
            ([], b'7') => self.display.save_cursor(),
            ([], b'8') => self.display.restore_cursor(),
            ([], b'=') => self.display.modes.set(TerminalMode::Keypad, true),
            ([], b'>') => self.display.modes.set(TerminalMode::Keypad, false),
            ([], b'D') => self.display.index(),
            ([], b'E') => {
                self.display.index();
                self.display.position.carriage_return();
            }
            ([], b'H') => self.display.position.tab_stops.set(self.display.position.cursor.col),
            ([], b'M') => self.display.reverse_index(),
            ([], b'6') => self.display.back_index(),
            ([], b'9') => self.display.forward_index(),
            ([], b'c') => self.reset(),
            ([b'#'], b'8') => self.display.align(),
            ([], b'N') => self.display.position.cursor.charsets.shift_once(2),
            ([], b'O') => self.display.position.cursor.charsets.shift_once(3),
            ([], b'n') => self.display.position.cursor.charsets.shift(2),
            ([], b'o') => self.display.position.cursor.charsets.shift(3),
            ([], b'V') => self.display.protect_always(),
            ([], b'W') => self.display.position.cursor.pen.protect(false),
            ([], b'k') => self.parser.in_window_name = self.parser.takes_window_names,
            ([], b'<') => self.encoding.vt52 = false,
            ([b' '], b'F') => self.encoding.eight_bit_controls = false,
            ([b' '], b'G') => self.encoding.eight_bit_controls = true,
            ([b'%'], set) => self.encoding.not_utf8 = set == b'@',
            _ => drop(self.display.position.cursor.charsets.designate(intermediates, byte)),
        }
    }

    fn terminated(&self) -> bool {
        self.parser.in_ground
    }
}

impl TerminalState {
    /// Carries out a sequence that was read without the parser.
    #[inline]
    pub fn carry_out(&mut self, sequence: ControlSequence, params: &Params) {
        let marker = [sequence.marker];
        let intermediates = if sequence.marker == 0 { &[][..] } else { &marker };
        self.control_sequence(params, intermediates, char::from(sequence.action));
    }

    #[inline]
    fn control_sequence(&mut self, params: &Params, intermediates: &[u8], action: char) {
        if !UndoState::holds_csi(intermediates, action) {
            self.undo_outdated = true;
        }
        if action != 'b' || !intermediates.is_empty() {
            self.display.last_printed = None;
        }
        self.csi(params, intermediates, action);
    }
}

#[cfg(test)]
mod tests {
    use crate::screen::Screen;

    fn lines(bytes: &str) -> Vec<String> {
        let mut screen = Screen::new(12, 3);
        screen.feed(bytes.as_bytes());
        screen.lines()
    }

    #[test]
    fn control_characters_move() {
        assert_eq!(lines("ab\nc\rd"), ["ab", "d c", ""]);
        assert_eq!(lines("ab\x0bc\x0cd"), ["ab", "  c", "   d"]);
        assert_eq!(lines("\x1b[20hab\nc"), ["ab", "c", ""]);
        assert_eq!(lines("a\tb\tc"), ["a       b  c", "", ""]);
        assert_eq!(lines("\x08ab\x08c"), ["ac", "", ""]);
    }

    #[test]
    fn escapes_move_and_set_tabs() {
        assert_eq!(lines("ab\x1bDc\x1bEd"), ["ab", "  c", "d"]);
        assert_eq!(lines("\x1b[3g\x1b[4G\x1bH\r\tx"), ["   x", "", ""]);
    }

    #[test]
    fn both_character_sets_can_draw_lines() {
        assert_eq!(lines("\x1b(0lq\x1b(Bq")[0], "┌─q");
        assert_eq!(lines("\x1b)0q\x0eq\x0fq")[0], "q─q");
        assert_eq!(lines("\x1b*0\x1bNqq\x1bNé漢qq")[0], "─qé漢─q");
    }

    #[test]
    fn strings_that_mean_nothing_here_show_nothing() {
        assert_eq!(
            lines("a\x1bP$q\"p\x1b\\b\x1b_Gi=31,s=1;AAAA\x1b\\c\x1b^x\x1b\\d\x1bXy\x1b\\e")[0],
            "abcde"
        );
    }
}
