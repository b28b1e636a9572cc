//! The screen of a program under test, and what is new on it since a mark. Pure: the caller feeds bytes and
//! says when a frame ends.
//!
//! A **mark** is taken before an input. What differs from the screen at the mark is new, and only new text
//! answers an input. What passed checks have seen counts, too: text that they saw replaced or gone is new
//! when it returns. A **frame** ends when all output of the program has been read and it is not in the middle
//! of a synchronized update; the screen is never examined in the middle of one.

use std::cell::LazyCell;
use std::sync::Arc;

use memchr::{memchr2, memmem};

use super::echo_filter::EchoFilter;
use super::entered_text::EnteredText;
use super::look::{FoundPlace, Look, LookSubject, NearestRow, ScreenArea, TextPattern};
use super::typeahead_echo::{PromptLine, TypeaheadEcho};
use crate::core::terminal::Modes;
use crate::screen::{
    Attr, Color, FrameChanges, RowText, Screen, ScreenPlace, ScreenReport, ShellMark, Style,
};

/// The start of the sequences with which a shell announces its prompt and the output of a command (OSC 133).
const SHELL_MARK: &[u8] = b"\x1b]133;";
/// The most marks that are kept for messages.
const MARKS_MAX: usize = 10_000;

/// A moment before an input: what changed later is new.
#[derive(Clone, Debug)]
pub struct TestMark {
    frame: u64,
    /// The line of the tape, from 1.
    line: u32,
    title: String,
    titles: u64,
    clipboards: u64,
    bells: u64,
    output: u64,
    commands: u64,
    /// How many lines had left the screen.
    above: u64,
    /// The rows of the screen: they may leave it later and are old then.
    rows: Arc<[RowText]>,
    cursor_row: u16,
}

impl TestMark {
    /// The line of the tape that it belongs to, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The text of the row in which the cursor was.
    pub fn cursor_row_text(&self) -> &str {
        self.rows.get(usize::from(self.cursor_row)).map_or("", RowText::text)
    }

