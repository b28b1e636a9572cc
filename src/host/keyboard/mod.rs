//! What is typed: by people, by scripts (`hopty send`) and by hopty itself.
//!
//! | file | holds |
//! |---|---|
//! | `client_input` | one client's input: its labels, and what went nowhere yet |
//! | `held_input` | input that is held during a hand-over and typed afterwards |
//! | `send_queue` | what scripts type |
//! | `drafts` | the draft in the prompt box |
//! | `carried_prompts` | prompts that go from one run to the next |

mod carried_prompts;
mod client_input;
mod drafts;
mod held_input;
mod send_queue;

pub(super) use carried_prompts::CarriedPrompts;
pub(super) use client_input::ClientInput;
pub(super) use drafts::paste;
pub(super) use held_input::HeldInput;
pub(super) use send_queue::SendQueue;
