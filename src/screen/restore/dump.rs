//! The whole state as escape sequences, which put a fresh terminal into the same state: what a terminal is
//! sent that attaches, and what a session's screen is handed on as.
//!
//! It is made from the model, never from old output: no question is asked again, nothing rings, and no
//! clipboard is set. A frame that is held back (mode 2026) is not held back again. Laws hold it to that: fed
//! to a fresh [`Screen`], the dump gives an equal one, and a dump of that gives the same bytes.
//!
//! What is known of the terminal that showed it so far ([`Screen::terminal_before`]) is not part of it.

use std::collections::VecDeque;

use crate::screen::Screen;
use crate::screen::cursor::CursorState;
use crate::screen::display::{DisplayState, ScreenBuffer, ScreenBuffers};
use crate::screen::grid::{CLOSING, GridRow, History, Hyperlink, Hyperlinks, LineEnd, PackedStyle};
use crate::screen::modes::{AlternateScreen, TerminalMode};
use crate::screen::parser::Unfinished;
use crate::screen::terminal_state::TerminalState;

/// Modes that are set when everything is drawn, because drawing needs them as they are in a fresh terminal.
const AT_THE_END: [TerminalMode; 2] = [TerminalMode::Insert, TerminalMode::AutoWrap];

/// Most bytes that begin links, in the part of the history and in that of the screen, which has to fit into
/// an answer of a megabyte: a link for every cell would make them without bounds. Text behind that has none.
const LINKING_MAX: [usize; 2] = [4 * 1024 * 1024, 256 * 1024];

/// A state as escape sequences, in parts that are sent one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// The lines above the screen, oldest first; when they are sent, the screen below them is blank. Empty
    /// when there are none.
    pub history: Vec<u8>,
    /// Everything else. It may be sent without the history.
    pub screen: Vec<u8>,
    /// The beginning of the sequence or the character that the child is in the middle of: only for who gets
    /// the child's next bytes, too.
    pub unfinished: Vec<u8>,
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
        let mut unfinished = self.unfinished_bytes.bytes().to_vec();
        if unfinished.is_empty() || !matches!(self.unfinished, Unfinished::Command | Unfinished::Text) {
            unfinished.extend_from_slice(self.input.waiting());
        }
        let mut history = DumpWriter::new(&self.terminal.display.links, LINKING_MAX[0]);
        history.history(&self.terminal.display.buffers.history, lines, self.terminal.display.position.rows);
        Dump { history: history.out.into_bytes(), screen: screen(&self.terminal).into_bytes(), unfinished }
    }
}

/// What is sent, and the pen that the terminal then has.
struct DumpWriter<'a> {
    out: String,
    style: PackedStyle,
    links: &'a Hyperlinks,
    /// A link is begun and not ended.
    linked: bool,
    /// Bytes that may still be used to begin links.
    left: usize,
}

impl<'a> DumpWriter<'a> {
    fn new(links: &'a Hyperlinks, left: usize) -> Self {
        Self { out: String::new(), style: PackedStyle::default(), links, linked: false, left }
    }

    fn push(&mut self, sequence: &str) {
        self.out.push_str(sequence);
    }

    fn go(&mut self, col: usize, row: usize) {
        self.push(&format!("\x1b[{};{}H", row + 1, col + 1));
    }

    /// Sets the pen, also where it is the same.
    fn force_pen(&mut self, style: PackedStyle) {
        self.push(&style.unpack().sgr());
        if style.is_protected() != self.style.is_protected() {
            self.push(if style.is_protected() { "\x1b[1\"q" } else { "\x1b[0\"q" });
        }
        if style.link() != self.style.link() {
            self.link(style.link());
        }
        self.style = style;
    }

    fn set_pen(&mut self, style: PackedStyle) {
        if style.unlinked() != self.style.unlinked() {
            self.force_pen(style);
        } else if style != self.style {
            self.link(style.link());
            self.style = style;
        }
    }

