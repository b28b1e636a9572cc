//! Bringing a terminal to this state (dump), and back to the state before the program ran (undo).

mod repaint_bytes;
mod terminal_before;
mod undo;
mod undo_state;

pub use repaint_bytes::Dump;
pub use terminal_before::{AnswerReader, QuestionTopic, TerminalBefore};
pub use undo::{UNDO_STEPS, UndoStep, mode_names, undo};
pub use undo_state::UndoState;
