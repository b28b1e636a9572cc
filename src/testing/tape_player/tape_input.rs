//! Input commands: text, keys, mouse, paste, focus, bytes, resize, signals; and their report.

use std::time::Duration;

use super::step_failure::{StepFailure, StepResult};
use super::test_clock::TestClock;
use super::test_clock::duration;
use super::test_session::{CurrentTerminal, TestSession};
use super::test_terminals::signal_number;
use super::test_workspace::TestWorkspace;
use crate::core::input::encode::KeyEvent;
use crate::core::process_change::Signal;
use crate::core::tape::{
    ClickCommand, KeyAction, KeyModifiers, KeyPress, PointerButton, TapeCommand, TapePlace, TapeSignal,
    TapeText, TapeTime, TextPiece, WheelDirection,
};
use crate::testing::input::{self, InputRefusal, MouseAction, MouseEvent};
use crate::testing::look::{FoundPlace, Look};
use crate::testing::outcome::FailureKind;
use crate::testing::processes::end_words;
use crate::testing::program_wait::WaitEnd;
use crate::testing::stress::SeededChoices;
use crate::testing::terminal_input::KEY_ANSWER;

/// How long a program may take to show typed text.
const TYPED_LIMIT: TapeTime = TapeTime::from_millis(2000);
/// How long a program may take after its start to read its terminal.
const FIRST_READ: TapeTime = TapeTime::from_millis(2000);
/// The report's name of a line feed in a text.
const ENTER: &str = "Enter";
const CANNOT_TYPE: &str = "cannot type";
/// The report's text for keys that the program does not show, as at a password prompt.
const HIDDEN_KEYS: &str = "(hidden)";
/// Half of the keys that are kept for the report.
const KEYS_MAX: usize = 10_000;

/// The keys and the mouse of a test.
pub(super) struct TapeInput {
    typing_speed: Duration,
    /// Random pauses under stress.
    choices: Option<SeededChoices>,
    clipboard: TypedText,
    /// The last keys, for the report.
    keys: Vec<String>,
}

/// A text, and the names of the keys that type it.
#[derive(Clone, Default)]
struct TypedText {
    text: String,
    keys: Vec<String>,
}

impl TypedText {
    /// The value of a variable that was passed to the test is one key: its name.
    fn of(text: &TapeText, workspace: &TestWorkspace) -> StepResult<Self> {
        let name = |c| match c {
            ' ' => "Space".to_owned(),
            '\n' => ENTER.to_owned(),
            c => c.to_string(),
        };
        let mut keys = Vec::new();
        for piece in text.pieces() {
            match piece {
                TextPiece::Plain(text) => keys.extend(text.chars().map(name)),
                TextPiece::Variable(variable) if workspace.is_passed(variable) => {
                    keys.push(format!("${{{variable}}}"));
                }
                TextPiece::Variable(variable) => {
                    let value = workspace.text(&TapeText::of_variable(variable))?;
                    keys.extend(value.chars().map(name));
                }
            }
        }
        Ok(TypedText { text: workspace.text(text)?, keys })
    }
}

impl TapeInput {
    /// No input yet. `choices`: random numbers under stress.
    pub fn new(typing_speed: TapeTime, choices: Option<SeededChoices>) -> Self {
        TapeInput {
            typing_speed: duration(typing_speed),
            choices,
            clipboard: TypedText::default(),
            keys: Vec::new(),
        }
    }

    pub fn set_typing_speed(&mut self, speed: TapeTime) {
        self.typing_speed = duration(speed);
    }

    /// The last keys, for the report.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Notes a key for the report, which shows the last ones.
    pub fn note(&mut self, name: impl Into<String>) {
        if self.keys.len() >= 2 * KEYS_MAX {
            self.keys.drain(..KEYS_MAX);
        }
        self.keys.push(name.into());
    }

    /// The pause after each key: the tape's own in real time, none in fast mode, uneven ones under stress.
    fn key_pause(&mut self, clock: &TestClock, given: Option<TapeTime>) -> Duration {
        match &mut self.choices {
            Some(choices) => choices.key_pause(),
            None if clock.is_fast() => Duration::ZERO,
            None => given.map_or(self.typing_speed, duration),
        }
    }

    pub fn type_text(
        &mut self,
        session: &mut TestSession,
        text: &TapeText,
        speed: Option<TapeTime>,
    ) -> StepResult {
        let typed = TypedText::of(text, &session.workspace)?;
        self.type_keys(session, &typed, speed)
    }

    pub fn copy(&mut self, workspace: &TestWorkspace, text: &TapeText) -> StepResult {
        self.clipboard = TypedText::of(text, workspace)?;
        Ok(())
    }

