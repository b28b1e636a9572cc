//! The whole state as escape sequences, which put a fresh terminal into the same state: what a terminal is sent that attaches,
//! and what a session's screen is handed on as.
//!
//! It is made from the model, never from old output: no question is asked again, nothing rings, and no clipboard is set. A frame
//! that is held back (mode 2026) is not held back again. Laws hold it to that: fed to a fresh [`Screen`], the dump gives an equal
//! one, and a dump of that gives the same bytes.
//!
//! What is known of the terminal that showed it so far ([`Screen::former`]) is not part of it.

use std::collections::VecDeque;

use super::Screen;
use super::alternate::Alternate;
use super::cell::Cell;
use super::cursor::Caret;
use super::extras::Pointer;
use super::look::Look;
use super::modes::Mode;
use super::open::Open;
use super::row::Row;
use super::terminal::{Page, Terminal};

/// Modes that are set when everything is drawn, because drawing needs them as they are in a fresh terminal.
const AT_THE_END: [Mode; 2] = [Mode::Insert, Mode::AutoWrap];

/// A state as escape sequences, in parts that are sent one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// The lines above the screen, oldest first; when they are sent, the screen below them is blank. Empty when there are none.
    pub history: Vec<u8>,
    /// Everything else. It may be sent without the history.
    pub screen: Vec<u8>,
    /// The beginning of the sequence or the character that the child is in the middle of: only for who gets the child's next
    /// bytes, too.
    pub begun: Vec<u8>,
}

impl Screen {
    /// The state as escape sequences for a fresh terminal of this size, or another.
    #[must_use]
    pub fn dump(&self) -> Dump {
        let mut begun = self.begun.bytes().to_vec();
        if begun.is_empty() || !matches!(self.open, Open::Command | Open::Text) {
            begun.extend_from_slice(self.input.waiting());
        }
        Dump { history: Vec::new(), screen: self.terminal.dump().into_bytes(), begun }
    }
}

/// What is sent, and the pen that the terminal then has.
#[derive(Default)]
struct Brush {
    out: String,
    look: Look,
}

impl Brush {
    fn push(&mut self, sequence: &str) {
        self.out.push_str(sequence);
    }

    fn go(&mut self, col: usize, row: usize) {
        self.push(&format!("\x1b[{};{}H", row + 1, col + 1));
    }

    fn set(&mut self, look: Look) {
        self.push(&look.style().sgr());
        self.look = look;
    }

    fn wear(&mut self, look: Look) {
        if look != self.look {
            self.set(look);
        }
    }

    /// The cells `from..to` of a row.
    fn cells(&mut self, row: &Row, from: usize, to: usize) {
        for col in from..to {
            let cell = row.written().get(col).copied().unwrap_or(Cell::BLANK);
            if !cell.is_spacer() {
                self.wear(cell.look());
                row.push_text(col, &mut self.out);
            }
        }
    }

    /// The rows of a blank screen. A row that runs over into the next one is made to do so.
    fn rows(&mut self, rows: &VecDeque<Row>, cols: usize) {
        let last = rows.len().saturating_sub(1);
        // Below the last row is none to run over to, so it does that one row higher, and then everything is moved down.
        let moved = rows.back().filter(|row| row.wrapped && last > 0);
        if let Some(row) = moved {
            self.go(0, last - 1);
            self.cells(row, 0, cols);
            self.wear(Look::default());
            self.push(" \x1b[T");
        }
        let mut running = false;
        for (at, row) in rows.iter().enumerate() {
            let first = if row.written().get(1).is_some_and(|cell| cell.is_spacer()) { 2 } else { 1 };
            if at == last && moved.is_some() {
                if running {
                    self.cells(row, 0, first);
                }
                break;
            }
            let next = rows.get(at + 1).filter(|_| row.wrapped);
            let end = match next {
                Some(next) => cols - usize::from(hangs(row, next, cols)),
                None if running => row.written().len().max(first),
                None => row.written().len(),
            };
            if end > 0 && !running {
                self.go(0, at);
            }
            self.cells(row, 0, end);
            running = next.is_some();
        }
        self.wear(Look::default());
    }

    /// The caret with all that belongs to it. `top` is the top margin, `rows` what stands on the screen.
    fn caret(&mut self, caret: &Caret, top: usize, rows: &VecDeque<Row>, cols: usize) {
        let place = self.place(caret, top);
        if caret.pending {
            // Only writing in the last column has it wait there: what stands there is written again.
            match rows.get(caret.row) {
                Some(row) => {
                    let col = start(row, cols - 1);
                    self.go(col, place);
                    self.cells(row, col, cols);
                }
                None => {
                    self.go(cols - 1, place);
                    self.push(" ");
                }
            }
            self.set(caret.look);
        } else {
            self.go(caret.col, place);
            self.wear(caret.look);
        }
        self.push(&caret.charsets.redo());
    }

    /// Turns origin mode on, if it is, and says as which row the caret's is then addressed.
    fn place(&mut self, caret: &Caret, top: usize) -> usize {
        if caret.origin {
            self.push("\x1b[?6h");
            return caret.row.saturating_sub(top);
        }
        caret.row
    }

