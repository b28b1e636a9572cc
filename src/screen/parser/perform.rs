//! What the parser calls: text, control characters, short escape sequences. Longer ones go on to `csi.rs` and `osc.rs`.
//!
//! Device control strings are ignored, but for the question for a setting (DECRQSS). So are the C1 controls
//! (U+0080 to U+009F), which few terminals obey in UTF-8; a byte of theirs alone is no character, and is shown as one that is none.

use vte::Perform;

use super::control_sequence::Sequence;
use super::params::Params;
use crate::screen::modes::Mode;
use crate::screen::reply::Query;
use crate::screen::restore::Topic;
use crate::screen::terminal::Terminal;

impl Perform for Terminal {
    #[inline]
    fn print(&mut self, ch: char) {
        self.heard = true;
        self.grounded = true;
        Self::put(self, ch);
    }

    #[inline]
    fn execute(&mut self, byte: u8) {
        self.heard = true;
        // The others of the parser's are bytes of 0x80 to 0x9f, which mean nothing here.
        if byte < b' ' {
            self.last = None;
        }
        match byte {
            0x08 => self.go_back(1),
            b'\t' => self.tab_forward(1),
            b'\n' | 0x0b | 0x0c => {
                self.index();
                if self.is_on(Mode::Newline) {
                    self.carriage_return();
                }
            }
            b'\r' => self.carriage_return(),
            0x0e => self.caret.charsets.shift(1),
            0x0f => self.caret.charsets.shift(0),
            // CAN and SUB end every sequence.
            0x18 | 0x1a => self.grounded = true,
            _ => {}
        }
    }

    fn hook(&mut self, _params: &vte::Params, intermediates: &[u8], _ignore: bool, action: char) {
        self.heard = true;
        self.last = None;
        self.hooked = true;
        self.request = (intermediates == b"$" && action == 'q').then(Vec::new);
    }

    fn put(&mut self, byte: u8) {
        self.heard = true;
        self.request_byte(byte);
    }

    fn unhook(&mut self) {
        self.heard = true;
        self.hooked = false;
        let Some(request) = self.request.take() else { return };
        if request == b" q" {
            self.former.ask(Topic::Shape, self.shape.is_none());
        }
        self.ask(Query::Setting(self.setting(&request)));
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], bell_terminated: bool) {
        self.heard = true;
        self.last = None;
        if !params.first().is_some_and(|number| Self::latch_holds_osc(number)) {
            self.touched = true;
        }
        // Otherwise an escape follows, or has come already, or CAN will be told.
        self.grounded = bell_terminated;
        self.osc(params, bell_terminated);
    }

    fn csi_dispatch(&mut self, params: &vte::Params, intermediates: &[u8], ignore: bool, action: char) {
        self.heard = true;
        self.grounded = true;
        if ignore {
            self.last = None;
        } else {
            self.control_sequence(&params.into(), intermediates, action);
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], ignore: bool, byte: u8) {
        self.heard = true;
        self.grounded = true;
        self.last = None;
        if ignore {
            return;
        }
        if !Self::latch_holds_esc(intermediates, byte) {
            self.touched = true;
        }
        match (intermediates, byte) {
            ([], b'7') => self.save_caret(),
            ([], b'8') => self.restore_caret(),
            ([], b'=') => self.modes.set(Mode::Keypad, true),
            ([], b'>') => self.modes.set(Mode::Keypad, false),
            ([], b'D') => self.index(),
            ([], b'E') => {
                self.index();
                self.carriage_return();
            }
            ([], b'H') => self.tabs.set(self.caret.col),
            ([], b'M') => self.reverse_index(),
            ([], b'6') => self.back_index(),
            ([], b'9') => self.forward_index(),
            ([], b'c') => self.reset(),
            ([b'#'], b'8') => self.align(),
            ([], b'N') => self.caret.charsets.shift_once(2),
            ([], b'O') => self.caret.charsets.shift_once(3),
            ([], b'n') => self.caret.charsets.shift(2),
            ([], b'o') => self.caret.charsets.shift(3),
            ([], b'V') => self.protect_always(),
            ([], b'W') => self.caret.look.protect(false),
            ([], b'k') => self.names = self.takes_names,
            ([], b'<') => self.extras.vt52 = false,
            ([b' '], b'F') => self.extras.eight_bit = false,
            ([b' '], b'G') => self.extras.eight_bit = true,
            ([b'%'], set) => self.extras.not_utf8 = set == b'@',
            _ => drop(self.caret.charsets.designate(intermediates, byte)),
        }
    }

    fn terminated(&self) -> bool {
        self.grounded
    }
}

impl Terminal {
    /// Carries out a sequence that did not come from the parser.
    #[inline]
    pub fn carry_out(&mut self, sequence: Sequence, params: &Params) {
        let marker = [sequence.marker];
        let intermediates = if sequence.marker == 0 { &[][..] } else { &marker };
        self.control_sequence(params, intermediates, char::from(sequence.action));
    }

    #[inline]
    fn control_sequence(&mut self, params: &Params, intermediates: &[u8], action: char) {
        if !Self::latch_holds_csi(intermediates, action) {
            self.touched = true;
        }
        if action != 'b' || !intermediates.is_empty() {
            self.last = None;
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
        assert_eq!(lines("a\x1bP$q\"p\x1b\\b\x1b_Gi=31,s=1;AAAA\x1b\\c\x1b^x\x1b\\d\x1bXy\x1b\\e")[0], "abcde");
    }
}
