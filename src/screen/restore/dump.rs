//! The whole state as escape sequences, which put a fresh terminal into the same state: what a terminal is sent that attaches,
//! and what a session's screen is handed on as.
//!
//! It is made from the model, never from old output: no question is asked again, nothing rings, and no clipboard is set. A frame
//! that is held back (mode 2026) is not held back again. Laws hold it to that: fed to a fresh [`Screen`], the dump gives an equal
//! one, and a dump of that gives the same bytes.
//!
//! What is known of the terminal that showed it so far ([`Screen::former`]) is not part of it.

use std::collections::VecDeque;

use crate::screen::Screen;
use crate::screen::cursor::Caret;
use crate::screen::grid::{CLOSING, End, History, Link, Links, Look, Row};
use crate::screen::modes::{Alternate, Mode};
use crate::screen::parser::Open;
use crate::screen::terminal::{Page, Terminal};
use crate::screen::window::Pointer;

/// Modes that are set when everything is drawn, because drawing needs them as they are in a fresh terminal.
const AT_THE_END: [Mode; 2] = [Mode::Insert, Mode::AutoWrap];

/// Most bytes that begin links, in the part of the history and in that of the screen, which has to fit into an answer of a megabyte:
/// a link for every cell would make them without bounds. Text behind that has none.
const LINKING_MAX: [usize; 2] = [4 * 1024 * 1024, 256 * 1024];

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
        self.dump_with(usize::MAX)
    }

    /// The same with at most so many lines of history, the newest ones.
    #[must_use]
    pub fn dump_with(&self, lines: usize) -> Dump {
        let mut begun = self.begun.bytes().to_vec();
        if begun.is_empty() || !matches!(self.open, Open::Command | Open::Text) {
            begun.extend_from_slice(self.input.waiting());
        }
        let mut history = Brush::new(&self.terminal.links, LINKING_MAX[0]);
        history.history(&self.terminal.history, lines, self.terminal.rows);
        Dump { history: history.out.into_bytes(), screen: self.terminal.dump().into_bytes(), begun }
    }
}

/// What is sent, and the pen that the terminal then has.
struct Brush<'a> {
    out: String,
    look: Look,
    links: &'a Links,
    /// A link is begun and not ended.
    linked: bool,
    /// Bytes that may still be used to begin links.
    left: usize,
}

impl<'a> Brush<'a> {
    fn new(links: &'a Links, left: usize) -> Self {
        Self { out: String::new(), look: Look::default(), links, linked: false, left }
    }

    fn push(&mut self, sequence: &str) {
        self.out.push_str(sequence);
    }

    fn go(&mut self, col: usize, row: usize) {
        self.push(&format!("\x1b[{};{}H", row + 1, col + 1));
    }

    /// Sets the pen, also where it is the same.
    fn set(&mut self, look: Look) {
        self.push(&look.style().sgr());
        if look.is_protected() != self.look.is_protected() {
            self.push(if look.is_protected() { "\x1b[1\"q" } else { "\x1b[0\"q" });
        }
        if look.link() != self.look.link() {
            self.link(look.link());
        }
        self.look = look;
    }

    fn wear(&mut self, look: Look) {
        if look.unlinked() != self.look.unlinked() {
            self.set(look);
        } else if look != self.look {
            self.link(look.link());
            self.look = look;
        }
    }

    fn link(&mut self, number: u16) {
        let opening = self.links.get(number).map(Link::opening);
        let sequence = opening.filter(|opening| opening.len() <= self.left);
        // One that is left out is the last one: a dump of what this makes is the same again.
        let opened = sequence.is_some();
        self.left = match (&sequence, number) {
            (Some(opening), _) => self.left - opening.len(),
            (None, 0) => self.left,
            (None, _) => 0,
        };
        match sequence {
            Some(opening) => self.push(&opening),
            None if self.linked => self.push(CLOSING),
            None => {}
        }
        self.linked = opened;
    }

