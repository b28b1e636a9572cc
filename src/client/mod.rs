//! The client: holds the person's terminal in raw mode, hands it to the host, and waits for signals and
//! frames from the host. Whatever happens to the host, it restores the terminal.

mod attach_outcome;
mod deferred_notices;
mod raw_terminal;
mod relay_output;
pub mod start;
mod suspension;
mod terminal_client;
mod typeahead;

pub use attach_outcome::{AttachEnd, AttachOutcome};
pub use raw_terminal::RawTerminal;
pub use terminal_client::{ClientOptions, attach};
