//! A program's queries to its terminal, and the answers if there is no terminal.

mod query;
mod setting;

pub use query::{DynamicColor, ModeState, Query, QueryQueue, StringEnd, TerminalIdentity, reply};
pub use setting::TerminalSetting;
