//! The kitty keyboard protocol's flags: a stack for each of the two screens.
//!
//! It keeps what the child asked for, so that it can be answered (`CSI ? u`) and undone. It encodes no keys.

/// Most pushes that are kept; the oldest falls out. Kitty keeps 8; what falls out there too is not ours to pop.
const DEPTH: usize = 16;

/// How `CSI = flags ; how u` changes the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// 1: exactly these.
    Replace,
    /// 2: these as well.
    Add,
    /// 3: not these.
    Remove,
}

/// The flags of one screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Keyboard {
    base: u8,
    pushed: Vec<u8>,
}

impl Keyboard {
    /// The flags in force.
    pub(super) fn flags(&self) -> u8 {
        self.pushed.last().copied().unwrap_or(self.base)
    }

    /// `CSI > flags u`.
    pub(super) fn push(&mut self, flags: u8) {
        if self.pushed.len() == DEPTH {
            self.pushed.remove(0);
        }
        self.pushed.push(flags);
    }

    /// `CSI < count u`: popping more than there is resets the flags.
    pub(super) fn pop(&mut self, count: usize) {
        if count > self.pushed.len() {
            self.base = 0;
        }
        self.pushed.truncate(self.pushed.len().saturating_sub(count));
    }

    /// `CSI = flags ; how u`.
    pub(super) fn change(&mut self, flags: u8, how: Change) {
        let current = self.pushed.last_mut().unwrap_or(&mut self.base);
        *current = match how {
            Change::Replace => flags,
            Change::Add => *current | flags,
            Change::Remove => *current & !flags,
        };
    }

    /// The sequences that take everything back; empty when nothing is set.
    pub(super) fn undo(&self) -> String {
        let mut bytes = String::new();
        if !self.pushed.is_empty() {
            bytes.push_str(&format!("\x1b[<{}u", self.pushed.len()));
        }
        if self.base != 0 {
            bytes.push_str("\x1b[=0;1u");
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_and_pops_are_a_stack() {
        let mut keyboard = Keyboard::default();
        keyboard.push(1);
        keyboard.push(5);
        assert_eq!((keyboard.flags(), keyboard.undo().as_str()), (5, "\x1b[<2u"));
        keyboard.pop(1);
        assert_eq!(keyboard.flags(), 1);
        keyboard.pop(9);
        assert_eq!((keyboard.flags(), keyboard.undo().as_str()), (0, ""));
    }

    #[test]
    fn flags_change_in_three_ways() {
        let mut keyboard = Keyboard::default();
        keyboard.change(5, Change::Replace);
        keyboard.change(2, Change::Add);
        keyboard.change(4, Change::Remove);
        assert_eq!((keyboard.flags(), keyboard.undo().as_str()), (3, "\x1b[=0;1u"));
        keyboard.push(8);
        keyboard.pop(1);
        assert_eq!(keyboard.flags(), 3);
        keyboard.pop(1);
        assert_eq!(keyboard.flags(), 0);
    }

    #[test]
    fn the_stack_is_bounded() {
        let mut keyboard = Keyboard::default();
        for _ in 0..1000 {
            keyboard.push(1);
        }
        assert_eq!(keyboard.undo(), "\x1b[<16u");
    }
}
