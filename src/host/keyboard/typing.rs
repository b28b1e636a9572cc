//! From routed input to the program: at once, or later, once held input is due.

use super::Keyboard;
use super::drafts::paste;
use super::held_input::{Keystrokes, TypingTarget};
use super::routing::{KeyRoute, answers};
use crate::core::input::InputClass;
use crate::core::time::Stamp;

/// The program, as typed input reaches it.
pub(in crate::host) trait ProgramInput {
    /// Types a person's input.
    fn type_persons(&mut self, bytes: &[u8]);
    /// Input that does not come from a person.
    fn type_own(&mut self, bytes: &[u8]);
    /// Whether it accepts answers of a terminal although keys are held.
    fn takes_answers(&self) -> bool;
    fn now(&self) -> Stamp;
    /// Whether Claude waits for a prompt.
    fn is_idle(&self) -> bool;
    /// What receives keys now. `pasted`: the prompt that its box may show.
    fn target(&mut self, pasted: Option<&str>) -> TypingTarget;
}

impl Keyboard {
    /// Types a person's keys.
    pub fn type_persons(&mut self, bytes: &[u8], program: &mut dyn ProgramInput) {
        if !program.is_idle() {
            self.draft.claude_works();
        }
        self.draft.note(bytes, program.now());
        program.type_persons(bytes);
    }

    /// Passes a labelled part of a client's input to the program, or holds it. `answers_queries`: the
    /// program's queries go to this client's terminal.
    pub fn give(
        &mut self,
        class: InputClass,
        part: Vec<u8>,
        answers_queries: bool,
        program: &mut dyn ProgramInput,
    ) {
        match self.route(class, answers_queries) {
            KeyRoute::Program => self.type_persons(&part, program),
            KeyRoute::Held => self.held.push(class, part),
            KeyRoute::Answer if program.takes_answers() => {
                answers(&part).for_each(|answer| program.type_own(&answer));
            }
            KeyRoute::Answer | KeyRoute::Nowhere => {}
        }
    }

    /// Decides by the current screen whether new keys wait after held input.
    pub fn look(&mut self, now: Stamp, program: &mut dyn ProgramInput) {
        if self.held.is_typing() {
            let target = program.target(self.held.pasted_prompt());
            self.held.look(now, target.focus);
        }
    }

    /// Types held input that is due. `in_a_sequence`: a person is in the middle of a key.
    pub fn type_held(&mut self, now: Stamp, in_a_sequence: bool, program: &mut dyn ProgramInput) {
        while self.held.is_due(now) {
            if in_a_sequence {
                return self.held.postpone(now);
            }
            let target = program.target(self.held.pasted_prompt());
            match self.held.next(now, &target) {
                Some(Keystrokes::Persons(bytes)) => self.type_persons(&bytes, program),
                Some(Keystrokes::Own(bytes)) => program.type_own(&bytes),
                None => {}
            }
        }
    }

    /// Types the prompt of a script or of hopty that is being submitted, without Enter.
    pub fn paste_sent(&self, program: &mut dyn ProgramInput) {
        if let Some(text) = self.queue.text() {
            program.type_own(&paste(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::supervisor::ProgramKind;
    use crate::host::keyboard::InputFocus;

    /// A program that has read everything, and its screen.
    struct Program {
        focus: InputFocus,
        shows_pasted: bool,
        persons: Vec<u8>,
        own: Vec<u8>,
    }

    impl Program {
        fn new(focus: InputFocus) -> Self {
            Program { focus, shows_pasted: false, persons: Vec::new(), own: Vec::new() }
        }
    }

    impl ProgramInput for Program {
        fn type_persons(&mut self, bytes: &[u8]) {
            self.persons.extend_from_slice(bytes);
        }

        fn type_own(&mut self, bytes: &[u8]) {
            self.own.extend_from_slice(bytes);
            self.shows_pasted &= bytes != b"\r";
        }

        fn takes_answers(&self) -> bool {
            true
        }

        fn now(&self) -> Stamp {
            Stamp(0)
        }

        fn is_idle(&self) -> bool {
            true
        }

        fn target(&mut self, _: Option<&str>) -> TypingTarget {
            TypingTarget {
                run: Some(1),
                focus: self.focus,
                shows_pasted: self.shows_pasted,
                has_read_all: true,
            }
        }
    }

    /// Lets time pass until nothing is due.
    fn rest(keyboard: &mut Keyboard, program: &mut Program) {
        for _ in 0..100 {
            let Some(at) = keyboard.held.deadline() else { return };
            keyboard.type_held(at, false, program);
        }
    }

    #[test]
    fn keys_of_a_hand_over_reach_the_next_run_in_order_behind_its_prompts_and_the_draft() {
        let (mut keyboard, mut program) =
            (Keyboard::new(ProgramKind::Claude), Program::new(InputFocus::Prompt));
        keyboard.give(InputClass::Typed, b"draft ".to_vec(), true, &mut program);
        keyboard.draft.save(1, None, &|_| None);
        keyboard.held.hold();
        keyboard.give(InputClass::Typed, b"held".to_vec(), true, &mut program);
        keyboard.give(InputClass::Report, b"\x1b[?62;c".to_vec(), true, &mut program);
        assert_eq!((&program.persons[..], &program.own[..]), (&b"draft "[..], &b"\x1b[?62;c"[..]));
        keyboard.carried.found_queued(1, vec!["queued"]);
        program = Program::new(InputFocus::Prompt);
        program.shows_pasted = true;
        keyboard.release(Stamp(0), true);
        rest(&mut keyboard, &mut program);
        assert_eq!(program.own, [&paste("queued")[..], b"\r"].concat());
        assert_eq!(program.persons, b"draft held");
        assert!(keyboard.held.is_settled());
    }

    #[test]
    fn held_keys_answer_no_dialog_and_land_in_no_sequence() {
        let (mut keyboard, mut program) =
            (Keyboard::new(ProgramKind::Claude), Program::new(InputFocus::Dialog));
        keyboard.held.hold();
        keyboard.give(InputClass::Typed, b"y".to_vec(), true, &mut program);
        keyboard.release(Stamp(0), false);
        rest(&mut keyboard, &mut program);
        assert_eq!(program.persons, b"");
        // New keys go to the dialog, which a person sees.
        keyboard.look(Stamp(10_000), &mut program);
        keyboard.give(InputClass::Typed, b"n".to_vec(), true, &mut program);
        assert_eq!(program.persons, b"n");
        program.focus = InputFocus::Prompt;
        let at = keyboard.held.deadline().unwrap();
        keyboard.type_held(at, true, &mut program);
        assert_eq!(program.persons, b"n");
        rest(&mut keyboard, &mut program);
        assert_eq!(program.persons, b"ny");
    }
}
