//! The modes: every setting of the child that outlives it, and which of them it has changed.
//!
//! Modes are kept one by one as the child sets them, even if a terminal treats some as one choice (mouse):
//! undoing one too many is harmless, one too few is not. The effects of modes are elsewhere; most do not
//! change the picture. For the alternate screen (47, 1047, 1049) see `alternate_screen.rs`.

/// The two number spaces of SM and RM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeSpace {
    /// `CSI n h`.
    Ansi,
    /// `CSI ? n h`.
    Private,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalMode {
    /// ANSI 2: the keyboard is locked (KAM).
    KeyboardLocked,
    /// ANSI 4: printing moves the rest of the row to the right (IRM).
    Insert,
    /// ANSI 12: the terminal does not echo by itself what is typed (SRM). On in a fresh terminal.
    NoLocalEcho,
    /// ANSI 20: a line feed also returns the carriage (LNM).
    Newline,
    /// 1: cursor keys send application sequences (DECCKM).
    CursorKeys,
    /// 5: the whole screen is shown reversed (DECSCNM).
    ReverseVideo,
    /// 6: rows are counted from the top margin (DECOM).
    Origin,
    /// 7: text wraps into the next row (DECAWM). On in a fresh terminal.
    AutoWrap,
    /// 8: a key that is held down repeats (DECARM). On in a fresh terminal.
    AutoRepeat,
    /// 9: X10 mouse reports.
    MouseX10,
    /// 12: the cursor blinks.
    CursorBlink,
    /// 25: the cursor is shown (DECTCEM). On in a fresh terminal.
    CursorVisible,
    /// 40: mode 3 changes the number of columns (xterm).
    AllowColumns,
    /// 42: characters are in a 7-bit national set (DECNRCM).
    NationalSets,
    /// 45: backspace at the left edge moves to the row above, if that row wrapped.
    ReverseWrap,
    /// 66, and `ESC =`: the keypad sends application sequences (DECNKM).
    Keypad,
    /// 67: the backspace key sends BS, not DEL (DECBKM).
    BackspaceSendsBs,
    /// 69: there are margins at the sides, too (DECLRMM).
    SideMargins,
    /// 80: images are drawn at the top left, not at the cursor (DECSDM).
    SixelDisplay,
    /// 95: mode 3 then erases nothing (DECNCSM).
    KeepOnColumns,
    /// 1000: mouse buttons are reported.
    MouseButtons,
    /// 1001: mouse highlighting, for which the terminal waits for the program.
    MouseHighlight,
    /// 1002: mouse buttons, and motion while a button is down.
    MouseDrag,
    /// 1003: mouse buttons and all motion.
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
    /// 1045: backspace at the left edge moves to the row above (xterm).
    ReverseWrapAnywhere,
    /// 2004: pastes are bracketed.
    BracketedPaste,
    /// 2026: the terminal delays drawing until a frame is complete (synchronized update).
    Synchronized,
    /// 2027: width by grapheme cluster.
    Graphemes,
    /// 2031: changes of the colour scheme are reported.
    ColorScheme,
    /// 2048: changes of the size are reported in band.
    SizeReports,
    /// 5522: pastes are announced and requested (kitty).
    PasteEvents,
    /// 8452: the cursor stays right of an image (xterm).
    SixelCursor,
    /// 9001: keys are reported as Windows key records.
    WindowsKeys,
}

impl TerminalMode {
    /// Every mode, by space and number.
    pub const ALL: [Self; 39] = [
        Self::KeyboardLocked,
        Self::Insert,
        Self::NoLocalEcho,
        Self::Newline,
        Self::CursorKeys,
        Self::ReverseVideo,
        Self::Origin,
        Self::AutoWrap,
        Self::AutoRepeat,
        Self::MouseX10,
        Self::CursorBlink,
        Self::CursorVisible,
        Self::AllowColumns,
        Self::NationalSets,
        Self::ReverseWrap,
        Self::Keypad,
        Self::BackspaceSendsBs,
        Self::SideMargins,
        Self::SixelDisplay,
        Self::KeepOnColumns,
        Self::MouseButtons,
        Self::MouseHighlight,
        Self::MouseDrag,
        Self::MouseMotion,
        Self::Focus,
        Self::MouseUtf8,
        Self::MouseSgr,
        Self::AlternateScroll,
        Self::MouseUrxvt,
        Self::MousePixels,
        Self::ReverseWrapAnywhere,
        Self::BracketedPaste,
        Self::Synchronized,
        Self::Graphemes,
        Self::ColorScheme,
        Self::SizeReports,
        Self::PasteEvents,
        Self::SixelCursor,
        Self::WindowsKeys,
    ];