    pub fn type_clipboard(&mut self, session: &mut TestSession) -> StepResult {
        let clipboard = self.clipboard.clone();
        self.type_keys(session, &clipboard, None)
    }

    /// Types a text. Each line feed in it is Enter, an input of its own: what was typed before is old then.
    fn type_keys(
        &mut self,
        session: &mut TestSession,
        typed: &TypedText,
        speed: Option<TapeTime>,
    ) -> StepResult {
        let mut names = typed.keys.split(|name| name == ENTER);
        for (number, line) in typed.text.split('\n').enumerate() {
            if number > 0 {
                begin_bytes(session)?;
                self.note(ENTER);
                self.send_key(session, b"\r", speed)?;
                session.terminal()?.1.note_unanswered(None);
            }
            if number == 0 || !line.is_empty() {
                self.type_line(session, line, names.next().unwrap_or_default(), speed)?;
            }
        }
        Ok(())
    }

    /// Types a line, and waits until the program shows it, so that it is old at the next input.
    fn type_line(
        &mut self,
        session: &mut TestSession,
        line: &str,
        names: &[String],
        speed: Option<TapeTime>,
    ) -> StepResult {
        let (_, terminal) = begin_bytes(session)?;
        if terminal.is_hiding_input() {
            self.note(HIDDEN_KEYS);
        } else {
            self.keys.extend_from_slice(names);
        }
        let is_piecewise = !session.clock.is_fast() || self.choices.is_some();
        if is_piecewise {
            for c in line.chars() {
                self.send_key(session, c.encode_utf8(&mut [0; 4]).as_bytes(), speed)?;
            }
        } else {
            let (_, terminal) = session.terminal()?;
            terminal.type_at_once(line).map_err(|error| StepFailure::io(CANNOT_TYPE, &error))?;
        }
        wait_for_echo(session, line)
    }

    /// Sends a key and takes the pause after it; returns whether there was one.
    fn send_key(
        &mut self,
        session: &mut TestSession,
        bytes: &[u8],
        speed: Option<TapeTime>,
    ) -> StepResult<bool> {
        send(session, bytes)?;
        let pause = self.key_pause(&session.clock, speed);
        session.pass(pause)?;
        Ok(!pause.is_zero())
    }

    /// `ScrollUp`, `ScrollDown`: moves the viewport over the program's output; the program does not notice.
    /// The next input moves it back to the end.
    pub fn scroll(
        &mut self,
        session: &mut TestSession,
        is_up: bool,
        rows: u32,
        speed: Option<TapeTime>,
    ) -> StepResult {
        session.settle_for_picture()?;
        let mut left = rows;
        let mut moved = 0;
        while left > 0 {
            let pause = self.key_pause(&session.clock, speed);
            let step = if pause.is_zero() { left } else { 1 };
            let (_, terminal) = session.terminal()?;
            let lines = terminal.scroll(is_up, step);
            if lines == 0 {
                break;
            }
            (left, moved) = (left - step, moved + lines);
            session.pass(pause)?;
        }
        if is_up && rows > 0 && moved == 0 {
            let is_alternate = session.terminal()?.1.screen().alternate();
            session.findings.warn(if is_alternate {
                "the alternate screen has no scrollback; `Wheel Up` turns the wheel for the program"
            } else {
                "there is no scrollback"
            });
        }
        Ok(())
    }

    pub fn press_keys(&mut self, session: &mut TestSession, press: &KeyPress) -> StepResult {
        if press.chords.is_empty() {
            return Ok(());
        }
        let (_, terminal) = session.terminal()?;
        let first = press.chords.first().and_then(|chord| input::key_press(terminal.screen(), *chord).ok());
        if first.is_some_and(|bytes| terminal.makes_signal(&bytes)) {
            begin(session)?;
        } else {
            begin_bytes(session)?;
        }
        // A press was sent just before. A program may take several that it reads at once for an unknown key.
        let mut is_repeated = false;
        for _ in 0..press.count {
            for chord in &press.chords {
                self.note(chord.to_string());
                let (_, terminal) = session.terminal()?;
                // Under the program's current modes.
                terminal.pump_now();
                let screen = terminal.screen();
                let bytes = match press.action {
                    KeyAction::Press => input::key_press(screen, *chord),
                    KeyAction::Down => input::key(screen, *chord, KeyEvent::Press),
                    KeyAction::Up => input::key(screen, *chord, KeyEvent::Release),
                };
                let bytes = bytes.map_err(|refusal| refused(&refusal))?;
                if is_repeated {
                    terminal.let_answer(KEY_ANSWER)?;
                }
                is_repeated = !self.send_key(session, &bytes, press.speed)?;
            }
        }
        session.terminal()?.1.note_unanswered(press.chords.last().copied());
        Ok(())
    }

