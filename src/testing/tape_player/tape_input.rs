//! Input commands: text, keys, mouse, paste, focus, bytes, resize, signals; and their report.

use std::time::{Duration, Instant};

use super::step_failure::{StepFailure, StepResult};
use super::test_clock::TestClock;
use super::test_clock::duration;
use super::test_session::{CurrentTerminal, TestSession};
use super::test_terminals::signal_number;
use super::test_workspace::TestWorkspace;
use crate::core::input::encode::KeyEvent;
use crate::core::process_change::Signal;
use crate::core::tape::{
    ClickCommand, KeyAction, KeyChord, KeyModifiers, KeyName, KeyPress, PointerButton, TapeCommand,
    TapePlace, TapeSignal, TapeText, TapeTime, TextPiece, WheelDirection,
};
use crate::testing::input::{self, InputRefusal, MouseAction, MouseEvent};
use crate::testing::look::{FoundPlace, Look};
use crate::testing::outcome::FailureKind;
use crate::testing::processes::end_words;
use crate::testing::program_wait::WaitEnd;
use crate::testing::stress::SeededChoices;

/// How long a program may take to show typed text.
const TYPED_LIMIT: TapeTime = TapeTime::from_millis(2000);
/// How long a program may take after its start to read its terminal.
const FIRST_READ: TapeTime = TapeTime::from_millis(2000);
/// How long most programs wait at most whether a sequence follows a lone Escape.
const ESCAPE_PAUSE: Duration = Duration::from_millis(60);
/// Twenty times the time between two keys that tmux treats as a paste (`assume-paste-time`): what is sent
/// with a pause may be read without one.
const PREFIX_PAUSE: Duration = Duration::from_millis(20);
/// How long a program may take to answer a key before the next input, if no command waits between them.
const KEY_ANSWER: Duration = Duration::from_millis(200);
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
    chord: Option<ChordPause>,
    /// The last input was not text, whose echo would have been awaited.
    is_unanswered: bool,
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
            '\n' => "Enter".to_owned(),
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

/// The pause after a key that may start a sequence: the next key of a fast tape must not come while the
/// program waits for the rest.
struct ChordPause {
    sent: Instant,
    pause: Duration,
}

impl ChordPause {
    fn after(chord: KeyChord) -> Option<Self> {
        let is_prefix = chord.modifiers.ctrl || chord.modifiers.alt;
        let is_escape = chord == KeyChord::plain(KeyName::Escape);
        let pause = if is_escape { Some(ESCAPE_PAUSE) } else { is_prefix.then_some(PREFIX_PAUSE) };
        pause.map(|pause| ChordPause { sent: Instant::now(), pause })
    }

    fn left(&self) -> Duration {
        self.pause.saturating_sub(self.sent.elapsed())
    }
}

impl TapeInput {
    /// No input yet. `choices`: random numbers under stress.
    pub fn new(typing_speed: TapeTime, choices: Option<SeededChoices>) -> Self {
        TapeInput {
            typing_speed: duration(typing_speed),
            choices,
            clipboard: TypedText::default(),
            chord: None,
            is_unanswered: false,
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

    /// The current terminal for an input: its program must be running, and changes from here on are new.
    fn begin<'s>(&mut self, session: &'s mut TestSession) -> StepResult<CurrentTerminal<'s>> {
        if let Some(chord) = self.chord.take() {
            session.pass_as_program(chord.left())?;
        }
        if std::mem::take(&mut self.is_unanswered) {
            session.let_answer(KEY_ANSWER)?;
        }
        session.terminal()?.1.scroll_to_end();
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

    /// [`Self::begin`] for a text: waits until a program that was just started reads its terminal.
    fn begin_text<'s>(&mut self, session: &'s mut TestSession) -> StepResult<CurrentTerminal<'s>> {
        let limit = session.clock.limit(None, FIRST_READ);
        session.terminal()?.1.first_read(limit)?;
        self.begin(session)
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

