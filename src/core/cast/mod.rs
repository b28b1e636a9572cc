//! Terminal recordings in the asciicast format: one header and one line of JSON for each event. Versions 1, 2
//! and 3 are read, version 3 is written.
//!
//! JSON cannot hold bytes that are not UTF-8. Such bytes are U+FFFD in the event, as every player expects,
//! and exact in a comment on the next line (`#hopty {"raw":"<base64>"}`), which other readers skip.

mod cast_event;
mod event_line;
pub mod header;
pub mod reader;
#[cfg(test)]
mod reader_tests;
pub mod writer;
#[cfg(test)]
mod writer_tests;

pub use cast_event::{CastEvent, CastEventKind};
pub use header::{CastHeader, CastTheme};
pub use reader::{CastError, CastFault, CastReader};
pub use writer::CastWriter;

/// The start of the comment with the exact bytes of the event before it.
const RAW_COMMENT: &str = "#hopty {\"raw\":\"";
