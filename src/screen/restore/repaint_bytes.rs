//! The dump: the whole state as escape sequences that put a fresh terminal into the same state. It is sent to
//! a terminal that attaches, and to clients that read a session's screen.
//!
//! It is made from the model, never from old output: no query is repeated, no bell rings, and no clipboard is
//! set. Synchronized output (mode 2026) is not resumed. Laws check it: fed to a fresh [`Screen`], the dump
//! gives an equal one, and a dump of that gives the same bytes.
//!
//! It does not contain the known state of the terminal before the child ([`Screen::terminal_before`]).

use std::collections::VecDeque;

use crate::screen::Screen;
use crate::screen::cursor::CursorState;
use crate::screen::display::{DisplayState, ScreenBuffer, ScreenBuffers};
use crate::screen::grid::{CLOSING, GridRow, History, Hyperlink, Hyperlinks, LineEnd, PackedStyle};
use crate::screen::modes::{AlternateScreen, TerminalMode};
use crate::screen::parser::Unfinished;
use crate::screen::terminal_state::TerminalState;

/// Modes that are set after everything is drawn, because drawing needs their defaults.
const AT_THE_END: [TerminalMode; 2] = [TerminalMode::Insert, TerminalMode::AutoWrap];

/// The most bytes for links, each in the history and on the screen, so that the dump fits into an answer of a
/// megabyte: a link in every cell would make it unbounded. Text beyond that has no links.
const LINKING_MAX: [usize; 2] = [4 * 1024 * 1024, 256 * 1024];

/// A state as escape sequences, in parts that are sent in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// The lines above the screen, oldest first; after them the screen is blank. Empty if there are none.
    pub history: Vec<u8>,
    /// Everything else. It may be sent without the history.
    pub screen: Vec<u8>,
    /// The beginning of the child's unfinished sequence or character: only for a terminal that also gets the
    /// child's next bytes.
    pub unfinished: Vec<u8>,
}

impl Screen {
    /// The state as escape sequences for a fresh terminal of this size, or another.
    pub fn dump(&self) -> Dump {
        self.dump_with(usize::MAX)
    }

    /// [`Screen::dump`] with at most this many lines of scrollback, the newest ones.
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

/// The output so far, and the terminal's pen after it.
struct DumpWriter<'a> {
    out: String,
    style: PackedStyle,
    links: &'a Hyperlinks,
    /// A link is open in the output.
    linked: bool,
    /// How many bytes may still be used for links.
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

    /// Sets the pen, even if it is unchanged.
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
        // Only the last link is left out: a dump of the result is the same again.
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

    /// Leaves the last column empty and wraps into the next row, as before a wide character that does not
    /// fit: writes one and erases it again.
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
                // Scrolling fills the new row with the pen's background.
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

    /// The rows of a blank screen. Rows that wrap are written so that they wrap.
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
                let style = row.cell(cols - 1).style();
                self.gap(style);
                // Attributes that the empty column got afterwards (DECCARA): wrapping erases them, and only a
                // command for areas writes there without ending the wrap.
                if style != style.erased() {
                    self.set_pen(style);
                    let (row, col) = (at + 1, cols);
                    self.push(&format!("\x1b[32;{row};{col};{row};{col}$x"));
                }
            }
        }
        self.set_pen(PackedStyle::default());
    }

    /// The cursor with all its state. `origin` is the position that it is relative to, `rows` are the rows of
    /// the screen.
    fn cursor(&mut self, cursor: &CursorState, origin: (usize, usize), rows: &VecDeque<GridRow>) {
        if cursor.origin {
            self.push("\x1b[?6h");
        }
        if cursor.wrap_pending {
            // Only writing in the last column puts the cursor into pending wrap: the character there is
            // written again.
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

    /// Resets the cursor except for its position.
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

/// The sequences that restore protection, with the pen already set: nothing may be erased after them.
fn redo_protection(iso: bool, pen_protects: bool) -> &'static str {
    match (iso, pen_protects) {
        (false, _) => "",
        (true, true) => "\x1bV",
        (true, false) => "\x1bV\x1bW",
    }
}

impl DumpWriter<'_> {
    /// Both screens, with the primary one visible.
    fn primary(&mut self, buffers: &ScreenBuffers, cols: usize) {
        if buffers.inactive != ScreenBuffer::default() {
            // The mode number that all terminals support.
            self.push("\x1b[?1049h");
            self.buffer(&buffers.inactive, cols);
            self.push("\x1b[?1049l\x1b[H\x1b[J");
        }
        self.buffer(&buffers.active, cols);
    }

    /// Both screens, with the alternate one visible.
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

    /// The cursor, and `last`: the state to set after everything is drawn.
    fn last(&mut self, display: &DisplayState, last: &str) {
        let (cursor, rows, origin) =
            (&display.position.cursor, display.buffers.active.grid.rows(), display.position.origin());
        let just_written = just_written(display).and_then(|col| Some((col, rows.get(cursor.row)?)));
        let Some((col, row)) = just_written else {
            self.cursor(cursor, origin, rows);
            self.push(last);
            return;
        };
        // The next bytes may repeat it (REP), so nothing may follow it.
        if cursor.origin {
            self.push("\x1b[?6h");
        }
        let end = if cursor.wrap_pending { cursor.col + 1 } else { col + 1 };
        let wide = row.cell(col + 1).is_spacer();
        self.go_from(origin, col, cursor.row);
        self.set_pen(cursor.pen);
        if display.inserts(col) {
            // Writing will shift the following cells to the right again.
            self.push(&format!("\x1b[{}P", 1 + usize::from(wide)));
        }
        self.push(&cursor.charsets.redo());
        self.push(cursor.charsets.again(row.cell(col).ch()));
        self.push(last);
        self.cells(row, col, end);
    }
}

/// The column of the character that was just written, if there is one: before the cursor, or under it in
/// pending wrap.
fn just_written(display: &DisplayState) -> Option<usize> {
    let (cursor, ch) = (&display.position.cursor, display.last_printed?);
    let row = display.buffers.active.grid.rows().get(cursor.row)?;
    let place = if cursor.wrap_pending { cursor.col } else { cursor.col.checked_sub(1)? };
    Some(start(row, place)).filter(|col| {
        let cell = row.cell(*col);
        cell.ch() == ch && cell.style() == cursor.pen
    })
}