    /// Whether a row of the screen matched this at the mark.
    pub(super) fn had(&self, pattern: &TextPattern) -> bool {
        self.rows.iter().any(|row| pattern.is_in(row.text()))
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct LookFindings {
    /// Everything that matches, from the top.
    pub all: Vec<FoundPlace>,
    /// The new ones among them.
    pub new: Vec<FoundPlace>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameEnd {
    /// The cells that changed in the frame.
    pub places: Vec<ScreenPlace>,
    /// The cursor, the title or cells changed.
    pub is_visible: bool,
}

/// When text on the screen appeared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextAge {
    /// It is the terminal's echo of typed input; the program has not written there.
    Echo,
    /// Before the mark of this line.
    Before(u32),
    /// After the last mark, which belongs to this line.
    After(u32),
}

/// A screen, and what is new on it.
#[derive(Debug)]
pub struct FreshTextWatch {
    screen: Screen,
    changes: FrameChanges,
    /// The frame that the last call of [`FreshTextWatch::end_frame`] ended.
    ended: u64,
    echo: EchoFilter,
    ahead: TypeaheadEcho,
    entered: EnteredText,
    /// Bytes of output other than echo.
    output: u64,
    title: String,
    /// How often a check has seen a title that differs from the mark's.
    titles: u64,
    /// Texts that checks have found to be absent since the last mark, and where they looked.
    absent: Vec<(String, ScreenArea)>,
    clipboard: Option<String>,
    clipboards: u64,
    shell: Option<ShellMark>,
    /// How many commands of the shell have ended, and the status of the last one.
    commands: u64,
    status: Option<i32>,
    /// The frame and the line of each mark.
    marks: Vec<(u64, u32)>,
    /// Output has arrived since the last frame.
    is_inside_frame: bool,
    /// Output other than echo has arrived since the last frame.
    has_news: bool,
    /// The viewport, while it is scrolled back.
    scrolled: Option<ScrolledView>,
}

/// A viewport that is scrolled back. It keeps showing its lines when others leave the screen.
#[derive(Debug)]
struct ScrolledView {
    /// The number of its first line among all lines that have left the screen.
    top: u64,
    /// How many lines it was scrolled back at the end of the last frame.
    lines: u16,
    /// What it showed at that time.
    screen: Screen,
}

impl FreshTextWatch {
    /// A blank screen of this many columns and rows that keeps this many lines of history.
    #[must_use]
    pub fn new((cols, rows): (u16, u16), history: usize) -> Self {
        let mut screen = Screen::with_history(cols, rows, history);
        screen.keep_reports();
        let changes = FrameChanges::new(&mut screen);
        FreshTextWatch {
            screen,
            changes,
            ended: 0,
            echo: EchoFilter::default(),
            ahead: TypeaheadEcho::default(),
            entered: EnteredText::default(),
            output: 0,
            title: String::new(),
            titles: 0,
            absent: Vec::new(),
            clipboard: None,
            clipboards: 0,
            shell: None,
            commands: 0,
            status: None,
            marks: Vec::new(),
            is_inside_frame: false,
            has_news: false,
            scrolled: None,
        }
    }

    /// The content of the viewport: the screen, unless it is scrolled back.
    pub fn view(&self) -> &Screen {
        self.scrolled.as_ref().map_or(&self.screen, |scrolled| &scrolled.screen)
    }

    /// Scrolls the viewport by this many lines, as a person scrolls a terminal window: the program does not
    /// notice. Returns by how many it was scrolled.
    pub fn scroll(&mut self, is_up: bool, lines: u32) -> u32 {
        let above = u32::try_from(self.screen.lines_above()).unwrap_or(u32::MAX).min(u16::MAX.into());
        let before = u32::from(self.scrolled_lines());
        let after =
            if is_up { before.saturating_add(lines).min(above) } else { before.saturating_sub(lines) };
        self.scrolled = None;
        if after > 0 {
            let top = self.screen.history_total().saturating_sub(after.into());
            self.scrolled = Some(ScrolledView { top, lines: 0, screen: Screen::new(1, 1) });
            self.draw_view();
        }
        after.abs_diff(before)
    }

    /// Makes the viewport follow the output again.
    pub fn scroll_to_end(&mut self) {
        self.scrolled = None;
    }

    fn draw_view(&mut self) {
        let Some(scrolled) = &mut self.scrolled else { return };
        let lines = self.screen.history_total().saturating_sub(scrolled.top);
        let lines = usize::try_from(lines).unwrap_or(usize::MAX).min(self.screen.lines_above());
        scrolled.lines = u16::try_from(lines).unwrap_or(u16::MAX);
        scrolled.screen = self.screen.scroll_view(scrolled.lines.into());
    }

    /// How many lines the viewport is scrolled back.
    fn scrolled_lines(&self) -> u16 {
        self.scrolled.as_ref().map_or(0, |scrolled| scrolled.lines)
    }

    /// A place of the viewport on the screen; `Err` with the number of a line that has left the screen.
    fn on_screen(&self, place: &ScreenPlace) -> Result<ScreenPlace, u64> {
        let lines = self.scrolled_lines();
        match place.row.checked_sub(lines) {
            Some(row) => Ok(ScreenPlace { row, cols: place.cols.clone() }),
            None => Err(self.screen.history_total() - u64::from(lines - place.row)),
        }
    }

    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// The screen, to take its queries or to tell it about the terminal.
    pub fn screen_mut(&mut self) -> &mut Screen {
        &mut self.screen
    }

    /// Feeds output of the program, split anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        // The text that a shell draws after its prompt may be typeahead.
        while !rest.is_empty() && self.ahead.is_any() {
            let from =
                if self.screen.is_inside_sequence() { Some(0) } else { memmem::find(rest, SHELL_MARK) };
            let Some(from) = from else { break };
            let end = memchr2(0x07, b'\\', &rest[from + 1..]).map_or(rest.len(), |at| from + at + 2);
            let (first, behind) = rest.split_at(end.min(rest.len()));
            self.feed_part(first);
            self.absorb_typeahead();
            rest = behind;
        }
        self.feed_part(rest);
    }

    /// Text that was typed ahead and is now shown after the prompt is not new.
    fn absorb_typeahead(&mut self) {
        let Some(found) = self.ahead.find_at_prompt(&self.screen) else { return };
        self.changes.frame(&mut self.screen);
        found.iter().for_each(|place| self.changes.absorb_place(place));
    }

    fn feed_part(&mut self, bytes: &[u8]) {
        let (from, to) = self.echo.take(bytes);
        let (before, rest) = bytes.split_at(from);
        let (echo, after) = rest.split_at(to - from);
        self.feed_news(before);
        if !echo.is_empty() {
            if std::mem::take(&mut self.has_news) {
                // What came before the echo is new, so end the frame before absorbing the echo.
                self.changes.frame(&mut self.screen);
            }
            let (row, from) = (self.screen.cursor().row, self.screen.cursor().col);
            self.screen.feed(echo);
            self.changes.absorb(&mut self.screen);
            if self.screen.cursor().row == row {
                // Even if the same character was there before.
                self.changes.absorb_place(&ScreenPlace { row, cols: from..self.screen.cursor().col });
            }
            self.is_inside_frame = true;
        }
        self.feed_news(after);
    }

    fn feed_news(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.screen.feed(bytes);
        self.output += bytes.len() as u64;
        (self.is_inside_frame, self.has_news) = (true, true);
        for report in self.screen.take_reports() {
            match report {
                ScreenReport::Clipboard(text) => {
                    self.clipboards += 1;
                    self.clipboard = Some(text);
                }
                ScreenReport::Shell(mark) => {
                    self.shell = Some(mark);
                    match mark {
                        ShellMark::Prompt => self.ahead.begin_prompt(PromptLine::at_cursor(&self.screen)),
                        ShellMark::Output => self.ahead.begin_command(),
                        ShellMark::Done(status) => {
                            self.commands += 1;
                            self.status = status;
                        }
                        ShellMark::Input => {}
                    }
                }
            }
        }
    }

    /// Whether the program is in the middle of a synchronized update or a sequence.
    pub fn is_drawing(&self) -> bool {
        self.screen.is_drawing()
    }

    /// Whether output has arrived since the last frame.
    pub fn is_inside_frame(&self) -> bool {
        self.is_inside_frame
    }

    /// Ends a frame: what differs from the last one is new.
    pub fn end_frame(&mut self) -> FrameEnd {
        (self.is_inside_frame, self.has_news) = (false, false);
        let before = self.ended;
        self.absorb_typeahead();
        let mut is_visible = self.changes.frame(&mut self.screen);
        for (found, place) in self.entered.places(&self.screen) {
            self.changes.absorb_place_since(found, &place);
        }
        self.ended = self.changes.now();
        if self.screen.title() != self.title {
            self.title = self.screen.title().to_owned();
            is_visible = true;
        }
        let places = if self.ended > before { self.changes.places_after(before) } else { Vec::new() };
        is_visible |= !places.is_empty();
        self.draw_view();
        FrameEnd { places, is_visible }
    }

    /// Takes a mark for the line `line` of a tape: ends the frame, so that everything on the screen now is
    /// old.
    pub fn take_mark(&mut self, line: u32) -> TestMark {
        self.end_frame();
        let before = self.marks.last().map_or(0, |(frame, _)| *frame);
        let now = self.changes.now();
        self.entered.end_input(&self.screen, now, |row, col| self.changes.is_new(before, row, col));
        let frame = self.changes.mark(&self.screen);
        self.absent.clear();
        if self.marks.len() == MARKS_MAX {
            self.marks.remove(0);
        }
        self.marks.push((frame, line));
        TestMark {
            frame,
            line,
            title: self.title.clone(),
            titles: self.titles,
            clipboards: self.clipboards,
            bells: self.screen.bells(),
            output: self.output,
            commands: self.commands,
            above: self.screen.history_total(),
            rows: (0..self.screen.size().1).map(|row| self.screen.row_text(row)).collect(),
            cursor_row: self.screen.cursor().row,
        }
    }

    /// `bytes` are about to be typed into the terminal, which has these modes.
    pub fn expect_echo(&mut self, bytes: &[u8], modes: &Modes) {
        self.echo.expect(bytes, modes);
        self.ahead.take(bytes);
        if modes.lflag & u64::from(nix::libc::ECHO) == 0 {
            self.entered.take(bytes);
        }
    }

    /// Whether the terminal's echo of typed input has not arrived completely.
    pub fn awaits_echo(&self) -> bool {
        self.echo.is_pending()
    }

    /// Stops waiting for the echo.
    pub fn give_up_echo(&mut self) {
        self.echo.give_up();
    }

    /// Changes the size. Everything on the screen is new afterwards, because rows are split and joined.
    pub fn resize(&mut self, cols: u16, rows: u16) {
        self.end_frame();
        self.scroll_to_end();
        self.screen.resize(cols, rows);
        (self.is_inside_frame, self.has_news) = (true, true);
    }

    /// What can be searched.
    pub fn subject(&self) -> LookSubject<'_> {
        let scrolled = self.scrolled.as_ref().map(|scrolled| (&scrolled.screen, scrolled.lines));
        LookSubject { screen: &self.screen, scrolled, clipboard: self.clipboard.as_deref() }
    }

