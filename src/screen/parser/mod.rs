//! Reads bytes into operations: UTF-8, control sequences, operating system commands.
//!
//! The state machine of escape sequences is `vte`'s; text and the usual sequences do not go through it.
//!
//! | file | holds |
//! |---|---|
//! | `stream_parser` | the entry: the fast path, and what `vte` gets |
//! | `control_sequence` | the usual control sequences, read in one go |
//! | `utf8` | characters; invalid and incomplete ones |
//! | `parser_callbacks` | what `vte` calls: text, control characters, short escape sequences |
//! | `csi`, `params`, `sgr` | control sequences; their numbers; the pen |
//! | `osc` | titles, colours, links, the clipboard |
//! | `callback_state` | state between two calls of `vte` |
//! | `unfinished`, `unfinished_bytes` | whether output ends in the middle of a sequence, and its bytes |

mod callback_state;
mod control_sequence;
mod csi;
mod osc;
mod params;
mod parser_callbacks;
mod sgr;
mod stream_parser;
mod unfinished;
mod unfinished_bytes;
mod utf8;

pub use callback_state::CallbackState;
pub use params::Params;
pub use stream_parser::StreamParser;
pub use unfinished::Unfinished;
pub use unfinished_bytes::UnfinishedBytes;
pub use utf8::{Decoded, decode};
