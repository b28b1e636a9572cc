//! What else outlives the child in a terminal, and shows in no cell of the model.

/// The state of the small switches. Default = as in a fresh terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extras {
    /// OSC 8: what is written is a link.
    pub(super) link: bool,
    /// OSC 9;4: a progress is shown.
    pub(super) progress: bool,
    /// DECSCA: what is written cannot be erased selectively.
    pub(super) protected: bool,
    /// S8C1T: the terminal sends controls of 8 bits.
    pub(super) eight_bit: bool,
    /// `ESC % @`: text is not UTF-8.
    pub(super) not_utf8: bool,
    /// DECANM, `CSI ? 2 l`: the terminal is a VT52.
    pub(super) vt52: bool,
    /// The mouse pointer's form on the primary and on the alternate screen.
    pub(super) pointers: [Pointer; 2],
}

/// OSC 22: the mouse pointer's form, with the stack that kitty gave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pointer {
    pushed: u8,
    set: bool,
}

/// Most pushes that are counted.
const DEPTH: u8 = 16;

impl Pointer {
    /// OSC 22: a name sets, `>` pushes, `<` pops, `?` asks.
    pub(super) fn osc(&mut self, text: &[u8]) {
        match text.first() {
            Some(b'>') => self.pushed = self.pushed.saturating_add(1).min(DEPTH),
            Some(b'<') => self.pushed = self.pushed.saturating_sub(1),
            Some(b'?') => {}
            _ if self.pushed > 0 => {}
            _ => self.set = !matches!(text, b"" | b"="),
        }
    }

    /// The sequences that take it back.
    pub(super) fn undo(self) -> String {
        let mut out = "\x1b]22;<\x07".repeat(usize::from(self.pushed));
        if self.set {
            out.push_str("\x1b]22;\x07");
        }
        out
    }
}

impl Extras {
    /// OSC 8, 9 and 22, the number first.
    pub(super) fn osc(&mut self, params: &[&[u8]], alternate: bool) {
        match *params {
            [b"8", _, ref uri @ ..] => self.link = uri.iter().any(|part| !part.is_empty()),
            [b"9", b"4", state, ..] => self.progress = !matches!(state, b"" | b"0"),
            [b"22", text] => self.pointers[usize::from(alternate)].osc(text),
            _ => {}
        }
    }

    /// A full reset, of which some terminals leave out what concerns their window.
    pub(super) fn reset(self) -> Self {
        Self { progress: self.progress, pointers: self.pointers, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_progress_are_open_until_they_are_closed() {
        let mut extras = Extras::default();
        extras.osc(&[b"8", b"id=1", b"http://a", b"b"], false);
        extras.osc(&[b"9", b"4", b"1", b"50"], false);
        extras.osc(&[b"9", b"a notification"], false);
        assert!(extras.link && extras.progress);
        assert!(extras.reset().progress && !extras.reset().link);
        extras.osc(&[b"8", b"", b""], false);
        extras.osc(&[b"9", b"4", b"0", b"0"], false);
        assert_eq!(extras, Extras::default());
    }

    #[test]
    fn a_pointer_is_popped_as_often_as_it_was_pushed() {
        let undo = |texts: &[&str]| {
            let mut pointer = Pointer::default();
            texts.iter().for_each(|text| pointer.osc(text.as_bytes()));
            pointer.undo()
        };
        assert_eq!(undo(&["text"]), "\x1b]22;\x07");
        assert_eq!(undo(&["text", ""]), "");
        assert_eq!(undo(&[">wait", ">text", "help", "<", "?text"]), "\x1b]22;<\x07");
        assert_eq!(undo(&["<", "<"]), "");
        assert_eq!(undo(&[">a"; 1000]).len(), usize::from(DEPTH) * 7);
    }
}