    fn link(&mut self, number: u16) {
        let opening = self.links.get(number).map(Hyperlink::opening);
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
    fn cells(&mut self, row: &GridRow, from: usize, to: usize) {
        for col in from..to {
            let cell = row.cell(col);
            if !cell.is_spacer() {
                self.set_pen(cell.style());
                row.push_text(col, &mut self.out);
            }
        }
    }

    /// Leaves the last column empty and runs over into the next row, as before a wide character that does not
    /// fit: there is one, and is taken away again.
    fn gap(&mut self, style: PackedStyle) {
        self.set_pen(style);
        self.push("\u{3000}\r");
        self.set_pen(PackedStyle::default());
        self.push("\x1b[K");
    }

    /// The lines above the screen, and then a blank screen.
    fn history(&mut self, history: &History, newest: usize, rows: usize) {
        let mut waiting = false;
        let first = history.len().saturating_sub(newest);
        for at in first..history.len() {
            let Some(line) = history.line(at) else { continue };
            let mut parts: Vec<(&str, PackedStyle)> = line.parts().collect();
            if let Some(last) =
                parts.last_mut().filter(|last| line.end == LineEnd::Break && last.1 == PackedStyle::default())
            {
                last.0 = last.0.trim_end_matches(' ');
            }
            parts.retain(|(text, _)| !text.is_empty());
            match parts.first() {
                None if waiting => self.push(" "),
                // Scrolling fills the new row with the background of the pen.
                Some((_, style)) if waiting && style.erased() != PackedStyle::default() => self.push(" \x08"),
                _ => {}
            }
            waiting = line.end == LineEnd::Wrap;
            for (text, style) in parts {
                self.set_pen(style);
                self.push(text);
            }
            self.set_pen(PackedStyle::default());
            match line.end {
                LineEnd::Break => self.push("\r\n"),
                LineEnd::Wrap => {}
                LineEnd::Gap => self.gap(PackedStyle::default()),
            }
        }
        if first < history.len() {
            self.push(if waiting { " " } else { "" });
            self.push(&"\r\n".repeat(rows - 1));
            self.push("\x1b[H\x1b[J");
        }
    }

    /// The rows of a blank screen. A row that runs over into the next one is made to do so.
    fn rows(&mut self, rows: &VecDeque<GridRow>, cols: usize) {
        let mut running = false;
        for (at, row) in rows.iter().enumerate() {
            let end = if at + 1 < rows.len() { row.end() } else { LineEnd::Break };
            let cells = match end {
                LineEnd::Break => row.written().len().max(usize::from(running)),
                LineEnd::Wrap => cols,
                LineEnd::Gap => cols - 1,
            };
            if cells > 0 && !running {
                self.go(0, at);
            }
            self.cells(row, 0, cells);
            running = end != LineEnd::Break;
            if end == LineEnd::Gap {
                self.gap(row.cell(cols - 1).style());
            }
        }
        self.set_pen(PackedStyle::default());
    }

    /// The cursor with all that belongs to it. `origin` is the place from which it is counted, `rows` what
    /// stands on the screen.
    fn cursor(&mut self, cursor: &CursorState, origin: (usize, usize), rows: &VecDeque<GridRow>) {
        if cursor.origin {
            self.push("\x1b[?6h");
        }
        if cursor.wrap_pending {
            // Only writing in the last column has it wait there: what stands there is written again.
            match rows.get(cursor.row) {
                Some(row) => {
                    let col = start(row, cursor.col);
                    self.go_from(origin, col, cursor.row);
                    self.cells(row, col, cursor.col + 1);
                }
                None => {
                    self.go_from(origin, cursor.col, cursor.row);
                    self.push(" ");
                }
            }
            self.force_pen(cursor.pen);
        } else {
            self.go_from(origin, cursor.col, cursor.row);
            self.set_pen(cursor.pen);
        }
        self.push(&cursor.charsets.redo());
    }

    fn go_from(&mut self, origin: (usize, usize), col: usize, row: usize) {
        self.go(col.saturating_sub(origin.0), row.saturating_sub(origin.1));
    }

    /// A cursor as in a fresh terminal again, but for its place.
    fn plain(&mut self, cursor: &CursorState) {
        if cursor.origin {
            self.push("\x1b[?6l");
        }
        self.push(&cursor.charsets.undo());
        self.set_pen(PackedStyle::default());
    }
}

/// The column where the character begins that covers `col`.
fn start(row: &GridRow, col: usize) -> usize {
    let spacer = row.cell(col).is_spacer();
    col - usize::from(spacer)
}

/// Everything but the history.
fn screen(terminal: &TerminalState) -> String {
    let TerminalState { display, window, .. } = terminal;
    let position = &display.position;
    let mut writer = DumpWriter::new(&display.links, LINKING_MAX[1]);
    let [saves, modes, modes_at_the_end] = display.modes.redo(&AT_THE_END);
    if !window.directory.is_empty() {
        writer.push(&format!("\x1b]7;{}\x1b\\", window.directory));
    }
    for part in
        [window.titles.redo(), window.colors.redo(), terminal.key_options.redo(), window.progress.redo()]
    {
        writer.push(&part);
    }
    writer.push(if terminal.encoding.eight_bit_controls { "\x1b G" } else { "" });
    writer.push(if display.rectangular_changes { "\x1b[2*x" } else { "" });
    writer.push(&saves);
    writer.push(&modes);
    for (style, sequence) in display.pen_stack.redo() {
        writer.set_pen(style);
        writer.push(&sequence);
    }
    writer.set_pen(PackedStyle::default());
    match display.buffers.alternate {
        None => writer.primary(&display.buffers, position.cols),
        Some(how) => writer.alternate(how, &display.buffers, position.cols),
    }
    writer.push(&position.tab_stops.redo(position.cols));
    let (margins, whole) = (position.margins, position.whole());
    if (margins.top, margins.bottom) != (whole.top, whole.bottom) {
        writer.push(&format!("\x1b[{};{}r", margins.top + 1, margins.bottom + 1));
    }
    if position.has_side_margins() {
        writer.push(&format!("\x1b[{};{}s", margins.left + 1, margins.right + 1));
    }
    if let Some(shape) = display.cursor_shape {
        writer.push(&format!("\x1b[{} q", shape.number()));
    }
    let protection = redo_protection(display.iso_protection, position.cursor.pen.is_protected());
    let last = [&modes_at_the_end, protection, &terminal.encoding.redo_reading()].concat();
    writer.last(display, &last);
    writer.out
}

/// The sequences that have a terminal protect as here, the pen being as it is already: nothing may be erased
/// behind them.
fn redo_protection(iso: bool, pen_protects: bool) -> &'static str {
    match (iso, pen_protects) {
        (false, _) => "",
        (true, true) => "\x1bV",
        (true, false) => "\x1bV\x1bW",
    }
}

