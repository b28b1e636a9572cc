//! [`Screen`]: a terminal without a window, and the interface of this folder.

use std::fmt;

use crate::screen::SIDE_MAX;
use crate::screen::cursor::{Cursor, CursorState};
use crate::screen::modes::TerminalMode;
use crate::screen::parser::{StreamParser, Unfinished, UnfinishedBytes};
use crate::screen::reply::Query;
use crate::screen::restore::{AnswerReader, TerminalBefore, UndoState, mode_names, undo};
use crate::screen::terminal_state::TerminalState;
use crate::screen::window::ColorId;

/// A terminal without a window.
pub struct Screen {
    pub(super) terminal: TerminalState,
    pub(super) input: StreamParser,
    pub(super) unfinished: Unfinished,
    pub(super) unfinished_bytes: UnfinishedBytes,
    answers: AnswerReader,
    revision: u64,
    undo_revision: u64,
    undo_state: UndoState,
}

/// Equal in everything that later bytes could show. The revision is not compared: it counts changes, not
/// content.
impl PartialEq for Screen {
    fn eq(&self, other: &Self) -> bool {
        self.terminal.is_same(&other.terminal)
            && self.input == other.input
            && self.unfinished == other.unfinished
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen")
            .field("size", &self.size())
            .field("cursor", &self.cursor())
            .field("modes", &self.modes())
            .field("lines", &self.lines())
            .finish_non_exhaustive()
    }
}

impl Screen {
    /// A blank screen. Each side is clamped to 1..=[`SIDE_MAX`].
    #[must_use]
    pub fn new(cols: u16, rows: u16) -> Self {
        let terminal = TerminalState::new(side(cols), side(rows));
        Self {
            undo_state: UndoState::of(&terminal),
            terminal,
            input: StreamParser::default(),
            unfinished: Unfinished::default(),
            unfinished_bytes: UnfinishedBytes::default(),
            answers: AnswerReader::default(),
            revision: 0,
            undo_revision: 0,
        }
    }

    /// Feeds the child's output. Sequences and characters may be split anywhere between two calls.
    pub fn feed(&mut self, bytes: &[u8]) {
        let before = self.cursor();
        let mut rest = bytes;
        while let Some(at) = memchr::memchr2(0x18, 0x1a, rest) {
            let (before, after) = rest.split_at(at);
            self.take(before);
            // The parser would execute the first half of a command or query that is cancelled here.
            self.terminal.parser.setting_request = None;
            if self.unfinished == Unfinished::Command {
                self.forget_unfinished();
            } else {
                self.take(&after[..1]);
            }
            rest = &after[1..];
        }
        self.take(rest);
        if self.terminal.display.changed || self.cursor() != before {
            self.terminal.display.changed = false;
            self.revision += 1;
        }
        self.check_undo();
    }

    /// Skips the part of `bytes` whose text will be gone when all of them are written, and returns its
    /// length. Feed the rest next; until then the screen may show older rows.
    pub fn skip(&mut self, bytes: &[u8]) -> usize {
        if self.input.is_inside() {
            return 0;
        }
        let skipped = self.terminal.display.skip(bytes);
        if skipped > 0 {
            // The skipped part ends with a line feed, after which nothing is unfinished.
            self.forget_unfinished();
            self.terminal.display.changed = false;
            self.revision += 1;
            self.check_undo();
        }
        skipped
    }

    /// Clears the unfinished state.
    fn forget_unfinished(&mut self) {
        self.input = StreamParser::default();
        self.unfinished = Unfinished::default();
        self.unfinished_bytes = UnfinishedBytes::default();
    }

    fn take(&mut self, bytes: &[u8]) {
        self.input.feed(&mut self.terminal, bytes);
        self.unfinished.feed(bytes);
        self.unfinished_bytes
            .feed(bytes, if self.input.is_inside() { self.unfinished } else { Unfinished::Nothing });
    }

    /// Whether `ESC k NAME ESC \` names the window, as in GNU screen and tmux; elsewhere the name is text.
    pub fn set_takes_names(&mut self, takes: bool) {
        self.terminal.parser.takes_window_names = takes;
    }