    /// The cells `from..to` of a row.
    fn cells(&mut self, row: &Row, from: usize, to: usize) {
        for col in from..to {
            let cell = row.cell(col);
            if !cell.is_spacer() {
                self.wear(cell.look());
                row.push_text(col, &mut self.out);
            }
        }
    }

    /// Leaves the last column empty and runs over into the next row, as before a wide character that does not fit: there is one,
    /// and is taken away again.
    fn gap(&mut self, look: Look) {
        self.wear(look);
        self.push("\u{3000}\r");
        self.wear(Look::default());
        self.push("\x1b[K");
    }

    /// The lines above the screen, and then a blank screen.
    fn history(&mut self, history: &History, newest: usize, rows: usize) {
        let mut waiting = false;
        let first = history.len().saturating_sub(newest);
        for at in first..history.len() {
            let Some(line) = history.line(at) else { continue };
            let mut parts: Vec<(&str, Look)> = line.parts().collect();
            if let Some(last) = parts.last_mut().filter(|last| line.end == End::Break && last.1 == Look::default()) {
                last.0 = last.0.trim_end_matches(' ');
            }
            parts.retain(|(text, _)| !text.is_empty());
            match parts.first() {
                None if waiting => self.push(" "),
                // Scrolling fills the new row with the background of the pen.
                Some((_, look)) if waiting && look.erased() != Look::default() => self.push(" \x08"),
                _ => {}
            }
            waiting = line.end == End::Wrap;
            for (text, look) in parts {
                self.wear(look);
                self.push(text);
            }
            self.wear(Look::default());
            match line.end {
                End::Break => self.push("\r\n"),
                End::Wrap => {}
                End::Gap => self.gap(Look::default()),
            }
        }
        if first < history.len() {
            self.push(if waiting { " " } else { "" });
            self.push(&"\r\n".repeat(rows - 1));
            self.push("\x1b[H\x1b[J");
        }
    }

    /// The rows of a blank screen. A row that runs over into the next one is made to do so.
    fn rows(&mut self, rows: &VecDeque<Row>, cols: usize) {
        let mut running = false;
        for (at, row) in rows.iter().enumerate() {
            let end = if at + 1 < rows.len() { row.end() } else { End::Break };
            let cells = match end {
                End::Break => row.written().len().max(usize::from(running)),
                End::Wrap => cols,
                End::Gap => cols - 1,
            };
            if cells > 0 && !running {
                self.go(0, at);
            }
            self.cells(row, 0, cells);
            running = end != End::Break;
            if end == End::Gap {
                self.gap(row.cell(cols - 1).look());
            }
        }
        self.wear(Look::default());
    }

    /// The caret with all that belongs to it. `origin` is the place from which it is counted, `rows` what stands on the screen.
    fn caret(&mut self, caret: &Caret, origin: (usize, usize), rows: &VecDeque<Row>) {
        if caret.origin {
            self.push("\x1b[?6h");
        }
        if caret.pending {
            // Only writing in the last column has it wait there: what stands there is written again.
            match rows.get(caret.row) {
                Some(row) => {
                    let col = start(row, caret.col);
                    self.go_from(origin, col, caret.row);
                    self.cells(row, col, caret.col + 1);
                }
                None => {
                    self.go_from(origin, caret.col, caret.row);
                    self.push(" ");
                }
            }
            self.set(caret.look);
        } else {
            self.go_from(origin, caret.col, caret.row);
            self.wear(caret.look);
        }
        self.push(&caret.charsets.redo());
    }

