//! The bytes that a terminal sends for keys, the mouse, a paste and the focus, under the modes that the
//! program has set. Input that the program has not asked for is refused: a real terminal would send nothing.

use thiserror::Error;

use crate::core::input::encode::{KeyEvent, KeyboardModes, key_bytes};
use crate::core::tape::{ClickCommand, KeyChord, KeyModifiers, PointerButton, WheelDirection};
use crate::screen::{Screen, TerminalMode};

/// The size of a cell in pixels, width and height, as the screen model reports to programs.
const CELL: (u32, u32) = (9, 18);
/// The last row or column in the oldest form of mouse reports.
const X10_LAST: u16 = 223;
/// The last one in its UTF-8 form.
const UTF8_LAST: u16 = 2015;

/// Why a terminal would send nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InputRefusal {
    /// There is no encoding of this key for the program.
    #[error(
        "a terminal sends nothing for {0} to this program, which has not asked for the kitty keyboard \
         protocol"
    )]
    NoBytes(KeyChord),
    /// The program has not enabled the mouse.
    #[error("the program has not asked for the mouse (?1000, ?1002 or ?1003)")]
    NoMouse,
    /// The program has not enabled mouse motion.
    #[error("the program has asked for clicks, but not for the motion of the mouse (?1002 or ?1003)")]
    NoMotion,
    /// The form of reports that the program has chosen cannot express this place.
    #[error("row {}, column {} cannot be reported in the mouse encoding that the program asked for",
        row + 1, col + 1)]
    TooFar { row: u16, col: u16 },
    /// The program has not enabled focus reports.
    #[error("the program has not asked for the focus (?1004)")]
    NoFocus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseAction {
    /// A button goes down.
    Press(PointerButton),
    /// A button goes up.
    Release(PointerButton),
    /// It moves with a button down.
    Drag(PointerButton),
    /// It moves with no button down.
    Move,
    /// The wheel turns by one notch.
    Wheel(WheelDirection),
}

/// A mouse action and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MouseEvent {
    pub action: MouseAction,
    /// The row of the cell, 0-based.
    pub row: u16,
    /// The column of the cell, 0-based.
    pub col: u16,
    /// The modifier keys that are held.
    pub modifiers: KeyModifiers,
}

impl MouseEvent {
    /// An action in a cell (row and column, 0-based), without modifier keys.
    fn at((row, col): (u16, u16), action: MouseAction) -> Self {
        MouseEvent { action, row, col, modifiers: KeyModifiers::default() }
    }
}

/// The events of a `Click` in a cell: row and column, 0-based.
pub fn click_events(click: &ClickCommand, cell: (u16, u16)) -> Vec<MouseEvent> {
    let once = [MouseAction::Press(click.button), MouseAction::Release(click.button)]
        .map(|action| MouseEvent { modifiers: click.modifiers, ..MouseEvent::at(cell, action) });
    once.repeat(usize::try_from(click.times).unwrap_or(1))
}

/// The events of a `Drag` from one cell to another: rows and columns, 0-based.
pub fn drag_events(button: PointerButton, from: (u16, u16), to: (u16, u16)) -> Vec<MouseEvent> {
    vec![
        MouseEvent::at(from, MouseAction::Press(button)),
        MouseEvent::at(to, MouseAction::Drag(button)),
        MouseEvent::at(to, MouseAction::Release(button)),
    ]
}

/// The events of a `Wheel` in a cell: row and column, 0-based.
pub fn wheel_events(direction: WheelDirection, notches: u32, cell: (u16, u16)) -> Vec<MouseEvent> {
    vec![MouseEvent::at(cell, MouseAction::Wheel(direction)); usize::try_from(notches).unwrap_or(1)]
}

/// The keyboard modes that the program has set.
pub fn keyboard_modes(screen: &Screen) -> KeyboardModes {
    KeyboardModes {
        application_cursor: screen.is_on(TerminalMode::CursorKeys),
        backspace_sends_bs: screen.is_on(TerminalMode::BackspaceSendsBs),
        newline: screen.is_on(TerminalMode::Newline),
        modify_other_keys: screen.modify_other_keys(),
        kitty_flags: screen.keyboard_flags(),
    }
}

/// The bytes of a key press or release.
pub fn key(screen: &Screen, chord: KeyChord, event: KeyEvent) -> Result<Vec<u8>, InputRefusal> {
    key_bytes(chord, event, &keyboard_modes(screen)).ok_or(InputRefusal::NoBytes(chord))
}

/// The bytes of a key that is pressed and released.
pub fn key_press(screen: &Screen, chord: KeyChord) -> Result<Vec<u8>, InputRefusal> {
    Ok([key(screen, chord, KeyEvent::Press)?, key(screen, chord, KeyEvent::Release)?].concat())
}

