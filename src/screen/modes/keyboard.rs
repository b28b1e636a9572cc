//! The child's keyboard settings: the kitty protocol's flags, with a stack for each of the two screens, and
//! xterm's key options.
//!
//! They are kept to answer `CSI ? u` and to undo them. Keys are encoded elsewhere.

/// The most pushes that are kept; the oldest is dropped. Kitty keeps 8 and drops older ones, too, so they
/// need no pop.
const DEPTH: usize = 16;

/// How `CSI = flags ; how u` changes the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagChange {
    /// 1: set exactly these.
    Replace,
    /// 2: add these.
    Add,
    /// 3: remove these.
    Remove,
}

/// The flags of one screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KittyKeyboard {
    /// The child's changes to the flags that it found; `None` if there are none.
    base: Option<u8>,
    pushed: Vec<u8>,
}

impl KittyKeyboard {
    /// The flags in force.
    pub fn flags(&self) -> u8 {
        self.pushed.last().copied().or(self.base).unwrap_or(0)
    }

    /// `CSI > flags u`.
    pub fn push(&mut self, flags: u8) {
        if self.pushed.len() == DEPTH {
            self.pushed.remove(0);
        }
        self.pushed.push(flags);
    }

    /// `CSI < count u`: popping more than there is resets the flags.
    pub fn pop(&mut self, count: usize) {
        if count > self.pushed.len() {
            self.base = Some(0);
        }
        self.pushed.truncate(self.pushed.len().saturating_sub(count));
    }

    /// `CSI = flags ; how u`.
    pub fn change(&mut self, flags: u8, how: FlagChange) {
        let current = self.pushed.last_mut().unwrap_or_else(|| self.base.get_or_insert(0));
        *current = match how {
            FlagChange::Replace => flags,
            FlagChange::Add => *current | flags,
            FlagChange::Remove => *current & !flags,
        };
    }

    /// Whether the flags are as the child found them.
    pub fn is_untouched(&self) -> bool {
        self.base.is_none() && self.pushed.is_empty()
    }

    /// A full reset has cleared the flags that the child had found.
    pub fn lost(&mut self) {
        self.base = Some(0);
    }

    /// The sequences that undo everything; empty if nothing is set. `before`: the flags that the child found,
    /// if known; without changes to them, as many pops as pushes restore them.
    pub fn undo(&self, before: Option<u8>) -> String {
        let mut bytes = String::new();
        if !self.pushed.is_empty() {
            bytes.push_str(&format!("\x1b[<{}u", self.pushed.len()));
        }
        let before = before.unwrap_or(0);
        if self.base.is_some_and(|base| base != before) {
            bytes.push_str(&format!("\x1b[={before};1u"));
        }
        bytes
    }

    /// The sequences that set a terminal without flags to this state.
    pub fn redo(&self) -> String {
        let base = self.base.map(|base| format!("\x1b[={base};1u"));
        base.into_iter().chain(self.pushed.iter().map(|flags| format!("\x1b[>{flags}u"))).collect()
    }
}

/// The number of xterm's key options (XTMODKEYS and XTFMTKEYS); 5 is unused.
const OPTIONS: usize = 8;

/// The option that most programs use: modifyOtherKeys, formatOtherKeys.
const OTHER_KEYS: usize = 4;

/// The two families of key options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOptionFamily {
    /// XTMODKEYS, `CSI > option ; value m`: the effect of modifiers.
    Modify,
    /// XTFMTKEYS, `CSI > option ; value f`: their encoding.
    Format,
}

/// The key options that the child set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KeyOptions {
    modify: [Option<u16>; OPTIONS],
    format: [Option<u16>; OPTIONS],
}

impl KeyOptions {
    fn of(&mut self, family: KeyOptionFamily) -> &mut [Option<u16>; OPTIONS] {
        match family {
            KeyOptionFamily::Modify => &mut self.modify,
            KeyOptionFamily::Format => &mut self.format,
        }
    }

    /// Sets an option; without a value the terminal's configuration applies.
    pub fn set(&mut self, family: KeyOptionFamily, option: u16, value: Option<u16>) {
        if let Some(kept) = self.of(family).get_mut(usize::from(option)) {
            *kept = value;
            if usize::from(option) == OTHER_KEYS && family == KeyOptionFamily::Modify {
                *kept = Some(value.unwrap_or(0));
            }
        }
    }

    /// Resets all options of a family to the terminal's configuration.
    pub fn reset(&mut self, family: KeyOptionFamily) {
        (0..OPTIONS as u16).for_each(|option| self.set(family, option, None));
    }

    /// The level of modifyOtherKeys; 0 = off. `None` if the child has not touched it.
    pub fn other_keys(&self) -> Option<u16> {
        self.modify[OTHER_KEYS]
    }

