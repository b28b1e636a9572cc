//! Where a person's keys go: to the program, into held input, or nowhere.

use super::Keyboard;
use crate::core::draft::units;
use crate::core::input::InputClass;

/// Where labelled input goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyRoute {
    Program,
    /// To the program, which waits for an answer now: only its [`answers`] count.
    Answer,
    Held,
    Nowhere,
}

impl Keyboard {
    /// Where input of this class goes. `answers_queries`: the program's queries go to this client's terminal.
    pub(super) fn route(&self, class: InputClass, answers_queries: bool) -> KeyRoute {
        match class {
            // Only answers from the terminal that was asked count.
            InputClass::Report if !answers_queries => KeyRoute::Nowhere,
            _ if !self.held.must_wait() => KeyRoute::Program,
            InputClass::Report => KeyRoute::Answer,
            // While keys are held, a Ctrl+C is a command to hopty; the supervisor decides what it does.
            InputClass::Interrupt if self.held.is_holding() => KeyRoute::Nowhere,
            _ => KeyRoute::Held,
        }
    }
}

/// The answers in a terminal's reports. Without clicks: they were meant for something that is no longer on
/// the screen.
pub(super) fn answers(reports: &[u8]) -> impl Iterator<Item = Vec<u8>> + use<> {
    units(reports).into_iter().map(|unit| unit.bytes).filter(|bytes| !is_mouse(bytes))
}

/// A mouse report in any of its formats: modes 1006 and 1016, X10's three bytes, and the bare numbers of mode
/// 1015.
fn is_mouse(report: &[u8]) -> bool {
    report.starts_with(b"\x1b[<")
        || report.starts_with(b"\x1b[M")
        || report.starts_with(b"\x1b[") && report.ends_with(b"M")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::supervisor::ProgramKind;

    #[test]
    fn held_keys_wait_but_an_interrupt_is_hoptys_and_an_answer_the_programs() {
        let mut keyboard = Keyboard::new(ProgramKind::Claude);
        assert_eq!(keyboard.route(InputClass::Typed, false), KeyRoute::Program);
        assert_eq!(keyboard.route(InputClass::Report, false), KeyRoute::Nowhere);
        keyboard.held.hold();
        let routes = [InputClass::Typed, InputClass::Paste, InputClass::Interrupt, InputClass::Report]
            .map(|class| keyboard.route(class, true));
        assert_eq!(routes, [KeyRoute::Held, KeyRoute::Held, KeyRoute::Nowhere, KeyRoute::Answer]);
    }

    #[test]
    fn a_click_is_no_answer() {
        let reports = b"\x1b[?62;c\x1b[<0;3;4M\x1b[<0;3;4m\x1b[32;3;4M\x1b[M #$\x1b[2;2R";
        assert_eq!(answers(reports).collect::<Vec<_>>(), [b"\x1b[?62;c".to_vec(), b"\x1b[2;2R".to_vec()]);
    }
}
