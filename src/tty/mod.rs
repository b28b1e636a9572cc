//! The person's terminal: its modes, its size, its hand-over to the host, and what goes back into it.

pub mod borrowed_terminal;
pub mod full_screen;
pub mod full_screen_page;
pub mod modes;
pub mod page_keys;
pub mod passphrase;
pub mod raw;
pub mod unread_input;