    /// The matches of `look`, and which of them are new since the mark.
    pub fn find(&self, look: &Look, since: &TestMark) -> LookFindings {
        let all = self.subject().find(look);
        let was_absent = self.was_absent(look, since);
        // The result of the same search at the mark.
        let found_then = |in_place: bool| {
            let row_text = |row| self.row_text_then(row, look.area, since, in_place);
            self.subject().find_in_texts(look, row_text)
        };
        let moved = LazyCell::new(|| found_then(false));
        let placed = LazyCell::new(|| found_then(true));
        let is_new = |place: &&FoundPlace| {
            was_absent
                || self.is_new(place, since)
                || self.is_new_in_area(place, look.area, since)
                || self.is_new_match(place, look.area, since, false, &moved)
                || look.area.is_place() && self.is_new_match(place, look.area, since, true, &placed)
        };
        let new = all.iter().filter(is_new).cloned().collect();
        LookFindings { all, new }
    }

    /// Whether a check after the mark, which must be the last one, has found this text to be absent from
    /// there.
    fn was_absent(&self, look: &Look, since: &TestMark) -> bool {
        let pattern = look.pattern.to_string();
        self.marks.last() == Some(&(since.frame, since.line))
            && self.absent.iter().any(|(absent, area)| {
                let covers = *area == look.area || *area == ScreenArea::All && look.area.is_on_screen();
                *absent == pattern && covers
            })
    }

    /// Notes that a check has found no match of `look`: later matches are new.
    pub fn see_nothing(&mut self, look: &Look) {
        self.absent.push((look.pattern.to_string(), look.area));
    }

    /// Notes that a check has found these places: if they differ from the mark, the text of the mark is new
    /// when it returns.
    pub fn see(&mut self, places: &[FoundPlace], since: &TestMark) {
        for place in places {
            match place {
                FoundPlace::Cells(places) => {
                    for place in places {
                        if let Ok(place) = self.on_screen(place) {
                            self.changes.see(since.frame, &place);
                        }
                    }
                }
                FoundPlace::Title if self.title != since.title => self.titles += 1,
                _ => {}
            }
        }
    }

    /// Whether one of the cells of a place, or another property of it, differs from the mark.
    pub fn is_new(&self, place: &FoundPlace, since: &TestMark) -> bool {
        match place {
            FoundPlace::Cells(places) => places.iter().any(|place| match self.on_screen(place) {
                Ok(place) => place.cols.clone().any(|col| self.changes.is_new(since.frame, place.row, col)),
                Err(line) => self.is_new_line(line, since),
            }),
            FoundPlace::HistoryLine(number) => self.is_new_line(*number, since),
            FoundPlace::Title => self.title != since.title || self.titles > since.titles,
            FoundPlace::Clipboard => self.clipboards > since.clipboards,
        }
    }

    /// Whether a pattern matches the same text as at the mark, but did not match there: text beside it, such
    /// as the end of its row, has gone. What the tape typed is no answer, whatever goes beside it.
    fn is_new_match(
        &self,
        place: &FoundPlace,
        area: ScreenArea,
        since: &TestMark,
        in_place: bool,
        found_then: &LazyCell<Vec<FoundPlace>, impl FnOnce() -> Vec<FoundPlace>>,
    ) -> bool {
        let FoundPlace::Cells(places) = place else { return false };
        let is_same_text = |place: &ScreenPlace| {
            let now = match self.on_screen(place) {
                Ok(place) => self.screen.row_text(place.row),
                Err(_) => self.view().row_text(place.row),
            };
            let then = self.row_text_then(place.row, area, since, in_place);
            now.part(place.cols.clone()).text() == then.part(place.cols.clone()).text()
        };
        let is_typed = |place: &ScreenPlace| {
            self.on_screen(place).is_ok_and(|place| self.entered.is_at(&self.screen, &place))
        };
        places.iter().all(|place| is_same_text(place) && !is_typed(place)) && !found_then.contains(place)
    }

