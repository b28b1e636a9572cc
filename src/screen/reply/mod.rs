//! What a program asks its terminal, and the answers where no terminal is there to give them.

mod query;
mod setting;

pub use query::{DynamicColor, ModeState, Query, QueryQueue, StringEnd, TerminalIdentity, reply};
pub use setting::TerminalSetting;