/// The bytes of a pasted text: bracketed if the program has enabled that, with carriage returns for line
/// feeds as in terminals. Nothing in the text can end the paste early.
pub fn paste(screen: &Screen, text: &str) -> Vec<u8> {
    let text = text.replace("\r\n", "\r").replace('\n', "\r");
    if screen.is_on(TerminalMode::BracketedPaste) {
        let text = text.replace("\x1b[201~", "").replace("\x1b[200~", "");
        format!("\x1b[200~{text}\x1b[201~").into_bytes()
    } else {
        text.into_bytes()
    }
}

/// The bytes of a terminal that gets or loses the focus.
pub fn focus(screen: &Screen, is_in: bool) -> Result<Vec<u8>, InputRefusal> {
    if !screen.is_on(TerminalMode::Focus) {
        return Err(InputRefusal::NoFocus);
    }
    Ok(if is_in { b"\x1b[I".to_vec() } else { b"\x1b[O".to_vec() })
}

/// Whether the program has enabled the mouse.
pub fn takes_mouse(screen: &Screen) -> bool {
    let action = MouseAction::Press(PointerButton::Left);
    mouse(screen, &MouseEvent { action, row: 0, col: 0, modifiers: KeyModifiers::default() }).is_ok()
}

/// The bytes of a mouse event; empty for the release of a button if the program wants presses only (?9).
///
/// # Errors
/// When the program has not enabled it, or its form of reports cannot express the place.
pub fn mouse(screen: &Screen, event: &MouseEvent) -> Result<Vec<u8>, InputRefusal> {
    let is_on = |mode: TerminalMode| screen.is_on(mode);
    let all_motion = is_on(TerminalMode::MouseMotion);
    let drags = all_motion || is_on(TerminalMode::MouseDrag);
    let buttons = drags || is_on(TerminalMode::MouseButtons) || is_on(TerminalMode::MouseHighlight);
    let presses = is_on(TerminalMode::MouseX10);
    match event.action {
        _ if !buttons && !presses => return Err(InputRefusal::NoMouse),
        MouseAction::Drag(_) if !drags => return Err(InputRefusal::NoMotion),
        MouseAction::Move if !all_motion => return Err(InputRefusal::NoMotion),
        MouseAction::Wheel(_) if !buttons => return Err(InputRefusal::NoMouse),
        MouseAction::Release(_) if !buttons => return Ok(Vec::new()),
        _ => {}
    }
    let held = if buttons { event.modifiers } else { KeyModifiers::default() };
    report(screen, event, held)
}

fn report(screen: &Screen, event: &MouseEvent, held: KeyModifiers) -> Result<Vec<u8>, InputRefusal> {
    let is_release = matches!(event.action, MouseAction::Release(_));
    let held = 4 * u16::from(held.shift) + 8 * u16::from(held.alt) + 16 * u16::from(held.ctrl);
    let button = held
        + match event.action {
            MouseAction::Press(button) | MouseAction::Release(button) => number(button),
            MouseAction::Drag(button) => 32 + number(button),
            MouseAction::Move => 35,
            MouseAction::Wheel(WheelDirection::Up) => 64,
            MouseAction::Wheel(WheelDirection::Down) => 65,
            MouseAction::Wheel(WheelDirection::Left) => 66,
            MouseAction::Wheel(WheelDirection::Right) => 67,
        };
    let (row, col) = (event.row.saturating_add(1), event.col.saturating_add(1));
    let end = if is_release { 'm' } else { 'M' };
    if screen.is_on(TerminalMode::MousePixels) {
        // The middle of the cell.
        let middle = |at: u16, size: u32| u32::from(at) * size + size / 2 + 1;
        let (x, y) = (middle(event.col, CELL.0), middle(event.row, CELL.1));
        return Ok(format!("\x1b[<{button};{x};{y}{end}").into_bytes());
    }
    if screen.is_on(TerminalMode::MouseSgr) {
        return Ok(format!("\x1b[<{button};{col};{row}{end}").into_bytes());
    }
    // Older forms do not contain the released button.
    let button = 32 + if is_release { held + 3 } else { button };
    if screen.is_on(TerminalMode::MouseUrxvt) {
        return Ok(format!("\x1b[{button};{col};{row}M").into_bytes());
    }
    let is_utf8 = screen.is_on(TerminalMode::MouseUtf8);
    let last = if is_utf8 { UTF8_LAST } else { X10_LAST };
    if row > last || col > last {
        return Err(InputRefusal::TooFar { row: event.row, col: event.col });
    }
    let mut bytes = b"\x1b[M".to_vec();
    for value in [button, col + 32, row + 32] {
        match (is_utf8, char::from_u32(u32::from(value))) {
            (true, Some(ch)) => bytes.extend_from_slice(ch.encode_utf8(&mut [0; 4]).as_bytes()),
            _ => bytes.push(u8::try_from(value).unwrap_or(u8::MAX)),
        }
    }
    Ok(bytes)
}

