//! The encoding of bytes in both directions, if it is not the usual one.

/// What a program has changed of it. The default is UTF-8 with 7-bit controls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalEncoding {
    /// S8C1T: the terminal sends 8-bit controls.
    pub eight_bit_controls: bool,
    /// `ESC % @`: text is not UTF-8.
    pub not_utf8: bool,
    /// DECANM, `CSI ? 2 l`: the terminal is a VT52.
    pub vt52: bool,
}

impl TerminalEncoding {
    /// The sequences that make a fresh terminal read bytes in this encoding: only the child's own bytes may
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
