//! `hopty record --tape`: a person uses a program, and what they do becomes a tape that `hopty test` plays.
//!
//! The program runs as it does in a test, in an empty directory with a home of its own, and every key is sent
//! to it as a tape would send it. The person sees it drawn by hopty's screen model, so that their terminal
//! and the program never communicate: its queries are answered once, as in a test.

mod new_text;
mod person_terminal;
mod tape_draft;
mod tape_recording;

pub use tape_recording::{CopiedFile, RecordedTape, TapeRecorderError, record_tape};
