//! How bytes are coded in both directions, where it is not as in every terminal today.

/// What a program changed of it. The default is UTF-8, and controls of 7 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalEncoding {
    /// S8C1T: the terminal sends controls of 8 bits.
    pub eight_bit_controls: bool,
    /// `ESC % @`: text is not UTF-8.
    pub not_utf8: bool,
    /// DECANM, `CSI ? 2 l`: the terminal is a VT52.
    pub vt52: bool,
}

impl TerminalEncoding {
    /// The sequences that have a fresh terminal read bytes as here: nothing but the child's own bytes may
    /// follow.
    pub fn redo_reading(self) -> String {
        let mut out = String::new();
        if self.not_utf8 {
            out.push_str("\x1b%@");
        }
        if self.vt52 {
            out.push_str("\x1b[?2l");
        }
        out
    }
}