    pub fn paste(&mut self, session: &mut TestSession, text: &TapeText) -> StepResult {
        begin_bytes(session)?;
        let shown = reported(session, text);
        let text = session.workspace.text(text)?;
        self.note(format!("Paste {shown}"));
        let (_, terminal) = session.terminal()?;
        let bytes = input::paste(terminal.screen(), &text);
        send(session, &bytes)?;
        wait_for_echo(session, &text)
    }

    pub fn focus(&mut self, session: &mut TestSession, is_in: bool) -> StepResult {
        let (_, terminal) = begin_bytes(session)?;
        let bytes = input::focus(terminal.screen(), is_in).map_err(|refusal| refused(&refusal))?;
        terminal.note_unanswered(None);
        self.note(if is_in { "Focus In" } else { "Focus Out" });
        send(session, &bytes)
    }

    pub fn send_raw(&mut self, session: &mut TestSession, text: &TapeText) -> StepResult {
        begin_bytes(session)?.1.note_unanswered(None);
        let shown = reported(session, text);
        let text = session.workspace.text(text)?;
        self.note(format!("Raw {shown}"));
        send(session, text.as_bytes())
    }

    /// Sends mouse events once the program has enabled the mouse, which may take a moment.
    fn mouse(&mut self, session: &mut TestSession, name: String, events: &[MouseEvent]) -> StepResult {
        let limit = session.clock.check_limit(None).min(Duration::from_secs(1));
        let (_, terminal) = session.terminal()?;
        if let Some(first) = events.first() {
            let asked = terminal.wait_until(limit, "the program to ask for the mouse", |terminal| {
                input::mouse(terminal.screen(), first).map(|_| ()).map_err(|refusal| refusal.to_string())
            });
            asked?;
        }
        begin_bytes(session)?.1.note_unanswered(None);
        self.note(name);
        for (n, event) in events.iter().enumerate() {
            let (_, terminal) = session.terminal()?;
            // A program may take several that it reads at once for the first of them.
            match event.action {
                _ if n == 0 => {}
                MouseAction::Release(_) | MouseAction::Drag(_) | MouseAction::Move => {
                    terminal.let_read(KEY_ANSWER)?;
                }
                MouseAction::Press(_) | MouseAction::Wheel(_) => terminal.let_answer(KEY_ANSWER)?,
            }
            match input::mouse(terminal.screen(), event) {
                // The first of them ended the program.
                _ if n > 0 && terminal.end().is_some() => break,
                Ok(bytes) => send(session, &bytes)?,
                Err(refusal) if n == 0 => return Err(refused(&refusal)),
                // The program needs no more of them.
                Err(_) => break,
            }
        }
        Ok(())
    }

    pub fn click(&mut self, session: &mut TestSession, click: &ClickCommand) -> StepResult {
        let (row, col) = cell_of(session, &click.place)?;
        let name = ClickCommand { place: TapePlace::Cell(row + 1, col + 1), ..click.clone() }.to_string();
        self.mouse(session, name, &input::click_events(click, (row, col)))
    }

    pub fn drag(
        &mut self,
        session: &mut TestSession,
        from: &TapePlace,
        to: &TapePlace,
        button: PointerButton,
    ) -> StepResult {
        let (row, col) = cell_of(session, from)?;
        let (end_row, end_col) = cell_of(session, to)?;
        let events = input::drag_events(button, (row, col), (end_row, end_col));
        let (from, to) = (TapePlace::Cell(row + 1, col + 1), TapePlace::Cell(end_row + 1, end_col + 1));
        let name = TapeCommand::Drag { from, to, button }.to_string();
        self.mouse(session, name, &events)
    }

    pub fn wheel(
        &mut self,
        session: &mut TestSession,
        direction: WheelDirection,
        notches: u32,
        at: Option<&TapePlace>,
    ) -> StepResult {
        let (row, col) = match at {
            Some(place) => cell_of(session, place)?,
            None => {
                let cursor = session.terminal()?.1.screen().cursor();
                (cursor.row, cursor.col)
            }
        };
        let events = input::wheel_events(direction, notches, (row, col));
        self.mouse(session, format!("Wheel {direction:?} {notches}"), &events)
    }

    pub fn hover(&mut self, session: &mut TestSession, place: &TapePlace) -> StepResult {
        let (row, col) = cell_of(session, place)?;
        let event = MouseEvent { action: MouseAction::Move, row, col, modifiers: KeyModifiers::default() };
        self.mouse(session, format!("Hover {},{}", row + 1, col + 1), &[event])
    }

    pub fn detach(&mut self, session: &mut TestSession) -> StepResult {
        let (_, terminal) = begin(session)?;
        // hopty's prefix key, and then d.
        terminal.send(b"\x1cd").map_err(|error| StepFailure::io("cannot detach", &error))?;
        self.note("Detach");
        Ok(())
    }

