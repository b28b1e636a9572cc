//! From bytes to what they ask for: UTF-8, control sequences, operating system commands.

mod control_sequence;
mod csi;
mod osc;
mod params;
mod parser_state;
mod perform;
mod reader;
mod sgr;
mod unfinished;
mod unfinished_bytes;
mod utf8;

pub use params::Params;
pub use parser_state::ParserState;
pub use reader::InputReader;
pub use unfinished::Unfinished;
pub use unfinished_bytes::UnfinishedBytes;
pub use utf8::{Decoded, decode};
