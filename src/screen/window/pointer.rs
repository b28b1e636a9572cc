//! The mouse pointer's shape (OSC 22).

/// The pointers with a name in CSS, which OSC 22 uses.
const POINTERS: [&str; 32] = [
    "default", "alias", "all-scroll", "cell", "col-resize", "context-menu", "copy", "crosshair", "e-resize",
    "ew-resize", "grab", "grabbing", "help", "move", "n-resize", "ne-resize", "nesw-resize", "no-drop",
    "none", "not-allowed", "ns-resize", "nw-resize", "nwse-resize", "pointer", "progress", "row-resize",
    "s-resize", "sw-resize", "text", "vertical-text", "w-resize", "wait",
];

/// The most pushes that are kept; later ones are dropped.
const DEPTH: usize = 16;

/// OSC 22: the mouse pointer's shape, with kitty's stack. A shape is an index of [`POINTERS`]; unknown ones
/// count as the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointerStack {
    base: Option<u8>,
    pushed: [u8; DEPTH],
    len: u8,
}

impl PointerStack {
    /// OSC 22: a name sets, `>` pushes, `<` pops, `?` asks.
    pub fn osc(&mut self, text: &[u8]) {
        let form =
            |name: &[u8]| POINTERS.iter().position(|known| known.as_bytes() == name).unwrap_or(0) as u8;
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

    /// The sequences that set a fresh terminal to this state.
    pub fn redo(self) -> String {
        let name = |form: &u8| POINTERS.get(usize::from(*form)).copied().unwrap_or("default");
        let base = self.base.iter().map(|form| format!("\x1b]22;{}\x1b\\", name(form)));
        base.chain(self.pushes().iter().map(|form| format!("\x1b]22;>{}\x1b\\", name(form)))).collect()
    }

    /// The sequences that undo it.
    pub fn undo(self) -> String {
        let mut out = "\x1b]22;<\x07".repeat(self.pushes().len());
        if self.base.is_some() {
            out.push_str("\x1b]22;\x07");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_popped_as_often_as_it_was_pushed() {
        let undo = |texts: &[&str]| {
            let mut pointer = PointerStack::default();
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