    /// Whether one of the cells differs from the same row or region at the mark, even if a full-screen
    /// program only moved the text there.
    fn is_new_in_area(&self, place: &FoundPlace, area: ScreenArea, since: &TestMark) -> bool {
        let FoundPlace::Cells(places) = place else { return false };
        if !area.is_place() {
            return false;
        }
        let is_new = |place: ScreenPlace| {
            place.cols.clone().any(|col| {
                self.changes.is_new_in_place(since.frame, (place.row, col), area == ScreenArea::Line)
            })
        };
        places.iter().filter_map(|place| self.on_screen(place).ok()).any(is_new)
    }

    /// The text at the mark of a row of the viewport, wherever the row was then, or with `in_place` of the
    /// row that was at this place in a full-screen program. Blank if it is unknown.
    fn row_text_then(&self, row: u16, area: ScreenArea, since: &TestMark, in_place: bool) -> RowText {
        let then = match self.on_screen(&ScreenPlace { row, cols: 0..0 }) {
            Ok(place) if in_place => {
                self.changes.row_in_place(since.frame, place.row, area == ScreenArea::Line).map(u64::from)
            }
            Ok(place) => self.changes.row_then(since.frame, place.row).map(u64::from),
            Err(line) => line.checked_sub(since.above),
        };
        let then = then.and_then(|row| since.rows.get(usize::try_from(row).ok()?));
        then.cloned().unwrap_or_default()
    }

    /// A line that left the screen after the mark is old if it was on the screen then.
    fn is_new_line(&self, number: u64, since: &TestMark) -> bool {
        let Some(left) = number.checked_sub(since.above) else { return false };
        let Some(then) = usize::try_from(left).ok().and_then(|row| since.rows.get(row)) else { return true };
        let first = self.screen.history_total().saturating_sub(self.screen.history_len() as u64);
        let line = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        let text: String = self.screen.history_row_runs(line).iter().map(|run| run.text.as_str()).collect();
        text.trim_end_matches(' ') != then.text()
    }

    /// When the newest cell of a place appeared, in lines of the tape; `None` if unknown.
    pub fn age(&self, place: &FoundPlace) -> Option<TextAge> {
        self.age_of_frame(self.frame_of(place)?)
    }

    /// The frame in which the newest cell of a place appeared.
    fn frame_of(&self, place: &FoundPlace) -> Option<u64> {
        let FoundPlace::Cells(places) = place else { return None };
        let places: Vec<ScreenPlace> =
            places.iter().map(|place| self.on_screen(place).ok()).collect::<Option<_>>()?;
        places.iter().map(|place| self.changes.since(place)).max()
    }

    /// Whether a place was drawn between two inputs of one line of the tape, such as the text of the first
    /// one.
    pub fn is_between_inputs(&self, place: &FoundPlace) -> bool {
        let Some(frame) = self.frame_of(place).filter(|frame| *frame > 0) else { return false };
        let next = self.marks.iter().position(|(mark, _)| *mark >= frame);
        next.and_then(|next| self.marks.get(next.checked_sub(1)?..=next))
            .is_some_and(|marks| marks[0].1 == marks[1].1)
    }

    fn age_of_frame(&self, frame: u64) -> Option<TextAge> {
        if frame == 0 {
            return Some(TextAge::Echo);
        }
        match self.marks.iter().find(|(mark, _)| *mark >= frame) {
            Some((_, line)) => Some(TextAge::Before(*line)),
            None => self.marks.last().map(|(_, line)| TextAge::After(*line)),
        }
    }

    /// Whether a match is invisible: SGR 8, or the colour of its background.
    pub fn is_unseen(&self, place: &FoundPlace) -> bool {
        let FoundPlace::Cells(places) = place else { return false };
        let runs = || places.iter().flat_map(|place| self.view().row_part(place.row, place.cols.clone()));
        let is_unseen =
            |style: Style| style.has(Attr::Hidden) || style.fg == style.bg && style.fg != Color::Default;
        let mut inked = runs().filter(|run| !run.text.trim().is_empty()).peekable();
        inked.peek().is_some() && inked.all(|run| is_unseen(run.style))
    }

    /// The row most similar to the pattern, and its age.
    pub fn nearest(&self, look: &Look) -> Option<(NearestRow, Option<TextAge>)> {
        let nearest = self.subject().nearest_row(look)?;
        let place = self.on_screen(&nearest.place).ok();
        let age = place.and_then(|place| self.age_of_frame(self.changes.since(&place)));
        Some((nearest, age))
    }

    /// The cells of the visible screen that differ from the mark.
    pub fn new_places(&self, since: &TestMark) -> Vec<ScreenPlace> {
        self.changes.new_places(since.frame)
    }

    /// The rows of the viewport on which something differs from the mark.
    pub fn new_rows(&self, since: &TestMark) -> Vec<u16> {
        let lines = self.scrolled_lines();
        let above = (0..lines).filter(|row| {
            let place = ScreenPlace { row: *row, cols: 0..1 };
            self.on_screen(&place).is_err_and(|line| self.is_new_line(line, since))
        });
        let on_screen = self.new_places(since).into_iter().map(|place| place.row + lines);
        let mut rows: Vec<u16> = above.chain(on_screen).collect();
        rows.dedup();
        rows.retain(|row| *row < self.view().size().1);
        rows
    }

    /// Whether a cell differs from the mark.
    pub fn is_new_cell(&self, since: &TestMark, row: u16, col: u16) -> bool {
        self.changes.is_new(since.frame, row, col)
    }

    /// Whether the program has written anything since the mark, even without a visible change.
    pub fn has_output_since(&self, mark: &TestMark) -> bool {
        self.output > mark.output
    }