impl DumpWriter<'_> {
    /// Both screens, the primary one shown.
    fn primary(&mut self, buffers: &ScreenBuffers, cols: usize) {
        if buffers.inactive != ScreenBuffer::default() {
            // The number that all terminals know.
            self.push("\x1b[?1049h");
            self.buffer(&buffers.inactive, cols);
            self.push("\x1b[?1049l\x1b[H\x1b[J");
        }
        self.buffer(&buffers.active, cols);
    }

    /// Both screens, the alternate one shown.
    fn alternate(&mut self, how: AlternateScreen, buffers: &ScreenBuffers, cols: usize) {
        self.buffer(&buffers.inactive, cols);
        if how == AlternateScreen::Saving {
            let saved = &buffers.inactive.saved_cursor;
            self.cursor(saved, (0, 0), buffers.inactive.grid.rows());
            self.push(how.way_in());
            self.plain(saved);
            // Entering has erased it with the pen's background.
            self.push("\x1b[H\x1b[J");
        } else {
            self.push("\x1b[H");
            self.push(how.way_in());
        }
        self.buffer(&buffers.active, cols);
    }

    fn buffer(&mut self, buffer: &ScreenBuffer, cols: usize) {
        self.push(&buffer.keyboard.redo());
        self.push(&buffer.pointer.redo());
        if buffer.saved_cursor != CursorState::default() {
            self.cursor(&buffer.saved_cursor, (0, 0), buffer.grid.rows());
            self.push("\x1b7");
            self.plain(&buffer.saved_cursor);
        }
        self.rows(buffer.grid.rows(), cols);
    }

    /// The cursor, and `last`: what has to be set behind everything that is drawn.
    fn last(&mut self, display: &DisplayState, last: &str) {
        let (cursor, rows, origin) =
            (&display.position.cursor, display.buffers.active.grid.rows(), display.position.origin());
        let just_written = just_written(display).and_then(|col| Some((col, rows.get(cursor.row)?)));
        let Some((col, row)) = just_written else {
            self.cursor(cursor, origin, rows);
            self.push(last);
            return;
        };
        // It may be repeated by the next bytes, so nothing may follow it.
        if cursor.origin {
            self.push("\x1b[?6h");
        }
        let end = if cursor.wrap_pending { cursor.col + 1 } else { col + 1 };
        let wide = row.cell(col + 1).is_spacer();
        self.go_from(origin, col, cursor.row);
        self.set_pen(cursor.pen);
        if display.inserts(col) {
            // Writing will move what follows to the right again.
            self.push(&format!("\x1b[{}P", 1 + usize::from(wide)));
        }
        self.push(&cursor.charsets.redo());
        self.push(cursor.charsets.again(row.cell(col).ch()));
        self.push(last);
        self.cells(row, col, end);
    }
}

/// The column of the character that was just written, if there is one: it is before the cursor, or under it
/// where it waits.
fn just_written(display: &DisplayState) -> Option<usize> {
    let (cursor, ch) = (&display.position.cursor, display.last_printed?);
    let row = display.buffers.active.grid.rows().get(cursor.row)?;
    let place = if cursor.wrap_pending { cursor.col } else { cursor.col.checked_sub(1)? };
    Some(start(row, place)).filter(|col| {
        let cell = row.cell(*col);
        cell.ch() == ch && cell.style() == cursor.pen
    })
}
