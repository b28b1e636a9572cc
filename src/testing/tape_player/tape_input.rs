//! Commands that are input: text, keys, mouse, paste, focus, bytes.

use std::time::{Duration, Instant};

use super::step_failure::{StepFailure, StepResult};
use super::{TapePlayer, duration};
use crate::core::input::encode::KeyEvent;
use crate::core::tape::{
    ClickCommand, KeyAction, KeyChord, KeyModifiers, KeyName, KeyPress, PointerButton, TapePlace, TapeText,
    TapeTime, TextPiece, WheelDirection,
};
use crate::testing::input::{self, InputRefusal, MouseAction, MouseEvent};
use crate::testing::look::{FoundPlace, Look};
use crate::testing::program_wait::WaitEnd;

/// How long a program may take to show what was typed.
const TYPED_LIMIT: Duration = Duration::from_secs(2);
/// What most programs wait at most whether a sequence follows a lone Escape.
const ESCAPE_PAUSE: Duration = Duration::from_millis(60);
/// Twenty times as long as between two keys that tmux takes for a paste (`assume-paste-time`): what is sent
/// with a pause may be read without one.
const PREFIX_PAUSE: Duration = Duration::from_millis(20);
/// What the report says of keys that the program does not show, as at the prompt for a password.
const HIDDEN_KEYS: &str = "(hidden)";
/// Half of the keys that are kept for the report.
const KEYS_MAX: usize = 10_000;