fn number(button: PointerButton) -> u16 {
    match button {
        PointerButton::Left => 0,
        PointerButton::Middle => 1,
        PointerButton::Right => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(bytes: &str) -> Screen {
        let mut screen = Screen::new(1000, 40);
        screen.feed(bytes.as_bytes());
        screen
    }

    fn keys(modes: &str, chord: &str) -> String {
        String::from_utf8(key_press(&screen(modes), chord.parse().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn keys_follow_the_modes_of_the_program() {
        assert_eq!((keys("", "up"), keys("\x1b[?1h", "up")), ("\x1b[A".into(), "\x1bOA".into()));
        assert_eq!(keys("\x1b[?67h", "backspace"), "\x08");
        assert_eq!(keys("\x1b[>1u", "escape"), "\x1b[27u");
        assert_eq!(keys("\x1b[>3u", "f5"), "\x1b[15~\x1b[15;1:3~");
        assert_eq!(keys("\x1b[>4;2m", "ctrl-c"), "\x1b[27;5;99~");
        let refusal = key_press(&screen(""), "super-a".parse().unwrap()).unwrap_err();
        assert!(refusal.to_string().starts_with("a terminal sends nothing for Super+a"), "{refusal}");
    }

    fn report_of(modes: &str, action: MouseAction, row: u16, col: u16) -> Result<String, InputRefusal> {
        let ctrl = KeyModifiers { ctrl: true, ..KeyModifiers::default() };
        let event = MouseEvent { action, row, col, modifiers: ctrl };
        mouse(&screen(modes), &event).map(|bytes| bytes.iter().map(|byte| char::from(*byte)).collect())
    }

    #[test]
    fn mouse_reports_have_the_form_that_was_asked_for() {
        let left = PointerButton::Left;
        let (press, release) = (MouseAction::Press(left), MouseAction::Release(left));
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(report_of("", press, 0, 0), Err(InputRefusal::NoMouse));
        assert_eq!(report_of("\x1b[?1000h", press, 1, 2), ok("\x1b[M0#\""));
        assert_eq!(report_of("\x1b[?1000h", release, 1, 2), ok("\x1b[M3#\""));
        assert_eq!(report_of("\x1b[?9h", press, 1, 2), ok("\x1b[M #\""), "without modifiers");
        assert_eq!(report_of("\x1b[?9h", release, 1, 2), ok(""));
        assert_eq!(report_of("\x1b[?1000;1006h", press, 1, 2), ok("\x1b[<16;3;2M"));
        assert_eq!(report_of("\x1b[?1000;1006h", release, 1, 2), ok("\x1b[<16;3;2m"));
        assert_eq!(report_of("\x1b[?1000;1015h", press, 1, 2), ok("\x1b[48;3;2M"));
        assert_eq!(report_of("\x1b[?1000;1016h", press, 1, 2), ok("\x1b[<16;23;28M"));
        assert_eq!(report_of("\x1b[?1000;1005h", press, 1, 299), ok("\x1b[M0\u{c5}\u{8c}\""));
        assert_eq!(report_of("\x1b[?1000h", press, 1, 299), Err(InputRefusal::TooFar { row: 1, col: 299 }));
        let wheel = MouseAction::Wheel(WheelDirection::Down);
        assert_eq!(report_of("\x1b[?1002;1006h", wheel, 0, 0), ok("\x1b[<81;1;1M"));
    }

    #[test]
    fn motion_is_refused_where_nobody_asked_for_it() {
        let drag = MouseAction::Drag(PointerButton::Right);
        assert_eq!(report_of("\x1b[?1000;1006h", drag, 0, 0), Err(InputRefusal::NoMotion));
        assert_eq!(report_of("\x1b[?1002;1006h", drag, 0, 0), Ok("\x1b[<50;1;1M".to_owned()));
        assert_eq!(report_of("\x1b[?1002;1006h", MouseAction::Move, 0, 0), Err(InputRefusal::NoMotion));
        assert_eq!(report_of("\x1b[?1003;1006h", MouseAction::Move, 0, 0), Ok("\x1b[<51;1;1M".to_owned()));
    }

    #[test]
    fn a_paste_is_marked_where_marks_are_wanted() {
        assert_eq!(paste(&screen(""), "a\nb\r\nc"), b"a\rb\rc");
        let marked = screen("\x1b[?2004h");
        assert_eq!(paste(&marked, "a\x1b[201~b"), b"\x1b[200~ab\x1b[201~");
    }

    #[test]
    fn the_focus_is_told_to_who_wants_to_know() {
        assert_eq!(focus(&screen(""), true), Err(InputRefusal::NoFocus));
        let focused = screen("\x1b[?1004h");
        assert_eq!(
            (focus(&focused, true), focus(&focused, false)),
            (Ok(b"\x1b[I".to_vec()), Ok(b"\x1b[O".to_vec()))
        );
    }
}