    /// Resizes both screens, clamped as in [`Screen::new`]. Wrapped lines of the primary screen and of the
    /// scrollback are rewrapped, and lines move to the scrollback or back; the alternate screen is cropped or
    /// extended.
    pub fn resize(&mut self, cols: u16, rows: u16) {
        self.terminal.resize(side(cols), side(rows));
        if self.terminal.display.changed {
            self.terminal.display.changed = false;
            self.revision += 1;
        }
        self.check_undo();
    }

    fn check_undo(&mut self) {
        let state = UndoState::of(&self.terminal);
        if state != self.undo_state || self.terminal.undo_outdated {
            self.terminal.undo_outdated = false;
            self.undo_state = state;
            self.undo_revision += 1;
        }
    }

    pub fn size(&self) -> (u16, u16) {
        (self.terminal.display.position.cols as u16, self.terminal.display.position.rows as u16)
    }

    pub fn cursor(&self) -> Cursor {
        let display = &self.terminal.display;
        let CursorState { col, row, .. } = display.position.cursor;
        let visible = display.is_on(TerminalMode::CursorVisible);
        Cursor { col: col as u16, row: row as u16, visible, shape: display.cursor_shape.unwrap_or_default() }
    }

    /// The window title, at most 1 KiB and without control characters; empty if none was set.
    pub fn title(&self) -> &str {
        self.terminal.window.titles.window()
    }

    /// The working directory that the child reported (OSC 7), unchanged: at most 4 KiB and without control
    /// characters. Empty if none was reported.
    pub fn directory(&self) -> &str {
        &self.terminal.window.directory
    }

    /// Whether the alternate screen is shown.
    pub fn alternate(&self) -> bool {
        self.terminal.display.buffers.alternate.is_some()
    }

    /// The modes that differ from those of a fresh terminal: `2004` = private mode 2004 is set, `-7` =
    /// private mode 7 is reset though a fresh terminal has it set, `ansi:4` = ANSI mode 4 is set.
    pub fn modes(&self) -> Vec<String> {
        mode_names(&self.terminal.display)
    }

    /// Whether a mode is set.
    pub fn is_on(&self, mode: TerminalMode) -> bool {
        self.terminal.display.is_on(mode)
    }

    /// The kitty keyboard flags of the visible screen; 0 = the plain keyboard.
    pub fn keyboard_flags(&self) -> u8 {
        self.terminal.display.buffers.active.keyboard.flags()
    }

    /// The level of xterm's modifyOtherKeys; 0 = off.
    pub fn modify_other_keys(&self) -> u16 {
        self.terminal.key_options.other_keys().unwrap_or(0)
    }

    /// Increases when a `feed` or a `resize` may have changed the visible state: cells, cursor, title,
    /// screen. Redrawing the same picture counts, too.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Increases when the result of [`Screen::undo`] may have changed since the last `feed` or `resize`.
    /// Modes that are set only while a frame is drawn do not count if the frame arrived in one piece. Costs
    /// nothing, unlike the undo itself.
    pub fn undo_revision(&self) -> u64 {
        self.undo_revision
    }

    /// The sequences that restore a terminal after the child has died with modes set: exactly those that are
    /// set, in the required order. Empty if there are none. Fed to this screen, they leave nothing to undo.
    pub fn undo(&self) -> Vec<u8> {
        undo(&self.terminal).into_bytes()
    }

