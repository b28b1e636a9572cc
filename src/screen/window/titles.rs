//! The window title, and the stack of `CSI 22 t` and `CSI 23 t`.
//!
//! Icon names are kept, too: they are not shown, but must be undone, and restored on the next terminal.

/// The longest title, in bytes.
const TITLE_MAX: usize = 1024;

/// The most saved titles; the oldest is dropped.
const DEPTH: usize = 16;

/// The name that a sequence is about: `0`, `1` or `2`, in OSC and in `CSI 22 t` alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleKind {
    /// Icon name and window title.
    Both,
    Icon,
    Window,
}

impl TitleKind {
    /// The part of a number, `None` for any other number.
    pub fn from_number(number: u16) -> Option<Self> {
        match number {
            0 => Some(Self::Both),
            1 => Some(Self::Icon),
            2 => Some(Self::Window),
            _ => None,
        }
    }

    fn number(self) -> u16 {
        match self {
            Self::Both => 0,
            Self::Icon => 1,
            Self::Window => 2,
        }
    }
}

/// The names at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
struct WindowNames {
    window: String,
    icon: String,
}

impl WindowNames {
    fn are_empty(&self) -> bool {
        self.window.is_empty() && self.icon.is_empty()
    }

    /// The sequences that lead from `before` to this state.
    fn from(&self, before: &Self) -> String {
        if self.icon == self.window && self.icon != before.icon && self.window != before.window {
            return format!("\x1b]0;{}\x1b\\", self.window);
        }
        let part = |number: u8, now: &str, then: &str| {
            if now == then { String::new() } else { format!("\x1b]{number};{now}\x1b\\") }
        };
        part(1, &self.icon, &before.icon) + &part(2, &self.window, &before.window)
    }
}

/// The title, and its stack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Titles {
    now: WindowNames,
    saved: Vec<(TitleKind, WindowNames)>,
}

impl Titles {
    /// The window title; empty if none was set.
    pub fn window(&self) -> &str {
        &self.now.window
    }

    /// OSC 0, 1 and 2. Control characters are dropped, and everything over 1 KiB.
    pub fn set(&mut self, part: TitleKind, text: &str) {
        let mut clean = String::new();
        for ch in text.chars().filter(|ch| !ch.is_control()) {
            if clean.len() + ch.len_utf8() > TITLE_MAX {
                break;
            }
            clean.push(ch);
        }
        if part != TitleKind::Window {
            self.now.icon.clone_from(&clean);
        }
        if part != TitleKind::Icon {
            self.now.window = clean;
        }
    }

    /// `CSI 22 ; part t`.
    pub fn push(&mut self, part: TitleKind) {
        if self.saved.len() == DEPTH {
            self.saved.remove(0);
        }
        self.saved.push((part, self.now.clone()));
    }

    /// `CSI 23 ; part t`.
    pub fn pop(&mut self, part: TitleKind) {
        let Some((_, names)) = self.saved.pop() else {
            return;
        };
        if part != TitleKind::Window {
            self.now.icon = names.icon;
        }
        if part != TitleKind::Icon {
            self.now.window = names.window;
        }
    }

    /// The sequences that bring a fresh terminal to these titles.
    pub fn redo(&self) -> String {
        let mut out = String::new();
        let mut shown = &WindowNames::default();
        for (part, names) in &self.saved {
            out.push_str(&names.from(shown));
            out.push_str(&format!("\x1b[22;{}t", part.number()));
            shown = names;
        }
        out.push_str(&self.now.from(shown));
        out
    }

    /// The sequences that undo titles; empty if none was set or saved.
    ///
    /// The empty title goes first and the pops after it: a terminal with a title stack then shows its own
    /// title again, one without shows none.
    pub fn undo(&self) -> String {
        const EMPTY: &str = "\x1b]0;\x07";
        let mut bytes = String::new();
        let mut rest = self.clone();
        if !rest.now.are_empty() {
            bytes.push_str(EMPTY);
            rest.now = WindowNames::default();
        }
        while let Some((part, _)) = rest.saved.last() {
            let part = *part;
            bytes.push_str(&format!("\x1b[23;{}t", part.number()));
            rest.pop(part);
        }
        if !rest.now.are_empty() {
            bytes.push_str(EMPTY);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_cleaned_and_capped() {
        let mut titles = Titles::default();
        titles.set(TitleKind::Both, "a\u{7}b\u{9b}c\n");
        assert_eq!(titles.window(), "abc");
        titles.set(TitleKind::Window, &"✳".repeat(1000));
        assert_eq!(titles.window().len(), 1023);
    }

    #[test]
    fn the_stack_restores_and_is_bounded() {
        let mut titles = Titles::default();
        titles.set(TitleKind::Both, "outer");
        titles.push(TitleKind::Both);
        titles.set(TitleKind::Both, "inner");
        titles.pop(TitleKind::Both);
        assert_eq!(titles.window(), "outer");
        for _ in 0..100 {
            titles.push(TitleKind::Both);
        }
        assert_eq!(titles.saved.len(), DEPTH);
    }

    #[test]
    fn undo_empties_first_and_pops_after() {
        let mut titles = Titles::default();
        assert_eq!(titles.undo(), "");
        titles.push(TitleKind::Window);
        titles.set(TitleKind::Window, "mine");
        assert_eq!(titles.undo(), "\x1b]0;\x07\x1b[23;2t");
        let mut named = Titles::default();
        named.set(TitleKind::Icon, "icon");
        assert_eq!((named.window(), named.undo().as_str()), ("", "\x1b]0;\x07"));
    }
}
