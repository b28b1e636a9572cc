//! The independent emulator: what a person would see, by code that is not hopty's.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use alacritty_terminal::event::{Event, EventListener, WindowSize};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line, Point};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, Osc52, Term};
use alacritty_terminal::vte::ansi::{Processor, Rgb};

use super::support::cells::Cells;

/// What was told to the window rather than drawn into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub title: Option<String>,
    pub clipboard: Vec<String>,
    pub bells: usize,
}

#[derive(Clone, Default)]
struct Listener(Arc<Mutex<(Told, Vec<u8>)>>, Arc<Mutex<(u16, u16)>>);

impl EventListener for Listener {
    fn send_event(&self, event: Event) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (told, answers) = &mut *now;
        match event {
            Event::Title(title) => told.title = Some(title),
            Event::ResetTitle => told.title = None,
            Event::ClipboardStore(_, text) => told.clipboard.push(text),
            Event::ClipboardLoad(_, say) => answers.extend(say("from the clipboard").bytes()),
            Event::ColorRequest(n, say) => {
                let n = u8::try_from(n % 256).unwrap();
                answers.extend(say(Rgb { r: n, g: 0x22, b: 0x33 }).bytes());
            }
            Event::PtyWrite(text) => answers.extend(text.bytes()),
            Event::TextAreaSizeRequest(say) => {
                let (num_cols, num_lines) = *self.1.lock().unwrap_or_else(PoisonError::into_inner);
                answers
                    .extend(say(WindowSize { num_lines, num_cols, cell_width: 8, cell_height: 17 }).bytes());
            }
            Event::Bell => told.bells += 1,
            _ => {}
        }
    }
}

/// The emulator.
pub struct Emulator {
    term: Term<Listener>,
    parser: Processor,
    listener: Listener,
}

impl Emulator {
    pub fn new(cols: u16, rows: u16) -> Emulator {
        let listener = Listener::default();
        *listener.1.lock().unwrap() = (cols, rows);
        let config = Config {
            kitty_keyboard: true,
            osc52: Osc52::CopyPaste,
            scrolling_history: 2000,
            ..Config::default()
        };
        Emulator {
            term: Term::new(config, &Cells(cols.max(2), rows.max(1)), listener.clone()),
            parser: Processor::new(),
            listener,
        }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
    }

    /// Shows what was drawn of a frame that is not complete (mode 2026).
    #[allow(dead_code, reason = "only tests/round_trip cuts frames")]
    pub fn end_frame(&mut self) {
        self.parser.stop_sync(&mut self.term);
    }

    pub fn resize(&mut self, cols: u16, rows: u16) {
        *self.listener.1.lock().unwrap() = (cols, rows);
        self.term.resize(Cells(cols.max(2), rows.max(1)));
    }

    /// What it answers to questions since the last call.
    pub fn take_answers(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.listener.0.lock().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// The rows of the picture as text.
    pub fn rows(&self) -> Vec<String> {
        let lines = 0..i32::try_from(self.term.screen_lines()).unwrap();
        lines.map(|line| self.cells(Line(line)).map(text).collect::<String>().trim_end().to_owned()).collect()
    }

    fn cells(&self, line: Line) -> impl Iterator<Item = &Cell> {
        let row = &self.term.grid()[line];
        (0..self.term.columns())
            .map(move |column| &row[Column(column)])
            .filter(|cell| !cell.flags.contains(Flags::WIDE_CHAR_SPACER))
    }

    /// Everything that can be compared.
    pub fn view(&self) -> View {
        let history = i32::try_from(self.term.grid().history_size()).unwrap();
        let all = -history..i32::try_from(self.term.screen_lines()).unwrap();
        let Point { line, column } = self.term.grid().cursor.point;
        View {
            rows: all.map(|line| styled(self.cells(Line(line)))).collect(),
            cursor: (line.0, column.0),
            shape: format!("{:?}", self.term.cursor_style()),
            modes: format!("{:?}", self.term.mode()),
            told: self.listener.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone(),
        }
    }
}

/// What is seen, what was told, and what is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// History and screen; a change of style is written out.
    pub rows: Vec<String>,
    pub cursor: (i32, usize),
    pub shape: String,
    pub modes: String,
    pub told: Told,
}

impl View {
    /// Where two differ, for a message.
    pub fn difference(&self, other: &View) -> String {
        let mut out = String::new();
        for n in 0..self.rows.len().max(other.rows.len()) {
            let (a, b) = (self.rows.get(n), other.rows.get(n));
            if a != b {
                let _ = writeln!(
                    out,
                    "row {n}\n  bare:  {}\n  hopty: {}",
                    a.map_or("-", |r| r),
                    b.map_or("-", |r| r)
                );
            }
        }
        let rest = |v: &View| format!("cursor {:?} {}, modes {}, {:?}", v.cursor, v.shape, v.modes, v.told);
        if rest(self) != rest(other) {
            let _ = writeln!(out, "  bare:  {}\n  hopty: {}", rest(self), rest(other));
        }
        out
    }
}

fn text(cell: &Cell) -> String {
    std::iter::once(cell.c).chain(cell.zerowidth().unwrap_or_default().iter().copied()).collect()
}

/// The text with a mark where the style changes. A blank has no colour of text that could be seen: a program
/// that draws only what differs leaves there what was before, which depends on how many frames it drew.
fn styled<'a>(cells: impl Iterator<Item = &'a Cell>) -> String {
    let mut out = String::new();
    let mut last = style(&Cell::default());
    for cell in cells {
        let mut now = style(cell);
        if cell.c == ' ' && cell.flags.is_empty() {
            now.0.clone_from(&last.0);
        }
        if now != last {
            let _ = write!(out, "⟨{} {}⟩", now.0, now.1);
            last = now;
        }
        out.push_str(&text(cell));
    }
    out.trim_end().to_owned()
}

/// The colour of the text, and the rest.
fn style(cell: &Cell) -> (String, String) {
    let layout = Flags::WRAPLINE | Flags::WIDE_CHAR | Flags::LEADING_WIDE_CHAR_SPACER;
    let link = cell.hyperlink().map(|link| link.uri().to_owned()).unwrap_or_default();
    (
        format!("{:?}", cell.fg),
        format!("{:?} {:?} {:?}{link}", cell.bg, (cell.flags - layout).bits(), cell.underline_color()),
    )
}