    /// The bytes to send before anything else if the child has died in the middle of a sequence, a string or
    /// a character: a terminal would read the next bytes as its rest. Empty if nothing is unfinished.
    pub fn ending(&self) -> &'static [u8] {
        self.unfinished.ending()
    }

    /// Reads the terminal's input, which may contain answers to the child's queries: they describe the
    /// terminal before the child, and [`Screen::undo`] restores that state.
    pub fn learn(&mut self, bytes: &[u8]) {
        if self.terminal.before.is_waiting() {
            self.answers.read(&mut self.terminal.before, bytes);
            self.terminal.undo_outdated = true;
            self.check_undo();
        }
    }

    /// The known state of the terminal before the child, for the next child in the same terminal.
    pub fn terminal_before(&self) -> &TerminalBefore {
        &self.terminal.before
    }

    /// Sets the known state of the terminal before the child; the default clears it, because another terminal
    /// is used from here on.
    pub fn set_terminal_before(&mut self, mut before: TerminalBefore) {
        before.follow(&self.terminal.before);
        self.terminal.before = before;
        self.terminal.undo_outdated = true;
        self.check_undo();
    }

    /// Text, background and cursor colour (OSC 10 to 12), as the child set them or a person's terminal
    /// described them, in the form of an answer; `None` if unknown.
    pub fn described_colors(&self) -> [Option<&str>; 3] {
        [10, 11, 12].map(ColorId::Dynamic).map(|color| {
            let now =
                self.terminal.window.colors.value(color).or_else(|| self.terminal.before.described(color));
            // The child receives it as input, so only a colour may be passed on of anything that the child or
            // a terminal wrote.
            let part =
                |part: &str| matches!(part.len(), 1..=4) && part.bytes().all(|byte| byte.is_ascii_hexdigit());
            let plain = |parts: &str| parts.split('/').count() == 3 && parts.split('/').all(part);
            now.filter(|value| value.strip_prefix("rgb:").is_some_and(plain))
        })
    }

    /// The terminal did not answer the child's queries so far: nothing can be learned from answers.
    pub fn answered(&mut self) {
        self.terminal.before.forget_questions();
    }

    /// The sequences that set another terminal's keyboard to the child's state: as many pushes as the undo
    /// has pops. The first for the primary screen, to be sent before the alternate one is entered; the second
    /// for the alternate one, to be sent after that.
    pub fn keyboard_redo(&self) -> [String; 2] {
        let redo = |alternate| self.terminal.display.buffers.buffer(alternate).keyboard.redo();
        [redo(false), if self.alternate() { redo(true) } else { String::new() }]
    }

    /// The child's queries since the last call, oldest first. At most 64 are kept; more are dropped.
    pub fn take_queries(&mut self) -> Vec<Query> {
        self.terminal.queries.take()
    }
}

fn side(length: u16) -> usize {
    usize::from(length.clamp(1, SIDE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_cut_to_what_is_possible() {
        assert_eq!(Screen::new(0, 0).size(), (1, 1));
        assert_eq!(Screen::new(u16::MAX, 5).size(), (1000, 5));
        let mut screen = Screen::new(80, 24);
        screen.resize(0, 2000);
        assert_eq!(screen.size(), (1, 1000));
    }

    #[test]
    fn the_revision_rises_only_with_what_is_seen() {
        let mut screen = Screen::new(10, 3);
        let mut last = screen.revision();
        let mut rises = |screen: &Screen| {
            let rose = screen.revision() > last;
            last = screen.revision();
            rose
        };
        for visible in
            ["a", "\x1b[2;2H", "\x1b[?25l", "\x1b[5 q", "\x1b]0;t\x07", "\x1b[J", "\x1b[?1049h", "\x1b[?5h"]
        {
            screen.feed(visible.as_bytes());
            assert!(rises(&screen), "{visible:?}");
        }
        for silent in ["", "\x1b[1m", "\x1b[?2004h", "\x1b[c", "\x07", "\x1b[?5h", "\x1b[1"] {
            screen.feed(silent.as_bytes());
            assert!(!rises(&screen), "{silent:?}");
        }
        screen.resize(11, 3);
        assert!(rises(&screen));
        screen.resize(11, 3);
        assert!(!rises(&screen));
    }

    #[test]
    fn a_screen_that_shows_nothing_is_small() {
        let screen = Screen::new(80, 24);
        let rows = screen.terminal.display.buffers.active.grid.rows();
        let bytes = size_of::<Screen>() + rows.capacity() * size_of::<crate::screen::grid::GridRow>() + 80;
        assert!(bytes < 3584, "{bytes}");
        assert!(rows.iter().all(|row| row.written().is_empty()));
    }

    #[test]
    fn the_cursor_is_told_with_its_shape() {
        let mut screen = Screen::new(10, 3);
        screen.feed(b"ab\x1b[6 q\x1b[?25l");
        let cursor = screen.cursor();
        assert_eq!((cursor.col, cursor.row, cursor.visible, cursor.shape.name()), (2, 0, false, "bar"));
    }
}