    /// The sequences that set a fresh terminal to these options.
    pub fn redo(&self) -> String {
        let mut out = String::new();
        for (option, value) in self.modify.iter().enumerate() {
            match value {
                None => {}
                Some(u16::MAX) => out.push_str(&format!("\x1b[>{option}n")),
                Some(value) => out.push_str(&format!("\x1b[>{option};{value}m")),
            }
        }
        for (option, value) in self.format.iter().enumerate() {
            value.iter().for_each(|value| out.push_str(&format!("\x1b[>{option};{value}f")));
        }
        out
    }

    /// The sequences that undo everything; `before`: the level of modifyOtherKeys that the child found, if
    /// known.
    pub fn undo(&self, before: Option<u16>) -> String {
        let mut bytes = String::new();
        for (option, value) in self.modify.iter().enumerate() {
            match (value, before) {
                (None, _) => {}
                (Some(value), Some(before)) if option == OTHER_KEYS => {
                    if *value != before {
                        bytes.push_str(&format!("\x1b[>4;{before}m"));
                    }
                }
                (Some(0), _) if [0, OTHER_KEYS].contains(&option) => {}
                // Without a value it would mean all options.
                _ if option == 0 => bytes.push_str("\x1b[>0;0m"),
                _ => bytes.push_str(&format!("\x1b[>{option}m")),
            }
        }
        for (option, value) in self.format.iter().enumerate() {
            match value.unwrap_or(0) {
                0 => {}
                _ if option == 0 => bytes.push_str("\x1b[>0;0f"),
                _ => bytes.push_str(&format!("\x1b[>{option}f")),
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_and_pops_are_a_stack() {
        let mut keyboard = KittyKeyboard::default();
        keyboard.push(1);
        keyboard.push(5);
        assert_eq!((keyboard.flags(), keyboard.undo(None).as_str()), (5, "\x1b[<2u"));
        keyboard.pop(1);
        assert_eq!(keyboard.flags(), 1);
        keyboard.pop(9);
        assert_eq!((keyboard.flags(), keyboard.undo(None).as_str()), (0, ""));
    }

    #[test]
    fn flags_change_in_three_ways() {
        let mut keyboard = KittyKeyboard::default();
        keyboard.change(5, FlagChange::Replace);
        keyboard.change(2, FlagChange::Add);
        keyboard.change(4, FlagChange::Remove);
        assert_eq!((keyboard.flags(), keyboard.undo(None).as_str()), (3, "\x1b[=0;1u"));
        keyboard.push(8);
        keyboard.pop(1);
        assert_eq!(keyboard.flags(), 3);
        keyboard.pop(1);
        assert_eq!(keyboard.flags(), 0);
    }

    #[test]
    fn the_stack_is_bounded() {
        let mut keyboard = KittyKeyboard::default();
        for _ in 0..1000 {
            keyboard.push(1);
        }
        assert_eq!(keyboard.undo(None), "\x1b[<16u");
    }

    #[test]
    fn flags_that_were_there_before_are_found_again() {
        let mut keyboard = KittyKeyboard::default();
        keyboard.push(3);
        assert_eq!(keyboard.undo(Some(5)), "\x1b[<1u", "a pop brings them back");
        keyboard.pop(2);
        assert_eq!((keyboard.undo(None), keyboard.undo(Some(5))), (String::new(), "\x1b[=5;1u".to_owned()));
        keyboard.change(5, FlagChange::Replace);
        assert_eq!((keyboard.undo(None).as_str(), keyboard.undo(Some(5)).as_str()), ("\x1b[=0;1u", ""));
    }

    #[test]
    fn another_terminal_gets_as_many_pushes() {
        let mut keyboard = KittyKeyboard::default();
        assert_eq!(keyboard.redo(), "");
        keyboard.change(1, FlagChange::Replace);
        keyboard.push(3);
        keyboard.push(5);
        assert_eq!(keyboard.redo(), "\x1b[=1;1u\x1b[>3u\x1b[>5u");
    }

    #[test]
    fn key_options_go_back_to_what_is_configured() {
        let mut keys = KeyOptions::default();
        for (option, value) in [(1, Some(3)), (4, Some(2)), (99, Some(1))] {
            keys.set(KeyOptionFamily::Modify, option, value);
        }
        keys.set(KeyOptionFamily::Format, 4, Some(1));
        assert_eq!(keys.undo(None), "\x1b[>1m\x1b[>4m\x1b[>4f");
        assert_eq!(keys.undo(Some(1)), "\x1b[>1m\x1b[>4;1m\x1b[>4f");
        assert_eq!(keys.undo(Some(2)), "\x1b[>1m\x1b[>4f");
        keys.set(KeyOptionFamily::Modify, 0, Some(1));
        assert_eq!(keys.undo(None), "\x1b[>0;0m\x1b[>1m\x1b[>4m\x1b[>4f");
        keys.reset(KeyOptionFamily::Modify);
        keys.reset(KeyOptionFamily::Format);
        assert_eq!((keys.undo(None).as_str(), keys.undo(Some(2)).as_str()), ("", "\x1b[>4;2m"));
    }
}
