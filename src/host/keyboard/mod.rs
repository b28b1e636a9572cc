//! What is typed: by people, by scripts (`hopty send`) and by hopty itself.
//!
//! | file | holds |
//! |---|---|
//! | `keyboard_state` | all input that waits to be typed |
//! | `client_input` | one client's input: its labels, and what has not been routed yet |
//! | `prefix_keys` | hopty's own commands in it |
//! | `routing` | where labelled input goes |
//! | `typing` | passing it to the program, at once or later |
//! | `held_input` | input that is held during a hand-over and typed afterwards |
//! | `send_queue` | what scripts type |
//! | `drafts` | the draft in the prompt box |
//! | `unsent_file` | the file of input that no run received |
//! | `carried_prompts` | prompts that go from one run to the next |
//! | `unrecorded_prompts` | prompts that Claude has not written to its transcript yet |

mod carried_prompts;
mod client_input;
mod drafts;
mod held_input;
mod keyboard_state;
mod prefix_keys;
mod routing;
mod send_queue;
mod typing;
mod unrecorded_prompts;
mod unsent_file;

pub(super) use client_input::ClientInput;
pub(super) use drafts::{leaves_draft, paste};
pub(super) use held_input::{InputFocus, TypingTarget};
pub(super) use keyboard_state::Keyboard;
pub(super) use prefix_keys::{InputPart, PageKey};
pub(super) use send_queue::script_keys;
pub(super) use typing::ProgramInput;
