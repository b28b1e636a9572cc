//! A terminal as alacritty_terminal has it: it shows what it is sent, and answers what it is asked.

use std::sync::{Arc, Mutex, PoisonError};

use alacritty_terminal::Term;
use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, TermMode};
use alacritty_terminal::vte::ansi::Processor;

use crate::judge::{MODES, Shown};
use crate::{COLS, ROWS};

/// Lines above the screen that are kept.
pub const HISTORY: usize = 2000;

/// The terminal.
pub struct Window {
    term: Term<Listener>,
    parser: Processor,
    told: Listener,
}

/// What was told to the window rather than drawn into it: its title, and what is to be answered.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<(String, Vec<u8>)>>);

impl EventListener for Listener {
    fn send_event(&self, event: Event) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Title(new) => now.0 = new,
            Event::ResetTitle => now.0.clear(),
            Event::PtyWrite(text) => now.1.extend(text.bytes()),
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

impl Window {
    /// One with nothing in it.
    pub fn new() -> Window {
        let config = Config { kitty_keyboard: true, scrolling_history: HISTORY, ..Config::default() };
        let told = Listener::default();
        Window { term: Term::new(config, &Cells, told.clone()), parser: Processor::new(), told }
    }

    /// What a program writes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
    }

    /// What it has to answer since the last call.
    pub fn take_answers(&self) -> Vec<u8> {
        std::mem::take(&mut self.told.0.lock().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// What it shows.
    pub fn shown(&self) -> Shown {
        let (mode, point) = (*self.term.mode(), self.term.grid().cursor.point);
        let is = |flags: TermMode| Some(format!("{:?}", mode & flags));
        let title = self.told.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone();
        let places = (0..i32::from(ROWS))
            .flat_map(|row| (0..usize::from(COLS)).map(move |col| (Line(row), Column(col))));
        let modes: [Option<String>; MODES.len()] = [
            is(TermMode::ALT_SCREEN),
            is(TermMode::BRACKETED_PASTE),
            is(TermMode::MOUSE_MODE),
            is(TermMode::SGR_MOUSE),
            is(TermMode::FOCUS_IN_OUT),
            is(TermMode::APP_CURSOR),
            is(TermMode::KITTY_KEYBOARD_PROTOCOL),
            Some(format!("{:?}", self.term.cursor_style())),
            Some(title),
            Some(format!("{} {}", point.line.0, point.column.0)),
        ];
        Shown { cells: places.map(|(row, col)| shown_cell(&self.term.grid()[row][col])).collect(), modes }
    }

    /// Every line, history included.
    pub fn lines(&self) -> Vec<String> {
        let grid = self.term.grid();
        let history = i32::try_from(grid.history_size()).unwrap_or(0);
        let text = |row: i32| (0..usize::from(COLS)).map(|col| grid[Line(row)][Column(col)].c).collect();
        (-history..i32::from(ROWS)).map(text).collect()
    }
}

fn shown_cell(cell: &Cell) -> (String, String) {
    let layout =
        Flags::WRAPLINE | Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
    let half = cell.flags.contains(Flags::WIDE_CHAR_SPACER);
    let text = std::iter::once(cell.c)
        .chain(cell.zerowidth().unwrap_or_default().iter().copied())
        .filter(|_| !half)
        .collect();
    let link = cell.hyperlink().map(|link| link.uri().to_owned());
    (
        text,
        format!(
            "{:?} {:?} {:?} {:?} {link:?}",
            cell.fg,
            cell.bg,
            cell.flags - layout,
            cell.underline_color()
        ),
    )
}
