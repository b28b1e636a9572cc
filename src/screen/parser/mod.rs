//! From bytes to what they ask for: UTF-8, control sequences, operating system commands.

mod control_sequence;
mod csi;
mod osc;
mod params;
mod perform;
mod reader;
mod sgr;
mod unfinished;
mod unfinished_bytes;
mod utf8;

pub use params::Params;
pub use reader::Input;
pub use unfinished::Open;
pub use unfinished_bytes::Begun;
pub use utf8::{Decoded, decode};
