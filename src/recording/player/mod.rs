//! `hopty play` in a terminal: the recording on the alternate screen, drawn by hopty's own model and cut to
//! the terminal's size, so that a recording of another size is readable.

mod cast_player;
mod player_state;
#[cfg(test)]
mod player_tests;
mod player_view;

pub use cast_player::{PlayerEnd, run};
pub use player_state::PlayerOptions;