    /// A caret as in a fresh terminal again, but for its place.
    fn plain(&mut self, caret: &Caret) {
        if caret.origin {
            self.push("\x1b[?6l");
        }
        self.push(&caret.charsets.undo());
        self.wear(Look::default());
    }
}

/// The column where the character begins that covers `col`.
fn start(row: &Row, col: usize) -> usize {
    let spacer = row.written().get(col).is_some_and(|cell| cell.is_spacer());
    col - usize::from(spacer)
}

/// Whether the last cell of `row` is blank because the wide character that `next` begins with did not fit there.
fn hangs(row: &Row, next: &Row, cols: usize) -> bool {
    let last = row.written().get(cols - 1).copied().unwrap_or(Cell::BLANK);
    let wide = next.written().get(1).is_some_and(|cell| cell.is_spacer());
    cols > 1 && wide && next.written().first().is_some_and(|first| last == Cell::blank(first.look().erased()))
}

impl Terminal {
    fn dump(&self) -> String {
        let mut brush = Brush::default();
        let [saves, modes, modes_at_the_end] = self.modes.redo(&AT_THE_END);
        for part in [self.titles.redo(), self.colors.redo(), self.keys.redo(), self.extras.redo(), saves, modes] {
            brush.push(&part);
        }
        match self.alternate {
            None => self.dump_primary(&mut brush),
            Some(how) => self.dump_alternate(how, &mut brush),
        }
        brush.push(&self.tabs.redo(self.cols));
        if self.region != self.whole() {
            brush.push(&format!("\x1b[{};{}r", self.region.top + 1, self.region.bottom + 1));
        }
        if let Some(shape) = self.shape {
            brush.push(&format!("\x1b[{} q", shape.number()));
        }
        self.dump_caret(&modes_at_the_end, &mut brush);
        brush.out
    }

    /// Both screens, the primary one shown.
    fn dump_primary(&self, brush: &mut Brush) {
        if self.hidden != Page::default() || self.extras.pointers[1] != Pointer::default() {
            // The number that all terminals know.
            brush.push("\x1b[?1049h");
            self.dump_page(&self.hidden, true, brush);
            brush.push("\x1b[?1049l\x1b[H\x1b[J");
        }
        self.dump_page(&self.page, false, brush);
    }

    /// Both screens, the alternate one shown.
    fn dump_alternate(&self, how: Alternate, brush: &mut Brush) {
        self.dump_page(&self.hidden, false, brush);
        if how == Alternate::Saving {
            let saved = &self.hidden.saved;
            brush.caret(saved, 0, self.hidden.grid.rows(), self.cols);
            brush.push(how.way_in());
            brush.plain(saved);
            // Entering has erased it with the pen's background.
            brush.push("\x1b[H\x1b[J");
        } else {
            brush.push("\x1b[H");
            brush.push(how.way_in());
        }
        self.dump_page(&self.page, true, brush);
    }

    fn dump_page(&self, page: &Page, alternate: bool, brush: &mut Brush) {
        brush.push(&page.keyboard.redo());
        brush.push(&self.extras.pointers[usize::from(alternate)].redo());
        if page.saved != Caret::default() {
            brush.caret(&page.saved, 0, page.grid.rows(), self.cols);
            brush.push("\x1b7");
            brush.plain(&page.saved);
        }
        brush.rows(page.grid.rows(), self.cols);
    }

    /// The caret, and what has to be set behind everything that is drawn.
    fn dump_caret(&self, modes: &str, brush: &mut Brush) {
        let (caret, rows) = (&self.caret, self.page.grid.rows());
        let reading = self.extras.redo_reading();
        let just_written = self.just_written().and_then(|col| Some((col, rows.get(caret.row)?)));
        let Some((col, row)) = just_written else {
            brush.caret(caret, self.region.top, rows, self.cols);
            brush.push(modes);
            brush.push(&reading);
            return;
        };
        // It may be repeated by the next bytes, so nothing may follow it.
        let place = brush.place(caret, self.region.top);
        let end = if caret.pending { self.cols } else { col + 1 };
        let wide = row.written().get(col + 1).is_some_and(|cell| cell.is_spacer());
        brush.go(col, place);
        brush.wear(caret.look);
        if self.is_on(Mode::Insert) {
            // Writing will move what follows to the right again.
            brush.push(&format!("\x1b[{}P", 1 + usize::from(wide)));
        }
        brush.push(&caret.charsets.redo());
        brush.push(modes);
        brush.push(&reading);
        brush.cells(row, col, end);
    }

    /// The column of the character that was just written, if there is one: it stands before the caret.
    fn just_written(&self) -> Option<usize> {
        let (caret, ch) = (&self.caret, self.last?);
        let row = self.page.grid.rows().get(caret.row)?;
        let at_the_edge = caret.pending || (caret.col + 1 == self.cols && !self.is_on(Mode::AutoWrap));
        let places = [at_the_edge.then_some(caret.col), caret.col.checked_sub(1)];
        places.into_iter().flatten().map(|col| start(row, col)).find(|col| {
            let cell = row.written().get(*col).copied().unwrap_or(Cell::BLANK);
            cell.ch() == ch && cell.look() == caret.look
        })
    }
}