    #[must_use]
    pub fn number(self) -> (ModeSpace, u16) {
        let private = |number| (ModeSpace::Private, number);
        match self {
            Self::KeyboardLocked => (ModeSpace::Ansi, 2),
            Self::Insert => (ModeSpace::Ansi, 4),
            Self::NoLocalEcho => (ModeSpace::Ansi, 12),
            Self::Newline => (ModeSpace::Ansi, 20),
            Self::CursorKeys => private(1),
            Self::ReverseVideo => private(5),
            Self::Origin => private(6),
            Self::AutoWrap => private(7),
            Self::AutoRepeat => private(8),
            Self::MouseX10 => private(9),
            Self::CursorBlink => private(12),
            Self::CursorVisible => private(25),
            Self::AllowColumns => private(40),
            Self::NationalSets => private(42),
            Self::ReverseWrap => private(45),
            Self::Keypad => private(66),
            Self::BackspaceSendsBs => private(67),
            Self::SideMargins => private(69),
            Self::SixelDisplay => private(80),
            Self::KeepOnColumns => private(95),
            Self::MouseButtons => private(1000),
            Self::MouseHighlight => private(1001),
            Self::MouseDrag => private(1002),
            Self::MouseMotion => private(1003),
            Self::Focus => private(1004),
            Self::MouseUtf8 => private(1005),
            Self::MouseSgr => private(1006),
            Self::AlternateScroll => private(1007),
            Self::MouseUrxvt => private(1015),
            Self::MousePixels => private(1016),
            Self::ReverseWrapAnywhere => private(1045),
            Self::BracketedPaste => private(2004),
            Self::Synchronized => private(2026),
            Self::Graphemes => private(2027),
            Self::ColorScheme => private(2031),
            Self::SizeReports => private(2048),
            Self::PasteEvents => private(5522),
            Self::SixelCursor => private(8452),
            Self::WindowsKeys => private(9001),
        }
    }

    /// The mode of a number, `None` if hopty does not know it.
    pub fn from_number(space: ModeSpace, number: u16) -> Option<Self> {
        let key = |(space, number): (ModeSpace, u16)| (space as u8, number);
        let at = Self::ALL.binary_search_by_key(&key((space, number)), |mode| key(mode.number())).ok()?;
        Self::ALL.get(at).copied()
    }

    /// Whether it is on in a fresh terminal.
    #[must_use]
    pub fn initially_on(self) -> bool {
        matches!(self, Self::AutoWrap | Self::AutoRepeat | Self::CursorVisible | Self::NoLocalEcho)
    }

    /// Whether terminals differ in its default, so that its previous state is unknown: the wheel on the
    /// alternate screen is on in alacritty, foot and VTE and off in xterm; grapheme clusters are on in foot
    /// and Ghostty.
    fn has_no_default(self) -> bool {
        matches!(self, Self::AlternateScroll | Self::Graphemes)
    }

    /// The sequence that sets (`h`) or resets (`l`) it.
    pub(in crate::screen) fn sequence(self, on: bool) -> String {
        let last = if on { 'h' } else { 'l' };
        match self.number() {
            (ModeSpace::Ansi, number) => format!("\x1b[{number}{last}"),
            (ModeSpace::Private, number) => format!("\x1b[?{number}{last}"),
        }
    }

    /// The sequence for an unknown terminal: not every one supports the keypad by number.
    fn redo(self, on: bool) -> String {
        match self {
            Self::Keypad => if on { "\x1b=" } else { "\x1b>" }.to_owned(),
            _ => self.sequence(on),
        }
    }

    pub(in crate::screen) fn bit(self) -> u64 {
        1 << self as u32
    }
}

/// Groups of modes in which a terminal keeps only the last one that was set, and none after one was reset.
const CHOICES: [&[TerminalMode]; 2] = [
    &[
        TerminalMode::MouseX10,
        TerminalMode::MouseButtons,
        TerminalMode::MouseHighlight,
        TerminalMode::MouseDrag,
        TerminalMode::MouseMotion,
    ],
    &[TerminalMode::MouseUtf8, TerminalMode::MouseSgr, TerminalMode::MouseUrxvt, TerminalMode::MousePixels],
];

/// Which modes differ from a fresh terminal, and which of them the child has ever set or reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeSet {
    changed: u64,
    touched: u64,
    /// The mode in force of each of the [`CHOICES`].
    chosen: [Option<TerminalMode>; 2],
    /// What XTSAVE saved: which modes, and the values of `changed` and `touched` at that time.
    saved: (u64, u64, u64),
}