    fn go_from(&mut self, origin: (usize, usize), col: usize, row: usize) {
        self.go(col.saturating_sub(origin.0), row.saturating_sub(origin.1));
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
    let spacer = row.cell(col).is_spacer();
    col - usize::from(spacer)
}

impl Terminal {
    fn dump(&self) -> String {
        let mut brush = Brush::new(&self.links, LINKING_MAX[1]);
        let [saves, modes, modes_at_the_end] = self.modes.redo(&AT_THE_END);
        if !self.directory.is_empty() {
            brush.push(&format!("\x1b]7;{}\x1b\\", self.directory));
        }
        for part in [self.titles.redo(), self.colors.redo(), self.keys.redo(), self.extras.redo(), saves, modes] {
            brush.push(&part);
        }
        for (look, sequence) in self.pens.redo() {
            brush.wear(look);
            brush.push(&sequence);
        }
        brush.wear(Look::default());
        match self.alternate {
            None => self.dump_primary(&mut brush),
            Some(how) => self.dump_alternate(how, &mut brush),
        }
        brush.push(&self.tabs.redo(self.cols));
        let (region, whole) = (self.region, self.whole());
        if (region.top, region.bottom) != (whole.top, whole.bottom) {
            brush.push(&format!("\x1b[{};{}r", region.top + 1, region.bottom + 1));
        }
        if self.is_narrow() {
            brush.push(&format!("\x1b[{};{}s", region.left + 1, region.right + 1));
        }
        if let Some(shape) = self.shape {
            brush.push(&format!("\x1b[{} q", shape.number()));
        }
        self.dump_caret(&modes_at_the_end, &mut brush);
        brush.out
    }

    /// Both screens, the primary one shown.
    fn dump_primary(&self, brush: &mut Brush<'_>) {
        if self.hidden != Page::default() || self.extras.pointers[1] != Pointer::default() {
            // The number that all terminals know.
            brush.push("\x1b[?1049h");
            self.dump_page(&self.hidden, true, brush);
            brush.push("\x1b[?1049l\x1b[H\x1b[J");
        }
        self.dump_page(&self.page, false, brush);
    }

    /// Both screens, the alternate one shown.
    fn dump_alternate(&self, how: Alternate, brush: &mut Brush<'_>) {
        self.dump_page(&self.hidden, false, brush);
        if how == Alternate::Saving {
            let saved = &self.hidden.saved;
            brush.caret(saved, (0, 0), self.hidden.grid.rows());
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

    fn dump_page(&self, page: &Page, alternate: bool, brush: &mut Brush<'_>) {
        brush.push(&page.keyboard.redo());
        brush.push(&self.extras.pointers[usize::from(alternate)].redo());
        if page.saved != Caret::default() {
            brush.caret(&page.saved, (0, 0), page.grid.rows());
            brush.push("\x1b7");
            brush.plain(&page.saved);
        }
        brush.rows(page.grid.rows(), self.cols);
    }

    /// The caret, and what has to be set behind everything that is drawn.
    fn dump_caret(&self, modes: &str, brush: &mut Brush<'_>) {
        let (caret, rows) = (&self.caret, self.page.grid.rows());
        let last = [modes, self.extras.redo_protection(caret.look.is_protected()), &self.extras.redo_reading()].concat();
        let just_written = self.just_written().and_then(|col| Some((col, rows.get(caret.row)?)));
        let Some((col, row)) = just_written else {
            brush.caret(caret, self.origin(), rows);
            brush.push(&last);
            return;
        };
        // It may be repeated by the next bytes, so nothing may follow it.
        if caret.origin {
            brush.push("\x1b[?6h");
        }
        let end = if caret.pending { caret.col + 1 } else { col + 1 };
        let wide = row.cell(col + 1).is_spacer();
        brush.go_from(self.origin(), col, caret.row);
        brush.wear(caret.look);
        if self.inserts(col) {
            // Writing will move what follows to the right again.
            brush.push(&format!("\x1b[{}P", 1 + usize::from(wide)));
        }
        brush.push(&caret.charsets.redo());
        brush.push(caret.charsets.again(row.cell(col).ch()));
        brush.push(&last);
        brush.cells(row, col, end);
    }

    /// The column of the character that was just written, if there is one: it stands before the caret, or under it where it waits.
    fn just_written(&self) -> Option<usize> {
        let (caret, ch) = (&self.caret, self.last?);
        let row = self.page.grid.rows().get(caret.row)?;
        let place = if caret.pending { caret.col } else { caret.col.checked_sub(1)? };
        Some(start(row, place)).filter(|col| {
            let cell = row.cell(*col);
            cell.ch() == ch && cell.look() == caret.look
        })
    }
}