    /// Types a text, and waits until the program shows it, so that it is old at the next input.
    fn type_keys(
        &mut self,
        session: &mut TestSession,
        typed: &TypedText,
        speed: Option<TapeTime>,
    ) -> StepResult {
        let text = typed.text.as_str();
        let is_after_chord = self.chord.is_some();
        let (_, terminal) = self.begin_text(session)?;
        if terminal.is_hiding_input() {
            self.note(HIDDEN_KEYS);
        } else {
            self.keys.extend_from_slice(&typed.keys);
        }
        let is_piecewise = !session.clock.is_fast() || self.choices.is_some();
        if is_piecewise {
            for c in text.chars() {
                send(session, c.to_string().replace('\n', "\r").as_bytes())?;
                let pause = self.key_pause(&session.clock, speed);
                session.pass(pause)?;
            }
        } else {
            // The first character after a prefix key is a key of its own, even for a program that treats fast
            // input as a paste.
            let first = text.chars().next().filter(|_| is_after_chord).map_or(0, char::len_utf8);
            let (first, rest) = text.split_at(first);
            if !first.is_empty() {
                send(session, first.replace('\n', "\r").as_bytes())?;
                session.pass_as_program(PREFIX_PAUSE)?;
            }
            send_as_read(session, &rest.replace('\n', "\r"))?;
        }
        wait_for_echo(session, text)
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
        self.begin(session)?;
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
                    session.let_answer(KEY_ANSWER)?;
                }
                send(session, &bytes)?;
                let pause = self.key_pause(&session.clock, press.speed);
                session.pass(pause)?;
                is_repeated = pause.is_zero();
            }
        }
        self.chord = press.chords.last().copied().and_then(ChordPause::after);
        self.is_unanswered = true;
        Ok(())
    }

    pub fn paste(&mut self, session: &mut TestSession, text: &TapeText) -> StepResult {
        self.begin_text(session)?;
        let shown = reported(session, text);
        let text = session.workspace.text(text)?;
        self.note(format!("Paste {shown}"));
        let (_, terminal) = session.terminal()?;
        let bytes = input::paste(terminal.screen(), &text);
        send(session, &bytes)?;
        wait_for_echo(session, &text)
    }

    pub fn focus(&mut self, session: &mut TestSession, is_in: bool) -> StepResult {
        let (_, terminal) = self.begin(session)?;
        let bytes = input::focus(terminal.screen(), is_in).map_err(|refusal| refused(&refusal))?;
        self.note(if is_in { "Focus In" } else { "Focus Out" });
        self.is_unanswered = true;
        send(session, &bytes)
    }

    pub fn send_raw(&mut self, session: &mut TestSession, text: &TapeText) -> StepResult {
        self.begin(session)?;
        let shown = reported(session, text);
        let text = session.workspace.text(text)?;
        self.note(format!("Raw {shown}"));
        self.is_unanswered = true;
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
        self.begin(session)?;
        self.note(name);
        self.is_unanswered = true;
        for (n, event) in events.iter().enumerate() {
            // A program may take several that it reads at once for the first of them.
            match event.action {
                _ if n == 0 => {}
                MouseAction::Release(_) | MouseAction::Drag(_) | MouseAction::Move => {
                    session.let_read(KEY_ANSWER)?;
                }
                MouseAction::Press(_) | MouseAction::Wheel(_) => session.let_answer(KEY_ANSWER)?,
            }
            let (_, terminal) = session.terminal()?;
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
        let (_, terminal) = self.begin(session)?;
        // hopty's prefix key, and then d.
        terminal.send(b"\x1cd").map_err(|error| StepFailure::io("cannot detach", &error))?;
        self.note("Detach");
        Ok(())
    }

    pub fn signal(&mut self, session: &mut TestSession, signal: &TapeSignal) -> StepResult {
        let Some(number) = signal_number(signal.name()) else {
            return Err(StepFailure::command(format!("this system has no SIG{}", signal.name())));
        };
        let (_, terminal) = self.begin(session)?;
        terminal
            .signal(Signal(number))
            .map_err(|error| StepFailure::io(&format!("cannot send SIG{}", signal.name()), &error))
    }

    pub fn resize(&mut self, session: &mut TestSession, cols: u16, rows: u16) -> StepResult {
        let (_, terminal) = self.begin(session)?;
        terminal.resize(cols, rows).map_err(|error| StepFailure::io("cannot resize the terminal", &error))
    }
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
    terminal.send(bytes).map_err(|error| StepFailure::io("cannot type", &error))
}

/// Waits until the program shows a text. A program that ends instead has read it.
/// Sends a text at once, but to a program that reads single keys character by character, as it reads them:
/// some know no key in two characters.
fn send_as_read(session: &mut TestSession, text: &str) -> StepResult {
    let mut rest = text;
    while let Some(c) = rest.chars().next()
        && session.terminal()?.1.reads_keys()
    {
        let (first, left) = rest.split_at(c.len_utf8());
        send(session, first.as_bytes())?;
        rest = left;
        if !session.let_read(KEY_ANSWER)? {
            break;
        }
    }
    if rest.is_empty() { Ok(()) } else { send(session, rest.as_bytes()) }
}

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
    fn only_a_key_that_may_begin_something_needs_a_pause() {
        let pause = |chord| ChordPause::after(chord).map(|chord| chord.pause);
        let ctrl = KeyModifiers { ctrl: true, ..KeyModifiers::default() };
        assert_eq!(pause(KeyChord::plain(KeyName::Enter)), None);
        assert_eq!(pause(KeyChord::plain(KeyName::Escape)), Some(ESCAPE_PAUSE));
        assert_eq!(
            pause(KeyChord { modifiers: ctrl, ..KeyChord::plain(KeyName::Enter) }),
            Some(PREFIX_PAUSE)
        );
    }

    #[test]
    fn a_pause_that_has_passed_is_not_waited_for_again() {
        let mut chord = ChordPause::after(KeyChord::plain(KeyName::Escape)).unwrap();
        assert!(chord.left() <= ESCAPE_PAUSE);
        chord.sent -= ESCAPE_PAUSE;
        assert_eq!(chord.left(), Duration::ZERO);
    }

    #[test]
    fn the_report_has_the_last_keys() {
        let mut input = TapeInput::new(TapeTime::from_millis(50), None);
        (0..=2 * KEYS_MAX).for_each(|number| input.note(number.to_string()));
        assert_eq!(input.keys().len(), KEYS_MAX + 1);
        assert_eq!(input.keys().last().map(String::as_str), Some("20000"));
    }
}
