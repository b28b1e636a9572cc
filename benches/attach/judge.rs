//! What stands in a terminal, by two emulators that know nothing of hopty, and how much of it is as it must be.

use std::sync::{Arc, Mutex, PoisonError};

use alacritty_terminal::Term;
use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, TermMode};
use alacritty_terminal::vte::ansi::Processor;

use crate::{COLS, ROWS};

/// What is to be found again besides cells. alacritty_terminal knows all of them, avt the first, the sixth and the last.
pub const MODES: [&str; 10] = [
    "alternate screen",
    "bracketed paste",
    "mouse",
    "SGR mouse",
    "focus",
    "cursor keys",
    "kitty flags",
    "cursor shape",
    "title",
    "cursor position",
];

/// Lines above the screen that are kept.
const HISTORY: usize = 2000;

/// The two emulators, fed the same.
pub struct Judge {
    one: Term<Listener>,
    parser: Processor,
    title: Listener,
    two: avt::Terminal,
    /// The begin of a character whose rest has not come.
    rest: Vec<u8>,
}

#[derive(Clone, Default)]
struct Listener(Arc<Mutex<String>>);

impl EventListener for Listener {
    fn send_event(&self, event: Event) {
        let mut title = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Title(new) => *title = new,
            Event::ResetTitle => title.clear(),
            _ => {}
        }
    }
}

struct Cells;

impl Dimensions for Cells {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        usize::from(ROWS)
    }

    fn columns(&self) -> usize {
        usize::from(COLS)
    }
}

/// What one emulator shows: for every cell its character and its look, and for every mode its value, where it has one.
#[derive(Clone, Debug, Default)]
struct Shown {
    cells: Vec<(String, String)>,
    modes: [Option<String>; MODES.len()],
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
        Verdict { characters: least(self.characters, other.characters), cells: least(self.cells, other.cells), kept }
    }
}

impl Judge {
    /// Two terminals with nothing in them.
    pub fn new() -> Judge {
        let config = Config { kitty_keyboard: true, scrolling_history: HISTORY, ..Config::default() };
        let title = Listener::default();
        let two =
            avt::Terminal::with_scrollback(usize::from(COLS), usize::from(ROWS), Some(HISTORY)).expect("cells in both directions");
        Judge { one: Term::new(config, &Cells, title.clone()), parser: Processor::new(), title, two, rest: Vec::new() }
    }

    /// Two terminals whose every cell shows something else already: what is not drawn over is wrong.
    pub fn used() -> Judge {
        let mut judge = Judge::new();
        judge.feed(format!("\x1b[H{}", "x".repeat(usize::from(COLS) * usize::from(ROWS))).as_bytes());
        judge
    }

    /// What a program writes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.one, bytes);
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
        let (mode, point) = (*self.one.mode(), self.one.grid().cursor.point);
        let is = |flags: TermMode| Some(format!("{:?}", mode & flags));
        let title = self.title.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let one = Shown {
            cells: (0..i32::from(ROWS))
                .flat_map(|row| (0..usize::from(COLS)).map(move |col| (Line(row), Column(col))))
                .map(|(row, col)| alacritty_cell(&self.one.grid()[row][col]))
                .collect(),
            modes: [
                is(TermMode::ALT_SCREEN),
                is(TermMode::BRACKETED_PASTE),
                is(TermMode::MOUSE_MODE),
                is(TermMode::SGR_MOUSE),
                is(TermMode::FOCUS_IN_OUT),
                is(TermMode::APP_CURSOR),
                is(TermMode::KITTY_KEYBOARD_PROTOCOL),
                Some(format!("{:?}", self.one.cursor_style())),
                Some(title),
                Some(format!("{} {}", point.line.0, point.column.0)),
            ],
        };
        let cursor = self.two.cursor();
        let mut modes: [Option<String>; MODES.len()] = Default::default();
        modes[0] = Some(format!("{:?}", self.two.active_screen_kind()));
        modes[5] = Some(self.two.cursor_key_app_mode().to_string());
        modes[9] = Some(format!("{} {}", cursor.row, cursor.col));
        let cell = |cell: &avt::Cell| (format!("{} {}", cell.char(), cell.width()), format!("{:?}", cell.pen()));
        let two = Shown { cells: self.two.screen().visible_lines().flat_map(|line| line.cells()).map(cell).collect(), modes };
        Picture([one, two])
    }

    /// How many of these texts begin a line of the first one, history included.
    pub fn count(&self, begins: impl Iterator<Item = String>) -> usize {
        let grid = self.one.grid();
        let history = i32::try_from(grid.history_size()).unwrap_or(0);
        let text = |row: i32| (0..usize::from(COLS)).map(|col| grid[Line(row)][Column(col)].c).collect::<String>();
        let lines: Vec<String> = (-history..i32::from(ROWS)).map(text).collect();
        begins.filter(|begin| lines.iter().any(|line| line.starts_with(begin))).count()
    }
}

impl Picture {
    /// How much of it is as `wanted`.
    pub fn judge(&self, wanted: &Picture) -> Verdict {
        let count = |same: fn(&(String, String), &(String, String)) -> bool| {
            [0, 1].map(|n| self.0[n].cells.iter().zip(&wanted.0[n].cells).filter(|(one, two)| same(one, two)).count())
        };
        let mut kept = [true; MODES.len()];
        for (shown, wanted) in self.0.iter().zip(&wanted.0) {
            kept.iter_mut().zip(shown.modes.iter().zip(&wanted.modes)).for_each(|(kept, (one, two))| *kept &= one == two);
        }
        Verdict { characters: count(|one, two| one.0 == two.0), cells: count(|one, two| one == two), kept }
    }
}

fn alacritty_cell(cell: &Cell) -> (String, String) {
    let layout = Flags::WRAPLINE | Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
    let half = cell.flags.contains(Flags::WIDE_CHAR_SPACER);
    let text = std::iter::once(cell.c).chain(cell.zerowidth().unwrap_or_default().iter().copied()).filter(|_| !half).collect();
    let link = cell.hyperlink().map(|link| link.uri().to_owned());
    (text, format!("{:?} {:?} {:?} {:?} {link:?}", cell.fg, cell.bg, cell.flags - layout, cell.underline_color()))
}
