//! What else outlives the child in a terminal, and shows in no cell of the model.

/// The state of the small switches. Default = as in a fresh terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// OSC 8: a link was begun and not ended. The pen may have none all the same: one that is not kept, or the cursor was restored
    /// since, for which terminals differ.
    pub link: bool,
    /// OSC 9;4: a progress is shown: its state (1 to 4) and percent.
    pub progress: Option<(u8, u8)>,
    /// S8C1T: the terminal sends controls of 8 bits.
    pub eight_bit: bool,
    /// `ESC % @`: text is not UTF-8.
    pub not_utf8: bool,
    /// SPA (`ESC V`) has protected last, not DECSCA: what is protected stays when anything is erased, not only selectively.
    pub iso_protection: bool,
    /// DECSACE 2: attributes change in rectangles, not in lines that run on.
    pub rectangles: bool,
    /// DECANM, `CSI ? 2 l`: the terminal is a VT52.
    pub vt52: bool,
    /// The mouse pointer's form on the primary and on the alternate screen.
    pub pointers: [Pointer; 2],
}

/// The pointers that have a name in CSS, which is what OSC 22 takes.
const POINTERS: [&str; 32] = [
    "default",
    "alias",
    "all-scroll",
    "cell",
    "col-resize",
    "context-menu",
    "copy",
    "crosshair",
    "e-resize",
    "ew-resize",
    "grab",
    "grabbing",
    "help",
    "move",
    "n-resize",
    "ne-resize",
    "nesw-resize",
    "no-drop",
    "none",
    "not-allowed",
    "ns-resize",
    "nw-resize",
    "nwse-resize",
    "pointer",
    "progress",
    "row-resize",
    "s-resize",
    "sw-resize",
    "text",
    "vertical-text",
    "w-resize",
    "wait",
];

/// Most pushes that are kept; further ones fall away.
const DEPTH: usize = 16;

/// OSC 22: the mouse pointer's form, with the stack that kitty gave it. A form is a place in [`POINTERS`]; unknown ones count as
/// the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pointer {
    base: Option<u8>,
    pushed: [u8; DEPTH],
    len: u8,
}

impl Pointer {
    /// OSC 22: a name sets, `>` pushes, `<` pops, `?` asks.
    pub fn osc(&mut self, text: &[u8]) {
        let form = |name: &[u8]| POINTERS.iter().position(|known| known.as_bytes() == name).unwrap_or(0) as u8;
        let len = usize::from(self.len);
        match text.split_first() {
            Some((b'>', name)) => {
                if let Some(place) = self.pushed.get_mut(len) {
                    *place = form(name);
                    self.len += 1;
                }
            }
            Some((b'<', _)) => {
                self.len = self.len.saturating_sub(1);
                self.pushed.iter_mut().skip(usize::from(self.len)).for_each(|place| *place = 0);
            }
            Some((b'?', _)) => {}
            _ => {
                let name = text.strip_prefix(b"=").unwrap_or(text);
                match self.pushed.get_mut(len.wrapping_sub(1)) {
                    Some(top) => *top = form(name),
                    None => self.base = (!name.is_empty()).then(|| form(name)),
                }
            }
        }
    }

    fn pushes(&self) -> &[u8] {
        self.pushed.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// The sequences that bring a fresh terminal to it.
    pub fn redo(self) -> String {
        let name = |form: &u8| POINTERS.get(usize::from(*form)).copied().unwrap_or("default");
        let base = self.base.iter().map(|form| format!("\x1b]22;{}\x1b\\", name(form)));
        base.chain(self.pushes().iter().map(|form| format!("\x1b]22;>{}\x1b\\", name(form)))).collect()
    }

    /// The sequences that take it back.
    pub fn undo(self) -> String {
        let mut out = "\x1b]22;<\x07".repeat(self.pushes().len());
        if self.base.is_some() {
            out.push_str("\x1b]22;\x07");
        }
        out
    }
}

impl Extras {
    /// OSC 8, 9 and 22, the number first.
    pub fn osc(&mut self, params: &[&[u8]], alternate: bool) {
        match *params {
            [b"8", _, ref uri @ ..] => self.link = uri.iter().any(|part| !part.is_empty()),
            [b"9", b"4", state, ref percent @ ..] => self.set_progress(state, percent.first().copied().unwrap_or_default()),
            [b"22", text] => self.pointers[usize::from(alternate)].osc(text),
            _ => {}
        }
    }

    fn set_progress(&mut self, state: &[u8], percent: &[u8]) {
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u8>().ok();
        match (state, number(state)) {
            (b"" | b"0", _) => self.progress = None,
            (_, Some(state @ 1..=4)) => self.progress = Some((state, number(percent).unwrap_or(0).min(100))),
            _ => {}
        }
    }

    /// The sequences that bring a fresh terminal to these, but for pointers and links, which belong to a screen, and for what
    /// changes how bytes are read.
    pub fn redo(self) -> String {
        let mut out = String::new();
        if let Some((state, percent)) = self.progress {
            out.push_str(&format!("\x1b]9;4;{state};{percent}\x1b\\"));
        }
        if self.eight_bit {
            out.push_str("\x1b G");
        }
        if self.rectangles {
            out.push_str("\x1b[2*x");
        }
        out
    }

    /// The sequences that have a fresh terminal read bytes as here: nothing but the child's own bytes may follow.
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

    /// The sequences that have a terminal protect as here, the pen being as it is already: nothing may be erased behind them.
    pub fn redo_protection(self, pen_protects: bool) -> &'static str {
        match (self.iso_protection, pen_protects) {
            (false, _) => "",
            (true, true) => "\x1bV",
            (true, false) => "\x1bV\x1bW",
        }
    }

    /// A full reset, of which some terminals leave out what concerns their window.
    pub fn reset(self) -> Self {
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
        assert!(extras.link && extras.progress == Some((1, 50)));
        assert!(extras.reset().progress.is_some() && !extras.reset().link);
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
        assert_eq!(undo(&[">a"; 1000]).len(), DEPTH * 7);
    }
}