impl ModeSet {
    /// Whether `mode` is on.
    #[inline]
    pub fn is_on(self, mode: TerminalMode) -> bool {
        (self.changed & mode.bit() != 0) != mode.initially_on()
    }

    /// Whether the child has set or reset `mode` without restoring its previous state.
    #[inline]
    pub fn is_touched(self, mode: TerminalMode) -> bool {
        self.touched & mode.bit() != 0
    }

    /// Turns `mode` on or off.
    pub fn set(&mut self, mode: TerminalMode, on: bool) {
        self.touch(mode);
        if on == mode.initially_on() {
            self.changed &= !mode.bit();
        } else {
            self.changed |= mode.bit();
        }
        self.choose(mode, on);
    }

    fn choose(&mut self, mode: TerminalMode, on: bool) {
        if let Some(chosen) =
            CHOICES.iter().position(|choice| choice.contains(&mode)).and_then(|at| self.chosen.get_mut(at))
        {
            *chosen = on.then_some(mode);
        }
    }

    /// Notes that the child has changed `mode`.
    pub fn touch(&mut self, mode: TerminalMode) {
        self.touched |= mode.bit();
    }

    /// Ends a synchronized update, as [`ModeSet::redo`] does.
    #[cfg(test)]
    pub fn show_frames(&mut self) {
        self.changed &= !TerminalMode::Synchronized.bit();
        self.saved.1 &= !TerminalMode::Synchronized.bit();
    }

    /// XTSAVE, `CSI ? n s`.
    pub fn save(&mut self, mode: TerminalMode) {
        let bit = mode.bit();
        let (which, changed, touched) = self.saved;
        self.saved = (which | bit, changed & !bit | self.changed & bit, touched & !bit | self.touched & bit);
    }

    /// XTRESTORE, `CSI ? n r`.
    pub fn restore(&mut self, mode: TerminalMode) {
        let bit = mode.bit();
        let (which, changed, touched) = self.saved;
        if which & bit != 0 {
            self.changed = self.changed & !bit | changed & bit;
            self.touched = self.touched & !bit | touched & bit;
            self.choose(mode, self.is_on(mode));
        }
    }

    /// The sequences that set these modes on a fresh terminal: saves what was saved, then sets every touched
    /// mode, those of `last` at the very end. A synchronized update (2026) is not resumed.
    pub fn redo(self, last: &[TerminalMode]) -> [String; 3] {
        let (mut saves, mut first, mut end) = (String::new(), String::new(), String::new());
        let (which, changed, touched) = self.saved;
        let shown = |mode: TerminalMode, bits: u64| {
            mode != TerminalMode::Synchronized && (bits & mode.bit() != 0) != mode.initially_on()
        };
        for mode in TerminalMode::ALL.into_iter().filter(|mode| which & mode.bit() != 0) {
            if touched & mode.bit() != 0 {
                saves.push_str(&mode.redo(shown(mode, changed)));
            }
            saves.push_str(&format!("\x1b[?{}s", mode.number().1));
            if mode == TerminalMode::AutoWrap && touched & mode.bit() != 0 {
                saves.push_str(&mode.redo(true));
            }
        }
        let chosen = |mode: TerminalMode| self.chosen.contains(&Some(mode));
        let set: Vec<TerminalMode> = TerminalMode::ALL
            .into_iter()
            .filter(|mode| self.is_touched(*mode) && !last.contains(mode))
            .collect();
        let choice = |mode: TerminalMode| CHOICES.iter().position(|choice| choice.contains(&mode));
        for mode in set.iter().filter(|mode| choice(**mode).is_none()) {
            first.push_str(&mode.redo(shown(*mode, self.changed)));
        }
        for (at, modes) in CHOICES.iter().enumerate() {
            let of_choice = |on: bool| {
                set.iter().filter(move |mode| choice(**mode) == Some(at) && self.is_on(**mode) == on)
            };
            let all = |modes: &[&TerminalMode], on: bool| {
                modes.iter().map(|mode| mode.redo(on)).collect::<String>()
            };
            let off: Vec<&TerminalMode> = of_choice(false).collect();
            let (in_force, on): (Vec<&TerminalMode>, Vec<&TerminalMode>) =
                of_choice(true).partition(|mode| chosen(**mode));
            if let Some(mode) = in_force.first() {
                first.push_str(&(all(&off, false) + &all(&on, true) + &mode.redo(true)));
                continue;
            }
            // None is in force although some were set: one was set later and reset, or restored from before
            // it was touched.
            first.push_str(&all(&on, true));
            match off.first().filter(|_| !on.is_empty()) {
                Some(mode) => first.push_str(&mode.redo(true)),
                None => {
                    let restored = modes
                        .iter()
                        .find(|mode| which & !touched & mode.bit() != 0 && !self.is_touched(**mode));
                    restored
                        .filter(|_| !on.is_empty())
                        .iter()
                        .for_each(|mode| first.push_str(&format!("\x1b[?{}r", mode.number().1)));
                }
            }
            first.push_str(&all(&off, false));
        }
        for mode in last.iter().filter(|mode| self.is_touched(**mode)) {
            end.push_str(&mode.redo(shown(*mode, self.changed)));
        }
        [saves, first, end]
    }