    /// How often the bell rang since the mark.
    pub fn bells_since(&self, mark: &TestMark) -> u64 {
        self.screen.bells() - mark.bells
    }

    /// The text that the program last put on the clipboard.
    pub fn clipboard(&self) -> Option<&str> {
        self.clipboard.as_deref()
    }

    /// The last announcement of a shell with integration.
    pub fn shell_mark(&self) -> Option<ShellMark> {
        self.shell
    }

    /// The status of the shell's last command, if it ended after the mark and the shell reported it.
    pub fn status_since(&self, mark: &TestMark) -> Option<i32> {
        self.status.filter(|_| self.commands > mark.commands)
    }

    /// Whether a text is directly before the cursor and its end is new since the mark. It may wrap at the
    /// right edge.
    pub fn stands_at_cursor(&self, text: &str, since: &TestMark) -> bool {
        let cursor = self.screen.cursor();
        let mut before = self.screen.row_text(cursor.row).part(0..cursor.col).text().to_owned();
        // A typed blank cannot be distinguished from an empty cell.
        let wanted = text.trim_end_matches(' ');
        let blanks = text.len() - wanted.len();
        let mut row = cursor.row;
        while before.len() < wanted.len() && row > 0 && self.screen.row_wrapped(row - 1) {
            row -= 1;
            let above = self.screen.row_text(row);
            before.insert_str(0, &" ".repeat(above.blanks()));
            before.insert_str(0, above.text());
        }
        let last = match usize::from(cursor.col).checked_sub(blanks + 1) {
            Some(col) => (cursor.row, col as u16),
            None => (cursor.row.saturating_sub(1), self.screen.size().0 - 1),
        };
        before.ends_with(wanted) && (wanted.is_empty() || self.is_new_cell(since, last.0, last.1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::echo_filter::tests::cooked;
    use super::super::look::CellRegion;
    use super::*;

    fn text(text: &str) -> Look {
        Look::on_screen(TextPattern::Text(text.to_owned()))
    }

    fn watch(bytes: &str) -> FreshTextWatch {
        let mut watch = FreshTextWatch::new((20, 4), 100);
        watch.feed(bytes.as_bytes());
        watch
    }

    fn frame(watch: &mut FreshTextWatch, bytes: &str) -> FrameEnd {
        watch.feed(bytes.as_bytes());
        watch.end_frame()
    }

    #[test]
    fn only_what_comes_after_the_mark_is_new() {
        let mut watch = watch("Done\r\n");
        let mark = watch.take_mark(3);
        frame(&mut watch, "working");
        assert!(mark.had(&text("Done").pattern) && !mark.had(&text("working").pattern));
        let found = watch.find(&text("Done"), &mark);
        assert_eq!((found.all.len(), found.new.len()), (1, 0));
        assert_eq!(watch.age(&found.all[0]), Some(TextAge::Before(3)));
        frame(&mut watch, "\r\nDone");
        let found = watch.find(&text("Done"), &mark);
        assert_eq!((found.all.len(), found.new.len()), (2, 1));
        assert_eq!(watch.age(&found.new[0]), Some(TextAge::After(3)));
        let later = watch.take_mark(9);
        assert!(watch.find(&text("Done"), &later).new.is_empty());
        assert_eq!(watch.age(&found.new[0]), Some(TextAge::Before(9)));
    }

    #[test]
    fn a_row_of_a_full_screen_program_is_new_where_it_has_moved_to() {
        let lines = "one\x1b[2Htwo\x1b[3Hthree\x1b[1H";
        let is_new = |watch: &FreshTextWatch, area: ScreenArea, wanted: &str, mark: &TestMark| {
            let found = watch.find(&Look { area, ..text(wanted) }, mark);
            assert_eq!(found.all.len(), 1, "{wanted}");
            !found.new.is_empty()
        };
        // `dd` in vim.
        let mut full_screen = watch(&format!("\x1b[?1049h{lines}"));
        let mark = full_screen.take_mark(1);
        frame(&mut full_screen, "\x1b[M");
        assert!(is_new(&full_screen, ScreenArea::Row(0), "two", &mark));
        assert!(is_new(&full_screen, ScreenArea::Line, "two", &mark));
        assert!(!is_new(&full_screen, ScreenArea::All, "two", &mark), "it stood on the screen");
        // `j`: only the cursor moves.
        let mark = full_screen.take_mark(2);
        frame(&mut full_screen, "\x1b[2H");
        assert!(is_new(&full_screen, ScreenArea::Line, "three", &mark));
        assert!(!is_new(&full_screen, ScreenArea::Row(1), "three", &mark));
        frame(&mut full_screen, "\x1b[1H");
        assert!(!is_new(&full_screen, ScreenArea::Line, "two", &mark), "where it was");
        // An echoed line end moves rows, too.
        let mut plain = watch(lines);
        let mark = plain.take_mark(1);
        frame(&mut plain, "\x1b[M");
        assert!(!is_new(&plain, ScreenArea::Row(0), "two", &mark));
    }

    #[test]
    fn a_pattern_that_comes_true_because_text_beside_it_went_is_new() {
        let regex = |source: &str, area| Look {
            area,
            ..Look::on_screen(TextPattern::Regex(regex::Regex::new(source).unwrap()))
        };
        let row = ScreenArea::Row(0);
        let field = ScreenArea::Region(CellRegion { row: 0, col: 0, rows: 1, cols: 8 });
        for (before, answer, pattern, area, news) in [
            ("gamma delta\x1b[2Hgamma", "\x1b[1;6H\x1b[K", "^gamma$", ScreenArea::All, 1),
            ("gamma delta", "\x1b[1;6H\x1b[K", "^gamma$", row, 1),
            ("items: 12, items: 1", "\x1b[1;9H,    ", r"items: 1\b", ScreenArea::All, 1),
            ("name: bob", "\x1b[1;7H\x1b[K", "^name:$", field, 1),
            ("bob", "\x1b[1;1H\x1b[K", "^$", field, 1),
            ("one line and its wrapped end", "\x1b[2;5H\x1b[K", "its wrapped$", ScreenArea::All, 1),
            ("one\r\ntwo\r\n", "\r\n\r\n", "(?m)^two$", ScreenArea::All, 0),
            ("one\r\ntwo x\r\n", "\r\n\r\n\x1b[1;4H\x1b[K", "^two$", ScreenArea::All, 1),
            // Another row that ends so stands there now.
            ("\x1b[?1049htwo x\x1b[2Htwo", "\x1b[H\x1b[M", "^two$", row, 1),
            ("\x1b[?1049htwo x\x1b[2Htwo", "\x1b[H\x1b[M", "^two$", ScreenArea::All, 0),
        ] {
            let mut watch = watch(before);
            let mark = watch.take_mark(1);
            frame(&mut watch, answer);
            assert_eq!(watch.find(&regex(pattern, area), &mark).new.len(), news, "{before:?} {pattern}");
        }
    }

    #[test]
    fn what_was_typed_is_no_news_because_text_beside_it_went() {
        let end = Look::on_screen(TextPattern::Regex(regex::Regex::new("READY$").unwrap()));
        let raw = Modes { lflag: 0, ..cooked() };
        let mut watch = watch("> ");
        watch.take_mark(1);
        watch.expect_echo(b"READY", &raw);
        // As fish suggests more.
        frame(&mut watch, "READY\x1b[2m or not\x1b[m");
        let mark = watch.take_mark(2);
        watch.expect_echo(b"\r", &raw);
        frame(&mut watch, "\x1b[1;8H\x1b[K\r\n");
        let found = watch.find(&end, &mark);
        assert_eq!((found.all.len(), found.new.len()), (1, 0));
    }

    #[test]
    fn the_terminal_s_echo_is_no_news() {
        let mut watch = watch("$ ");
        let mark = watch.take_mark(1);
        watch.expect_echo(b"echo hi\r", &cooked());
        frame(&mut watch, "echo hi\r\nhi\r\n$ ");
        assert_eq!(watch.find(&text("hi"), &mark).new.len(), 1);
        assert!(watch.find(&text("echo hi"), &mark).new.is_empty());
    }

    #[test]
    fn a_paste_that_loses_its_reverse_video_is_no_news() {
        let raw = Modes { lflag: 0, ..cooked() };
        for cut in [1, 3, 1000] {
            for before in ["", "1\r\n2\r\n3\r\n"] {
                let mut watch = watch(&format!("{before}> "));
                watch.take_mark(1);
                watch.expect_echo(b"\x1b[200~true READY\x1b[201~", &raw);
                frame(&mut watch, "\x1b[7mtrue READY\x1b[27m");
                let mark = watch.take_mark(2);
                watch.expect_echo(b"\r", &raw);
                // As readline does.
                for part in b"\x1b[10Dtrue READY\r\n\x1b[?2004l\r".chunks(cut) {
                    frame(&mut watch, std::str::from_utf8(part).unwrap());
                    let found = watch.find(&text("READY"), &mark);
                    assert_eq!((found.all.len(), found.new.len()), (1, 0), "{cut} {part:?}");
                }
                frame(&mut watch, "READY\r\n> ");
                assert_eq!(watch.find(&text("READY"), &mark).new.len(), 1, "{cut}");
            }
        }
    }

    #[test]
    fn what_was_typed_is_no_news_where_only_its_colours_change() {
        let raw = Modes { lflag: 0, ..cooked() };
        // What draws the cursor, the focus, and a text that is too long for its field.
        for (drawn, again) in [
            ("> READY", "\x1b[1;3HREAD\x1b[7mY\x1b[27m"),
            ("\x1b[44m READY  \x1b[m", "\x1b[H\x1b[45m READY  \x1b[m"),
            ("<not READ\r\nY>", "\x1b[1;6H\x1b[7mREAD\r\nY\x1b[27m"),
        ] {
            let mut watch = watch("");
            watch.take_mark(1);
            "not READY".chars().for_each(|c| watch.expect_echo(c.to_string().as_bytes(), &raw));
            frame(&mut watch, drawn);
            // A key, and another at which the program draws it as it was.
            for (line, bytes) in [(2, again.to_owned()), (3, format!("\x1b[H{drawn}"))] {
                let mark = watch.take_mark(line);
                watch.expect_echo(b"\x1b[D", &raw);
                frame(&mut watch, &bytes);
                assert!(watch.find(&text("READ"), &mark).new.is_empty(), "{drawn:?} {line}");
            }
            let mark = watch.take_mark(4);
            watch.expect_echo(b"\r", &raw);
            frame(&mut watch, "\x1b[HREADY       \x1b[3HREADY");
            assert_eq!(watch.find(&text("READ"), &mark).new.len(), 2, "{drawn:?}");
        }
    }

    #[test]
    fn what_was_typed_is_no_news_where_its_line_is_drawn_again_before_enter() {
        let raw = Modes { lflag: 0, ..cooked() };
        for (key, drawn) in [
            // Ctrl+L; a list of completions; text typed in front; a search; a yank.
            ("\x0c", "\x1b[H\x1b[2J> true READY"),
            ("\t", "\r\nREADY1 READY2\r\n> true READY"),
            ("a", "\r> atrue READY\x1b[4G"),
            ("\x12", "\r(search): true READY"),
            ("\x19", "\r> \x1b[K|true READY"),
        ] {
            for cut in [1, 3, 1000] {
                let mut watch = watch("ok\r\n> ");
                watch.take_mark(1);
                watch.expect_echo(b"true READY", &raw);
                frame(&mut watch, "true READY");
                let mark = watch.take_mark(2);
                watch.expect_echo(key.as_bytes(), &raw);
                for (at, part) in drawn.split('|').enumerate() {
                    let mark = if at == 0 { mark.clone() } else { watch.take_mark(3) };
                    for bytes in part.as_bytes().chunks(cut) {
                        watch.feed(bytes);
                        watch.end_frame();
                    }
                    let new = watch.find(&text("true READY"), &mark).new;
                    assert!(new.is_empty(), "{drawn:?} cut to {cut}: {:?}", watch.screen().lines());
                }
                watch.take_mark(4);
                watch.expect_echo(b"\r", &raw);
                let mark = watch.take_mark(5);
                frame(&mut watch, "\r\n> true READY");
                assert!(!watch.find(&text("true READY"), &mark).new.is_empty(), "{drawn:?}: behind Enter");
            }
        }
    }

    #[test]
    fn what_was_typed_again_or_put_back_by_a_full_screen_program_is_news() {
        let raw = Modes { lflag: 0, ..cooked() };
        for (before, typed) in [("> ", "READY"), ("\x1b[?1049h> ", "")] {
            let mut watch = watch(before);
            watch.take_mark(1);
            watch.expect_echo(b"READY", &raw);
            frame(&mut watch, "READY");
            watch.take_mark(2);
            watch.expect_echo(b"\x15", &raw);
            frame(&mut watch, "\r\x1b[K> ");
            let mark = watch.take_mark(3);
            watch.expect_echo(typed.as_bytes(), &raw);
            frame(&mut watch, "READY");
            assert_eq!(watch.find(&text("READY"), &mark).new.len(), 1, "{before:?}");
        }
    }

    #[test]
    fn another_text_that_loses_its_reverse_video_is_news() {
        let mut watch = watch("> ");
        watch.take_mark(1);
        watch.expect_echo(b"\x1b[200~word\x1b[201~", &Modes { lflag: 0, ..cooked() });
        frame(&mut watch, "word\r\n\x1b[7mfirst\x1b[27m");
        let mark = watch.take_mark(2);
        frame(&mut watch, "\x1b[2Hfirst");
        assert_eq!(watch.find(&text("first"), &mark).new.len(), 1);
        frame(&mut watch, "\x1b[3H\x1b[7mword\x1b[27m");
        assert_eq!(watch.find(&text("word"), &mark).new.len(), 1, "as a search shows it elsewhere");
    }

    #[test]
    fn a_line_that_was_typed_ahead_is_no_news_when_the_prompt_shows_it_again() {
        for cut in [1, 3, 1000] {
            let mut watch = watch("\x1b]133;A\x07> sleep 1\r\n\x1b]133;C\x07");
            let mark = watch.take_mark(1);
            watch.expect_echo(b"true READY\r", &cooked());
            frame(&mut watch, "true READY\r\n");
            let prompt =
                "\x1b]133;D;0\x07\x1b]133;A\x07\x1b[?2004h\x1b[34m> \x1b[mtrue READY\r\n\x1b]133;C\x07";
            for part in prompt.as_bytes().chunks(cut) {
                watch.feed(part);
            }
            watch.end_frame();
            assert!(watch.find(&text("READY"), &mark).new.is_empty(), "{cut}");
            frame(&mut watch, "READY\r\n");
            assert_eq!(watch.find(&text("READY"), &mark).new.len(), 1, "{cut}");
        }
    }

    #[test]
    fn a_line_that_was_typed_before_the_shell_left_its_line_editor_is_typed_ahead_too() {
        let raw = Modes { lflag: 0, ..cooked() };
        for cut in [1, 3, 1000] {
            let mut watch = watch("\x1b]133;A\x07> ");
            watch.expect_echo(b"sleep 1\r", &raw);
            let mark = watch.take_mark(1);
            // Nothing shows yet that the shell has read the previous line.
            watch.expect_echo(b"true READY\r", &raw);
            watch.expect_echo(b"true STEADY\r", &raw);
            let prompts = "sleep 1\r\n\x1b]133;C\x07\x1b]133;D;0\x07\x1b]133;A\x07> true READY\r\n\
                           \x1b]133;C\x07\x1b]133;D;0\x07\x1b]133;A\x07> true STEADY\r\n\x1b]133;C\x07";
            for part in prompts.as_bytes().chunks(cut) {
                watch.feed(part);
                if cut == 3 {
                    watch.end_frame();
                }
            }
            watch.end_frame();
            let found = watch.find(&text("READY"), &mark);
            assert_eq!((found.all.len(), found.new.len()), (1, 0), "{cut}");
            assert!(watch.find(&text("STEADY"), &mark).new.is_empty(), "{cut}");
            frame(&mut watch, "STEADY\r\n\x1b]133;D;0\x07\x1b]133;A\x07> ");
            assert_eq!(watch.find(&text("STEADY"), &mark).new.len(), 1, "{cut}");
            // Text typed at the prompt is not typed ahead.
            watch.expect_echo(b"echo READY\r", &raw);
            frame(&mut watch, "echo READY\r\n\x1b]133;C\x07READY\r\n\x1b]133;D;0\x07\x1b]133;A\x07READY> ");
            assert_eq!(watch.find(&text("READY"), &mark).new.len(), 3, "{cut}");
        }
    }

    #[test]
    fn what_a_check_has_seen_between_makes_the_same_text_new_again() {
        let mut watch = watch("\x1b]0;ready\x07Ready");
        let mark = watch.take_mark(1);
        let new = |watch: &FreshTextWatch, what: &Look| watch.find(what, &mark).new.len();
        frame(&mut watch, "\x1b]0;busy\x07\x1b[HBusy ");
        frame(&mut watch, "\x1b]0;ready\x07\x1b[HReady");
        let title = text("ready").within(ScreenArea::Title);
        assert_eq!((new(&watch, &text("Ready")), new(&watch, &title)), (0, 0), "nobody has seen it change");
        frame(&mut watch, "\x1b]0;busy\x07\x1b[HBusy ");
        for look in [text("Busy"), text("busy").within(ScreenArea::Title)] {
            let found = watch.find(&look, &mark);
            watch.see(&found.new, &mark);
        }
        frame(&mut watch, "\x1b]0;ready\x07\x1b[HReady");
        assert_eq!((new(&watch, &text("Ready")), new(&watch, &title)), (1, 1));

        let mark = watch.take_mark(2);
        frame(&mut watch, "\x1b[2J");
        watch.see_nothing(&text("Ready"));
        frame(&mut watch, "\x1b[HReady");
        let new = |what: &Look, mark: &TestMark| watch.find(what, mark).new.len();
        assert_eq!((new(&text("Ready"), &mark), new(&text("Read"), &mark)), (1, 0));
        assert_eq!(new(&text("Ready").within(ScreenArea::Row(0)), &mark), 1);
    }

    #[test]
    fn a_line_that_a_program_has_read_is_not_waited_for_at_the_prompt() {
        let mut watch = watch("\x1b]133;A\x07> cat\r\n\x1b]133;C\x07");
        let mark = watch.take_mark(1);
        watch.expect_echo(b"hello\r", &cooked());
        frame(&mut watch, "hello\r\n\x1b]133;D;0\x07\x1b]133;A\x07> ls\r\nhello\r\n");
        assert_eq!(watch.find(&text("hello"), &mark).new.len(), 1);
    }

    #[test]
    fn news_before_an_echo_stay_news() {
        let mut watch = watch("");
        let mark = watch.take_mark(1);
        watch.expect_echo(b"hello", &cooked());
        frame(&mut watch, "tick\r\nhello");
        assert_eq!(watch.find(&text("tick"), &mark).new.len(), 1);
        assert!(watch.find(&text("hello"), &mark).new.is_empty());
    }

    #[test]
    fn a_line_that_has_left_the_screen_is_as_old_as_it_was_there() {
        let mut watch = watch("old 1\r\nold 2\r\n");
        let mark = watch.take_mark(1);
        frame(&mut watch, "new 1\r\nnew 2\r\nnew 3\r\nnew 4\r\nnew 5\r\n");
        let find = |what: &str| watch.find(&text(what).within(ScreenArea::History), &mark);
        assert_eq!((find("old").all.len(), find("old").new.len()), (2, 0));
        assert_eq!((find("new").all.len(), find("new").new.len()), (5, 5));
    }

    #[test]
    fn titles_and_clipboards_are_new_once() {
        let mut watch = watch("\x1b]0;one\x07\x1b]52;c;aGk=\x07");
        let mark = watch.take_mark(1);
        let new =
            |watch: &FreshTextWatch, area, what: &str| watch.find(&text(what).within(area), &mark).new.len();
        assert!(!frame(&mut watch, "\x1b]0;one\x07").is_visible);
        assert_eq!(new(&watch, ScreenArea::Title, "one"), 0, "the same title");
        assert!(frame(&mut watch, "\x1b]0;two\x07").is_visible);
        assert_eq!(new(&watch, ScreenArea::Title, "two"), 1);
        assert_eq!(new(&watch, ScreenArea::Clipboard, "hi"), 0);
        frame(&mut watch, "\x1b]52;c;aGk=\x07");
        assert_eq!(new(&watch, ScreenArea::Clipboard, "hi"), 1, "copied again");
    }

    #[test]
    fn a_shell_s_status_belongs_to_a_command_after_the_mark() {
        let mut watch = watch("\x1b]133;D;1\x07\x1b]133;A\x07$ ");
        let mark = watch.take_mark(1);
        assert_eq!((watch.status_since(&mark), watch.shell_mark()), (None, Some(ShellMark::Prompt)));
        frame(&mut watch, "\x1b]133;C\x07\x07out\x1b]133;D;3\x07");
        assert_eq!((watch.status_since(&mark), watch.bells_since(&mark)), (Some(3), 1));
    }

    #[test]
    fn text_at_the_cursor() {
        let mut watch = watch("$ ls");
        let mark = watch.take_mark(1);
        assert!(!watch.stands_at_cursor("ls", &mark), "it stood there before");
        frame(&mut watch, "\x1b[H$ git log");
        assert!(watch.stands_at_cursor("git log", &mark) && !watch.stands_at_cursor("ls", &mark));
        frame(&mut watch, " --oneline --all");
        assert!(watch.stands_at_cursor("--oneline --all", &mark), "over the edge");
        frame(&mut watch, "\x1b[H漢 ");
        assert!(watch.stands_at_cursor("漢 ", &mark));
    }

    #[test]
    fn text_that_nobody_can_see_is_told() {
        let unseen = |bytes: &str| {
            let watch = watch(bytes);
            let found = watch.subject().find(&text("a b"));
            found.iter().all(|place| watch.is_unseen(place))
        };
        assert!(unseen("\x1b[8ma b") && unseen("\x1b[31;41ma\x1b[m \x1b[8mb"));
        assert!(!unseen("a b") && !unseen("\x1b[8ma\x1b[m b") && !unseen("\x1b[37;40ma b"));
    }

    #[test]
    fn everything_is_new_after_a_resize() {
        let mut watch = watch("Done");
        let mark = watch.take_mark(1);
        watch.resize(10, 4);
        watch.end_frame();
        assert_eq!(watch.find(&text("Done"), &mark).new.len(), 1);
    }
}
