//! What a program asks its terminal, and the answers where no terminal is there to give them.

mod query;
mod setting;

pub use query::{DynamicColor, Identity, ModeState, Query, StringEnd, reply};
pub use setting::Setting;
