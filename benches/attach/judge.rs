//! What stands in a terminal, by two emulators that know nothing of hopty, and how much of it is as it must
//! be.

use crate::window::{HISTORY, Window};
use crate::{COLS, ROWS};

/// What is to be found again besides cells. alacritty_terminal knows all of them, avt the first, the sixth
/// and the last.
pub const MODES: [&str; 10] = [
    "alternate screen", "bracketed paste", "mouse", "SGR mouse", "focus", "cursor keys", "kitty flags",
    "cursor shape", "title", "cursor position",
];

/// The two emulators, fed the same.
pub struct Judge {
    one: Window,
    two: avt::Terminal,
    /// The begin of a character whose rest has not come.
    rest: Vec<u8>,
}

/// What one emulator shows: for every cell its character and its look, and for every mode its value, where it
/// has one.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Character and look, row by row.
    pub cells: Vec<(String, String)>,
    /// In the order of the names.
    pub modes: [Option<String>; MODES.len()],
}

/// What both show.
#[derive(Clone, Debug, Default)]
pub struct Picture([Shown; 2]);

/// How much of a picture is as it must be. By emulator: alacritty_terminal, avt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Cells with the right character.
    pub characters: [usize; 2],
    /// Cells with the right character and look.
    pub cells: [usize; 2],
    /// Modes that both see, as far as they have them.
    pub kept: [bool; MODES.len()],
}

impl Verdict {
    /// The worse of two in everything.
    pub fn worse(self, other: Verdict) -> Verdict {
        let least = |one: [usize; 2], two: [usize; 2]| [one[0].min(two[0]), one[1].min(two[1])];
        let mut kept = self.kept;
        kept.iter_mut().zip(other.kept).for_each(|(kept, other)| *kept &= other);
        Verdict {
            characters: least(self.characters, other.characters),
            cells: least(self.cells, other.cells),
            kept,
        }
    }
}

impl Judge {
    /// Two terminals with nothing in them.
    pub fn new() -> Judge {
        let two = avt::Terminal::with_scrollback(usize::from(COLS), usize::from(ROWS), Some(HISTORY))
            .expect("cells in both directions");
        Judge { one: Window::new(), two, rest: Vec::new() }
    }

    /// Two terminals whose every cell shows something else already: what is not drawn over is wrong.
    pub fn used() -> Judge {
        let mut judge = Judge::new();
        judge.feed(format!("\x1b[H{}", "x".repeat(usize::from(COLS) * usize::from(ROWS))).as_bytes());
        judge
    }

    /// What a program writes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.one.feed(bytes);
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let text: Vec<u8> = self.rest.drain(..whole).collect();
        self.two.feed(String::from_utf8_lossy(&text).as_ref());
    }

    /// What they show now.
    pub fn picture(&self) -> Picture {
        let cursor = self.two.cursor();
        let mut modes: [Option<String>; MODES.len()] = Default::default();
        modes[0] = Some(format!("{:?}", self.two.active_screen_kind()));
        modes[5] = Some(self.two.cursor_key_app_mode().to_string());
        modes[9] = Some(format!("{} {}", cursor.row, cursor.col));
        let cell =
            |cell: &avt::Cell| (format!("{} {}", cell.char(), cell.width()), format!("{:?}", cell.pen()));
        let two = Shown {
            cells: self.two.screen().visible_lines().flat_map(|line| line.cells()).map(cell).collect(),
            modes,
        };
        Picture([self.one.shown(), two])
    }

    /// How many of these texts begin a line of the first one, history included.
    pub fn count(&self, begins: impl Iterator<Item = String>) -> usize {
        let lines = self.one.lines();
        begins.filter(|begin| lines.iter().any(|line| line.starts_with(begin))).count()
    }
}

impl Picture {
    /// How much of it is as `wanted`.
    pub fn judge(&self, wanted: &Picture) -> Verdict {
        let count = |same: fn(&(String, String), &(String, String)) -> bool| {
            [0, 1].map(|n| {
                self.0[n].cells.iter().zip(&wanted.0[n].cells).filter(|(one, two)| same(one, two)).count()
            })
        };
        let mut kept = [true; MODES.len()];
        for (shown, wanted) in self.0.iter().zip(&wanted.0) {
            kept.iter_mut()
                .zip(shown.modes.iter().zip(&wanted.modes))
                .for_each(|(kept, (one, two))| *kept &= one == two);
        }
        Verdict { characters: count(|one, two| one.0 == two.0), cells: count(|one, two| one == two), kept }
    }
}
