//! Turns what a person did with the mouse into commands of a tape: from the reports of a terminal in mode
//! 1006.

use super::command::{ClickCommand, PointerButton, TapeCommand, TapePlace, WheelDirection};
use super::key::KeyModifiers;

const REPORT: &[u8] = b"\x1b[<";
/// Bits of a report's first number (xterm).
const MOTION: u16 = 32;
const WHEEL: u16 = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
struct MousePress {
    button: PointerButton,
    cell: (u16, u16),
    modifiers: KeyModifiers,
}

/// The state of the mouse; a command is complete when the button is released.
#[derive(Clone, Debug, Default)]
pub(super) struct TypedMouse {
    press: Option<MousePress>,
}

impl TypedMouse {
    /// Reads a report at the start of the bytes: its length, and the command that it completes. `None` if
    /// there is no report.
    pub fn report(&mut self, bytes: &[u8]) -> Option<(usize, Option<TapeCommand>)> {
        let rest = bytes.strip_prefix(REPORT)?;
        let end = rest.iter().position(|byte| matches!(byte, b'M' | b'm'))?;
        let text = std::str::from_utf8(&rest[..end]).ok()?;
        let numbers: Vec<u16> = text.split(';').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [what, col, row] = numbers[..] else { return None };
        let command = self.event(what, (row, col), rest[end] == b'm');
        Some((REPORT.len() + end + 1, command))
    }

    fn event(&mut self, what: u16, cell: (u16, u16), is_up: bool) -> Option<TapeCommand> {
        let place = |(row, col)| TapePlace::Cell(row, col);
        if what & MOTION != 0 {
            return None;
        }
        if what & WHEEL != 0 {
            let direction = match what & 3 {
                0 => WheelDirection::Up,
                1 => WheelDirection::Down,
                2 => WheelDirection::Left,
                _ => WheelDirection::Right,
            };
            return Some(TapeCommand::Wheel { direction, notches: 1, at: Some(place(cell)) });
        }
        let button = match what & 3 {
            0 => PointerButton::Left,
            1 => PointerButton::Middle,
            2 => PointerButton::Right,
            _ => return None,
        };
        if !is_up {
            let modifiers = KeyModifiers {
                shift: what & 4 != 0,
                alt: what & 8 != 0,
                ctrl: what & 16 != 0,
                super_key: false,
            };
            self.press = Some(MousePress { button, cell, modifiers });
            return None;
        }
        let press = self.press.take().filter(|press| press.button == button)?;
        Some(if press.cell == cell {
            let click = ClickCommand::once(&place(cell), button);
            TapeCommand::Click(ClickCommand { modifiers: press.modifiers, ..click })
        } else {
            TapeCommand::Drag { from: place(press.cell), to: place(cell), button }
        })
    }
}