    pub fn signal(&mut self, session: &mut TestSession, signal: &TapeSignal) -> StepResult {
        let Some(number) = signal_number(signal.name()) else {
            return Err(StepFailure::command(format!("this system has no SIG{}", signal.name())));
        };
        let (_, terminal) = begin(session)?;
        terminal
            .signal(Signal(number))
            .map_err(|error| StepFailure::io(&format!("cannot send SIG{}", signal.name()), &error))
    }

    pub fn resize(&mut self, session: &mut TestSession, cols: u16, rows: u16) -> StepResult {
        let (_, terminal) = begin(session)?;
        terminal.resize(cols, rows).map_err(|error| StepFailure::io("cannot resize the terminal", &error))
    }
}

/// The current terminal for an input: its program must be running, and changes from here on are new.
fn begin(session: &mut TestSession) -> StepResult<CurrentTerminal<'_>> {
    let (_, terminal) = session.terminal()?;
    terminal.await_turn()?;
    terminal.scroll_to_end();
    session.take_mark();
    let (named, terminal) = session.terminal()?;
    named.status = None;
    if let Some(end) = terminal.end() {
        return Err(StepFailure::new(
            FailureKind::ProgramEnd,
            format!("{} ended ({}) before this command", named.command, end_words(end)),
        ));
    }
    Ok((named, terminal))
}

/// [`begin`] for bytes: waits until a program that was just started reads its terminal.
fn begin_bytes(session: &mut TestSession) -> StepResult<CurrentTerminal<'_>> {
    let limit = session.clock.limit(None, FIRST_READ);
    session.terminal()?.1.first_read(limit)?;
    begin(session)
}

/// A text for the report, unless the program hides what is typed.
fn reported(session: &mut TestSession, text: &TapeText) -> String {
    match session.terminals.current() {
        Some((_, terminal)) if terminal.is_hiding_input() => HIDDEN_KEYS.to_owned(),
        _ => session.workspace.reported_text(text),
    }
}

/// Sends bytes to the program.
fn send(session: &mut TestSession, bytes: &[u8]) -> StepResult {
    let (_, terminal) = session.terminal()?;
    terminal.send(bytes).map_err(|error| StepFailure::io(CANNOT_TYPE, &error))
}

/// Waits until the program shows a text. A program that ends instead has read it.
fn wait_for_echo(session: &mut TestSession, text: &str) -> StepResult {
    let limit = session.clock.limit(None, TYPED_LIMIT);
    let Some((named, terminal)) = session.terminals.current() else { return Ok(()) };
    match terminal.typed(text, &named.mark, limit) {
        Err(failure) if !matches!(failure.end, WaitEnd::Ended(_)) => Err(failure.into()),
        _ => Ok(()),
    }
}

/// The cell of a place, 0-based: row and column. Waits for a text like `Wait`.
fn cell_of(session: &mut TestSession, place: &TapePlace) -> StepResult<(u16, u16)> {
    match place {
        TapePlace::Cell(row, col) => {
            let (cols, rows) = session.terminal()?.1.screen().size();
            if *row > rows || *col > cols {
                return Err(StepFailure::command(format!(
                    "the screen has {rows} rows and {cols} columns, so no cell {row},{col}"
                )));
            }
            Ok((row.saturating_sub(1), col.saturating_sub(1)))
        }
        TapePlace::Pattern(pattern) => {
            let look = Look::on_screen(session.workspace.pattern(pattern, true)?);
            let limit = session.clock.check_limit(None);
            let (named, terminal) = session.terminal()?;
            terminal.scroll_to_end();
            let found = terminal.wait_for(&look, &named.mark, limit)?;
            let count = found.places.len();
            let first = found.places.iter().find_map(|place| match place {
                FoundPlace::Cells(places) => places.first().cloned(),
                _ => None,
            });
            let first = first.ok_or_else(|| StepFailure::command(format!("{pattern} has no cells")))?;
            if count > 1 {
                session
                    .findings
                    .warn(format!("{pattern} is on the screen {count} times; the first one was taken"));
            }
            Ok((first.row, first.cols.start + (first.cols.end - first.cols.start) / 2))
        }
    }
}

fn refused(refusal: &InputRefusal) -> Box<StepFailure> {
    StepFailure::command(refusal.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_the_last_keys() {
        let mut input = TapeInput::new(TapeTime::from_millis(50), None);
        (0..=2 * KEYS_MAX).for_each(|number| input.note(number.to_string()));
        assert_eq!(input.keys().len(), KEYS_MAX + 1);
        assert_eq!(input.keys().last().map(String::as_str), Some("20000"));
    }
}