impl TapePlayer<'_> {
    /// The pause after each key: the tape's own in real time, none in fast mode, uneven ones under stress.
    fn key_pause(&mut self, given: Option<TapeTime>) -> Duration {
        match &mut self.choices {
            Some(choices) => choices.key_pause(),
            None if self.clock.is_fast() => Duration::ZERO,
            None => given.map_or(self.typing_speed, duration),
        }
    }

    pub(super) fn type_text(&mut self, text: &TapeText, speed: Option<TapeTime>) -> StepResult {
        let (text, keys) = (self.workspace.text(text)?, self.key_names(text)?);
        self.type_string(&text, keys, speed)
    }

    /// The keys that type a text, for the report. The value of a variable that was passed to the test is one
    /// key: the variable.
    fn key_names(&self, text: &TapeText) -> StepResult<Vec<String>> {
        let name = |c| match c {
            ' ' => "Space".to_owned(),
            '\n' => "Enter".to_owned(),
            c => c.to_string(),
        };
        let mut names = Vec::new();
        for piece in text.pieces() {
            match piece {
                TextPiece::Plain(text) => names.extend(text.chars().map(name)),
                TextPiece::Variable(variable) if self.workspace.is_passed(variable) => {
                    names.push(format!("${{{variable}}}"));
                }
                TextPiece::Variable(variable) => {
                    let value = self.workspace.text(&TapeText::of_variable(variable))?;
                    names.extend(value.chars().map(name));
                }
            }
        }
        Ok(names)
    }

    /// A text for the report, with the names of the variables that were passed to the test.
    fn reported(&mut self, text: &TapeText) -> StepResult<String> {
        if self.is_hiding_input() {
            return Ok(HIDDEN_KEYS.to_owned());
        }
        Ok(self.workspace.reported_text(text))
    }

    fn is_hiding_input(&mut self) -> bool {
        self.session.current().is_some_and(|(_, terminal)| terminal.is_hiding_input())
    }

    /// `Copy`.
    pub(super) fn copy(&mut self, text: &TapeText) -> StepResult {
        self.clipboard_keys = self.key_names(text)?;
        self.clipboard = self.workspace.text(text)?;
        Ok(())
    }

    pub(super) fn type_clipboard(&mut self) -> StepResult {
        let (text, keys) = (self.clipboard.clone(), self.clipboard_keys.clone());
        self.type_string(&text, keys, None)
    }

    /// Types a text, and waits until the program shows it, so that it is old for the next input.
    fn type_string(&mut self, text: &str, keys: Vec<String>, speed: Option<TapeTime>) -> StepResult {
        let is_after_chord = self.chord_sent.is_some();
        self.input()?;
        if self.is_hiding_input() {
            self.keys.push(HIDDEN_KEYS.to_owned());
        } else {
            self.keys.extend(keys);
        }
        let is_piecewise = !self.clock.is_fast() || self.choices.is_some();
        if is_piecewise {
            for c in text.chars() {
                self.send(c.to_string().replace('\n', "\r").as_bytes())?;
                let pause = self.key_pause(speed);
                self.pass(pause)?;
            }
        } else {
            // What follows a prefix key is a key, also for a program that takes what comes at once for a
            // paste.
            let first = text.chars().next().filter(|_| is_after_chord).map_or(0, char::len_utf8);
            let (first, rest) = text.split_at(first);
            if !first.is_empty() {
                self.send(first.replace('\n', "\r").as_bytes())?;
                self.pass_as_program(PREFIX_PAUSE)?;
            }
            self.send(rest.replace('\n', "\r").as_bytes())?;
        }
        let limit = self.clock.limit(None, TapeTime::from_millis(TYPED_LIMIT.as_millis() as u64));
        self.wait_for_echo(text, limit)
    }

    /// Waits until the program shows a text. One that ends instead has read it.
    fn wait_for_echo(&mut self, text: &str, limit: Duration) -> StepResult {
        let Some((named, terminal)) = self.session.current() else { return Ok(()) };
        match terminal.typed(text, &named.mark, limit) {
            Err(failure) if !matches!(failure.end, WaitEnd::Ended(_)) => Err(failure.into()),
            _ => Ok(()),
        }
    }

    /// Lets time pass, at most up to the deadline of the tape, which is then over.
    pub(super) fn pass(&mut self, pause: Duration) -> StepResult {
        let pause = pause.min(self.clock.time_left());
        if !pause.is_zero()
            && let Some((_, terminal)) = self.session.current()
        {
            terminal.pass(pause)?;
        }
        self.clock.in_time()
    }

    /// `ScrollUp`, `ScrollDown`: the viewport moves over what the program has drawn, of which it is told
    /// nothing. The next input brings it back to the end.
    pub(super) fn scroll(&mut self, is_up: bool, rows: u32, speed: Option<TapeTime>) -> StepResult {
        self.settle_for_picture()?;
        let mut left = rows;
        let mut moved = 0;
        while left > 0 {
            let pause = self.key_pause(speed);
            let step = if pause.is_zero() { left } else { 1 };
            let (_, terminal) = self.terminal()?;
            let lines = terminal.scroll(is_up, step);
            if lines == 0 {
                break;
            }
            (left, moved) = (left - step, moved + lines);
            self.pass(pause)?;
        }
        if is_up && rows > 0 && moved == 0 {
            let is_alternate = self.terminal()?.1.screen().alternate();
            self.findings.warn(if is_alternate {
                "the alternate screen has no scrollback; `Wheel Up` turns the wheel for the program"
            } else {
                "there is no scrollback"
            });
        }
        Ok(())
    }

    /// Sends bytes to the program.
    fn send(&mut self, bytes: &[u8]) -> StepResult {
        let (_, terminal) = self.terminal()?;
        terminal.send(bytes).map_err(|error| StepFailure::io("cannot type", &error))
    }

    /// Notes a key for the report, which needs the last ones.
    fn note_key(&mut self, name: String) {
        if self.keys.len() >= 2 * KEYS_MAX {
            self.keys.drain(..KEYS_MAX);
        }
        self.keys.push(name);
    }

    pub(super) fn press_keys(&mut self, press: &KeyPress) -> StepResult {
        if press.chords.is_empty() {
            return Ok(());
        }
        self.input()?;
        for _ in 0..press.count {
            for chord in &press.chords {
                self.note_key(chord.to_string());
                let (_, terminal) = self.terminal()?;
                // By the modes that the program has now.
                terminal.pump_now();
                let screen = terminal.screen();
                let bytes = match press.action {
                    KeyAction::Press => input::key_press(screen, *chord),
                    KeyAction::Down => input::key(screen, *chord, KeyEvent::Press),
                    KeyAction::Up => input::key(screen, *chord, KeyEvent::Release),
                };
                let bytes = bytes.map_err(|refusal| refused(&refusal))?;
                self.send(&bytes)?;
                let pause = self.key_pause(press.speed);
                self.pass(pause)?;
            }
        }
        self.chord_sent = press.chords.last().and_then(|chord| {
            let is_prefix = chord.modifiers.ctrl || chord.modifiers.alt;
            let is_escape = *chord == KeyChord::plain(KeyName::Escape);
            let pause = if is_escape { Some(ESCAPE_PAUSE) } else { is_prefix.then_some(PREFIX_PAUSE) };
            pause.map(|pause| (Instant::now(), pause))
        });
        Ok(())
    }

    pub(super) fn paste(&mut self, text: &TapeText) -> StepResult {
        self.input()?;
        let shown = self.reported(text)?;
        let text = self.workspace.text(text)?;
        self.keys.push(format!("Paste {shown}"));
        let (_, terminal) = self.terminal()?;
        let bytes = input::paste(terminal.screen(), &text);
        self.send(&bytes)?;
        let limit = self.clock.limit(None, TapeTime::from_millis(TYPED_LIMIT.as_millis() as u64));
        self.wait_for_echo(&text, limit)
    }

    pub(super) fn focus(&mut self, is_in: bool) -> StepResult {
        let (_, terminal) = self.input()?;
        let bytes = input::focus(terminal.screen(), is_in).map_err(|refusal| refused(&refusal))?;
        self.keys.push(if is_in { "Focus In" } else { "Focus Out" }.to_owned());
        self.send(&bytes)
    }

    pub(super) fn send_raw(&mut self, text: &TapeText) -> StepResult {
        self.input()?;
        let shown = self.reported(text)?;
        let text = self.workspace.text(text)?;
        self.keys.push(format!("Raw {shown}"));
        self.send(text.as_bytes())
    }

    /// The cell of a place, 0-based: row and column. A text is waited for as `Wait` does.
    fn cell_of(&mut self, place: &TapePlace) -> StepResult<(u16, u16)> {
        match place {
            TapePlace::Cell(row, col) => {
                let (cols, rows) = self.terminal()?.1.screen().size();
                if *row > rows || *col > cols {
                    return Err(StepFailure::command(format!(
                        "the screen has {rows} rows and {cols} columns, so no cell {row},{col}"
                    )));
                }
                Ok((row.saturating_sub(1), col.saturating_sub(1)))
            }
            TapePlace::Pattern(pattern) => {
                let look = Look::on_screen(self.workspace.pattern(pattern, true)?);
                let limit = self.clock.check_limit(None);
                let (named, terminal) = self.terminal()?;
                terminal.scroll_to_end();
                let found = terminal.wait_for(&look, &named.mark, limit)?;
                let count = found.places.len();
                let first = found.places.iter().find_map(|place| match place {
                    FoundPlace::Cells(places) => places.first().cloned(),
                    _ => None,
                });
                let first = first.ok_or_else(|| StepFailure::command(format!("{pattern} has no cells")))?;
                if count > 1 {
                    self.findings.warn(format!("{pattern} is on the screen {count} times; the first one was taken"));
                }
                Ok((first.row, first.cols.start + (first.cols.end - first.cols.start) / 2))
            }
        }
    }

    /// Sends mouse events, after the program has asked for the mouse; it may take a moment to do so.
    fn mouse(&mut self, name: String, events: &[MouseEvent]) -> StepResult {
        let limit = self.clock.check_limit(None).min(Duration::from_secs(1));
        let (_, terminal) = self.terminal()?;
        if let Some(first) = events.first() {
            let asked = terminal.wait_until(limit, "the program to ask for the mouse", |terminal| {
                input::mouse(terminal.screen(), first).map(|_| ()).map_err(|refusal| refusal.to_string())
            });
            asked?;
        }
        let (_, terminal) = self.input()?;
        let mut bytes = Vec::new();
        for event in events {
            bytes.extend(input::mouse(terminal.screen(), event).map_err(|refusal| refused(&refusal))?);
        }
        self.keys.push(name);
        self.send(&bytes)
    }

    pub(super) fn click(&mut self, click: &ClickCommand) -> StepResult {
        let (row, col) = self.cell_of(&click.place)?;
        let name = format!("{}Click {},{}", click.modifiers, row + 1, col + 1);
        self.mouse(name, &input::click_events(click, (row, col)))
    }

    pub(super) fn drag(&mut self, from: &TapePlace, to: &TapePlace, button: PointerButton) -> StepResult {
        let ((row, col), (end_row, end_col)) = (self.cell_of(from)?, self.cell_of(to)?);
        let events = input::drag_events(button, (row, col), (end_row, end_col));
        self.mouse(format!("Drag {},{} to {},{}", row + 1, col + 1, end_row + 1, end_col + 1), &events)
    }

    pub(super) fn wheel(
        &mut self,
        direction: WheelDirection,
        notches: u32,
        at: Option<&TapePlace>,
    ) -> StepResult {
        let (row, col) = match at {
            Some(place) => self.cell_of(place)?,
            None => {
                let cursor = self.terminal()?.1.screen().cursor();
                (cursor.row, cursor.col)
            }
        };
        let events = input::wheel_events(direction, notches, (row, col));
        self.mouse(format!("Wheel {direction:?} {notches}"), &events)
    }

    pub(super) fn hover(&mut self, place: &TapePlace) -> StepResult {
        let (row, col) = self.cell_of(place)?;
        let event = MouseEvent { action: MouseAction::Move, row, col, modifiers: KeyModifiers::default() };
        self.mouse(format!("Hover {},{}", row + 1, col + 1), &[event])
    }
}

fn refused(refusal: &InputRefusal) -> Box<StepFailure> {
    StepFailure::command(refusal.to_string())
}
