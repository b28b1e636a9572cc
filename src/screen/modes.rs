//! The mode latch: every switch the child can turn that outlives it, and which of them it has turned.
//!
//! Modes are latched one by one as the child sets them, even where a terminal treats some as one choice (mouse): taking
//! back one too many is harmless, one too few is not. What a mode does is not here; most do nothing to the picture.
//! The alternate screen (47, 1047, 1049) is not a bit but a place, see `alternate.rs`.

/// The two number spaces of SM and RM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeSpace {
    /// `CSI n h`.
    Ansi,
    /// `CSI ? n h`.
    Private,
}

/// A mode that hopty knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// ANSI 4: printing moves the rest of the row to the right (IRM).
    Insert,
    /// ANSI 20: a line feed also returns the carriage (LNM).
    Newline,
    /// 1: cursor keys send application sequences (DECCKM).
    CursorKeys,
    /// 5: the whole screen is shown reversed (DECSCNM).
    ReverseVideo,
    /// 6: rows are counted from the top margin (DECOM).
    Origin,
    /// 7: text goes on in the next row (DECAWM). On in a fresh terminal.
    AutoWrap,
    /// 9: X10 mouse reports.
    MouseX10,
    /// 12: the cursor blinks.
    CursorBlink,
    /// 25: the cursor is shown (DECTCEM). On in a fresh terminal.
    CursorVisible,
    /// 45: backspace at the left edge goes to the row above.
    ReverseWrap,
    /// 66, and `ESC =`: the keypad sends application sequences (DECNKM).
    Keypad,
    /// 1000: mouse buttons are reported.
    MouseButtons,
    /// 1002: and motion while a button is down.
    MouseDrag,
    /// 1003: and all motion.
    MouseMotion,
    /// 1004: focus changes are reported.
    Focus,
    /// 1005: mouse positions as UTF-8.
    MouseUtf8,
    /// 1006: mouse reports in SGR form.
    MouseSgr,
    /// 1007: the wheel sends cursor keys on the alternate screen.
    AlternateScroll,
    /// 1015: mouse reports in urxvt form.
    MouseUrxvt,
    /// 1016: mouse positions in pixels.
    MousePixels,
    /// 2004: pastes are bracketed.
    BracketedPaste,
    /// 2026: the terminal holds back the picture until a frame is whole.
    Synchronized,
    /// 2027: width by grapheme cluster.
    Graphemes,
    /// 2031: changes of the colour scheme are reported.
    ColorScheme,
    /// 2048: changes of the size are reported in band.
    SizeReports,
    /// 9001: keys are reported as Windows key records.
    WindowsKeys,
}

impl Mode {
    /// Every mode, by space and number.
    pub const ALL: [Self; 26] = [
        Self::Insert,
        Self::Newline,
        Self::CursorKeys,
        Self::ReverseVideo,
        Self::Origin,
        Self::AutoWrap,
        Self::MouseX10,
        Self::CursorBlink,
        Self::CursorVisible,
        Self::ReverseWrap,
        Self::Keypad,
        Self::MouseButtons,
        Self::MouseDrag,
        Self::MouseMotion,
        Self::Focus,
        Self::MouseUtf8,
        Self::MouseSgr,
        Self::AlternateScroll,
        Self::MouseUrxvt,
        Self::MousePixels,
        Self::BracketedPaste,
        Self::Synchronized,
        Self::Graphemes,
        Self::ColorScheme,
        Self::SizeReports,
        Self::WindowsKeys,
    ];

    /// The number space and the number.
    #[must_use]
    pub fn number(self) -> (ModeSpace, u16) {
        let private = |number| (ModeSpace::Private, number);
        match self {
            Self::Insert => (ModeSpace::Ansi, 4),
            Self::Newline => (ModeSpace::Ansi, 20),
            Self::CursorKeys => private(1),
            Self::ReverseVideo => private(5),
            Self::Origin => private(6),
            Self::AutoWrap => private(7),
            Self::MouseX10 => private(9),
            Self::CursorBlink => private(12),
            Self::CursorVisible => private(25),
            Self::ReverseWrap => private(45),
            Self::Keypad => private(66),
            Self::MouseButtons => private(1000),
            Self::MouseDrag => private(1002),
            Self::MouseMotion => private(1003),
            Self::Focus => private(1004),
            Self::MouseUtf8 => private(1005),
            Self::MouseSgr => private(1006),
            Self::AlternateScroll => private(1007),
            Self::MouseUrxvt => private(1015),
            Self::MousePixels => private(1016),
            Self::BracketedPaste => private(2004),
            Self::Synchronized => private(2026),
            Self::Graphemes => private(2027),
            Self::ColorScheme => private(2031),
            Self::SizeReports => private(2048),
            Self::WindowsKeys => private(9001),
        }
    }

    /// The mode of a number, `None` for those that hopty does not know.
    #[must_use]
    pub fn from_number(space: ModeSpace, number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.number() == (space, number))
    }

    /// Whether it is on in a fresh terminal.
    #[must_use]
    pub fn initially_on(self) -> bool {
        matches!(self, Self::AutoWrap | Self::CursorVisible)
    }

    /// The sequence that sets (`h`) or resets (`l`) it.
    pub(super) fn sequence(self, on: bool) -> String {
        let last = if on { 'h' } else { 'l' };
        match self.number() {
            (ModeSpace::Ansi, number) => format!("\x1b[{number}{last}"),
            (ModeSpace::Private, number) => format!("\x1b[?{number}{last}"),
        }
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Which modes are not as in a fresh terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Modes {
    changed: u32,
}

impl Modes {
    /// Whether `mode` is on.
    #[inline]
    pub(super) fn is_on(self, mode: Mode) -> bool {
        self.is_changed(mode) != mode.initially_on()
    }

    /// Whether `mode` is not as in a fresh terminal.
    #[inline]
    pub(super) fn is_changed(self, mode: Mode) -> bool {
        self.changed & mode.bit() != 0
    }

    /// Turns `mode` on or off.
    pub(super) fn set(&mut self, mode: Mode, on: bool) {
        if on == mode.initially_on() {
            self.changed &= !mode.bit();
        } else {
            self.changed |= mode.bit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_has_a_number_and_a_bit_of_its_own() {
        for (at, mode) in Mode::ALL.into_iter().enumerate() {
            let (space, number) = mode.number();
            assert_eq!(Mode::from_number(space, number), Some(mode));
            assert_eq!(mode as usize, at);
        }
        assert_eq!(Mode::from_number(ModeSpace::Ansi, 2004), None);
    }

    #[test]
    fn the_latch_holds_what_differs_from_a_fresh_terminal() {
        let mut modes = Modes::default();
        assert!(modes.is_on(Mode::AutoWrap) && !modes.is_on(Mode::Focus));
        modes.set(Mode::AutoWrap, false);
        modes.set(Mode::Focus, true);
        assert!(!modes.is_on(Mode::AutoWrap) && modes.is_on(Mode::Focus));
        assert!(modes.is_changed(Mode::AutoWrap) && !modes.is_changed(Mode::CursorVisible));
        modes.set(Mode::AutoWrap, true);
        modes.set(Mode::Focus, false);
        assert_eq!(modes, Modes::default());
    }
}