    /// The sequences that restore `mode` to its state before the child: `before` if known; otherwise the
    /// default, if terminals agree on it, and then what the child saved, if it saved the mode before changing
    /// it. Empty if there is nothing to do.
    pub fn undo(self, mode: TerminalMode, before: Option<bool>) -> String {
        let mut out = String::new();
        if !self.is_touched(mode) {
            return out;
        }
        let target = before.or((!mode.has_no_default()).then(|| mode.initially_on()));
        if let Some(target) = target.filter(|target| self.is_on(mode) != *target) {
            out.push_str(&mode.sequence(target));
        }
        let (which, _, touched) = self.saved;
        if before.is_none() && which & !touched & mode.bit() != 0 {
            out.push_str(&format!("\x1b[?{}r", mode.number().1));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_has_a_number_and_a_bit_of_its_own() {
        for (at, mode) in TerminalMode::ALL.into_iter().enumerate() {
            let (space, number) = mode.number();
            assert_eq!(TerminalMode::from_number(space, number), Some(mode));
            assert_eq!(mode as usize, at);
        }
        assert_eq!(TerminalMode::from_number(ModeSpace::Ansi, 2004), None);
    }

    #[test]
    fn the_latch_holds_what_differs_from_a_fresh_terminal() {
        let mut modes = ModeSet::default();
        assert!(modes.is_on(TerminalMode::AutoWrap) && !modes.is_on(TerminalMode::Focus));
        modes.set(TerminalMode::AutoWrap, false);
        modes.set(TerminalMode::Focus, true);
        assert!(!modes.is_on(TerminalMode::AutoWrap) && modes.is_on(TerminalMode::Focus));
        assert!(modes.is_touched(TerminalMode::AutoWrap) && !modes.is_touched(TerminalMode::CursorVisible));
        modes.set(TerminalMode::AutoWrap, true);
        modes.set(TerminalMode::Focus, false);
        assert!(TerminalMode::ALL.into_iter().all(|mode| modes.undo(mode, None).is_empty()));
    }

    #[test]
    fn a_mode_goes_back_to_what_it_was_before_where_that_is_known() {
        let undo = |steps: &[bool], before| {
            let mut modes = ModeSet::default();
            steps.iter().for_each(|on| modes.set(TerminalMode::BracketedPaste, *on));
            modes.undo(TerminalMode::BracketedPaste, before)
        };
        assert_eq!(undo(&[], Some(true)), "", "never touched");
        assert_eq!(undo(&[true], Some(true)), "");
        assert_eq!(undo(&[true], Some(false)), "\x1b[?2004l");
        assert_eq!(undo(&[true, false], Some(true)), "\x1b[?2004h");
        assert_eq!(undo(&[true, false], None), "");
    }

    #[test]
    fn a_mode_that_the_child_saved_before_it_set_it_is_restored() {
        let mut modes = ModeSet::default();
        modes.save(TerminalMode::Focus);
        assert_eq!(modes.undo(TerminalMode::Focus, None), "");
        modes.set(TerminalMode::Focus, true);
        assert_eq!(modes.undo(TerminalMode::Focus, None), "\x1b[?1004l\x1b[?1004r");
        assert_eq!(modes.undo(TerminalMode::Focus, Some(true)), "");
        modes.restore(TerminalMode::Focus);
        assert!(!modes.is_on(TerminalMode::Focus) && modes.undo(TerminalMode::Focus, None).is_empty());
        modes.set(TerminalMode::Focus, true);
        modes.save(TerminalMode::Focus);
        assert_eq!(modes.undo(TerminalMode::Focus, None), "\x1b[?1004l", "what it saved is its own");
    }
}
