//! What writing does to the screen: text and control characters, scrolling, erasing, rectangles, the two
//! screen buffers, and skipping lines that will not be visible. It is independent of the parser:
//! [`DisplayState`] is called with text and with the operations of sequences.

mod buffers;
mod display_state;
mod erase;
mod lines;
mod print;
mod rectangles;
mod skip_ahead;
mod unparsed_bytes;

pub use buffers::{ScreenBuffer, ScreenBuffers};
pub use display_state::DisplayState;
pub use erase::EraseExtent;
#[cfg(test)]
pub use skip_ahead::WORTH;
